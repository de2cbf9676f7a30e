"""Every inventory can be planned; its images are all behind the user's registry and are listed; its objects pass the definitions of their kinds."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.images import needed
from ansible_collections.llm_d.inference.plugins.module_utils.plan import plan

from . import definitions_of_others as others
from .gateway_cases import objects

Facts = dict[str, t.Any]
BUILT_IN = ("", "apps", "rbac.authorization.k8s.io")
ROOT = Path(__file__).resolve().parents[2]
# `local` is deployed for real by molecule, and speaks in variables of the local cluster.
NAMES = sorted(path.name for path in (ROOT / "inventories").iterdir() if path.name != "local")


def file_of(name: str) -> Facts:
    return yaml.safe_load((ROOT / f"inventories/{name}/group_vars/all/llm_d.yml").read_text(encoding="utf-8"))


def images_in(node: t.Any) -> t.Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "image" and isinstance(value, str):
                yield value
            else:
                yield from images_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from images_in(value)


def test_the_inventories_of_the_readme_are_there() -> None:
    assert {"kubernetes", "openshift", "gke", "simulator"} <= set(NAMES)
    assert {"sample-production", "sample-minimal", "sample-istio", "sample-simulator", "sample-simulator-minimal",
            "sample-simulation-full", "sample-simulation-istio"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_inventory_is_planned_and_its_objects_are_right(name: str) -> None:
    planned = plan(file_of(name))
    found = objects(planned)
    assert planned["services"] and found
    wrong = {f"{item['kind']} {item['metadata']['name']}": others.problems(item) for item in found if item["apiVersion"].rpartition("/")[0] not in BUILT_IN}
    assert not {what: why for what, why in wrong.items() if why}


@pytest.mark.parametrize("name", NAMES)
def test_every_image_is_behind_the_registry_and_listed(name: str) -> None:
    planned = plan(file_of(name))
    listed = needed(planned)
    used = set(images_in(objects(planned)))
    assert used <= set(listed["images"])
    assert all(image.startswith("registry.example.com/mirror/") for image in listed["images"]), listed["images"]
    assert len(listed["charts"]) == len(planned["gateway"]["charts"]) + bool(planned["gpus"]["chart"])
    assert listed["definitions"] == [source for bundle in planned["prerequisites"]["crds"] for source in bundle["sources"]]


def test_images_of_charts_are_listed_whole() -> None:
    charts = {"agentgateway": "/c", "istio": "/c", "istio_base": "/c"}
    for provider, wanted in (("agentgateway", "mirror/agentgateway/controller:v1.4.1"), ("istio", "mirror/istio/pilot:1.29.2")):
        planned = plan({"llm_d_charts": charts, "llm_d_image_registry": "mirror", "llm_d_gateway": {"provider": provider}})
        assert wanted in needed(planned)["images"]
