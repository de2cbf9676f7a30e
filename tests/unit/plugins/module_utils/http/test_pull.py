# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image is reported only where its registry says that it cannot be pulled. Real servers of this host."""

from __future__ import annotations

import base64
import json
import time
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.http import pull
from local_servers import closed_port, raw, serve


def encoded(config: t.Any) -> dict[str, t.Any]:
    text = config if isinstance(config, bytes) else json.dumps(config).encode()
    return {"data": {".dockerconfigjson": base64.b64encode(text).decode()}}


def auth(text: str) -> dict[str, str]:
    return {"auth": base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize(
    ("auths", "accounts"),
    [
        ({"ghcr.io": auth("robot:pass:word")}, {"ghcr.io": ("robot", "pass:word")}),
        ({"ghcr.io": {"username": "robot", "password": "secret"}}, {"ghcr.io": ("robot", "secret")}),
        ({"ghcr.io": {"username": "robot", "password": "secret", **auth("other:one")}}, {"ghcr.io": ("robot", "secret")}),
        ({"https://index.docker.io/v1/": auth("me:x")}, {"docker.io": ("me", "x")}),
        ({"https://index.docker.io/v1/": auth("me:x"), "https://index.docker.io/v1/refresh-token": {}}, {"docker.io": ("me", "x")}),
        ({"https://index.docker.io/v1/": auth("me:x"), "https://index.docker.io/v1/access-token": auth("me:token")}, {"docker.io": ("me", "x")}),
        ({"https://r.test:5000/v2/": auth("me:x"), "r.test/path": auth("you:y")}, {"r.test:5000": ("me", "x"), "r.test": ("you", "y")}),
        ({"r.test": auth("")}, {}),
        ({"r.test": {"auth": "%%%"}}, {}),
        ({"r.test": {"auth": base64.b64encode(b"\xff\xfe").decode()}}, {}),
        ({"r.test": {"auth": None}}, {}),
        ({"r.test": {"auth": ["x"]}}, {}),
        ({"r.test": {"identitytoken": "x"}}, {}),
        ({"r.test": None, "ghcr.io": auth("a:b")}, {"ghcr.io": ("a", "b")}),
        ({"r.test": {"username": 1, "password": 2}}, {}),
        ({}, {}),
        (None, {}),
        ([], {}),
        ("x", {}),
    ],
)
def test_accounts_are_read_from_a_pull_secret(auths: t.Any, accounts: dict[str, tuple[str, str]]) -> None:
    assert pull.accounts_of(encoded({"auths": auths})) == accounts


@pytest.mark.parametrize(
    "secret",
    [
        None,
        {},
        [],
        "x",
        {"data": None},
        {"data": {}},
        {"data": {"other": "eA=="}},
        {"data": {".dockerconfigjson": None}},
        {"data": {".dockerconfigjson": "%%%"}},
        {"data": {".dockerconfigjson": "\u00fc"}},
        {"data": {".dockerconfigjson": 7}},
        {"data": {".dockerconfigjson": {}}},
        encoded(b"\xff\xfe"),
        encoded(b"{"),
        encoded(b"[" * 60000),
        encoded([]),
        encoded(None),
        encoded("x"),
    ],
)
def test_an_object_without_accounts_has_none(secret: t.Any) -> None:
    assert pull.accounts_of(secret) == {}


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("ghcr.io", "ghcr.io"),
        ("registry.example.com:5000/mirror", "registry.example.com:5000"),
        ("https://r.test/v2/", "r.test"),
        ("https://index.docker.io/v1/", "docker.io"),
        ("index.docker.io", "docker.io"),
        ("docker.io", "docker.io"),
    ],
)
def test_the_registry_of_an_account(name: str, host: str) -> None:
    assert pull.account_host(name) == host


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (200, None),
        (401, "the registry wants an account (HTTP 401)"),
        (403, "the registry refuses access (HTTP 403)"),
        (404, "the registry does not have it (HTTP 404)"),
        (302, None),
        (400, None),
        (429, None),
        (500, None),
        (503, None),
    ],
)
def test_an_image_refused_by_its_registry_is_reported_but_not_a_registry_fault(status: int, why: str | None) -> None:
    with serve(lambda *_args: (status, {}, "")) as url:
        name = f"{url.partition('://')[2]}/acme/tiny:v1"
        assert pull.problems([name], {}) == ({name: why} if why else {})


def test_an_unreachable_or_invalid_registry_gives_no_image_problem() -> None:
    with raw(lambda connection: connection.sendall(b"\x00nonsense\r\n\r\n")) as garbage, raw(lambda connection: connection.close()) as closed:
        hosts = [garbage.partition("://")[2], closed.partition("://")[2], f"127.0.0.1:{closed_port()}", "[::1:9", "a b", "127.0.0.1:99999999"]
        assert pull.problems([f"{host}/acme/tiny:v1" for host in hosts], {}) == {}


@pytest.mark.timing
def test_hanging_registries_are_abandoned_after_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull, "TIMEOUT", 1.0)
    start = time.monotonic()
    with raw(lambda _connection: time.sleep(30)) as url:
        assert pull.problems([f"{url.partition('://')[2]}/acme/tiny:v{number}" for number in range(pull.AT_ONCE)], {}) == {}
    assert time.monotonic() - start < 12


def test_every_image_is_requested_once_with_the_account_of_its_registry() -> None:
    requests = []

    def answer(handler: t.Any, method: str, path: str, _body: bytes) -> t.Any:
        account = handler.headers.get("Authorization")
        requests.append((method, path.removeprefix("/v2/"), bool(account)))
        return (404 if account else 401), {"WWW-Authenticate": 'Basic realm="x"'}, ""

    with serve(answer) as url:
        host = url.partition("://")[2]
        names = ["a/b:v1", "a/b:v1", "a/b:v1@sha256:00", "c@sha256:11", "d"]
        problems = pull.problems([f"{host}/{name}" for name in names], {host: ("me", "x"), "ghcr.io": ("you", "y")})
    assert sorted(problems) == sorted({f"{host}/{name}" for name in names}) and set(problems.values()) == {"the registry does not have it (HTTP 404)"}
    tags = ["a/b/manifests/sha256:00", "a/b/manifests/v1", "c/manifests/sha256:11", "d/manifests/latest"]
    assert sorted(requests) == sorted(("HEAD", tag, with_account) for tag in tags for with_account in (False, True))


def test_an_empty_list_of_images_has_no_problems() -> None:
    assert pull.problems([], {}) == {}
