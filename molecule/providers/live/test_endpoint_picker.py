# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conformance profile for endpoint pickers against the running stack, with all permissions: a probe Pod, and a stopped endpoint picker."""

from __future__ import annotations

import json
import os
from pathlib import Path

import plays
from kubernetes import client, config

KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
LOCAL, HOME = "inventories/local", "llm-d"
PROFILE = {"conformance_profile": "endpoint_picker", "conformance_probe_image": "registry.k8s.io/pause:3.10", "conformance_stop_picker": True}
# A fault of the release line, documented in docs/platforms.md, and a test that requires a pool with several target ports.
OUTCOME = {"no_body_subset": "failed", "subset_ports": "skipped"}


def test_the_endpoint_picker_conforms_with_two_documented_exceptions(tmp_path: Path) -> None:
    plays.site(LOCAL, tmp_path)
    plays.well(LOCAL, "playbooks/conformance.yml", tmp_path, **PROFILE, conformance_fail=False)
    report = json.loads((tmp_path / "conformance/endpoint_picker.json").read_text(encoding="utf-8"))
    outcome = {test["name"]: test["result"] for test in report["tests"]}
    assert {name: result for name, result in outcome.items() if result != "passed"} == OUTCOME, report
    config.load_kube_config(KUBECONFIG)
    assert not client.CoreV1Api().list_namespaced_pod(HOME, label_selector="llm-d.inference/conformance-probe").items
    verdict, out = plays.site(LOCAL, tmp_path)
    assert verdict["ok"] and "changed=0 " in out, "the stack is unchanged"
