# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python code that may connect to a cluster.

- A cluster is reached through `module_utils/k8s/client.py` alone; nothing else imports the Kubernetes client or kubernetes.core.
- Of the packages of module_utils, those in PACKAGES use a connection that they are given; two modules of them (CONNECTS) make one for options of a module.
- A module that can reach a cluster takes a kubeconfig, and is in the action group `cluster`. test_local_images.py has the exceptions.
- Filters, lookups and the packages of the plan compute, and reach no cluster.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import yaml
from plays import ROOT

PLUGINS = ROOT / "plugins"
CLIENT = "module_utils.k8s.client"
PACKAGES = {"k8s", "inference", "schedulers", "benchmark", "preflight", "validation", "diagnosis"}
CONNECTS = {"module_utils.inference.targets", "module_utils.benchmark.target"}
LIBRARY = {"module_utils.k8s.client", "module_utils.k8s.compat", "action.cluster_objects"}
# They can reach a cluster, and take its kubeconfig as one of several ways to reach a server.
OUTSIDE_THE_GROUP = {"vllm_health", "vllm_health_info"}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PLUGINS).with_suffix("").parts)


SOURCES = {name_of(path): path for path in sorted(PLUGINS.rglob("*.py")) if not path.is_symlink()}


@functools.cache
def imports(name: str) -> tuple[frozenset[str], frozenset[tuple[str, str]], frozenset[str]]:
    """(our modules that a module imports, (module, name) of each import from them, foreign packages), at any place of the module."""
    modules: set[str] = set()
    names: set[tuple[str, str]] = set()
    foreign: set[str] = set()
    for node in ast.walk(ast.parse(SOURCES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            foreign |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            foreign |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = ".".join([*name.split(".")[: -node.level], *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                if package in SOURCES:
                    modules.add(package)
                    names.add((package, alias.name))
                elif f"{package}.{alias.name}" in SOURCES:
                    modules.add(f"{package}.{alias.name}")
                    names.add((f"{package}.{alias.name}", "*"))
    return frozenset(modules), frozenset(names), frozenset(foreign)


@functools.cache
def reached(name: str) -> frozenset[str]:
    """A module, and all of our modules that it imports, directly or not."""
    visited: set[str] = set()
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each not in visited:
            visited.add(each)
            waiting += imports(each)[0]
    return frozenset(visited)


def calls_connect(name: str) -> bool:
    """Whether a module imports connect, or imports the client module and calls its connect."""
    names = imports(name)[1]
    if (CLIENT, "connect") in names:
        return True
    if (CLIENT, "*") not in names:
        return False
    tree = ast.parse(SOURCES[name].read_text(encoding="utf-8"))
    return any(isinstance(node, ast.Attribute) and node.attr == "connect" for node in ast.walk(tree))


def test_one_package_knows_the_libraries_of_kubernetes():
    users = {
        name for name in SOURCES if any(each.split(".")[0] == "kubernetes" or each.startswith("ansible_collections.kubernetes") for each in imports(name)[2])
    }
    assert users == LIBRARY


def test_the_packages_that_use_a_connection():
    users = {name.split(".")[1] for name in SOURCES if name.startswith("module_utils.") and (name == CLIENT or CLIENT in imports(name)[0])}
    assert users == PACKAGES


def test_only_modules_and_the_listed_helpers_open_a_cluster_connection():
    connecting = {name for name in SOURCES if calls_connect(name)}
    assert {name for name in connecting if not name.startswith("modules.")} == CONNECTS
    assert len(connecting) > 20, "most modules of the group connect"


def test_modules_that_can_reach_a_cluster_are_in_the_action_group():
    group = yaml.safe_load((ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))["action_groups"]["cluster"]
    reaching = {name.removeprefix("modules.") for name in SOURCES if name.startswith("modules.") and CLIENT in reached(name)}
    # These have an action plugin that calls modules of the group, and no code of their own.
    by_action = {"cluster_objects", "stack_secrets"}
    assert reaching | by_action == {each for each in group if isinstance(each, str)} | OUTSIDE_THE_GROUP


def test_filters_lookups_and_plan_packages_reach_no_cluster():
    computing = [name for name in SOURCES if name.startswith(("filter.", "lookup."))]
    computing += [name for name in SOURCES if name.split(".")[:2] in (["module_utils", "plan"], ["module_utils", "schema"], ["module_utils", "epp"])]
    assert computing
    assert {name: CLIENT for name in computing if CLIENT in reached(name)} == {}
