# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Schedulers whose requirements the engine does not meet, and arguments that SGLang does not know. Pure."""

from __future__ import annotations

from ...common.objects import Facts
from ...epp.catalog.plugins import SCORER_ALIASES
from ...epp.catalog.presets import PRESETS
from ...epp.config.build import Built
from ...releases.deployed import FULL_SUPPORT, picker_signals
from ...releases.engines import ENGINES, SIGNALS
from ...releases.sglang import misfits, version_of
from ...schema.fields import Problem
from .engine import engine_image

# {alias of a scorer: the signal that it reads}. The load-aware scorer reads the same as the queue scorer.
_READS = {"queue": "waiting", "load_aware": "waiting", "running_requests": "running", "kv_cache": "kv_cache", "lora_affinity": "lora"}


def scheduler_needs(service: Facts, path: str, built: Built) -> list[Problem]:
    """KV events, transfers of KV caches and metrics that the scheduler needs and the engine does not have."""
    engine, settings = service["engine"]["type"], service["scheduler"]
    if engine in FULL_SUPPORT:
        return []
    where, title = f"{path}.scheduler", ENGINES[engine].title
    requirements = {"separate prefill and decode servers": built.requires["roles"], "KV events": built.requires["vllm"]["args"]}
    if missing := next((requirement for requirement, required in requirements.items() if required), None):
        why = f"asks for {missing}, which the collection sets up for vLLM only, and the engine is {title}."
        return [Problem(where, settings["preset"], why, f"Write {_instead(engine)}, or 'type: vllm'.")]
    types = {entry["type"] for entry in built.document["plugins"]}
    problems = []
    for alias, signal in _READS.items():
        if SCORER_ALIASES[alias] not in types or signal in picker_signals(engine):
            continue
        own = alias in (settings["scorers"] or {})
        place, value = (f"{where}.scorers.{alias}", settings["scorers"][alias]) if own else (where, settings["preset"])
        why = f"has the scorer {alias}, and {title} exports no metric for it: {SIGNALS[signal]}."
        problems.append(Problem(place, value, why, f"Write {_instead(engine)}, or 'type: vllm'."))
    return problems


def sglang_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    """Arguments of the user that the version of SGLang in the image does not accept."""
    version = version_of(engine_image(service, user)) if service["engine"]["type"] == "sglang" else None
    arguments = service["engine"]["args"]
    return [Problem(f"{path}.engine.args[{index}]", arguments[index], reason, fix) for index, reason, fix in (misfits(arguments, version) if version else ())]


def _instead(engine: str) -> str:
    """A scheduler for this engine: the preset with the most scorers of which the engine exports all signals. All engines export waiting requests."""
    signals = picker_signals(engine)
    fits = [
        (len(facts["scorers"]), name)
        for name, facts in PRESETS.items()
        if "disaggregation" not in facts and all(alias == "prefix" or _READS.get(alias) in signals for alias in facts["scorers"])
    ]
    count, preset = max(fits)
    return f"preset: {preset}" if count > 1 else f"preset: {preset}, or 'scorers: {{queue: 1, prefix: 3}}'"
