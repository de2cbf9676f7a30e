"""Every inventory can be planned; all its images use the user's registry and are listed; its objects pass the definitions of their kinds."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.images import repository_of
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from ansible_collections.llm_d.inference.plugins.module_utils.releases.sources import IMAGES

from . import definitions_of_others as others
from .dry_run import BUILT_IN, group_of
from .inventory_cases import NAMES, ROOT, TEMPLATES, case


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
    assert {
        "sample-production",
        "sample-minimal",
        "sample-fleet",
        "sample-istio",
        "sample-sglang",
        "sample-simulator",
        "sample-simulator-minimal",
        "sample-simulation-full",
        "sample-simulation-istio",
    } <= set(NAMES)


def test_the_objects_are_those_of_every_template_that_a_role_applies() -> None:
    """The templates that role_facts renders: `prune` is for deletion, `prompts` are Secrets, the local cluster's templates are files."""
    text = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("roles/*/tasks/main.yml"))
    applied = {name for name in re.findall(r": ([\w.]+\.yml\.j2)$", text, re.MULTILINE) if not name.startswith("prune")}
    assert applied - {"prompts.yml.j2"} == {template.rpartition("/")[2] for template in TEMPLATES}


@pytest.mark.parametrize("name", NAMES)
def test_an_inventory_is_planned_and_its_objects_are_right(name: str) -> None:
    planned, items = case(name)
    assert planned["services"] and items
    problems = {f"{item['kind']} {item['metadata']['name']}": others.problems(item) for item in items if group_of(item) not in BUILT_IN}
    assert not {what: why for what, why in problems.items() if why}


@pytest.mark.parametrize("name", NAMES)
def test_every_image_is_upstreams_and_listed(name: str) -> None:
    planned, items = case(name)
    listed = needed(planned)
    used = set(images_in(items))
    assert used <= set(listed["images"])
    # Images that only the local cluster has are not upstream's.
    assert listed["images"] == listed["sources"] and {
        repository_of(image) for image in listed["images"] if not image.startswith("docker.io/llm-d-local/")
    } <= set(IMAGES)
    assert len(listed["charts"]) == len(planned["gateway"]["charts"]) + bool(planned["gpus"]["chart"])
    assert listed["definitions"] == [source for bundle in planned["prerequisites"]["crds"] for source in bundle["sources"]]


def test_images_of_charts_are_listed_whole() -> None:
    charts = {"agentgateway": "/c", "istio": "/c", "istio_base": "/c"}
    for provider, wanted in (("agentgateway", "mirror/controller:v1.7.0"), ("istio", "mirror/istio/pilot:1.30.8")):
        planned = plan({"llm_d_charts": charts, "llm_d_image_registry": "mirror", "llm_d_gateway": {"provider": provider}})
        assert wanted in needed(planned)["images"]
