"""Groups of servers pass the real definition of LeaderWorkerSet, whose module agrees with our table; the scripts that start them call the right commands."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import LEADER_WORKER_SET

from . import definitions_of_others as others
from .gateway_cases import objects

Facts = dict[str, t.Any]
# The newest in the Go module index. The tested version has one CRD more.
VERSION = "0.9.0"
MODULE = f"sigs.k8s.io/lws@v{VERSION}"


def file_of(way: str, **variables: t.Any) -> Facts:
    service = {
        "name": "big",
        "model": {"uri": "hf://org/big", "token_secret": "hf"},
        "replicas": 2,
        "accelerator": {"per_replica": 16, "nodes": 4, "across_nodes": way, "product": "NVIDIA-H200"},
        "storage": {"size": "800Gi"},
        "engine": {"args": ["--max-num-batched-tokens=8192"]},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "labels": {"team": "a"},
    }
    charts = {"envoy_gateway": "/c/eg", "leader_worker_set": "/c/lws"}
    return {"llm_d_leader_worker_set": {"version": VERSION}, "llm_d_charts": charts, "llm_d_model_services": [service], **variables}


def group_of(way: str) -> Facts:
    return next(item for item in objects(plan(file_of(way))) if item["kind"] == "LeaderWorkerSet")


def container(way: str, part: str) -> Facts:
    return group_of(way)["spec"]["leaderWorkerTemplate"][f"{part}Template"]["spec"]["containers"][0]


@pytest.mark.parametrize("way", ["pipeline", "expert"])
def test_groups_pass_the_definition(way: str) -> None:
    assert not others.problems(group_of(way))
    mistake = group_of(way)
    mistake["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["argz"] = []
    assert others.problems(mistake), "the definition validates the pods too"


def test_a_group_of_simulators_passes_the_definition_and_is_started_by_its_image() -> None:
    user = file_of("expert")
    user["llm_d_model_services"] = [{"name": "big", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "accelerator": {"nodes": 2}}]
    group = next(item for item in objects(plan(user)) if item["kind"] == "LeaderWorkerSet")
    assert not others.problems(group)
    pods = [group["spec"]["leaderWorkerTemplate"][f"{part}Template"]["spec"]["containers"][0] for part in ("leader", "worker")]
    assert pods[0]["args"] == pods[1]["args"] and not [pod for pod in pods if "command" in pod]
    assert "readinessProbe" in pods[0] and "readinessProbe" not in pods[1]


def test_the_trial_object_passes_the_leader_worker_set_crd() -> None:
    trial = plan(file_of("expert"))["prerequisites"]["leader_worker_set"]["trial"]
    assert not others.problems(trial) and trial["spec"]["replicas"] == 0


def test_the_status_that_readiness_reads_is_in_the_definition() -> None:
    crd = next(item for item in others.definitions(LEADER_WORKER_SET["group"]) if item["metadata"]["name"] == LEADER_WORKER_SET["crd"])
    status = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    assert {"observedGeneration", "replicas", "readyReplicas", "updatedReplicas", "conditions"} <= set(status)


def test_the_crd_sources_are_files_of_the_module_and_contain_the_probed_crd() -> None:
    folder, bundle = others.folder(MODULE), next(each for each in plan(file_of("expert"))["prerequisites"]["crds"] if each["name"] == "leader-worker-set")
    assert others.MODULES[LEADER_WORKER_SET["group"]][0] == MODULE
    paths = [source.partition(f"/v{VERSION}/")[2] for source in bundle["sources"]]
    names = [name_in(folder / path) for path in paths]
    assert bundle["probe"] in names and sorted(names) == sorted(map(name_in, (folder / "config/crd/bases").glob("*.yaml")))


def name_in(path: Path) -> str:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["metadata"]["name"]  # Python's own loader takes 10 s for one


def test_a_newer_controller_gets_its_additional_crd() -> None:
    def names(version: str | None) -> list[str]:
        bundles = plan(file_of("expert", llm_d_leader_worker_set={"version": version}))["prerequisites"]["crds"]
        return [source.rpartition("/")[2] for source in next(each for each in bundles if each["name"] == "leader-worker-set")["sources"]]

    assert set(names("0.10.0")) - set(names("0.9.1")) == {"disaggregatedset.x-k8s.io_disaggregatedsetrolescalers.yaml"}
    assert names(None) == names(LEADER_WORKER_SET["version"])


def test_the_chart_knows_our_values_and_makes_the_controller_that_is_waited_for() -> None:
    planned = plan(file_of("expert", llm_d_image_registry="mirror/x", llm_d_image_pull_secrets=["pull"]))["prerequisites"]["leader_worker_set"]
    chart = others.folder(MODULE) / "charts" / LEADER_WORKER_SET["chart"]
    defaults = yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8"))
    values = planned["chart"]["values"]
    assert set(values) <= set(defaults) and set(values["image"]["manager"]) <= set(defaults["image"]["manager"])
    assert values["image"]["manager"]["repository"] == "mirror/x/lws/lws" and values["imagePullSecrets"] == [{"name": "pull"}]
    made = (chart / "templates/manager/deployment.yaml").read_text(encoding="utf-8")
    # The objects of a release with the name of the chart have that name.
    assert LEADER_WORKER_SET["release_name"] == yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))["name"]
    assert planned["controller"]["name"] == LEADER_WORKER_SET["release_name"] + "-controller-manager"
    assert 'name: {{ include "lws.fullname" . }}-controller-manager' in made
    assert yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))["appVersion"] == values["image"]["manager"]["tag"]


def test_the_mirror_list_has_image_chart_and_crds_of_leader_worker_set() -> None:
    listed = needed(plan(file_of("expert", llm_d_image_registry="mirror/x")))
    assert f"mirror/x/lws/lws:v{VERSION}" in listed["images"]
    assert {"release": "lws", "ref": "/c/lws", "repo": None, "version": VERSION} in listed["charts"]
    assert [source for source in listed["definitions"] if "kubernetes-sigs/lws" in source]
    assert "acme/lws:1" in needed(plan(file_of("expert", llm_d_images={"leader_worker_set": "acme/lws:1"})))["images"]


def started(part: Facts, folder: Path, **env: str) -> list[list[str]]:
    """The calls of a container's command, in order, run as by Kubernetes, with stand-ins for vllm and ray that record their arguments."""
    log = folder / "calls"
    write = '/usr/bin/env python3 -c "import json, sys; print(json.dumps(sys.argv[1:]))"'
    for name, script in (("vllm", "exit 0"), ("ray", '[ "$1" != health-check ] || [ $(grep -c health-check $CALLS) -ge 2 ]'), ("sleep", "exit 0")):
        (folder / name).write_text(f'#!/bin/bash\n{write} {name} "$@" >> $CALLS\n{script}\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    variables = {"POD_IP": "10.0.0.7", "LWS_LEADER_ADDRESS": "big-decode-0.big-decode.llm-d", **env}
    words = [*part["command"], *part["args"]]
    for name, value in variables.items():
        words = [word.replace(f"$({name})", value) for word in words]
    subprocess.run(words, check=True, env={"PATH": f"{folder}:{os.environ['PATH']}", "CALLS": str(log), **variables}, timeout=60)
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_the_leader_of_a_pipeline_opens_the_cluster_and_serves(tmp_path: Path) -> None:
    first, second = started(container("pipeline", "leader"), tmp_path)
    assert first == ["ray", "start", "--head", "--port=6379", "--node-ip-address=10.0.0.7", "--include-dashboard=false"]
    assert second[:3] == ["vllm", "serve", "org/big"]
    assert {"--tensor-parallel-size=4", "--pipeline-parallel-size=4", "--distributed-executor-backend=ray", "--max-num-batched-tokens=8192"} <= set(second)


def test_a_worker_of_a_pipeline_joins_once_the_leader_answers(tmp_path: Path) -> None:
    calls = started(container("pipeline", "worker"), tmp_path)
    address = "--address=big-decode-0.big-decode.llm-d:6379"
    assert calls == [
        ["ray", "health-check", address],
        ["sleep", "2"],
        ["ray", "health-check", address],
        ["ray", "start", address, "--node-ip-address=10.0.0.7", "--block"],
    ]


def test_every_rank_of_experts_is_started_once(tmp_path: Path) -> None:
    leader = started(container("expert", "leader"), tmp_path)[0]
    assert leader[:3] == ["vllm", "serve", "org/big"] and "--data-parallel-address=10.0.0.7" in leader and "--headless" not in leader
    ranks = list(range(4))  # those of the leader
    for index in (1, 2, 3):
        folder = tmp_path / str(index)
        folder.mkdir()
        worker = started(container("expert", "worker"), folder, LWS_WORKER_INDEX=str(index))[0]
        assert worker[:3] == ["vllm", "serve", "org/big"] and "--headless" in worker
        assert "--data-parallel-address=big-decode-0.big-decode.llm-d" in worker
        flags = dict(word.split("=", 1) for word in worker if word.startswith("--data-parallel-"))
        assert flags["--data-parallel-size"] == "16"
        ranks += [int(flags["--data-parallel-start-rank"]) + each for each in range(int(flags["--data-parallel-size-local"]))]
    assert ranks == list(range(16))
    assert {word for word in leader if "parallel" in word and "address" not in word} < {word for word in worker if "parallel" in word}
