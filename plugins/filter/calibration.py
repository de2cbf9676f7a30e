# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: calibration
author:
  - llm_d.inference contributors (@llm-d)
short_description: Find the options of the simulator that behave like a server that was measured
version_added: 0.2.0
description:
  - Takes the C(requests.csv) that M(llm_d.inference.vllm_perf) wrote of requests that were sent one at a time, several at a time, and at several rates, and
    returns the block C(engine) of a simulated model service.
options:
  _input:
    description: C(alone), C(together) and C(loaded), the texts of the three files.
    type: dict
    required: true
  max_num_seqs:
    description: Requests that the simulator has in flight at once.
    type: int
    default: 64
  metrics:
    description: The metrics of the server as M(llm_d.inference.vllm_health) returns them, for the size of its cache.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Show the options
  ansible.builtin.debug:
    msg: "{{ {'alone': alone, 'together': together, 'loaded': loaded} | llm_d.inference.calibration }}"
  vars:
    alone: "{{ lookup('ansible.builtin.file', 'artifacts/calibrate/llama/alone/requests.csv') }}"
    together: "{{ lookup('ansible.builtin.file', 'artifacts/calibrate/llama/together/requests.csv') }}"
    loaded: "{{ lookup('ansible.builtin.file', 'artifacts/calibrate/llama/loaded/requests.csv') }}"
"""

RETURN = r"""
_value:
  description: The block C(engine).
  type: dict
  sample:
    type: simulator
    max_num_seqs: 64
    simulator: {prefill_overhead: 40000us, prefill_time_per_token: 800us, inter_token_latency: 25000us, time_factor_under_load: 5.8, kv_cache_size: 4096}
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.benchmark import calibration as measured
from ..plugin_utils.planning import plain


def calibration(files: t.Any, max_num_seqs: int = measured.Simulated.places, metrics: t.Any = None) -> dict[str, t.Any]:
    """The block `engine` of a simulated service."""
    texts, cache = plain(files), plain(metrics or {})
    alone, together, loaded = (list(measured.read(texts[name]).values()) for name in ("alone", "together", "loaded"))
    try:
        server = measured.fit([request for stage in alone for request in stage], together + loaded, int(max_num_seqs))
    except ValueError as error:
        raise AnsibleFilterError(f"The simulator cannot be calibrated: {error}.") from None
    blocks, block_size = (int((cache.get(name) or {}).get("value") or 0) for name in ("blocks", "block_size"))
    return measured.options(server, blocks, block_size)


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"calibration": calibration}
