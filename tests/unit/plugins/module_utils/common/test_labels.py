# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The labels of an object show whether it belongs to a file or to someone else."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.labels import HOME_LABEL, MANAGED_BY, PART_OF, is_of, whose

OURS = {MANAGED_BY: "llm_d.inference", PART_OF: "llm-d"}


def labelled(**labels: str) -> dict[str, t.Any]:
    return {"metadata": {"name": "sim-epp", "namespace": "shared", "labels": {name.replace("home", HOME_LABEL): value for name, value in labels.items()}}}


@pytest.mark.parametrize(
    ("actual", "planned", "same"),
    [
        ({**OURS, "more": "x"}, {}, True),
        ({}, {}, False),
        ({**OURS, PART_OF: "blue"}, {}, False),
        ({**OURS, "home": "a"}, {"home": "a"}, True),
        ({**OURS, "home": "a"}, {"home": "b"}, False),
        # of the file whose namespace it is in
        (OURS, {"home": "b"}, False),
        ({**OURS, "home": "a"}, {}, False),
    ],
)
def test_an_object_is_of_a_file_by_instance_and_home(actual: dict[str, str], planned: dict[str, str], same: bool) -> None:
    assert is_of(labelled(**actual), labelled(**planned), OURS) is same


def test_the_origin_of_an_object_is_named_from_its_labels() -> None:
    assert whose(labelled(**OURS)) == "of llm_d_instance llm-d in namespace shared"
    assert whose(labelled(**OURS, home="a")) == "of llm_d_instance llm-d in namespace a"
    assert whose({"metadata": {"name": "x"}}) == "of unknown origin" and whose(labelled(**{PART_OF: "shop"})) == "of shop"
