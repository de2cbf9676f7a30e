# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A finding of the preflight: a requirement that the cluster does not meet, reported before anything is changed. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.objects import Facts, mapping


@dataclasses.dataclass(frozen=True)
class PreflightFinding:
    """A requirement that the cluster does not meet. what: the problem, for the user; found, needed: the observed and the required value.

    how: the remedy; severity: `error` (the run stops before any change) or `warning`.
    """

    id: str
    what: str
    found: str
    needed: str
    how: str
    severity: str = "error"


Findings = t.Iterator[PreflightFinding]
# The remedy where CRDs are missing.
ADMINISTRATOR = (
    "An administrator installs them once (playbooks/prerequisites.yml). If your account may do so, leave llm_d_scope and llm_d_crd_sources at their defaults."
)


def crd_of(facts: Facts, name: str) -> Facts | None:
    """{version, owner} of a CRD; None where it does not exist.

    An account that may not read CRDs can still read the API groups, from which the version of the bundle is not known.
    """
    if "crds" not in facts:
        return {"version": None, "owner": None} if name.partition(".")[2] in mapping(facts.get("groups")) else None
    return mapping(facts["crds"]).get(name)
