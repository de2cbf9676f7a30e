# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One finding of a diagnosis, and how likely it is the cause. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import typing as t

from ..common.text import redact
from .catalog import CATALOG

# Weights: how likely a finding is the cause of what a user observes. Findings that other parts depend on, and certain findings, weigh more.
ALONE = 100  # nothing else could be checked
BASE = 95  # namespace, CRDs
MISSING = 90  # an object of the plan is missing, or scaled to 0
CONTROLLER = 88  # a controller that others depend on does not run
REFUSED = 86  # quota, admission policy
CANNOT_RUN = 85  # a pod that cannot run, for a known reason
WIRING = 80  # objects that do not fit together
SERVER = 75  # a ready server that does not serve
DRIFT = 70  # an object is not as planned: below the causes of failed requests, above their effects
UNREADY = 65  # not ready, for an unknown reason
SUSPECT = 55  # may be harmless
SYMPTOM = 40  # follows from another finding
NOTE = 20  # unusual, but breaks nothing by itself


@dataclasses.dataclass(frozen=True)
class Finding:
    """One problem. `where`: the objects, the most relevant first; `evidence`: one line for each observation; `weight`: one of the above."""

    code: str
    what: str
    where: str
    evidence: tuple[str, ...]
    remedy: str
    weight: int

    def shown(self, rank: int) -> dict[str, t.Any]:
        """The finding as it is returned and written, with secrets redacted."""
        probable = "cause" if self.weight >= UNREADY else ("suspect" if self.weight >= SUSPECT else "symptom" if self.weight >= SYMPTOM else "note")
        return {
            "rank": rank,
            "code": self.code,
            "what": redact(self.what),
            "where": self.where,
            "evidence": [redact(line) for line in self.evidence],
            "remedy": self.remedy,
            "kind": probable,
        }


def finding(code: str, where: str, evidence: c.Iterable[str], weight: int, what: str = "", remedy: str = "") -> Finding:
    """A finding with the title and remedy of its catalog entry, unless `what` or `remedy` are given."""
    return Finding(code, what or CATALOG[code].title, where, tuple(evidence), remedy or CATALOG[code].remedy, weight)
