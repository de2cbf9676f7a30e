# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of role compare: from presets to their measurements side by side. Each is described in the YAML of its name."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.benchmark import comparison as comparisons
from ..module_utils.benchmark import comparison_page
from ..module_utils.benchmark import comparison_run as measured
from ..plugin_utils import compared_presets
from ..plugin_utils.planning import plain


def comparison(runs: t.Any, about: t.Any = None, servers: t.Any = None) -> dict[str, t.Any]:
    """The comparison of some runs."""
    listed = plain(runs)
    if not isinstance(listed, list) or not listed or not all(isinstance(run, dict) and {"preset", "stages", "total"} <= set(run) for run in listed):
        raise AnsibleFilterError("comparison takes a list of runs, each with preset, stages and total")
    results = comparisons.results(listed, plain(about or {}), plain(servers or []))
    return {"results": results, "lines": comparisons.lines(results), "table": comparisons.table(results), "page": comparison_page.page(results)}


def comparison_cases(presets: t.Iterable[t.Any]) -> list[dict[str, t.Any]]:
    """Name and scheduler block of each preset."""
    return compared_presets.cases(presets)


def comparison_load(workload: t.Any, stages: t.Any, warmup: t.Any = None) -> dict[str, t.Any]:
    """The options of vllm_perf for a workload and its stages."""
    sent, ladder, before = plain(workload or {}), plain(stages), plain(warmup)
    if not isinstance(sent, dict) or not isinstance(ladder, list) or not all(isinstance(stage, dict) for stage in [*ladder, before or {}]):
        raise AnsibleFilterError("comparison_load takes a workload, a list of stages and a warm-up, such as {} | comparison_load([{'rate': 8, 'seconds': 30}])")
    return measured.options(sent, ladder, before)


def comparison_run(whole: t.Any, preset: str, requests: str) -> dict[str, t.Any]:
    """The run of one policy."""
    result = plain(whole)
    if not isinstance(result, dict) or not {"url", "nonce", "about", "stages"} <= set(result):
        raise AnsibleFilterError("comparison_run takes the result.json of vllm_perf")
    return measured.run(str(preset), result, str(requests))


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {each.__name__: each for each in (comparison, comparison_cases, comparison_load, comparison_run)}
