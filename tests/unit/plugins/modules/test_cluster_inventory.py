# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory of an HTTP server that answers as an API server does: read only, written once, tolerant of what may not be listed."""

from __future__ import annotations

import json
import os

import plays
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.modules import cluster_inventory
from deployed_stacks import answers, stack
from local_servers import JSON, closed_port, serve
from survey_cases import GATEWAY_API, ISTIO, L40S, STANDARD

ROOT = "/apis/gateway.networking.k8s.io/v1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ANSWERS = {
    "/version": {"gitVersion": "v1.34.4"},
    "/apis": {"groups": [{"name": "gateway.networking.k8s.io", "versions": [{"version": "v1"}]}]},
    CRDS: {"items": [{"metadata": {"name": name, "annotations": {"gateway.networking.k8s.io/bundle-version": "v1.6.1"}}} for name in GATEWAY_API]},
    "/api/v1/nodes": {"items": [L40S]},
    "/api/v1/services": {"items": [{"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}]},
    "/apis/storage.k8s.io/v1/storageclasses": {"items": list(STANDARD.values())},
    f"{ROOT}/gatewayclasses": {"items": list(ISTIO[0].values())},
    "/apis/apps/v1/namespaces/istio-system/deployments/istiod": ISTIO[1]["istio-system/istiod"],
}
LISTS = {path for path in ANSWERS if path not in ("/version", "/apis")}


@pytest.fixture(name="api")
def running(request):
    """An API server; gives its URL and its requests."""
    requests = []
    denied = getattr(request, "param", ())

    def answer(_handler, method, path, _body):
        plain = path.split("?")[0]
        requests.append((method, plain))
        if plain in denied or "/deployments/" in plain and "deployments" in denied:
            return 403, {"Content-Type": JSON}, json.dumps({"kind": "Status", "reason": "Forbidden", "message": f"{plain} is forbidden", "code": 403})
        if plain in ANSWERS:
            return 200, {"Content-Type": JSON}, json.dumps(ANSWERS[plain])
        return 404, {"Content-Type": JSON}, json.dumps({"kind": "Status", "reason": "NotFound", "code": 404, "message": "not found"})

    with serve(answer) as url:
        yield url, requests


@pytest.fixture(autouse=True)
def nobodys_cluster(monkeypatch, tmp_path):
    """The tests use neither the kubeconfig nor the settings of the account that runs them."""
    for name in [name for name in os.environ if name.startswith("K8S_AUTH_") or name == "KUBECONFIG"]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def config(folder, *servers, namespace=None):
    """A kubeconfig with a context for each server, the first of which is the current one. namespace: of the first."""
    names = [f"c{number}" for number, _server in enumerate(servers)]
    text = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": names[0],
        "clusters": [{"name": name, "cluster": {"server": server}} for name, server in zip(names, servers, strict=True)],
        "users": [{"name": "u", "user": {"token": "sesame-open"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}} for name in names],
    }
    text["contexts"][0]["context"].update({"namespace": namespace} if namespace else {})
    (folder / "config").write_text(json.dumps(text), encoding="utf-8")
    return str(folder / "config")


def file_of(path):
    return yaml.safe_load((path / "group_vars/all/llm_d.yml").read_text(encoding="utf-8"))


def test_the_inventory_describes_the_cluster_and_changes_nothing_in_it(call, api, tmp_path):
    done = call(cluster_inventory, host=api[0], api_key="sesame-open", name="mine")
    assert done["changed"] and done["path"] == "inventories/mine" and {method for method, _path in api[1]} == {"GET"}
    assert "accelerators:    4 nvidia.com/gpu on 1 node, NVIDIA-L40S" in done["lines"]
    assert os.listdir(tmp_path / "inventories") == ["mine"] and (tmp_path / "inventories/mine").stat().st_mode & 0o777 == 0o755
    variables = file_of(tmp_path / "inventories/mine")
    assert variables["llm_d_gateway"] == {"provider": "istio", "install": False, "service_type": "LoadBalancer"}
    assert variables["llm_d_model_services"][0]["accelerator"] == {"vendor": "nvidia", "product": "NVIDIA-L40S", "per_replica": 1}
    # by K8S_AUTH_HOST, as for AWX: there is no kubeconfig to name
    assert not {"llm_d_kubeconfig", "llm_d_context"} & set(variables)
    assert "sesame-open" not in (tmp_path / "inventories/mine/group_vars/all/llm_d.yml").read_text(encoding="utf-8")


def test_the_inventory_can_be_read_by_ansible(call, api, tmp_path):
    call(cluster_inventory, host=api[0], api_key="sesame-open", name="mine")
    done = plays.run("-i", str(tmp_path / "inventories/mine"), "playbooks/list_images.yml")
    assert done.returncode == 0 and "vllm" in done.stdout, done.stdout + done.stderr


def test_check_mode_shows_the_files_and_writes_none(call, api, tmp_path):
    done = call(cluster_inventory, check=True, host=api[0], api_key="sesame-open", name="mine")
    assert done["changed"] and not (tmp_path / "inventories").exists()
    assert [each["after_header"] for each in done["diff"]] == ["inventories/mine/hosts", "inventories/mine/group_vars/all/llm_d.yml"]
    assert "provider: istio" in done["diff"][1]["after"]


@pytest.mark.parametrize("check", [False, True])
def test_an_existing_folder_is_refused_before_any_request_to_the_cluster(call, api, tmp_path, check):
    (tmp_path / "inventories/mine").mkdir(parents=True)
    done = call(cluster_inventory, check=check, host=api[0], api_key="sesame-open", name="mine")
    assert done["failed"] and "inventories/mine already exists and is not changed. Choose another name (make inventory NAME=other)" in done["msg"]
    assert api[1] == [] and not list((tmp_path / "inventories/mine").iterdir())


@pytest.mark.parametrize("name", ["", ".", "..", "../mine", "a/b", "/etc/mine", "-x", ".mine", "a b", "x" * 64, "mine\n"])
def test_an_invalid_inventory_name_is_refused(call, tmp_path, name):
    done = call(cluster_inventory, host="https://127.0.0.1:1", api_key="sesame-open", name=name)
    assert done["failed"] and "is no name for an inventory: write 1 to 63 letters, digits, - and _" in done["msg"] and not list(tmp_path.iterdir())


def test_an_interruption_leaves_no_half_of_a_folder(tmp_path):
    with pytest.raises(TypeError):
        cluster_inventory.write(tmp_path / "mine", {"hosts": "x", "more": None})
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_folder_is_reported(call, api, tmp_path):
    (tmp_path / "inventories").write_text("a file", encoding="utf-8")
    done = call(cluster_inventory, host=api[0], api_key="sesame-open", name="mine")
    assert done["failed"] and done["msg"].startswith("Cannot write inventories/mine: ") and "Traceback" not in done["msg"]


@pytest.mark.parametrize("api", [LISTS | {"deployments"}], indirect=True)
def test_kinds_that_the_account_may_not_list_are_reported_as_not_known(call, api, tmp_path):
    done = call(cluster_inventory, host=api[0], api_key="sesame-open", name="mine")
    assert done["changed"] and "accelerators:    not known: no permission to list nodes" in done["lines"]
    assert file_of(tmp_path / "inventories/mine")["llm_d_scope"] == "namespace"


@pytest.mark.parametrize("api", [("/api/v1/nodes", "deployments")], indirect=True)
def test_a_class_without_its_controllers_permissions_still_counts(call, api, tmp_path):
    call(cluster_inventory, host=api[0], api_key="sesame-open", name="mine")
    assert file_of(tmp_path / "inventories/mine")["llm_d_gateway"]["provider"] == "istio"


def test_an_unreachable_cluster_is_reported_and_no_folder_is_created(call, tmp_path):
    port = closed_port()
    done = call(cluster_inventory, host=f"http://127.0.0.1:{port}", api_key="sesame-open", name="mine")
    assert done["failed"] and f"127.0.0.1:{port}: connection refused: nothing listens there" in done["msg"] and "\n" not in done["msg"]
    assert list(tmp_path.iterdir()) == []


def test_a_missing_kubeconfig_is_reported_with_the_option_to_correct(call, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    done = call(cluster_inventory, name="mine", kubeconfig=str(tmp_path / "none"))
    assert (
        done["failed"]
        and "there is no such file, or it is empty; correct inventory_kubeconfig (or K8S_AUTH_KUBECONFIG)" in done["msg"]
        and not (tmp_path / "inventories").exists()
    )


@pytest.mark.parametrize(("wanted", "context"), [(None, "c0"), ("c1", "c1")])
def test_the_kubeconfig_and_context_in_use_are_written_to_the_inventory(call, api, tmp_path, wanted, context):
    path = config(tmp_path, api[0] if context == "c0" else "http://127.0.0.1:1", api[0])
    call(cluster_inventory, name="mine", kubeconfig=path, **({"context": wanted} if wanted else {}))
    variables = file_of(tmp_path / "inventories/mine")
    assert (variables["llm_d_kubeconfig"], variables["llm_d_context"]) == (path, context)


@pytest.mark.parametrize(
    ("option", "environment", "named"),
    [
        ("/a", {}, "/a"),
        (None, {"KUBECONFIG": "/b"}, "/b"),
        (None, {"KUBECONFIG": "/b:/c"}, None),
        (None, {"KUBECONFIG": "/b", "K8S_AUTH_KUBECONFIG": "/credential"}, None),
        ({"kind": "Config"}, {}, None),
        (None, {}, None),
    ],
)
def test_which_kubeconfig_the_file_names(monkeypatch, option, environment, named):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cluster_inventory.kubeconfig(option) == named


@pytest.fixture(name="serving")
def a_stack_runs(monkeypatch):
    for path, answer in answers(stack(llm_d_release="router-0.9")).items():
        monkeypatch.setitem(ANSWERS, path, answer)


def test_a_stack_that_runs_is_named_and_the_file_is_another_one(call, api, serving, tmp_path):
    done = call(cluster_inventory, host=api[0], api_key="sesame-open", name="mine")
    assert "running here:    llm-d in namespace llm-d: router-0.9, sim (3 servers)" in done["lines"]
    assert "proposed:        a second deployment, llm-d-2 in namespace llm-d-2; docs/second-deployment.md" in done["lines"]
    assert done["next"] == "preflight" and [(each["instance"], each["namespace"], each["release"], each["services"]) for each in done["running"]] == [
        ("llm-d", "llm-d", "router-0.9", {"sim": 3})
    ]
    variables = file_of(tmp_path / "inventories/mine")
    assert (variables["llm_d_instance"], variables["llm_d_namespace"]) == ("llm-d-2", "llm-d-2") and {method for method, _path in api[1]} == {"GET"}


def test_site_is_the_next_step_when_no_deployment_runs(call, api):
    done = call(cluster_inventory, host=api[0], api_key="sesame-open", name="mine")
    assert done["next"] == "site" and done["running"] == [] and "running here:    no deployment of this collection" in done["lines"]


@pytest.mark.parametrize("api", [("/apis/apps/v1/deployments",)], indirect=True)
def test_an_account_that_may_list_one_namespace_sees_what_runs_in_it(call, api, serving, tmp_path):
    path = config(tmp_path, api[0], namespace="llm-d")
    done = call(cluster_inventory, kubeconfig=path, name="mine")
    assert done["next"] == "preflight" and file_of(tmp_path / "inventories/mine")["llm_d_instance"] == "llm-d-2"


@pytest.mark.parametrize("api", [("/apis/apps/v1/deployments", "/apis/apps/v1/namespaces/llm-d/deployments")], indirect=True)
def test_preflight_is_the_next_step_when_deployments_cannot_be_listed(call, api, serving, tmp_path):
    done = call(cluster_inventory, kubeconfig=config(tmp_path, api[0], namespace="llm-d"), name="mine")
    assert done["next"] == "preflight" and "running here:    not known: no permission to list Deployments" in done["lines"]


@pytest.mark.parametrize(("namespace", "wanted"), [("team-a", "team-a"), ("default", None), (None, None)])
def test_the_context_namespace_is_written_unless_it_is_default(call, api, tmp_path, namespace, wanted):
    call(cluster_inventory, kubeconfig=config(tmp_path, api[0], "http://127.0.0.1:1", namespace=namespace), name="mine")
    assert file_of(tmp_path / "inventories/mine").get("llm_d_namespace") == wanted


def test_the_playbook_never_offers_to_replace_what_serves(api, serving, tmp_path):
    given = {"inventory_folder": str(tmp_path / "there"), "inventory_name": "mine"}
    done = plays.run("playbooks/inventory.yml", "-e", json.dumps(given), KUBECONFIG=config(tmp_path, api[0]), no_proxy="*")
    output = " ".join(done.stdout.split())
    assert done.returncode == 0 and f"next: ansible-playbook -i {tmp_path}/there/mine playbooks/preflight.yml" in output, done.stdout + done.stderr
    assert "running here: llm-d in namespace llm-d: router-0.9, sim (3 servers)" in output and "make site" not in done.stdout


@pytest.mark.rest
def test_the_playbook_uses_the_kubeconfig_instead_of_the_default_inventory(api, tmp_path):
    """ansible.cfg of this checkout names inventories/local, whose cluster is another."""
    given = {"inventory_folder": str(tmp_path / "there"), "inventory_name": "mine"}
    options = ("playbooks/inventory.yml", "-e", json.dumps(given))
    path = config(tmp_path, api[0])
    shown = plays.run(*options, "--check", "--diff", KUBECONFIG=path, no_proxy="*")
    assert shown.returncode == 0 and "+  provider: istio" in shown.stdout and not (tmp_path / "there").exists(), shown.stdout + shown.stderr
    done = plays.run(*options, KUBECONFIG=path, no_proxy="*")
    assert done.returncode == 0 and f"next: make site INVENTORY={tmp_path}/there/mine" in done.stdout, done.stdout + done.stderr
    assert file_of(tmp_path / "there/mine")["llm_d_kubeconfig"] == path
    again = plays.run(*options, KUBECONFIG=path, no_proxy="*")
    assert again.returncode == 2 and "mine already exists and is not changed" in again.stdout + again.stderr
