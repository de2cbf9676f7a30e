# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubeconfig and the arguments of the conformance suite."""

from __future__ import annotations

import json
import subprocess
import types
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.modules.conformance_suite import flags, kubeconfig_of

KUBECTL = Path("/var/lib/llm-d-local/bin/kubectl")
TWO = """
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "https://a"}}, {name: b, cluster: {server: "https://b"}}]
contexts: [{name: one, context: {cluster: a, user: u}}, {name: two, context: {cluster: b, user: u}}]
users: [{name: u, user: {token: t}}]
current-context: one
"""


def module(**given: str | None) -> types.SimpleNamespace:
    return types.SimpleNamespace(params={"kubeconfig": None, "context": None, "host": None, **given})


def test_the_context_option_overrides_the_current_context_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(TWO, encoding="utf-8")
    path = str(tmp_path / "config")
    assert kubeconfig_of(module(kubeconfig=path), str(tmp_path)) == path
    both = kubeconfig_of(module(kubeconfig=path, context="two"), str(tmp_path))
    assert both == f"{tmp_path}/context:{path}" and '"current-context": "two"' in (tmp_path / "context").read_text(encoding="utf-8")
    if KUBECTL.exists():
        shown = [KUBECTL, "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"]
        assert subprocess.run(shown, env={"KUBECONFIG": both}, check=True, capture_output=True, text=True).stdout == "https://b"


@pytest.mark.parametrize("given", [{"host": "https://a"}, {"kubeconfig": "/nowhere"}])
def test_a_connection_without_a_file_is_refused(given: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="write its path in llm_d_kubeconfig"):
        kubeconfig_of(module(**given), str(tmp_path))


def test_the_suite_gets_its_arguments_and_its_times_by_a_file(tmp_path: Path) -> None:
    options = {"gateway_class": "a", "path": "results", "other_crds": False, "wait": 0, "arguments": ["-run-test=X"]}
    plain = ["-test.v", "-gateway-class=a", "-report-output=results/report.yaml"]
    assert flags(options, str(tmp_path)) == [*plain, "-run-test=X"] and not list(tmp_path.iterdir())
    arguments = flags({**options, "other_crds": True, "wait": 60}, str(tmp_path))
    assert arguments == [*plain, "-allow-crds-mismatch", f"-conformance-options-file={tmp_path}/options.yaml", "-run-test=X"]
    times = json.loads((tmp_path / "options.yaml").read_text(encoding="utf-8"))["timeoutConfig"]
    assert times["maxTimeToConsistency"] == times["httpRouteMustHaveCondition"] == 60_000_000_000
