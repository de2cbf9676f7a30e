# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Additions of users to the pods of a gateway's proxy: a patch in the parameters of the Gateway, where the provider takes one."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions

Facts = dict[str, t.Any]
CHARTS = dict.fromkeys(("envoy_gateway", "envoy_ai_gateway", "istio_base", "istio", "agentgateway", "kgateway"), "/c")
SIM: Facts = {"name": "a", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "scheduler": {"preset": "queue"}}
ADDED: Facts = {
    "pod": {"priorityClassName": "edge", "nodeSelector": {"pool": "edge"}, "annotations": {"a": "b"}, "tolerations": None},
    "container": {"resources": {"limits": {"memory": "3Gi"}}},
}
CONTAINERS = {
    "envoy_gateway": "envoy",
    "envoy_ai_gateway": "envoy",
    "istio": "istio-proxy",
    "openshift": "istio-proxy",
    "agentgateway": "agentgateway",
    "kgateway": "agentgateway",
}


def file_of(provider: str, gateway: Facts, **variables: t.Any) -> Facts:
    platform = {"llm_d_platform": provider} if provider in ("openshift", "gke") else {}
    return {"llm_d_charts": CHARTS, **platform, "llm_d_gateway": {"provider": provider, **gateway}, "llm_d_model_services": [SIM], **variables}


def patch(file: Facts) -> Facts:
    """The patch of the pod template in the parameters of the Gateway; {} where there is none."""
    for item in definitions(plan(file)):
        if item["kind"] == "EnvoyProxy":
            return dict(item["spec"]["provider"]["kubernetes"]["envoyDeployment"]["patch"]["value"]["spec"]["template"])
        if item["kind"] == "AgentgatewayParameters":
            return dict(item["spec"].get("deployment", {}).get("spec", {}).get("template", {}))
        if item["kind"] == "ConfigMap" and "service" in item.get("data", {}):
            return dict(yaml.safe_load(item["data"].get("deployment", "spec: {template: {}}"))["spec"]["template"])
    return {}


def messages(file: Facts) -> dict[str, str]:
    return {problem.path: f"{problem.reason} {problem.fix}" for problem in problems(file)}


@pytest.mark.parametrize(("provider", "container"), CONTAINERS.items())
def test_a_provider_hands_the_patch_to_its_proxies(provider: str, container: str) -> None:
    before, after = patch(file_of(provider, {})), patch(file_of(provider, ADDED))
    spec, main = after["spec"], after["spec"]["containers"][0]
    assert after["metadata"] == {"labels": {}, "annotations": {"a": "b"}} or after["metadata"] == {"annotations": {"a": "b"}}
    assert (spec["priorityClassName"], spec["nodeSelector"], spec["tolerations"]) == ("edge", {"pool": "edge"}, None), (
        "the controller gets a null, which removes the field"
    )
    assert main["name"] == container and main["resources"] == {"limits": {"memory": "3Gi"}}
    assert ("readinessProbe" in main) == (container == "envoy") == bool(before.get("spec"))
    (gateway,) = (item for item in definitions(plan(file_of(provider, ADDED))) if item["kind"] == "Gateway")
    assert gateway["spec"]["infrastructure"]["parametersRef"]["name"] == gateway["metadata"]["name"]


@pytest.mark.parametrize("provider", CONTAINERS)
@pytest.mark.parametrize("label", ["llm-d.ai/model-service", "app.kubernetes.io/name", "gateway.envoyproxy.io/owning-gateway-name"])
def test_labels_by_which_pools_and_controllers_select_are_refused(provider: str, label: str) -> None:
    refused = messages(file_of(provider, {"pod": {"labels": {label: "x"}}}))
    assert list(refused) == [f"llm_d_gateway.pod.labels.{label}"] and refused[f"llm_d_gateway.pod.labels.{label}"].endswith("prefix of your own.")


@pytest.mark.parametrize("provider", ["envoy_gateway", "agentgateway"])
def test_our_pull_secrets_stay_beside_what_is_added(provider: str) -> None:
    spec = patch(file_of(provider, ADDED, llm_d_image_pull_secrets=["mine"]))["spec"]
    assert spec["imagePullSecrets"] == [{"name": "mine"}] and spec["priorityClassName"] == "edge"
    assert patch(file_of(provider, {}, llm_d_image_pull_secrets=["mine"]))["spec"]["imagePullSecrets"] == [{"name": "mine"}]


@pytest.mark.parametrize(
    ("provider", "gateway", "reason"),
    [
        ("standalone", {}, "is of no use: the proxy is in the pod of the endpoint picker. Write scheduler.pod of a model service."),
        ("gke", {}, "is not supported with gke, whose controller takes no patch for its proxies. Take it out, or write another provider."),
        ("kgateway", {"class_name": "kgateway"}, "is not supported with kgateway, whose controller takes no patch"),
        ("none", {"name": "theirs"}, "is of no use: someone else creates the Gateway. Take it out."),
        ("istio", {"create": False, "name": "theirs"}, "is of no use: someone else creates the Gateway. Take it out."),
    ],
)
def test_proxy_additions_are_refused_for_providers_without_patches(provider: str, gateway: Facts, reason: str) -> None:
    file = file_of(provider, {**gateway, **ADDED})
    refusals = messages(file)
    assert list(refusals) == ["llm_d_gateway.container", "llm_d_gateway.pod"] and refusals["llm_d_gateway.pod"].startswith(reason), refusals


@pytest.mark.parametrize(
    ("added", "path", "option"),
    [
        ({"container": {"image": "x/y:1"}}, "container.image", "write llm_d_images.proxy."),
        ({"container": {"args": ["x"]}}, "container.args", "Take it out."),
        ({"container": {"readinessProbe": {"periodSeconds": 9}}}, "container.readinessProbe.periodSeconds", "Take it out."),
        ({"pod": {"imagePullSecrets": [{"name": "x"}]}}, "pod.imagePullSecrets[0].name", "write llm_d_image_pull_secrets."),
        ({"pod": {"terminationGracePeriodSeconds": 5}}, "pod.terminationGracePeriodSeconds", "write llm_d_gateway.drain_seconds."),
        ({"pod": {"runtimeClass": "x"}}, "pod.runtimeClass", "Did you mean 'runtimeClassName'?"),
        ({"pod": {"volumes": [{"emptyDir": {}}]}}, "pod.volumes[0].name", "Write it."),
    ],
)
def test_fields_that_other_options_decide_are_refused(added: Facts, path: str, option: str) -> None:
    ((place, message),) = messages(file_of("envoy_gateway", added)).items()
    assert place == f"llm_d_gateway.{path}" and message.endswith(option)


def test_the_preflight_has_named_objects_in_the_namespace_of_the_proxies() -> None:
    added = {"pod": {"runtimeClassName": "gvisor", "volumes": [{"name": "c", "configMap": {"name": "extra"}}]}}
    for provider, namespace in (("envoy_gateway", "envoy-gateway-system"), ("istio", "llm-d")):
        named = {each["object"]: each["path"] for each in plan(file_of(provider, added))["preflight"]["named"]}
        assert named == {
            "RuntimeClass gvisor": "llm_d_gateway.pod.runtimeClassName",
            f"ConfigMap {namespace}/extra": "llm_d_gateway.pod.volumes[0].configMap.name",
        }
