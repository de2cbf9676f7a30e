# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every task that sends requests to model servers names the Secret with their API key, or takes its servers from a plan that names it."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml

Facts = dict[str, t.Any]
# For each module, the option with the Secret, and for those whose servers have it, the source of these: plan/servers/server.py, plan/engines/adapters.py,
# targets.py.
ASKING = {
    "vllm_perf": ("api_key_secret", ""),
    "picker_conformance": ("model_api_key_secret", ""),
    "vllm_health": ("replicas", "item.1"),
    "vllm_warmup": ("services", "plan.warmups"),
    "vllm_adapters": ("services", "plan.adapters"),
    "stack_validation": ("plan", "_facts.plan"),
}
PLANNED = ("targets.servers", "__compare_replicas", "__calibrate_service) | first).servers")


def tasks(node: t.Any) -> t.Iterator[Facts]:
    """All tasks of a file, those in blocks too."""
    for task in node or []:
        yield task
        for part in ("block", "rescue", "always"):
            yield from tasks(task.get(part))


def asking(root: Path) -> t.Iterator[tuple[str, str, Facts]]:
    """(file, module, options) of each task with a module that sends requests to model servers."""
    for path in sorted(root.glob("roles/*/tasks/*.yml")):
        variables = path.parent.parent / "vars/main.yml"
        named = yaml.safe_load(variables.read_text(encoding="utf-8")) if variables.exists() else {}
        for task in tasks(yaml.safe_load(path.read_text(encoding="utf-8"))):
            for module in (*ASKING, "vllm_health_info"):
                options = task.get(f"llm_d.inference.{module}")
                if isinstance(options, str):  # all options in one variable of the role, sometimes extended
                    (options,) = (value for name, value in named.items() if name in options)
                if options and "performance" not in options:  # it evaluates earlier requests
                    yield f"{path.parent.parent.name}/{path.name}", module, options


def test_each_task_that_sends_requests_names_the_api_key_secret(root: Path) -> None:
    calls = list(asking(root))
    assert {module for _file, module, _options in calls} == {*ASKING, "vllm_health_info"} and len(calls) >= 12
    for file, module, options in calls:
        if module == "vllm_health_info":
            value = str(options.get("replicas") or options.get("groups"))
            assert any(place in value for place in PLANNED), (file, module, value)
            continue
        option, source = ASKING[module]
        assert source in str(options[option]), (file, module, options)


@pytest.mark.parametrize("role", ["benchmark", "compare", "calibrate", "conformance"])
def test_these_send_loads_and_questions(root: Path, role: str) -> None:
    assert [file for file, module, _options in asking(root) if module in ("vllm_perf", "picker_conformance") and file.startswith(role)]
