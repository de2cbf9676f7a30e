# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conformance suite of the inference extension: its requirements on a cluster, the results in its output, and a page about them. Pure."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ..common.objects import Facts, condition, get_path, mapping, text
from ..common.text import pluralize, shorten
from ..releases.conformance import KNOWN_FAILURES

# The namespaces of the suite, and their label.
NAMESPACES = ("inference-conformance-infra", "inference-conformance-app-backend")
LABEL = "inference-conformance"
POOLS = "inferencepools.inference.networking.k8s.io"
# CRDs that the suite needs.
CRDS = ("gateways.gateway.networking.k8s.io", "httproutes.gateway.networking.k8s.io", POOLS)
# CRDs of the experimental API group. The suite does not start where these and POOLS have different values of the annotation BUNDLE.
EXPERIMENTAL_CRDS = tuple(
    f"{plural}.inference.networking.x-k8s.io" for plural in ("inferencepools", "inferencepoolimports", "inferenceobjectives", "inferencemodelrewrites")
)
BUNDLE = "inference.networking.k8s.io/bundle-version"
ROOT = "Conformance"

_BEGIN = re.compile(r"=== (?:RUN|NAME|CONT) +Conformance(?:/([\w.-]+))?")
_END = re.compile(r" *--- (PASS|FAIL|SKIP): Conformance/([\w.-]+) \(([0-9.]+)s\)$")
_LOGGED = re.compile(r" +[\w.-]+\.go:[0-9]+: (?:[0-9-]{10}T[0-9:.]+Z: )?(.*)$")
_HOUSEKEEPING = ("Applying ", "Creating ", "Updating ", "Deleting ")  # log lines from before and after a test
_RESULTS = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
_WHY = 400  # characters of a reason
# The entry that Go writes into a program for a module, followed by a version or `(devel)`.
_SUITE = b"\tsigs.k8s.io/gateway-api-inference-extension/conformance\t"
_VERSION = 64  # bytes of a version
# The start of a manifest: the program embeds its YAML files unchanged.
_MANIFEST = re.compile(rb"apiVersion: ([\w./-]+)\r?\nkind: (\w+)\r?\nmetadata:\r?\n(?:  [^\n]*\n)*?  name: ([\w.-]+)")
PLACEHOLDER = "placeholder"  # name of the pod that suite.py creates


def suite_version(program: t.Any) -> str:
    """The version of the suite in a program, such as `v1.6.0`; empty where it has none. program: its bytes, or a memory map."""
    at = program.find(_SUITE)
    while at >= 0:
        start = at + len(_SUITE)
        version = program[start : start + _VERSION].split(b"\t")[0].split(b"\n")[0].decode("ascii", "replace")
        if version[:1] == "v" and version[1:2].isdigit():
            return str(version)
        at = program.find(_SUITE, start)
    return ""


def suite_objects(program: t.Any) -> list[Facts]:
    """References to the objects of the manifests in a program, in each of the suite's namespaces. program: its bytes, or a memory map."""
    manifests = dict.fromkeys((version.decode(), kind.decode(), name.decode()) for version, kind, name in _MANIFEST.findall(program))
    return [
        {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}
        for version, kind, name in [*manifests, ("v1", "Pod", PLACEHOLDER)]
        for namespace in NAMESPACES
    ]


def crd_versions(crds: c.Mapping[str, Facts | None]) -> dict[str, str]:
    """The version of each CRD of the inference extension; empty where its annotation is missing."""
    return {name: text(get_path(crd, "metadata", "annotations", BUNDLE)) for name, crd in crds.items() if crd and name in (POOLS, *EXPERIMENTAL_CRDS)}


def lacking(gateway_class: str, live: Facts | None, crds: c.Mapping[str, Facts | None], namespaces: c.Mapping[str, Facts | None]) -> list[str]:
    """Why the suite cannot run in the cluster, one line for each problem with its remedy.

    live: the GatewayClass; crds: each of CRDS; namespaces: each of NAMESPACES. None for one that does not exist.
    """
    problems = [f"the CRD {name} is missing: run playbooks/prerequisites.yml" for name in CRDS if crds.get(name) is None]
    if live is None:
        problems.append(f"there is no GatewayClass {gateway_class}: deploy a gateway, or name another class (conformance_gateway_class)")
    elif condition(live.get("status"), "Accepted").get("status") != "True":
        problems.append(f"the GatewayClass {gateway_class} is not accepted by its controller: {text(condition(live.get('status'), 'Accepted').get('message'))}")
    foreign = [name for name, item in namespaces.items() if item and not is_of_suite(item)]
    return problems + [f"the namespace {name} exists and is not the suite's (no label {LABEL}): the suite would write into it" for name in foreign]


def mismatches(suite: str, versions: c.Mapping[str, str]) -> list[str]:
    """A line for each difference between the versions of the CRDs and the suite. suite: from suite_version; versions: from crd_versions."""
    allow = "or allow it: conformance_other_crds=true"
    lines = [f"the CRD {name} has no annotation {BUNDLE}, by which the report names its version: add it, {allow}" for name in versions if not versions[name]]
    of_pools = versions.get(POOLS, "")
    if suite and of_pools and _minor(suite) != _minor(of_pools):
        lines.append(
            f"the CRD {POOLS} is {of_pools} and the suite {suite}, which tests features that other versions do not have: "
            f"use CRDs and a suite of one version, {allow}"
        )
    if len({version for version in versions.values() if version}) > 1:
        each = ", ".join(f"{name} {version}" for name, version in versions.items())
        lines.append(f"the CRDs of the inference extension are of several versions, with which the suite does not start ({each}): install one of them, {allow}")
    return lines


def _minor(version: str) -> list[str]:
    return version.lstrip("v").split(".")[:2]


def known_failures(provider: str, version: str) -> dict[str, Facts]:
    """Rows of KNOWN_FAILURES for a version of a provider, by the name of the test."""
    return {row["test"]: row for row in KNOWN_FAILURES if row["provider"] == provider and version and _number(version) <= _number(row["through"])}


def _number(version: str) -> list[int]:
    """The numbers of a version; a pre-release counts as its release."""
    return [int(part) if part.isdecimal() else 0 for part in version.lstrip("v").partition("-")[0].split(".")]


def is_of_suite(namespace: Facts) -> bool:
    """Whether a namespace has the label that the suite gives it."""
    return LABEL in mapping(get_path(namespace, "metadata", "labels"))


def results(output: c.Iterable[str]) -> list[Facts]:
    """The tests in the order of their end: {name, result: passed, failed or skipped, seconds, why}. output: lines of the program with -test.v."""
    tests: dict[str, Facts] = {}
    logged: dict[str, Logged] = {}
    current = ""
    for line in output:
        if begin := _BEGIN.match(line):
            current = (begin[1] or "").partition("/")[0]
        elif end := _END.match(line):
            tests[end[2]] = {"name": end[2], "result": _RESULTS[end[1]], "seconds": float(end[3]), "why": ""}
        else:
            logged.setdefault(current, Logged()).add(line)
    for name, test in tests.items():
        if test["result"] != "passed":
            test["why"] = shorten(logged.get(name, Logged()).why() or "the suite does not say why", _WHY)
    return list(tests.values())


class Logged:
    """The log of a test, from which the reason of its result is read: errors of assertions with their messages, waits that timed out, else the last line."""

    def __init__(self) -> None:
        self._errors: list[str] = []
        self._last = ""
        self._follows = False  # the text of an error is in the next line

    def add(self, line: str) -> None:
        """Adds a line of the suite's output."""
        words, logged = line.strip(), _LOGGED.match(line)
        if self._follows and words and not logged:
            self._errors[-1] += f" {words}"
            self._follows = False
        for mark in ("Error:", "Messages:"):
            if words.startswith(mark):
                self._error(words.removeprefix(mark).strip())
                self._follows = words.endswith("error:")
        if logged and not logged[1].startswith(_HOUSEKEEPING):
            self._last = logged[1].strip() or self._last
            if logged[1].startswith("timeout "):
                self._error(self._last)

    def _error(self, text: str) -> None:
        if text not in self._errors:
            self._errors.append(text)

    def why(self) -> str:
        """The reason; empty where the test logged nothing."""
        return "; ".join(self._errors[-2:]) or self._last


def summary(tests: c.Sequence[Facts], ended: str, about: Facts, seconds: float, known: c.Mapping[str, Facts] | None = None) -> Facts:
    """{ok, summary, tests, seconds}, and `about`, which names the tested object. ended: why the run as a whole failed, empty where it completed; known: from
    known_failures. A known failure still counts as a failure; `known` of its test is the cause.
    """
    known = known or {}
    count = {word: len([test for test in tests if test["result"] == word]) for word in _RESULTS.values()}
    failed = [test["name"] for test in tests if test["result"] == "failed"]
    line = f"{pluralize(len(tests), 'test')}: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped"
    line += f" ({', '.join(name + (' (known)' if name in known else '') for name in failed)} failed)" if failed else ""
    ok = bool(tests) and not failed and not ended
    rows = [{**test, "known": _cause(known, test)} for test in tests]
    return {"ok": ok, "summary": line + (f". {ended}" if ended else ""), "tests": rows, **about, "seconds": round(seconds, 1)}


def _cause(known: c.Mapping[str, Facts], test: Facts) -> str:
    """The known cause of the failure of a test; empty where it did not fail, or the failure is not known."""
    row = known.get(test["name"]) if test["result"] == "failed" else None
    return f"known of {row['provider']} up to {row['through']}: {row['cause']} ({row['source']})" if row else ""


def page(result: Facts, title: str, subject: str, notes: c.Sequence[str] = ()) -> str:
    """The summary in Markdown. result: from summary; subject: the tests and their target, as text; notes: further paragraphs."""
    lines = [
        f"# {title}",
        "",
        f"{subject}, {result['seconds']:g} s. {result['summary']}.",
        "",
        *(line for note in notes for line in (_cell(note), "")),
        "| test | result | seconds | why |",
        "| --- | --- | --- | --- |",
    ]
    for test in result["tests"]:
        why = "; ".join(part for part in (test["known"], test["why"]) if part)
        lines.append(f"| {_named(test)} | {test['result']} | {test['seconds']:g} | {_cell(why)} |")
    return "\n".join(lines) + "\n"


def notes(state: Facts) -> list[str]:
    """Paragraphs about the versions. state: {suite, crds}, a version each, and `mismatches`."""
    versions = f"Version of the suite: {state['suite'] or 'its program does not say'}. Version of the CRD {POOLS}: {state['crds'] or 'not annotated'}."
    return [versions, *(f"Allowed by conformance_other_crds: {line}" for line in state["mismatches"])]


def _named(test: Facts) -> str:
    """The name of a test, with its requirement and the section that demands it, where the test has them."""
    return f"`{test['name']}` {_cell(test['title'])} ({test['section']})" if "title" in test else text(test["name"])


def _cell(content: str) -> str:
    """Text in one line, escaped for a cell of a Markdown table."""
    return " ".join(content.split()).replace("|", "\\|").replace("<", "&lt;")
