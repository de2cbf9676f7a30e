# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cause in logs of real programs: vLLM 0.32 (its CPU build, and the CUDA wheel on a host without a GPU), Go 1.26 and Rust 1.95, recorded whole and cut."""

from __future__ import annotations

import functools
import json
import time
from pathlib import Path

import pytest
import recorded
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import log_exceptions
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.log_exceptions import first_exception, read_exceptions
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.pod_failures import lasting_error, log_failure
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

FOLDER = Path(recorded.__file__).resolve().parent.parent / "fixtures" / "server_logs"
# recorded log: code, what the quoted line begins with
CAUSES = {
    "vllm-cpu0.32-absent-model-no-network": ("F16", "httpcore2.ConnectError: [Errno -2] Name or service not known; then OSError: We couldn't connect"),
    "vllm-cpu0.32-absent-model-offline": ("F16", "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder"),
    "vllm-cpu0.32-bad-quantization": ("quantization", "Value error, Unknown quantization method: nonsense."),
    "vllm-cpu0.32-bad-value": ("args", "main.py serve: error: argument --block-size: invalid int value: 'abc'"),
    "vllm-cpu0.32-block-size-16": ("block_size", "ValueError: No common block size for 16 (CPU_ATTN: [MultipleOf(32)])."),
    "vllm-cpu0.32-length-beyond-cache": ("F18", "ValueError: To serve at least one request with the model's max seq len (1048576)"),
    "vllm-cpu0.32-length-beyond-model": ("V1", "Value error, User-specified max_model_len (999999) is greater than the derived max_model_len"),
    "vllm-cpu0.32-memory-utilization-0.001": ("F18", "ValueError: Available memory on node 0 (10.53/14.96 GiB) on kv cache allocation is less than"),
    "vllm-cpu0.32-no-weights": ("weights", "RuntimeError: Cannot find any model weights with `/models/noweights`"),
    "vllm-cpu0.32-port-in-use": ("port", "OSError: [Errno 98] Address already in use"),
    "vllm-cpu0.32-quantization-not-of-weights": ("quantization", "Value error, Cannot find the config file for awq"),
    "vllm-cpu0.32-tensor-parallel-2": ("V9", "Value error, Total number of attention heads (9) must be divisible by tensor parallel size (2)."),
    "vllm-cpu0.32-truncated-weights": ("weights", "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata"),
    "vllm-cpu0.32-unknown-architecture": ("V8", "Value error, Model architectures ['NoSuchForCausalLM'] are not supported for now."),
    "vllm-cpu0.32-unknown-argument": ("args", "main.py: error: unrecognized arguments: --no-such-argument=1"),
    "vllm-cuda0.32-no-gpu": ("V7", "RuntimeError: Failed to infer device type"),
    "go-concurrent-map-writes": ("exception", "fatal error: concurrent map writes"),
    "go-deadlock": ("exception", "fatal error: all goroutines are asleep - deadlock!"),
    "go-nil-pointer": ("exception", "panic: runtime error: invalid memory address or nil pointer dereference"),
    "go-panic-again": ("exception", 'panic: failed to start: unknown scorer "nonsense"'),
    "rust-index": ("exception", "thread 'main' (9772) panicked at a.rs:4:21: index out of bounds: the len is 0 but the index is 7"),
    "rust-thread": ("port", "thread 'tokio-runtime-worker' (9796) panicked at b.rs:5:11: called `Result::unwrap()` on an `Err` value: Os { code: 98"),
}
WRAPPERS = ("V4", "V10", "V11")
# Words of the cause that every line of it has, where it stands several times in a log.
REPEATED = {
    "vllm-cpu0.32-absent-model-no-network": ("Name or service not known", "trying to locate the file on the Hub", "We couldn't connect to"),
    "vllm-cpu0.32-block-size-16": ("No common block size for 16",),
    "vllm-cpu0.32-memory-utilization-0.001": ("is less than requested memory for kv",),
    "vllm-cpu0.32-length-beyond-cache": ("To serve at least one request",),
    "rust-thread": ("Address already in use",),
}


@functools.cache
def log(name):
    return (FOLDER / f"{name}.log").read_text(encoding="utf-8")


def test_every_recorded_failure_is_in_the_table():
    assert {path.stem for path in FOLDER.iterdir()} == {*CAUSES, "vllm-cpu0.32-serving-startup"}


@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_of_a_recorded_failure(name):
    code, line = CAUSES[name]
    failure = log_failure(log(name))
    assert failure.code == code and failure.what.startswith(line) and failure.remedy
    assert "raise " not in failure.what and "For further information" not in failure.what


@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_on_a_terminal(name):
    """The log has progress bars with carriage returns, Windows line endings, and the colours of vLLM."""
    bars = log(name).replace("\n\nLoading", "\rLoading").replace("(Worker pid", "\x1b[0;36m(Worker pid").replace(") ERROR", ")\x1b[0;0m ERROR")
    assert log_failure(bars) == log_failure(bars.replace("\n", "\r\n")) == log_failure(log(name))


def test_a_healthy_server_has_no_failure():
    lines = log("vllm-cpu0.32-serving-startup").splitlines()
    assert log_failure("\n".join(lines)) is None
    assert all(log_failure("\n".join(lines[cut:])) is None and log_failure("\n".join(lines[:cut])) is None for cut in range(0, len(lines), 3))


def cause_lines(name):
    """The numbers of the lines of a log that hold its cause."""
    words = REPEATED.get(name) or (CAUSES[name][1].rpartition(" (9772) ")[0] or CAUSES[name][1],)
    numbers = [index for index, line in enumerate(log(name).splitlines()) if any(word in line for word in words)]
    assert numbers, name
    return numbers


@examples(300)
@given(st.data())
def test_any_cut_that_holds_the_cause_names_it_and_no_wrapper(data):
    name = data.draw(st.sampled_from(sorted(CAUSES)))
    lines, causes = log(name).splitlines(), cause_lines(name)
    kept = data.draw(st.sampled_from(causes))
    begin = data.draw(st.integers(0, kept))
    # The message of a panic of Rust is in the line after its place.
    end = data.draw(st.integers(min(kept + (2 if name.startswith("rust") else 1), len(lines)), len(lines)))
    failure = log_failure("\n".join(lines[begin:end]))
    if name == "rust-thread" and begin == kept:
        return  # only the message, without the words by which it is a panic: no exception, but the same code
    assert failure is not None and failure.code == CAUSES[name][0], (name, begin, end, failure)
    assert any(word in failure.what for word in (REPEATED.get(name) or (CAUSES[name][1][:60],))), (name, begin, end, failure)


@examples(300)
@given(st.data())
def test_a_cut_that_lost_the_cause_claims_only_a_listed_wrapper(data):
    name = data.draw(st.sampled_from(sorted(name for name in CAUSES if name.startswith("vllm"))))
    lines = log(name).splitlines()
    begin = data.draw(st.integers(0, len(lines)))
    failure = log_failure("\n".join(lines[begin : data.draw(st.integers(begin, len(lines)))]))
    assert failure is None or failure.code in (*WRAPPERS, CAUSES[name][0], "exception"), (name, failure)
    if failure:
        assert not any(word in failure.what for word in ("    raise", "For further information", "UserWarning"))
        if failure.code == "exception":
            assert not any(word in failure.what for word in ("Engine core initialization failed", "WorkerProc initialization failed"))


HEADER = "Traceback (most recent call last):\n"
TRACE = HEADER + '  File "a", line 1, in f\n    raise x\n'


def prefixed(prefix, text):
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


WRAPPED = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}\n"
# log, code, what the quoted line begins with
OTHERS = {
    "vLLM 0.11 writes its prefix before every line of its processes, in colour": (
        prefixed("\x1b[1;36m(EngineCore_DP0 pid=272)\x1b[0;0m ", f"Process EngineCore_DP0:\n{TRACE}KeyError: 'model.layers.0'")
        + prefixed("\x1b[1;36m(APIServer pid=1)\x1b[0;0m ", f"{TRACE}RuntimeError: Engine core initialization failed. See root cause above."),
        "exception",
        "KeyError: 'model.layers.0'",
    ),
    "two workers whose lines are mixed: the first that is complete": (
        "".join(
            f"(Worker_TP{rank} pid={rank}) ERROR 11-22 13:29:04 [m.py:9] {line}\n" for line in f"{TRACE}a.b.Odd: strange".splitlines() for rank in (1, 0)
        ).replace("TP0 pid=0) ERROR 11-22 13:29:04 [m.py:9] a.b.Odd: strange", "TP0 pid=0) ERROR 11-22 13:29:04 [m.py:9] a.b.Odd: other"),
        "exception",
        "a.b.Odd: strange",
    ),
    "a progress bar without a line end, and a message in the next line": (
        f"Loading:  50%|##| 1/2\rLoading: 100%|##| 2/2{TRACE}RuntimeError:\n    An attempt\n",
        "exception",
        "RuntimeError: An attempt",
    ),
    "a field of pydantic, whose name is a line of its own": (
        f"{TRACE}pydantic_core._pydantic_core.ValidationError: 2 validation errors for Config\nblock_size\n"
        "  Input should be a valid integer [type=int_type, input_value='x', input_type=str]\n    For further information visit https://errors.pydantic.dev/2\n",
        "exception",
        "block_size: Input should be a valid integer",
    ),
    "a chain: the first exception, and how it ended": (
        f"{TRACE}KeyError: 'odd'\n\nDuring handling of the above exception, another exception occurred:\n\n"
        f"{TRACE}ValueError: Unknown quantization method: odd.\n",
        "quantization",
        "KeyError: 'odd'; then ValueError: Unknown quantization method: odd.",
    ),
    "exceptions that the program survived, before the one that ended it": (
        f"Exception ignored in: <function x at 0x1>\n{TRACE}ValueError: harmless\n"
        + prefixed("(W pid=1) WARNING 11-22 13:29:04 [m.py:9] ", f"{TRACE}ImportError: optional")
        + f"ERROR:    Exception in ASGI application\n{TRACE}ValueError: of a request\n\nDuring handling of the above exception\n\n{TRACE}OSError: also\n"
        + f"{TRACE}OddError: the end\n",
        "exception",
        "OddError: the end",
    ),
    "an exception group": (
        "  + Exception Group Traceback (most recent call last):\n"
        + prefixed("  | ", '  File "a", line 1, in f\nExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)')
        + "  +-+---------------- 1 ----------------\n"
        + prefixed("    | ", f"{TRACE}zmq.error.Again: no message")
        + "    +------------------------------------\n",
        "exception",
        "zmq.error.Again: no message",
    ),
    "LMCache#605, nixl#1614: an exception whose name begins in lower case": (
        prefixed(
            "(EngineCore_DP0 pid=88) ERROR 11-02 10:00:01 [core.py:401] ",
            f"EngineCore failed to start.\n{TRACE}nixl._bindings.nixlBackendError: NIXL_ERR_BACKEND",
        )
        + "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        "exception",
        "nixl._bindings.nixlBackendError: NIXL_ERR_BACKEND",
    ),
    "llm-d#706: prefixes within prefixes": (
        prefixed("(APIServer pid=1) (EngineCore_DP0 pid=68) ERROR 02-06 16:34:06 [core.py:936] ", f"{TRACE}lib.gone: no device")
        + prefixed("(APIServer pid=1) ", f"{TRACE}RuntimeError: Engine core initialization failed. See root cause above."),
        "exception",
        "lib.gone: no device",
    ),
    "a name of one lower-case word, and of capitals": (
        f"{TRACE}oops\n\nDuring handling of the above exception\n\n{TRACE}OOM: x\n",
        "exception",
        "oops; then OOM: x",
    ),
    "a time and a level before every line": (
        "".join(f"2026-11-02 10:00:0{number},{number}23 ERROR {line}\n" for number, line in enumerate(f"it failed\n{TRACE}my.boom: x".splitlines())),
        "exception",
        "my.boom: x",
    ),
    "the same, cut behind the header": (
        "".join(f"[1,{number}]<stderr>:{line}\n" for number, line in enumerate(f"{TRACE}my.boom: x".splitlines()[1:])),
        "exception",
        "my.boom: x",
    ),
    "an indented traceback": (prefixed("    ", f"{TRACE}my.boom: x"), "exception", "my.boom: x"),
    "a line of JSON": (
        json.dumps({"level": "ERROR", "message": "failed", "exc_info": f"{TRACE}my.boom: x"}) + "\n" + json.dumps({"level": "INFO", "message": "bye"}),
        "exception",
        "my.boom: x",
    ),
    "a field within a field of JSON": (json.dumps({"error": {"stack_trace": f"{TRACE}my.boom: x"}}), "exception", "my.boom: x"),
    "torchrun": (prefixed("[rank1]: ", f"{TRACE}OddError: x"), "exception", "OddError: x"),
    "C++": (
        "terminate called after throwing an instance of 'c10::Error'\n  what():  device-side assert triggered\n",
        "exception",
        "terminate called after throwing an instance of 'c10::Error' what(): device-side assert triggered",
    ),
    "klog.Fatal": (
        "F1122 13:00:00.123456       1 main.go:33] Error getting kubeconfig: invalid\ngoroutine 1 [running]:\nmain.main()\n\t/a/main.go:33 +0x1\n",
        "exception",
        "F1122 13:00:00.123456 1 main.go:33] Error getting kubeconfig: invalid",
    ),
    "a panic in a deferred call": ("panic: first [recovered]\n\tpanic: second\n\ngoroutine 1 [running]:\n", "exception", "panic: first [recovered]"),
    "Rust before 1.73": (
        "thread 'main' panicked at 'old words', src/main.rs:2:5\nnote: run with `RUST_BACKTRACE=1`\n",
        "exception",
        "thread 'main' panicked at 'old words', src/main.rs:2:5",
    ),
    "C++ of clang": (
        "libc++abi: terminating due to uncaught exception of type std::runtime_error: odd\n" + prefixed("(APIServer pid=1) ", f"{TRACE}{WRAPPED}"),
        "exception",
        "libc++abi: terminating due to uncaught exception of type std::runtime_error: odd",
    ),
    "C++ without an exception": ("terminate called without an active exception\n" + f"{TRACE}{WRAPPED}", "exception", "terminate called without"),
    "a signal, as PyTorch reports it": (f"!!!!!!! Segfault encountered !!!!!!!\n{TRACE}{WRAPPED}", "exception", "!!!!!!! Segfault encountered"),
    "a signal, as UCX reports it": (
        f"[node:12:0:12] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)\n{TRACE}{WRAPPED}",
        "exception",
        "[node:12:0:12] Caught signal 11",
    ),
    "a message of the C library before it aborts": (f"double free or corruption (!prev)\n{TRACE}{WRAPPED}", "exception", "double free or corruption"),
    "a fault that no traceback has, before a wrapper": (
        f"Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x2. Reason: Page not present\n{TRACE}{WRAPPED}",
        "gpu_fault",
        "Memory access fault by GPU node-1",
    ),
    "NCCL, which wraps an error of CUDA in the lines of its message": (
        f"{TRACE}torch.distributed.DistBackendError: NCCL error in: x.cpp:94, unhandled cuda error\n"
        "ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 2 'out of memory'\n",
        "F18",
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:94",
    ),
    "a traceback of which each line is a line of JSON": (
        "".join(json.dumps({"level": "ERROR", "message": line}) + "\n" for line in [*f"{TRACE}my.boom: x".splitlines(), *f"{TRACE}{WRAPPED}".splitlines()]),
        "exception",
        "my.boom: x",
    ),
    "a traceback in a box": (
        "╭──── Traceback (most recent call last) ────╮\n│ /a.py:1 in f                              "
        "│\n╰───────────────────────────────────────────╯\nmy.boom: x\n",
        "exception",
        "my.boom: x",
    ),
    "what only follows from another part's end gives way to a line that is known": (
        f"ERROR Worker proc VllmWorker-3 died unexpectedly, shutting down executor.\n{TRACE}KeyboardInterrupt\n",
        "V4",
        "ERROR Worker proc VllmWorker-3 died unexpectedly",
    ),
    "and is reported where nothing else is": (f"{TRACE}BrokenPipeError: [Errno 32] Broken pipe\n", "exception", "BrokenPipeError: [Errno 32] Broken pipe"),
}


@pytest.mark.parametrize("text, code, what", OTHERS.values(), ids=OTHERS)
def test_the_cause_is_extracted_from_unusual_log_formats(text, code, what):
    failure = log_failure(text)
    assert failure.code == code and failure.what.startswith(what), failure


@pytest.mark.parametrize(
    "text",
    [
        "INFO:     Started server process [1]\nusage: vllm serve [options]\nWARNING: x\nError in sitecustomize\n",
        f"Exception ignored in: <function x at 0x1>\n{TRACE}ValueError: harmless\n",
        f"{TRACE}ValueError: retried\nINFO:     Application startup complete.\n",
        "Stack (most recent call last):\n" + TRACE.partition("\n")[2] + "done\n",
        TRACE + "INFO:     127.0.0.1 - GET /health 200\n",
        "2026-11-02 10:00:01 WARNING " + TRACE.replace("\n", "\n2026-11-02 10:00:01 WARNING ") + "my.boom: it went on\n",
    ],
)
def test_a_log_without_a_fatal_error_has_no_failure(text):
    assert log_failure(text) is None


@given(st.text(), st.text(alphabet="\n\r :.|()[]ePpanic'0 \t{}\x1b"))
def test_any_text_is_read(one, two):
    for text in (one, two, one + two, f"Traceback (most recent call last):\n{two}"):
        raised, others = read_exceptions(text)
        assert len(raised) + len(others) <= len(text.replace("\r", "\n").split("\n"))
        first_exception(raised)


HOSTILE = {
    "dots": "a." * 100_000 + ": ",
    "prefix": "(A pid=1" * 40_000,
    "levels": "(A pid=1) ERROR 11-22 13:29:04 [" + "a/" * 90_000,
    "margin": " " * 200_000,
    "margins": ("  | " * 60 + "\n") * 500,
    "ranks": "[rank1" * 40_000,
    "rust": "thread '" * 30_000,
    "colours": "\x1b[0" * 60_000,
    "klog": "F1122 " * 40_000,
    "headers": "Traceback (most recent call last):\n" * 5_000,
    "streams": "".join(f"(A pid={number}) ERROR 11-22 13:29:04 [a.py:{number}] ValueError: {number}\n" for number in range(2_000)),
    "served": "ValueError: x\nINFO:     Application startup complete.\n" * 2_000,
    "returns": "\r" * 50_000,
    "frames": ('  File "' * 200 + "\n") * 500,
    "JSON lines": '{"message": "Traceback (most recent call last):"}\n{"message": "  x"}\n' * 3_000,
    "boxes": "╭─ Traceback (most recent call last) ─\n│\n╰\n" * 3_000,
    "signals": "!!!!!!! " + "Segfault " * 20_000,
    "JSON": ('{"a": "Traceback (most recent call last):' + "\\n" * 4_000 + '"}\n') * 20,
}


@pytest.mark.timing
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_log_is_parsed_in_linear_time(name):
    text = HOSTILE[name]

    def seconds(log):
        begin = time.process_time()
        raised, _others = read_exceptions(log)
        first_exception(raised)
        return time.process_time() - begin

    # The least of three each: a process that other work has pushed out of the caches takes several times as long.
    once, four = (min(seconds(text * size) for _attempt in range(3)) for size in (1, 4))
    assert four < 12 * max(once, 0.02)


def test_lines_are_read_up_to_a_limit():
    (one,), _others = read_exceptions("ValueError: " + "x" * 100_000)
    assert len(one.line) <= log_exceptions.LIMIT


RECORDED_803 = (
    "/opt/torch/cuda/__init__.py:1: UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 803: system has "
    f"unsupported display driver / cuda driver combination\n{TRACE}"
)


@pytest.mark.parametrize(
    "error", ["RuntimeError: Failed to infer device type, please set the environment variable", "odd.error: nobody has written this one down"]
)
def test_a_driver_that_cuda_cannot_use_is_the_cause_of_what_follows(error):
    failure = log_failure(RECORDED_803 + error)
    assert failure.code == "V6" and "Error 803" in failure.what and "do not fit" in failure.remedy
    assert log_failure(f"{TRACE}{error}").code in ("V7", "exception")
    assert log_failure(RECORDED_803 + "ValueError: No available memory for the cache blocks.").code == "F18", "a cause of its own"


# errors that last


def run(number, error):
    return (
        f"(Worker pid={number}) ERROR 11-22 13:29:0{number % 10} [multiproc_executor.py:1063] Traceback (most recent call last):\n"
        f"(Worker pid={number}) ERROR 11-22 13:29:0{number % 10} [multiproc_executor.py:1063] {error}\n"
    )


@pytest.mark.parametrize(
    "one, two",
    [
        ("ValueError: No common block size for 16.", "ValueError: No common block size for 16."),
        ("OddError: process 17 at 0x7f00 of /tmp/tmpab12cd_9/x", "OddError: process 2301 at 0x7f1100ff of /tmp/tmpzz99cd_9/x"),
        ("OddError: file 43effc6f3aa249dba00c12ace5cd73ef, [fe80::a:b]", "OddError: file aaeffc6f3aa249dba00c12ace5cd73ef, [fe80::1:cc]"),
    ],
)
def test_the_same_error_of_two_runs(one, two):
    assert lasting_error(run(6326, one)) == lasting_error(run(71, two)) != ""


def test_different_errors_differ():
    assert lasting_error(run(1, "ValueError: this")) != lasting_error(run(1, "ValueError: that"))
    assert lasting_error(run(1, "ValueError: this")) != lasting_error(run(1, "TypeError: this"))


@pytest.mark.parametrize("name", CAUSES)
def test_recorded_failures_that_last(name):
    passes = name in ("vllm-cpu0.32-absent-model-no-network", "vllm-cpu0.32-port-in-use", "rust-thread")
    assert bool(lasting_error(log(name))) is not passes


@pytest.mark.parametrize(
    "error",
    [
        "requests.exceptions.ConnectionError: HTTPConnectionPool(host='store', port=80): Max retries exceeded",
        "ConnectionRefusedError: [Errno 111] Connection refused",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "panic: dial tcp 10.0.0.1:9002: connect: connection refused",
        'panic: Get "https://10.96.0.1:443/api": dial tcp 10.96.0.1:443: i/o timeout',
        "thread 'main' panicked at a.rs:1:1: called `Result::unwrap()` on an `Err` value: ConnectionRefused",
        "httpx.HTTPStatusError: Server error '503 Service Unavailable' for url",
        "TimeoutError: The client socket has timed out after 60000ms while trying to connect to (leader, 29500).",
        "torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of (leader, 29500).",
        "ValueError: Free memory on device (10.2/79.3 GiB) on startup is less than desired GPU memory utilization (0.9, 71.4 GiB).",
        "RuntimeError: NCCL error: unhandled system error",
        "RuntimeError: CUDA error: system not yet initialized",
        "panic: leader election lost",
        'failed to list *v1.Pod: pods is forbidden: User "system:serviceaccount:llm-d:sim-epp" cannot list resource "pods"',
        'no matches for kind "InferenceObjective" in version "inference.networking.x-k8s.io/v1alpha2"',
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        "ERROR Worker proc VllmWorker-3 died unexpectedly, shutting down executor.",
        "KeyboardInterrupt: terminated",
        "INFO all is well",
    ],
)
def test_a_transient_or_unspecific_error_is_not_a_lasting_one(error):
    assert lasting_error(error + "\n") == ""


def test_an_error_that_follows_from_a_refused_connection_may_pass():
    text = (
        f"{TRACE}ConnectionRefusedError: [Errno 111] Connection refused\n\n"
        f"The above exception was the direct cause of the following exception:\n\n{TRACE}OddError: no store\n"
    )
    assert lasting_error(text) == "" and lasting_error("OddError: no store\n") != ""
