# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A finding of the preflight: something that is missing before anything is changed. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.objects import Facts, mapping


@dataclasses.dataclass(frozen=True)
class PreflightFinding:
    """Something that is missing. found, needed: the observed and the required value; how: the remedy; severity: error (nothing is changed) or warning."""

    id: str
    what: str
    found: str
    needed: str
    how: str
    severity: str = "error"


Findings = t.Iterator[PreflightFinding]
# The remedy where CRDs are missing.
ADMINISTRATOR = (
    "An administrator installs them once (playbooks/prerequisites.yml); where you may, leave llm_d_scope and llm_d_crd_sources as they are and we do."
)


def crd_of(facts: Facts, name: str) -> Facts | None:
    """{version, owner} of a CRD; None where it does not exist.

    An account that may not read CRDs can still read the API groups, which do not have the version of their bundle.
    """
    if "crds" not in facts:
        return {"version": None, "owner": None} if name.partition(".")[2] in mapping(facts.get("groups")) else None
    return mapping(facts["crds"]).get(name)
