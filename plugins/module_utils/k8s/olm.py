# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""InstallPlans of the Operator Lifecycle Manager, compared with what the user approved. Pure."""

from __future__ import annotations

import typing as t

from ..common.objects import Facts, condition, get_path, mapping, text


def is_resolving(subscription: Facts, plan: Facts | None) -> bool:
    """Whether OLM has neither an InstallPlan nor an installed version yet. False when resolution failed; readiness of the Subscription reports that."""
    status = mapping(subscription.get("status"))
    failed = condition(status, "ResolutionFailed").get("status") == "True"
    return not (plan or status.get("installedCSV") or failed)


def refusals(subscription: Facts, plan: Facts | None, approved: t.Sequence[str]) -> list[str]:
    """Why a plan cannot be approved, with the remedy; empty when it can, or when there is nothing to approve."""
    if plan is None or get_path(plan, "spec", "approved") or get_path(subscription, "status", "installedCSV"):
        return []
    names = [text(name) for name in get_path(plan, "spec", "clusterServiceVersionNames") or []]
    unnamed = [name for name in names if name not in approved]
    if not unnamed:
        return []
    where = f"{text(get_path(plan, 'metadata', 'namespace'))}/{text(get_path(plan, 'metadata', 'name'))}"
    how = f"write {', '.join(unnamed)} under llm_d_gpus.approved if that is right, or set spec.approved of it"
    return [f"InstallPlan {where} would install {', '.join(names)}; {how}"]
