# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one measurement is: its destination, its stages, its objectives. Plain data that `options` makes and `runner` performs. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..loadgen.destination import Destination, LoadLimits
from ..loadgen.request import Shape
from ..loadgen.schedule import Step
from ..loadgen.workloads import RequestSource
from .slo import Rule
from .totals import Allowed, Totals


@dataclasses.dataclass(frozen=True)
class Ladder:
    """Rates that are not known beforehand. `kind`: a `sweep` multiplies the rate until the server is saturated; a `search` looks for the highest
    rate that meets the SLO. `seconds`: how long each rate is sent; `most`: how many rates at most."""

    kind: str
    start: float
    factor: float
    highest: float
    seconds: float
    most: int
    tolerance: float


@dataclasses.dataclass(frozen=True)
class Plan:
    """One measurement. `good`: the bounds of a good request, by name, in milliseconds; `pause`: seconds between stages."""

    destination: Destination
    limits: LoadLimits
    shape: Shape
    models: tuple[str, ...]
    source: RequestSource
    steps: tuple[Step, ...] = ()
    ladder: Ladder | None = None
    rules: tuple[Rule, ...] = ()
    good: tuple[tuple[str, float], ...] = ()
    seed: int = 42
    arrivals: str = "poisson"
    allowed: Allowed = Allowed()
    pause: float = 1.0
    warmup: Step | None = None
    content: str | None = None  # a digest of the workload's file


class Measured(t.NamedTuple):
    """A stage and the totals of its requests."""

    step: Step
    totals: Totals
