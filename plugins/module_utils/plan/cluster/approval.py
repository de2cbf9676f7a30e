# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ties a deployment to the plan that was approved. Pure."""

from __future__ import annotations

import hashlib
import json

from ...common.objects import Facts

# What differs between the jobs of a workflow: temporary files, and how the run reaches the cluster.
_OF_THE_RUN = ("artifacts_dir", "connection", "deployment")


def digest(plan: Facts) -> str:
    """A hash of what a plan deploys, equal in all jobs with the same file and collection."""
    kept = {name: value for name, value in plan.items() if name not in _OF_THE_RUN}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=str).encode()).hexdigest()
