# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of roles that write text for people. Each is described in the YAML of its name."""

from __future__ import annotations

import collections.abc as c
import typing as t

import yaml
from ansible import constants
from ansible.errors import AnsibleError, AnsibleFilterError

from ..module_utils.common.commands import spelled
from ..module_utils.diagnosis import report
from ..module_utils.plan.cluster.refusals import refusals
from ..module_utils.plan.cluster.shown import shown
from ..module_utils.releases.tools import cause
from ..module_utils.report.text import wrapped
from ..module_utils.schedulers import running
from ..module_utils.validation import benchmark_runs
from ..plugin_utils.planning import plain


def readable(value: t.Any, failed: bool = False, wrap: bool = False) -> str | list[str]:
    """One text, or its lines where the callback would show line feeds as C(\\n)."""
    parts = [value] if isinstance(value, (str, c.Mapping)) else list(value)
    lines = [line for part in parts for line in _text(part).split("\n")]
    lines = [piece for line in lines for piece in wrapped(line, indent="  ")] if wrap else lines
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    if failed and (known := cause("\n".join(lines))):
        lines.append(known)
    return "\n".join(lines) if failed or len(lines) == 1 or shows_yaml() else lines


def _text(part: t.Any) -> str:
    text = str(part) if isinstance(part, str) else str(yaml.safe_dump(plain(part), sort_keys=False, default_flow_style=False, width=1000, allow_unicode=True))
    return str(spelled(text)).rstrip("\n")


def shows_yaml() -> bool:
    """Whether the callback for standard output writes results as YAML."""
    try:
        return bool(constants.config.get_config_value("result_format", plugin_type="callback", plugin_name=constants.DEFAULT_STDOUT_CALLBACK) == "yaml")
    except AnsibleError:  # it has no such option
        return False


def diagnosis_claims(result: t.Any, verdict: t.Any) -> dict[str, t.Any]:
    """The result of a diagnosis with the claims of a verdict that do not hold."""
    made: dict[str, t.Any] = spelled(report.with_claims(plain(result), plain(verdict)))
    return {**made, "lines": report.lines(made), "markdown": report.markdown(made)}


def health_table(results: t.Any) -> list[str]:
    """The lines about some groups of servers."""
    listed = plain(results)
    if not isinstance(listed, list) or not all(isinstance(each, dict) and isinstance(each.get("item"), list) for each in listed):
        raise AnsibleFilterError("health_table takes the results of a loop of vllm_health over pairs of a run and servers")
    return benchmark_runs.quick(listed)


def running_schedulers(plan: t.Any, before: t.Any = None, verified: t.Any = None) -> list[str]:
    """The lines about the endpoint pickers of a plan."""
    if not isinstance(plan, dict) or "services" not in plan:
        raise AnsibleFilterError("running_schedulers takes a plan")
    return running.lines(plain(plan), plain(before or {}).get("definitions"), plain(verified or {}).get("schedulers"))


def shown_objects(objects: t.Any, ours: t.Any, only: t.Any = ()) -> list[str]:
    """The lines about the objects of a plan."""
    if not all(isinstance(each, list) for each in (objects, ours)) or len(objects) != len(ours):
        raise AnsibleFilterError("shown_objects takes the definitions of all objects, and the same without additions")
    return shown(plain(objects), plain(ours), plain(only))


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {each.__name__: each for each in (readable, diagnosis_claims, health_table, refusals, running_schedulers, shown_objects)}
