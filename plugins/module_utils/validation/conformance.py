# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conformance suite of the inference extension: what it needs of a cluster, what its output says, and a page about that. Pure."""

from __future__ import annotations

import collections.abc as c
import re

from ..common.objects import Facts, condition, get_path, mapping, text
from ..common.text import pluralize, shorten

# Its namespaces, and the label that it gives them.
NAMESPACES = ("inference-conformance-infra", "inference-conformance-app-backend")
LABEL = "inference-conformance"
CRDS = ("gateways.gateway.networking.k8s.io", "httproutes.gateway.networking.k8s.io", "inferencepools.inference.networking.k8s.io")
BUNDLE = "inference.networking.k8s.io/bundle-version"
ROOT = "Conformance"

_BEGIN = re.compile(r"=== (?:RUN|NAME|CONT) +Conformance(?:/([\w.-]+))?")
_END = re.compile(r" *--- (PASS|FAIL|SKIP): Conformance/([\w.-]+) \(([0-9.]+)s\)$")
_LOGGED = re.compile(r" +[\w.-]+\.go:[0-9]+: (.*)$")
_WORDS = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
_WHY = 400  # characters of a reason


def lacking(gateway_class: str, found: Facts | None, crds: c.Mapping[str, Facts | None], namespaces: c.Mapping[str, Facts | None]) -> list[str]:
    """What of the cluster's does not do for the suite, each with what to do.

    found: the GatewayClass; crds: each of CRDS; namespaces: each of NAMESPACES. None for one that does not exist.
    """
    wrong = [f"the CRD {name} is missing: run playbooks/prerequisites.yml" for name, crd in crds.items() if crd is None]
    versions = {name: text(get_path(crd, "metadata", "annotations", BUNDLE)) for name, crd in crds.items() if crd and name.startswith("inferencepools.")}
    wrong += [f"the CRD {name} has no annotation {BUNDLE}, by which the report names its version" for name, version in versions.items() if not version]
    if found is None:
        wrong.append(f"there is no GatewayClass {gateway_class}: deploy a gateway, or name another class (conformance_gateway_class)")
    elif condition(found.get("status"), "Accepted").get("status") != "True":
        wrong.append(f"the GatewayClass {gateway_class} is not accepted by its controller: {text(condition(found.get('status'), 'Accepted').get('message'))}")
    foreign = [name for name, item in namespaces.items() if item and not is_of_suite(item)]
    return wrong + [f"the namespace {name} is there and is none of the suite's (no label {LABEL}): the suite would write into it" for name in foreign]


def is_of_suite(namespace: Facts) -> bool:
    """Whether a namespace has the label that the suite gives it."""
    return LABEL in mapping(get_path(namespace, "metadata", "labels"))


def results(output: c.Iterable[str]) -> list[Facts]:
    """The tests in the order of their end: {name, result: passed, failed or skipped, seconds, why}. output: lines of the program with -test.v."""
    found: dict[str, Facts] = {}
    reasons: dict[str, list[str]] = {}
    current = ""
    for line in output:
        if begin := _BEGIN.match(line):
            current = (begin[1] or "").partition("/")[0]
        elif end := _END.match(line):
            found[end[2]] = {"name": end[2], "result": _WORDS[end[1]], "seconds": float(end[3]), "why": ""}
        else:
            _note(line, reasons.setdefault(current, []))
    for name, test in found.items():
        if test["result"] != "passed":
            test["why"] = shorten("; ".join(reasons.get(name, [])[-2:]) or "the suite does not say why", _WHY)
    return list(found.values())


def _note(line: str, reasons: list[str]) -> None:
    """Keep a line of a test that may say why it ended as it did: what it logged last, or an error of an assertion and its message."""
    words = line.strip()
    if reasons and reasons[-1].endswith("error:") and words and not _LOGGED.match(line):
        reasons[-1] += f" {words}"  # its text is in the next line
        return
    for mark in ("Error:", "Messages:"):
        if words.startswith(mark):
            reasons.append(words.removeprefix(mark).strip())
            return
    logged = _LOGGED.match(line)
    if logged and logged[1].strip() and not (reasons and reasons[-1].startswith("Error")):
        reasons[:] = [*reasons[-3:], logged[1].strip()]


def summary(tests: c.Sequence[Facts], ended: str, gateway_class: str, seconds: float) -> Facts:
    """{ok, summary, tests, gateway_class, seconds}. ended: what is wrong with the whole run; empty where it ran to its end."""
    count = {word: len([test for test in tests if test["result"] == word]) for word in _WORDS.values()}
    failed = [test["name"] for test in tests if test["result"] == "failed"]
    said = f"{pluralize(len(tests), 'test')}: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped"
    said += f" ({', '.join(failed)} failed)" if failed else ""
    ok = bool(tests) and not failed and not ended
    return {
        "ok": ok,
        "summary": said + (f". {ended}" if ended else ""),
        "tests": list(tests),
        "gateway_class": gateway_class,
        "seconds": round(seconds, 1),
    }


def page(found: Facts) -> str:
    """The summary in Markdown."""
    lines = [
        "# Conformance of the gateway",
        "",
        f"The suite of the Gateway API inference extension against GatewayClass `{found['gateway_class']}`, {found['seconds']:g} s. {found['summary']}.",
        "",
        "| test | result | seconds | why |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {test['name']} | {test['result']} | {test['seconds']:g} | {_cell(test['why'])} |" for test in found["tests"]]
    return "\n".join(lines) + "\n"


def _cell(why: str) -> str:
    return " ".join(why.split()).replace("|", "\\|").replace("<", "&lt;")
