# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""References of images are split as container engines split them."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.images import repository_of, split_host


@pytest.mark.parametrize(
    ("reference", "host", "rest"),
    [
        ("ghcr.io/llm-d/x:1", "ghcr.io", "llm-d/x:1"),
        ("registry.example.com:5000/mirror/x:1", "registry.example.com:5000", "mirror/x:1"),
        ("mirror:5000/x", "mirror:5000", "x"),
        ("localhost/x:1", "localhost", "x:1"),
        ("127.0.0.1:5215/docker.io/envoyproxy/envoy:1", "127.0.0.1:5215", "docker.io/envoyproxy/envoy:1"),
        ("[::1]:5000/x:1", "[::1]:5000", "x:1"),
        ("envoyproxy/envoy:1", "docker.io", "envoyproxy/envoy:1"),
        ("busybox:1", "docker.io", "library/busybox:1"),
        ("busybox", "docker.io", "library/busybox"),
        ("localhost:1", "docker.io", "library/localhost:1"),
        ("docker.io/x@sha256:00", "docker.io", "x@sha256:00"),
    ],
)
def test_the_registry_of_a_reference(reference: str, host: str, rest: str) -> None:
    assert split_host(reference) == (host, rest)


@pytest.mark.parametrize(
    ("reference", "repository"),
    [
        ("ghcr.io/llm-d/x:1", "ghcr.io/llm-d/x"),
        ("ghcr.io/llm-d/x", "ghcr.io/llm-d/x"),
        ("mirror:5000/x", "mirror:5000/x"),
        ("mirror:5000/x:1", "mirror:5000/x"),
        ("mirror:5000/x:1@sha256:00", "mirror:5000/x"),
        ("mirror:5000/x@sha256:00", "mirror:5000/x"),
        ("busybox:1.36", "busybox"),
        ("busybox", "busybox"),
    ],
)
def test_a_reference_without_tag_and_digest(reference: str, repository: str) -> None:
    assert repository_of(reference) == repository
