# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of roles and public modules in ansible-doc is complete, and the examples of roles are valid plays."""

from __future__ import annotations

import json
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml

from tools import public_plugins
from tools.site import ROLES

ROOT = Path(__file__).resolve().parents[2]
Facts = dict[str, t.Any]
PUBLIC = [name for names in public_plugins.PUBLIC.values() for name in names]


def spec(role: str) -> Facts:
    document: Facts = yaml.safe_load((ROOT / f"roles/{role}/meta/argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]["main"]
    return document


def undocumented(returned: Facts, place: str, top: bool = True, shown: bool = False) -> t.Iterator[str]:
    """The gaps in the documentation of returned values. shown: an outer value has a sample."""
    for name, value in returned.items():
        needed = ("description", "type", "returned") if top else ("description", "type")
        yield from (f"{place}{name} has no {key}" for key in needed if not value.get(key))
        inner = shown or "sample" in value
        if value.get("contains"):
            yield from undocumented(value["contains"], f"{place}{name}.", False, inner)
        elif not inner:
            yield f"{place}{name} has no sample"


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_a_version_an_author_and_an_example_with_options_of_its_own(role: str) -> None:
    document = spec(role)
    assert document["version_added"] and document["author"] and document["short_description"] and document["description"]
    (play,) = yaml.safe_load(document["examples"])
    *_before, last = play["roles"]
    assert play["name"] and last["role"] == f"llm_d.inference.{role}"
    assert set(last.get("vars", {})) <= set(document["options"])


def test_role_examples_pass_the_ansible_syntax_check(tmp_path: Path) -> None:
    plays = [play for role in ROLES for play in yaml.safe_load(spec(role)["examples"])]
    (tmp_path / "examples.yml").write_text(yaml.safe_dump(plays, sort_keys=False), encoding="utf-8")
    command = ["ansible-playbook", "--syntax-check", "-i", "localhost,", str(tmp_path / "examples.yml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_public_modules_document_their_return_values_with_samples() -> None:
    command = ["ansible-doc", "-t", "module", "-j", *(f"llm_d.inference.{name}" for name in PUBLIC)]
    shown = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    assert len(shown) == len(PUBLIC)
    lacking = [gap for name, document in shown.items() for gap in undocumented(document["return"] or {"": {}}, f"{name.split('.')[-1]}: ")]
    assert not lacking and [name for name, document in shown.items() if "msg" not in document["return"]] == []
    assert all(document["doc"]["version_added"] and document["doc"]["author"] and document["examples"] for document in shown.values())
