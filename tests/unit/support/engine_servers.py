# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engines as HTTP servers on loopback, with the responses of the real engines; and an API server that proxies to pods."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import typing as t
import urllib.error
import urllib.parse
import urllib.request

import pytest
from forwarding import forward
from local_servers import JSON, SSE, chunk, serve, stream, whole
from waiting import until

TEXT = "text/plain; version=0.0.4; charset=utf-8"
MODEL = "acme/tiny"
TINY = {"llm-d.ai/model-service": "tiny"}  # labels of its pods
VLLM = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="acme/tiny"} 1.0
vllm:num_requests_waiting{engine="0",model_name="acme/tiny"} 0.0
vllm:kv_cache_usage_perc{engine="0",model_name="acme/tiny"} 0.125
vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True",engine="0",num_gpu_blocks="27000"} 1.0
vllm:lora_requests_info{max_lora="4",running_lora_adapters="sql",waiting_lora_adapters=""} 1.789828498802105e+09
vllm:engine_sleep_state{engine="0",model_name="acme/tiny",sleep_state="awake"} 1.0
"""
SGLANG = """# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="unified",model_name="acme/tiny",tp_rank="0"} 3.0
sglang:num_queue_reqs{engine_type="unified",model_name="acme/tiny",tp_rank="0"} 2.0
sglang:token_usage{engine_type="unified",model_name="acme/tiny",tp_rank="0"} 0.28
sglang:page_size{model_name="acme/tiny"} 64.0
sglang:num_pages{model_name="acme/tiny"} 4000.0
"""
TRTLLM = """trtllm_num_requests_running{model_name="acme/tiny",engine_type="trtllm"} 0.0
trtllm_num_requests_waiting{model_name="acme/tiny",engine_type="trtllm"} 0.0
trtllm_kv_cache_utilization{model_name="acme/tiny",engine_type="trtllm"} 0.5
trtllm_kv_cache_tokens_per_block{model_name="acme/tiny",engine_type="trtllm"} 32.0
trtllm_kv_cache_max_blocks{model_name="acme/tiny",engine_type="trtllm"} 900.0
"""
TRITON = """nv_inference_request_success{model="ensemble",version="1"} 5
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 1
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="scheduled",version="1"} 2
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="tensorrt_llm",version="1"} 0.25
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="tensorrt_llm",version="1"} 64
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="tensorrt_llm",version="1"} 1000
"""
# The names are those of 3.3, as its page on metrics lists them. In /v1/models, `owned_by` is the name of the model.
TGI = """# TYPE tgi_queue_size gauge
tgi_queue_size 2
# TYPE tgi_batch_current_size gauge
tgi_batch_current_size 3
tgi_batch_current_max_tokens 4096
"""
# Triton with vLLM: the back end gets every request at once, and its queue is not part of Triton's metrics.
TRITON_VLLM = """nv_inference_request_success{model="tiny",version="1"} 5
nv_inference_pending_request_count{model="tiny",version="1"} 0
"""


def listed(owner: str, model: str = MODEL, length: int | None = 4096) -> str:
    entry = {"id": model, "object": "model", "created": 1795248213, "owned_by": owner, "max_model_len": length}
    return json.dumps({"object": "list", "data": [entry]})


def chatted(streamed: bool) -> str | bytes:
    """A chat completion, whole or streamed."""
    if streamed:
        return stream({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]})
    return json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}], "usage": {"completion_tokens": 1}})


def engine(name: str, **pages: t.Any) -> t.Callable[..., t.Any]:
    """An answer function for local_servers.serve. pages: path to (status, content type, body), or to None for a path that does not exist."""
    known: dict[str, t.Any] = {
        "vllm": {
            "/health": (200, JSON, ""),
            "/version": (200, JSON, '{"version":"0.33.0"}'),
            "/v1/models": (200, JSON, listed("vllm")),
            "/metrics": (200, TEXT, VLLM),
        },
        "sglang": {
            "/health": (200, JSON, ""),
            "/get_server_info": (200, JSON, '{"model_path":"/m","version":"0.5.4"}'),
            "/v1/models": (200, JSON, listed("sglang")),
            "/metrics": (200, TEXT, SGLANG),
        },
        "trtllm": {
            "/health": (200, JSON, ""),
            "/version": (200, JSON, '{"version":"1.2.0"}'),
            "/v1/models": (200, JSON, listed("tensorrt_llm")),
            "/metrics": (200, JSON, '[{"gpuMemUsage":1,"iter":7}]'),
            "/prometheus/metrics": (200, TEXT, TRTLLM),
        },
        "tgi": {
            "/health": (200, "", ""),
            "/info": (200, JSON, '{"model_id":"acme/tiny","version":"3.3.7","max_total_tokens":4096}'),
            "/v1/models": (200, JSON, listed(MODEL, length=None)),
            "/metrics": (200, TEXT, TGI),
        },
        "triton_openai": {
            "/health/ready": (200, JSON, ""),
            "/v1/models": (200, JSON, listed("Triton Inference Server", length=None)),
            "/metrics": (200, TEXT, TRITON),
        },
        "triton": {
            "/v2/health/ready": (200, "", ""),
            "/v2": (200, JSON, '{"name":"triton","version":"2.60.0","extensions":["generate"]}'),
            "/v2/repository/index": (200, JSON, f'[{{"name":"{MODEL}","version":"1","state":"READY"}},{{"name":"old","state":"UNAVAILABLE"}}]'),
            f"/v2/models/{MODEL}/generate": (200, JSON, '{"model_name":"m","text_output":"four"}'),
            f"/v2/models/{MODEL}/generate_stream": (200, SSE, stream({"text_output": "fo"}, {"text_output": "ur"}, done=False)),
            "/metrics": (200, TEXT, TRITON),
        },
    }[name]
    pages = {**known, **pages}

    def answer(handler: t.Any, method: str, path: str, body: bytes) -> t.Any:
        if pages.get(path):
            status, kind, content = pages[path]
            return status, {"Content-Type": kind}, content
        if path in ("/v1/completions", "/v1/chat/completions") and name != "triton" and path not in pages:
            streamed = json.loads(body).get("stream")
            if path == "/v1/chat/completions":
                return 200, {"Content-Type": SSE if streamed else JSON}, chatted(streamed)
            return 200, {"Content-Type": SSE if streamed else JSON}, stream(chunk("a"), chunk("", "stop")) if streamed else whole()
        return 404, {"Content-Type": "text/plain"}, "Not Found"

    return answer


# A Secret with the API key of servers, as an option of modules, and as the objects of an API server.
SECRET = {"namespace": "llm-d", "name": "keys", "key": "API_KEY"}
SECRETS = {"/api/v1/namespaces/llm-d/secrets/keys": {"kind": "Secret", "data": {"API_KEY": base64.b64encode(b"sk-model").decode()}}}


def keyed(answer: t.Callable[..., t.Any], key: str = "sk-model") -> t.Callable[..., t.Any]:
    """The server with an API key, as vLLM checks it: paths below /v1 require the key, health and metrics do not."""

    def guarded(handler: t.Any, method: str, path: str, body: bytes) -> t.Any:
        if path.startswith("/v1") and handler.headers.get("Authorization") != f"Bearer {key}":
            return 401, {"Content-Type": JSON}, '{"error":"Unauthorized"}'
        return answer(handler, method, path, body)

    return guarded


def pod(name: str, url: str, labels: dict[str, str], ready: bool = True, **status: t.Any) -> dict[str, t.Any]:
    """A Pod whose server has a URL of this host; the API server below proxies to it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "llm-d", "uid": f"uid-{name}", "labels": labels, "annotations": {"test/url": url}},
        "spec": {"containers": [{"name": "server", "ports": [{"name": "http", "containerPort": 8000}]}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}, {"type": "PodScheduled", "status": "True"}], **status},
    }


class CachingEngine:
    """A server with a prefix cache in blocks of `block` words, whose metrics have the size of a block.

    reports: when the usage of a response has cached_tokens: always, never, or nonzero (as with some versions of vLLM); keeps: whether prompts are cached;
    fails: returns the error response for a prompt, or None. The chat template makes `<role> | content` of each message. `prompts`: the prompts of all requests.
    """

    BLOCK = 16

    def __init__(self, reports: str = "always", keeps: bool = True, fails: t.Any = None, block: int = BLOCK) -> None:
        self.reports, self.keeps, self.fails, self.block = reports, keeps, fails, block
        self.blocks: set[tuple[str, ...]] = set()
        self.prompts: list[str] = []

    def __call__(self, handler: t.Any, method: str, path: str, body: bytes) -> t.Any:
        if path == "/metrics":
            return 200, {"Content-Type": "text/plain"}, f'vllm:cache_config_info{{block_size="{self.block}",num_gpu_blocks="1400"}} 1\n'
        request = json.loads(body)
        messages = request.get("messages")
        prompt = request["prompt"] if messages is None else " ".join(f"<{entry['role']}> | {entry['content']}" for entry in messages)
        self.prompts.append(prompt)
        if self.fails and (reply := self.fails(prompt)):
            return reply
        words = prompt.split()
        prefixes = [tuple(words[:end]) for end in range(self.block, len(words), self.block)]
        cached = next((index for index, prefix in enumerate(prefixes) if prefix not in self.blocks), len(prefixes)) * self.block
        self.blocks.update(prefixes if self.keeps else ())
        details = None if self.reports == "never" or (self.reports == "nonzero" and not cached) else {"cached_tokens": cached}
        usage = {"prompt_tokens": len(words), "completion_tokens": 1, "total_tokens": len(words) + 1, "prompt_tokens_details": details}
        choice = {"index": 0, "finish_reason": "length", **({"text": "To"} if messages is None else {"message": {"role": "assistant", "content": "To"}})}
        return 200, {"Content-Type": JSON}, json.dumps({"id": "cmpl-1", "model": request["model"], "usage": usage, "choices": [choice]})


class LoraServer:
    """A vLLM with `--enable-lora`. missing: folders that do not exist; closed: without VLLM_ALLOW_RUNTIME_LORA_UPDATING; has: folders of the loaded adapters.

    `calls`: (load or unload, name of the adapter) of each request.
    """

    def __init__(self, *missing: str, closed: bool = False, **has: str) -> None:
        self.missing, self.closed, self.has = missing, closed, has
        self.calls: list[tuple[str, str]] = []

    def __call__(self, _handler: t.Any, method: str, path: str, body: bytes) -> tuple[int, dict[str, t.Any], str]:
        if (method, path) == ("GET", "/v1/models"):
            listed = [{"id": "acme/tiny", "root": "acme/tiny", "parent": None}]
            listed += [{"id": name, "root": source, "parent": "acme/tiny"} for name, source in self.has.items()]
            return 200, {"Content-Type": JSON}, json.dumps({"object": "list", "data": listed})
        if self.closed:
            return 404, {"Content-Type": JSON}, '{"detail":"Not Found"}'
        request = json.loads(body)
        name, action = request["lora_name"], path.removeprefix("/v1/").removesuffix("_lora_adapter")
        self.calls.append((action, name))
        if action == "load" and name in self.has:
            return self.refused(400, f"The lora adapter '{name}' has already been loaded.")
        if action == "load" and request["lora_path"] in self.missing:
            return self.refused(404, f"Loading lora {name} failed: No adapter found for {request['lora_path']}")
        if action == "unload" and name not in self.has:
            return self.refused(404, f"The lora adapter '{name}' cannot be found.")
        if action == "load":
            self.has[name] = request["lora_path"]
        else:
            del self.has[name]
        return 200, {"Content-Type": "text/plain"}, f"Success: LoRA adapter '{name}' {action}ed successfully."

    @staticmethod
    def refused(code: int, message: str) -> tuple[int, dict[str, t.Any], str]:
        return code, {"Content-Type": JSON}, json.dumps({"error": {"message": message, "type": "NotFoundError", "code": code}})


class ApiServer:
    """The paths of an API server that the health modules read: pods, a Service, the proxy to them, logs.

    `refuses`: the status with which port-forwards are refused, 0 for none; `port_forwards`: (Authorization, pod, port) of each; `open`: the number in progress.
    """

    def __init__(self, pods: list[dict[str, t.Any]], objects: dict[str, t.Any] | None = None, logs: dict[str, str] | None = None) -> None:
        self.pods, self.objects, self.logs = pods, objects or {}, logs or {}
        self.refuses, self.port_forwards, self.open = 0, [], 0

    def __call__(self, handler: t.Any, method: str, path: str, body: bytes) -> t.Any:
        path, _mark, query = path.partition("?")
        match = re.fullmatch(r"/api/v1/namespaces/([^/]+)/(pods|services)/([^/]+)/proxy(/.*)", path)
        if match:
            return self.proxy(match.group(2), match.group(3).rpartition(":")[0].rpartition(":")[2], method, match.group(4), body)
        if match := re.fullmatch(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/portforward", path):
            return self.forward(handler, match.group(2), int(query.removeprefix("ports=")))
        if match := re.fullmatch(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/log", path):
            return 200, {"Content-Type": "text/plain"}, self.logs.get(match.group(2), "")
        if path == "/version":
            return 200, {"Content-Type": JSON}, json.dumps({"major": "1", "minor": "34", "gitVersion": "v1.34.4"})
        if path == "/api/v1/namespaces/llm-d":
            return 200, {"Content-Type": JSON}, json.dumps({"kind": "Namespace", "metadata": {"name": "llm-d"}})
        if path in self.objects:
            return 200, {"Content-Type": JSON}, json.dumps(self.objects[path])
        if path.endswith("/pods"):
            selector = urllib.parse.parse_qs(query).get("labelSelector", [""])[0]
            wanted = dict(pair.split("=") for pair in selector.split(",")) if selector else {}
            items = [entry for entry in self.pods if wanted.items() <= entry["metadata"]["labels"].items()]
            return 200, {"Content-Type": JSON}, json.dumps({"kind": "PodList", "apiVersion": "v1", "items": items})
        for entry in self.pods:
            if path.endswith(f"/pods/{entry['metadata']['name']}"):
                return 200, {"Content-Type": JSON}, json.dumps(entry)
        return self.status(404, "NotFound", f"{path} not found")

    def forward(self, handler: t.Any, name: str, port: int) -> t.Any:
        """A port-forward to a pod, or its refusal."""
        self.port_forwards.append((handler.headers["Authorization"], name, port))
        entry = next((entry for entry in self.pods if entry["metadata"]["name"] == name), None)
        if self.refuses or entry is None:
            return self.status(self.refuses or 404, "Refused", "not here")
        parts = urllib.parse.urlsplit(entry["metadata"]["annotations"]["test/url"])
        self.open += 1
        try:
            forward(handler, port, (parts.hostname, parts.port))
        finally:
            self.open -= 1

    def closed(self) -> bool:
        """Waits until all port-forwards have ended, which the server notices a little after the client; gives True."""
        return until(lambda: self.open == 0)

    def proxy(self, kind: str, name: str, method: str, path: str, body: bytes) -> t.Any:
        entry = self.pods[0] if kind == "services" else next((entry for entry in self.pods if entry["metadata"]["name"] == name), None)
        if entry is None:
            return self.status(404, "NotFound", f'pods "{name}" not found')
        url = entry["metadata"].get("annotations", {}).get("test/url")
        if url is None:
            return self.status(503, "ServiceUnavailable", "error trying to reach service: dial tcp 10.215.0.9:8000: connect: connection refused")
        request = urllib.request.Request(url + path, body or None, {"Content-Type": JSON}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, {"Content-Type": answer.headers.get("Content-Type") or ""}, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, {"Content-Type": error.headers.get("Content-Type") or ""}, error.read()
        except OSError as error:
            return self.status(503, "ServiceUnavailable", f"error trying to reach service: dial tcp 10.215.0.9:8000: connect: {error}")

    @staticmethod
    def status(code: int, reason: str, message: str) -> t.Any:
        body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message}
        return code, {"Content-Type": JSON}, json.dumps(body)


@contextlib.contextmanager
def cluster(monkeypatch: pytest.MonkeyPatch, *servers: t.Any, **options: t.Any) -> t.Iterator[ApiServer]:
    """An API server in front of these servers (answer functions, or whole pods), to which the environment directs modules; gives it."""
    with contextlib.ExitStack() as stack:
        pods = [entry if isinstance(entry, dict) else pod(f"pod-{index}", stack.enter_context(serve(entry)), TINY) for index, entry in enumerate(servers)]
        api = ApiServer(pods, **options)
        monkeypatch.setenv("K8S_AUTH_HOST", stack.enter_context(serve(api)))
        monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
        yield api
