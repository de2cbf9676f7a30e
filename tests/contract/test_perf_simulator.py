"""The load client against the real simulator: where a server reports no usage, its own tokenizer counts the same number of tokens."""

from __future__ import annotations

import json
import typing as t
import urllib.request

from ansible_collections.llm_d.inference.plugins.modules import vllm_health, vllm_perf
from local_servers import serve

from .test_health_simulator import pytestmark, run_module, simulator

__all__ = ["pytestmark", "run_module"]  # the skip without a simulator, and the fixture `run`
OPTIONS = {
    "model": "acme/tiny",
    "nonce": "same",
    "workload": {"input_len": 20, "output_len": 7},
    "stages": [{"concurrency": 2, "requests": 12}],
    "max_lag": 5,
    "max_lag_share": 0,
    "pause": 0,
}


def silent(url: str) -> t.Callable[..., t.Any]:
    """A proxy of a server that removes `usage` from streamed answers."""

    def answer(_handler: t.Any, method: str, path: str, body: bytes) -> t.Any:
        request = urllib.request.Request(url + path, body or None, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=30) as reply:
            kind, lines = reply.headers["Content-Type"], reply.read().decode().splitlines(keepends=True)
        if kind.startswith("text/event-stream"):
            lines = [line if "[DONE]" in line or not line.startswith("data: ") else _without_usage(line) for line in lines]
        return 200, {"Content-Type": kind}, "".join(lines)

    return answer


def _without_usage(line: str) -> str:
    event = json.loads(line.removeprefix("data: "))
    event.pop("usage", None)
    return f"data: {json.dumps(event)}\n"


def test_tokens_are_counted_by_the_servers_tokenizer_if_answers_lack_usage(run: t.Any) -> None:
    with simulator("--force-dummy-tokenizer") as url, serve(silent(url)) as proxy:
        assert run(vllm_health, url=url, timeout=30, interval=0.2)["healthy"] is True
        reported, counted = (run(vllm_perf, url=place, **OPTIONS)["stages"][0] for place in (url, proxy))
    assert (reported["token_source"], counted["token_source"]) == ({"usage": 12}, {"tokenize": 12}) and reported["ok"] == counted["ok"] == 12
    assert counted["output_tokens"] == reported["output_tokens"] == 12 * 7 and counted["prompt_tokens"] == reported["prompt_tokens"] > 0
