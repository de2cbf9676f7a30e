# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API server is read from the kubeconfig, as kubectl reads it, and its name can be that of a folder."""

from __future__ import annotations

import json
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.plugin_utils import cluster_server
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import cluster_name, connection, read

FLEET = {"groups": {"all": ["berlin", "paris"]}, "inventory_hostname": "paris"}


def kubeconfig(path: Path, current: str | None = None, **servers: str) -> str:
    """A kubeconfig with a context and a cluster for each server."""
    text = {
        "current-context": current or next(iter(servers)),
        "clusters": [{"name": f"cluster-{name}", "cluster": {"server": server}} for name, server in servers.items()],
        "contexts": [{"name": name, "context": {"cluster": f"cluster-{name}", "user": "u"}} for name in servers],
    }
    path.write_text(json.dumps(text), encoding="utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def nobodys_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The tests use neither the kubeconfig nor the settings of the account that runs them."""
    for name in [name for name in os.environ if name.startswith(("K8S_AUTH_", "KUBE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_the_context_decides_and_the_first_file_counts(tmp_path: Path) -> None:
    one = kubeconfig(tmp_path / "one", a="https://a.example:6443/", b="https://b.example")
    two = kubeconfig(tmp_path / "two", a="https://other.example")
    assert cluster_server.server(one, None, {}) == "https://a.example:6443"
    assert cluster_server.server(one, "b", {}) == "https://b.example"
    assert cluster_server.server(None, None, {"KUBECONFIG": f"{two}{os.pathsep}{one}"}) == "https://other.example"
    assert cluster_server.server(None, "b", {"KUBECONFIG": f"{two}{os.pathsep}{one}"}) == "https://b.example"
    assert cluster_server.server(None, None, {"KUBECONFIG": two, "K8S_AUTH_KUBECONFIG": one, "K8S_AUTH_CONTEXT": "b"}) == "https://b.example"
    assert cluster_server.server(one, None, {"K8S_AUTH_HOST": "https://given.example/"}) == "https://given.example"


def test_the_usual_file_is_that_of_the_home_folder(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube/config", a="https://a.example")
    assert cluster_server.server(None, None, {}) == "https://a.example"


@pytest.mark.parametrize("text", ["", "[]", "- a", "a: [", "current-context: x", "\xff", "clusters: {}\ncurrent-context: a\ncontexts: [1, {name: a}]"])
def test_an_invalid_kubeconfig_yields_no_server(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_bytes(text.encode("latin-1"))
    assert cluster_server.server(str(tmp_path / "config"), None, {}) == ""
    assert cluster_server.server(str(tmp_path / "none"), None, {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}) == ""


def test_a_pod_has_the_server_of_its_cluster() -> None:
    assert cluster_server.server(None, None, {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}) == "https://10.96.0.1:443"
    assert cluster_server.server(None, None, {"KUBERNETES_SERVICE_HOST": "fd00::1"}) == "https://[fd00::1]:443"


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("https://10.0.0.1:6443", "10.0.0.1_6443"),
        ("https://api.prod.example.com", "api.prod.example.com"),
        ("https://rancher.example.com/k8s/clusters/c-m-1", "rancher.example.com_k8s_clusters_c-m-1"),
        ("https://[fd00::1]:6443", "fd00_1_6443"),
        ("https://user:word@a.example", "a.example"),
        ("https://../..", ""),
        ("", ""),
    ],
)
def test_a_server_becomes_a_folder(url: str, folder: str) -> None:
    assert cluster_server.folder(url) == folder


def read_folder(**variables: t.Any) -> str:
    user, problems = read(variables, lambda value: value)
    assert not problems
    return os.path.relpath(user["llm_d_artifacts_dir"])


def test_inventories_of_one_folder_share_no_artifacts(tmp_path: Path) -> None:
    """The inventories have the same instance on two clusters or in two namespaces, or two instances in one namespace."""
    one, two = kubeconfig(tmp_path / "one", c="https://10.0.0.1:6443"), kubeconfig(tmp_path / "two", c="https://10.0.0.2:6443", d="https://10.0.0.3")
    folders = [
        read_folder(llm_d_kubeconfig=one),
        read_folder(llm_d_kubeconfig=two),
        read_folder(llm_d_kubeconfig=two, llm_d_context="d"),
        read_folder(llm_d_kubeconfig=one, llm_d_namespace="team-a"),
        read_folder(llm_d_kubeconfig=one, llm_d_instance="blue"),
        read_folder(llm_d_kubeconfig=one, llm_d_name_suffix="-blue"),
        read_folder(llm_d_kubeconfig=one, llm_d_instance="blue", llm_d_namespace="blue"),
        read_folder(llm_d_kubeconfig=one, inventory_hostname="prod"),
        read_folder(llm_d_kubeconfig=one, inventory_hostname="test"),
    ]
    assert folders == [
        "artifacts/10.0.0.1_6443/llm-d",
        "artifacts/10.0.0.2_6443/llm-d",
        "artifacts/10.0.0.3/llm-d",
        "artifacts/10.0.0.1_6443/llm-d@team-a",
        "artifacts/10.0.0.1_6443/blue@llm-d",
        "artifacts/10.0.0.1_6443/llm-d-blue@llm-d",
        "artifacts/10.0.0.1_6443/blue",
        "artifacts/prod/llm-d",
        "artifacts/test/llm-d",
    ]
    assert read_folder(llm_d_kubeconfig=one, inventory_hostname="prod", ansible_connection="local") == folders[0]


def test_artifacts_folders_omit_the_cluster_if_unknown_or_for_several_hosts() -> None:
    assert read_folder() == "artifacts" and read_folder(llm_d_instance="blue") == "artifacts/blue"
    assert read_folder(**FLEET) == "artifacts/paris" and read_folder(**FLEET, llm_d_instance="blue") == "artifacts/paris/blue"


def test_reports_name_the_cluster_as_its_users_do(tmp_path: Path) -> None:
    user = {"llm_d_kubeconfig": kubeconfig(tmp_path / "one", c="https://10.0.0.1:6443")}
    assert cluster_name({}, user) == "https://10.0.0.1:6443" and cluster_name({}, {}) == ""
    assert cluster_name(FLEET | {"ansible_connection": "local"}, user) == "paris (https://10.0.0.1:6443)"
    assert cluster_name(FLEET, user) == "paris", "its kubeconfig is not here"


def test_a_password_in_a_url_is_not_shown(tmp_path: Path) -> None:
    one = kubeconfig(tmp_path / "one", a="https://user:planted@a.example:6443/path@b/", b="a.example:6443")
    assert cluster_server.server(one, None, {}) == "https://a.example:6443/path@b"
    assert cluster_server.server(one, "b", {}) == "a.example:6443"
    assert cluster_server.server(None, None, {"K8S_AUTH_HOST": "https://user:planted@[fd00::1]:6443"}) == "https://[fd00::1]:6443"
    assert cluster_server.server(None, None, {"K8S_AUTH_HOST": "https://user:planted@a.example:6443//k8s"}) == "https://a.example:6443//k8s"


@pytest.mark.parametrize(
    ("environment", "ignored"),
    [
        ({"K8S_AUTH_HOST": "https://one", "K8S_AUTH_API_KEY": "x"}, True),
        ({"K8S_AUTH_HOST": "https://one", "K8S_AUTH_USERNAME": "x", "K8S_AUTH_PASSWORD": "y"}, True),
        ({"K8S_AUTH_HOST": "https://one"}, False),
        ({"K8S_AUTH_API_KEY": "x", "K8S_AUTH_SSL_CA_CERT": "/ca"}, False),
    ],
)
def test_the_account_of_a_credential_replaces_kubeconfig_and_context(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], ignored: bool) -> None:
    """AWX's credential of the type OpenShift or Kubernetes API Bearer Token sets these variables: Helm would refuse the context of the file."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    given = {"kubeconfig": None, "context": "prod"}
    assert connection({"inventory_hostname": "one", "ansible_connection": "local"}, given) == ({} if ignored else {"context": "prod"})
    assert connection({"inventory_hostname": "one"}, given) == {"context": "prod"}, "the tasks run elsewhere, with another environment"
