# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that YAML reads as other types pass unchanged through every template of every role, or are refused before anything is touched."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems, secret_definitions
from ansible_collections.llm_d.inference.plugins.module_utils.releases.gateways import GATEWAY_PROVIDERS
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render
from jinja2 import Environment, nodes

Facts = dict[str, t.Any]
ROLES = Path(__file__).resolve().parents[3] / "roles"
TEMPLATES = sorted(path for path in ROLES.glob("*/templates/*.yml.j2") if path.parts[-3] != "local_cluster")
PLATFORM = {"openshift": "openshift", "gke": "gke"}
# Words that YAML 1.1 reads as other types. Names of Services begin with a letter; other names need not.
LETTERS = ("no", "on", "y", "off", "null", "true", "e1", "inf")
ANY = (*LETTERS, "405", "007", "2025", "1e3", "0x1f", "2025-01-01", "0b1", "0o7")
VALUES = (*ANY, "~", "1:30", "1_000", ".inf", "-1", "", " no", "{{ x }}", "a: b", "- a", "#", "'\"\n", "=", "<<", "!x", "&a", "*a", "%", "@", "`", "{}", "[]")


def user(provider: str, name: str, word: str, value: str) -> Facts:
    """A file with the same word for every name, and the same value for every free text. name: begins with a letter."""
    scaled = {"provider": "keda", "max": 3, "metrics": {"queue": 1}, "prometheus": "http://p:9090"}
    standalone, label = provider == "standalone", word if re.fullmatch(r"[a-z0-9.-]*", word) else "x"
    gateway: Facts = {"provider": provider, "service_type": "ClusterIP"}
    if not standalone:
        listener = {
            "name": word,
            "hostname": f"{word}.example.com",
            "port": 443,
            "protocol": "HTTPS",
            "tls_secret": word,
            "tls_secret_namespace": f"{word}-tls",
        }
        gateway |= {"name": f"{name}-gw", "class_name": name, "namespace": f"{word}-gw", "routes_namespace": f"{word}-routes", "listener": listener}
    if provider in ("gke", "none", "openshift", "kgateway"):
        gateway.pop("class_name")
    if provider == "envoy_ai_gateway":  # its routes are in the namespace of its pools
        gateway.pop("routes_namespace", None)
    if provider == "gke":
        gateway.pop("service_type")
    if provider == "openshift":
        gateway["openshift_route"] = {"enabled": True, "hostname": f"{word}.example.com"}
    credential = value.strip().strip("'\"") or "u"
    vllm = {
        "name": name,
        "model": {"uri": "hf://org/model", "served_name": value or "m", "revision": value or "r", "token_secret": word, "token_key": word},
        "engine": {"env": {"A": value, "no": value}},
        "scheduler": {"preset": "precise_prefix", "env": {"B": value, "y": value}},
        "route": {} if standalone else {"path": f"/{word}", "hostnames": [f"{word}.example.com"]},
        "storage": {"claim": True, "size": "1", "class_name": word, "access_mode": "ReadWriteMany"},
        "labels": {word: label, f"{name}.example.com/{word}": label},
        "node_selector": {word: label},
        "tolerations": [{"key": word, "value": label}],
        "service_account": f"{word}-sa",
        "autoscaling": scaled,
        "warmup": {"config_map": word, "prompts": [value or "x"]},
    }
    groups = {"name": f"{name}-2", "model": {"uri": f"pvc://{word}/m", "served_name": "m2"}, "accelerator": {"nodes": 2, "per_replica": 2}}
    groups |= {"route": {} if standalone else {"path": "/2", "hostnames": [f"{word}.example.com"]}, "storage": {"access_mode": "ReadWriteMany"}}
    simulator = {"name": f"{name}-3", "model": {"served_name": value or "m3"}, "engine": {"type": "simulator", "args": [value or "405"]}}
    simulator |= {"route": {} if standalone else {"path": "/3", "hostnames": [f"{word}.example.com"]}}
    pool = {"name": word, "node_selector": {word: label}, "sharing": "time_slicing", "replicas": 2, "gpus_per_node": 1}
    return {
        "llm_d_namespace": word,
        "llm_d_instance": word,
        "llm_d_platform": PLATFORM.get(provider, "kubernetes"),
        "llm_d_gateway": gateway,
        "llm_d_image_pull_secrets": [word],
        "llm_d_image_pull_credentials": [{"registry": "r.example.com", "username": credential, "password": credential}],
        "llm_d_model_token": credential.replace(" ", ""),
        "llm_d_monitoring": {"scrape": True, "labels": {word: label}, "alerts": True, "dashboards": ["grafana", "perses"]},
        "llm_d_gpus": {"operator": "nvidia_olm" if provider == "openshift" else "nvidia_helm", "channel": value or None, "pools": [pool]},
        "llm_d_charts": dict.fromkeys(("envoy_gateway", "gpu_operator", "leader_worker_set"), "/c"),
        "llm_d_model_services": [vllm, groups, simulator],
    }


def entry_points() -> list[Path]:
    """The templates that are not included by others."""
    return [path for path in TEMPLATES if path.stem.removesuffix(".yml") not in ("pod",) and not path.name.startswith("provider_")]


def strings(node: t.Any, where: str = "") -> t.Iterator[tuple[str, t.Any]]:
    """(key, value) of each scalar; keys of mappings are listed as ("KEY", key)."""
    if isinstance(node, dict):
        for key, item in node.items():
            yield "KEY", key
            yield from strings(item, str(key))
    elif isinstance(node, list):
        for item in node:
            yield from strings(item, where)
    else:
        yield where, node


def names_in(item: Facts) -> list[tuple[str, t.Any]]:
    """(key, value) of the scalars that are strings in every object of Kubernetes."""
    texts = (
        "KEY",
        "name",
        "namespace",
        "serviceAccountName",
        "serviceAccount",
        "claimName",
        "storageClassName",
        "gatewayClassName",
        "host",
        "hostname",
        "kind",
    )
    texts += (
        "group",
        "apiVersion",
        "controllerName",
        "secretName",
        "key",
        "image",
        "args",
        "hostnames",
        "channel",
        "source",
        "sourceNamespace",
        "targetNamespaces",
    )
    pairs = [(key, value) for key, value in strings(item) if key in texts]
    for part in ("labels", "matchLabels", "annotations", "nodeSelector", "data", "stringData"):
        pairs += [(part, value) for node in mappings(item) for value in (node.get(part) or {} if isinstance(node.get(part), dict) else {}).values()]
    pairs += [("env", entry.get("value", "")) for node in mappings(item) for entry in node.get("env") or [] if isinstance(entry, dict)]
    return pairs


def mappings(node: t.Any) -> t.Iterator[Facts]:
    if isinstance(node, dict):
        yield node
        for item in node.values():
            yield from mappings(item)
    elif isinstance(node, list):
        for item in node:
            yield from mappings(item)


# Each word with one provider in four; `make test` takes one in eight.
CASES = [
    pytest.param(provider, LETTERS[index % len(LETTERS)], word, VALUES[(7 * index + at) % len(VALUES)], marks=[pytest.mark.rest] * ((index + at) % 8 // 4))
    for index, provider in enumerate(GATEWAY_PROVIDERS)
    for at, word in enumerate(ANY)
    if (index + at) % 4 == 0
]


@pytest.mark.parametrize(("provider", "name", "word", "value"), CASES, ids=repr)
def test_every_template_prints_names_as_they_are(provider: str, name: str, word: str, value: str) -> None:
    made = user(provider, name, word, value)
    assert [str(problem) for problem in problems(made)] == []
    planned = plan(made)
    items = [item for path in entry_points() for item in render(path, planned)] + secret_definitions(made)
    assert {
        "Deployment",
        "LeaderWorkerSet",
        "ScaledObject",
        "PodMonitor",
        "PrometheusRule",
        "PersesDashboard",
        "PersistentVolumeClaim",
        "Namespace",
        "Secret",
    } <= {item["kind"] for item in items}
    for item in items:
        misread = [(key, text) for key, text in names_in(item) if not isinstance(text, str)]
        assert not misread, (item["kind"], misread)
        # The object is the same after it is written and read again, also texts in ConfigMaps that controllers read as YAML.
        assert yaml.safe_load(yaml.safe_dump(item)) == item
    servers = {item["metadata"]["name"]: item for item in items if item["kind"] == "Deployment"}
    pod = servers[f"{name}-decode"]["spec"]["template"]
    env = {entry["name"]: entry.get("value") for entry in pod["spec"]["containers"][0]["env"]}
    assert env["A"] == env["no"] == value and pod["spec"]["nodeSelector"][word] == pod["metadata"]["labels"][word]
    assert pod["spec"]["serviceAccountName"] == f"{word}-sa" and servers[f"{name}-decode"]["metadata"]["namespace"] == word
    picker = servers[planned["services"][0]["scheduler"]["name"]]
    epp = {entry["name"]: entry.get("value") for entry in picker["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert epp["B"] == epp["y"] == value
    assert (value or "405") in servers[f"{name}-3-decode"]["spec"]["template"]["spec"]["containers"][0]["args"]
    listed = [(item["kind"], item["apiVersion"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in items if "prune" not in str(item)]
    assert word in {place for _kind, _version, place, _name in listed}


def test_every_template_is_rendered() -> None:
    """Each is an entry point, or included by one; those of providers by their names."""
    included = {name for path in TEMPLATES for name in _includes(path)}
    for path in TEMPLATES:
        named = path.name.startswith("provider_") and path.name[len("provider_") : -len(".yml.j2")] in GATEWAY_PROVIDERS
        assert path in entry_points() or named or path.name in included, path


def _includes(path: Path) -> list[str]:
    includes = Environment().parse(path.read_text(encoding="utf-8")).find_all(nodes.Include)
    return [include.template.value for include in includes if isinstance(include.template, nodes.Const)]


BARE = {
    "405": "405",
    "no": "no, off or false",
    "on": "yes, on or true",
    "007": "such as 07",
    "2025": "2025",
    "0x10": "16",
    "1:30": "90",
    "2025-01-01": "2025-01-01",
}
PLACES = (
    "llm_d_namespace: %s", "llm_d_instance: %s", "llm_d_gateway: {name: %s}", "llm_d_gateway: {class_name: %s}", "llm_d_gateway: {listener: {name: %s}}",
    "llm_d_image_pull_secrets: [%s]", "llm_d_model_services: [{name: %s, model: {uri: 'hf://o/m'}}]",
    "llm_d_model_services: [{name: a, model: {uri: 'hf://o/m', served_name: %s}}]",
    "llm_d_model_services: [{name: a, model: {uri: 'hf://o/m'}, labels: {a: %s}}]",
    "llm_d_model_services: [{name: a, model: {uri: 'hf://o/m'}, node_selector: {%s: a}}]",
    "llm_d_model_services: [{name: a, model: {uri: 'hf://o/m'}, engine: {args: [%s]}}]",
    "llm_d_model_services: [{name: a, model: {uri: 'hf://o/m'}, service_account: %s}]",
)  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("word", "meaning"), BARE.items())
def test_a_name_without_quotes_that_yaml_reads_as_something_else_is_refused(place: str, word: str, meaning: str) -> None:
    (problem,) = problems(yaml.safe_load(place % word))
    assert "in quotes" in problem.fix and meaning in problem.fix and place.split(":")[0] in problem.path


@pytest.mark.parametrize("place", PLACES[:2] + PLACES[4:7])
@pytest.mark.parametrize("word", ["null", "~", ""])
def test_no_name_is_never_another_name(place: str, word: str) -> None:
    refusals = problems(yaml.safe_load(place % word) if word or "[%s]" not in place else {"llm_d_image_pull_secrets": [None]})
    assert len(refusals) == 1 and ("is empty" in refusals[0].reason or "is missing" in refusals[0].reason)


SIM = {"name": "a", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}


def at(provider: str, **gateway: t.Any) -> Facts:
    charts = {"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_platform": PLATFORM.get(provider, "kubernetes")}
    return {"llm_d_gateway": {"provider": provider, **gateway}, "llm_d_model_services": [SIM], **charts}


@pytest.mark.parametrize(
    ("made", "path", "word"),
    [
        ({"llm_d_model_services": [{**SIM, "name": "405"}]}, "llm_d_model_services[0].name", "begins with a digit"),
        ({"llm_d_model_services": [{**SIM, "name": "a" * 56}]}, "llm_d_model_services[0].name", "56 characters"),
        ({"llm_d_model_services": [{**SIM, "name": "A"}]}, "llm_d_model_services[0].name", "lower-case"),
        ({"llm_d_model_services": [{**SIM, "name": "a.b"}]}, "llm_d_model_services[0].name", "lower-case"),
        ({"llm_d_model_services": [SIM, {**SIM, "name": "a-epp", "route": {"path": "/b"}}]}, "llm_d_model_services[1].name", "share the object name"),
        ({"llm_d_namespace": "a" * 64}, "llm_d_namespace", "at most 63"),
        ({"llm_d_instance": "a.b"}, "llm_d_instance", "lower-case"),
        (at("istio", name="405"), "llm_d_gateway.name", "405-istio"),
        (at("istio", name="a" * 60), "llm_d_gateway.name", "at most 63"),
        (at("istio", name="g", class_name="a.b"), "llm_d_gateway.name", "g-a.b"),
        (at("agentgateway", name="405"), "llm_d_gateway.name", "begins with a letter"),
        (at("kgateway", name="007"), "llm_d_gateway.name", "begins with a letter"),
        (at("agentgateway", name="a"), "llm_d_gateway.name", "both be named 'a'"),
        (at("istio", name="a-epp", service_type="ClusterIP"), "llm_d_gateway.name", "both be named 'a-epp'"),
        ({"llm_d_model_services": [{**SIM, "labels": {f"{'a' * 254}/b": "c"}}]}, None, "label key"),
        ({"llm_d_model_services": [{**SIM, "labels": {"a..b/c": "c"}}]}, None, "label key"),
        ({"llm_d_model_services": [{**SIM, "labels": {"a": "c" * 64}}]}, "llm_d_model_services[0].labels.a", "at most 63"),
    ],
)  # fmt: skip
def test_names_and_labels_that_kubernetes_refuses_are_refused_by_the_plan(made: Facts, path: str | None, word: str) -> None:
    refusals = problems({"llm_d_charts": {"envoy_gateway": "/c"}, **made})
    assert len(refusals) == 1 and path in (None, refusals[0].path) and word in refusals[0].reason, [str(problem) for problem in refusals]


def test_names_of_others_may_begin_with_a_digit() -> None:
    assert not problems(at("agentgateway", name="405", create=False)) and not problems(at("agentgateway", name="a", namespace="other"))
    assert not problems(at("gke", name="405")) and not problems(at("envoy_gateway", name="405"))


def test_pods_that_test_gpus_have_names_of_their_own() -> None:
    pools = [{"name": f"{'p' * 59}-{end}", "node_selector": {"a": end}, "sharing": "time_slicing", "replicas": 2, "gpus_per_node": 1} for end in "ab"]
    gpus = {"operator": "nvidia_helm", "pools": pools}
    made = [check["pod"]["metadata"]["name"] for check in plan({**at("envoy_gateway"), "llm_d_gpus": gpus})["gpus"]["checks"]["pods"]]
    assert len(set(made)) == len(made) == 2 and all(re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name) for name in made)
