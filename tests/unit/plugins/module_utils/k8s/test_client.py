# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every way in which a cluster cannot be reached, against real sockets: one line each, with what to do."""

from __future__ import annotations

import contextlib
import datetime
import json
import socket
import ssl
import threading
import types

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.common import masking
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import client as module
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import errors
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError, ClusterError, explain, refusal
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from fake_clock import FakeClock
from local_servers import Handler, closed_port, raw, serve

TOKEN = "sk-secret-token-1234567"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """No cluster of the host's own, and no configuration left by another test."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST", "K8S_AUTH_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    monkeypatch.setattr(module.kubernetes.client.Configuration, "_default", None)


def ask(path="/version", **params):
    """The answer to one GET."""
    return module.connect(types.SimpleNamespace(params=params)).get(path)


def trouble(**params):
    """The one line of a failure."""
    with pytest.raises(ClusterError) as caught:
        ask(**params)
    line = str(caught.value)
    assert "\n" not in line and "Traceback" not in line and "HTTPSConnectionPool" not in line and TOKEN not in line and len(line) < 500
    return line


@pytest.mark.parametrize(
    ("version", "words"),
    [("36.0.0", "pip install 'kubernetes!=36.0.0,!=36.0.1'"), ("36.0.1", "!=36.0.1'"), ("99.0.0", "install another version")],
)
def test_a_library_that_sends_no_token_is_reported_before_connecting(monkeypatch, version, words):
    """kubernetes 36.0.0 reads the token under another name than the one under which it is stored."""
    monkeypatch.setattr(module.kubernetes, "__version__", version)
    monkeypatch.setattr(module.kubernetes.client.Configuration, "auth_settings", lambda self: {})
    line = trouble(host="https://127.0.0.1:1", api_key=TOKEN)
    assert f"the Python library kubernetes {version} sends no token" in line and words in line and "expired; log in" not in line
    monkeypatch.setattr(module.compat, "configuration", lambda options: module.kubernetes.client.Configuration(host="https://127.0.0.1:1"))
    assert "connection refused" in trouble(host="https://127.0.0.1:1", api_key=TOKEN), "without a token, as with a certificate, nothing is lost"


@pytest.mark.parametrize("exceptions", ["", "*"])
def test_the_kubeconfig_proxy_is_distinguished_from_the_environment_proxy(monkeypatch, tmp_path, exceptions):
    for name in ("https_proxy", "HTTP_PROXY", "http_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", exceptions)
    named = {"server": "https://10.1.2.3:6443", "proxy-url": "http://jump:8080"}
    for cluster, proxy in ((named, "http://jump:8080"), ({"server": "https://10.1.2.3:6443"}, "")):
        content = {
            "clusters": [{"name": "c", "cluster": cluster}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": TOKEN}}],
            "current-context": "c",
        }
        path = tmp_path / "config"
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        assert module.connect(types.SimpleNamespace(params={"kubeconfig": str(path)})).named_proxy == proxy


@pytest.mark.parametrize(("exceptions", "proxy"), [("", "http://proxy:3128"), ("10.0.0.0/8", ""), ("11.0.0.0/8", "http://proxy:3128")])
def test_the_proxy_is_the_one_that_the_library_uses(monkeypatch, exceptions, proxy):
    for name in ("https_proxy", "HTTP_PROXY", "http_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", exceptions)
    assert module.connect(types.SimpleNamespace(params={"host": "https://10.1.2.3:6443", "api_key": TOKEN})).proxy == proxy


def test_a_refused_anonymous_request_reports_missing_credentials():
    body = {"kind": "Status", "reason": "Forbidden", "message": 'pods is forbidden: User "system:anonymous" cannot list resource "pods"'}
    assert "got no credentials" in str(refusal(403, json.dumps(body), "https://api", "GET /api/v1/pods"))
    body["message"] = body["message"].replace("system:anonymous", "jane")
    assert "grant the permission" in str(refusal(403, json.dumps(body), "https://api", "GET /api/v1/pods"))


def test_an_error_that_a_library_is_known_for_names_it():
    line = str(explain(AttributeError("'HTTPResponse' object has no attribute 'getheaders'"), "https://api"))
    assert "urllib3 ==2.6.0 with kubernetes <37.0.0" in line and "pip install 'urllib3!=2.6.0'" in line


def kubeconfig(path, server, **user):
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "clusters": [{"name": "c", "cluster": {"server": server}}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    return str(path)


def answer(status, body):
    return lambda *request: (status, {}, body if isinstance(body, str) else json.dumps(body))


def failure(code, reason, message):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message}


# the connection


def test_a_refused_connection_is_reported_with_the_url():
    url = f"http://127.0.0.1:{closed_port()}"
    line = trouble(host=url, api_key=TOKEN)
    assert url in line and "connection refused" in line and "K8S_AUTH_HOST" in line


def test_no_such_host():
    line = trouble(host="https://no-such-host.invalid:6443", api_key=TOKEN)
    assert "does not resolve" in line and "no-such-host.invalid" in line


def test_no_answer_in_time_the_first_of_all_sooner(monkeypatch):
    """A server that has not answered yet is reported soon. The longer timeout is for one that has answered before, or is awaited."""
    with raw(lambda connection: connection.recv(65536)) as url:
        monkeypatch.setattr(module, "FIRST_TIMEOUT", 0.2)
        assert "no answer in time" in trouble(host=url, api_key=TOKEN)
        monkeypatch.setattr(module, "READ_TIMEOUT", 0.2)
        monkeypatch.setattr(module, "FIRST_TIMEOUT", 0.0)  # no time that urllib3 takes
        patient = module.connect(types.SimpleNamespace(params={"host": url, "api_key": TOKEN}), FakeClock())
        patient.be_patient(1)
        with pytest.raises(ClusterError, match="no answer in time"):
            patient.get("/version")


@pytest.mark.parametrize(("patience", "seconds"), [(0, 20), (10, 20), (45, 45), (600, 60)])
def test_the_first_answer_is_waited_for_as_long_as_the_module_waits(monkeypatch, patience, seconds):
    """A module that polls for some seconds only does not wait a minute for a server that does not answer."""
    waits = []
    monkeypatch.setattr(module.urllib3, "Timeout", lambda **given: waits.append(given["read"]))
    cluster = module.connect(types.SimpleNamespace(params={"host": f"http://127.0.0.1:{closed_port()}", "api_key": TOKEN}), FakeClock())
    cluster.be_patient(patience)
    with pytest.raises(ClusterError):
        cluster.get("/version")
    assert waits == [seconds]


def test_the_connection_is_cut():
    with raw(lambda connection: None) as url:
        assert "cut" in trouble(host=url, api_key=TOKEN)


def test_a_proxy_that_is_not_there():
    line = trouble(host="https://127.0.0.1:1", api_key=TOKEN, proxy=f"http://127.0.0.1:{closed_port()}")
    assert "K8S_AUTH_PROXY" in line


def test_tls_on_a_plain_port():
    with serve(answer(200, {})) as url:
        assert "TLS" in trouble(host=url.replace("http://", "https://"), api_key=TOKEN)


@pytest.fixture(name="secure")
def secure_server(tmp_path):
    """URL of a TLS server with a certificate of its own, and the certificate's file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "apiserver")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("another-name")]), False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "tls.pem"
    file.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)

    def talk(connection):
        with context.wrap_socket(connection, server_side=True) as secure:
            secure.recv(65536)
            secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    with serve_tls(talk) as port:
        yield f"https://127.0.0.1:{port}", str(file)


@contextlib.contextmanager
def serve_tls(talk):
    """A server that hands each connection over from its first byte; gives its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def loop():
        with contextlib.suppress(OSError):
            while True:
                connection = listener.accept()[0]
                with contextlib.suppress(OSError, ssl.SSLError):
                    talk(connection)

    threading.Thread(target=loop, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def test_an_untrusted_certificate_is_reported_with_the_ca_variable(secure):
    line = trouble(host=secure[0], api_key=TOKEN)
    assert "its certificate is not trusted" in line and "K8S_AUTH_SSL_CA_CERT" in line


def test_a_certificate_for_another_name(secure):
    line = trouble(host=secure[0], api_key=TOKEN, ca_cert=secure[1])
    assert "is for another name" in line and "tls-server-name" in line


@pytest.mark.filterwarnings("ignore:Unverified HTTPS")
def test_certificates_need_not_be_checked(secure):
    assert ask(host=secure[0], api_key=TOKEN, validate_certs=False) == {}


def test_a_ca_that_is_not_there(secure, tmp_path):
    assert "cannot be read" in trouble(host=secure[0], api_key=TOKEN, ca_cert=str(tmp_path / "none.pem"))


# the answer


@pytest.mark.parametrize(
    "status, body, words",
    [
        (401, failure(401, "Unauthorized", "Unauthorized"), "does not accept the credentials (401)"),
        (403, failure(403, "Forbidden", 'nodes is forbidden: User "weak" cannot list resource "nodes"'), 'User "weak" cannot list'),
        (500, failure(500, "InternalError", "etcdserver: request timed out"), "answered 500 to GET /version: etcdserver: request timed out"),
        (503, "upstream connect error", "overloaded or not ready (503)"),
        (404, "404 page not found", "answered 404"),
        (400, "Client sent an HTTP request to an HTTPS server.\n", "speaks TLS: write its URL with https://"),
        (200, "<html>\n<body>Welcome</body></html>", "does not answer like a Kubernetes API server"),
        (200, [1, 2], "does not answer like a Kubernetes API server"),
    ],
)
def test_answers(status, body, words):
    with serve(answer(status, body)) as url:
        assert words in trouble(host=url, api_key=TOKEN) and url in trouble(host=url, api_key=TOKEN)


def test_a_refusal_keeps_its_parts():
    with serve(answer(409, failure(409, "Conflict", "Apply failed"))) as url, pytest.raises(ApiError) as caught:
        ask(host=url, api_key=TOKEN)
    assert (caught.value.status, caught.value.reason, caught.value.message) == (409, "Conflict", "Apply failed")


def test_a_lookup_of_a_missing_object_or_kind_returns_none():
    with serve(answer(404, failure(404, "NotFound", "gone"))) as url:
        cluster = module.connect(types.SimpleNamespace(params={"host": url, "api_key": TOKEN}))
        assert cluster.find("/api/v1/namespaces/x") is None and cluster.resource("nope/v1", "Foo") is None
        assert cluster.path("nope/v1", "Foo", "ns", "name") is None


@pytest.mark.parametrize(
    "date,time",
    [("Tue, 01 Jan 2030 00:00:10 GMT", 1893456010.0), ("", 7.0), ("soon", 7.0), ("Tue, 01 Jan 99999999999 00:00:10 GMT", 7.0)],
)
def test_the_time_is_the_api_servers(monkeypatch, date, time):
    monkeypatch.setattr(Handler, "date_time_string", lambda _handler: date)
    with serve(answer(200, {})) as url:
        cluster = module.connect(types.SimpleNamespace(params={"host": url, "api_key": TOKEN}))
        cluster.get("/version")
    monkeypatch.setattr(module.time, "time", lambda: 7.0)
    assert cluster.server_time() == time


def test_the_token_is_sent_and_paths_follow_discovery():
    requests = []

    def api(handler, method, path, body):
        requests.append((handler.headers["Authorization"], path))
        kinds = [
            {"name": "gateways", "kind": "Gateway", "namespaced": True},
            {"name": "gateways/status", "kind": "Gateway", "namespaced": True},
            {"name": "gatewayclasses", "kind": "GatewayClass", "namespaced": False},
        ]
        return 200, {}, json.dumps({"resources": kinds})

    with serve(api) as url:
        cluster = module.connect(types.SimpleNamespace(params={"host": url + "/", "api_key": TOKEN}))
        assert cluster.path("g.io/v1", "Gateway", "ns", "x") == "/apis/g.io/v1/namespaces/ns/gateways/x"
        assert cluster.path("g.io/v1", "GatewayClass", "ns") == "/apis/g.io/v1/gatewayclasses"
        assert cluster.path("v1", "Gateway") == "/api/v1/gateways"
    assert requests == [(f"Bearer {TOKEN}", "/apis/g.io/v1"), (f"Bearer {TOKEN}", "/api/v1")]


# the kubeconfig


@pytest.mark.parametrize(
    "content, words",
    [
        (None, "no such file"),
        ("", "no valid kubeconfig"),
        ("- a\n", "no valid kubeconfig"),
        ("a: [\n", "no valid kubeconfig"),
        ("hello", "no valid kubeconfig"),
        ("apiVersion: v1\nkind: Config\n", "no valid kubeconfig"),
    ],
)
def test_a_missing_or_invalid_kubeconfig_is_reported_with_its_path(tmp_path, content, words):
    file = tmp_path / "kubeconfig"
    if content is not None:
        file.write_text(content)
    line = trouble(kubeconfig=str(file))
    assert words in line and str(file) in line


def test_kubeconfig_content_given_as_its_path_is_not_repeated():
    line = trouble(kubeconfig=f"kind: Config\nusers:\n- name: a/b\n  user: {{password: {TOKEN}}}\n")
    assert line.startswith("the given kubeconfig: there is no such file") and "llm_d_kubeconfig" in line and "user" not in line


def test_no_such_context(tmp_path):
    file = kubeconfig(tmp_path / "config", "https://127.0.0.1:1", token=TOKEN)
    line = trouble(kubeconfig=file, context="prod")
    assert "no context named 'prod'" in line and file in line and "K8S_AUTH_CONTEXT" in line


def test_the_kubeconfig_is_named_when_its_server_is_away(tmp_path):
    file = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{closed_port()}", token=TOKEN)
    assert f"(kubeconfig {file}): connection refused" in trouble(kubeconfig=file)


def test_a_path_masked_by_ansible_is_reported_as_file_name_and_folder(tmp_path):
    options = types.SimpleNamespace(params={"kubeconfig": "/nowhere/kubeconfig"}, no_log_values={"/nowhere/kubeconfig"})
    with pytest.raises(ClusterError, match="^kubeconfig kubeconfig in /nowhere: there is no such file"):
        module.connect(options)


def test_kubeconfig_no_log_is_set_independently_of_kubernetes_core(monkeypatch):
    monkeypatch.setattr(module, "AUTH_ARG_SPEC", {**module.AUTH_ARG_SPEC, "kubeconfig": {"type": "raw"}})
    spec = module.auth_spec()
    # Where Ansible hides whatever was in a no_log option, in all later output, the path of a kubeconfig would go with it.
    assert spec["kubeconfig"] == {"type": "raw", "no_log": not masking.REGISTERS} and set(spec) == set(module.AUTH_ARG_SPEC)


def test_no_cluster_at_all():
    assert "no cluster to talk to" in trouble() and "this is no pod; set llm_d_kubeconfig" in trouble()


def test_a_pod_without_a_token_as_awx_specifies_it(monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    line = trouble()
    assert (
        "no cluster to talk to" in line and "this pod has no token of an account; set automountServiceAccountToken: true" in line and "llm_d_kubeconfig" in line
    )


def test_a_pod_with_a_token_and_the_context_of_a_kubeconfig_that_it_has_not(monkeypatch, tmp_path):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setattr(errors, "POD_TOKEN", tmp_path)
    line = trouble(context="prod")
    assert "this pod has none; leave llm_d_context (or K8S_AUTH_CONTEXT) out, so that the account of the pod is used" in line


def test_the_environment_counts(monkeypatch, tmp_path):
    with serve(answer(200, {"gitVersion": "v1.34.4"})) as url:
        monkeypatch.setenv("K8S_AUTH_KUBECONFIG", kubeconfig(tmp_path / "config", url, token=TOKEN))
        assert ask() == {"gitVersion": "v1.34.4"}


def test_a_kubeconfig_of_an_earlier_connection_has_no_part_in_the_next(tmp_path):
    sent = []

    def api(handler, *_request):
        sent.append(handler.headers["Authorization"])
        return 200, {}, json.dumps({"gitVersion": "v1.34.4"})

    earlier = kubeconfig(tmp_path / "config", "http://127.0.0.1:1", token="of-the-earlier-one")
    module.connect(types.SimpleNamespace(params={"kubeconfig": str(earlier)}))
    with serve(api) as url:
        assert ask(host=url, api_key=TOKEN) == {"gitVersion": "v1.34.4"}
    assert sent == [f"Bearer {TOKEN}"]


def test_a_host_that_is_no_url():
    assert "write it as https://host:port" in trouble(host="127.0.0.1:6443", api_key=TOKEN)


def test_a_missing_library():
    line = str(explain(ModuleNotFoundError("No module named 'kubernetes'", name="kubernetes"), "https://x"))
    assert "pip install kubernetes" in line and "ansible_python_interpreter" in line
