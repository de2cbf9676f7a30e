# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets the answers of a survey at their places in a variable of the user's file. Pure."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ..common.scalars import blank
from .fields import suggest

_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\[\]]*)\]")


class AnswerError(ValueError):
    """An answer without a place in the value: its path, the reason, and what to write instead."""

    def __init__(self, path: str, reason: str, fix: str) -> None:
        super().__init__(f"{path}: {reason} {fix}")
        self.path, self.reason, self.fix = path, reason, fix


def answered(value: t.Any, answers: c.Mapping[str, t.Any], add: bool = True) -> t.Any:
    """The value with the answers in it, or the value itself if all answers are empty. A value of None then stays None.

    answers: by path, such as `slo.ttft_p90_ms` or `[qwen].model.uri`: the element of that name, which is added where there is none; `[]` is the only element.
    An empty path is the value itself. add: whether an element may be added. Raises AnswerError.
    """
    given = {path: answer for path, answer in answers.items() if answer not in (None, []) and not blank(answer)}
    for path, answer in given.items():
        value = _placed(value, [(step[1] is not None, step[1] or step[2]) for step in _steps(path)], answer, path, add)
    return value


def _steps(path: str) -> list[re.Match[str]]:
    steps = list(_STEP.finditer(path))
    if "".join(step[0] for step in steps) != path:
        raise AnswerError(path, "a name has no dots and brackets.", "Answer a name such as qwen.")
    return steps


def _placed(value: t.Any, steps: c.Sequence[tuple[bool, str]], answer: t.Any, path: str, add: bool) -> t.Any:
    """A copy of the value with the answer at the end of the steps: (whether it is a key, the key or the name of an element)."""
    if not steps:
        return answer
    (is_key, name), rest = steps[0], steps[1:]
    if is_key:
        mapping: dict[str, t.Any] = _of(value, dict, "mapping", path)
        return {**mapping, name: _placed(mapping.get(name), rest, answer, path, add)}
    elements: list[t.Any] = _of(value, list, "list", path)
    index = _index(elements, name, path, add)
    old = elements[index] if index < len(elements) else {"name": name} if name else {}
    return [*elements[:index], _placed(old, rest, answer, path, add), *elements[index + 1 :]]


def _of(value: t.Any, kind: type, word: str, path: str) -> t.Any:
    """A value of a type; an empty one if the file does not set it."""
    if value is None or blank(value):
        return kind()
    if not isinstance(value, kind):
        raise AnswerError(path, f"the inventory has no {word} there.", f"Leave the answer empty, or write a {word} into the inventory.")
    return value


def _index(value: list[t.Any], name: str, path: str, add: bool) -> int:
    """The position of the element of this name, or of the only one where it is empty; the end of the list for a new one."""
    names = [str(each.get("name", "")) if isinstance(each, dict) else "" for each in value]
    if name in names:
        return names.index(name)
    if name and not add:
        near = suggest(name, names)
        has = f"has {', '.join(names)}" if names else "has none"
        raise AnswerError(path, f"the inventory has no '{name}': it {has}.", f"Did you mean '{near}'?" if near else "Answer one of them.")
    if not name and len(value) > 1:
        raise AnswerError(path, f"the inventory has {', '.join(names)}.", "Answer the name of one of them.")
    return len(value) if name else 0
