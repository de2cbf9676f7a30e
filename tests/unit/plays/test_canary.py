# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/canary.yml as a user runs it, with roles that record their arguments instead of using a cluster: the order of steps, and the rollback.

molecule/life/live/test_8_canary.py has the real cluster.
"""

from __future__ import annotations

import json
import subprocess
import sys
import typing as t
from pathlib import Path

import plays
import pytest

Facts = dict[str, t.Any]
ROOT = plays.ROOT
# Records the definitions to apply.
APPLIES = """
- ansible.builtin.shell: echo "$NOTE" >> "$NOTES"
  environment:
    NOTES: "{{ notes }}"
    NOTE: "{{ objects_definitions | to_json }}"
"""
# The claims of a validation of the plan with the last applied weights.
CLAIMS = """
- ansible.builtin.shell: echo "\\"checked {{ validation_plan.services | map(attribute='name') | join(' ') }}\\"" >> "{{ notes }}"
- ansible.builtin.set_fact:
    validation_verdict:
      claims:
        - {id: old/serving, ok: true, evidence: fine, remedy: '', seconds: 0}
        - {id: old/counted, ok: false, evidence: others asked, remedy: '', seconds: 0}
        - {id: new/serving, ok: "{{ bad not in (validation_plan.services[0].weights | string) }}", evidence: status 500, remedy: look there, seconds: 0}
"""
HELD = "- ansible.builtin.debug: {msg: '{{ record_state }}'}\n"


@pytest.fixture(name="collections")
def _collections(tmp_path: Path) -> Path:
    """The checkout as a collection, with other roles `objects`, `validation` and `record`."""
    home = tmp_path / "collections/ansible_collections/llm_d/inference"
    (home / "roles").mkdir(parents=True)
    for path in (*ROOT.iterdir(), *(ROOT / "roles").iterdir()):
        place = home / path.relative_to(ROOT)
        if path.name not in ("roles", "objects", "validation", "record", "collections") and not path.name.startswith("."):
            place.symlink_to(path)
    for role, name, tasks in (("objects", "apply", APPLIES), ("validation", "main", CLAIMS), ("record", "main", HELD)):
        (home / "roles" / role / "tasks").mkdir(parents=True)
        (home / "roles" / role / "tasks" / f"{name}.yml").write_text(tasks, encoding="utf-8")
    return tmp_path / "collections"


def service(name: str, **options: t.Any) -> Facts:
    return {"name": name, "model": {"served_name": "base"}, "engine": {"type": "simulator"}, **options}


def canary(collections: Path, *options: str, weights: Facts | None = None, **given: t.Any) -> tuple[subprocess.CompletedProcess[str], list[t.Any]]:
    """(the play, the records of the other roles, in order: "checked NAMES", or the pattern of the request IDs of `new`)."""
    notes = collections / "notes"
    services = [service("old", route={"weights": weights or {"old": 100, "new": 0}}), service("new", route={"headers": {"x-variant": "new"}})]
    user = {
        "llm_d_model_services": services,
        "llm_d_charts": {"envoy_gateway": "/charts"},
        "notes": str(notes),
        "bad": "none",
        "ansible_python_interpreter": sys.executable,
        "canary_pause": 0,
        **given,
    }
    done = plays.run("-i", "localhost,", "-c", "local", "playbooks/canary.yml", "-e", json.dumps(user), *options, ANSIBLE_COLLECTIONS_PATH=str(collections))
    assert "Traceback" not in done.stdout + done.stderr
    noted = [json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines()] if notes.exists() else []
    return done, [note if isinstance(note, str) else pattern(note) for note in noted]


def pattern(objects: list[Facts]) -> str:
    (route,) = objects
    assert (route["kind"], route["metadata"]["name"]) == ("HTTPRoute", "old.new"), "only the share of the other service changes"
    return str(route["spec"]["rules"][0]["matches"][0]["headers"][0]["value"])


CHECKED, TENTH, HALF, ALL, NOTHING = "checked old new", "([0]..|1[012345678].|19[0123456789]).*", "([01234567]).*", "([0123456789abcdef]).*", "none"


@pytest.mark.rest
def test_each_step_is_applied_and_checked_and_the_final_weights_are_logged(collections: Path) -> None:
    done, noted = canary(collections, canary_steps=[50, 100])
    assert done.returncode == 0, done.stdout
    assert noted == [CHECKED, HALF, CHECKED, ALL, CHECKED]
    assert "llm_d_model_services[0].route.weights: {old: 0, new: 100}" in done.stdout and "write into it" in done.stdout


@pytest.mark.rest
def test_a_claim_that_fails_brings_the_weights_of_the_file_back(collections: Path) -> None:
    done, noted = canary(collections, canary_steps="25, 50, 100", bad="50")
    assert done.returncode == 2 and noted[-3:] == [HALF, CHECKED, NOTHING], noted
    output = " ".join(done.stdout.replace("\\n", " ").split())
    assert "At 50 % (old: 50, new: 50) claims do not hold: new/serving: status 500 remedy: look there" in output
    assert "The weights of your file are back: old: 100, new: 0" in output and "old/counted" not in output
    assert "The requests have moved" not in output


@pytest.mark.rest
def test_a_deployment_that_is_not_well_is_not_moved(collections: Path) -> None:
    done, noted = canary(collections, bad="0")
    assert done.returncode == 2 and noted == [CHECKED] and "At 0 % (old: 100, new: 0) claims do not hold" in done.stdout


@pytest.mark.rest
def test_each_step_is_checked_again_after_its_pause(collections: Path) -> None:
    done, noted = canary(collections, canary_steps=[50], canary_pause="1")
    assert done.returncode == 0 and noted == [CHECKED, HALF, CHECKED, CHECKED]


def test_check_mode_shows_the_steps(collections: Path) -> None:
    done, noted = canary(collections, "--check")
    assert done.returncode == 0 and not noted and "changed=0" in done.stdout
    for line in ("old to new, your file: old: 100, new: 0", "10 %: old: 90, new: 10", "100 %: old: 0, new: 100"):
        assert line in done.stdout


@pytest.mark.rest
def test_a_file_that_already_has_the_final_weights_changes_nothing(collections: Path) -> None:
    done, noted = canary(collections, weights={"old": 0, "new": 100})
    assert done.returncode == 0 and not noted and "changed=0" in done.stdout and "Nothing to move" in done.stdout


@pytest.mark.rest
def test_a_key_in_the_plan_is_in_no_output(collections: Path) -> None:
    given = {"llm_d_benchmark": {"api_key": "sk-of-the-test"}}
    for bad in ("none", "50"):
        done, _noted = canary(collections, "-vvv", canary_steps=[50], bad=bad, **given)
        assert done.returncode == (0 if bad == "none" else 2) and "sk-of-the-test" not in done.stdout + done.stderr, bad


def test_all_mistakes_in_canary_variables_are_reported_together(collections: Path) -> None:
    done, noted = canary(collections, canary_to="nobody", canary_steps="10,5", canary_pause="soon")
    assert done.returncode == 2 and not noted
    for line in (
        "3 mistakes in your canary_* variables",
        "canary_to: 'nobody' has no weight",
        "canary_steps[1]: 5 is not more than 10",
        "canary_pause: 'soon' is no",
    ):
        assert line in done.stdout
