# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Profiles that come with the collection: parts of a model service, by name. Pure."""

from __future__ import annotations

import typing as t

PROFILES: dict[str, dict[str, t.Any]] = {
    # The first two have the names of base configurations of the llm-d operator.
    "basic-gpu": {"accelerator": {"per_replica": 1}, "scheduler": {"preset": "balanced"}},
    "basic-gpu-with-nixl": {"accelerator": {"per_replica": 1}, "prefill": {"replicas": 1}, "scheduler": {"preset": "disaggregated"}},
    # Few requests share a server, and each goes where the fewest wait.
    "small-latency": {"engine": {"max_num_seqs": 16}, "scheduler": {"preset": "queue"}},
    # Many requests share a server, and each goes where its prefix is cached.
    "throughput": {"engine": {"max_num_seqs": 512}, "scheduler": {"preset": "prefix_aware"}},
    # No accelerator: answers like vLLM, without a model.
    "simulated": {"engine": {"type": "simulator", "block_size": 16}, "scheduler": {"resources": {"requests": {"cpu": "50m", "memory": "128Mi"}}}},
}
