# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps to the wanted state of a Helm release."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import helm_records as records
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.helm_state import steps_to_absent, steps_to_present, version_in

ABSENT = records.facts(None)
NOTHING = {"uninstall": False, "install": False, "force": False}


def release(status="deployed", revision=2, version="1.9.1", values=None):
    return {"status": status, "revision": revision, "version": version, "release_values": values or {"replicas": 1}}


def test_a_release_in_the_wanted_state_needs_no_step():
    assert steps_to_present(release(), "1.9.1", {"replicas": 1}) == NOTHING == steps_to_present(release(), "v1.9.1", {"replicas": 1})


@pytest.mark.parametrize("current", [ABSENT, release(version="1.9.0"), release(values={"replicas": 2}), release(status="superseded")])
def test_an_absent_or_differing_release_is_installed_without_force(current):
    assert steps_to_present(current, "v1.9.1", {"replicas": 1}) == {**NOTHING, "install": True}


def test_a_release_without_a_wanted_version_is_always_installed():
    """A chart by name, without a version, is the newest of its repository: only Helm knows it."""
    assert steps_to_present(release(), "", {"replicas": 1})["install"]


def test_only_one_leading_v_is_of_no_account():
    assert steps_to_present(release(version="1.9.1"), "vv1.9.1", {"replicas": 1})["install"]
    assert steps_to_present(release(version="1.9.1"), "1.9.1-v1", {"replicas": 1})["install"]


def test_a_first_installation_that_failed_is_uninstalled_first():
    assert steps_to_present(release("failed", 1), "1.9.1", {"replicas": 1}) == {"uninstall": True, "install": True, "force": False}


@pytest.mark.parametrize("revision", [2, 10])
def test_a_later_revision_that_failed_is_upgraded_by_force(revision):
    """The version and values may be the same, for which kubernetes.core.helm would do nothing."""
    assert steps_to_present(release("failed", revision), "1.9.1", {"replicas": 1}) == {"uninstall": False, "install": True, "force": True}


@pytest.mark.parametrize("status", ["deployed", "failed", "superseded", "unknown"])
def test_a_recorded_release_of_any_status_is_uninstalled(status):
    assert steps_to_absent(release(status)) == {**NOTHING, "uninstall": True}
    assert steps_to_absent(ABSENT) == NOTHING


@pytest.mark.parametrize("line", ["version: v1.9.1", 'version: "v1.9.1"', "version: 'v1.9.1'  # the newest", "version:   v1.9.1  "])
def test_the_version_of_a_chart(line):
    text = f"apiVersion: v2\nname: gateway-helm\nappVersion: 2.0.0\ndependencies:\n- name: crds\n  version: 0.0.1\n{line}\n"
    assert version_in(text) == "v1.9.1"


def test_a_chart_without_a_version():
    with pytest.raises(ValueError, match="no version"):
        version_in("name: x\nappVersion: 1\ndependencies:\n  - version: 3\n")
