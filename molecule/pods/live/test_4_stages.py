"""Four prefill servers of a size different from their decode server's."""

from __future__ import annotations

from stack import GATEWAY, SIM, Stack

SPLIT = {
    **SIM,
    "replicas": 1,
    "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
    "engine": {**SIM["engine"], "max_num_seqs": 32},
    "scheduler": {**SIM["scheduler"], "preset": "disaggregated"},
    "prefill": {
        "replicas": 4,
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
        "engine": {"max_num_seqs": 2, "simulator": {"kv_cache_size": 700}, "env": {"STAGE": "prefill"}},
        "pod": {"priorityClassName": "inference"},
    },
}


def test_prefill_servers_are_of_their_own_size_and_all_claims_hold(stack: Stack) -> None:
    stack.site(SPLIT, llm_d_gateway=GATEWAY)
    (decode,), prefill = stack.servers(), stack.servers("prefill")
    assert len(prefill) == 4
    for pods, seats, cache, cpu, stage in (([decode], 32, 1400, "100m", False), (prefill, 2, 700, "10m", True)):
        for pod in pods:
            (server,) = pod.spec.containers
            assert {f"--max-num-seqs={seats}", f"--kv-cache-size={cache}", "--block-size=16"} <= {*server.args}, server.args
            assert server.resources.requests["cpu"] == cpu and (("STAGE", "prefill") in [(each.name, each.value) for each in server.env]) == stage
    assert {pod.spec.priority for pod in prefill} == {1000} and decode.spec.priority == 0
    names = {service.metadata.name: service.spec.selector for service in stack.core.list_namespaced_service("llm-d").items}
    assert names["sim-prefill"]["llm-d.ai/role"] == "prefill" and names["sim"]["llm-d.ai/role"] == "decode"


def test_a_prefill_change_keeps_the_decode_server_and_a_rerun_changes_nothing(stack: Stack) -> None:
    assert "changed=0 " in stack.site(SPLIT, llm_d_gateway=GATEWAY)[1]
    (before,) = [pod.metadata.uid for pod in stack.servers()]
    engine = {**SPLIT["prefill"]["engine"], "max_num_seqs": 3}
    stack.site({**SPLIT, "prefill": {**SPLIT["prefill"], "engine": engine}}, llm_d_gateway=GATEWAY)
    assert [pod.metadata.uid for pod in stack.servers()] == [before], "the decode server stays"
    assert {"--max-num-seqs=3" in pod.spec.containers[0].args for pod in stack.servers("prefill")} == {True}
