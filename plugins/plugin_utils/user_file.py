# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the user's llm_d_* variables on the controller: template them, and say where a template fails."""

from __future__ import annotations

import os
import re
import typing as t

from ansible.errors import AnsibleLookupError

from ..module_utils.plan.build import PREFIX, Mistakes, explain, plan
from ..module_utils.schema.fields import Problem
from ..module_utils.schema.variables import VARIABLES

Template = t.Callable[[t.Any], t.Any]
_PATHS = ("llm_d_artifacts_dir", "llm_d_kubeconfig")


def read(variables: t.Mapping[str, t.Any], template: Template) -> tuple[dict[str, t.Any], list[Problem]]:
    """The templated llm_d_* variables as plain data, and a problem for each value whose template fails."""
    user: dict[str, t.Any] = {}
    found: list[Problem] = []
    for name in sorted(variables):
        if str(name).startswith(PREFIX):
            value, wrong = _templated(variables[name], template, str(name))
            user[str(name)] = value
            found += wrong
    user.setdefault("llm_d_artifacts_dir", VARIABLES["llm_d_artifacts_dir"].default)
    return {name: _absolute(name, value) for name, value in user.items()}, found


def planned(variables: t.Mapping[str, t.Any], template: Template) -> dict[str, t.Any]:
    """The plan of the host's variables; raises AnsibleLookupError with all problems of the user's file."""
    user, found = read(variables, template)
    if found:
        raise AnsibleLookupError(explain(found))
    try:
        return plan(user)
    except Mistakes as mistakes:
        raise AnsibleLookupError(str(mistakes)) from None


def plain(value: t.Any) -> t.Any:
    """The same data without Ansible's tags, so that nothing in it is ever taken for a template again."""
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    for kind in (str, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    return value


def _templated(value: t.Any, template: Template, path: str) -> tuple[t.Any, list[Problem]]:
    """The value with its templates worked out; what fails becomes None and a problem, what stands beside it is kept."""
    try:
        return plain(template(value)), []
    except Exception as error:  # whatever a template of the user raises is a mistake at that place
        failed = [_failed(value, path, error)]
    if isinstance(value, dict):
        parts = {key: _templated(item, template, f"{path}.{key}") for key, item in value.items()}
        found = [problem for part, wrong in parts.values() for problem in wrong]
        return {plain(key): part for key, (part, wrong) in parts.items()}, found or failed
    if isinstance(value, (list, tuple)):
        items = [_templated(item, template, f"{path}[{index}]") for index, item in enumerate(value)]
        return [item for item, wrong in items], [problem for item, wrong in items for problem in wrong] or failed
    return None, failed


def _failed(value: t.Any, path: str, error: Exception) -> Problem:
    # Only the expression is shown: what stands around it may be half of a secret.
    shown = " ".join(re.findall(r"{{.*?}}|{%.*?%}", str(value), re.DOTALL)) or "its template"
    reason = " ".join(str(error).split()).rstrip(".")
    return Problem(path, shown, f"'{shown}' cannot be worked out: {reason}.", "Define the variable, or write the value itself.")


def _absolute(name: str, value: t.Any) -> t.Any:
    if name in _PATHS and isinstance(value, str) and value:
        return os.path.abspath(os.path.expanduser(value))
    if name == "llm_d_benchmark" and isinstance(value, dict) and isinstance(value.get("baseline"), str):
        return {**value, "baseline": _absolute(_PATHS[0], value["baseline"])}
    return value
