"""The objects that the providers' real charts render from the planned values."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from ansible_collections.llm_d.inference.plugins.module_utils.releases.charts import CHART_DISPLACES, CHART_WRITES
from local_servers import serve

from . import definitions_of_others as others

Facts = dict[str, t.Any]
HELMS = [os.environ.get("LLM_D_HELM", ""), "/var/cache/llm-d-local/bin/helm"]
LOCAL = Path("/var/cache/llm-d-local/assets/charts/gateway-helm")
GROUPS, EXTENSION = "leader_worker_set", "envoy_ai_gateway"
CHARTS = ("envoy_gateway", EXTENSION, "agentgateway", GROUPS)


def folder(key: str) -> str:
    """The path of a chart: of the local cluster, or in the Go module of its project."""
    if key == "envoy_gateway":
        if not LOCAL.is_dir():
            pytest.skip("no chart of Envoy Gateway: bring up the local cluster once")
        return str(LOCAL)
    if key == EXTENSION:
        return str(others.folder("github.com/envoyproxy/ai-gateway@v1.0.0") / "manifests/charts/ai-gateway-helm")
    if key == GROUPS:
        return str(others.folder(others.MODULES["leaderworkerset.x-k8s.io"][0]) / "charts/lws")
    return str(others.folder(others.MODULES["agentgateway.dev"][0]) / "controller/install/helm/agentgateway")


def requested(name: str, planned: Facts) -> Facts:
    """{controller, chart} of a plan, of the gateway, its extension or LeaderWorkerSet."""
    if name == GROUPS:
        return dict(planned["prerequisites"]["leader_worker_set"])
    place = 0 if name == EXTENSION else -1
    return {"controller": planned["gateway"]["controllers"][place], "chart": planned["gateway"]["charts"][place]}


@functools.cache
def helm() -> str:
    program = next((path for path in HELMS if path and Path(path).is_file()), None)
    return program or pytest.skip("no helm: bring up the local cluster once, or set LLM_D_HELM")


def file_of(name: str, **variables: t.Any) -> Facts:
    """A user's file that requests a chart."""
    alone = {"llm_d_gateway": {"provider": "standalone"}, "llm_d_leader_worker_set": {"install": True}}
    charts = {name: folder(name), **({"envoy_gateway": "/charts/gateway-helm"} if name == EXTENSION else {})}
    return {"llm_d_charts": charts, **(alone if name == GROUPS else {"llm_d_gateway": {"provider": name}}), **variables}


def made_by(chart: Facts, *options: str) -> tuple[Facts, ...]:
    """The objects that Helm renders from a chart with our values, hooks included."""
    command = [helm(), "template", chart["release_name"], chart["ref"], "--namespace", chart["namespace"], "--skip-crds", "--values", "-", *options]
    done = subprocess.run(command, input=json.dumps(chart["values"]), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return tuple(item for item in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if item)


@functools.cache
def rendered(name: str) -> tuple[Facts, tuple[Facts, ...]]:
    """(plan, objects of the chart, hooks included)."""
    planned = plan(file_of(name, llm_d_image_registry="mirror:5000/x"))
    return planned, made_by(requested(name, planned)["chart"])


def images_of(items: t.Iterable[Facts]) -> set[str]:
    """Images of all Deployments."""
    return {container["image"] for item in items if item["kind"] == "Deployment" for container in item["spec"]["template"]["spec"]["containers"]}


@pytest.mark.parametrize("name", CHARTS)
def test_a_controller_can_be_pinned_by_digest(name: str) -> None:
    file = file_of(name)
    digests = {image: f"sha256:{index:064x}" for index, image in enumerate(needed(plan(file))["sources"])}
    images = images_of(made_by(requested(name, plan({**file, "llm_d_image_digests": digests}))["chart"]))
    assert images and images <= {f"{image}@{digest}" for image, digest in digests.items()}


def test_a_chart_from_a_mirror_repository_renders_the_same_images(tmp_path: Path) -> None:
    """Helm renders the same objects from a chart proxy by HTTP as from the folder."""
    version = plan(file_of("envoy_gateway"))["gateway"]["chart"]["version"]
    for command in (["package", folder("envoy_gateway"), "--version", version, "--destination", str(tmp_path)], ["repo", "index", str(tmp_path)]):
        done = subprocess.run([helm(), *command], capture_output=True, text=True, check=False, timeout=60, env={**os.environ, "HOME": str(tmp_path)})
        assert done.returncode == 0, done.stderr

    def answer(_handler: t.Any, _method: str, path: str, _body: bytes) -> t.Any:
        file = tmp_path / path.rpartition("/")[2]
        return (200, {}, file.read_bytes()) if path.startswith("/proxy/charts/") and file.is_file() else (404, {}, "")

    with serve(answer) as url:
        proxied = plan(file_of("envoy_gateway", llm_d_insecure_charts=True, llm_d_charts={"envoy_gateway": f"{url}/proxy/charts"}))["gateway"]["chart"]
        assert (proxied["repo"], proxied["ref"]) == (f"{url}/proxy/charts", "gateway-helm")
        objects = made_by(proxied, "--repo", proxied["repo"], "--version", proxied["version"])
    assert images_of(objects) == images_of(made_by(plan(file_of("envoy_gateway"))["gateway"]["chart"]))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("envoy_gateway", {"deployment": {"pod": {"nodeSelector": {"pool": "edge"}}}}),
        (EXTENSION, {"controller": {"nodeSelector": {"pool": "edge"}}}),
        ("agentgateway", {"nodeSelector": {"pool": "edge"}}),
        (GROUPS, {"nodeSelector": {"pool": "edge"}}),
    ],
)
def test_values_of_the_user_reach_the_controller(name: str, values: Facts) -> None:
    def pods(file: Facts) -> dict[str, Facts]:
        made = made_by(requested(name, plan(file))["chart"])
        return {item["metadata"]["name"]: item["spec"]["template"]["spec"] for item in made if item["kind"] == "Deployment"}

    before, after = pods(file_of(name)), pods(file_of(name, llm_d_chart_values={name: values}))
    assert before and after == {key: {**spec, "nodeSelector": {"pool": "edge"}} for key, spec in before.items()}


def controllers(objects: t.Iterable[Facts]) -> list[t.Any]:
    """The values that the plan relies on: the places and images of the Deployments, and the controller name and provider type of Envoy Gateway."""
    settled: list[t.Any] = []
    for item in objects:
        if item["kind"] == "Deployment":
            spec = item["spec"]["template"]["spec"]
            images = [[each["name"], each["image"], each.get("imagePullPolicy")] for each in spec["containers"] if isinstance(each, dict) and "image" in each]
            settled.append([item["metadata"]["namespace"], item["metadata"]["name"], spec.get("imagePullSecrets") or [], images])
        elif text := item.get("data", {}).get("envoy-gateway.yaml"):
            settings = yaml.load(text, Loader=yaml.CSafeLoader)
            settled.append([settings["gateway"]["controllerName"], settings["provider"]["type"]])
    return settled


def others_of(value: t.Any, path: tuple[str, ...] = ()) -> t.Iterator[tuple[tuple[str, ...], t.Any]]:
    """(path, another value of its type) of each value of a chart."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from others_of(item, (*path, key))
    elif isinstance(value, (bool, int)):
        yield path, not value if isinstance(value, bool) else value + 1
    else:
        yield path, {"planted": "x"} if isinstance(value, dict) else [{"name": "planted"}] if isinstance(value, list) else "planted"


@pytest.mark.rest
@pytest.mark.parametrize("name", CHARTS)
def test_no_accepted_value_of_a_chart_displaces_what_the_plan_relies_on(name: str) -> None:
    """Each value of the real chart is set to another value, and the chart is rendered."""
    chart = requested(name, plan(file_of(name)))["chart"]
    defaults = yaml.safe_load((Path(chart["ref"]) / "values.yaml").read_text(encoding="utf-8"))
    names = dict.fromkeys(("nameOverride", "fullnameOverride", "namespaceOverride"), "")
    planned, accepted, refused, displaced = controllers(made_by(chart)), 0, set(), []
    for steps, value in others_of({**names, **defaults}):
        values: t.Any = value
        for step in reversed(steps):
            values = {step: values}
        file = file_of(name, llm_d_chart_values={name: values})
        if problems(file):
            refused.add(".".join(steps))
            continue
        try:
            made = made_by(requested(name, plan(file))["chart"])
        except AssertionError:  # Helm refuses it as well
            continue
        accepted += 1
        displaced += [".".join(steps)] if controllers(made) != planned else []
    assert not displaced and accepted > 10 and refused & set(CHART_DISPLACES[name])


@pytest.mark.parametrize("name", CHARTS)
def test_the_chart_creates_the_awaited_controller_with_the_mirrored_image(name: str) -> None:
    planned, objects = rendered(name)
    controller, chart = requested(name, planned)["controller"], requested(name, planned)["chart"]
    made = [item for item in objects if item["kind"] == controller["kind"] and item["metadata"]["name"] == controller["name"]]
    assert [item["metadata"]["namespace"] for item in made] == [chart["namespace"]]
    images = [container["image"] for item in made for container in item["spec"]["template"]["spec"]["containers"]]
    assert images and all(image.startswith("mirror:5000/x/") for image in images)


def test_envoy_gateway_gets_its_extensions_address_and_may_read_pools() -> None:
    """The real charts agree: Envoy Gateway gets the address of the extension's Service, and its account the extension's ClusterRole."""
    planned = plan(file_of(EXTENSION, llm_d_charts={EXTENSION: folder(EXTENSION), "envoy_gateway": folder("envoy_gateway")}))
    extension, main = (made_by(chart) for chart in planned["gateway"]["charts"])
    text = next(item["data"]["envoy-gateway.yaml"] for item in main if item["kind"] == "ConfigMap" and "envoy-gateway.yaml" in item.get("data", {}))
    manager = yaml.load(text, Loader=yaml.CSafeLoader)["extensionManager"]
    service = next(item for item in extension if item["kind"] == "Service")
    host = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc.cluster.local"
    assert manager["service"]["fqdn"]["hostname"] == host
    assert manager["service"]["fqdn"]["port"] in [port["port"] for port in service["spec"]["ports"] if port["name"] == "grpc"]
    assert manager["backendResources"] == [{"group": "inference.networking.k8s.io", "kind": "InferencePool", "version": "v1"}]
    account = next(item for item in main if item["kind"] == "Deployment")
    who = {"kind": "ServiceAccount", "name": account["spec"]["template"]["spec"]["serviceAccountName"], "namespace": account["metadata"]["namespace"]}
    bound = [item["roleRef"]["name"] for item in extension if item["kind"] == "ClusterRoleBinding" and who in item["subjects"]]
    rules = [rule for item in extension if item["kind"] == "ClusterRole" and item["metadata"]["name"] in bound for rule in item["rules"]]
    assert any("inferencepools" in rule["resources"] and {"list", "watch"} <= set(rule["verbs"]) for rule in rules)


@pytest.mark.parametrize("user, wanted", [(0, None), (1000, 1000)])
def test_the_ai_gateway_runs_as_the_user_of_the_file(user: int, wanted: int | None) -> None:
    """The chart has defaults for the pod and for the container, which null removes."""
    chart = plan(file_of(EXTENSION, llm_d_run_as_user=user))["gateway"]["charts"][0]
    contexts = [chart["values"]["controller"][name] for name in ("podSecurityContext", "securityContext")]
    assert [(each["runAsUser"], each["runAsGroup"]) for each in contexts] == [(wanted, wanted)] * 2


def test_envoy_gateway_leaves_the_policy_beside_the_crds_alone() -> None:
    """Since 1.9 a template of its subchart has the policy of the Gateway API's bundle, which already exists with the CRDs: Helm would not own it."""
    subchart = Path(folder("envoy_gateway")) / "charts/crds/templates"
    assert "gatewayapi-safe-upgrade-policy.yaml" in [path.name for path in subchart.iterdir()], "there is nothing to leave out"
    objects = made_by(plan(file_of("envoy_gateway", llm_d_charts={"envoy_gateway": folder("envoy_gateway")}))["gateway"]["chart"])
    assert objects and not [item["kind"] for item in objects if item["kind"].startswith("ValidatingAdmissionPolicy")]


def test_envoy_gateway_restarts_when_it_gets_an_extension_or_loses_it() -> None:
    """The file with its configuration changes in a running pod, but with a delay."""
    charts = {EXTENSION: folder(EXTENSION), "envoy_gateway": folder("envoy_gateway")}
    pods = []
    for provider in ("envoy_gateway", EXTENSION):
        chart = plan(file_of(provider, llm_d_charts=charts))["gateway"]["charts"][-1]
        pods.append(next(item["spec"]["template"] for item in made_by(chart) if item["kind"] == "Deployment"))
    assert pods[0] != pods[1]


@pytest.mark.parametrize("name", CHARTS)
def test_no_chart_brings_definitions(name: str) -> None:
    assert "CustomResourceDefinition" not in {item["kind"] for item in rendered(name)[1]}


@pytest.mark.parametrize("name", CHARTS)
def test_the_preflight_checks_the_permissions_for_the_objects_of_the_chart(name: str) -> None:
    planned, objects = rendered(name)
    namespace = requested(name, planned)["chart"]["namespace"]
    made = {(item["metadata"].get("namespace", ""), item["apiVersion"].rpartition("/")[0], f"{item['kind'].lower()}s") for item in objects}
    writes = CHART_WRITES[name]
    expected = {(namespace, *kind) for kind in writes["namespaced"]} | {("", *kind) for kind in writes["cluster"]}
    assert expected == made
    permissions = {
        (permission["namespace"], permission["group"], permission["resource"], permission["verb"])
        for permission in planned["preflight"]["permissions"]
        if "namespace" in permission
    }
    assert {(*kind, verb) for kind in made for verb in ("get", "create", "patch", "delete")} <= permissions
    assert {(namespace, "", "secrets", verb) for verb in ("list", "create", "update", "delete")} <= permissions, "Helm's records"


def test_istio_leaves_out_each_of_its_definitions() -> None:
    """The chart renders each CRD that is not excluded by its name: Helm would own a CRD that is missing in the list."""
    planned = plan({"llm_d_charts": {"istio": "/c", "istio_base": "/c"}, "llm_d_gateway": {"provider": "istio"}})
    groups = ("networking", "security", "telemetry", "extensions")
    module, patterns = others.MODULES["networking.istio.io"]
    text = (others.folder(module) / patterns[0]).read_text(encoding="utf-8")
    names = [item["metadata"]["name"] for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item and item["kind"] == "CustomResourceDefinition"]
    assert sorted(planned["gateway"]["charts"][0]["values"]["base"]["excludedCRDs"]) == sorted(names)
    assert {name.split(".")[1] for name in names} == set(groups)


@pytest.mark.parametrize("name", CHARTS)
def test_objects_that_chart_hooks_leave_behind_are_declared(name: str) -> None:
    """The plan declares all objects of hooks, except a Job that is deleted after it has ended."""
    planned, objects = rendered(name)
    hooks = [item for item in objects if "helm.sh/hook" in item["metadata"].get("annotations", {})]
    left = [item for item in hooks if item.get("spec", {}).get("ttlSecondsAfterFinished") is None]
    assert {key(item) for item in left} == {key(item) for item in requested(name, planned)["chart"].get("hook_objects", [])}
    assert bool(left) == (name == "envoy_gateway"), "Envoy Gateway's chart has hooks, and the others have none"


def key(item: Facts) -> tuple[str, str, str, str]:
    return item["apiVersion"], item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]
