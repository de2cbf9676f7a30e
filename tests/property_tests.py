"""The number of examples that a property test tries, and their choice.

By default the same ones each time, however slow the machine; the profile `nightly` of hypothesis (`pytest --hypothesis-profile=nightly`) draws NIGHTLY
times as many at random, and prints how to reproduce a failure.
"""

from __future__ import annotations

import os
import typing as t

from hypothesis import HealthCheck, settings

NIGHTLY = 20
# The number of a test that requests none; it is the default of hypothesis.
EXAMPLES = 100


def load_profiles() -> None:
    """Register both profiles and load the one that the variable HYPOTHESIS_PROFILE names; pytest's --hypothesis-profile overrides it."""
    patient: dict[str, t.Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("default", max_examples=EXAMPLES, derandomize=True, **patient)
    settings.register_profile("nightly", max_examples=EXAMPLES * NIGHTLY, derandomize=False, print_blob=True, **patient)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def examples(number: int, **options: t.Any) -> settings:
    """Settings of one test: `number` examples in the default profile, and in another profile in proportion to that profile's own number."""
    return settings(max_examples=max(1, number * settings().max_examples // EXAMPLES), **options)
