# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A download from servers that redirect, never end, compress, or hold something else: it is bounded, and only what was meant comes back."""

from __future__ import annotations

import gzip
import hashlib
import time
import tracemalloc

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.http import download as downloads
from ansible_collections.llm_d.inference.plugins.module_utils.http.errors import ExchangeError
from local_servers import drip, raw, serve

TEXT = "kind: CustomResourceDefinition\n"
RIGHT = hashlib.sha256(TEXT.encode()).hexdigest()


def text_at(*_request):
    return 200, {}, TEXT


def get(url, timeout=60.0, **options):
    return downloads.download(f"{url}/crds.yaml", timeout, **{"insecure": True, **options})


@pytest.fixture(name="tls")
def _tls(certificate, monkeypatch):
    """A certificate of 127.0.0.1 that this host trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", certificate[0])
    return certificate


def refused(url, timeout=60.0, **options):
    with pytest.raises((ExchangeError, ValueError)) as caught:
        get(url, timeout, **options)
    return str(caught.value)


def test_plain_http_is_refused_unless_insecure_is_set(tls):
    with serve(text_at) as url:
        assert get(url) == TEXT
        assert "is plain http, which anybody on the way can change" in refused(url, insecure=False)
    with serve(text_at, tls) as url:
        assert get(url, insecure=False) == TEXT
    assert "is neither https nor http" in refused("ftp://127.0.0.1")


def test_the_checksum_of_the_file():
    with serve(text_at) as url:
        assert get(url, sha256=RIGHT) == TEXT
        assert f"its sha256 is {RIGHT}, not {'0' * 64}" in refused(url, sha256="0" * 64)


def test_an_http_error_status_is_reported():
    with serve(lambda *request: (404, {}, "no")) as url:
        assert "the server answers 404" in refused(url)


def redirecting(target, hops=1):
    def answer(_handler, _method, path, _body):
        count = int(path.rpartition("?")[2] or 0) if "?" in path else 0
        return (302, {"Location": f"{path.partition('?')[0]}?{count + 1}"}, "") if count + 1 < hops else (302, {"Location": target}, "")

    return answer


def test_redirects_to_another_host_are_followed_by_https_only(tls):
    """Downloads of releases on GitHub are redirected to another host."""
    with serve(text_at, tls) as last, serve(redirecting(last + "/x", 3), tls) as first:
        assert get(first, insecure=False) == TEXT
    with serve(text_at) as last, serve(redirecting(last + "/x"), tls) as first:
        assert f"{first}/crds.yaml redirects to {last}/x is plain http" in refused(first, insecure=False)
        assert get(first) == TEXT
    with serve(redirecting("file:///etc/passwd")) as first:
        assert "redirects to file:///etc/passwd is neither https nor http" in refused(first)


def test_redirects_end():
    with serve(redirecting("/crds.yaml")) as url:
        assert f"more than {downloads.REDIRECTS} redirects" in refused(url)
    with serve(text_at) as last, serve(redirecting(last, downloads.REDIRECTS)) as url:
        assert get(url) == TEXT
    with serve(redirecting("/crds.yaml", downloads.REDIRECTS)) as last, serve(redirecting(last + "/crds.yaml")) as url:
        assert "redirects" in refused(url)


@pytest.mark.timing
def test_a_slow_download_ends_at_the_timeout():
    start = time.monotonic()
    with raw(drip(b"HTTP/1.1 200 OK\r\n\r\n", b"#")) as url:
        assert "did not end within 1 s" in refused(url, 1.0)
    with raw(drip(b"HTTP/1.1 200 OK\r\n", b"A")) as url:
        assert "did not answer within 1 s" in refused(url, 1.0)
    assert time.monotonic() - start < 4


@pytest.mark.timing
def test_a_redirect_does_not_begin_the_time_anew():
    def slow(_handler, _method, path, _body):
        time.sleep(0.6)
        return 302, {"Location": path + "x"}, ""

    with serve(slow) as url:
        assert "within 1 s" in refused(url, 1.0)


def test_size_ends():
    block = b"#" * (1 << 20)

    def for_ever(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(block)

    with raw(for_ever) as url:
        assert "is longer than 32 MiB" in refused(url)


def test_gzip_answers_are_unpacked_and_other_encodings_are_refused():
    for encoding in ("gzip", "x-gzip"):
        with serve(lambda *request, encoding=encoding: (200, {"Content-Encoding": encoding}, gzip.compress(TEXT.encode()))) as url:
            assert get(url, sha256=RIGHT) == TEXT
    with serve(lambda *request: (200, {"Content-Encoding": "br"}, b"x")) as url:
        assert "content encoding 'br'" in refused(url)
    with serve(lambda *request: (200, {"Content-Encoding": "gzip"}, b"no gzip")) as url:
        assert "cannot be unpacked" in refused(url)


def test_a_gzip_bomb_is_refused_before_it_is_fully_unpacked():
    bomb = gzip.compress(b"\0" * (256 << 20))
    with serve(lambda *request: (200, {"Content-Encoding": "gzip"}, bomb)) as url:
        tracemalloc.start()
        assert "is longer than 32 MiB when it is unpacked" in refused(url)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 100 << 20
