# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No role changes or deletes a foreign object that has one of our names, even without the preflight, or to restore an interrupted comparison."""

from __future__ import annotations

import copy
import json
import sys
import typing as t
from pathlib import Path

import plays
import pytest
import yaml
from keeping_api_server import PREPARED, SPACE, KeepingApi
from local_servers import serve

pytestmark = pytest.mark.rest

Facts = dict[str, t.Any]
SERVICE: Facts = {"name": "a", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}
WARMED = {**SERVICE, "warmup": {"schedule": "@hourly", "prompts": ["You answer in one word, and you never say why."]}}
OURS = {"app.kubernetes.io/managed-by": "llm_d.inference", "app.kubernetes.io/part-of": "llm-d"}
FOREIGN = {"app.kubernetes.io/part-of": "shop"}
DEPLOYMENTS = "/apis/apps/v1/namespaces/llm-d/deployments"
# The ConfigMap in which a comparison of the presets of service a saves the objects to restore.
SAVED_STATE = f"{SPACE}/configmaps/a-compare"


def manifest(kind: str, name: str, labels: Facts | None = None, **rest: t.Any) -> Facts:
    """An object in the namespace llm-d, a foreign one unless labels are given; rest: its other keys."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "llm-d", "labels": labels or FOREIGN}, **rest}


def deployment(name: str, labels: Facts) -> Facts:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": []}}
    return {
        **manifest("Deployment", name, labels),
        "apiVersion": "apps/v1",
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


def role(name: str, **options: t.Any) -> Facts:
    """A task that includes a role of the collection."""
    return {"name": name, "ansible.builtin.include_role": {"name": f"llm_d.inference.{name}", **options}}


# The tasks of role calibrate that deploy a simulator that imitates service a, measure it and delete it.
IMITATE = [
    {"llm_d.inference.role_facts": {"role": "calibrate", "derive": ["runs", "targets"]}, "register": "__calibrate_facts"},
    {**role("calibrate", tasks_from="imitate"), "vars": {"__calibrate_engine": {"type": "simulator"}}},
]

# The tasks of role canary that send half of the requests to the new service, with the return to the old weights if they fail.
MOVE = [
    {"llm_d.inference.canary_steps": {"steps": [50], "pause": 0}, "register": "__canary_facts"},
    {
        "block": [{**role("canary", tasks_from="step"), "vars": {"__canary_step": "{{ __canary_facts.steps[0] }}"}}],
        "rescue": [role("canary", tasks_from="back")],
    },
]


def run(api: KeepingApi, tmp_path: Path, *tasks: Facts, **given: t.Any) -> tuple[int, str]:
    """(exit status, output) of a play with extra variables, as in AWX."""
    for path, item in copy.deepcopy(PREPARED).items():
        api.kept.setdefault(path, item)
    with serve(api.answer) as url:
        kubeconfig = plays.kubeconfig(tmp_path / "config", url)
        user: Facts = {
            "llm_d_kubeconfig": kubeconfig,
            "llm_d_artifacts_dir": str(tmp_path / "artifacts"),
            "llm_d_scope": "namespace",
            "llm_d_wait_timeout": 1,
            "llm_d_gateway": {"provider": "none", "name": "theirs"},
            "llm_d_model_services": [SERVICE],
            "compare_presets": [],
            "ansible_python_interpreter": sys.executable,
            **given,
        }
        defaults = {"group/llm_d.inference.cluster": {"kubeconfig": kubeconfig}}
        play = [{"hosts": "all", "gather_facts": False, "module_defaults": defaults, "tasks": list(tasks)}]
        (tmp_path / "play.yml").write_text(yaml.safe_dump(play), encoding="utf-8")
        done = plays.run("-i", "localhost,", "-c", "local", "-e", json.dumps(user), str(tmp_path / "play.yml"), no_proxy="*", HOME=str(tmp_path))
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "foreign"),
    [
        ("gaie_scheduler", manifest("Service", "a-epp-tls")),
        ("model_service", manifest("Secret", "a-warmup", data={"x": "eA=="})),
        ("compare", manifest("ConfigMap", "a-compare")),
    ],
)
def test_a_role_by_itself_refuses_foreign_objects(tmp_path: Path, name: str, foreign: Facts) -> None:
    api = KeepingApi(ready=True)
    api.apply(f"{DEPLOYMENTS}/a-epp-tls", "", deployment("a-epp-tls", OURS))  # the endpoint picker of service a
    kind = foreign["kind"]
    api.kept[f"{SPACE}/{kind.lower()}s/{foreign['metadata']['name']}"] = foreign
    before = copy.deepcopy(api.kept)
    status, output = run(api, tmp_path, role(name), llm_d_model_services=[WARMED])
    assert status and f"- {kind} llm-d/{foreign['metadata']['name']} (of shop)" in output and "put back" not in output, output
    assert {path: item for path, item in api.kept.items() if path not in PREPARED} == before


def test_the_gpu_operator_role_by_itself_refuses_a_foreign_config_map(tmp_path: Path) -> None:
    """--tags gpu_operator skips the preflight as well. The namespace gpu-operator is foreign too: the role uses it and does not change it."""
    api, place = KeepingApi(ready=True), "/api/v1/namespaces/gpu-operator"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-operator"}, "status": {"phase": "Active"}}
    api.kept[place], name = copy.deepcopy(namespace), f"{place}/configmaps/llm-d-device-plugin"
    pool = {"name": "a", "node_selector": {"x": "y"}, "sharing": "time_slicing", "replicas": 4}
    given = {"llm_d_scope": "cluster", "llm_d_charts": {"gpu_operator": "/charts"}, "llm_d_gpus": {"operator": "nvidia_helm", "pools": [pool]}}
    api.kept[name] = foreign = manifest("ConfigMap", "llm-d-device-plugin")
    foreign["metadata"]["namespace"] = "gpu-operator"
    status, output = run(api, tmp_path, role("gpu_operator"), **given)
    assert status and "- ConfigMap gpu-operator/llm-d-device-plugin (of shop)" in output and "Helm" not in output, output
    assert api.kept[name] is foreign and api.kept[place] == namespace


def test_llm_d_adopt_takes_over_foreign_objects(tmp_path: Path) -> None:
    api = KeepingApi(ready=True)
    api.kept[f"{SPACE}/services/a"] = manifest("Service", "a")
    run(api, tmp_path, role("model_service"), llm_d_adopt=True)
    assert api.kept[f"{SPACE}/services/a"]["metadata"]["labels"].items() >= OURS.items()


def test_the_saved_state_of_another_instance_is_not_restored(tmp_path: Path) -> None:
    """Another instance saved its state, and then llm_d_adopt took its service over: the saved state is outdated."""
    api = KeepingApi(ready=True)
    api.apply(f"{DEPLOYMENTS}/a-epp-tls", "", deployment("a-epp-tls", OURS))
    old = {**OURS, "app.kubernetes.io/part-of": "old"}
    saved = manifest("ConfigMap", "a-compare", {**old, "llm-d.ai/restores": "a"}, data={"objects.json": json.dumps([deployment("a-epp-tls", old)])})
    api.apply(SAVED_STATE, "", saved)
    before = copy.deepcopy(api.kept)
    status, output = run(api, tmp_path, role("compare"))
    assert status and "- ConfigMap llm-d/a-compare (of llm_d_instance old in namespace llm-d)" in output, output
    assert {path: item for path, item in api.kept.items() if path not in PREPARED} == before


def test_a_canary_moves_no_requests_of_another_instance(tmp_path: Path) -> None:
    """The claims of the canary do not detect this: they hold even if another instance serves under the same names."""
    services = [{**SERVICE, "route": {"weights": {"a": 100, "b": 0}}}, {**SERVICE, "name": "b", "route": {"headers": {"x-variant": "b"}}}]
    route = manifest("HTTPRoute", "a", {**OURS, "app.kubernetes.io/part-of": "another"}, spec={"parentRefs": [{"name": "theirs"}]})
    api, routes = KeepingApi(ready=True), "/apis/gateway.networking.k8s.io/v1/namespaces/llm-d/httproutes"
    for name in ("a", "a.b", "b"):
        item = copy.deepcopy(route)
        item["metadata"]["name"] = name
        api.kept[f"{routes}/{name}"] = {**item, "apiVersion": "gateway.networking.k8s.io/v1"}
    before = copy.deepcopy(api.kept)
    gateway = {"provider": "envoy_gateway", "install": False, "create": False, "name": "theirs"}
    status, output = run(api, tmp_path, *MOVE, llm_d_model_services=services, llm_d_gateway=gateway)
    assert status and "(of llm_d_instance another in namespace llm-d)" in output and "are back" not in output, output
    assert {path: item for path, item in api.kept.items() if path not in PREPARED} == before


def test_calibration_touches_its_own_simulator_only(tmp_path: Path) -> None:
    """The service of the file and a foreign Deployment with the simulator's name stay as they are."""
    api = KeepingApi(ready=True)
    api.apply(f"{DEPLOYMENTS}/a-decode", "", deployment("a-decode", OURS))
    before = copy.deepcopy(api.kept)
    _status, output = run(api, tmp_path, *IMITATE, llm_d_scheduler_overrides={"a": {"preset": "queue"}}, llm_d_benchmark={"services": ["a"]})
    assert "imitate | Look up the server of the simulator" in output and {
        path: item for path, item in api.kept.items() if path in before and "pods" not in path
    } == {path: item for path, item in before.items() if "pods" not in path}
    assert f"{DEPLOYMENTS}/a-imitation-decode" not in api.kept, "it was created and is deleted"
    api.kept[f"{DEPLOYMENTS}/a-imitation-decode"] = foreign = deployment("a-imitation-decode", FOREIGN)
    status, output = run(api, tmp_path, *IMITATE)
    assert status and "- Deployment llm-d/a-imitation-decode (of shop)" in output and api.kept[f"{DEPLOYMENTS}/a-imitation-decode"] is foreign, output


def test_a_run_that_fails_has_ended_an_interrupted_comparison(tmp_path: Path) -> None:
    """The run may have applied some of its objects, so the next comparison must not restore those that were saved before."""
    api = KeepingApi(refuses=("Deployment",))
    for name in ("gaie_scheduler", "model_service"):
        api.kept[SAVED_STATE] = manifest("ConfigMap", "a-compare", {**OURS, "llm-d.ai/restores": "a"}, data={"objects.json": "[]"})
        status, output = run(api, tmp_path, role(name))
        assert status and "Invalid value" in output and SAVED_STATE not in api.kept, output
