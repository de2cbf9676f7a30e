"""The objects of the templates of gaie_scheduler and model_service are consistent for any valid file."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.schema.scheduler import PRESETS
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from property_tests import examples

Facts = dict[str, t.Any]
ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = [ROOT / "roles/gaie_scheduler/templates/scheduler.yml.j2", ROOT / "roles/model_service/templates/servers.yml.j2"]

services_of_any_kind = st.builds(
    lambda name, simulated, preset, port, hostnames, size, nodes: {
        "name": name,
        "model": {"served_name": f"org/{name}", "uri": None if simulated else "hf://org/model"},
        "engine": {"type": "simulator" if simulated else "vllm", "port": port, "env": {"ODD": "{{ x }}: 'quoted' \"twice\" #\n- yes"}},
        "scheduler": {"preset": preset},
        "accelerator": {} if simulated else nodes,
        "route": {"path": f"/{name}", "hostnames": hostnames},
        "storage": {"size": None if simulated else size},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    },
    st.from_regex(r"\A[a-z]([-a-z0-9]{0,8}[a-z0-9])?\Z"),
    st.booleans(),
    st.sampled_from(PRESETS),
    st.integers(1024, 65535),
    st.lists(st.sampled_from(["a.example.com", "*.example.com"]), unique=True),
    st.sampled_from([None, "50Gi", 5]),
    st.sampled_from([{}, {"nodes": 2, "per_replica": 8}, {"nodes": 3, "per_replica": 3, "across_nodes": "expert"}]),
)


def file_of(services: list[Facts], **options: t.Any) -> Facts:
    """A user's file with these services."""
    return {
        "llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"},
        "llm_d_model_services": services,
        "llm_d_image_pull_secrets": ["pull"],
        **options,
    }


files = st.lists(services_of_any_kind, min_size=1, max_size=4, unique_by=lambda service: service["name"]).map(file_of).filter(lambda made: not problems(made))


def objects(planned: Facts) -> dict[tuple[str, str], Facts]:
    """All objects by kind and name, which are unique."""
    items = [item for template in TEMPLATES for item in render(template, planned)]
    named = {(item["kind"], item["metadata"]["name"]): item for item in items}
    assert len(named) == len(items)
    return named


def ports(service: Facts) -> dict[int, t.Any]:
    """Port to target port of a Service."""
    return {port["port"]: port["targetPort"] for port in service["spec"]["ports"]}


@examples(40, suppress_health_check=[HealthCheck.too_slow])
@given(files)
def test_every_reference_resolves(made: Facts) -> None:
    planned = plan(made)
    named = objects(planned)
    for (kind, name), item in named.items():
        assert item["metadata"]["namespace"] == planned["namespace"]
        assert planned["labels"].items() <= item["metadata"]["labels"].items()
        if kind == "Deployment":
            assert item["spec"]["selector"]["matchLabels"].items() <= item["spec"]["template"]["metadata"]["labels"].items()
        for template in _templates(item):
            _check_pod(template["spec"], named)
        if kind == "LeaderWorkerSet":
            leader, worker = _templates(item)
            selecting = [other["spec"]["selector"] for (what, _name), other in named.items() if what == "Service"]
            selecting += [other["spec"]["selector"]["matchLabels"] for (what, _name), other in named.items() if what == "InferencePool"]
            assert not [selector for selector in selecting if selector.items() <= worker["metadata"]["labels"].items()], "workers get no requests"
            assert [selector for selector in selecting if selector.items() <= leader["metadata"]["labels"].items()]
        elif kind == "RoleBinding":
            assert ("Role", item["roleRef"]["name"]) in named
            assert all(("ServiceAccount", subject["name"]) in named and subject["namespace"] == planned["namespace"] for subject in item["subjects"])
        elif kind == "InferencePool":
            picker = item["spec"]["endpointPickerRef"]
            assert ports(named[("Service", picker["name"])])[picker["port"]["number"]] == "grpc"
            assert [name for name, _template in _selected(item["spec"]["selector"]["matchLabels"], named)] in (
                [f"{name}-decode"],
                [f"{name}-decode", f"{name}-prefill"],
            )
        elif kind == "Service":
            assert len(_selected(item["spec"]["selector"], named)) == 1
            pod = _selected(item["spec"]["selector"], named)[0][1]["spec"]
            listening = [port for container in (*pod.get("initContainers", []), *pod["containers"]) for port in container.get("ports", [])]
            assert {port["targetPort"] for port in item["spec"]["ports"]} <= {port[key] for port in listening for key in ("name", "containerPort")}
        elif kind in ("EnvoyExtensionPolicy", "BackendTrafficPolicy"):
            assert all(("HTTPRoute", target["name"]) in named for target in item["spec"]["targetRefs"])
        elif kind == "HTTPRoute":
            assert item["spec"]["parentRefs"][0]["name"] == planned["gateway"]["name"]
            backend = item["spec"]["rules"][0]["backendRefs"][0]
            assert backend["port"] in ports(named[(backend["kind"], backend["name"])])


def _templates(item: Facts) -> list[Facts]:
    """The pod templates of an object, the leader's before that of its workers."""
    if item["kind"] == "LeaderWorkerSet":
        return [item["spec"]["leaderWorkerTemplate"][part] for part in ("leaderTemplate", "workerTemplate")]
    return [item["spec"]["template"]] if item["kind"] == "Deployment" else []


def _selected(selector: Facts, named: dict[tuple[str, str], Facts]) -> list[tuple[str, Facts]]:
    """(name of the owner, template) of each pod template with these labels."""
    owned = [(name, template) for (_kind, name), item in named.items() for template in _templates(item)]
    return [(name, template) for name, template in owned if selector.items() <= template["metadata"]["labels"].items()]


def _check_pod(pod: Facts, named: dict[tuple[str, str], Facts]) -> None:
    container = pod["containers"][0]
    account = named[("ServiceAccount", pod["serviceAccountName"])]
    assert account["imagePullSecrets"] == [{"name": "pull"}]
    containers = (*pod.get("initContainers", []), container)
    assert {mount["name"] for part in containers for mount in part.get("volumeMounts", [])} == {volume["name"] for volume in pod["volumes"]}
    assert all(part["restartPolicy"] == "Always" for part in pod.get("initContainers", [])), "native sidecars, not steps before the start"
    numbers = [port["containerPort"] for part in containers for port in part.get("ports", [])]
    assert len(set(numbers)) == len(numbers), "no two containers of a pod on one port"
    names = [port["name"] for part in containers for port in part.get("ports", [])]
    assert len(set(names)) == len(names) and all(len(name) <= 15 for name in names)
    for volume in pod["volumes"]:
        if "configMap" in volume:
            assert list(named[("ConfigMap", volume["configMap"]["name"])]["data"]) == ["config.yaml"]
    named_ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe") if container["ports"] else ():  # a worker has neither
        check = container[probe].get("httpGet") or container[probe]["grpc"]
        assert check["port"] in named_ports or check["port"] in named_ports.values()


@examples(20)
@given(files)
def test_pods_keep_the_restricted_profile(made: Facts) -> None:
    for item in objects(plan(made)).values():
        for template in _templates(item):
            pod = template["spec"]
            assert pod["securityContext"]["runAsNonRoot"] is True and pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
            for container in (*pod.get("initContainers", []), *pod["containers"]):
                context = container["securityContext"]
                assert context["allowPrivilegeEscalation"] is False and context["capabilities"] == {"drop": ["ALL"]}
            assert not any("hostPath" in volume for volume in pod["volumes"])


def test_values_with_special_characters_are_rendered_unchanged() -> None:
    odd = "{{ x }}: 'quoted' \"twice\" #\n- yes"
    service = {"name": "a", "model": {"served_name": "m"}, "engine": {"type": "simulator", "env": {"ODD": odd}, "args": [odd]}}
    container = objects(plan(file_of([service])))[("Deployment", "a-decode")]["spec"]["template"]["spec"]["containers"][0]
    assert {"name": "ODD", "value": odd} in container["env"]
    assert container["args"][-1] == odd


def test_no_services_make_no_objects() -> None:
    assert not objects(plan(file_of([])))


def test_envoy_gateway_calls_the_endpoint_picker_full_duplex_and_fail_closed() -> None:
    named = objects(plan(file_of([{"name": "a", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}])))
    process = named[("EnvoyExtensionPolicy", "a-epp")]["spec"]["extProc"][0]
    assert process["failOpen"] is False, "Envoy Gateway refuses full duplex with failOpen"
    assert {process["processingMode"][side]["body"] for side in ("request", "response")} == {"FullDuplexStreamed"}
    assert named[("BackendTrafficPolicy", "a-epp")]["spec"]["loadBalancer"]["endpointOverride"] == {
        "extractFrom": [{"header": "x-gateway-destination-endpoint"}]
    }
    grpc = [port for port in named[("Service", "a-epp")]["spec"]["ports"] if port["port"] == 9002][0]
    assert grpc["appProtocol"] == "kubernetes.io/h2c"
    assert list(named).index(("InferencePool", "a")) < list(named).index(("Deployment", "a-epp")), "an endpoint picker is unhealthy without its pool"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: {{ plan.nothing }}\n", "has no attribute 'nothing'"),
        ("a: x{{ plan | to_json }}\n", "has to be the whole value"),
        ("a: {{ lookup('env', 'HOME') }}\n", "'lookup' is undefined"),
    ],
)
def test_unsupported_expressions_in_a_template_are_errors(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "bad.yml.j2").write_text(text, encoding="utf-8")
    with pytest.raises(Exception, match=words):
        render(tmp_path / "bad.yml.j2", {"namespace": "x"})


def test_only_the_events_service_publishes_addresses_of_unready_pods() -> None:
    service = {"name": "a", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "scheduler": {"preset": "precise_prefix"}}
    named = objects(plan({**file_of([service]), "llm_d_release": "scheduler-0.7"}))
    assert "publishNotReadyAddresses" not in named[("Service", "a-epp")]["spec"]
    events = named[("Service", "a-events")]["spec"]
    assert events["publishNotReadyAddresses"] is True and [port["port"] for port in events["ports"]] == [5557]
    pod = named[("Deployment", "a-epp")]["spec"]["template"]["spec"]
    assert [container["name"] for container in pod["initContainers"]] == ["tokenizer"]


def test_no_value_is_printed_as_yaml_would_read_it(root: Path) -> None:
    """`on`, `405` and `2025` are names in Kubernetes. Text within a value (a block of text, a path) is not parsed as YAML."""
    bare = re.compile(r"^\s*(- )*([\w./-]+: |- )\{\{ (?!.*\| to_json \}\})[^}]+\}\}\s*(#.*)?$")
    lines = {
        f"{path.relative_to(root)}: {line.strip()}"
        for path in sorted(root.glob("roles/*/templates/*.yml.j2"))
        if "local_cluster" not in path.parts
        for line in path.read_text(encoding="utf-8").splitlines()
        if bare.match(line)
    }
    assert lines == {"roles/gateway_provider/templates/provider_istio.yml.j2: type: {{ gateway.service_type }}"}  # in the text of a ConfigMap


@pytest.mark.parametrize("name", ["on", "no", "y", "null", "405", "2025", "1e3", "0x1f", "1-2-3", "2025-01-01"])
def test_names_that_yaml_reads_as_other_types_are_rendered_as_strings(name: str) -> None:
    service = {"name": name if name[0].isalpha() else "m", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}
    for provider in ("envoy_gateway", "istio", "standalone", "gke"):
        if provider in ("istio", "standalone") and service["name"] == "m":
            continue  # it names a Service, which has to begin with a letter
        platform = {"llm_d_platform": "gke"} if provider == "gke" else {}
        planned = plan(
            {"llm_d_gateway": {"provider": provider, **({} if provider == "standalone" else {"name": name})}, **platform, "llm_d_model_services": [service]}
        )
        items = [item for template in (*TEMPLATES, ROOT / "roles/gateway_provider/templates/gateway.yml.j2") for item in render(template, planned)]
        references = [value for item in items for key, value in _scalars(item) if key in ("name", "namespace", "serviceAccountName", "group", "kind")]
        assert name in references and all(isinstance(value, str) for value in references), [value for value in references if not isinstance(value, str)]


def _scalars(node: t.Any) -> t.Iterator[tuple[str, t.Any]]:
    """(key, value) of every scalar of a mapping, at any depth."""
    for key, value in node.items() if isinstance(node, dict) else ():
        yield from _scalars(value) if isinstance(value, dict) else ((str(key), value),) if not isinstance(value, list) else ()
        yield from (pair for item in value for pair in _scalars(item)) if isinstance(value, list) else ()
