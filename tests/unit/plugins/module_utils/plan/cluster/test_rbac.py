"""The permissions of the two halves of a deployment, and the Roles that grant them."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.permissions_file import chosen, objects, roles
from ansible_collections.llm_d.inference.plugins.module_utils.releases.gateways import GATEWAY_PROVIDERS
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render

Facts = dict[str, t.Any]
CHARTS = {key: f"/charts/{key}" for key in VARIABLES["llm_d_charts"].options or {}}
SIM: Facts = {"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}


def made(provider: str, scope: str, **variables: t.Any) -> Facts:
    facts = GATEWAY_PROVIDERS[provider]
    user = {
        "llm_d_charts": CHARTS,
        "llm_d_platform": (facts["platforms"] or ["kubernetes"])[0],
        "llm_d_gateway": {"provider": provider, "name": "mine" if provider == "none" else None, "service_type": facts["service_types"][0]},
        "llm_d_model_services": [SIM],
        "llm_d_scope": scope,
        **variables,
    }
    return plan(user)


def planned_permissions(provider: str, scope: str, **variables: t.Any) -> list[Facts]:
    return made(provider, scope, **variables)["preflight"]["permissions"]


def test_the_file_in_the_documentation_is_the_one_that_is_written(root: Path) -> None:
    text = (root / "docs/permissions.md").read_text(encoding="utf-8")
    printed = list(yaml.safe_load_all(re.search(r"```yaml\n(apiVersion: v1\nkind: ServiceAccount.*?)```", text, re.DOTALL).group(1)))
    user = yaml.safe_load((root / "inventories/local/group_vars/all/llm_d.yml").read_text(encoding="utf-8"))
    known = {name: value for name, value in user.items() if "{{" not in str(value)}
    assert objects(plan({**known, "llm_d_scope": "namespace"}), chosen({})[0]) == printed


@pytest.mark.parametrize("provider", GATEWAY_PROVIDERS)
def test_the_halves_share_no_right_and_are_the_whole(provider: str) -> None:
    half, rest, whole = (
        {tuple(sorted(permission.items())) for permission in planned_permissions(provider, scope)} for scope in ("prerequisites", "namespace", "cluster")
    )
    assert half | rest == whole
    # Each has a record in the namespace of the file.
    assert {(dict(permission)["resource"], dict(permission)["namespace"]) for permission in half & rest} == {("configmaps", "llm-d")}
    assert all(dict(permission).get("namespace") for permission in rest)
    namespaces = {GATEWAY_PROVIDERS[provider]["namespace"], *(["envoy-ai-gateway-system"] if provider == "envoy_ai_gateway" else [])}
    assert {dict(permission).get("namespace") for permission in half} <= {None, "", "llm-d", *namespaces}, (
        "an administrator's half is the controller's namespace"
    )


def verbs_on(permissions: list[Facts], resource: str, namespace: str = "") -> set[str]:
    return {permission["verb"] for permission in permissions if permission["resource"] == resource and (permission.get("namespace") or "") == namespace}


@pytest.mark.parametrize("scope", ["cluster", "namespace", "prerequisites"])
def test_permissions_on_pod_monitors_are_requested_when_scraping_is_enabled(scope: str) -> None:
    scraped = planned_permissions("standalone", scope, llm_d_monitoring={"scrape": True})
    of_monitoring = [permission for permission in scraped if permission.get("group") == "monitoring.coreos.com"]
    verbs = set() if scope == "prerequisites" else {"get", "list", "create", "patch", "delete"}
    assert verbs_on(scraped, "podmonitors", "llm-d") == verbs and len(of_monitoring) == len(verbs), "only this kind, in the namespace"
    assert [permission for permission in scraped if permission not in of_monitoring] == planned_permissions("standalone", scope)


def test_permissions_on_alerts_and_dashboards_are_requested_when_enabled() -> None:
    permissions = planned_permissions("standalone", "namespace", llm_d_monitoring={"alerts": True, "dashboards": ["grafana", "perses"]})
    written = {"get", "list", "create", "patch", "delete"}
    assert verbs_on(permissions, "prometheusrules", "llm-d") == verbs_on(permissions, "persesdashboards", "llm-d") == written
    added = {
        (permission.get("group"), permission["resource"]) for permission in permissions if permission not in planned_permissions("standalone", "namespace")
    }
    assert added == {("monitoring.coreos.com", "prometheusrules"), ("perses.dev", "persesdashboards")}


def test_permissions_of_a_chart_are_requested_only_by_runs_that_install_it() -> None:
    written = {"get", "list", "create", "patch", "delete"}
    permissions = planned_permissions("istio", "prerequisites")
    for resource, namespace in (("deployments", "istio-system"), ("clusterroles", ""), ("validatingwebhookconfigurations", "")):
        assert verbs_on(permissions, resource, namespace) == written
    assert verbs_on(permissions, "secrets", "istio-system") == {"get", "list", "create", "update", "delete"} and verbs_on(permissions, "gateways") == {"list"}
    rest, adopted = planned_permissions("istio", "namespace"), planned_permissions("istio", "cluster", llm_d_gateway={"provider": "istio", "install": False})
    for other in (rest, adopted):
        assert not verbs_on(other, "clusterroles") and not verbs_on(other, "deployments", "istio-system") and not verbs_on(other, "secrets", "istio-system")


def test_permissions_for_a_gpu_operator_follow_its_install_method() -> None:
    written = {"get", "list", "create", "patch", "delete"}
    pools = [{"name": "a", "node_selector": {"gpu": "a"}, "sharing": "time_slicing", "replicas": 2}]
    helm = planned_permissions("standalone", "prerequisites", llm_d_gpus={"operator": "nvidia_helm", "pools": pools})
    assert verbs_on(helm, "daemonsets", "gpu-operator") == written and verbs_on(helm, "clusterpolicies") == written
    assert not verbs_on(helm, "subscriptions", "gpu-operator")
    assert verbs_on(helm, "configmaps", "gpu-operator") == written and verbs_on(helm, "nodes") == {"get", "list", "patch"}
    olm = planned_permissions(
        "standalone", "prerequisites", llm_d_platform="openshift", llm_d_run_as_user=0, llm_d_gpus={"operator": "nvidia_olm", "approval": "Manual"}
    )
    place = "nvidia-gpu-operator"
    assert verbs_on(olm, "subscriptions", place) == written == verbs_on(olm, "clusterpolicies") and verbs_on(olm, "installplans", place) == {
        "get",
        "list",
        "patch",
    }
    assert not verbs_on(olm, "daemonsets", place) and not verbs_on(olm, "nodes")
    assert not verbs_on(planned_permissions("standalone", "namespace", llm_d_gpus={"operator": "nvidia_helm"}), "daemonsets", "gpu-operator")


@pytest.mark.parametrize("operator", ["nvidia_olm", "nvidia_helm", "amd", "gaudi"])
def test_permissions_cover_every_object_of_a_gpu_operator(root: Path, operator: str) -> None:
    pools = [{"name": "a", "node_selector": {"gpu": "a"}, **({"sharing": "mps", "replicas": 2} if operator.startswith("nvidia") else {})}]
    openshift = {} if operator == "nvidia_helm" else {"llm_d_platform": "openshift", "llm_d_run_as_user": 0}
    charts = {"gpu_operator": "/charts/gpu-operator"}
    settings = {"operator": operator, "pools": pools, "gaudi": {"registry": "intel.example.com"}}
    planned = plan({"llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"}, "llm_d_charts": charts, "llm_d_gpus": settings, **openshift})
    permissions = planned["preflight"]["permissions"]
    made = [item for name in ("operator", "policy") for item in render(root / f"roles/gpu_operator/templates/{name}.yml.j2", planned)]
    plurals = {"ClusterPolicy": "clusterpolicies", "NodeFeatureDiscovery": "nodefeaturediscoveries"}
    for item in made:
        resource = plurals.get(item["kind"], f"{item['kind'].lower()}s")
        if item["kind"] != "Namespace":
            group = item["apiVersion"].rpartition("/")[0]
            verbs = verbs_on(
                [permission for permission in permissions if permission.get("group", "") == group], resource, item["metadata"].get("namespace", "")
            )
            assert verbs >= {"get", "list", "create", "patch", "delete"}, f"{item['kind']} {item['metadata']['name']}"
    assert verbs_on(permissions, "pods") == {"list"}, "to find other users of the operator"
    assert ("list" in verbs_on(permissions, "subscriptions")) == (operator != "nvidia_helm")


@pytest.mark.parametrize("provider", GATEWAY_PROVIDERS)
def test_the_administrators_plan_has_prerequisites_and_no_services(provider: str) -> None:
    facts = GATEWAY_PROVIDERS[provider]
    user = {
        "llm_d_charts": CHARTS,
        "llm_d_platform": (facts["platforms"] or ["kubernetes"])[0],
        "llm_d_gateway": {"provider": provider, "name": "mine" if provider == "none" else None, "service_type": facts["service_types"][0]},
        "llm_d_model_services": [{**SIM, "model": {"uri": "hf://o/m", "token_secret": "theirs"}, "engine": {}}],
        "llm_d_image_pull_secrets": ["theirs"],
    }
    half, whole, rest = (plan({**user, "llm_d_scope": scope}) for scope in ("prerequisites", "cluster", "namespace"))
    assert half["services"] == [] and not half["gateway"]["create"] and not half["gateway"]["grants"]
    assert half["prerequisites"] == whole["prerequisites"] and half["gateway"]["charts"] == whole["gateway"]["charts"]
    assert half["gateway"]["create_class"] == whole["gateway"]["create_class"] and not rest["gateway"]["create_class"]
    for demand in ("named", "pods", "resources"):
        assert half["preflight"][demand] == []
    assert rest["services"] == whole["services"]


def test_gpus_are_the_administrators() -> None:
    user = {"llm_d_charts": CHARTS, "llm_d_gpus": {"operator": "nvidia_helm"}}
    assert [plan({**user, "llm_d_scope": scope})["gpus"]["active"] for scope in ("prerequisites", "namespace", "cluster")] == [True, False, True]


def test_an_openshift_project_is_requested_by_the_namespace_run() -> None:
    user = {"llm_d_platform": "openshift", "llm_d_request_project": True, "llm_d_gateway": {"provider": "openshift", "service_type": "ClusterIP"}}
    half, rest = (plan({**user, "llm_d_scope": scope})["prerequisites"] for scope in ("prerequisites", "namespace"))
    assert (half["projects"], half["namespaces"]) == ([], []) and rest["projects"] == ["llm-d"]


def test_permissions_are_granted_in_the_namespace_of_their_objects() -> None:
    gateway = {"provider": "istio", "namespace": "edge", "routes_namespace": "routes", "connection": "ext_proc"}
    planned = made("istio", "namespace", llm_d_gateway=gateway)
    granted = roles(planned, planned["preflight"]["permissions"])
    places = {role["metadata"]["namespace"]: {name for rule in role["rules"] for name in rule["resources"]} for role in granted}
    assert "httproutes" in places["routes"] and {"gateways", "envoyfilters"} <= places["edge"] and "referencegrants" in places["llm-d"]
    assert "deployments" not in places["edge"] | places["routes"]


def test_only_our_own_secrets_are_opened() -> None:
    planned = made("standalone", "namespace", llm_d_model_token="hf_x")
    (role,) = [item for item in objects(planned, chosen({})[0]) if item["kind"] == "Role"]
    rules = role["rules"]
    assert [rule for rule in rules if "secrets" in rule["resources"]] == [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["llm-d-model-token"], "verbs": ["get", "patch", "delete"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
    ]


def test_teardown_permissions_are_granted_but_not_required_by_preflight() -> None:
    user = {"llm_d_charts": CHARTS, "llm_d_gpus": {"operator": "nvidia_helm"}, "llm_d_scheduler_namespace": "pickers"}
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["list"]}
    for scope in ("prerequisites", "cluster"):
        planned = plan({**user, "llm_d_scope": scope})
        granted = [role for role in objects(planned, chosen({})[0]) if "rules" in role]
        roles = {role["metadata"].get("namespace", ""): role["rules"] for role in granted}
        deleted = {"llm-d", "pickers", "envoy-gateway-system", "gpu-operator"}
        assert {place for place, rules in roles.items() if everything in rules} == deleted
        users = [rule for rule in roles[""] if "leaderworkersets" in rule["resources"]]
        assert [rule["verbs"] for rule in users] == [["list"]], "others may need the controller that we installed"
        assert "*" not in {permission["resource"] for permission in planned["preflight"]["permissions"]}
    assert plan({**user, "llm_d_scope": "namespace"})["removal"]["permissions"] == []
