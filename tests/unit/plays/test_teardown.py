# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of playbooks/teardown.yml as an administrator runs it, and of a change of the provider: a controller is removed after its last user, not before."""

from __future__ import annotations

import os
import subprocess
import sys

import plays
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.permissions_file import chosen as permissions_options
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.permissions_file import objects
from ansible_collections.llm_d.inference.plugins.module_utils.plan.parts.pod_spec import SERVICE_LABEL
from local_servers import serve
from pruned import recorded
from teardown_api import CONTROLLER, HOOKS, KINDS, NAMESPACES, RBAC, RECORD, ROOT, Api, labels

pytestmark = pytest.mark.rest


@pytest.fixture(name="api")
def _api():
    api = Api()
    with serve(api.answer) as api.url:
        yield api


@pytest.fixture(name="teardown")
def _teardown(root, tmp_path, api):
    def run(roles=("gateway_provider", "record", "prerequisites"), arguments=(), **variables):
        """Run the roles; (exit status, output, arguments of the calls of Helm)."""
        called = tmp_path / "helm.called"
        called.unlink(missing_ok=True)
        helm = tmp_path / "helm"
        helm.write_text(f'#!/bin/sh\necho "$@" >> {called}\nexit 3\n', encoding="utf-8")  # only the call matters here
        helm.chmod(0o755)
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": api.url}}],
            "users": [{"name": "u", "user": {"token": "sesame-open"}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        }
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config), encoding="utf-8")
        user = {
            "llm_d_charts": {"envoy_gateway": "/charts"},
            "llm_d_kubeconfig": str(tmp_path / "kubeconfig"),
            "llm_d_helm": str(helm),
            "llm_d_scope": "prerequisites",
            "llm_d_state": "absent",
            "llm_d_wait_timeout": 5,
            **variables,
        }
        play = {"hosts": "all", "gather_facts": False, "roles": [name if isinstance(name, dict) else {"role": f"llm_d.inference.{name}"} for name in roles]}
        (tmp_path / "play.yml").write_text(yaml.safe_dump([play]), encoding="utf-8")
        (tmp_path / "user.yml").write_text(yaml.safe_dump(user), encoding="utf-8")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",
            "no_proxy": "*",
            "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
        }
        command = [
            *plays.command(),
            "-i",
            "localhost,",
            "-c",
            "local",
            "-e",
            "@user.yml",
            "-e",
            f"ansible_python_interpreter={sys.executable}",
            *arguments,
            "play.yml",
        ]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, done.stdout + done.stderr, called.read_text(encoding="utf-8") if called.exists() else ""

    return run


def test_a_controller_that_another_instance_uses_stays(teardown, api):
    api.kept[f"{ROOT}/namespaces/b/gateways/llm-d-gateway"] = {
        "metadata": {"namespace": "b", "name": "llm-d-gateway", "labels": labels("b")},
        "spec": {"gatewayClassName": "envoy-gateway"},
    }
    rc, output, helm = teardown()
    assert rc == 0 and helm == "", output
    assert "the controller gateway.envoyproxy.io/gatewayclass-controller stays" in output and "Gateway b/llm-d-gateway of instance b" in output
    assert {f"{NAMESPACES}/{CONTROLLER}", f"{ROOT}/gatewayclasses/envoy-gateway", RECORD, *HOOKS} <= set(api.kept)
    assert f"{NAMESPACES}/llm-d" not in api.kept, "unused objects are removed"


def test_the_last_user_removes_the_controller_and_keeps_shared_namespaces(teardown, api):
    api.kept["/apis/apps/v1/namespaces/llm-d/deployments/llama-decode"] = {"metadata": {"namespace": "llm-d", "name": "llama-decode", "labels": labels("b")}}
    rc, output, helm = teardown()
    assert helm and rc != 0, output  # this Helm fails
    assert "the controller gateway" not in output and f"{ROOT}/gatewayclasses/envoy-gateway" not in api.kept and set(api.kept) >= HOOKS
    del api.kept[RECORD]  # as if Helm had succeeded
    rc, output, _helm = teardown()
    assert rc == 0, output
    assert "the namespace llm-d stays: Deployment llm-d/llama-decode of instance b" in output and f"{NAMESPACES}/llm-d" in api.kept
    assert not {f"{NAMESPACES}/{CONTROLLER}", *HOOKS} & set(api.kept)


def test_a_move_away_leaves_the_old_controller_to_others(teardown, api):
    """After a move to standalone, Envoy Gateway's class and controller are kept while a Gateway of the class exists, and removed after that."""
    foreign = f"{ROOT}/namespaces/shop/gateways/front"
    api.kept[foreign] = {"metadata": {"namespace": "shop", "name": "front"}, "spec": {"gatewayClassName": "envoy-gateway"}}
    moved = {
        "roles": ["gateway_provider"],
        "gateway_provider_state": "leftovers",
        "llm_d_state": "present",
        "llm_d_scope": "cluster",
        "llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"},
    }
    rc, output, helm = teardown(**moved)
    assert rc == 0 and helm == "", output
    folded = " ".join(output.split())
    assert "the controller gateway.envoyproxy.io/gatewayclass-controller stays" in folded and "Gateway shop/front is of class envoy-gateway" in folded
    assert {f"{NAMESPACES}/{CONTROLLER}", f"{ROOT}/gatewayclasses/envoy-gateway"} <= set(api.kept)
    del api.kept[foreign], api.kept[RECORD]
    rc, output, _helm = teardown(**moved)
    assert rc == 0, output
    assert not {f"{NAMESPACES}/{CONTROLLER}", f"{ROOT}/gatewayclasses/envoy-gateway", *HOOKS} & set(api.kept) and f"{NAMESPACES}/llm-d" in api.kept


def test_a_provider_change_does_not_remove_a_gateway_that_others_use(teardown, api, monkeypatch):
    """A Gateway in another namespace whose objects have the file's label stays as well."""
    monkeypatch.setitem(KINDS, ROOT, [*KINDS[ROOT], ("httproutes", "HTTPRoute", True)])
    gateway, route = f"{ROOT}/namespaces/edge/gateways/llm-d-gateway", f"{ROOT}/namespaces/shop/httproutes/search"
    api.kept |= {
        gateway: {"metadata": {"namespace": "edge", "name": "llm-d-gateway", "labels": {**labels("llm-d"), "llm-d.ai/namespace": "llm-d"}}},
        route: {"metadata": {"namespace": "shop", "name": "search"}, "spec": {"parentRefs": [{"namespace": "edge", "name": "llm-d-gateway"}]}},
    }
    moved = {
        "roles": ["gateway_provider"],
        "gateway_provider_state": "prune",
        "llm_d_state": "present",
        "llm_d_scope": "namespace",
        "llm_d_gateway": {"provider": "istio", "namespace": "edge", "service_type": "ClusterIP", "install": False},
    }
    for arguments in (["--check"], []):
        rc, output, _helm = teardown(**moved, arguments=arguments)
        assert rc != 0 and gateway in api.kept, output
        assert "HTTPRoute shop/search leads through the Gateway edge/llm-d-gateway" in " ".join(output.split()) and "llm_d_force_removal" in output
    del api.kept[route]
    rc, output, _helm = teardown(**moved)
    assert rc == 0 and gateway not in api.kept, output


def test_teardown_removes_nothing_while_others_use_the_gpu_operator(teardown, api, root):
    """The roles are those of playbooks/teardown.yml, in order; once no foreign pod uses GPUs, the operator is removed."""
    home = f"{NAMESPACES}/gpu-operator"
    foreign = f"{NAMESPACES}/training/pods/bert-0"
    requests = {"resources": {"requests": {"nvidia.com/gpu": "1"}}}
    gpus = {
        home: {"metadata": {"name": "gpu-operator", "labels": labels("llm-d")}},
        foreign: {"metadata": {"namespace": "training", "name": "bert-0"}, "spec": {"containers": [requests]}, "status": {"phase": "Running"}},
    }
    api.kept.update(gpus)
    before = dict(api.kept)
    (play,) = yaml.safe_load((root / "playbooks/teardown.yml").read_text(encoding="utf-8"))
    charts = {"envoy_gateway": "/charts", "gpu_operator": "/charts/gpu-operator"}
    whole = {"roles": play["roles"], "llm_d_gpus": {"operator": "nvidia_helm"}, "llm_d_charts": charts}
    rc, output, helm = teardown(**whole)
    assert rc != 0 and helm == "" and api.kept == before, output
    assert "gpu_operator/in_use" in output and "Pod training/bert-0 (nvidia.com/gpu)" in output and "Nothing has been removed." in output
    rc, output, _helm = teardown(roles=["gpu_operator"], **{key: value for key, value in whole.items() if key != "roles"})
    assert rc != 0 and api.kept == before and "gpu_operator/in_use" in output, "neither does the role by itself"
    del api.kept[foreign], api.kept[RECORD]
    rc, output, _helm = teardown(**whole)
    assert rc == 0 and home not in api.kept and f"{NAMESPACES}/llm-d" not in api.kept, output


def test_teardown_removes_nothing_while_others_use_the_gateway_or_weights(teardown, api, root, monkeypatch):
    """The roles are those of playbooks/teardown.yml, in order; the gateway is reported first, and then the weights."""
    monkeypatch.setitem(KINDS, ROOT, [*KINDS[ROOT], ("httproutes", "HTTPRoute", True)])
    gateway, route = f"{ROOT}/namespaces/llm-d/gateways/llm-d-gateway", f"{ROOT}/namespaces/shop/httproutes/search"
    claim, copy = f"{NAMESPACES}/llm-d/persistentvolumeclaims/llama-weights", f"{NAMESPACES}/llm-d/pods/copy"
    mounts = {"volumes": [{"name": "w", "persistentVolumeClaim": {"claimName": "llama-weights"}}]}
    api.kept |= {
        gateway: {"metadata": {"namespace": "llm-d", "name": "llm-d-gateway", "labels": labels("llm-d")}},
        route: {"metadata": {"namespace": "shop", "name": "search"}, "spec": {"parentRefs": [{"namespace": "llm-d", "name": "llm-d-gateway"}]}},
        claim: {"metadata": {"namespace": "llm-d", "name": "llama-weights", "labels": labels("llm-d")}},
        copy: {"metadata": {"namespace": "llm-d", "name": "copy"}, "spec": mounts},
    }
    before = dict(api.kept)
    (play,) = yaml.safe_load((root / "playbooks/teardown.yml").read_text(encoding="utf-8"))
    storage = {"claim": True, "size": "50Gi", "delete_claim": True}
    services = [{"name": "llama", "model": {"uri": "hf://o/m"}, "storage": storage}]
    for user in (route, copy):
        rc, output, helm = teardown(roles=play["roles"], llm_d_scope="cluster", llm_d_model_services=services)
        reason = "HTTPRoute shop/search leads through the Gateway llm-d/llm-d-gateway" if user == route else "Pod llm-d/copy mounts the PersistentVolumeClaim"
        assert rc != 0 and helm == "" and api.kept == before and reason in " ".join(output.split()) and "Nothing has been removed." in output, output
        del api.kept[user], before[user]


def test_weights_and_their_namespace_stay_until_delete_claim_is_set(teardown, api):
    claim, server = f"{NAMESPACES}/llm-d/persistentvolumeclaims/llama-weights", "/apis/apps/v1/namespaces/llm-d/deployments/llama-decode"
    for path in (claim, server):
        api.kept[path] = {"metadata": {"namespace": "llm-d", "name": path.rpartition("/")[2], "labels": labels("llm-d")}}
    storage = {"claim": True, "size": "50Gi"}
    user = {"roles": ["model_service", "prerequisites"], "llm_d_scope": "cluster", "llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"}}
    rc, output, _helm = teardown(**user, llm_d_model_services=[{"name": "llama", "model": {"uri": "hf://o/m"}, "storage": storage}])
    assert rc == 0, output
    assert server not in api.kept and claim in api.kept and f"{NAMESPACES}/llm-d" in api.kept
    assert "the namespace llm-d stays: PersistentVolumeClaim llm-d/llama-weights of instance llm-d" in " ".join(output.split())
    rc, output, _helm = teardown(**user, llm_d_model_services=[{"name": "llama", "model": {"uri": "hf://o/m"}, "storage": {**storage, "delete_claim": True}}])
    assert rc == 0, output
    assert claim not in api.kept and f"{NAMESPACES}/llm-d" not in api.kept


def test_a_deployment_of_another_instance_stays_despite_an_own_name(teardown, api):
    ours, foreign = (f"/apis/apps/v1/namespaces/llm-d/deployments/llama-{part}" for part in ("epp-solo", "decode"))
    for path, owner in ((ours, "llm-d"), (foreign, "b")):
        api.kept[path] = {"metadata": {"namespace": "llm-d", "name": path.rpartition("/")[2], "labels": labels(owner)}}
    rc, output, _helm = teardown(
        roles=["model_service", "gaie_scheduler"],
        llm_d_scope="cluster",
        llm_d_gateway={"provider": "standalone", "service_type": "ClusterIP"},
        llm_d_model_services=[{"name": "llama", "model": {"uri": "hf://o/m"}}],
    )
    assert rc == 0 and ours not in api.kept and foreign in api.kept, output


@pytest.mark.parametrize("scrape", [True, False], ids=["scraped", "scraped before"])
@pytest.mark.parametrize("served", [True, False], ids=["", "where nobody knows the kind"])
def test_teardown_removes_own_pod_monitors_and_keeps_foreign_ones(teardown, api, monkeypatch, scrape, served):
    """They are removed even if the user's file no longer has them, or if the Prometheus operator was removed first; foreign ones are kept."""
    api.bare()
    monitors = "/apis/monitoring.coreos.com/v1"
    room, foreign = f"{monitors}/namespaces/llm-d/podmonitors", f"{monitors}/namespaces/llm-d/podmonitors/llama-prefill"
    if served:
        monkeypatch.setitem(KINDS, monitors, [("podmonitors", "PodMonitor", True)])
        api.kept.update(
            {
                f"{room}/llama-{part}": {"metadata": {"namespace": "llm-d", "name": f"llama-{part}", "labels": {**labels(owner), SERVICE_LABEL: "llama"}}}
                for part, owner in (("decode", "llm-d"), ("epp", "llm-d"), ("prefill", "b"))
            }
        )
    rc, output, _helm = teardown(
        roles=["model_service", "record"],
        llm_d_scope="cluster",
        llm_d_gateway={"provider": "standalone", "service_type": "ClusterIP"},
        llm_d_monitoring={"scrape": scrape},
        llm_d_model_services=[{"name": "llama", "model": {"uri": "hf://o/m"}}],
    )
    assert rc == 0, output
    assert [path for path in api.kept if path.startswith(room)] == ([foreign] if served else [])


@pytest.mark.parametrize("watched", [True, False], ids=["watched", "watched before"])
def test_teardown_removes_own_alerts_and_dashboards_and_keeps_foreign_ones(teardown, api, monkeypatch, watched):
    """They are removed even if the user's file no longer has them; foreign ones are kept."""
    api.bare()
    rules, pages, maps = "/apis/monitoring.coreos.com/v1", "/apis/perses.dev/v1alpha1", "/api/v1/namespaces/llm-d/configmaps"
    monkeypatch.setitem(KINDS, rules, [("prometheusrules", "PrometheusRule", True)])
    monkeypatch.setitem(KINDS, pages, [("persesdashboards", "PersesDashboard", True)])
    ours = [f"{rules}/namespaces/llm-d/prometheusrules/llama", f"{pages}/namespaces/llm-d/persesdashboards/llama", f"{maps}/llama-grafana"]
    foreign = f"{rules}/namespaces/llm-d/prometheusrules/other"
    for path in (*ours, foreign):
        mine = {**labels("llm-d" if path != foreign else "other"), SERVICE_LABEL: "llama"}
        api.kept[path] = {"metadata": {"namespace": "llm-d", "name": path.rpartition("/")[2], "labels": mine}}
    settings = {"alerts": True, "dashboards": ["grafana", "perses"]} if watched else {}
    rc, output, _helm = teardown(
        roles=["model_service", "record"],
        llm_d_scope="cluster",
        llm_d_gateway={"provider": "standalone", "service_type": "ClusterIP"},
        llm_d_monitoring=settings,
        llm_d_model_services=[{"name": "llama", "model": {"uri": "hf://o/m"}}],
    )
    assert rc == 0, output
    assert [path for path in (*ours, foreign) if path in api.kept] == [foreign]


SIM = {"name": "sim", "model": {"served_name": "acme/sim"}, "engine": {"type": "simulator"}, "replicas": 1}
PLAIN = {"provider": "standalone", "service_type": "ClusterIP"}
FOREIGN = {
    "/apis/apps/v1/namespaces/llm-d/deployments/notebook": "Deployment llm-d/notebook",
    f"{NAMESPACES}/llm-d/configmaps/notes": "ConfigMap llm-d/notes",
    f"{NAMESPACES}/llm-d/pods/shell": "Pod llm-d/shell",
    f"{NAMESPACES}/llm-d/persistentvolumeclaims/data": "PersistentVolumeClaim llm-d/data",
    f"{NAMESPACES}/llm-d/secrets/llm-d-hf-token": "Secret llm-d/llm-d-hf-token",
}


def own(path, instance=None):
    """An object at a path, of an instance or without one."""
    parts = path.split("/")
    place = {"namespace": parts[parts.index("namespaces") + 1]} if parts[-3] != "v1" else {}
    return {"metadata": {**place, "name": parts[-1], **({"labels": labels(instance)} if instance else {})}}


def words(output):
    return " ".join(output.split())


@pytest.mark.parametrize("arguments", [["--check", "--diff"], []], ids=["checked", "removed"])
def test_objects_that_users_added_keep_the_namespace_and_are_listed(teardown, api, root, arguments):
    """The roles are those of playbooks/teardown.yml; check mode shows the same list, and no namespace in the diff."""
    api.bare()
    ours = ["/apis/apps/v1/namespaces/llm-d/deployments/llama-decode", f"{NAMESPACES}/llm-d/configmaps/llama-epp"]
    everywhere = [f"{NAMESPACES}/llm-d/configmaps/kube-root-ca.crt", f"{NAMESPACES}/llm-d/serviceaccounts/default"]
    api.kept |= {path: own(path, "llm-d") for path in ours} | {path: own(path) for path in [*everywhere, *FOREIGN]}
    before = dict(api.kept)
    (play,) = yaml.safe_load((root / "playbooks/teardown.yml").read_text(encoding="utf-8"))
    services = [{"name": "llama", "model": {"uri": "hf://o/m", "token_secret": "llm-d-hf-token"}}]
    user = {"llm_d_scope": "cluster", "llm_d_gateway": PLAIN, "llm_d_model_services": services}
    rc, output, _helm = teardown(roles=play["roles"], arguments=arguments, **user)
    assert rc == 0 and "the namespace llm-d stays: it holds 5 objects that are not deleted" in words(output), output
    assert all(title in output for title in FOREIGN.values()) and "kube-root-ca.crt" not in output and "Namespace llm-d (deleted)" not in output, output
    assert api.kept == before if arguments else set(before) - set(api.kept) == set(ours)


def test_a_namespace_is_removed_once_it_has_no_foreign_objects(teardown, api):
    path = f"{NAMESPACES}/llm-d/configmaps/notes"
    api.kept[path] = own(path)
    rc, output, _helm = teardown(roles=["prerequisites"], llm_d_gateway=PLAIN)
    assert rc == 0 and "changed=0 " in output and "the namespace llm-d stays: ConfigMap llm-d/notes" in words(output), output
    del api.kept[path]
    rc, output, _helm = teardown(roles=["prerequisites"], llm_d_gateway=PLAIN)
    assert rc == 0 and f"{NAMESPACES}/llm-d" not in api.kept and "llm-d stays" not in output, output


def test_a_namespace_whose_objects_cannot_be_listed_stays(teardown, api, monkeypatch):
    """Unlisted Secrets may exist; an API whose server is unavailable may have objects too."""
    monkeypatch.setitem(KINDS, "/apis/example.com/v1", [("things", "Thing", True)])
    api.answers = {f"{NAMESPACES}/llm-d/secrets": 403, "/apis/example.com/v1": 503}
    rc, output, _helm = teardown(roles=["prerequisites"], llm_d_gateway=PLAIN)
    assert rc == 0 and f"{NAMESPACES}/llm-d" in api.kept, output
    why = "the namespace llm-d stays: it is not known whether it holds objects of others, since"
    assert f"{why} this account may not list secrets" in words(output) and f"{why} example.com/v1 cannot be listed: 503 not now" in words(output), output


def granted(user):
    """The Roles of the file that playbooks/list_permissions.yml writes."""
    return [item for item in objects(plan(user), permissions_options({})[0]) if item["kind"] in ("Role", "ClusterRole")]


@pytest.mark.parametrize("gateway", [PLAIN, {"provider": "envoy_gateway", "service_type": "ClusterIP"}], ids=["standalone", "envoy_gateway"])
def test_an_administrator_with_the_permissions_of_list_permissions_removes_the_prerequisites(teardown, api, gateway):
    """The permissions that playbooks/list_permissions.yml writes suffice."""
    user = {"llm_d_charts": {"envoy_gateway": "/charts"}, "llm_d_scope": "prerequisites", "llm_d_gateway": gateway}
    api.rules = [(role["metadata"].get("namespace", ""), rule) for role in granted(user) for rule in role["rules"]]
    del api.kept[RECORD]
    if gateway == PLAIN:
        api.bare()
    rc, output, _helm = teardown(roles=["gateway_provider", "record", "gpu_operator", "prerequisites"], **user)
    assert rc == 0 and api.refused == [] and api.kept == {}, (api.refused, output)


@pytest.mark.parametrize("apart", [{}, {"llm_d_scheduler_namespace": "pickers"}], ids=["together", "apart"])
def test_an_account_of_one_namespace_with_these_permissions_removes_its_stack(teardown, api, monkeypatch, apart):
    """It may read only the Secrets of its file; the others, and kinds that exist only in other namespaces, cause no failure."""
    pull = [{"registry": "r.example.com", "username": "u", "password": "p"}]
    monkeypatch.setitem(KINDS, RBAC, [*KINDS[RBAC], ("roles", "Role", True), ("rolebindings", "RoleBinding", True)])
    user = {"llm_d_scope": "namespace", "llm_d_gateway": PLAIN, "llm_d_model_services": [SIM], "llm_d_image_pull_credentials": pull, **apart}
    secret, space, record = (f"{NAMESPACES}/llm-d{rest}" for rest in ("/secrets/llm-d-image-pull", "", "/configmaps/llm-d-record"))
    api.bare()
    api.kept |= {secret: own(secret, "llm-d"), record: recorded(plan(user))}
    api.rules = [(role["metadata"].get("namespace", ""), rule) for role in granted(user) for rule in role["rules"]]
    rc, output, _helm = teardown(roles=["model_service", "gaie_scheduler", "gateway_provider", "record", "prerequisites"], **user)
    assert rc == 0 and list(api.kept) == [space], (api.refused, output)


def test_without_these_permissions_the_namespaces_stay(teardown, api):
    user = {"llm_d_charts": {"envoy_gateway": "/charts"}, "llm_d_scope": "prerequisites"}
    roles = [role for role in granted(user) if not role["metadata"].get("namespace")]
    api.rules = [("", rule) for role in roles for rule in role["rules"]]
    rc, output, _helm = teardown(roles=["prerequisites"], **user, llm_d_gateway=PLAIN)
    assert rc == 0 and f"{NAMESPACES}/llm-d" in api.kept and "this account may not list persistentvolumeclaims, secrets" in words(output), output


def test_a_namespace_with_a_deployment_of_the_other_account_stays(teardown, api):
    server = "/apis/apps/v1/namespaces/llm-d/deployments/llama-decode"
    api.kept[server] = own(server, "llm-d")
    rc, output, _helm = teardown(roles=["prerequisites"], llm_d_gateway=PLAIN)
    assert rc == 0 and server in api.kept and "the namespace llm-d stays: Deployment llm-d/llama-decode of instance llm-d" in words(output), output


def test_the_controller_is_removed_but_not_a_namespace_that_others_use(teardown, api):
    foreign, left = f"/apis/apps/v1/namespaces/{CONTROLLER}/deployments/grafana", f"{NAMESPACES}/{CONTROLLER}/secrets/envoy"
    api.kept |= {path: own(path) for path in (foreign, left)}
    del api.kept[RECORD]  # as if Helm had succeeded, too
    rc, output, _helm = teardown()
    assert rc == 0 and {foreign, left, f"{NAMESPACES}/{CONTROLLER}"} <= set(api.kept) and f"{NAMESPACES}/llm-d" not in api.kept, output
    assert f"the namespace {CONTROLLER} stays: Deployment {CONTROLLER}/grafana" in words(output)
    del api.kept[foreign]
    rc, output, _helm = teardown()
    assert rc == 0 and f"{NAMESPACES}/{CONTROLLER}" not in api.kept, output


def test_a_release_in_a_foreign_namespace_is_not_uninstalled(teardown, api):
    api.kept[f"{NAMESPACES}/{CONTROLLER}"] = own(f"{NAMESPACES}/{CONTROLLER}")
    record = f"{NAMESPACES}/llm-d/configmaps/llm-d-prerequisites-record"
    api.kept[record] = {**own(record, "llm-d"), "data": {"releases": f"{CONTROLLER}/envoy-gateway"}}
    rc, output, helm = teardown()
    assert rc == 0 and helm == "" and {RECORD, f"{NAMESPACES}/{CONTROLLER}", *HOOKS} <= set(api.kept), output
    assert f"Namespace {CONTROLLER} is not ours, so that the release in it may be of others" in words(output)


def test_the_gpu_operators_namespace_stays_while_others_use_it(teardown, api):
    home, foreign = f"{NAMESPACES}/gpu-operator", f"{NAMESPACES}/gpu-operator/configmaps/notes"
    api.kept |= {home: own(home, "llm-d"), foreign: own(foreign)}
    gpus = {"llm_d_gpus": {"operator": "nvidia_helm"}, "llm_d_charts": {"envoy_gateway": "/charts", "gpu_operator": "/charts"}}
    rc, output, _helm = teardown(roles=["gpu_operator"], **gpus)
    assert rc == 0 and {home, foreign} <= set(api.kept) and "the namespace gpu-operator stays: ConfigMap gpu-operator/notes" in words(output), output
    del api.kept[foreign]
    rc, output, _helm = teardown(roles=["gpu_operator"], **gpus)
    assert rc == 0 and home not in api.kept, output


def test_leader_worker_set_stays_while_others_use_it(teardown, api, monkeypatch):
    api.bare()
    groups = "/apis/leaderworkerset.x-k8s.io/v1"
    monkeypatch.setitem(KINDS, groups, [("leaderworkersets", "LeaderWorkerSet", True)])
    home, foreign = f"{NAMESPACES}/lws-system", f"{groups}/namespaces/shop/leaderworkersets/bert"
    api.kept |= {home: own(home, "llm-d"), foreign: own(foreign)}
    rc, output, helm = teardown(roles=["record", "prerequisites"], llm_d_gateway=PLAIN)
    assert rc == 0 and helm == "" and home in api.kept and f"{NAMESPACES}/llm-d" not in api.kept, output
    assert "the controller leaderworkerset.x-k8s.io stays, and with it what it needs: LeaderWorkerSet shop/bert" in words(output)
    del api.kept[foreign]
    rc, output, _helm = teardown(roles=["record", "prerequisites"], llm_d_gateway=PLAIN)
    assert rc == 0 and home not in api.kept, output
