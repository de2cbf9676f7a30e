# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flags, ports and sidecars that a scheduler configuration requires and the endpoint picker's Deployment lacks."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp.explain.answer import missing_in_deployment

REQUIRES = {
    "epp": {"args": ["--kv-events"], "ports": [{"name": "zmq", "port": 5557}]},
    "sidecars": [{"name": "tokenizer", "on": "epp"}, {"name": "routing", "on": "server"}],
}
ALL_MISSING = ["the flag --kv-events", "the port 5557 (zmq)", "the sidecar tokenizer"]


def deployment(**container: t.Any) -> dict[str, t.Any]:
    """A Deployment with the sidecar tokenizer, and these fields of the container epp."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "epp", **container}], "initContainers": [{"name": "tokenizer"}]}}}}


@pytest.mark.parametrize(
    ("deployed", "missing"),
    [
        (deployment(args=["--kv-events"], ports=[{"containerPort": 5557}]), []),
        (deployment(ports=[{"containerPort": 5557}]), ALL_MISSING[:1]),
        (deployment(args=["--kv-events"]), ALL_MISSING[1:2]),
        (None, ALL_MISSING),
    ],
)
def test_unmet_requirements_of_the_endpoint_picker_deployment_are_listed(deployed: t.Any, missing: list[str]) -> None:
    assert missing_in_deployment(REQUIRES, deployed) == missing
    assert not missing_in_deployment({}, deployed)
