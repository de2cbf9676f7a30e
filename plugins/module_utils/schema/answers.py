# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets the answers of a survey at their places in a variable of the user's file. Pure."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ..common.scalars import blank

_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\[\]]*)\]")


class AnswerError(ValueError):
    """An answer without a place in the value. The message has its path and the reason."""


def answered(value: t.Any, answers: c.Mapping[str, t.Any]) -> t.Any:
    """The value with the answers in it, or the value itself if all answers are empty. A value of None then stays None.

    answers: by path, such as `slo.ttft_p90_ms` or `[qwen].model.uri`: the element of that name, which is added where there is none; `[]` is the only element.
    An empty path is the value itself. Raises AnswerError.
    """
    given = {path: answer for path, answer in answers.items() if answer not in (None, []) and not blank(answer)}
    for path, answer in given.items():
        value = _placed(value, [(step[1] is not None, step[1] or step[2]) for step in _steps(path)], answer, path)
    return value


def _steps(path: str) -> list[re.Match[str]]:
    steps = list(_STEP.finditer(path))
    if "".join(step[0] for step in steps) != path:
        raise AnswerError(f"{path!r} is no path: write one such as '[qwen].model.uri'")
    return steps


def _placed(value: t.Any, steps: c.Sequence[tuple[bool, str]], answer: t.Any, path: str) -> t.Any:
    """A copy of the value with the answer at the end of the steps: (whether it is a key, the key or the name of an element)."""
    if not steps:
        return answer
    (is_key, name), rest = steps[0], steps[1:]
    if is_key:
        mapping: dict[str, t.Any] = _of(value, dict, "mapping", path)
        return {**mapping, name: _placed(mapping.get(name), rest, answer, path)}
    elements: list[t.Any] = _of(value, list, "list", path)
    index = _index(elements, name, path)
    old = elements[index] if index < len(elements) else {"name": name} if name else {}
    return [*elements[:index], _placed(old, rest, answer, path), *elements[index + 1 :]]


def _of(value: t.Any, kind: type, word: str, path: str) -> t.Any:
    """A value of a type; an empty one if the file does not set it."""
    if value is None or blank(value):
        return kind()
    if not isinstance(value, kind):
        raise AnswerError(f"{path}: the file has no {word} there, and the answer would replace what it has: leave the answer empty, or write a {word}")
    return value


def _index(value: list[t.Any], name: str, path: str) -> int:
    """The position of the element of this name, or of the only one where it is empty; the end of the list for a new one."""
    names = [str(each.get("name", "")) if isinstance(each, dict) else "" for each in value]
    if name:
        return names.index(name) if name in names else len(value)
    if len(value) > 1:
        raise AnswerError(f"{path}: the file has {', '.join(names)}: answer which of them it is")
    return 0
