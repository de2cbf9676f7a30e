# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each module is documented as internal to our roles, or it is on docs/plugins.md with examples that run by themselves."""

from __future__ import annotations

import functools
import re
import typing as t

import pytest
import yaml
from ansible.plugins.loader import fragment_loader
from ansible.utils.plugin_docs import get_docstring
from jinja2 import meta
from jinja2.sandbox import SandboxedEnvironment
from plays import ROOT

from tools import public_plugins

Facts = dict[str, t.Any]
OURS, INTERNAL = "llm_d.inference.", "llm_d.inference.internal"
MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py"))
PUBLIC = [name for names in public_plugins.PUBLIC.values() for name in names]
# Keys of a task other than its module.
KEYWORDS = {"name", "register", "loop", "when", "check_mode", "diff", "environment", "vars"}
# It needs the plan of our file.
OF_OUR_FILE = {"stack_diagnosis"}


@functools.cache
def options(module: str) -> Facts:
    """The options of a module, with those of its fragments."""
    path = ROOT / f"collections/ansible_collections/llm_d/inference/plugins/modules/{module}.py"
    document, _examples, _returned, _metadata = get_docstring(
        str(path), fragment_loader, collection_name="llm_d.inference", is_module=True, plugin_type="module"
    )
    return dict(document["options"])


def examples(module: str) -> list[Facts]:
    tasks = yaml.safe_load(public_plugins.documents(module)["EXAMPLES"])
    assert tasks and isinstance(tasks, list)
    return list(tasks)


def problems(given: t.Any, known: Facts, place: str) -> t.Iterator[str]:
    """The unknown options of an example, its missing required options and its invalid choices. known: the options."""
    if not isinstance(given, dict):  # an expression
        return
    yield from (f"{place}.{name} is no option" for name in given if name not in known)
    yield from (f"{place}.{name} is left out" for name, option in known.items() if option.get("required") and name not in given)
    for name, value in given.items():
        option = known.get(name, {})
        if option.get("choices"):
            yield from (f"{place}.{name}: {each!r}" for each in (value if isinstance(value, list) else [value]) if each not in option["choices"])
        if option.get("suboptions"):
            for each in value if isinstance(value, list) else [value]:
                yield from problems(each, option["suboptions"], f"{place}.{name}")


def test_each_module_is_documented_as_internal_or_public() -> None:
    internal = [name for name in MODULES if INTERNAL in yaml.safe_load(public_plugins.documents(name)["DOCUMENTATION"])["extends_documentation_fragment"]]
    assert sorted(internal + PUBLIC) == MODULES and len(PUBLIC) < 20
    page = (ROOT / "docs/plugins.md").read_text(encoding="utf-8")
    assert re.findall(r"^### `(\w+)`$", page, re.MULTILINE) == PUBLIC


@pytest.mark.parametrize("module", PUBLIC)
def test_examples_use_options_that_there_are(module: str) -> None:
    tasks = examples(module)
    assert any(f"{OURS}{module}" in task for task in tasks)
    for task in tasks:
        (action,) = set(task) - KEYWORDS
        assert task["name"]
        if action.startswith(OURS):
            assert not list(problems(task[action] or {}, options(action.removeprefix(OURS)), action)), task["name"]
            assert action.removeprefix(OURS) in PUBLIC


@pytest.mark.parametrize("module", PUBLIC)
def test_module_examples_use_no_variable_that_another_task_must_set(module: str) -> None:
    """They use no variable that another task or role would have to set; a user's secrets begin with `vault_`."""
    tasks = examples(module)
    defined = {task["register"] for task in tasks if "register" in task} | {"item", "lookup", "query"}
    environment = SandboxedEnvironment()
    # Stand-ins for Ansible's filters: only their names matter here.
    text = public_plugins.documents(module)["EXAMPLES"]
    environment.filters.update(dict.fromkeys(re.findall(r"\|\s*([\w.]+)", text), str))
    assert {name for name in meta.find_undeclared_variables(environment.parse(text)) if not name.startswith("vault_")} <= defined
    alone = [task for task in tasks if f"{OURS}{module}" in task and "llm_d.inference.plan" not in str(task)]
    assert alone or module in OF_OUR_FILE
