# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role `validation` waits for behind a change, and for the verdict alone: playbooks/validate.yml."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible_collections.llm_d.inference.plugins.plugin_utils.role_options import given as given_options

HOPELESS = {"failures": [{"kind": "HTTPRoute"}], "msg": "1 of 5 objects is not ready"}
READY = {"resources": [], "waited": 0.1}
SERVES, SILENT = {"ok": True, "claims": []}, {"ok": False, "claims": []}
NAMES = ("request_timeout", "wait", "log_wait", "scrape_wait")


def waits(root: Path, objects: dict, routing: dict, **given: t.Any) -> tuple[int, ...]:
    """Seconds for a request, for answers, for the log of a picker, for scrapes."""

    def trusted(path: str) -> dict:
        found = yaml.safe_load((root / "roles/validation" / path).read_text(encoding="utf-8"))
        return {name: trust_as_template(value) if isinstance(value, str) else value for name, value in found.items()}

    variables = {**trusted("defaults/main.yml"), **trusted("vars/main.yml"), **given}
    options, found = given_options("validation", variables, Templar(loader=DataLoader(), variables=variables).template)
    facts = {"targets": {"monitoring": {"timeout": 180}}, "options": options}
    registered = {"__validation_objects": objects, "__validation_routing": routing, "__validation_facts": facts}
    assert found == []
    templar = Templar(loader=DataLoader(), variables={**variables, **registered})
    return tuple(int(templar.template(trust_as_template(f"{{{{ __validation_{name} }}}}"))) for name in NAMES)


@pytest.mark.parametrize(
    ("given", "objects", "routing", "seconds"),
    [
        ({}, READY, SERVES, (10, 60, 60, 180)),
        ({}, HOPELESS, SILENT, (10, 60, 60, 180)),
        ({"validation_patient": False}, READY, SERVES, (5, 5, 12, 180)),
        ({"validation_patient": False}, READY, SILENT, (5, 5, 12, 0)),
        ({"validation_patient": "false"}, HOPELESS, SILENT, (5, 0, 12, 0)),
        ({"validation_patient": False, "validation_wait": "3", "validation_request_timeout": "60"}, READY, SERVES, (60, 3, 3, 180)),
        ({"validation_patient": False}, {"msg": "the API server is away"}, {}, (5, 5, 12, 0)),
    ],
)
def test_seconds(root: Path, given: dict, objects: dict, routing: dict, seconds: tuple[int, ...]) -> None:
    assert waits(root, objects, routing, **given) == seconds


def test_only_the_verdict_alone_is_impatient(root: Path) -> None:
    def of(name: str) -> list[t.Any]:
        (play,) = yaml.safe_load((root / "playbooks" / name).read_text(encoding="utf-8"))
        return [role.get("vars", {}).get("validation_patient") for role in play["roles"] if role["role"] == "llm_d.inference.validation"]

    assert (of("validate.yml"), of("site.yml")) == ([False], [None])
