"""Sidecars of the endpoint picker and of the servers, which are distinguished by their place, whatever their order."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.engines.sidecars import picker_sidecars
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from ansible_collections.llm_d.inference.plugins.module_utils.schema.fields import complete
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import SERVICE, VARIABLES
from planned_pods import sidecars, spec

ON_SERVERS = {"on": "decode", "kind": "proxy", "name": "routing-proxy", "port": 8000, "args": []}
ON_THE_PICKER = {"on": "epp", "kind": "uds", "name": "tokenizer", "shared_dir": "/tmp/tokenizer"}


@pytest.mark.parametrize("wanted", [[ON_SERVERS, ON_THE_PICKER], [ON_THE_PICKER, ON_SERVERS]])
def test_the_picker_gets_its_own_in_any_order(wanted: list[dict[str, object]]) -> None:
    user = {name: complete(None, field, name)[0] for name, field in VARIABLES.items()}
    service, problems = complete({"name": "llama", "model": {"uri": "hf://org/m"}}, SERVICE, "s")
    assert not problems
    containers, volumes, mounts = picker_sidecars(service, user, RELEASES["scheduler-0.7"], wanted)
    assert [container["name"] for container in containers] == ["tokenizer"]
    shared = [mount for mount in mounts if mount["mountPath"] == "/tmp/tokenizer"]
    assert shared and {mount["name"] for mount in mounts} <= {volume["name"] for volume in volumes}


def test_helm_never_owns_definitions_of_a_gateway() -> None:
    """The role prerequisites applies them. In a chart they would be deleted with it, and all Gateways of the cluster with them."""
    planned = plan({"llm_d_model_services": [{"name": "llama", "model": {"uri": "hf://org/m"}}]})
    (chart,) = planned["gateway"]["charts"]
    assert chart["values"]["crds"] == {"enabled": False}


def precise(release: str, uri: str, **variables: object) -> dict[str, t.Any]:
    """A user's file with precise prefix matching and a served name that is not the name of the model."""
    service = {
        "name": "llama",
        "model": {"uri": uri, "served_name": "short"},
        "engine": {"image": "acme/vllm:v0.23.0"},  # its KV events are read by every line
        "scheduler": {"preset": "precise_prefix"},
    }
    return {"llm_d_release": release, "llm_d_model_services": [service], **variables}


@pytest.mark.parametrize(("uri", "model"), [("hf://org/m", "org/m"), ("pvc://claim/deep/m", "/models/deep/m"), ("file:///models/m", "/models/m")])
def test_the_tokenizer_uses_the_weights_and_events_use_the_served_name(uri: str, model: str) -> None:
    images = {"llm_d_images": {"tokenizer": "acme/tokenizer:v1"}}
    old, new = (plan(precise(release, uri, **images))["services"][0] for release in ("scheduler-0.7", "router-0.10"))
    assert f"modelName: {model}" in old["scheduler"]["config"] and f"modelName: {model}" in new["scheduler"]["config"]
    (render,) = sidecars(new["scheduler"])
    assert render["args"][0] == model
    for service in (old, new):
        (events,) = [argument for argument in service["server"]["args"] if argument.startswith("--kv-events-config=")]
        assert '"topic":"kv@$(POD_IP):8000@short"' in events
        mounts = {mount["name"]: mount for mount in sidecars(service["scheduler"])[0]["volumeMounts"]}
        assert ("models" in mounts) == uri.startswith("pvc"), "the tokenizer reads its files from the claim of the weights"
        claims = [volume["persistentVolumeClaim"]["claimName"] for volume in spec(service["scheduler"])["volumes"] if "persistentVolumeClaim" in volume]
        assert claims == (["claim"] if uri.startswith("pvc") else [])


def test_a_file_uri_without_an_image_for_the_tokenizer_is_refused() -> None:
    (problem,) = problems(precise("scheduler-0.7", "file:///models/m"))
    assert problem.path == "llm_d_model_services[0].model.uri" and "llm_d_images.tokenizer" in problem.fix
    simulated = {"name": "sim", "model": {"served_name": "a"}, "engine": {"type": "simulator"}, "scheduler": {"preset": "precise_prefix"}}
    assert not problems({"llm_d_release": "scheduler-0.7", "llm_d_model_services": [simulated]})


@pytest.mark.parametrize("release", ["scheduler-0.7", "router-0.10"])
def test_tokenizer_resources_of_the_user_replace_the_default(release: str) -> None:
    usual, small = precise(release, "hf://org/m"), precise(release, "hf://org/m")
    small["llm_d_model_services"][0]["scheduler"]["tokenizer_resources"] = {"requests": {"cpu": "50m"}}
    resources = [sidecars(plan(made)["services"][0]["scheduler"])[0]["resources"] for made in (usual, small)]
    assert resources == [{"requests": {"cpu": "2", "memory": "4Gi"}}, {"requests": {"cpu": "50m"}}]
