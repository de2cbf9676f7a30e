# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder that is given for all hosts gets a subfolder for each host."""

from __future__ import annotations

import typing as t

import plays
import pytest
import yaml
from jinja2 import Environment


def folder(role: str, host_folder: str, **given: t.Any) -> str:
    """The folder of the results, computed with the vars of the role."""
    written = yaml.safe_load((plays.ROOT / f"roles/{role}/vars/main.yml").read_text(encoding="utf-8"))
    plan = {"artifacts_dir": "/out"}
    variables = {f"__{role}_facts": {"plan": plan, "host_folder": host_folder}, f"__{role}_plan": plan, f"{role}_plan": None, f"{role}_path": None, **given}
    for name in (f"__{role}_host", f"__{role}_path"):
        if name in written:
            variables[name] = Environment(autoescape=True).from_string(written[name]).render(variables)
    return str(variables[f"__{role}_path"])


@pytest.mark.parametrize("role", ["benchmark", "calibrate", "compare"])
def test_a_given_results_folder_gets_a_subfolder_for_each_host(role: str) -> None:
    assert folder(role, "") == folder(role, "/a") == f"/out/{role}", "the folder of the plan is for one host already"
    assert folder(role, "", **{f"{role}_path": "/x"}) == "/x"
    assert folder(role, "/a", **{f"{role}_path": "/x"}) == "/x/a"


def test_a_results_folder_from_a_calling_role_gets_no_host_subfolder() -> None:
    assert folder("benchmark", "/a", benchmark_path="/out/performance", benchmark_plan={"artifacts_dir": "/out"}) == "/out/performance"
