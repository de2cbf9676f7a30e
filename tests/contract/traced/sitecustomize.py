# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Traces one value through a play: each Python process of the play loads this module, since its folder is on PYTHONPATH (test_way_of_a_value.py).

A function of the checkout is on the way if it returns a structure with the value to a caller that is on the way too. Checks return none, so they
are not. The way ends where the module kubernetes.core.k8s would begin: nothing connects to a cluster. The trace is written to the file $TRACE,
one JSON document a line: {"way": [[file, function], ...]}, and at the end {"way": ..., "tasks": [file, ...], "definitions": [...]}.
"""

from __future__ import annotations

import json
import os
import sys
import types
import typing as t

ROOT, TRACE, VALUE = (os.environ[name] for name in ("TRACE_ROOT", "TRACE", "TRACE_VALUE"))
COLLECTION = "/collections/ansible_collections/llm_d/inference/"
NUMBER = int(VALUE)


def ours(path: str) -> str:
    """A file of the checkout relative to its root; empty for all others."""
    if COLLECTION in path:
        path = f"{ROOT}/{path.rpartition(COLLECTION)[2]}"
    return path.removeprefix(f"{ROOT}/") if path.startswith((f"{ROOT}/plugins/", f"{ROOT}/roles/")) else ""


def holds(value: t.Any) -> bool:
    """Whether the value, or any part of it, is the traced one."""
    if isinstance(value, str):
        return VALUE in value
    if isinstance(value, dict):
        return any(holds(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(holds(item) for item in value)
    return isinstance(value, int) and value == NUMBER


def stack(frame: types.FrameType | None) -> t.Iterator[types.FrameType]:
    """The frame and its callers, the innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def calls(frame: types.FrameType | None) -> list[types.FrameType]:
    """The running calls of our functions, the innermost first."""
    return [each for each in stack(frame) if ours(each.f_code.co_filename)]


def entry(frame: types.FrameType) -> list[str]:
    return [ours(frame.f_code.co_filename), frame.f_code.co_name]


def write(way: list[list[str]], **fields: t.Any) -> None:
    with open(TRACE, "a", encoding="utf-8") as file:
        file.write(json.dumps({"way": way, **fields}) + "\n")


# The functions that returned the value to a call that is still running, by the identity of its frame.
HANDED: dict[int, list[list[str]]] = {}


def profile(frame: types.FrameType, event: str, argument: t.Any) -> None:
    """Python calls this at each call and return."""
    if event != "return" or not ours(frame.f_code.co_filename):
        return
    below = HANDED.pop(id(frame), [])
    if holds(argument):
        callers = calls(frame.f_back)
        way = [*below, entry(frame)]
        if callers:
            HANDED.setdefault(id(callers[0]), []).extend(way)
        else:
            write(way)


def task_files(frame: types.FrameType) -> list[str]:
    """Files of the task that runs and of those that include it."""
    task = next(each.f_locals["self"]._task for each in stack(frame) if hasattr(each.f_locals.get("self"), "_task"))
    paths: list[str] = []
    while task is not None:
        path = task.get_path() if hasattr(task, "get_path") else None
        paths += [ours(path.rpartition(":")[0])] if path else []
        task = task._parent
    return [path for path in dict.fromkeys(paths) if path]


def call_main(name: str, arguments: dict[str, t.Any]) -> str:
    """Replaces each module: no objects exist, and the module that would apply the traced one fails."""
    here = sys._getframe(1)
    if name == "kubernetes.core.k8s" and holds(arguments):
        sys.setprofile(None)
        running = calls(here)
        way = [*(each for frame in running for each in HANDED.get(id(frame), [])), *map(entry, running)]
        write(way, tasks=task_files(here), definitions=[item for item in arguments["definition"] if holds(item)])
    return json.dumps({"changed": False, "existing": [], "definitions": []} if name.startswith("llm_d.") else {"failed": True, "msg": "traced"})


class Replace:
    """Replaces call_main in plugin_utils/in_process.py once that is loaded."""

    def find_spec(self, _name: str, _path: t.Any = None, _target: t.Any = None) -> None:
        module = sys.modules.get("ansible_collections.llm_d.inference.plugins.plugin_utils.in_process")
        if hasattr(module, "call_main"):
            module.call_main = call_main  # type: ignore[union-attr]


sys.meta_path.insert(0, Replace())  # type: ignore[arg-type]
sys.setprofile(profile)
