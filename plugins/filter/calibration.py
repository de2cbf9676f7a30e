# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of role calibrate: from requests that were measured to options of a simulator and of a scheduler. Each is described in the YAML of its name."""

from __future__ import annotations

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


def calibration_prefill(text: str) -> dict[str, t.Any]:
    """The option for the scheduler, and the length of the measured prompts."""
    throughput = measured.prefill([request for stage in measured.read(text).values() for request in stage])
    if throughput is None:
        raise AnsibleFilterError("The prefill throughput cannot be measured: no request with a prompt that was in no cache was answered.")
    return throughput


def calibration_prompt(workload: t.Any, words: int, models: t.Any = None) -> dict[str, t.Any]:
    """A workload whose prompts are as long as the server computes in one step."""
    taken = [model["max_model_len"] for model in plain(models or []) if model.get("max_model_len")]
    return measured.longest(plain(workload), int(words), taken)


def calibration_rates(text: str, seconds: float) -> list[dict[str, t.Any]]:
    """Stages at three rates."""
    together = [request for stage in measured.read(text).values() for request in stage]
    if not together:
        raise AnsibleFilterError("The simulator cannot be calibrated: no request was answered.")
    return [{"rate": rate, "seconds": seconds} for rate in measured.rates(together)]


def calibration_report(files: t.Any) -> dict[str, t.Any]:
    """The comparison of two files of requests."""
    texts = plain(files)
    return measured.report(*(measured.read(texts[name]) for name in ("real", "imitated")))


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {each.__name__: each for each in (calibration, calibration_prefill, calibration_prompt, calibration_rates, calibration_report)}
