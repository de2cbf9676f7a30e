# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures of requests to an API server, each as one line: the problem, where it is, and what to do."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from ..common import clock
from ..common.text import one_line
from ..releases import tools


class ClusterError(Exception):
    """A failure. Its text is one line for the user."""


class ApiError(ClusterError):
    """The API server refused a request.

    status: HTTP status; reason: the Status object's reason, such as NotFound; message: its message; retry_after: the seconds to wait that it requests.
    """

    def __init__(self, text: str, status: int, reason: str, message: str, retry_after: float = 0.0):
        super().__init__(text)
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after


class UnreachableError(ClusterError):
    """No response came, for a reason that may pass."""


class CutError(UnreachableError):
    """The connection was closed before the response was complete."""


# The kinds of an ExchangeError for a request through the API server that it refuses itself: waiting helps with neither.
REFUSED_KINDS = {401: "unauthorized", 403: "forbidden"}
POD_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")  # of the account of a pod
GRANT = "grant get and create on "  # the beginning of the remedy where this account may not reach a pod


class LateError(UnreachableError):
    """Nothing was received for the time that a read may take."""


class UnendingError(ClusterError):
    """A response was longer than its limit, or did not end in its time. large: which of the two."""

    def __init__(self, text: str, large: bool):
        super().__init__(text)
        self.large = large


_LIBRARY = "the Python library '{name}' is missing for {python}: install it there (pip install {package}) or point ansible_python_interpreter elsewhere"
_NETWORK = (
    # class names of urllib3 exceptions, which may wrap each other; ours; the problem; what to do
    (("NameResolutionError",), UnreachableError, "its host name does not resolve", "correct the server in the kubeconfig (or K8S_AUTH_HOST), or DNS"),
    (("ProxyError",), UnreachableError, "the proxy refused or could not be reached", "correct K8S_AUTH_PROXY, or name the server in K8S_AUTH_NO_PROXY"),
    (("ConnectTimeoutError",), UnreachableError, "no answer to a connection", "check address, VPN and firewall"),
    (("ReadTimeoutError",), LateError, "connected, but no answer in time", "check the server's health and the load balancer before it"),
    (("IncompleteRead", "ProtocolError", "RemoteDisconnected"), CutError, "the connection was cut", "check that the port is the API server's"),
    (("LocationParseError", "LocationValueError", "InvalidURL"), ClusterError, "that is no URL", "write it as https://host:port"),
)


def may_pass(exc: Exception, reached: bool) -> bool:
    """Whether a wait goes on after this failure: the API server is busy or being replaced. reached: whether it has answered before.

    Where it has not, an address at which nothing answers is a mistake, and waiting does not help.
    """
    if isinstance(exc, ApiError):
        return exc.status in (429, 500, 502, 503, 504)
    return isinstance(exc, CutError) or reached and isinstance(exc, UnreachableError)


def lasting(exc: Exception) -> bool:
    """Whether waiting does not help: the API server refuses these credentials, or cannot be reached at all. An absent object may be created."""
    return isinstance(exc, ClusterError) and getattr(exc, "status", 0) != 404 and not may_pass(exc, True)


def missing_library(name: str, package: str) -> ClusterError:
    """The error for a Python library that is not installed."""
    return ClusterError(_LIBRARY.format(name=name, package=package, python=sys.executable))


def unusable(exc: BaseException) -> ClusterError:
    """The error for Python libraries that cannot be imported: one is missing, or versions do not fit together."""
    name = getattr(exc, "name", None) or ""
    if isinstance(exc, ModuleNotFoundError) and "." not in name:
        return missing_library(name or str(exc), name or "kubernetes")
    how = tools.cause(str(exc)) or "install versions that fit together there: pip install --upgrade kubernetes urllib3 requests websocket-client"
    return ClusterError(f"the Python libraries of {sys.executable} cannot be imported ({type(exc).__name__}: {one_line(exc, 160)}): {how}")


def no_token(version: str) -> ClusterError:
    """The error for a version of the Kubernetes client library that has a token and would not send it."""
    row = next((row for row in tools.broken({"kubernetes": version}) if tools.NO_TOKEN in row.what), None)
    fix = row.fix if row else "install another version"
    return ClusterError(f"the Python library kubernetes {version} {tools.NO_TOKEN}: the credentials are not to blame; {fix} (for {sys.executable})")


def explain(exc: BaseException, where: str = "", source: str = "") -> ClusterError:
    """The ClusterError for any exception of connecting or of a request.

    where: the server's URL, when known; source: where the connection was read from, such as `kubeconfig /x`.
    """
    if isinstance(exc, ClusterError):
        return exc
    if isinstance(exc, ImportError):
        return unusable(exc)
    if type(exc).__name__ == "ConfigException" or not where:
        return _config_error(exc, source)
    prefix = f"the Kubernetes API server {where}" + (f" ({source})" if source else "")
    if known := tools.cause(str(exc)):
        return ClusterError(f"{prefix}: {one_line(exc, 160)}: {known}")
    names = _names(exc)
    if names & {"FileNotFoundError", "IsADirectoryError", "PermissionError"}:
        return ClusterError(f"{prefix}: the CA, certificate or key file cannot be read ({one_line(exc, 160)}); correct its path")
    if "SSLError" in names or "SSLCertVerificationError" in names:
        problem = _tls(str(exc))
        # A handshake that is cut may be one of a server that is being replaced; a certificate stays the same.
        return (UnreachableError if problem.startswith("TLS failed") else ClusterError)(f"{prefix}: {problem}")
    for wanted, kind, what, remedy in _NETWORK:
        if names & set(wanted):
            return kind(f"{prefix}: {what}; {remedy}")
    return UnreachableError(f"{prefix}: {_socket(exc)}")


def refusal(status: int, body: bytes | str, where: str, action: str, retry_after: str = "", accepted: bool = False) -> ApiError:
    """The error for an HTTP status other than 2xx. action: such as `PATCH /api/v1/namespaces/x`.

    retry_after: the header of that name; accepted: whether the API server has accepted these credentials in this run.
    """
    reason, message = _status(body)
    detail = one_line(message) if message else one_line(_printable(body), 160)
    if status == 401 and accepted:
        text = (
            f"the Kubernetes API server {where} no longer accepts the credentials (401), which it accepted earlier in this run: the token or certificate has "
            "expired or was withdrawn; log in again, with one that lasts as long as a run, and run the same command again: it continues from the current state"
        )
    elif status == 401:
        text = f"the Kubernetes API server {where} does not accept the credentials (401): the token or certificate is wrong or has expired; log in again"
    elif status == 403 and '"system:anonymous"' in detail:
        text = (
            f"the Kubernetes API server {where} got no credentials, and forbids {action} to everybody (403): the kubeconfig has none, or not for this user; "
            "log in, or give K8S_AUTH_API_KEY"
        )
    elif status == 403:
        text = f"the Kubernetes API server {where} forbids {action} (403): {detail}; grant the permission, or use an account that has it"
    elif "HTTP request to an HTTPS server" in detail:
        text = f"the Kubernetes API server {where} speaks TLS: write its URL with https://"
    elif status in (429, 503, 504):
        text = f"the Kubernetes API server {where} is overloaded or not ready ({status}) for {action}: {detail or 'no reason given'}; try again"
    else:
        text = f"the Kubernetes API server {where} answered {status} to {action}: {detail or reason or 'no reason given'}"
    return ApiError(text, status, reason, message, clock.retry_after(retry_after))


def not_an_api_server(where: str, body: bytes | str) -> ClusterError:
    """The error for a response that is not a Kubernetes object."""
    return ClusterError(
        f"{where} does not answer like a Kubernetes API server (it answered: {one_line(_printable(body), 80)!r}); "
        "correct the server in the kubeconfig (or K8S_AUTH_HOST), or the proxy"
    )


def _status(body: bytes | str) -> tuple[str, str]:
    """(reason, message) of a Status object; empty for any other body."""
    try:
        data = json.loads(body)
    except ValueError:
        return "", ""
    if not isinstance(data, dict):
        return "", ""
    return str(data.get("reason") or ""), str(data.get("message") or "")


def _printable(body: bytes | str) -> str:
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body)


def _names(exc: BaseException) -> set[str]:
    """Class names of an exception and of those it wraps; urllib3 wraps up to three deep."""
    names: set[str] = set()
    todo: list[object] = [exc]
    while todo and len(names) < 20:
        item = todo.pop()
        if not isinstance(item, BaseException) or type(item).__name__ in names:
            continue
        names.add(type(item).__name__)
        todo += [item.__cause__, getattr(item, "reason", None), getattr(item, "original_error", None), *item.args]
    return names


def _tls(text: str) -> str:
    if re.search(r"mismatch|doesn't match|does not match|not valid for", text):
        return "its certificate is for another name; use a name in the certificate, or set tls-server-name in the kubeconfig"
    if "CERTIFICATE_VERIFY_FAILED" in text or "certificate verify failed" in text:
        why = re.search(r"certificate verify failed: ([^(\[]+)", text)
        detail = one_line(why.group(1)) if why else "it is not signed by a known CA"
        return f"its certificate is not trusted: {detail}; give the cluster's CA (K8S_AUTH_SSL_CA_CERT, or certificate-authority in the kubeconfig)"
    if "WRONG_VERSION_NUMBER" in text or "record layer failure" in text:
        return "it does not speak TLS on this port; correct the port, or write http://"
    return f"TLS failed: {one_line(text, 160)}; check port, CA and client certificate"


def _socket(exc: BaseException) -> str:
    text = str(exc)
    for pattern, what in (
        (r"refused", "connection refused: nothing listens there; start the cluster, or correct the server in the kubeconfig (or K8S_AUTH_HOST)"),
        (r"[Nn]o route to host|[Nn]etwork is unreachable", "no route there; check VPN and network"),
        (r"[Nn]ame or service not known|getaddrinfo", "its host name does not resolve; correct the server in the kubeconfig (or K8S_AUTH_HOST), or DNS"),
        (r"timed out", "no answer in time; check address, VPN and firewall"),
    ):
        if re.search(pattern, text):
            return what
    return f"{type(exc).__name__}: {one_line(text, 160)}"


def _config_error(exc: BaseException, source: str) -> ClusterError:
    text = str(exc)
    place = source or "the default kubeconfig"
    if "No configuration found" in text:
        if source:
            return ClusterError(f"{place}: there is no such file, or it is empty; correct llm_d_kubeconfig (or K8S_AUTH_KUBECONFIG)")
        absent = "no cluster to talk to: no kubeconfig is given, ~/.kube/config is absent and this"
        ways = "llm_d_kubeconfig (or K8S_AUTH_KUBECONFIG, or K8S_AUTH_HOST and K8S_AUTH_API_KEY)"
        if "KUBERNETES_SERVICE_HOST" in os.environ and POD_TOKEN.exists():
            other = "leave llm_d_context (or K8S_AUTH_CONTEXT) out, so that the account of the pod is used, or set llm_d_kubeconfig"
            return ClusterError(f"no cluster to talk to: a context is one of a kubeconfig, of which this pod has none; {other}")
        if "KUBERNETES_SERVICE_HOST" in os.environ:
            if Path(POD_TOKEN).exists():
                other = "leave llm_d_context (or K8S_AUTH_CONTEXT) out, so that the account of the pod is used"
                return ClusterError(f"no cluster to talk to: a context is one of a kubeconfig, and this pod has none; {other}, or set llm_d_kubeconfig")
            mount = "set automountServiceAccountToken: true in its specification (in AWX, that of the container group), or set"
            return ClusterError(f"{absent} pod has no token of an account; {mount} {ways}")
        return ClusterError(f"{absent} is no pod; set {ways}")
    named = re.search(r"Expected object with name (\S+) in .{0,300}?(context|cluster|user)s? list", text)
    if named:
        return ClusterError(f"{place}: it has no {named.group(2)} named {named.group(1)!r}; correct K8S_AUTH_CONTEXT or the file")
    if isinstance(exc, PermissionError):
        return ClusterError(f"{place}: it may not be read by this user; correct its mode")
    return ClusterError(f"{place}: it is no valid kubeconfig ({one_line(text, 160)}); write a correct one, for example with kubectl config view --raw")
