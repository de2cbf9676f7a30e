"""How many examples a property test tries: the profile `nightly` of hypothesis (`pytest --hypothesis-profile=nightly`) has NIGHTLY times as many."""

from __future__ import annotations

import os
import typing as t

from hypothesis import settings

NIGHTLY = 20
# Of a test that asks for no number of its own; hypothesis has the same.
EXAMPLES = 100


def load_profiles() -> None:
    """Register both profiles and load the one that the variable HYPOTHESIS_PROFILE names; pytest's --hypothesis-profile overrides it."""
    settings.register_profile("default", max_examples=EXAMPLES, deadline=None)
    settings.register_profile("nightly", max_examples=EXAMPLES * NIGHTLY, deadline=None)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def examples(number: int, **more: t.Any) -> settings:
    """Settings of one test: `number` examples in the default profile, and in another profile in proportion to that profile's own number."""
    return settings(max_examples=max(1, number * settings().max_examples // EXAMPLES), **more)
