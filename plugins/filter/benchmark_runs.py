# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of measurements: the runs of a plan, and the report of their results. Each is described in the YAML of its name."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.validation import benchmark_runs as benchmark
from ..plugin_utils.planning import plain


def benchmark_runs(plan: t.Any, seconds: float | None = None) -> list[dict[str, t.Any]]:
    """The options of vllm_perf for each measurement of a plan."""
    if not isinstance(plan, dict) or "benchmark" not in plan:
        raise AnsibleFilterError("benchmark_runs takes a plan")
    return benchmark.runs(plain(plan), seconds)


def benchmark_report(results: t.Any, wholes: t.Any = None, about: t.Any = None) -> dict[str, t.Any]:
    """The report of some measurements."""
    listed = plain(results)
    if not isinstance(listed, list) or not all(isinstance(each, dict) and "name" in (each.get("item") or ()) for each in listed):
        raise AnsibleFilterError("benchmark_report takes the results of a loop over benchmark_runs")
    return benchmark.report(listed, plain(wholes or {}), plain(about or {}))


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {each.__name__: each for each in (benchmark_runs, benchmark_report)}
