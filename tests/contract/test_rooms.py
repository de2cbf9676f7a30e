# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules of a cluster that each role may call, and the user's connection for each call. CONTRIBUTING.md has the same rule in words."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml

Task = dict[str, t.Any]
ROOT = Path(__file__).resolve().parents[2]
OURS, KUBERNETES = "llm_d.inference.", "kubernetes.core."
CONNECTION = "group/llm_d.inference.connection"

# These apply, delete or install objects, so only `objects` calls them.
ONLY_OBJECTS = {f"{OURS}cluster_objects", f"{OURS}crd_bundles", f"{OURS}helm_release", f"{KUBERNETES}helm"}
# These change nothing in a cluster; any role may call them.
READ_ONLY = {
    f"{OURS}{name}"
    for name in (
        "cluster_access", "cluster_drift", "cluster_evidence", "cluster_preflight", "cluster_record", "cluster_snapshot", "gpu_use", "resource_ready",
        "stack_diagnosis", "stack_use", "stack_validation", "vllm_health", "vllm_health_info",
    )
} | {f"{KUBERNETES}k8s_info"}  # fmt: skip
# Modules for one step each that is no list of definitions; only the role of that step calls it.
STEPS = {
    "record": {f"{OURS}run_lease"},
    "prerequisites": {f"{OURS}crd_removal", f"{OURS}project_requests", f"{OURS}stack_secrets"},
    "gpu_operator": {f"{OURS}gpu_checks", f"{OURS}gpu_nodes", f"{OURS}install_plans"},
    "model_service": {f"{OURS}vllm_adapters", f"{OURS}vllm_warmup"},
    "benchmark": {f"{OURS}vllm_perf"},
    "compare": {f"{OURS}vllm_perf"},
    "conformance": {f"{OURS}conformance_suite", f"{OURS}picker_conformance"},
    "calibrate": {f"{OURS}vllm_perf"},
}
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir() if path.is_dir())


def read(path: Path) -> t.Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def walk(tasks: t.Iterable[Task], around: tuple[Task, ...] = ()) -> t.Iterator[tuple[Task, tuple[Task, ...]]]:
    """Each task with the blocks around it, the outermost first."""
    for task in tasks or []:
        yield task, around
        for part in ("block", "rescue", "always"):
            yield from walk(task.get(part, []), (*around, task))


def files(role: str) -> dict[str, list[Task]]:
    return {path.name: read(path) for path in sorted((ROOT / "roles" / role / "tasks").glob("*.yml"))}


def connected() -> set[str]:
    """The modules that take the connection of our roles."""
    groups = read(ROOT / "meta/runtime.yml")["action_groups"]
    names = {f"{OURS}{name}" for group in ("cluster", "connection") for name in groups[group] if isinstance(name, str)}
    assert groups["connection"][0] == {"metadata": {"extend_group": ["cluster"]}}
    return names | {f"{KUBERNETES}{name}" for name in ("k8s", "k8s_info", "helm", "helm_info")}


def calls(role: str) -> list[tuple[str, str, Task, tuple[Task, ...]]]:
    """(file, module, task, blocks around it) of each call of a module that talks to a cluster."""
    names = connected()
    entries = [(name, task, around) for name, tasks in files(role).items() for task, around in walk(tasks)]
    return [(name, key, task, around) for name, task, around in entries for key in task if key in names or key.startswith(KUBERNETES)]


def test_every_role_has_defaults_metadata_argument_specs_and_a_readme() -> None:
    """Every role has these files, as CONTRIBUTING.md says; the README is generated."""
    needed = ("defaults/main.yml", "meta/main.yml", "meta/argument_specs.yml", "README.md")
    assert not [f"{role}/{name}" for role in ROLES for name in needed if not (ROOT / "roles" / role / name).is_file()]
    assert [role for role in ROLES if not (ROOT / "roles" / role / "tasks/main.yml").is_file()] == ["objects"]


def test_every_role_is_read() -> None:
    assert {"objects", "prerequisites", "gateway_provider"} <= set(ROLES)
    called = {module for role in ROLES for _file, module, *_rest in calls(role)}
    assert called == ONLY_OBJECTS | READ_ONLY | set().union(*STEPS.values()), "no entry without a call, and no call without an entry"


@pytest.mark.parametrize("role", ROLES)
def test_a_role_calls_what_it_may(role: str) -> None:
    allowed = READ_ONLY | STEPS.get(role, set()) | (ONLY_OBJECTS if role == "objects" else set())
    forbidden = {f"{name}: {module}" for name, module, *_rest in calls(role) if module not in allowed}
    assert not forbidden, "hand a list of definitions to the role objects, or enter the module in this file and in CONTRIBUTING.md"


def test_a_step_belongs_to_the_role_that_calls_it() -> None:
    for role, modules in STEPS.items():
        assert modules == {module for _name, module, *_rest in calls(role)} - READ_ONLY
    assert not ONLY_OBJECTS & READ_ONLY and not set().union(*STEPS.values()) & (READ_ONLY | ONLY_OBJECTS)


@pytest.mark.parametrize("role", ROLES)
def test_a_call_gets_the_connection_and_only_from_module_defaults(role: str) -> None:
    """Each task file of `objects` sets them, since it may be called alone; main.yml of other roles sets them once for the whole role."""
    for name, module, task, around in calls(role):
        arguments = task[module] or {}
        assert not {"kubeconfig", "context"} & set(arguments), f"{role}/{name}: {task['name']}"
        if role == "objects":
            given = [each["module_defaults"][CONNECTION] for each in (*around, task) if CONNECTION in each.get("module_defaults", {})]
            assert given == ["{{ __objects_connection }}"], f"{name}: {task['name']}"
    if role != "objects" and calls(role):
        tasks = files(role)
        (outer,) = tasks["main.yml"]
        assert outer["module_defaults"] == {CONNECTION: f"{{{{ __{role}_facts.connection }}}}"}
        assert f"{OURS}role_facts" in outer["block"][0] and outer["block"][0]["register"] == f"__{role}_facts"
        inner = [task for each in tasks.values() for task, _around in walk(each) if task is not outer and "module_defaults" in task]
        assert not inner, "once for each role"


def test_a_role_is_entered_where_its_connection_is_set() -> None:
    """Roles are entered by their main.yml, except `objects`, and the load of the benchmark, which the validation includes in its own block."""
    sources = [*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("playbooks/*.yml"), *ROOT.glob("molecule/*/*.yml")]
    entered = set()
    for path in sources:
        for entry in [each for each in read(path) if isinstance(each, dict)]:
            for task, _around in walk([entry] if "hosts" not in entry else entry.get("tasks", [])):
                for how in ("include_role", "import_role"):
                    included = task.get(f"ansible.builtin.{how}") or {}
                    if included.get("tasks_from") and included["name"] != f"{OURS}objects":
                        entered.add((path.relative_to(ROOT).parts[1], included["name"], included["tasks_from"]))
    assert entered == {("validation", f"{OURS}benchmark", "load")}


def test_no_role_replaces_the_module_defaults_of_the_users_play() -> None:
    """Defaults for one group name in an inner block replace those of an outer one, so our roles use a separate group."""
    text = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("roles/*/tasks/*.yml"))
    assert CONNECTION in text and "group/llm_d.inference.cluster" not in text and "group/kubernetes.core" not in text


def test_contributing_lists_the_same_modules_for_each_role() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (rules,) = re.findall(r"^Modules that talk to a cluster .*?\n\n- (.*?)\n- (.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    assert {name if "." in name else f"{OURS}{name}" for name in re.findall(r"`([\w.]+)`", rules[0])} == READ_ONLY
    for role, modules in STEPS.items():
        parts = [part for part in rules[1].split(";") if role in part]
        assert {f"{OURS}{name}" for part in parts for name in re.findall(r"`(\w+)`", part)} == modules, role


def test_tasks_use_failed_when_only_with_the_value_false() -> None:
    """ansible-core 2.21 puts "A 'failed_when' expression evaluated to 'True'" in the place of the module's message: the module or a later task fails."""
    books = {path.name: read(path) for path in ROOT.glob("playbooks/*.yml")}
    listed = [*(tasks for role in ROLES for tasks in files(role).values()), *books.values()]
    failing = [task for tasks in listed for task, _around in walk(tasks) if "failed_when" in task]
    assert len(failing) > 5
    assert not [task["name"] for task in failing if task["failed_when"] is not False]


def test_yaml_builds_no_data_with_a_loop_of_jinja() -> None:
    """A template may loop to print; data comes from a filter, a lookup or a module."""
    sources = [*ROOT.glob("roles/*/*/*.yml"), *ROOT.glob("playbooks/*.yml"), *ROOT.glob("molecule/**/*.yml"), *ROOT.glob("inventories/**/*.yml")]
    assert len(sources) > 80
    assert not [str(path) for path in sources if re.search(r"\{%-?\s*(for|set)\b", path.read_text(encoding="utf-8"))]


def test_no_role_computes_a_value_with_a_loop_over_one_item() -> None:
    loops = [f"{role}/{name}: {task['name']}" for role in ROLES for name, tasks in files(role).items() for task, _around in walk(tasks)
             if isinstance(task.get("loop"), list) and len(task["loop"]) == 1]  # fmt: skip
    assert not loops, "register the result of llm_d.inference.role_facts, or use set_fact"
