# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file that `make inventory` writes can be planned for every cluster, and names the facts that are not known."""

from __future__ import annotations

import copy
import re
import typing as t

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.inventory.accelerators import offers
from ansible_collections.llm_d.inference.plugins.module_utils.inventory.file import observed, starting_file
from ansible_collections.llm_d.inference.plugins.module_utils.inventory.place import starting_place
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.schema.fields import complete
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions
from plays import ROOT
from survey_cases import CASES, CHARTS, ENVOY, L40S, cluster, deployment, gateway_class, node, place, with_gateways

REACHED = {"server": "https://127.0.0.1:6443", "kubeconfig": None, "context": None}


def written(name: str) -> str:
    return starting_file(copy.deepcopy(CASES[name][0]), "inventories/mine", REACHED)


def user(text: str) -> dict[str, t.Any]:
    """The variables of a file. Charts are given, since not every one has a source of its own."""
    return {**yaml.safe_load(text), "llm_d_charts": CHARTS}


def chosen(text: str) -> dict[str, t.Any]:
    """The options of the file that the cases name, with their defaults."""
    options = {name: complete(user(text).get(name), field, name)[0] for name, field in VARIABLES.items()}
    service, gateway = options["llm_d_model_services"][0], options["llm_d_gateway"]
    return {
        **gateway,
        **{key: options[f"llm_d_{key}"] for key in ("platform", "release", "scope", "run_as_user")},
        **{key: service["accelerator"][key] for key in ("vendor", "product", "resource")},
        **{key: service[key] for key in ("replicas", "node_selector")},
        "tolerations": [{key: value for key, value in each.items() if value is not None} for each in service["tolerations"]],
        "engine": service["engine"]["type"],
        "operator": options["llm_d_gpus"]["operator"],
    }


@pytest.mark.parametrize("name", CASES)
def test_the_file_can_be_planned_and_suits_the_cluster(name: str) -> None:
    text = written(name)
    assert [str(problem) for problem in problems(user(text))] == []
    options, wanted = chosen(text), CASES[name][1]
    assert {key: options[key] for key in wanted} == wanted
    if wanted.get("tolerations") is None:
        assert options["tolerations"] == []


@pytest.mark.parametrize("name", CASES)
def test_the_starting_file_has_short_lines_and_no_templates(name: str) -> None:
    """Short lines without trailing blanks; nothing that Ansible would parse as a template."""
    text = written(name)
    lines = text.splitlines()
    assert text.startswith("---\n# Written by playbooks/inventory.yml for https://127.0.0.1:6443.") and text.endswith("\n") and not text.endswith("\n\n")
    assert [line for line in lines if len(line) > 160 or line != line.rstrip()] == []
    assert "{{" not in text and "{%" not in text and "None" not in text


def test_kinds_that_may_not_be_listed_are_named_and_not_guessed() -> None:
    report = "\n".join(observed(CASES["nothing may be listed"][0]))
    assert report.count("not known: no permission to list") == 7
    assert "none" not in report and "Whether there are GPUs is not known: no permission to list nodes." in written("nodes may not be listed")


def test_several_gateways_are_named_the_best_first_and_those_that_cannot_serve_last() -> None:
    text = written("several gateways")
    assert text.index("# Or: {provider: istio, install: false}.") < text.index("# Or: {provider: agentgateway, install: false}.")
    old = written("an old Envoy Gateway beside Istio")
    assert "# Or, once this is solved (1.3.0 is too old, 1.5.0 or newer is needed): {provider: envoy_gateway, install: false, class_name: eg}." in old


def test_a_gateway_provider_without_its_expected_controller_is_not_chosen() -> None:
    """The preflight would refuse it."""
    text = starting_file(with_gateways(ENVOY[0], {}), "inventories/mine", REACHED)
    assert yaml.safe_load(text)["llm_d_gateway"]["provider"] == "standalone"
    assert "its controller is not Deployment envoy-gateway-system/envoy-gateway, where it is expected" in text


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("kind", ["kubectl -n envoy-gateway-system port-forward $service 8080:80"]),
        ("agentgateway", ["kubectl -n llm-d port-forward service/llm-d-gateway-agentgateway 8080:80"]),
        ("Istio", ["kubectl -n llm-d port-forward service/llm-d-gateway-istio-istio 8080:80"]),
        ("nothing but an old Envoy Gateway", ["kubectl -n llm-d port-forward service/sim-gateway 8080:80"]),
    ],
)
def test_how_a_cluster_ip_is_reached(name: str, commands: list[str]) -> None:
    lines = [line.strip("# ") for line in written(name).splitlines()]
    assert [command for command in commands if command not in lines] == []


def test_kubeconfig_and_context_are_kept_so_that_no_other_cluster_is_meant() -> None:
    reached = {"server": "https://10.0.0.1", "kubeconfig": "/home/jane/my config", "context": "arn:aws:eks:eu-central-1:1:cluster/prod"}
    options = yaml.safe_load(starting_file(cluster(), "inventories/mine", reached))
    assert (options["llm_d_kubeconfig"], options["llm_d_context"]) == (reached["kubeconfig"], reached["context"])
    assert not {"llm_d_kubeconfig", "llm_d_context"} & set(yaml.safe_load(written("kind")))


def test_other_components_of_the_cluster_become_suggested_options() -> None:
    text = written("Prometheus and LeaderWorkerSet")
    assert "\n# llm_d_monitoring: {scrape: true," in text and yaml.safe_load(text)["llm_d_leader_worker_set"] == {"install": False}
    assert "llm_d_monitoring" not in written("kind") and "# storage: {claim: true, size: 20Gi}" in written("Istio")
    assert "Kubernetes v1.27.3 is too old: 1.29 or newer is needed." in starting_file(cluster(version="v1.27.3"), "inventories/mine", REACHED)


def test_accelerators_are_ordered_by_count_without_cordoned_nodes() -> None:
    cordoned = copy.deepcopy(L40S)
    cordoned["spec"]["unschedulable"] = True
    a100 = node("a", labels={"nvidia.com/gpu.product": "NVIDIA-A100"}, gpu=8)
    available = offers(cluster(nodes=[L40S, cordoned, a100]))
    assert [offer.text for offer in available] == ["8 nvidia.com/gpu on 1 node, NVIDIA-A100", "4 nvidia.com/gpu on 1 node, NVIDIA-L40S"]
    not_ready = node("u", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}, {"key": "x", "effect": "PreferNoSchedule"}], gpu=1)
    assert offers(cluster(nodes=[not_ready]))[0].tolerations == []


def test_the_guide_shows_what_is_written_for_kind() -> None:
    text = starting_file(copy.deepcopy(CASES["kind"][0]), "inventories/mine", {**REACHED, "context": "kind-kind"})
    shown = re.findall(r"^```yaml\n(llm_d_platform: .*?)```", (ROOT / "docs/your-cluster.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert shown == [text[text.index("llm_d_platform") :]]


def runs(*deployments: tuple[str, str], unread: t.Sequence[str] = ()) -> dict[str, t.Any]:
    """The facts of preflight/facts.py about a cluster with these deployments, each (instance, namespace)."""
    service = {"name": "sim", "model": {"served_name": "m"}, "replicas": 3, "engine": {"type": "simulator"}}
    user = {"llm_d_charts": CHARTS, "llm_d_model_services": [service]}
    planned = [plan({**user, "llm_d_instance": instance, "llm_d_namespace": namespace}) for instance, namespace in deployments]
    return {"running": {"objects": [item for each in planned for item in definitions(each)], "unread": list(unread)}}


@pytest.mark.parametrize(
    ("deployments", "context", "namespaces", "wanted"),
    [
        ((), None, ["llm-d"], {}),
        ((), "default", [], {}),
        ((), "team-a", ["team-a"], {"llm_d_namespace": "team-a"}),
        ((("llm-d", "llm-d"),), None, ["llm-d"], {"llm_d_instance": "llm-d-2", "llm_d_namespace": "llm-d-2"}),
        ((("llm-d", "llm-d"),), None, ["llm-d", "llm-d-2"], {"llm_d_instance": "llm-d-3", "llm_d_namespace": "llm-d-3"}),
        ((("llm-d", "llm-d"), ("llm-d-2", "b")), None, [], {"llm_d_instance": "llm-d-3", "llm_d_namespace": "llm-d-3"}),
        ((("llm-d", "llm-d"),), "team-a", ["team-a"], {"llm_d_instance": "llm-d-2", "llm_d_namespace": "team-a"}),
        ((("llm-d", "team-a"),), "team-a", ["team-a"], {"llm_d_instance": "llm-d-2", "llm_d_namespace": "llm-d-2"}),
        ((("blue", "b"),), None, [], {}),
        ((("blue", "llm-d"),), None, ["llm-d"], {"llm_d_instance": "llm-d-2", "llm_d_namespace": "llm-d-2"}),
    ],
)
def test_the_starting_file_never_reuses_a_running_deployment(deployments: t.Any, context: str | None, namespaces: list[str], wanted: dict[str, str]) -> None:
    facts = {**cluster(), **runs(*deployments), "namespaces": namespaces}
    text = starting_file(facts, "inventories/mine", {**REACHED, "namespace": context})
    options = yaml.safe_load(text)
    assert {key: options[key] for key in ("llm_d_instance", "llm_d_namespace", "llm_d_name_suffix") if key in options} == wanted
    assert [str(problem) for problem in problems(user(text))] == []
    mine = (options.get("llm_d_instance", "llm-d"), options.get("llm_d_namespace", "llm-d"))
    assert mine not in deployments and (not deployments or mine[1] not in {place for _instance, place in deployments})
    assert f"kubectl -n {mine[1]} port-forward service/" in text or "kubectl -n envoy-gateway-system" in text


def test_the_starting_file_names_running_deployments_and_how_to_adopt_them() -> None:
    text = starting_file({**cluster(), **runs(("llm-d", "llm-d")), "namespaces": []}, "inventories/mine", REACHED)
    sentences = " ".join(line.strip("# ") for line in text.splitlines())
    assert "running here: llm-d in namespace llm-d: router-0.11, sim (3 servers)" in " ".join(sentences.split())
    assert "this file is a second deployment beside it, llm-d-2 in namespace llm-d-2, which are free (docs/second-deployment.md)." in sentences
    assert "To take llm-d over instead, write llm_d_instance: llm-d, llm_d_namespace: llm-d, llm_d_release: router-0.11 and its services" in sentences
    assert "running here" in written("kind") and "second" not in written("kind")


def test_in_the_one_namespace_of_an_account_the_names_differ() -> None:
    """The account cannot create another one: the suffix is part of the instance, and of the names of all objects."""
    facts = {"version": "v1.34.4", "groups": {}, "permissions": [], **runs(("llm-d", "team-a"))}
    values = yaml.safe_load(starting_file(facts, "inventories/mine", {**REACHED, "namespace": "team-a"}))
    assert (values["llm_d_scope"], values["llm_d_namespace"], values["llm_d_name_suffix"]) == ("namespace", "team-a", "-2") and "llm_d_instance" not in values
    free = yaml.safe_load(starting_file({**facts, **runs()}, "inventories/mine", {**REACHED, "namespace": "team-a"}))
    assert free["llm_d_namespace"] == "team-a" and "llm_d_name_suffix" not in free


def test_a_gateway_controller_of_a_running_deployment_is_not_reinstalled() -> None:
    classes = gateway_class("envoy-gateway", "gateway.envoyproxy.io/gatewayclass-controller", **{"app.kubernetes.io/managed-by": "llm_d.inference"})
    facts = with_gateways(classes, deployment(place("envoy_gateway"), "envoyproxy/gateway:v1.9.1"))
    alone = yaml.safe_load(starting_file(facts, "inventories/mine", REACHED))
    beside = yaml.safe_load(starting_file({**facts, **runs(("llm-d", "llm-d"))}, "inventories/mine", REACHED))
    assert "install" not in alone["llm_d_gateway"] and beside["llm_d_gateway"]["install"] is False


def test_deployments_that_cannot_be_listed_are_reported_as_not_known() -> None:
    facts = {**cluster(), **runs(unread=["Deployment"])}
    proposal = starting_place(facts, REACHED)
    assert not proposal.known and "running here:    not known: no permission to list Deployments" in observed(facts, proposal)
