# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The defaults of the compare role agree with each other, with the presets, and with the shape that docs/compare.md promises."""

from __future__ import annotations

import re

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.presets import PRESETS
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen import shared_prefix


@pytest.fixture(name="defaults")
def role_defaults(root):
    return yaml.safe_load((root / "roles/compare/defaults/main.yml").read_text(encoding="utf-8"))


@pytest.fixture(name="sent")
def default_workload(defaults):
    return shared_prefix.Workload(**defaults["compare_workload"])


def test_the_presets_are_there(defaults):
    assert set(defaults["compare_presets"]) <= set(PRESETS) and defaults["compare_presets"][0] == "round_robin"


def test_the_warm_up_sends_every_prompt_once(defaults, sent):
    assert defaults["compare_warmup"]["requests"] == sent.groups * sent.prompts_per_group == len({sent.prompt(number) for number in range(120)})


def test_the_ladder_is_one_and_each_rung_has_enough_requests_for_a_90th_percentile(defaults):
    ladder = shared_prefix.stages(defaults["compare_stages"], defaults["compare_warmup"])[1:]
    assert [stage.rate for stage in ladder] == sorted({stage.rate for stage in ladder}) and 8.0 in [stage.rate for stage in ladder]
    assert all(stage.requests >= 40 for stage in ladder)


def test_the_prefixes_fit_the_fleet_and_not_one_server(root, sent):
    service = yaml.safe_load((root / "inventories/local/group_vars/all/llm_d.yml").read_text(encoding="utf-8"))["llm_d_model_services"][0]
    one = service["engine"]["simulator"]["kv_cache_size"] * service["engine"]["block_size"]
    words = sum(
        len(sent.system(group).split()) + sum(len(sent.question(group, each).split()) for each in range(sent.prompts_per_group)) for group in range(sent.groups)
    )
    assert 1.5 * one < words < 0.75 * one * service["replicas"]
    told = re.search(r"of one server's cache \| 586 % \| (\d+) %", (root / "docs/compare.md").read_text(encoding="utf-8"))
    assert int(told.group(1)) == round(100 * words / one)
