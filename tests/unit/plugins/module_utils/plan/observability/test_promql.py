# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries match the names of pods that Kubernetes generates, whatever the length of the name."""

from __future__ import annotations

import random
import re

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.checks.validate_services import LONGEST_NAME
from ansible_collections.llm_d.inference.plugins.module_utils.plan.observability.promql import pods_of

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # of k8s.io/apimachinery/pkg/util/rand


def generated(base: str, dice: random.Random) -> str:
    """A name as generateName makes it."""
    return base[:58] + "".join(dice.choices(ALPHABET, k=5))


@pytest.mark.parametrize("ending", ["-decode", "-prefill", "-epp"])
@pytest.mark.parametrize("length", range(1, LONGEST_NAME + 1))
def test_pods_of_a_deployment(length: int, ending: str) -> None:
    dice, name = random.Random(length), "n" * length
    pattern = re.compile(pods_of({"name": f"{name}{ending}"}))
    for digits in (6, 8, 9, 10):
        pod = generated(f"{name}{ending}-{''.join(dice.choices(ALPHABET, k=digits))}-", dice)
        assert pattern.fullmatch(pod), pod
        for other in ("-decode", "-prefill", "-epp"):
            assert other == ending or not re.fullmatch(pods_of({"name": f"{name}{other}"}), pod)
    assert not pattern.fullmatch(f"{name}-other{ending}-6c8f9b7d5-abcde")


def test_pods_of_a_group() -> None:
    assert re.fullmatch(pods_of({"name": "big-decode", "nodes": 2}), "big-decode-0") and not re.fullmatch(
        pods_of({"name": "big-decode", "nodes": 2}), "big-decode-0-1"
    )
