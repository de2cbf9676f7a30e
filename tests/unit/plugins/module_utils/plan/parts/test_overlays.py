# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`pod` and `container` of a model service: the fields that reach the pods, and those that other options decide."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from ansible_collections.llm_d.inference.plugins.module_utils.plan.gateways import picker_pod
from ansible_collections.llm_d.inference.plugins.module_utils.plan.servers import pod_template
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import SERVICE, VARIABLES
from planned_pods import main, sidecars, spec

Facts = dict[str, t.Any]
VLLM: Facts = {"name": "a", "model": {"uri": "hf://o/m"}}
SPLIT: Facts = {**VLLM, "scheduler": {"preset": "disaggregated"}}
GROUPS: Facts = {**VLLM, "accelerator": {"per_replica": 16, "nodes": 2}}
MOUNTED: Facts = {
    "pod": {"volumes": [{"name": "templates", "configMap": {"name": "chat"}}], "labels": {"example.com/a": "b"}, "annotations": {"example.com/c": "d"}},
    "container": {"volumeMounts": [{"name": "templates", "mountPath": "/templates"}], "workingDir": "/srv"},
}


def file_of(service: Facts | None = None, **options: t.Any) -> Facts:
    return {"llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"}, "llm_d_model_services": [{**(service or VLLM), **options}]}


def servers(service: Facts | None = None, **options: t.Any) -> list[Facts]:
    """The pods of model servers: of each role, and workers."""
    planned = plan(file_of(service, **options))["services"][0]["servers"]
    return [pod for each in planned for pod in (each, each["worker"]) if pod]


def messages(service: Facts | None = None, **options: t.Any) -> dict[str, str]:
    """The mistakes: {path within the service: the rest of the message}."""
    lines = (str(problem).removeprefix("llm_d_model_services[0].").partition(": ") for problem in problems(file_of(service, **options)))
    return {path: rest for path, _colon, rest in lines}


@pytest.mark.parametrize("service", [VLLM, SPLIT, GROUPS], ids=["alone", "split", "groups"])
def test_all_servers_have_what_is_added(service: Facts) -> None:
    plain, added = servers(service), servers(service, **MOUNTED)
    assert len(added) == len(plain) == (1 if service == VLLM else 2)
    for before, after in zip(plain, added, strict=True):
        assert after["template"]["metadata"] == {
            "labels": {**before["template"]["metadata"]["labels"], "example.com/a": "b"},
            "annotations": {"example.com/c": "d"},
        }
        assert spec(after)["volumes"] == [*spec(before)["volumes"], *MOUNTED["pod"]["volumes"]]
        mounts = [*main(before)["volumeMounts"], *MOUNTED["container"]["volumeMounts"]]
        assert main(after) == {**main(before), "volumeMounts": mounts, "workingDir": "/srv"}
        assert after["ours"] == before["ours"] == before["template"], "the template without additions does not change"


def test_prefill_servers_have_additions_of_the_service_and_their_own() -> None:
    both = {"pod": {"priorityClassName": "high", "tolerations": [{"key": "a", "operator": "Exists"}]}, "container": {"tty": True}}
    own = {"pod": {"priorityClassName": None, "tolerations": [], "runtimeClassName": "x"}, "container": {"workingDir": "/p"}}
    decode, prefill = servers(SPLIT, **both, prefill=own)
    assert (spec(decode)["priorityClassName"], spec(decode)["tolerations"]) == ("high", both["pod"]["tolerations"]) and "workingDir" not in main(decode)
    assert "priorityClassName" not in spec(prefill) and spec(prefill)["tolerations"] == [] and spec(prefill)["runtimeClassName"] == "x"
    assert main(prefill)["tty"] and main(prefill)["workingDir"] == "/p"


def test_short_forms_are_for_all_servers_and_prefill_servers_change_them() -> None:
    """Fields of `pod` are handled alike. A field that is set by a short form and in `pod` is refused: one of the two lists would be lost."""
    short = {"node_selector": {"pool": "gpu", "zone": "a"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    own = {"pod": {"nodeSelector": {"pool": "prefill", "zone": None}, "tolerations": [{"key": "prefill"}]}}
    decode, prefill = servers(SPLIT, **short, prefill=own)
    assert (spec(decode)["nodeSelector"], spec(decode)["tolerations"]) == (short["node_selector"], short["tolerations"])
    assert (spec(prefill)["nodeSelector"], spec(prefill)["tolerations"]) == ({"pool": "prefill"}, own["pod"]["tolerations"])
    assert messages(SPLIT, **short, pod=own["pod"], prefill=own).keys() == {"pod.nodeSelector", "pod.tolerations"}


def test_additions_of_a_profile_and_of_the_service_are_merged() -> None:
    house = {
        "pod": {"volumes": [{"name": "a", "emptyDir": {}}], "tolerations": [{"key": "a"}], "securityContext": {"fsGroup": 5}},
        "container": {"env": [{"name": "A"}]},
    }
    own = {
        "pod": {"volumes": [{"name": "b", "emptyDir": {}}], "tolerations": [], "securityContext": None},
        "container": {"env": [{"name": "B", "value": "b"}]},
    }
    (server,) = plan({**file_of(profile="house", **own), "llm_d_profiles": {"house": house}})["services"][0]["servers"]
    assert [volume["name"] for volume in spec(server)["volumes"]][-2:] == ["a", "b"]
    assert spec(server)["tolerations"] == [] and "securityContext" not in spec(server)
    assert main(server)["env"][-2:] == [{"name": "A"}, {"name": "B", "value": "b"}]


PROBE = {"httpGet": {"port": 1}}


@pytest.mark.parametrize(
    ("options", "path", "option"),
    [
        ({"container": {"args": ["--x"]}}, "container.args", "engine.args, or an option of engine"),
        ({"container": {"command": ["x"]}}, "container.command", "engine.args"),
        ({"container": {"image": "a/b:1"}}, "container.image", "engine.image"),
        ({"container": {"imagePullPolicy": "Always"}}, "container.imagePullPolicy", "llm_d_image_pull_policy"),
        ({"container": {"env": [{"name": "A"}, {"name": "HF_HOME", "value": "x"}]}}, "container.env[1].value", "engine.env"),
        ({"container": {"ports": [{"containerPort": 8000, "name": "x"}]}}, "container.ports[0].name", "engine.port"),
        (
            {"container": {"env": [{"name": "HF_HOME", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]}},
            "container.env[0].valueFrom.fieldRef.fieldPath",
            "engine.env",
        ),
        ({"container": {"ports": [{"containerPort": 8000, "hostPort": 80}]}}, "container.ports[0].hostPort", "engine.port"),
        (
            {"pod": {"volumes": [{"name": "model-cache", "emptyDir": None, "hostPath": {"path": "/x"}}]}},
            "pod.volumes[0].hostPath.path",
            "model, storage or cache",
        ),
        ({"container": {"readinessProbe": {"$patch": "delete"}}}, "container.readinessProbe", "engine.startup_timeout"),
        ({"container": {"livenessProbe": None}}, "container.livenessProbe", "engine.startup_timeout"),
        ({"container": {"lifecycle": {"preStop": {"sleep": {"seconds": 1}}}}}, "container.lifecycle.preStop.sleep.seconds", "engine.drain_seconds"),
        ({"container": {"lifecycle": {"stopSignal": "SIGINT"}}}, "container.lifecycle.stopSignal", "engine.drain_seconds"),
        ({"container": {"resources": {"limits": {"nvidia.com/gpu": 2}}}}, "container.resources.limits.nvidia.com/gpu", "resources, or accelerator"),
        ({"container": {"resources": {"requests": {"cpu": "9"}}}}, "container.resources.requests.cpu", "resources, or accelerator"),
        ({"container": {"volumeMounts": [{"mountPath": "/dev/shm", "$patch": "delete"}]}}, "container.volumeMounts[0].mountPath", "model, storage or cache"),
        ({"pod": {"containers": [{"name": "server", "command": ["x"]}]}}, "pod.containers[0].command", "engine.args"),
        ({"pod": {"volumes": [{"name": "shared-memory", "emptyDir": {"medium": None}}]}}, "pod.volumes[0].emptyDir.medium", "model, storage or cache"),
        ({"pod": {"volumes": [{"$patch": "replace"}]}}, "pod.volumes", "model, storage or cache"),
        ({"pod": {"labels": {"team": "b"}}, "labels": {"team": "a"}}, "pod.labels.team", "labels"),
        ({"pod": {"nodeSelector": {"c": "d"}}, "node_selector": {"a": "b"}}, "pod.nodeSelector", "node_selector"),
        ({"pod": {"tolerations": []}, "tolerations": [{"key": "a", "operator": "Exists"}]}, "pod.tolerations", "tolerations"),
        ({"pod": {"serviceAccountName": "x"}}, "pod.serviceAccountName", "service_account"),
        ({"pod": {"serviceAccount": "x"}}, "pod.serviceAccount", "service_account"),
        ({"pod": {"imagePullSecrets": [{"name": "x"}]}}, "pod.imagePullSecrets[0].name", "llm_d_image_pull_secrets"),
        ({"pod": {"terminationGracePeriodSeconds": 5}}, "pod.terminationGracePeriodSeconds", "engine.drain_seconds"),
        (
            {"pod": {"affinity": {"nodeAffinity": {"$patch": "delete"}}}, "accelerator": {"product": "L40S"}},
            "pod.affinity.nodeAffinity",
            "accelerator.product",
        ),
        ({"prefill": {"container": {"args": ["x"]}}, "scheduler": SPLIT["scheduler"]}, "prefill.container.args", "engine.args, or an option of engine"),
        (
            {"pod": {"initContainers": [{"name": "routing-proxy", "image": "x/y:1"}]}, "scheduler": SPLIT["scheduler"]},
            "pod.initContainers[0].image",
            "scheduler",
        ),
        ({"container": {"readinessProbe": PROBE}, "accelerator": GROUPS["accelerator"]}, "container.readinessProbe.httpGet.port", "engine.startup_timeout"),
    ],
)
def test_server_fields_that_other_options_decide_are_refused_with_the_option(options: Facts, path: str, option: str) -> None:
    refusals = messages(**options)
    assert refusals[path] == f"is decided by other options of your file. Take it out, and write {option}."
    assert {other.startswith(path.rpartition(".")[0]) for other in refusals} == {True}


@pytest.mark.parametrize(
    ("scheduler", "path", "instead"),
    [
        ({"container": {"args": ["--v=9"]}}, "container.args", "scheduler.args, or an option of scheduler"),
        ({"container": {"env": [{"name": "POD_NAME", "value": "x"}]}}, "container.env[0].value", "scheduler.env"),
        ({"container": {"image": "a/b:1"}}, "container.image", "scheduler.image"),
        ({"container": {"ports": [{"containerPort": 9003, "name": "x"}]}}, "container.ports[0].name", "scheduler.grpc_port"),
        ({"container": {"resources": {"limits": {"cpu": "9"}}}}, "container.resources.limits.cpu", "scheduler.resources"),
        ({"container": {"livenessProbe": None}}, "container.livenessProbe", ""),
        ({"pod": {"annotations": {"llm-d.ai/config-checksum": "x"}}}, "pod.annotations.llm-d.ai/config-checksum", ""),
        ({"pod": {"terminationGracePeriodSeconds": 5}}, "pod.terminationGracePeriodSeconds", "scheduler.drain_seconds"),
        ({"pod": {"serviceAccountName": "x"}}, "pod.serviceAccountName", ""),
        ({"pod": {"automountServiceAccountToken": False}}, "pod.automountServiceAccountToken", ""),
        ({"pod": {"volumes": [{"name": "config", "$patch": "delete"}]}}, "pod.volumes[0].name", ""),
        ({"pod": {"containers": [{"name": "epp", "command": ["x"]}]}}, "pod.containers[0].command", ""),
    ],
)
def test_fields_of_an_endpoint_picker_that_options_decide_are_refused(scheduler: Facts, path: str, instead: str) -> None:
    fix = f"Take it out, and write {instead}." if instead else "Take it out."
    assert messages(scheduler={"preset": "queue", **scheduler})[f"scheduler.{path}"] == f"is decided by other options of your file. {fix}"


def variable(name: str, value: str = "x") -> Facts:
    return {"env": [{"name": "FINE", "value": "1"}, {"name": name, "value": value}]}


SPLIT_ONLY: Facts = {"scheduler": SPLIT["scheduler"]}


@pytest.mark.parametrize(
    ("options", "path", "reason"),
    [
        ({"container": variable("VLLM_API_KEY")}, "container", "gives the servers an API key that stands in clear"),
        ({"pod": {"containers": [{"name": "server", **variable("VLLM_API_KEY")}]}}, "pod.containers[0]", "gives the servers an API key"),
        ({"container": variable("API_KEY"), "engine": {"type": "tgi"}}, "container", "gives the servers an API key that stands in clear"),
        ({"container": variable("HOSTNAME", "127.0.0.1"), "engine": {"type": "tgi"}, "scheduler": {"preset": "queue"}}, "container", "is --hostname for it"),
        ({"container": variable("LMCACHE_CONFIG_FILE"), "cache": {"cpu_size": "8Gi", "disk": {"size": "9Gi"}}}, "container", "makes LMCache ignore"),
        ({"container": variable("HF_HUB_OFFLINE", "1")}, "container", "keeps a server from loading the model"),
        ({"container": variable("VLLM_API_KEY"), **SPLIT_ONLY}, "container", "gives the servers an API key"),
        ({"prefill": {"container": variable("VLLM_API_KEY")}, **SPLIT_ONLY}, "prefill.container", "gives the servers an API key"),
        ({"prefill": {"container": variable("VLLM_KV_CACHE_LAYOUT", "NHD")}, **SPLIT_ONLY}, "prefill.container", "is of both stages"),
    ],
)
def test_variables_of_the_container_follow_the_rules_of_engine_env(options: Facts, path: str, reason: str) -> None:
    refusals = messages(**options)
    assert list(refusals) == [f"{path}.env[1]"] and refusals[f"{path}.env[1]"].startswith(reason)


def test_references_in_the_container_follow_the_rules_of_engine_env() -> None:
    key = {"name": "VLLM_API_KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    assert messages(container={"env": [key]})["container.env[0]"].startswith("gives the servers an API key that validation")
    followed = {"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}
    assert messages(container={"env": [followed]})["container.env[0]"].startswith("has to be in the file")
    assert messages(container={"env": [{"name": "VLLM_API_KEY", "$patch": "delete"}]}) == {}


def test_refused_variables_of_a_profile_are_reported_there() -> None:
    file = {**file_of(profile="house"), "llm_d_profiles": {"house": {"container": variable("VLLM_API_KEY")}}}
    assert [problem.path for problem in problems(file)] == ["llm_d_profiles.house.container.env[1]"]


def test_an_endpoint_picker_has_what_is_added() -> None:
    added = {
        "pod": {"priorityClassName": "high", "volumes": [{"name": "a", "emptyDir": {}}]},
        "container": {"volumeMounts": [{"name": "a", "mountPath": "/a"}]},
    }
    before, after = (plan(file_of(scheduler={"preset": "queue", **block}))["services"][0] for block in ({}, added))
    assert spec(after["scheduler"])["priorityClassName"] == "high" and after["server"] == before["server"]
    assert spec(after["scheduler"])["volumes"] == [*spec(before["scheduler"])["volumes"], {"name": "a", "emptyDir": {}}]
    assert main(after["scheduler"])["volumeMounts"][-1] == {"name": "a", "mountPath": "/a"}
    assert after["scheduler"]["ours"] == before["scheduler"]["template"]


def test_another_preset_keeps_what_is_added_and_adds_to_it() -> None:
    file = file_of(scheduler={"preset": "queue", "pod": {"priorityClassName": "high", "volumes": [{"name": "a", "emptyDir": {}}]}})
    override = {"*": {"preset": "balanced", "pod": {"volumes": [{"name": "b", "emptyDir": {}}]}}}
    picker = spec(plan({**file, "llm_d_scheduler_overrides": override})["services"][0]["scheduler"])
    assert picker["priorityClassName"] == "high" and [volume["name"] for volume in picker["volumes"]][-2:] == ["a", "b"]


def test_a_directive_over_a_profile_reaches_fields_of_the_plan() -> None:
    file = {**file_of(profile="house", pod={"securityContext": {"$patch": "replace", "fsGroup": 5}}), "llm_d_profiles": {"house": {"pod": {"hostname": "x"}}}}
    server = spec(plan(file)["services"][0]["server"])
    assert server["hostname"] == "x" and server["securityContext"] == {"fsGroup": 5}


def test_missing_fields_of_an_endpoint_picker_are_reported_with_refused_ones_of_servers() -> None:
    lacking = {"preset": "queue", "pod": {"volumes": [{"emptyDir": {}}], "initContainers": [{"image": "x"}]}}
    missing = ["scheduler.pod.initContainers[0].name", "scheduler.pod.volumes[0].name"]
    assert list(messages(scheduler=lacking)) == missing and list(messages(scheduler=lacking, container={"args": ["x"]})) == ["container.args", *missing]
    assert list(messages(scheduler=lacking, replicas=-1)) == ["replicas"]


def test_refused_additions_are_reported_where_they_are_written() -> None:
    refused = {"pod": {"serviceAccountName": "x"}}
    assert [problem.path for problem in problems({**file_of(), "llm_d_scheduler_overrides": {"*": refused}})] == [
        "llm_d_scheduler_overrides.*.pod.serviceAccountName"
    ]
    profile = {**file_of(profile="house"), "llm_d_profiles": {"house": {"scheduler": refused, "container": {"image": "a/b:1"}}}}
    assert [problem.path for problem in problems(profile)] == ["llm_d_profiles.house.container.image", "llm_d_profiles.house.scheduler.pod.serviceAccountName"]


def test_a_refused_block_is_reported_once_and_where_it_is_written() -> None:
    assert list(messages(pod={"$patch": "replace"})) == ["pod"]
    tolerated = {"tolerations": [{"key": "a", "operator": "Exists"}]}
    assert list(messages(SPLIT, pod={"tolerations": []}, prefill={"pod": {"hostname": "x"}}, **tolerated)) == ["pod.tolerations"]


def test_labels_of_the_collection_are_refused() -> None:
    picker = {**SPLIT["scheduler"], "pod": {"labels": {"llm-d.ai/x": "y"}}}
    refusals = messages(VLLM, pod={"labels": {"llm-d.ai/role": "x"}}, prefill={"pod": {"labels": {"app.kubernetes.io/name": "x"}}}, scheduler=picker)
    assert list(refusals) == ["pod.labels.llm-d.ai/role", "prefill.pod.labels.app.kubernetes.io/name", "scheduler.pod.labels.llm-d.ai/x"]
    assert set(refusals.values()) == {"belongs to the collection, which selects pods by it. Write a label with a prefix of your own."}


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("llm-d.ai/model-service", "is what InferencePools select servers by: these would be in the pool of 'x' as well."),
        ("gateway.networking.k8s.io/gateway-name", "belongs to the controller of gateways, which selects pods by it."),
        ("gateway.envoyproxy.io/owning-gateway-name", "belongs to the controller of gateways, which selects pods by it."),
        ("leaderworkerset.sigs.k8s.io/name", "belongs to LeaderWorkerSet, which selects pods by it."),
    ],
)
def test_labels_that_others_select_pods_by_are_refused(label: str, reason: str) -> None:
    assert messages(pod={"labels": {label: "x"}}) == {f"pod.labels.{label}": f"{reason} Write a label with a prefix of your own."}


def test_missing_fields_that_kubernetes_requires_are_reported_at_their_path() -> None:
    reported = messages(pod={"volumes": [{"name": "a", "emptyDir": {}}, {"emptyDir": {}}], "containers": [{"image": "x"}]}, container={"env": [{"value": "x"}]})
    assert list(reported) == ["container.env[0].name", "pod.containers[0].name", "pod.volumes[1].name"]
    assert set(reported.values()) == {"is missing, and Kubernetes requires it. Write it."}
    assert list(messages(SPLIT, prefill={"pod": {"topologySpreadConstraints": [{"topologyKey": "z", "maxSkew": 1}]}})) == [
        "prefill.pod.topologySpreadConstraints[0].whenUnsatisfiable"
    ]
    first, second = {"key": "a", "path": "a"}, {"key": "b"}
    whole, lacking = ({"volumes": [{"name": "v", "secret": {"secretName": "s", "items": items}}]} for items in ([first], [first, second]))
    assert list(messages(SPLIT, pod=whole, prefill={"pod": lacking})) == ["prefill.pod.volumes[0].secret.items[1].path"]


def test_values_of_the_plan_and_free_fields_are_accepted() -> None:
    assert (
        messages(pod={"terminationGracePeriodSeconds": spec(servers()[0])["terminationGracePeriodSeconds"]}, container={"image": main(servers()[0])["image"]})
        == {}
    )
    free = {"pod": {"securityContext": None, "automountServiceAccountToken": True}, "container": {"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}}
    routed = {"pod": {"initContainers": [{"name": "routing-proxy", "resources": {"limits": {"cpu": "1"}}}]}}
    assert sidecars(servers(SPLIT, **routed)[0])[0]["resources"]["limits"] == {"cpu": "1"}, "a sidecar takes fields that the plan does not set"
    (server,) = servers(**free)
    assert "securityContext" not in spec(server) and spec(server)["automountServiceAccountToken"] is True
    assert main(server)["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["IPC_LOCK"]}


def leaves(value: t.Any, path: str = "") -> t.Iterator[str]:
    """The paths of scalars, without the elements of lists."""
    for key, item in value.items() if isinstance(value, dict) else ():
        yield from leaves(item, f"{path}.{key}")
    for item in value if isinstance(value, list) else ():
        yield from leaves(item, path)
    if not isinstance(value, (dict, list)):
        yield path


@pytest.mark.parametrize("service", [VLLM, SPLIT, GROUPS])
def test_every_field_of_a_server_has_an_option(service: Facts) -> None:
    """Each field of the template has an option that decides it, or is free."""
    placed = {"service_account": "x", "storage": {"claim": True, "size": "9Gi", "access_mode": "ReadWriteMany"}}
    made = plan({**file_of(service, **placed), "llm_d_image_pull_secrets": ["pull"]})["services"][0]["servers"]
    assert not [path for each in made for pod in (each, each["worker"]) if pod for path in ungoverned(pod, pod_template.GOVERNED)]


@pytest.mark.parametrize("provider", ["envoy_gateway", "standalone"])
@pytest.mark.parametrize("preset", ["precise_prefix", "queue"])
def test_every_field_of_an_endpoint_picker_has_an_option(provider: str, preset: str) -> None:
    made = plan({**file_of(scheduler={"preset": preset}), "llm_d_gateway": {"provider": provider}})["services"][0]["scheduler"]
    assert not ungoverned(made, picker_pod.GOVERNED)


def ungoverned(pod: Facts, table: Facts) -> list[str]:
    """The paths of a pod template that a table does not have."""
    (container,) = spec(pod)["containers"]
    rest = {name: value for name, value in spec(pod).items() if name != "containers"}
    paths = leaves({"container": container, "pod": {**rest, **pod["template"]["metadata"]}})
    return [path for path in paths if path != ".container.name" and not any(f"{path}.".startswith(f".{name}.") for name in table)]


def test_the_options_of_the_tables_exist() -> None:
    rules = [*pod_template.GOVERNED.values(), *picker_pod.GOVERNED.values()]
    named = {part.removeprefix("an option of ") for rule in rules for part in re.split(", or |, | or ", rule.option) if part}
    for name in named:
        first, _dot, rest = name.partition(".")
        field = VARIABLES.get(first) or (SERVICE.options or {})[first]
        assert not rest or rest in (field.options or {}), name


def test_images_and_preflight_have_what_is_added() -> None:
    side = {"name": "side", "image": "example.com/side:1", "resources": {"requests": {"cpu": "3"}}}
    added = {"pod": {"containers": [side], "nodeSelector": {"zone": "a"}, "tolerations": [{"key": "t", "operator": "Exists"}]}}
    planned = plan(file_of(**added))
    assert "example.com/side:1" in needed(planned)["images"]
    pod = next(each for each in planned["preflight"]["pods"] if each["server"])
    assert pod["labels"] == {"zone": "a"} and pod["tolerations"] == added["pod"]["tolerations"]
    assert {"name": "a-decode/side", "sums": True, "requests": {"cpu": "3"}, "limits": {}} in pod["containers"]
    assert not sidecars(planned["services"][0]["server"])


@pytest.mark.parametrize(
    ("terms", "labels"),
    [
        ([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}], {"zone": "a"}),
        ([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}], {}),
        ([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}, {"matchFields": []}], {}),
        ([{"matchExpressions": [{"key": "zone", "operator": "Exists"}, {"key": "b", "operator": "In"}]}], {}),
        ([{}], {}),
    ],
)
def test_the_preflight_has_labels_without_an_alternative(terms: list[Facts], labels: Facts) -> None:
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    assert next(pod["labels"] for pod in plan(file_of(pod={"affinity": affinity}))["preflight"]["pods"] if pod["server"]) == labels


def test_additions_to_prefill_servers_that_do_not_exist_are_noted() -> None:
    (service,) = plan(file_of(prefill={"pod": {"hostname": "x"}}, scheduler={"preset": "queue"}))["services"]
    assert any("prefill is not used" in note for note in service["scheduler"]["notes"])
