# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the options of a measurement and makes a plan of them. Pure: the caller reads the files that options name."""

from __future__ import annotations

import collections.abc as c
import hashlib
import json
import math
import typing as t

from ..http import headers as http_headers
from ..http.urls import base_url, not_a_path
from ..loadgen import schedule, workloads
from ..loadgen.destination import Destination, LoadLimits
from ..loadgen.request import Shape
from ..loadgen.schedule import Step
from . import slo
from .plan import Ladder, Plan
from .totals import GOOD, TIMED, Allowed

Options = c.Mapping[str, t.Any]
WAYS = ("stages", "sweep", "search")
# The lengths and counts of each kind of workload that must be 1 or more.
COUNTS = {
    "random": ("input_len", "output_len"),
    "shared_prefix": ("groups", "prompts_per_group", "system_prompt_len", "question_len", "output_len"),
    "chats": ("groups", "turns", "system_prompt_len", "question_len", "output_len"),
    "trace": ("block_len",),
    "prompts": ("output_len",),
}
RANGES = ("input_len", "output_len", "turns")
# Further options that each kind of workload uses: an option without effect does not make another load. `content` is the digest of a file.
USED = {
    "random": ("input_len_max", "output_len_max"),
    "shared_prefix": (),
    "chats": ("turns_max", "think_seconds"),
    "trace": ("format", "speed", "requests", "content"),
    "prompts": ("content",),
}
# Numbers by their bounds, where they are given, and by the option that holds them; "" for the options themselves.
POSITIVE = {
    "": ("request_timeout", "in_flight", "max_lag", "processes"),
    "workload": ("speed", "requests"),
    "sweep": ("rate", "rate_max", "seconds", "most"),
    "search": ("rate", "rate_max", "seconds", "most", "tolerance"),
    "job": ("timeout", "start_timeout"),
}
SHARES = {"": ("max_lag_share",), "search": ("tolerance",)}
FROM_ONE = {"": ("baseline_max_ratio",)}
NOT_NEGATIVE = {"": ("pause", "max_lag_share", "wait", "temperature"), "workload": ("think_seconds",)}


def models(params: Options) -> list[dict[str, t.Any]]:
    """The models among which requests are drawn, with their weights."""
    return [{"name": params["model"], "weight": 1.0}] if params["model"] else [dict(entry) for entry in params["models"] or ()]


def digest(value: t.Any) -> str:
    """A digest that distinguishes values without revealing them."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def plan(params: Options, text: str | None = None, nonce: str = "") -> Plan:
    """The plan of these options. `text`: the content of the workload's file. Raises ValueError with all problems."""
    mistakes = problems(params)
    try:
        steps = tuple(schedule.steps(params["stages"] or (), params["warmup"]))
    except ValueError as error:
        steps = ()
        mistakes.append(str(error))
    try:
        rules = tuple(slo.rules(params["slo"]))
    except ValueError as error:
        rules = ()
        mistakes.append(str(error))
    if mistakes:
        raise ValueError("; ".join(mistakes))
    shape = Shape(params["api"], params["stream"], params["ignore_eos"], params["temperature"], tuple((params["extra_body"] or {}).items()))
    mix = models(params)
    try:
        source = workloads.source({**params["workload"], "text": text or ""}, shape, mix, params["seed"], nonce)
    except ValueError as error:
        raise ValueError(f"workload.path {params['workload'].get('path')}: {error}") from None
    steps = steps or ()
    if params["workload"]["kind"] == "trace" and not params["sweep"] and not params["search"] and all(step.warmup for step in steps):
        steps += (Step(trace=True, requests=len(t.cast(workloads.Trace, source).entries)),)
    destination = Destination(base_url(params["url"]), params["host_header"], params["api_key"], tuple((params["headers"] or {}).items()))
    return Plan(
        destination,
        LoadLimits(params["request_timeout"], params["in_flight"]),
        shape,
        tuple(dict.fromkeys(entry["name"] for entry in mix)),
        source,
        tuple(step for step in steps if not step.warmup),
        ladder(params),
        rules,
        tuple(params["goodput"].items()),
        params["seed"],
        params["arrivals"],
        allowed(params, rules),
        params["pause"],
        next((step for step in steps if step.warmup), None),
        None if text is None else digest(text),
    )


def allowed(params: Options, rules: c.Iterable[slo.Rule]) -> Allowed:
    """How late this client may be: for the times that objectives name, and without objectives or with a baseline for the time to first token."""
    named = {rule.metric for rule in rules} | {GOOD[name] for name in params["goodput"]}
    alone = not named or params.get("baseline")
    return Allowed(params["max_lag"], params["max_lag_share"], tuple(name for name in TIMED if name in named or (alone and name == "ttft_from_schedule")))


def ladder(params: Options) -> Ladder | None:
    """The sweep or the search; None without either."""
    kind = next((name for name in ("sweep", "search") if params[name]), None)
    if kind is None:
        return None
    given = params[kind]
    most = float("inf") if given["rate_max"] is None else given["rate_max"]
    return Ladder(kind, given["rate"], given["factor"], most, given["seconds"], given["most"], given.get("tolerance", 0.05))


def problems(params: Options) -> list[str]:
    """All mistakes in the options, but for those in stages and objectives."""
    mistakes = [
        *_numbers(params, POSITIVE, lambda value: value > 0, "must be more than 0"),
        *_numbers(params, NOT_NEGATIVE, lambda value: value >= 0, "must be 0 or more"),
        *_numbers(params, SHARES, lambda value: value <= 1, "must be 1 or less, since it is a share; for 5 % write 0.05"),
        *_numbers(params, FROM_ONE, lambda value: value >= 1, "must be 1 or more, as many times as worse is allowed"),
    ]
    if path := params.get("path"):
        mistakes += (
            [f"path: {path!r} must begin with '/'"] if not path.startswith("/") else [f"path: {path!r} {problem}" for problem in [not_a_path(path)] if problem]
        )
    try:
        base_url(params["url"] or "")
    except ValueError as error:
        mistakes.append(f"url: {error}")
    mistakes += http_headers.problems(params["headers"] or {}, params["host_header"], params["api_key"])
    mistakes += [] if params["model"] or params["models"] else ["model: the name is missing; write the one under which the server serves its model"]
    mistakes += [
        f"models[{index}].weight: {entry.get('weight')} must be more than 0"
        for index, entry in enumerate(params["models"] or ())
        if not _is(entry.get("weight"), lambda value: value > 0)
    ]
    try:
        json.dumps(params["extra_body"] or {}, allow_nan=False)
    except (TypeError, ValueError) as error:
        mistakes.append(f"extra_body: {error}")
    return mistakes + _workload(params["workload"]) + slo.good_problems(params["goodput"]) + _load(params)


def _workload(options: Options) -> list[str]:
    kind = options["kind"]
    mistakes = [f"workload.{name}: {options[name]} must be 1 or more" for name in COUNTS[kind] if options[name] < 1]
    for name in RANGES:
        upper = options.get(f"{name}_max")
        if upper is not None and upper < options[name]:
            mistakes.append(f"workload.{name}_max: {upper} is less than {name}, {options[name]}")
    if kind in ("trace", "prompts") and not options.get("path"):
        mistakes.append(f"workload.path: the file is missing; {kind} are read from one")
    return mistakes


def _is(value: t.Any, kept: c.Callable[[float], bool]) -> bool:
    """Whether a value is a finite number that keeps a bound."""
    return value is not None and math.isfinite(value) and kept(value)


def _numbers(params: Options, table: c.Mapping[str, c.Iterable[str]], kept: c.Callable[[float], bool], requirement: str) -> list[str]:
    """The numbers of a table that do not keep a bound, .nan and .inf among them, one line each."""
    return [
        f"{group}{'.' if group else ''}{name}: {given[name]:g} {requirement}"
        for group, names in table.items()
        if (given := params if not group else params.get(group) or {})
        for name in names
        if given.get(name) is not None and not _is(given[name], kept)
    ]


def _load(params: Options) -> list[str]:
    given = [name for name in WAYS if params[name]]
    if len(given) > 1:
        return [f"{', '.join(given)}: give one of them"]
    if not given:
        return [] if params["workload"]["kind"] == "trace" else ["stages: give at least one, such as {concurrency: 64, seconds: 60}, or sweep, or search"]
    mistakes = []
    if given[0] != "stages":
        options = params[given[0]]
        if not _is(options["factor"], lambda value: value > 1):
            mistakes.append(f"{given[0]}.factor: {options['factor']:g} must be more than 1")
        if options["rate_max"] is not None and 0 < options["rate_max"] < options["rate"]:
            mistakes.append(f"{given[0]}.rate_max: {options['rate_max']:g} is less than rate, {options['rate']:g}; write a rate that is allowed")
    if given[0] == "search" and not params["slo"]:
        mistakes.append("slo: a search needs objectives to meet, such as {ttft_p90_ms: 500}")
    return mistakes
