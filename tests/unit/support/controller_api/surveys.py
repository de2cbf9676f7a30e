# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Surveys: problems of their questions, and of the answers of a launch."""

from __future__ import annotations

import typing as t

from controller_api.fields import ENCRYPTED, Refused, Values
from controller_api.tables import REFUSALS, holding

TYPES = {
    **dict.fromkeys(("text", "textarea", "password", "multiplechoice", "multiselect"), ("str",)),
    "integer": ("int", "bool"),
    "float": ("float", "int"),
}
WORDS, CHOICES = ("text", "textarea", "password"), ("multiplechoice", "multiselect")


def checked(spec: Values, old: Values) -> Values:
    """The survey as it is stored. old: the survey that it replaces."""
    problem = ""
    for name, kind, words in (("name", str, "string"), ("description", str, "string"), ("spec", list, "list of items")):
        if name not in spec:
            problem = f"Field '{name}' is missing from survey spec."
        elif not isinstance(spec[name], kind):
            problem = f"Expected {words} for field '{name}', received {type(spec[name]).__name__} type."
    if spec.get("spec") == []:
        problem = "'spec' doesn't contain any items."
    if problem:
        raise Refused({"error": problem})
    kept = {question["variable"]: question.get("default") for question in old.get("spec", [])}
    for number, question in enumerate(spec["spec"]):
        names = {
            "question": question,
            "number": number,
            "kept": kept,
            "types": TYPES,
            "limits": ("int", "bool", "NoneType"),
            "choosing": CHOICES,
            "lines": lines,
        }
        before = [other["variable"] for other in spec["spec"][:number]]
        refusal = next(
            holding(REFUSALS["questions"], {**names, "before": before, "default": question.get("default", "") if isinstance(question, dict) else ""}), None
        )
        if refusal:
            raise Refused({"error": refusal["says"]})
    return {**spec, "spec": [_stored(question, kept) for question in spec["spec"]]}


def _stored(question: Values, kept: Values) -> Values:
    """A question as it is stored: choices and their defaults without blank lines; an encrypted default stands for the previous one."""
    names = [name for name in ("choices", "default") if question["type"] in CHOICES and isinstance(question.get(name), str)]
    if str(question.get("default")).startswith(ENCRYPTED):
        return {**question, "default": kept[question["variable"]]}
    return {**question, **{name: "\n".join(lines(question[name])) for name in names}}


def lines(text: str) -> list[str]:
    """The lines of a text that are not blank."""
    return [line for line in text.splitlines() if line.strip()]


def options(question: Values) -> list[str]:
    """The choices of a question."""
    choices = question["choices"]
    return lines(choices) if isinstance(choices, str) else list(choices)


def answer_problems(question: Values, answers: Values, required: bool = True) -> list[str]:
    """The problems of the answer to a question. required: whether the answer to a required question must be there."""
    name, kind = question["variable"], question["type"]
    missing = [f"'{name}' value missing"] if required and question["required"] else []
    if kind == "password" and answers.get(name) == ENCRYPTED:  # the default
        return missing if question.get("default") is None else []
    if name not in answers:
        return missing
    value = answers[name]
    if kind in CHOICES:
        if kind == "multiselect" and not isinstance(value, list):
            return [f"'{name}' value is expected to be a list."]
        given = value if kind == "multiselect" else [value]
        return [f"Value {one} for '{name}' expected to be one of {options(question)}." for one in given if one not in options(question)]
    kinds, words = {"integer": ((int,), "an integer"), "float": ((float, int), "a numeric type")}.get(kind, ((str,), "a string"))
    if type(value) not in kinds:
        return [f"Value {value} for '{name}' expected to be {words}."]
    return _out_of_bounds(question, value)


def _out_of_bounds(question: Values, value: t.Any) -> list[str]:
    name, low, high = question["variable"], question.get("min"), question.get("max")
    words = question["type"] in WORDS
    size = len(value) if words else value
    problems = []
    if low is not None and size < low:
        problems.append(f"'{name}' value {value} is too small ({f'length is {size} ' if words else ''}must be at least {low}).")
    if high is not None and size > high:
        problems.append(f"'{name}' value {value} is too large (must be no more than {high}).")
    return problems


def defaults(questions: list[Values]) -> Values:
    """The variables of a job without answers: the defaults that are valid answers. The default of a multiselect is a text, which is not."""
    values = {question["variable"]: question["default"] for question in questions if question.get("default") is not None}
    return {
        question["variable"]: values[question["variable"]] for question in questions if question["variable"] in values and not answer_problems(question, values)
    }
