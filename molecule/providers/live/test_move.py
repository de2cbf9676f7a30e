"""A change of the provider of a running stack: check mode shows it, the new gateway serves, the old one is removed, and back. Needs `make site` first.

Clients move from the old address to the new one between two runs: the first deploys the new gateway beside the old one, the second prunes the old one.
"""

from __future__ import annotations

import json
import os
import re
import typing as t
from pathlib import Path

import plays
import pytest
from kubernetes import client, config
from live_stack import until
from steady_load import SteadyLoad

RATE, MODEL = 50.0, "llm-d/simulated-8b"
KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
LOCAL, POOLS = "inventories/local", "molecule/providers/pools"
INSTANCE = "app.kubernetes.io/instance"
STANDALONE = {"llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"}}
# A few seconds of short prompts for each preset.
SHORT: dict[str, t.Any] = {
    "compare_presets": ["round_robin", "prefix_aware"],
    "compare_workload": {"groups": 2, "prompts_per_group": 2, "system_prompt_len": 64, "output_len": 4},
    "compare_warmup": {"rate": 20, "requests": 8},
    "compare_stages": [{"rate": 10, "requests": 40}],
}


@pytest.fixture(scope="module", name="artifacts")
def _artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("artifacts")


def gateway_objects() -> list[str]:
    """The objects that only a stack with Envoy Gateway has, of the model service `sim`."""
    config.load_kube_config(KUBECONFIG)
    names = []
    for group, kind in (("gateway.networking.k8s.io", "gateways"), ("gateway.networking.k8s.io", "httproutes")):
        names += [item["metadata"]["name"] for item in client.CustomObjectsApi().list_namespaced_custom_object(group, "v1", "llm-d", kind)["items"]]
    names += [item.metadata.name for item in client.AppsV1Api().list_namespaced_deployment("envoy-gateway-system").items]
    return sorted(name for name in names if name in ("llm-d-gateway", "sim", "envoy-gateway"))


def loses_nothing(url: str, inventory: str, artifacts: Path, *options: str, **given: t.Any) -> None:
    """Run site.yml under load at an address, without the validation, which counts requests."""
    with SteadyLoad(url, MODEL, RATE) as load:
        plays.well(inventory, "site.yml", artifacts, "--skip-tags", ",".join(("validation", *options)), **given)
    print(f"\n{load.report}")
    assert not load.report.lost and load.report.sent > 100 and set(load.report.statuses) == {200}


def moved(inventory: str, artifacts: Path, old: str | None, **given: t.Any) -> str:
    """Move to another provider and return its address: no request is lost at either address, at the old one until the run that prunes it."""
    if old:
        loses_nothing(old, inventory, artifacts, "record", **given)
    verdict = plays.site(inventory, artifacts, "--skip-tags", "record", **given)[0]
    assert verdict["ok"] and verdict["endpoint"] != old
    loses_nothing(verdict["endpoint"], inventory, artifacts, **given)
    return str(verdict["endpoint"])


def test_check_mode_shows_the_move_and_makes_none(artifacts: Path) -> None:
    out = plays.well(LOCAL, "site.yml", artifacts, "--check", "--diff", **STANDALONE)
    gone, come = (re.findall(rf"^\{sign}+ *kind: *(\w+)$", out, re.MULTILINE) for sign in "-+")
    assert {"Gateway", "HTTPRoute", "EnvoyExtensionPolicy"} <= set(gone), out
    assert "Service" in come and "Gateway" not in come, out
    assert gateway_objects() == ["envoy-gateway", "llm-d-gateway", "sim"]


def test_the_stack_moves_to_another_provider(artifacts: Path) -> None:
    moved(LOCAL, artifacts, plays.site(LOCAL, artifacts)[0]["endpoint"], **STANDALONE)
    assert gateway_objects() == []


def test_presets_are_compared_without_a_gateway(artifacts: Path) -> None:
    plays.well(LOCAL, "playbooks/compare_scorers.yml", artifacts, **STANDALONE, **SHORT)
    for preset in SHORT["compare_presets"]:
        run = json.loads((artifacts / f"compare/runs/{preset}.json").read_text(encoding="utf-8"))
        assert run["total"]["ok"] == run["total"]["requests"] == 40, run["total"]
        assert len(run["total"]["servers"]) > 1 or preset != "round_robin", run["total"]
    assert (artifacts / "compare/results.json").is_file()
    assert "changed=0 " in plays.well(LOCAL, "site.yml", artifacts, **STANDALONE)


def test_a_stack_without_a_gateway_is_diagnosed_as_healthy(artifacts: Path) -> None:
    plays.well(LOCAL, "playbooks/diagnose.yml", artifacts, **STANDALONE, diagnose_fail=True)


@pytest.mark.parametrize("begun", [False, True], ids=["the first run", "a run after one that was cut"])
def test_a_renamed_endpoint_picker_takes_over_only_when_it_is_ready(artifacts: Path, begun: bool) -> None:
    """Older versions of the collection named it so, and the Service selected it. begun: the new endpoint picker exists and is not ready."""
    config.load_kube_config(KUBECONFIG)
    endpoint = plays.site(LOCAL, artifacts, **STANDALONE)[0]["endpoint"]
    apps, core = client.AppsV1Api(), client.CoreV1Api()
    old = client.ApiClient().sanitize_for_serialization(apps.read_namespaced_deployment("sim-epp-solo", "llm-d"))
    old["metadata"] = {"name": "sim-epp", "labels": {**old["metadata"]["labels"], INSTANCE: "sim-epp"}}
    old["spec"]["selector"]["matchLabels"][INSTANCE] = old["spec"]["template"]["metadata"]["labels"][INSTANCE] = "sim-epp"
    apps.create_namespaced_deployment("llm-d", old)
    until(lambda: apps.read_namespaced_deployment("sim-epp", "llm-d").status.ready_replicas == 1, 120, "the old endpoint picker is ready")
    core.patch_namespaced_service("sim-gateway", "llm-d", {"spec": {"selector": {INSTANCE: "sim-epp"}}})
    if begun:
        apps.patch_namespaced_deployment_scale("sim-epp-solo", "llm-d", {"spec": {"replicas": 0}})
    else:
        apps.delete_namespaced_deployment("sim-epp-solo", "llm-d")
    until(lambda: not core.list_namespaced_pod("llm-d", label_selector=f"{INSTANCE}=sim-epp-solo").items, 90, "the other one has no in-flight request")
    loses_nothing(endpoint, LOCAL, artifacts, **STANDALONE)
    assert [item.metadata.name for item in apps.list_namespaced_deployment("llm-d").items] == ["sim-decode", "sim-epp-solo"]


def test_the_stack_moves_to_another_provider_and_back(artifacts: Path) -> None:
    """The proxy of the provider `standalone` is in the pods of a separate endpoint picker, which serves the old address until the prune."""
    moved(LOCAL, artifacts, plays.site(LOCAL, artifacts, **STANDALONE)[0]["endpoint"])
    assert gateway_objects() == ["envoy-gateway", "llm-d-gateway", "sim"]
    assert "changed=0 " in plays.well(LOCAL, "site.yml", artifacts)


def test_the_stack_moves_between_gateways(artifacts: Path) -> None:
    """It moves from Envoy Gateway to Envoy AI Gateway, whose routes refer to the pool, and back: one controller serves both, in the end without pools."""
    moved(POOLS, artifacts, plays.site(LOCAL, artifacts)[0]["endpoint"])
    moved(LOCAL, artifacts, None)
    assert gateway_objects() == ["envoy-gateway", "llm-d-gateway", "sim"]
    assert "changed=0 " in plays.well(LOCAL, "site.yml", artifacts)
