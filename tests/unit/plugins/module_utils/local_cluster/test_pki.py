# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates that real TLS accepts, issued when necessary and unchanged otherwise."""

from __future__ import annotations

import base64
import datetime
import os
import socket
import ssl
import stat
import threading

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster import pki
from cryptography import x509
from cryptography.hazmat.primitives import serialization

NAMES = ["127.0.0.1", "kubernetes.default.svc", "localhost"]
SERVER = "https://10.215.0.1:6443"


@pytest.fixture(name="issue")
def issue_all(tmp_path):
    """A function that issues the certificates of a small cluster as the module does, and returns the names of those that changed."""

    def issue(names=tuple(NAMES), write=True, name="llm-d-local"):
        authority = pki.Authority(str(tmp_path / "pki"), name)
        authority.authority(write)
        authority.certificate("apiserver", "kube-apiserver", [], list(names), write)
        authority.certificate("admin", "llm-d-local-admin", ["system:masters"], [], write)
        authority.key("service-account", write)
        authority.kubeconfig("admin", str(tmp_path / "admin.kubeconfig"), SERVER, "local", write)
        return authority.changed

    return issue


def load(tmp_path, name):
    return x509.load_pem_x509_certificate((tmp_path / f"pki/{name}.crt").read_bytes())


def test_a_second_run_issues_no_certificate(issue, tmp_path):
    config = str(tmp_path / "admin.kubeconfig")
    assert issue() == ["ca", "apiserver", "admin", "service-account", config]
    assert issue() == []
    assert issue(names=reversed(NAMES)) == []


def test_certificates_are_signed_by_the_ca_and_name_their_subjects(issue, tmp_path):
    issue()
    authority = load(tmp_path, "ca")
    for name in ("apiserver", "admin"):
        load(tmp_path, name).verify_directly_issued_by(authority)
    assert load(tmp_path, "admin").subject.rfc4514_string() == "CN=llm-d-local-admin,O=system:masters"
    alternatives = load(tmp_path, "apiserver").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert sorted(str(each.value) for each in alternatives) == sorted(NAMES)
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    remaining = load(tmp_path, "admin").not_valid_after_utc - datetime.datetime.now(datetime.UTC)
    assert datetime.timedelta(days=364) < remaining <= datetime.timedelta(days=365)


@pytest.mark.parametrize("name, matches", [("127.0.0.1", True), ("localhost", True), ("elsewhere.example", False)])
def test_tls_with_client_certificates_at_its_strictest(issue, tmp_path, name, matches):
    issue()
    folder = tmp_path / "pki"
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=folder / "ca.crt")
    server.load_cert_chain(folder / "apiserver.crt", folder / "apiserver.key")
    client = ssl.create_default_context(cafile=folder / "ca.crt")
    client.load_cert_chain(folder / "admin.crt", folder / "admin.key")
    server.verify_mode = ssl.CERT_REQUIRED
    for context in (server, client):
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # what Python 3.13 does by default
    client_end, server_end = socket.socketpair()
    subjects = []

    def serve():
        try:
            with server.wrap_socket(server_end, server_side=True) as connection:
                subjects.append(connection.getpeercert()["subject"])
        except (ssl.SSLError, OSError):
            server_end.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        if matches:
            with client.wrap_socket(client_end, server_hostname=name) as connection:
                connection.recv(1)
        else:
            with pytest.raises(ssl.SSLCertVerificationError, match="match"):
                client.wrap_socket(client_end, server_hostname=name)
    finally:
        client_end.close()
        thread.join(5)
    assert not matches or (("commonName", "llm-d-local-admin"),) in subjects[0]


def test_changed_host_names_cause_a_new_certificate(issue, tmp_path):
    issue()
    assert issue(names=[*NAMES, "10.215.0.1"]) == ["apiserver"]
    assert "10.215.0.1" in pki._alternatives_of(load(tmp_path, "apiserver"))


def test_near_expiry_is_a_new_certificate(issue, monkeypatch, tmp_path):
    monkeypatch.setattr(pki, "LIFETIME", pki.RENEW_BEFORE - datetime.timedelta(hours=1))
    issue()
    monkeypatch.undo()
    assert issue()[:3] == ["ca", "apiserver", "admin"]
    assert issue() == []


def test_a_new_authority_reissues_all(issue, tmp_path):
    issue()
    before = load(tmp_path, "admin")
    (tmp_path / "pki/ca.key").unlink()
    assert issue() == ["ca", "apiserver", "admin", str(tmp_path / "admin.kubeconfig")]
    assert load(tmp_path, "admin") != before
    load(tmp_path, "admin").verify_directly_issued_by(load(tmp_path, "ca"))


def test_a_certificate_of_another_authority_is_replaced(issue, tmp_path):
    issue()
    strange = (tmp_path / "pki/admin.crt").read_bytes(), (tmp_path / "pki/admin.key").read_bytes()
    (tmp_path / "pki/ca.key").unlink()
    issue()
    (tmp_path / "pki/admin.crt").write_bytes(strange[0])
    (tmp_path / "pki/admin.key").write_bytes(strange[1])
    assert issue() == ["admin", str(tmp_path / "admin.kubeconfig")]


def test_a_key_without_its_certificate_is_replaced(issue, tmp_path):
    issue()
    (tmp_path / "pki/admin.key").write_bytes((tmp_path / "pki/apiserver.key").read_bytes())
    assert issue()[0] == "admin"
    assert issue() == []


def test_a_kubeconfig_holds_all_it_needs(issue, tmp_path):
    issue()
    config = yaml.safe_load((tmp_path / "admin.kubeconfig").read_text(encoding="utf-8"))
    context = next(each["context"] for each in config["contexts"] if each["name"] == config["current-context"])
    cluster = next(each["cluster"] for each in config["clusters"] if each["name"] == context["cluster"])
    user = next(each["user"] for each in config["users"] if each["name"] == context["user"])
    assert cluster["server"] == SERVER
    embedded = {"ca.crt": cluster["certificate-authority-data"], "admin.crt": user["client-certificate-data"], "admin.key": user["client-key-data"]}
    for name, data in embedded.items():
        assert base64.b64decode(data) == (tmp_path / "pki" / name).read_bytes()


def test_only_the_owner_may_read(issue, tmp_path):
    old = os.umask(0)
    try:
        issue()
    finally:
        os.umask(old)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 8 and {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}


def test_a_signing_key_is_kept(issue, tmp_path):
    issue()
    key = tmp_path / "pki/service-account.key"
    serialization.load_pem_private_key(key.read_bytes(), None)
    before = key.read_bytes()
    (tmp_path / "pki/ca.key").unlink()
    issue()
    assert key.read_bytes() == before


def test_check_mode_reports_the_same_changes_and_writes_nothing(issue, tmp_path):
    changes = issue(write=False)
    assert list(tmp_path.rglob("*")) == []
    assert issue() == changes
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert issue(names=["localhost"], write=False) == ["apiserver"]
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
