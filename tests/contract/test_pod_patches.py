# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Users' additions to pods, against a real API server: it merges as we do, and accepts the pods of each recipe of docs/pods.md."""

from __future__ import annotations

import collections.abc as c
import json
import re
import runpy
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ClusterError
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.refusals import place
from ansible_collections.llm_d.inference.plugins.module_utils.plan.parts.overlays import Overlay, overlaid
from ansible_collections.llm_d.inference.plugins.module_utils.plan.parts.pod_spec import SERVICE_LABEL
from ansible_collections.llm_d.inference.plugins.module_utils.plan.servers.device_claims import API_VERSION, KIND
from ansible_collections.llm_d.inference.plugins.module_utils.releases import pod_fields
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import MINIMUM
from ansible_collections.llm_d.inference.plugins.module_utils.schema.pods import TEMPLATE, Type, merged, types
from own_api_server import ApiServer, api_server

from . import definitions_of_others as others
from .gateway_cases import CHARTS
from .test_pods import grouped

Facts = dict[str, t.Any]
REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENT = REPOSITORY / "docs/pods.md"
TOOL = runpy.run_path(str(REPOSITORY / "tools/record_pod_fields.py"))
RECIPES: dict[str, Facts] = {
    title.split(",")[0]: yaml.safe_load(block)
    for title, block in re.findall(
        r"\n\n((?:.+\n)*.+):\n\n```yaml\n((?:.*\n)*?)```", DOCUMENT.read_text(encoding="utf-8").partition("\n## Recipes\n")[2].partition("\n## ")[0]
    )
}
BASE: Facts = {
    "name": "a",
    "model": {"uri": "hf://o/m"},
    "cache": {"cpu_size": "8Gi", "disk": {"size": "9Gi"}},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
}


def deployment(name: str, template: Facts) -> Facts:
    spec = {"replicas": 0, "selector": {"matchLabels": template["metadata"]["labels"]}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def pods(file: Facts) -> dict[str, Facts]:
    """The planned pods of the only service, by role, of the endpoint picker, of a GPU test, and of the proxy: its patch merged into a pod of a controller."""
    planned = plan({"llm_d_charts": CHARTS, **file})
    container = {"name": "envoy", "image": "a/envoy:1", "readinessProbe": {"tcpSocket": {"port": 1}}}
    (service,), made = planned["services"], {"metadata": {"labels": {"of": "proxy"}}, "spec": {"containers": [container]}}
    proxy = {name: merged(made, planned["gateway"]["proxy_pod"][name], Type(TEMPLATE)) for name in ("ours", "template")}
    tests = dict(zip(["checks"], planned["gpus"]["checks"]["templates"], strict=False))
    return {"scheduler": service["scheduler"], "gateway": proxy, **tests, **{server["role"]: server for server in service["servers"]}}


def ours() -> Facts:
    """The pod template of a model server without overlays."""
    template: Facts = pods({"llm_d_model_services": [BASE]})["decode"]["template"]
    return template


def ordered(value: t.Any, kind: Type) -> t.Any:
    """The value with merged lists sorted by their key: a patch puts new elements first, and we last."""
    if isinstance(value, dict):
        return {key: ordered(item, types(kind.name).get(key, Type(kind.of))) for key, item in value.items()}
    if isinstance(value, list):
        items = [ordered(item, Type(kind.of)) for item in value]
        return sorted(items, key=lambda item: str(item[kind.by])) if kind.by else items
    return value


@pytest.fixture(name="server", scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> c.Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("api")) as running:
        yield running


def job(template: Facts) -> Facts:
    """A Job, whose pods end, as those of GPU tests do."""
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "recipe"}, "spec": {"suspend": True, "template": template}}


def dry(server: ApiServer, body: Facts) -> Facts:
    """The pod template of a new Deployment or Job with all defaults of the API server, by a dry run."""
    path, strict = f"/apis/{body['apiVersion']}/namespaces/default/{body['kind'].lower()}s", {"dryRun": "All", "fieldValidation": "Strict"}
    template: Facts = server.cluster.request("POST", path, strict, body)["spec"]["template"]
    return template


PATCHES: list[Facts] = [
    {"spec": {"runtimeClassName": "x", "priorityClassName": "y", "hostNetwork": True}, "metadata": {"annotations": {"a": "b"}, "labels": {"c": "d"}}},
    {
        "spec": {
            "volumes": [{"name": "b", "emptyDir": {}}, {"name": "model-cache", "$patch": "delete"}],
            "containers": [{"name": "server", "volumeMounts": None}],
        }
    },
    {"spec": {"volumes": [{"name": "kv-cache", "emptyDir": {"sizeLimit": None, "medium": "Memory"}}]}},
    {
        "spec": {
            "volumes": [{"$patch": "replace"}, {"name": "only", "emptyDir": {}}],
            "containers": [{"name": "server", "volumeMounts": [{"$patch": "replace"}]}],
        }
    },
    {"spec": {"securityContext": {"$patch": "replace", "fsGroup": 5}, "tolerations": [{"key": "t", "operator": "Exists"}]}},
    {"spec": {"securityContext": None, "tolerations": None, "affinity": {"podAntiAffinity": {}}}},
    {
        "spec": {
            "containers": [
                {"name": "side", "image": "a/b:1", "command": ["x"], "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 9}]},
                {"name": "server", "env": [{"name": "POD_NAME", "valueFrom": None, "value": "x"}, {"name": "NEW", "value": "$(POD_IP)"}]},
            ],
            "initContainers": [{"name": "first", "image": "a/b:1"}],
            "imagePullSecrets": [{"name": "s"}],
        }
    },
    {"spec": {"containers": [{"name": "server", "ports": [{"containerPort": 8000, "name": "other"}, {"containerPort": 5, "name": "five"}], "args": ["--x"]}]}},
    {"spec": {"containers": [{"name": "server", "securityContext": {"$patch": "delete"}, "resources": {"limits": {"cpu": 1}, "requests": None}}]}},
    {
        "spec": {
            "containers": [{"name": "server", "volumeMounts": [{"mountPath": "/dev/shm", "readOnly": True}, {"mountPath": "/kv-cache", "$patch": "delete"}]}]
        }
    },
    {
        "spec": {
            "topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}],
            "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}],
            "schedulingGates": [{"name": "example.com/wait"}],
        }
    },
]


@pytest.mark.parametrize("patch", PATCHES, ids=range(len(PATCHES)))
def test_the_api_server_merges_as_we_do(server: ApiServer, patch: Facts) -> None:
    base, before = ours(), json.dumps(ours())
    path, kind = "/apis/apps/v1/namespaces/default/deployments", {"content_type": "application/strategic-merge-patch+json"}
    server.cluster.request("POST", path, body=deployment("a", base))
    try:
        patched = server.cluster.request("PATCH", f"{path}/a", {"dryRun": "All"}, {"spec": {"template": patch}}, **kind)["spec"]["template"]
    finally:
        server.cluster.request("DELETE", f"{path}/a")
    made = dry(server, deployment("a", merged(base, patch, Type(TEMPLATE))))
    assert ordered(made, Type(TEMPLATE)) == ordered(patched, Type(TEMPLATE)) and json.dumps(base) == before


def test_there_are_ten_recipes() -> None:
    assert len(RECIPES) >= 10, list(RECIPES)


@pytest.mark.parametrize("title", RECIPES)
def test_each_recipe_changes_the_pods_and_the_api_server_accepts_them(server: ApiServer, title: str) -> None:
    file = RECIPES[title]
    (element,) = file["llm_d_model_services"]
    whole = {**file.get("llm_d_profiles", {}).get(element.get("profile"), {}), **element}
    planned, added = pods(file), set[str]()
    for role, pod in planned.items():
        alone = {"scheduler": whole.get("scheduler", {}), "gateway": file.get("llm_d_gateway", {}), "checks": file.get("llm_d_gpus", {}).get("checks", {})}
        blocks = [alone[role]] if role in alone else [whole, *([whole["prefill"]] if role == "prefill" else [])]
        names = {"pod": "", "container": {"scheduler": "epp", "gateway": "envoy", "checks": "test"}.get(role, "server")}
        for overlay in [Overlay("", block[name], container) for block in blocks for name, container in names.items() if name in block]:
            assert pod["template"] != pod["ours"] and overlaid(pod["template"], [overlay]) == pod["template"], "the overlay is applied"
            added.add(role)
        assert dry(server, job(pod["template"]) if role == "checks" else deployment("recipe", pod["template"]))
        assert role in ("gateway", "checks") or not others.problems(grouped(pod["template"]))
    assert added and ("checks" in added) == ("llm_d_gpus" in file)


def test_the_api_server_accepts_pods_with_device_claims(server: ApiServer) -> None:
    claimed = {"per_replica": 2, "claim": {"device_class": "gpu.example.com", "selectors": ["device.attributes['gpu.example.com'].memory > 1"]}}
    decode = pods({"llm_d_model_services": [{**BASE, "accelerator": claimed, "cache": None}]})["decode"]
    assert dry(server, deployment("claimed", decode["template"]))["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] == decode["device_claim"]["name"]
    made = decode["device_claim"]["made"]
    template = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "claimed", "labels": made["labels"]}, "spec": made["spec"]}
    path, strict = f"/apis/{API_VERSION}/namespaces/default/resourceclaimtemplates", {"dryRun": "All", "fieldValidation": "Strict"}
    (request,) = server.cluster.request("POST", path, strict, template)["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"]["count"] == 2 and request["exactly"]["allocationMode"] == "ExactCount"
    for mistake in ({"count": -1}, {"counts": 2}):
        request = {"name": "x", "exactly": {"deviceClassName": "gpu.example.com", **mistake}}
        with pytest.raises(ClusterError, match="count"):
            server.cluster.request("POST", path, strict, {**template, "spec": {"spec": {"devices": {"requests": [request]}}}})


def test_a_field_that_no_version_has_is_refused_by_the_api_server_too(server: ApiServer) -> None:
    with pytest.raises(ClusterError, match="runtimeClass"):
        dry(server, deployment("a", {**ours(), "spec": {**ours()["spec"], "runtimeClass": "x"}}))


BOTH: Facts = {"emptyDir": {}, "hostPath": {"path": "/x"}}


@pytest.mark.parametrize(
    ("added", "path"),
    [
        ({"pod": {"priorityClassName": "Bad_Name"}}, "pod.priorityClassName"),
        ({"pod": {"volumes": [{"name": "one", "emptyDir": {}}, {"name": "two", **BOTH}]}}, "pod.volumes[1].hostPath"),
        ({"pod": {"containers": [{"name": "side"}]}}, "pod.containers[0].image"),
        ({"pod": {"hostAliases": [{"ip": "x"}]}}, "pod.hostAliases[0].ip"),
        ({"container": {"volumeMounts": [{"name": "no", "mountPath": "/no"}]}}, "container.volumeMounts[0].name"),
        ({"container": {"env": [{"name": "A", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}}, "container.env[0].valueFrom"),
        ({"tolerations": [{"key": "a"}, {"key": "b", "operator": "Exists", "value": "c"}]}, "tolerations[1].operator"),
    ],
)
def test_fields_that_the_api_server_refuses_are_reported_with_their_path(server: ApiServer, added: Facts, path: str) -> None:
    planned = plan({"llm_d_charts": CHARTS, "llm_d_model_services": [{**BASE, **added}]})
    made = deployment("a-decode", planned["services"][0]["server"]["template"])
    made["metadata"]["labels"] = {SERVICE_LABEL: "a"}
    with pytest.raises(ClusterError) as error:
        dry(server, made)
    assert place({"kind": "Deployment", "name": "a-decode", "problem": str(error.value)}, planned, made) == f"llm_d_model_services[0].{path}", error.value


def test_the_oldest_recorded_version_is_the_minimum_kubernetes_version() -> None:
    assert pod_fields.OLDEST.rpartition(".")[0] == MINIMUM["kubernetes"]
    assert f"Kubernetes {MINIMUM['kubernetes']} and {pod_fields.NEWEST.rpartition('.')[0]}" in DOCUMENT.read_text(encoding="utf-8")


def test_definitions_are_read() -> None:
    def reference(name: str) -> Facts:
        return {"$ref": f"#/definitions/io.k8s.{name}"}

    old: Facts = {
        TOOL["ROOT"]: {"properties": {"spec": reference("Spec")}},
        "io.k8s.Spec": {
            "required": ["parts"],
            "properties": {
                "parts": {"type": "array", "items": reference("Part"), "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"},
                "limits": {"type": "object", "additionalProperties": reference("resource.Quantity")},
                "port": reference("intstr.IntOrString"),
                "gone": {"type": "array", "items": {"type": "string"}},
            },
        },
        "io.k8s.Part": {"properties": {"name": {"type": "string"}, "of": {"type": "object"}}},
    }
    new = json.loads(json.dumps(old))
    del new["io.k8s.Spec"]["properties"]["gone"]
    new["io.k8s.Part"]["properties"]["added"] = {"type": "boolean"}
    text = TOOL["data_file"]({version: TOOL["pod_template_fields"](definitions) for version, definitions in (("1", old), ("2", new))})
    assert 'OLDEST, NEWEST = "1", "2"' in text
    assert '"Spec": """\ngone=[string]< limits={quantity} parts=[Part]name! port=int-or-string\n"""' in text
    assert '"Part": """\nadded=boolean> name=string of=object\n"""' in text and '"PodTemplateSpec": """\nspec=Spec\n"""' in text


@pytest.mark.rest  # downloads two versions of Kubernetes
@pytest.mark.timeout(600)
def test_the_recorded_pod_fields_equal_those_of_the_kubernetes_versions() -> None:
    versions = {version: TOOL["pod_template_fields"](TOOL["api_definitions"](version)) for version in (pod_fields.OLDEST, pod_fields.NEWEST)}
    assert TOOL["data_file"](versions) == Path(pod_fields.__file__).read_text(encoding="utf-8")
