# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The profile for endpoint pickers: its results for real ones, that a correct one passes, and that each check catches its defects.

The API server is real; the test sets the status of Pods. Servers and an Envoy run on loopback.
"""

from __future__ import annotations

import collections.abc as c
import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import threading
import time
import typing as t
from pathlib import Path

import local_servers
import own_api_server
import plays
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.conformance import picker_pool
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.picker_bench import PickerBench
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.picker_checks import CHECKS, PickerRequest, run
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import build
from ext_proc_envoy import ENVOYS, envoy
from local_servers import port_for_a_program
from own_api_server import ApiServer, api_server, program
from stub_picker import DEFECTS, StubPicker
from waiting import until

pytestmark = pytest.mark.rest

Facts = dict[str, t.Any]
BINARIES = own_api_server.CACHE / "bin"
LINES = {"epp": "scheduler-0.7", "epp-gie": "gie-1.5"}
# Programs of the local cluster with other names: lwepp as upstream released it, and with corrected answers about bodies.
PROGRAMS = {"lwepp": "lwepp-upstream", "lwepp-repaired": "lwepp"}
MODEL = "llama-8b"
HOSTS = ("127.0.0.11", "127.0.0.12", "127.0.0.13")
BOUND = 3.0
COUNT = itertools.count()
PAGE = """inference_pool_ready_pods{name="pool"} 3
inference_pool_average_queue_size 0
inference_pool_average_kv_cache_utilization 0
inference_objective_request_total 4
inference_extension_scheduler_e2e_duration_seconds_count 4
"""
GATEWAY = tuple(check.name for check in CHECKS if check.name.startswith("gateway_"))
# The check that has to catch each defect.
CAUGHT = {
    "stranger": "offered", "fallback": "offered", "no_header": "header_and_metadata", "no_metadata": "header_and_metadata", "differ": "header_and_metadata",
    "no_port": "form", "twice": "form", "ignore_subset": "subset", "subset_or_any": "subset_of_strangers",
    "ignore_ports": "subset_ports", "error_500": "subset_of_strangers",
    "grpc_error": "subset_of_strangers", "empty_is_none": "subset_empty", "no_get": "no_body", "get_random": "no_body_subset", "mixed_up": "together",
    "unready": "not_ready", "never_learns": "stops_being_ready", "never_forgets": "deleted", "draining": "draining", "forgets_body": "pieces",
    "first_piece": "pieces", "truncates": "large_body", "holds_back": "streamed_response", "changes": "streamed_response",
    "swallows_end": "streamed_response", "hangs_on_bad": "no_json",
    "passes_bad_500": "no_json", "leaks": "broken_off", "believes_client": "forged_destination", "appends": "forged_destination",
    "subset_header": "steered", "test_header": "steered", "not_serving": "health", "no_liveness": "health",
}  # fmt: skip


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> c.Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("api")) as running:
        yield running


class Deployed(t.NamedTuple):
    """A pool with three Pods, and the servers of these."""

    namespace: str
    pool: Facts


@contextlib.contextmanager
def deployed(api: ApiServer, folder: Path, extra_ports: c.Sequence[int] = (), **spec: t.Any) -> c.Iterator[Deployed]:
    """A pool, a Pod of another pool, and a Pod that is not ready. A simulator serves for all Pods of the pool."""
    simulator = BINARIES / "llm-d-inference-sim"
    if not simulator.is_file():
        pytest.skip("no simulator: the local cluster builds it")
    namespace, port = f"ns{next(COUNT)}", port_for_a_program()
    pool = api.pool(namespace, "pool", [port, *extra_ports], **spec)
    for index, host in enumerate(HOSTS):
        api.pod(namespace, f"server-{index}", "pool", host)
    api.pod(namespace, "stranger", "other", "127.0.0.98")
    api.pod(namespace, "starting", "pool", "127.0.0.99", ready=False)
    options = [f"--port={port}", f"--model={MODEL}", "--max-model-len=1024", "--max-num-seqs=64", "--time-to-first-token=5ms", "--inter-token-latency=5ms"]
    with program(folder, namespace, str(simulator), *options):  # it listens on every address
        until(lambda: serves(HOSTS[0], port))
        yield Deployed(namespace, pool)


def serves(host: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port), 1):
        return True
    return False


def bench_of(api: ApiServer, pool: Facts, **options: t.Any) -> PickerBench:
    usual = {
        "model": MODEL, "bound": BOUND, "address": "", "health_address": "", "metrics_address": "", "probe_image": "none", "stop": False, "url": "",
        "headers": {}, "validate_certs": True, "ca_path": None,
    }  # fmt: skip
    return PickerBench(api.cluster, pool, {**usual, **options})


def outcome(bench: PickerBench, *names: str) -> dict[str, Facts]:
    chosen = [check for check in CHECKS if check.name in names] if names else CHECKS
    assert chosen
    return {each["name"]: each for each in run(bench, chosen, time.monotonic, lambda line: None)}


def binary_of(name: str) -> Path:
    """The program of an endpoint picker."""
    path = BINARIES / PROGRAMS.get(name, name)
    if not path.is_file():
        pytest.skip(f"no {path}: the local cluster builds it")
    return path


@contextlib.contextmanager
def picker(api: ApiServer, name: str, place: Deployed, folder: Path, again: dict[str, str] | None = None) -> c.Iterator[dict[str, str]]:
    """A real endpoint picker; yields its addresses. again: the addresses of an earlier one, to use again."""
    binary = binary_of(name)
    places = again or {each: f"127.0.0.1:{port_for_a_program()}" for each in ("address", "health_address", "metrics_address")}
    ports = dict(zip(("grpc-port", "grpc-health-port", "metrics-port"), (each.rpartition(":")[2] for each in places.values()), strict=True))
    flags = ["--pool-name=pool", f"--pool-namespace={place.namespace}", *(f"--{flag}={port}" for flag, port in ports.items())]
    if name in LINES:
        config = folder / "config.yaml"
        config.write_text(build({"preset": "queue"}, LINES[name], {"engine": "vllm", "model": MODEL, "block_size": 16}).text, encoding="utf-8")
        flags += ["--tracing=false", "--metrics-endpoint-auth=false", "--zap-encoder=json", f"--config-file={config}"]
    with program(folder, name, str(binary), *flags, KUBECONFIG=str(api.kubeconfig), TMPDIR=str(folder)):
        bench = bench_of(api, place.pool, **places)
        until(lambda: set(bench.ask([PickerRequest()])[0].endpoints) & set(bench.endpoints))
        bench.close()
        yield places


# The failed checks of each real endpoint picker, measured on 2026-11-23; docs/conformance.md has the same.
FAILS = {
    "epp": {"no_body_subset"},
    "epp-gie": {"no_body_subset"},
    "lwepp": {"subset_of_strangers", "subset_empty", "pieces", "large_body", "streamed_response", "no_json", "steered", "health", "metrics"},
    "lwepp-repaired": {"subset_of_strangers", "subset_empty", "steered", "health", "metrics"},
}


@pytest.mark.parametrize("name", FAILS)
def test_a_real_endpoint_picker_fails_exactly_the_recorded_checks(api: ApiServer, name: str, tmp_path: Path) -> None:
    with deployed(api, tmp_path) as place, picker(api, name, place, tmp_path) as addresses:
        results = outcome(bench_of(api, place.pool, **addresses))
    assert {each for each, test in results.items() if test["result"] == "failed"} == FAILS[name], results
    assert {each for each, test in results.items() if test["result"] == "skipped"} == {"subset_ports", *GATEWAY}, results


# The failed checks with two ports for each Pod.
FAILS_OF_PORTS = {"epp": {"subset_ports", "no_body_subset"}, "epp-gie": {"subset_ports", "no_body_subset"}, "lwepp": set(), "lwepp-repaired": set()}


@pytest.mark.parametrize("name", FAILS_OF_PORTS)
def test_a_real_endpoint_picker_with_several_ports_fails_only_recorded_checks(api: ApiServer, name: str, tmp_path: Path) -> None:
    with deployed(api, tmp_path, extra_ports=[port_for_a_program()]) as place, picker(api, name, place, tmp_path) as addresses:
        results = outcome(bench_of(api, place.pool, **addresses), "offered", "subset", "subset_ports", "together", "no_body", "no_body_subset")
    assert {each for each, test in results.items() if test["result"] != "passed"} == FAILS_OF_PORTS[name], results
    assert "of 6 endpoints" in results["offered"]["why"]


def truth(api: ApiServer, place: Deployed) -> dict[str, list[str]]:
    """The endpoints of a pool by the reason why they must not be picked, for the stub; empty for those that may."""
    pods = api.cluster.listed(f"/api/v1/namespaces/{place.namespace}/pods", query={"labelSelector": "app=pool"})
    by: dict[str, list[str]] = {"": [], "unready": [], "terminating": []}
    for pod in pods:
        why = "" if picker_pool.is_ready(pod) else "terminating" if pod["metadata"].get("deletionTimestamp") else "unready"
        if pod["status"].get("podIP"):
            by[why] += [f"{pod['status']['podIP']}:{port['number']}" for port in place.pool["spec"]["targetPorts"]]
    return by


@pytest.fixture(scope="module")
def stub(api: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> c.Iterator[tuple[StubPicker, PickerBench]]:
    with deployed(api, tmp_path_factory.mktemp("stub")) as place, local_servers.serve(lambda *_request: (200, {"Content-Type": "text/plain"}, PAGE)) as metrics:
        picker = StubPicker(lambda: truth(api, place))
        addresses = {"address": picker.address, "health_address": picker.address, "metrics_address": metrics.removeprefix("http://")}
        try:
            yield picker, bench_of(api, place.pool, **addresses)
        finally:
            picker.close()


@pytest.fixture(scope="module")
def two_ports(api: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> c.Iterator[tuple[StubPicker, PickerBench]]:
    with deployed(api, tmp_path_factory.mktemp("ports"), extra_ports=[port_for_a_program()]) as place:
        picker = StubPicker(lambda: truth(api, place))
        try:
            yield picker, bench_of(api, place.pool, address=picker.address)
        finally:
            picker.close()


def test_ports_of_a_subset_count(two_ports: tuple[StubPicker, PickerBench]) -> None:
    two_ports[0].break_with()
    results = outcome(two_ports[1], "subset", "subset_ports", "together")
    assert {test["result"] for test in results.values()} == {"passed"}, results


def test_a_correct_endpoint_picker_fails_no_check(stub: tuple[StubPicker, PickerBench]) -> None:
    stub[0].break_with()
    results = outcome(stub[1])
    assert {name: test["why"] for name, test in results.items() if test["result"] == "failed"} == {}
    assert {name for name, test in results.items() if test["result"] == "skipped"} == {"subset_ports", *GATEWAY}


@pytest.mark.parametrize("defect", DEFECTS)
def test_each_defect_of_an_endpoint_picker_fails_its_check(
    stub: tuple[StubPicker, PickerBench], two_ports: tuple[StubPicker, PickerBench], defect: str
) -> None:
    picker, bench = two_ports if CAUGHT[defect] == "subset_ports" else stub
    picker.break_with(defect)
    bench.close()
    try:
        bench.ask([PickerRequest()])  # so that the defect never_learns begins with the present Pods
        test = outcome(bench, CAUGHT[defect])[CAUGHT[defect]]
    finally:
        picker.break_with()
        bench.close()
    assert test["result"] == "failed", f"{DEFECTS[defect]}: {test}"


def test_every_check_has_a_defect_that_it_catches() -> None:
    assert set(CAUGHT) == set(DEFECTS)
    assert {check.name for check in CHECKS} - set(CAUGHT.values()) == {"metrics", *GATEWAY}, "these have separate tests below"


@pytest.mark.parametrize("page", ["", PAGE.replace("inference_pool_ready_pods", "ready_pods"), PAGE.replace("_seconds_count", "_seconds_counted")])
def test_metrics_that_are_missing_are_named(api: ApiServer, stub: tuple[StubPicker, PickerBench], page: str) -> None:
    with local_servers.serve(lambda *_request: (200, {"Content-Type": "text/plain"}, page)) as url:
        bench = bench_of(api, stub[1]._pool, address=stub[0].address, metrics_address=url.removeprefix("http://"))
        result = outcome(bench, "metrics")["metrics"]
    assert result["result"] == "failed" and "inference_" in result["why"], result
    with local_servers.serve(lambda *_request: (401, {}, "who are you?")) as url:
        bench = bench_of(api, stub[1]._pool, address=stub[0].address, metrics_address=url.removeprefix("http://"))
        assert outcome(bench, "metrics")["metrics"]["result"] == "skipped"


class Stoppable(PickerBench):
    """A bench whose endpoint picker the test itself stops and starts."""

    stopped: c.Callable[[], contextlib.AbstractContextManager[None]]

    def gone(self) -> contextlib.AbstractContextManager[None]:
        return self.stopped()


def through(api: ApiServer, place: Deployed, addresses: dict[str, str], url: str, stopped: t.Any) -> PickerBench:
    bench = bench_of(api, place.pool, **addresses, url=url)
    stoppable = Stoppable(api.cluster, place.pool, bench._options)
    stoppable.stopped = stopped
    until(lambda: serves("127.0.0.1", int(url.rpartition(":")[2])))
    return stoppable


FAILS_BEHIND_ENVOY = {"epp": set(), "epp-gie": set(), "lwepp": set(GATEWAY), "lwepp-repaired": set()}


@pytest.mark.parametrize("mode", ["FailClose", "FailOpen"])
@pytest.mark.parametrize("name", FAILS_BEHIND_ENVOY)
def test_a_real_endpoint_picker_behind_envoy_fails_only_recorded_checks(api: ApiServer, name: str, mode: str, tmp_path: Path) -> None:
    if not ENVOYS:
        pytest.skip("no Envoy: the local cluster installs it")
    reference = {"name": "pool-epp", "port": {"number": 9002}, "failureMode": mode}
    with deployed(api, tmp_path, endpointPickerRef=reference) as place, contextlib.ExitStack() as running:
        addresses = running.enter_context(picker(api, name, place, tmp_path))
        fallback = f"{HOSTS[0]}:{place.pool['spec']['targetPorts'][0]['number']}"

        @contextlib.contextmanager
        def stopped() -> c.Iterator[None]:
            running.close()
            yield
            running.enter_context(picker(api, name, place, tmp_path, addresses))

        with envoy(tmp_path, addresses["address"], fallback, mode == "FailOpen") as url:
            results = outcome(through(api, place, addresses, url, stopped), *GATEWAY)
            other = "FailOpen" if mode == "FailClose" else "FailClose"
            if name == "epp":  # a pool whose failure mode differs from the gateway's behaviour
                place.pool["spec"]["endpointPickerRef"]["failureMode"] = other
                assert outcome(through(api, place, addresses, url, stopped), "gateway_failure_mode")["gateway_failure_mode"]["result"] == "failed"
    assert {each for each, test in results.items() if test["result"] != "passed"} == FAILS_BEHIND_ENVOY[name], results


@pytest.mark.parametrize(
    ("defect", "check"),
    [("", ""), ("believes_client", GATEWAY[0]), ("truncates", GATEWAY[1]), ("holds_back", GATEWAY[2])],
)
def test_defects_show_through_a_real_envoy(api: ApiServer, stub: tuple[StubPicker, PickerBench], defect: str, check: str, tmp_path: Path) -> None:
    if not ENVOYS:
        pytest.skip("no Envoy: the local cluster installs it")
    picked, names = stub[0], GATEWAY[:3]
    place = Deployed(stub[1]._namespace, stub[1]._pool)
    picked.break_with(*[defect] if defect else [])
    with envoy(tmp_path, picked.address, stub[1].endpoints[0], tls=False) as url:
        results = outcome(through(api, place, {"address": picked.address}, url, None), *names)
    picked.break_with()
    assert {each for each, test in results.items() if test["result"] == "failed"} >= ({check} - {""}), results
    assert defect or all(test["result"] == "passed" for test in results.values()), results


def probes(api: ApiServer) -> list[Facts]:
    return api.cluster.listed("/api/v1/pods", query={"labelSelector": picker_pool.LABEL})


def leave_a_probe(api: ApiServer, place: Deployed) -> None:
    pool = {**place.pool, "apiVersion": "inference.networking.k8s.io/v1", "kind": "InferencePool"}
    api.cluster.request("POST", f"/api/v1/namespaces/{place.namespace}/pods", body=picker_pool.probe(pool, "none", 1))


def test_a_user_runs_the_playbook_against_any_endpoint_picker(api: ApiServer, tmp_path: Path) -> None:
    """The user names its address, and a pool outside of the namespace of the file; the results are in the artifacts, and no probe Pod remains."""
    with deployed(api, tmp_path) as place, picker(api, "epp", place, tmp_path) as addresses:
        given = {
            "conformance_profile": "endpoint_picker",
            "conformance_pool": "pool",
            "conformance_pool_namespace": place.namespace,
            "conformance_model": MODEL,
            "conformance_picker_address": addresses["address"],
            "conformance_picker_health_address": addresses["health_address"],
            "conformance_picker_metrics_address": addresses["metrics_address"],
            "conformance_probe_image": "registry.k8s.io/pause:3.10",
            "conformance_bound": BOUND,
            "llm_d_kubeconfig": str(api.kubeconfig),
        }
        leave_a_probe(api, place)  # as a killed run does
        done = plays.run("-i", "inventories/local", "playbooks/conformance.yml", "-e", json.dumps({"llm_d_artifacts_dir": str(tmp_path), **given}))
        assert probes(api) == []
        leave_a_probe(api, place)
        plays.well("inventories/local", "playbooks/conformance.yml", tmp_path / "none", **given, conformance_state="absent")
        assert probes(api) == []
    assert done.returncode == 2 and "(no_body_subset failed)" in done.stdout, done.stdout + done.stderr
    report = json.loads((tmp_path / "conformance/endpoint_picker.json").read_text(encoding="utf-8"))
    outcomes = {test["name"]: test["result"] for test in report["tests"]}
    assert {name for name, result in outcomes.items() if result != "passed"} == {"no_body_subset", "subset_ports", *GATEWAY} and report[
        "pool"
    ] == f"{place.namespace}/pool"
    page = (tmp_path / "conformance/endpoint_picker.md").read_text(encoding="utf-8")
    assert "reached by TLS" in page and "| `no_body_subset` The subset counts" in page


def test_the_conformance_page_shows_the_measured_results() -> None:
    page = (plays.ROOT / "docs/conformance.md").read_text(encoding="utf-8")
    names = list(FAILS)
    for check in CHECKS:
        cells = ["**failed**" if check.name in FAILS[name] | FAILS_OF_PORTS[name] | FAILS_BEHIND_ENVOY[name] else "passed" for name in names]
        assert f"| `{check.name}` | {check.title} | {check.section} | {' | '.join(cells)} |" in page, check.name


def test_an_interrupted_run_leaves_no_pod_for_probing(api: ApiServer, stub: tuple[StubPicker, PickerBench], tmp_path: Path) -> None:
    stub[0].break_with()
    given = {
        "conformance_profile": "endpoint_picker",
        "conformance_pool": "pool",
        "conformance_pool_namespace": stub[1]._namespace,
        "conformance_model": MODEL,
        "conformance_picker_address": stub[0].address,
        "conformance_probe_image": "registry.k8s.io/pause:3.10",
        "conformance_only": "not_ready",
        "conformance_bound": 60,
        "llm_d_kubeconfig": str(api.kubeconfig),
        "llm_d_artifacts_dir": str(tmp_path),
    }

    command = plays.command("-i", "inventories/local", "playbooks/conformance.yml", "-e", json.dumps(given))
    running = subprocess.Popen(command, cwd=plays.ROOT, env=plays.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        until(lambda: probes(api))
        os.killpg(running.pid, signal.SIGINT)
        running.wait(60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    until(lambda: not probes(api))


def controlled(kind: str, name: str, version: str, uid: str) -> Facts:
    """Metadata of an object that a controller has created."""
    return {"ownerReferences": [{"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}], "labels": {"app": "picker"}}


def test_the_endpoint_picker_is_scaled_to_zero_and_back_even_after_an_error(api: ApiServer, tmp_path: Path) -> None:
    """The Deployment is determined by the owners of the Pod, and scaled to 0 and back; a thread acts as the controllers."""
    with deployed(api, tmp_path) as place:
        base, apps = f"/api/v1/namespaces/{place.namespace}", f"/apis/apps/v1/namespaces/{place.namespace}"
        port = {"port": 9002}
        api.cluster.request("POST", f"{base}/services", body={"metadata": {"name": "pool-epp"}, "spec": {"selector": {"app": "picker"}, "ports": [port]}})
        labels = {"labels": {"app": "picker"}}
        template = {"metadata": labels, "spec": {"containers": [{"name": "picker", "image": "none"}]}}
        spec = {"replicas": 2, "selector": {"matchLabels": {"app": "picker"}}, "template": template}
        made = api.cluster.request("POST", f"{apps}/deployments", body={"metadata": {"name": "picker", **labels}, "spec": spec})
        meta = {"name": "picker-1", **controlled("Deployment", "picker", "apps/v1", made["metadata"]["uid"])}
        replicas = api.cluster.request("POST", f"{apps}/replicasets", body={"metadata": meta, "spec": spec})
        ended = threading.Event()
        owned = controlled("ReplicaSet", "picker-1", "apps/v1", replicas["metadata"]["uid"])

        def control() -> None:
            for name in ("a", "b"):
                api.pod(place.namespace, name, "picker", "127.0.0.50")
                api.cluster.request("PATCH", f"{base}/pods/{name}", body={"metadata": owned}, content_type="application/merge-patch+json")

        def controllers() -> None:
            there = True
            while not ended.wait(0.05):
                wanted = api.cluster.get(f"{apps}/deployments/picker")["spec"].get("replicas", 1) > 0
                if there and not wanted:
                    for name in ("a", "b"):
                        api.cluster.request("DELETE", f"{base}/pods/{name}", {"gracePeriodSeconds": "0"})
                elif wanted and not there:
                    control()
                there = wanted

        control()
        thread = threading.Thread(target=controllers, daemon=True)
        thread.start()
        try:
            bench = bench_of(api, place.pool, stop=True)
            with pytest.raises(ZeroDivisionError), bench.stopped():
                assert bench._picker_pods() == []
                raise ZeroDivisionError  # it is started again after any error
            assert len(bench._picker_pods()) == 2 and api.cluster.get(f"{apps}/deployments/picker")["spec"]["replicas"] == 2
        finally:
            ended.set()
            thread.join()
