"""Real servers behind the gateway answer in sentences and cache prefixes, and all claims pass."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from pathlib import Path

import plays
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster.oci_image import MANIFESTS
from live_stack import NAMESPACE, Stack, call
from real import INVENTORY, chat, counted

# A request in docs/local-cluster.md, and its output on the line below it.
SHOWN = re.compile(r"/v1/chat/completions .*\n +-d '(\{.*\})' \| jq -r \.choices\[0\]\.message\.content\n(.+)\n")


def test_the_question_of_the_guide_is_answered_as_it_shows(stack: Stack) -> None:
    shown = SHOWN.search((plays.ROOT / "docs/local-cluster.md").read_text(encoding="utf-8"))
    assert shown
    status, _headers, content = call(f"{stack.url('chat')}/v1/chat/completions", json.loads(shown[1]), timeout=120)
    assert status == 200, content
    (answer,) = json.loads(content)["choices"]
    assert answer["message"]["content"] == shown[2] and answer["finish_reason"] == "stop", answer


def test_two_servers_within_their_memory_and_their_disk(stack: Stack) -> None:
    """4 GiB for each server, and none was killed for lack of memory; 10 GB for all images, packed in the registry, whose files the node links, and unpacked."""
    pods = [pod for pod in stack.core.list_namespaced_pod(NAMESPACE).items if pod.metadata.name in stack.servers("chat")]
    assert [each.resources.limits["memory"] for pod in pods for each in pod.spec.containers] == ["4Gi"] * 2
    ended = [entry.last_state.terminated for pod in pods for entry in pod.status.container_statuses if entry.last_state.terminated]
    assert not [each for each in ended if each.reason == "OOMKilled"], ended
    packed, unpacked = images()
    print(f"images: {packed / 1e9:.2f} GB packed, {unpacked / 1e9:.2f} GB unpacked")
    assert unpacked > 1e9 and packed + unpacked < 10e9


def images() -> tuple[int, int]:
    """(packed, unpacked) bytes of all layers of the images of the extra `vllm`."""
    variables = yaml.safe_load((plays.ROOT / "roles/local_cluster/vars/main.yml").read_text(encoding="utf-8"))
    layers = set()
    for image in variables["__local_cluster_extra"]["vllm"]["packages"]["images"]:
        repository, _colon, tag = image["name"].rpartition(":")
        request = urllib.request.Request(f"http://127.0.0.1:5215/v2/{repository}/manifests/{tag}", headers={"Accept": MANIFESTS})
        with urllib.request.urlopen(request, timeout=10) as answer:
            layers |= {layer["digest"].replace(":", "/") for layer in json.loads(answer.read())["layers"]}
    paths = [Path("/var/cache/llm-d-local/registry", layer) for layer in layers]
    counted = subprocess.run(["bash", "-euo", "pipefail", "-c", 'zstd -dcq "$@" | wc -c', "count", *paths], check=True, capture_output=True, text=True)
    return sum(path.stat().st_size for path in paths), int(counted.stdout)


def test_many_answers_that_are_drawn(stack: Stack) -> None:
    answers = {chat(stack, "Name an animal.", max_tokens=12, temperature=1.0)["choices"][0]["message"]["content"] for _number in range(4)}
    assert len(answers) > 1, "the servers sample tokens"


def test_requests_of_one_prefix_hit_the_prefix_cache_of_one_server(stack: Stack) -> None:
    story = "Once upon a time there was a scheduler that knew the queue and the cache of each of its servers. " * 12
    before = counted(stack, "vllm:prefix_cache_hits_total")
    answers = [chat(stack, f"{story} Question {number}: what did it know?", max_tokens=4) for number in range(5)]
    after = counted(stack, "vllm:prefix_cache_hits_total")
    gained = {pod: after[pod] - before[pod] for pod in after if after[pod] > before[pod]}
    tokens = answers[0]["usage"]["prompt_tokens"]
    assert len(gained) == 1, f"one server has the prefix: {gained}"
    assert next(iter(gained.values())) > 4 * 0.8 * tokens, f"all but the first request find most of their {tokens} tokens in the cache: {gained}"


def test_every_claim_holds(stack: Stack, tmp_path: Path) -> None:
    plays.well(INVENTORY, "playbooks/validate.yml", tmp_path)
    verdict = json.loads((tmp_path / "verdict.json").read_text(encoding="utf-8"))
    claims = {claim["id"]: claim["ok"] for claim in verdict["claims"]}
    assert claims and all(claims.values()), claims
    assert {"chat/sticky", "chat/cached", "chat/spread"} <= set(claims), "claims that only requests prove are among them"
    assert f"{len(claims)} of {len(claims)} claims" in (plays.ROOT / "docs/local-cluster.md").read_text(encoding="utf-8")


def test_a_measurement_through_the_gateway(stack: Stack, tmp_path: Path) -> None:
    # Long prompts, so that the lag of the client, which shares the processors with the servers, is small compared to the measured times.
    load = {"workload": {"kind": "shared_prefix", "groups": 2, "prompts_per_group": 4, "system_prompt_len": 480, "question_len": 20, "output_len": 8}}
    plays.well(INVENTORY, "playbooks/benchmark.yml", tmp_path, llm_d_benchmark={**load, "rates": [0.5], "seconds": 24})
    (result,) = [json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.rglob("result.json")]
    (stage,) = result["stages"]
    assert stage["requests"] >= 6 and stage["failed"] == 0
    assert stage["ttft_ms"]["p50"] > 0 and stage["tpot_ms"]["p50"] > 0 and stage["hit_ratio"] > 0.3
