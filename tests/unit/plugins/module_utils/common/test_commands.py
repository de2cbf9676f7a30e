# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks are named as the user starts them."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common import commands
from plays import ROOT

NAMED = [
    ("run playbooks/site.yml, which sends it again", "run llm_d.inference.site, which sends it again"),
    ("deploy it first (playbooks/site.yml)", "deploy it first (llm_d.inference.site)"),
    ("The next site.yml brings back", "The next llm_d.inference.site brings back"),
    ("ansible-playbook -i INVENTORY playbooks/pin_images.yml.", "ansible-playbook -i INVENTORY llm_d.inference.pin_images."),
    ("next: make site INVENTORY=inventories/a, or: ansible-playbook -i inventories/a site.yml", "next: ansible-playbook -i inventories/a llm_d.inference.site"),
    ("make site INVENTORY=a", "ansible-playbook -i a llm_d.inference.site"),
    ("another name (make inventory NAME=other), or", "another name (ansible-playbook llm_d.inference.inventory -e inventory_name=other), or"),
    ("`make down` does", "`ansible-playbook llm_d.inference.local_cluster -e local_cluster_state=absent` does"),
    ("make validate", "ansible-playbook llm_d.inference.validate"),
]
STAY = ["/home/me/playbooks/site.yml", "my-site.yml", "which would make the cluster slow", "group_vars/all/llm_d.yml", "make sites"]


@pytest.mark.parametrize(("checkout", "there"), NAMED)
def test_texts_name_what_an_installed_collection_has(monkeypatch: pytest.MonkeyPatch, checkout: str, there: str) -> None:
    assert commands.spelled(checkout) == checkout, "as they are in a checkout, which this is"
    monkeypatch.setattr(commands, "installed", lambda: True)
    assert commands.spelled(checkout) == there
    assert commands.spelled({"lines": [checkout], "diff": checkout, "n": 1}, leave=["diff"]) == {"lines": [there], "diff": checkout, "n": 1}


@pytest.mark.parametrize("text", STAY)
def test_user_paths_and_ordinary_words_are_not_rewritten(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(commands, "installed", lambda: True)
    assert commands.spelled(text) == text


def test_every_playbook_that_a_text_names_is_there() -> None:
    named: set[t.Any] = set()
    for path in [*ROOT.glob("plugins/**/*.py"), *ROOT.glob("roles/*/tasks/*.yml")]:
        named |= set(re.findall(r"(?<![\w/.-])playbooks/(\w+)\.yml", path.read_text(encoding="utf-8")))
    assert len(named) > 8 and named <= {path.stem for path in (ROOT / "playbooks").glob("*.yml")}
