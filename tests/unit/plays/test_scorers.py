# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary at the end of playbooks/scorers.yml: the running configuration, or in check mode the planned one. molecule/scorers/live has the real cluster."""

from __future__ import annotations

import json

import plays
import pytest
import yaml

SERVICE = {"name": "sim", "model": {"served_name": "acme/tiny"}, "engine": {"type": "simulator"}, "scheduler": {"preset": "queue"}}


def test_the_playbook_ends_with_the_summary(root):
    *_others, last = yaml.safe_load((root / "playbooks/scorers.yml").read_text(encoding="utf-8"))[0]["roles"]
    assert last == {"role": "llm_d.inference.gaie_scheduler", "gaie_scheduler_state": "summary"}


@pytest.mark.rest
@pytest.mark.parametrize(
    ("options", "state", "expected"),
    [
        (
            [],
            "present",
            ["sim runs release router-0.11, preset queue, new", "  scorers queue 1; picker max-score-picker", "  verified: sim-epp-solo-x (by its log)"],
        ),
        (["--check"], "present", ["sim would run release router-0.11, preset queue", "  scorers queue 1; picker max-score-picker"]),
        ([], "absent", None),
    ],
)
def test_the_summary(tmp_path, options, state, expected):
    """The summary needs no cluster: it uses results that earlier tasks registered."""
    registered = {
        "__gaie_scheduler_before": {"definitions": []},
        "__gaie_scheduler_proof": {"schedulers": [{"name": "sim-epp-solo", "pods": [{"pod": "sim-epp-solo-x", "by": "log"}]}]},
    }
    given = {"llm_d_model_services": [SERVICE], "llm_d_gateway": {"provider": "standalone"}, "llm_d_state": state, **({} if options else registered)}
    role = {"role": "llm_d.inference.gaie_scheduler", "gaie_scheduler_state": "summary"}
    (tmp_path / "play.yml").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "vars": given, "roles": [role]}]), encoding="utf-8")
    done = plays.run("-i", "localhost,", "-c", "local", str(tmp_path / "play.yml"), *options)
    assert done.returncode == 0 and "changed=0" in done.stdout, done.stdout
    shown = [line.removeprefix("        ") for line in done.stdout.splitlines() if line.startswith("        ")]
    assert shown == (expected or []) and ("summary | Show what" in done.stdout) is True
