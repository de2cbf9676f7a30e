# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accelerators by claim: the ResourceClaimTemplate, the pods that use it, and mistakes."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions
from planned_pods import main, spec

Facts = dict[str, t.Any]
CLAIM: Facts = {"device_class": "gpu.nvidia.com"}


def file_of(claim: Facts | None = None, **options: t.Any) -> Facts:
    accelerator = {**({"claim": claim} if claim else {}), **options.pop("accelerator", {})}
    service = {"name": "a", "model": {"uri": "hf://o/m"}, "accelerator": accelerator, **options}
    return {"llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"}, "llm_d_model_services": [service]}


def made(file: Facts) -> list[Facts]:
    return [item for item in definitions(plan(file)) if item["kind"] == "ResourceClaimTemplate"]


def refusals(file: Facts) -> dict[str, str]:
    return {problem.path.removeprefix("llm_d_model_services[0]."): f"{problem.reason} {problem.fix}" for problem in problems(file)}


def exactly(item: Facts) -> Facts:
    (request,) = item["spec"]["spec"]["devices"]["requests"]
    return dict(request["exactly"])


def test_pods_claim_as_many_devices_as_the_model_is_divided_among() -> None:
    file = file_of({**CLAIM, "selectors": ["true"]}, accelerator={"per_replica": 4})
    (template,), server = made(file), plan(file)["services"][0]["server"]
    assert exactly(template) == {"deviceClassName": "gpu.nvidia.com", "count": 4, "selectors": [{"cel": {"expression": "true"}}]}
    assert spec(server)["resourceClaims"] == [{"name": "accelerators", "resourceClaimTemplateName": template["metadata"]["name"]}]
    resources = main(server)["resources"]
    assert resources["claims"] == [{"name": "accelerators"}] and not [
        name for part in ("requests", "limits") for name in resources.get(part, {}) if "/" in name
    ]
    assert "--tensor-parallel-size=4" in main(server)["args"] and server["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


def test_another_claim_has_another_name() -> None:
    names = [made(file_of(CLAIM, accelerator={"per_replica": number}))[0]["metadata"]["name"] for number in (1, 2, 1)]
    assert names[0] == names[2] != names[1] and all(name.startswith("a-decode-") for name in names)


def test_a_claim_template_of_the_user_is_referenced_and_not_created() -> None:
    file = file_of({"template": "mine"})
    assert made(file) == [] and spec(plan(file)["services"][0]["server"])["resourceClaims"] == [{"name": "accelerators", "resourceClaimTemplateName": "mine"}]


def test_stages_and_nodes_claim_for_themselves() -> None:
    file = file_of(CLAIM, accelerator={"per_replica": 4}, scheduler={"preset": "disaggregated"}, prefill={"accelerator": {"per_replica": 1}})
    assert [(item["metadata"]["name"].rpartition("-")[0], exactly(item)["count"]) for item in made(file)] == [("a-decode", 4), ("a-prefill", 1)]
    groups = plan(file_of(CLAIM, accelerator={"per_replica": 16, "nodes": 2}))["services"][0]["server"]
    assert exactly(made(file_of(CLAIM, accelerator={"per_replica": 16, "nodes": 2}))[0])["count"] == 8
    assert spec(groups)["resourceClaims"] == spec(groups["worker"])["resourceClaims"] and main(groups["worker"])["resources"]["claims"]


def test_claims_and_their_permissions_are_planned_only_when_configured() -> None:
    server = plan(file_of())["services"][0]["server"]
    assert made(file_of()) == [] and "resourceClaims" not in spec(server) and main(server)["resources"]["limits"] == {"nvidia.com/gpu": 1}
    permissions = [permission for permission in plan(file_of(CLAIM))["preflight"]["permissions"] if permission.get("group") == "resource.k8s.io"]
    assert {(permission["verb"], permission["resource"]) for permission in permissions} == {
        (verb, "resourceclaimtemplates") for verb in ("get", "list", "create", "patch", "delete")
    }
    assert not [permission for permission in plan(file_of())["preflight"]["permissions"] if permission.get("group") == "resource.k8s.io"]


@pytest.mark.parametrize(
    ("claim", "options", "path", "words"),
    [
        ({"selectors": ["true"]}, {}, "accelerator.claim", "names no template and no device class. Write {template: NAME} or {device_class: NAME}."),
        ({"template": "a", "device_class": "b"}, {}, "accelerator.claim", "names a template and a device class"),
        ({"template": "a", "selectors": ["true"]}, {}, "accelerator.claim.selectors", "are for a device class"),
        (CLAIM, {"accelerator": {"resource": "nvidia.com/mig-1g.5gb"}}, "accelerator.resource", "requests the devices of the claim a second time."),
        (CLAIM, {"resources": {"limits": {"nvidia.com/gpu": 1}}}, "resources.limits.nvidia.com/gpu", "requests the devices of the claim a second time."),
        ({"template": "a"}, {"resources": {"requests": {"nvidia.com/mig-1g.5gb": 1}}}, "resources.requests.nvidia.com/mig-1g.5gb", "requests the devices"),
        ({"class": "x"}, {}, "accelerator.claim.class", "there is no such option. Allowed here: device_class, selectors, template."),
        (CLAIM, {"pod": {"resourceClaims": [{"name": "accelerators", "resourceClaimName": "x"}]}}, "pod.resourceClaims[0].resourceClaimName", "is decided by"),
    ],
)
def test_invalid_device_claims_are_refused_with_their_path(claim: Facts, options: Facts, path: str, words: str) -> None:
    reported = refusals(file_of(claim, **options))
    assert path in reported and reported[path].startswith(words), reported


def test_a_claim_of_prefill_servers_is_reported_there() -> None:
    file = file_of(None, scheduler={"preset": "disaggregated"}, prefill={"accelerator": {"claim": {"selectors": ["true"]}}})
    assert list(refusals(file)) == ["prefill.accelerator.claim"]


def test_other_devices_are_requested_beside_a_claim() -> None:
    assert refusals(file_of(CLAIM, resources={"limits": {"rdma/hca": 1, "cpu": "4"}})) == {}


def test_a_template_for_another_number_of_devices_is_refused_for_prefill_servers() -> None:
    """The template decides the number; a device class is claimed for each stage by itself."""

    def reported(of_all: Facts, **prefill: t.Any) -> list[str]:
        return [
            f"{path}: {text}"
            for path, text in refusals(
                file_of(of_all, accelerator={"per_replica": 4}, scheduler={"preset": "disaggregated"}, prefill={"accelerator": prefill})
            ).items()
        ]

    (line,) = reported({"template": "four"}, per_replica=1)
    assert line.startswith("prefill.accelerator.claim: is missing: the template 'four' of all servers requests 4 devices, and prefill servers need 1.")
    assert [reported({"template": "four"}, **own) for own in ({"per_replica": 4}, {}, {"per_replica": 1, "claim": {"template": "one"}})] == [[]] * 3
    assert reported(CLAIM, per_replica=1) == []
