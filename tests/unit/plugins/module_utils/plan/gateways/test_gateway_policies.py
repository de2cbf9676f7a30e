# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that the policies of gateways need in another unit."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.gateways.gateway_policies import seconds


@pytest.mark.parametrize(("duration", "expected"), [("8001ms", 9), ("8s", 8), ("32001ms", 33), ("1m30s", 90), ("2h", 7200), ("1ms", 1), ("0s", 0)])
def test_a_duration_is_rounded_up_to_whole_seconds(duration: str, expected: int) -> None:
    assert seconds(duration) == expected
