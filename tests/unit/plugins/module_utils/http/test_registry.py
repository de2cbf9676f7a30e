# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A registry gets the requests of a node, bounded in time, and a password is sent only to servers that may have it. Real servers of this host."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
import typing as t
import urllib.parse

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.http import registry
from ansible_collections.llm_d.inference.plugins.module_utils.http.errors import ExchangeError
from local_servers import Handler, Server, closed_port, drip, raw, serve

REPOSITORY, TAG = "acme/tiny", "v1"
PATH = f"/v2/{REPOSITORY}/manifests/{TAG}"
ACCOUNT = ("robot", "pass:word")
BASIC = "Basic " + base64.b64encode(b"robot:pass:word").decode()
BEARER = 'Bearer realm="http://{host}/token",service="registry.test",scope="repository:acme/tiny:pull"'


class Registry:
    """A registry with one image, and its token endpoint. challenge: of its 401; None for a registry that is open to all."""

    def __init__(self, challenge: str | None = None, token: tuple[int, t.Any] = (200, {"token": "abc"}), wants: str | None = None) -> None:
        self.challenge, self.token, self.wants = challenge, token, wants
        self.requests: list[tuple[str, str, str | None]] = []

    def __call__(self, handler: t.Any, method: str, path: str, _body: bytes) -> t.Any:
        account = handler.headers.get("Authorization")
        self.requests.append((method, path, account))
        if path.startswith("/token"):
            status, reply = self.token if not self.wants or account == self.wants else (401, {"errors": [{"code": "UNAUTHORIZED"}]})
            return status, {}, reply if isinstance(reply, (str, bytes)) else json.dumps(reply)
        if self.challenge is not None and account not in ("Bearer abc", BASIC):
            return 401, {"WWW-Authenticate": self.challenge.format(host=handler.headers["Host"])}, ""
        return (200 if path == PATH else 404), {}, "{}"

    def tokens(self) -> list[tuple[dict[str, str], str | None]]:
        """The requests for tokens: (query, account)."""
        return [(dict(urllib.parse.parse_qsl(path.partition("?")[2])), account) for _method, path, account in self.requests if path.startswith("/token")]


def ask(url: str, tag: str = TAG, credentials: tuple[str, str] | None = None, timeout: float = 60.0) -> int:
    return registry.manifest(url.partition("://")[2], REPOSITORY, tag, credentials, timeout).status


@pytest.mark.parametrize(("tag", "status"), [(TAG, 200), ("v2", 404), ("sha256:00", 404)])
def test_an_open_registry_is_queried_without_credentials(tag: str, status: int) -> None:
    there = Registry()
    with serve(there) as url:
        assert ask(url, tag, ACCOUNT) == status
    assert there.requests == [("HEAD", f"/v2/{REPOSITORY}/manifests/{tag}", None)], "no account was required"


def test_an_anonymous_token_is_fetched() -> None:
    there = Registry(BEARER)
    with serve(there) as url:
        assert ask(url) == 200
    assert there.tokens() == [({"service": "registry.test", "scope": "repository:acme/tiny:pull"}, None)]
    assert [account for method, _path, account in there.requests if method == "HEAD"] == [None, "Bearer abc"]


def test_a_token_is_fetched_with_the_account() -> None:
    there = Registry(BEARER, token=(200, {"access_token": "abc"}), wants=BASIC)
    with serve(there) as url:
        assert (ask(url), ask(url, credentials=("robot", "wrong")), ask(url, credentials=ACCOUNT)) == (401, 401, 200)
    assert there.tokens()[-1][1] == BASIC


def test_a_token_does_not_make_an_image() -> None:
    with serve(Registry(BEARER)) as url:
        assert ask(url, "v2") == 404


@pytest.mark.parametrize(("account", "status"), [(None, 401), (("robot", "wrong"), 401), (ACCOUNT, 200)])
def test_a_registry_that_wants_the_account_itself(account: tuple[str, str] | None, status: int) -> None:
    there = Registry('Basic realm="registry"')
    with serve(there) as url:
        assert ask(url, credentials=account) == status
    assert len(there.requests) == (1 if account is None else 2)


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500])
def test_a_token_that_is_denied_leaves_the_refusal(status: int) -> None:
    """ghcr.io denies the token for a package that is gone."""
    with serve(Registry(BEARER, token=(status, {"errors": [{"code": "DENIED"}]}))) as url:
        assert ask(url) == 401


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "<html>sign in</html>",
        b"\xff\xfe",
        "[" * 60000,
        '{"token": "' + "a" * 70000 + '"}',
        [],
        None,
        {},
        {"token": None},
        {"token": 7},
        {"token": {"token": "abc"}},
        {"token": "abc\r\nX-More: 1"},
        {"token": "t\u00f6ken"},
    ],
)
def test_a_garbage_token_leaves_the_refusal(reply: t.Any) -> None:
    there = Registry(BEARER, token=(200, reply))
    with serve(there) as url:
        assert ask(url) == 401
    assert [method for method, _path, _account in there.requests] == ["HEAD", "GET"], "nothing is sent that cannot be a token"


@pytest.mark.parametrize(
    "challenge",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer realm=",
        'Bearer realm=""',
        'Bearer realm="/token"',
        'Bearer realm="//{host}/token"',
        'Bearer realm="ftp://{host}/token"',
        'Bearer realm="file:///etc/passwd"',
        "Negotiate",
        'Bearer realm="' + "a" * 30000 + '"',
        'Bearer service="x",' * 1500 + 'realm="http://{host}/token"',
    ],
)
def test_a_challenge_that_leads_nowhere_leaves_the_refusal(challenge: str) -> None:
    there = Registry(challenge)
    with serve(there) as url:
        assert ask(url) == 401
    assert there.tokens() == []


@contextlib.contextmanager
def foreign() -> t.Iterator[tuple[str, list[str]]]:
    """A server at an address of its own, which is neither 127.0.0.1 nor `localhost`; gives its host and what reached it."""
    server, reached = Server(("127.0.0.2", 0), Handler), []

    def answer(_handler: t.Any, _method: str, path: str, _body: bytes) -> t.Any:
        reached.append(path)
        return 200, {}, json.dumps({"token": "abc"})

    server.answer = answer
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"127.0.0.2:{server.server_port}", reached
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("realm", ["http://{there}/token", "HTTP://{there}/token", "http://127.0.0.1@{there}/token", "http://localhost:80@{there}/token"])
def test_no_password_crosses_the_network_in_the_clear(realm: str) -> None:
    with foreign() as (there, reached):
        server = Registry(f'Bearer realm="{realm.format(there=there)}",service="x"')
        with serve(server) as url:
            assert ask(url, credentials=ACCOUNT) == 401 and ask(url) == 401
    assert reached == [] and {account for _method, _path, account in server.requests} == {None}


def test_a_redirect_is_not_followed() -> None:
    with foreign() as (there, reached), serve(lambda *_args: (307, {"Location": f"http://{there}/v2/"}, "")) as url:
        assert ask(url, credentials=ACCOUNT) == 307
    assert reached == []


@pytest.mark.timing
@pytest.mark.parametrize("talk", [lambda _connection: time.sleep(30), drip(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n")])
def test_a_hanging_registry_is_abandoned_after_the_timeout(talk: t.Any) -> None:
    start = time.monotonic()
    with raw(talk) as url, pytest.raises(ExchangeError):
        ask(url, timeout=1.0)
    assert time.monotonic() - start < 8


@pytest.mark.timing
def test_a_hanging_token_endpoint_is_abandoned_after_the_timeout() -> None:
    with raw(lambda _connection: time.sleep(30)) as slow, serve(Registry(f'Bearer realm="{slow}/token"')) as url:
        start = time.monotonic()
        with pytest.raises(ExchangeError):
            ask(url, timeout=1.0)
        assert time.monotonic() - start < 8


def test_a_closed_port_raises_an_exchange_error() -> None:
    with pytest.raises(ExchangeError):
        ask(f"http://127.0.0.1:{closed_port()}")


def test_plain_http_is_for_this_host_only() -> None:
    with foreign() as (there, reached), pytest.raises(ExchangeError):
        ask(f"http://{there}")
    assert reached == []
