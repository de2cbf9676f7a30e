# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conformance suite of the inference extension: what it needs of a cluster, what its output says, and a page about that. Pure."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ..common.objects import Facts, condition, get_path, mapping, text
from ..common.text import pluralize, shorten
from ..releases.conformance import KNOWN_FAILURES

# Its namespaces, and the label that it gives them.
NAMESPACES = ("inference-conformance-infra", "inference-conformance-app-backend")
LABEL = "inference-conformance"
POOLS = "inferencepools.inference.networking.k8s.io"
CRDS = ("gateways.gateway.networking.k8s.io", "httproutes.gateway.networking.k8s.io", POOLS)
# Further CRDs with the annotation BUNDLE. Where they differ, the suite does not begin.
BESIDE = tuple(
    f"{plural}.inference.networking.x-k8s.io" for plural in ("inferencepools", "inferencepoolimports", "inferenceobjectives", "inferencemodelrewrites")
)
BUNDLE = "inference.networking.k8s.io/bundle-version"
ROOT = "Conformance"

_BEGIN = re.compile(r"=== (?:RUN|NAME|CONT) +Conformance(?:/([\w.-]+))?")
_END = re.compile(r" *--- (PASS|FAIL|SKIP): Conformance/([\w.-]+) \(([0-9.]+)s\)$")
_LOGGED = re.compile(r" +[\w.-]+\.go:[0-9]+: (?:[0-9-]{10}T[0-9:.]+Z: )?(.*)$")
_HOUSEKEEPING = ("Applying ", "Creating ", "Updating ", "Deleting ")  # before and after a test
_WORDS = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
_WHY = 400  # characters of a reason
# As Go writes the modules of a program into it: with a version, or `(devel)`.
_SUITE = b"\tsigs.k8s.io/gateway-api-inference-extension/conformance\t"
_VERSION = 64  # bytes of one
# Manifests are in a program as they are in their files.
_MANIFEST = re.compile(rb"apiVersion: ([\w./-]+)\r?\nkind: (\w+)\r?\nmetadata:\r?\n(?:  [^\n]*\n)*?  name: ([\w.-]+)")
PLACEHOLDER = "placeholder"  # name of a pod of ours


def suite_version(program: t.Any) -> str:
    """The version of the suite in a program, such as `v1.6.0`; empty where it does not say. program: its bytes, or a map of them."""
    at = program.find(_SUITE)
    while at >= 0:
        start = at + len(_SUITE)
        version = program[start : start + _VERSION].split(b"\t")[0].split(b"\n")[0].decode("ascii", "replace")
        if version[:1] == "v" and version[1:2].isdigit():
            return str(version)
        at = program.find(_SUITE, start)
    return ""


def suite_objects(program: t.Any) -> list[Facts]:
    """References to the objects of the manifests in a program, in each of the suite's namespaces. program: its bytes, or a map of them."""
    found = dict.fromkeys((version.decode(), kind.decode(), name.decode()) for version, kind, name in _MANIFEST.findall(program))
    return [
        {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}
        for version, kind, name in [*found, ("v1", "Pod", PLACEHOLDER)]
        for namespace in NAMESPACES
    ]


def crd_versions(crds: c.Mapping[str, Facts | None]) -> dict[str, str]:
    """The version of each CRD of the inference extension; empty where its annotation is missing."""
    return {name: text(get_path(crd, "metadata", "annotations", BUNDLE)) for name, crd in crds.items() if crd and name in (POOLS, *BESIDE)}


def lacking(gateway_class: str, found: Facts | None, crds: c.Mapping[str, Facts | None], namespaces: c.Mapping[str, Facts | None]) -> list[str]:
    """What of the cluster's does not do for the suite, each with what to do.

    found: the GatewayClass; crds: each of CRDS; namespaces: each of NAMESPACES. None for one that does not exist.
    """
    wrong = [f"the CRD {name} is missing: run playbooks/prerequisites.yml" for name in CRDS if crds.get(name) is None]
    if found is None:
        wrong.append(f"there is no GatewayClass {gateway_class}: deploy a gateway, or name another class (conformance_gateway_class)")
    elif condition(found.get("status"), "Accepted").get("status") != "True":
        wrong.append(f"the GatewayClass {gateway_class} is not accepted by its controller: {text(condition(found.get('status'), 'Accepted').get('message'))}")
    foreign = [name for name, item in namespaces.items() if item and not is_of_suite(item)]
    return wrong + [f"the namespace {name} is there and is none of the suite's (no label {LABEL}): the suite would write into it" for name in foreign]


def mismatches(suite: str, versions: c.Mapping[str, str]) -> list[str]:
    """How the versions of CRDs differ from that of the suite, and from each other. suite: as suite_version gives it; versions: as crd_versions gives them."""
    allow = "or allow it: conformance_other_crds=true"
    found = [f"the CRD {name} has no annotation {BUNDLE}, by which the report names its version: add it, {allow}" for name in versions if not versions[name]]
    of_pools = versions.get(POOLS, "")
    if suite and of_pools and _minor(suite) != _minor(of_pools):
        found.append(
            f"the CRD {POOLS} is {of_pools} and the suite {suite}, which tests what other versions do not have: use CRDs or a suite of one version, {allow}"
        )
    if len({version for version in versions.values() if version}) > 1:
        each = ", ".join(f"{name} {version}" for name, version in versions.items())
        found.append(f"the CRDs of the inference extension are of several versions, with which the suite does not begin ({each}): make them one, {allow}")
    return found


def _minor(version: str) -> list[str]:
    return version.lstrip("v").split(".")[:2]


def known_failures(provider: str, version: str) -> dict[str, Facts]:
    """Rows of KNOWN_FAILURES for a version of a provider, by the name of the test."""
    return {row["test"]: row for row in KNOWN_FAILURES if row["provider"] == provider and version and _number(version) <= _number(row["through"])}


def _number(version: str) -> list[int]:
    """The numbers of a version; those before a release count as the release."""
    return [int(part) if part.isdecimal() else 0 for part in version.lstrip("v").partition("-")[0].split(".")]


def is_of_suite(namespace: Facts) -> bool:
    """Whether a namespace has the label that the suite gives it."""
    return LABEL in mapping(get_path(namespace, "metadata", "labels"))


def results(output: c.Iterable[str]) -> list[Facts]:
    """The tests in the order of their end: {name, result: passed, failed or skipped, seconds, why}. output: lines of the program with -test.v."""
    found: dict[str, Facts] = {}
    logged: dict[str, Logged] = {}
    current = ""
    for line in output:
        if begin := _BEGIN.match(line):
            current = (begin[1] or "").partition("/")[0]
        elif end := _END.match(line):
            found[end[2]] = {"name": end[2], "result": _WORDS[end[1]], "seconds": float(end[3]), "why": ""}
        else:
            logged.setdefault(current, Logged()).add(line)
    for name, test in found.items():
        if test["result"] != "passed":
            test["why"] = shorten(logged.get(name, Logged()).why() or "the suite does not say why", _WHY)
    return list(found.values())


class Logged:
    """What a test logs and may say why it ended as it did: errors of assertions with their messages, what it waited for too long, else what it logged last."""

    def __init__(self) -> None:
        self._errors: list[str] = []
        self._last = ""
        self._follows = False  # the text of an error is in the next line

    def add(self, line: str) -> None:
        """Take a line of the suite's output."""
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
    """{ok, summary, tests, seconds}, and what was tested. ended: what is wrong with the whole run, empty where it ran to its end; known: as known_failures
    gives it. A known failure is a failure all the same; `known` of its test says the cause.
    """
    known = known or {}
    count = {word: len([test for test in tests if test["result"] == word]) for word in _WORDS.values()}
    failed = [test["name"] for test in tests if test["result"] == "failed"]
    said = f"{pluralize(len(tests), 'test')}: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped"
    said += f" ({', '.join(name + (' (known)' if name in known else '') for name in failed)} failed)" if failed else ""
    ok = bool(tests) and not failed and not ended
    told = [{**test, "known": _cause(known, test)} for test in tests]
    return {"ok": ok, "summary": said + (f". {ended}" if ended else ""), "tests": told, **about, "seconds": round(seconds, 1)}


def _cause(known: c.Mapping[str, Facts], test: Facts) -> str:
    """Why this test is known to fail; empty where it did not, or is not."""
    row = known.get(test["name"]) if test["result"] == "failed" else None
    return f"known of {row['provider']} up to {row['through']}: {row['cause']} ({row['source']})" if row else ""


def page(found: Facts, title: str, subject: str, notes: c.Sequence[str] = ()) -> str:
    """The summary in Markdown. subject: what was run against what; notes: paragraphs about it."""
    lines = [
        f"# {title}",
        "",
        f"{subject}, {found['seconds']:g} s. {found['summary']}.",
        "",
        *(line for note in notes for line in (_cell(note), "")),
        "| test | result | seconds | why |",
        "| --- | --- | --- | --- |",
    ]
    for test in found["tests"]:
        why = "; ".join(part for part in (test["known"], test["why"]) if part)
        lines.append(f"| {_named(test)} | {test['result']} | {test['seconds']:g} | {_cell(why)} |")
    return "\n".join(lines) + "\n"


def notes(found: Facts) -> list[str]:
    """Paragraphs about the versions. found: {suite, crds}, a version each, and `mismatches`."""
    versions = f"Version of the suite: {found['suite'] or 'its program does not say'}. Version of the CRD {POOLS}: {found['crds'] or 'not annotated'}."
    return [versions, *(f"Allowed by conformance_other_crds: {line}" for line in found["mismatches"])]


def _named(test: Facts) -> str:
    """The name of a test, with what it asks for and who demands that, where the test says so."""
    return f"`{test['name']}` {_cell(test['title'])} ({test['section']})" if "title" in test else text(test["name"])


def _cell(why: str) -> str:
    return " ".join(why.split()).replace("|", "\\|").replace("<", "&lt;")
