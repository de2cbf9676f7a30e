# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the conformance suite as a program, follows its output, and removes its namespaces."""

from __future__ import annotations

import collections.abc as c
import contextlib
import mmap
import os
import signal
import subprocess
import typing as t
from pathlib import Path

from ..common import programs
from ..common.interrupts import signals
from ..common.objects import Facts, get_path, text
from ..k8s.errors import ClusterError
from ..k8s.namespace_contents import Ours
from ..k8s.namespace_reader import Kept, kept_namespaces
from .report import (
    CRDS,
    EXPERIMENTAL_CRDS,
    NAMESPACES,
    PLACEHOLDER,
    POOLS,
    crd_versions,
    is_of_suite,
    lacking,
    mismatches,
    results,
    suite_objects,
    suite_version,
    summary,
)

Say = c.Callable[[str], None]

POLL = 0.5  # seconds
OUTPUT = 64 << 20  # bytes of output that are read
DELETION_TIMEOUT = 300.0  # seconds until the namespaces must be gone
# A shell script that runs the program in its arguments. Its standard input is a pipe from this process: the pipe closes when this process ends, also by
# SIGKILL, and the script then kills its own process group.
GUARD_SCRIPT = 'exec 3<&0; (read -r line <&3; kill -KILL "-$$") & "$@" </dev/null 3<&-'
_CLASSES, _CRDS = "/apis/gateway.networking.k8s.io/v1/gatewayclasses", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NAMESPACES = "/api/v1/namespaces"


class Conformance:
    """One run. cluster: a k8s Cluster; command: the program with its arguments; log: the file for its output; say: called with lines of progress.

    placeholder: image of a pod in the namespace of the Gateways, without which the suite does not start; empty where proxies run there.
    """

    def __init__(self, cluster: t.Any, command: c.Sequence[str], environment: c.Mapping[str, str], log: Path, say: Say, placeholder: str = "") -> None:
        self._cluster, self._command, self._environment, self._log, self._say = cluster, list(command), dict(environment), log, say
        self._placeholder, self._clock = placeholder, cluster.clock

    def check(self, gateway_class: str) -> Facts:
        """{lacking, controller, suite, crds, mismatches}: the unmet requirements of the suite, the controller name of the GatewayClass, the version of the
        suite, that of the CRD of InferencePools, and the differences between versions. Raises ClusterError and OSError.
        """
        live = self._cluster.find(f"{_CLASSES}/{gateway_class}")
        crds = {name: self._cluster.find(f"{_CRDS}/{name}") for name in (*CRDS, *EXPERIMENTAL_CRDS)}
        suite, versions = _suite_version_of(self._command[0]), crd_versions(crds)
        return {
            "lacking": lacking(gateway_class, live, crds, self._namespaces()),
            "controller": text(get_path(live, "spec", "controllerName")),
            "suite": suite,
            "crds": versions.get(POOLS, ""),
            "mismatches": mismatches(suite, versions),
        }

    def run(self, gateway_class: str, timeout: float, known: c.Mapping[str, Facts] | None = None) -> Facts:
        """The summary. The suite's namespaces are deleted afterwards, also on SIGINT and SIGTERM, unless they hold objects of others: `kept` lists those.

        known: rows of tests that are known to fail, by their names. Raises ClusterError and OSError.
        """
        began = self._clock.now()
        # An earlier run that was killed may have left its namespaces.
        foreign = [line for place in self.remove(wait=True) if place.objects for line in place.lines]
        if foreign:
            raise ClusterError("\n".join(["The suite cannot run here, since a namespace of its name holds objects that are not the suite's:", *foreign]))
        with signals() as guard:
            interrupted = True
            try:
                ended = self._follow(began + timeout)
                interrupted = False
            finally:
                guard["closing"] = True
                kept = self.remove(wait=not interrupted)
        outcome = summary(results(self._lines()), ended, {"gateway_class": gateway_class}, self._clock.now() - began, known)
        return {**outcome, "kept": [line for place in kept for line in place.lines]}

    def remove(self, wait: bool, dry_run: bool = False) -> list[Kept]:
        """Deletes the suite's namespaces, and waits until they are gone. Returns those that stay, since they hold objects of others. Raises ClusterError.

        dry_run: delete nothing.
        """
        deadline = self._clock.now() + DELETION_TIMEOUT
        self._cluster.be_patient(DELETION_TIMEOUT)
        existing = [name for name, item in self._namespaces().items() if item and is_of_suite(item)]
        kept = kept_namespaces(self._cluster, existing, Ours(going=_objects_of(self._command[0]))) if existing else []
        ours = [name for name in existing if not dry_run and name not in [place.namespace for place in kept]]
        for name in ours:
            self._cluster.delete(f"{_NAMESPACES}/{name}", {"propagationPolicy": "Background"})
        while wait and (left := [name for name in ours if self._cluster.find(f"{_NAMESPACES}/{name}")]):
            if self._clock.now() > deadline:
                raise ClusterError(f"{DELETION_TIMEOUT:g} s after their deletion these namespaces are still there: {', '.join(left)}")
            self._clock.sleep(POLL)
        return kept

    def _namespaces(self) -> dict[str, Facts | None]:
        return {name: self._cluster.find(f"{_NAMESPACES}/{name}") for name in NAMESPACES}

    def _follow(self, deadline: float) -> str:
        """Runs the program to its end, or until the clock reads `deadline`; returns why the run as a whole failed, empty where it completed."""
        with self._log.open("wb") as output:
            # In its own process group: Ctrl-C reaches only this process, which ends the program.
            program = programs.start(
                ["/bin/sh", "-c", GUARD_SCRIPT, "sh", *self._command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
            )
        partial = b""
        try:
            with self._log.open("rb") as written:
                while program.poll() is None:
                    if self._clock.now() > deadline:
                        return "The suite was ended, since it took longer than conformance_timeout"
                    *lines, partial = (partial + written.read(OUTPUT)).split(b"\n")
                    for test in results(line.decode("utf-8", "replace") for line in lines):
                        self._say(f"{test['name']}: {test['result']} ({test['seconds']:g} s)")
                    self._create_placeholder()
                    self._clock.sleep(POLL)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.communicate()
        if program.returncode in (0, 1) and results(self._lines()):
            return ""
        return f"The suite exited with status {program.returncode} before its last test; see its output: {self._log}"

    def _create_placeholder(self) -> None:
        """Creates the placeholder pod once its namespace exists."""
        if self._placeholder and self._cluster.find(f"{_NAMESPACES}/{NAMESPACES[0]}"):
            pod = {"metadata": {"name": PLACEHOLDER}, "spec": {"containers": [{"name": "placeholder", "image": self._placeholder}]}}
            self._cluster.request("POST", f"{_NAMESPACES}/{NAMESPACES[0]}/pods", body={"apiVersion": "v1", "kind": "Pod", **pod})
            self._placeholder = ""

    def _lines(self) -> list[str]:
        with self._log.open("rb") as file:
            return file.read(OUTPUT).decode("utf-8", "replace").splitlines()


def _suite_version_of(program: str) -> str:
    """The version of the suite in the file of a program. Raises OSError."""
    with _content(program) as content:
        return suite_version(content)


def _objects_of(program: str) -> list[Facts]:
    """References to the suite's objects; only to the placeholder where the file does not exist."""
    try:
        with _content(program) as content:
            return suite_objects(content)
    except OSError:
        return suite_objects(b"")


@contextlib.contextmanager
def _content(program: str) -> c.Iterator[t.Any]:
    """The bytes of a file, which may be large. Raises OSError."""
    with open(program, "rb") as file:
        if not os.path.getsize(program):
            yield b""
        else:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                yield content
