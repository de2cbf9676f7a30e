# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The README is short, lists everything that has run, and its examples can be planned."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.releases.engines import ENGINES
from ansible_collections.llm_d.inference.plugins.module_utils.releases.gateways import GATEWAY_PROVIDERS
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_readme_is_short_and_begins_with_the_section_on_your_cluster() -> None:
    assert len(TEXT.splitlines()) <= 110
    assert re.findall(r"^## (.*)", TEXT, re.MULTILINE)[:2] == ["On your cluster", "Without a cluster"]


@pytest.mark.parametrize("names", [GATEWAY_PROVIDERS.keys() - {"none"}, RELEASES.keys(), ENGINES.keys()])
def test_the_readme_table_lists_every_provider_release_line_and_engine(names: t.Collection[str]) -> None:
    cells = re.findall(r"`([a-z][a-z0-9_.-]*)`", section("What has run where").replace("`make test`", "").replace("`make nightly`", ""))
    assert not [name for name in names if name not in cells]


def test_the_line_for_a_small_cluster_makes_the_endpoint_picker_small() -> None:
    file, line = re.findall(r"```yaml\n(.*?)```", section("On your cluster"), re.DOTALL)
    for text, cpu in ((file, "8"), (file[: file.index("    scheduler:")] + line, "500m")):
        (service,) = plan(yaml.safe_load(text))["services"]
        assert service["scheduler"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == cpu
