# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A canary: the plans of a deployment whose weights move to one service or model in steps, by route.weights or model.aliases. Pure."""

from __future__ import annotations

import re
import typing as t

from ..common.objects import Facts
from ..schema.fields import Problem, show
from .build import SERVICES, Mistakes, completed, derived
from .cluster.record import with_services
from .engines.aliases import KIND
from .engines.weights import served_name
from .parts.names import name_suffix

WHAT = "canary_* variables"
KINDS = ("HTTPRoute", KIND)  # of the objects that a step changes
LONGEST_PAUSE = 86400
# The weights by place: of names of services at route.weights, without the suffix of the file, and of models at each alias of model.aliases.
Shared = dict[tuple[str, ...], dict[str, int]]
_ROUTE = ("route", "weights")


def canary(variables: t.Mapping[str, t.Any], options: t.Mapping[str, t.Any]) -> Facts:
    """{service, to, pause, before, steps, file}: `before` and each of the steps as {percent, shown, plan}, the plan of the services concerned alone.

    options: the values of service, to, steps and pause as users write them. percent: the share of requests of the new one; of several aliases the smallest.
    file: lines for the user's file, which agree with the deployment after the last step. Steps up to the share in the file are left out.
    Services are named and shown without the suffix of their file; options may have it.
    Raises Mistakes with every problem, of the user's file first.
    """
    user = completed(variables)
    owner, shared, to, problems = _selected(user, options.get("service"), options.get("to"))
    steps, step_problems = _steps(options.get("steps"))
    pause, pause_problems = _pause(options.get("pause"))
    if problems or step_problems or pause_problems or owner is None:
        raise Mistakes([*problems, *step_problems, *pause_problems], WHAT)
    present = min(100 * weights[to] / sum(weights.values()) for weights in shared.values())
    ahead = [percent for percent in steps if percent > present]
    last = {place: _moved(weights, to, ahead[-1]) for place, weights in shared.items()} if ahead else shared
    return {
        "service": owner["name"].removesuffix(name_suffix(user)),
        "to": to,
        "pause": pause,
        "before": _step(user, owner, shared, round(present)),
        "steps": [_step(user, owner, {place: _moved(weights, to, percent) for place, weights in shared.items()}, percent) for percent in ahead],
        "file": [f"{SERVICES}[{user[SERVICES].index(owner)}].{line}" for line in _shown(last, full=True)],
    }


def _selected(user: Facts, name: t.Any, to: t.Any) -> tuple[Facts | None, Shared, str, list[Problem]]:
    """(the service whose requests are moved, its shares, the service or model that they are moved to, problems)."""
    ending = name_suffix(user)
    services = {service["name"].removesuffix(ending): service for service in user[SERVICES]}
    sharing = [each for each, service in services.items() if _shared(service, ending)]
    write = "write 'route: {weights: {NAME: 100, OTHER: 0}}' for a model service, or 'model: {aliases: {ALIAS: {MODEL: 100, OTHER: 0}}}', and run site.yml."
    if not sharing:
        return None, {}, "", [Problem("canary_service", name, "there is no model service that shares requests by weight.", f"First {write}")]
    name = sharing[0] if name in (None, "") and len(sharing) == 1 else _written(name, list(services), ending)
    if name not in sharing:
        why = (
            "is missing." if name in (None, "") else f"{show(name)} shares no requests by weight." if name in services else f"{show(name)} is no model service."
        )
        fix = f"Write one that does: {', '.join(sharing)}" + (f"; or first {write}" if name in services else ".")
        return None, {}, "", [Problem("canary_service", name, why, fix)]
    service = services[name]
    shared = _shared(service, ending)
    usual = (name, served_name(service["model"]))
    known = list(dict.fromkeys(each for weights in shared.values() for each in weights))
    new = [each for each in known if each not in usual]
    to = new[0] if to in (None, "") and len(new) == 1 else _written(to, known, ending)
    if to not in known:
        why = "is missing, and more than one could be meant." if to in (None, "") else f"{show(to)} has no weight in model service {name}."
        return None, {}, "", [Problem("canary_to", to, why, f"Write one of {', '.join(known)}.")]
    return service, {place: weights for place, weights in shared.items() if to in weights}, to, []


def _written(name: t.Any, known: t.Sequence[str], ending: str) -> t.Any:
    """A name without the suffix of the file, where only that name is known."""
    return name.removesuffix(ending) if isinstance(name, str) and name not in known and name.removesuffix(ending) in known else name


def _shared(service: Facts, ending: str) -> Shared:
    route, aliases = service["route"]["weights"], service["model"]["aliases"]
    shares: Shared = {_ROUTE: {name.removesuffix(ending): weight for name, weight in route.items()}} if route else {}
    return {**shares, **{("model", "aliases", alias): dict(models) for alias, models in aliases.items() if isinstance(models, dict) and len(models) > 1}}


def _steps(given: t.Any) -> tuple[list[int], list[Problem]]:
    """(the percentages, problems) of a list, or of a text such as 10, 25, 50, which surveys give."""
    listed = [part for part in re.split(r"[,\s]+", given.strip()) if part] if isinstance(given, str) else given
    fix = "Write percentages from 1 to 100 in rising order, such as [10, 25, 50, 100]."
    if not isinstance(listed, (list, tuple)) or not listed:
        return [], [Problem("canary_steps", given, f"{show(given)} is no list of percentages.", fix)]
    steps: list[int] = []
    problems: list[Problem] = []
    for place, each in enumerate(listed):
        number = _whole(each)
        if number is None or not 1 <= number <= 100:
            problems.append(Problem(f"canary_steps[{place}]", each, f"{show(each)} is no percentage from 1 to 100.", fix))
        elif steps and number <= steps[-1]:
            problems.append(Problem(f"canary_steps[{place}]", each, f"{number} is not more than {steps[-1]} before it.", fix))
        else:
            steps.append(number)
    return steps, problems


def _pause(given: t.Any) -> tuple[int, list[Problem]]:
    number = _whole(given)
    if number is None or not 0 <= number <= LONGEST_PAUSE:
        return 0, [Problem("canary_pause", given, f"{show(given)} is no number of seconds.", f"Write a whole number from 0 to {LONGEST_PAUSE}.")]
    return number, []


def _whole(value: t.Any) -> int | None:
    text = str(value).strip()
    return int(text) if not isinstance(value, bool) and re.fullmatch(r"[0-9]{1,9}", text) else None


def _moved(weights: t.Mapping[str, int], to: str, percent: int) -> dict[str, int]:
    """The weights in percent, with `percent` for `to`. The others share the rest in proportion to their weights, rounded; without any, the first gets it."""
    others = {name: weight for name, weight in weights.items() if name != to}
    if not any(others.values()):
        others[next(iter(others))] = 1
    rest, whole = 100 - percent, sum(others.values())
    exact = {name: rest * weight / whole for name, weight in others.items()}
    rounded = {name: int(part) for name, part in exact.items()}
    for name in sorted(exact, key=lambda name: rounded[name] - exact[name])[: rest - sum(rounded.values())]:  # the largest remainders
        rounded[name] += 1
    return {name: percent if name == to else rounded[name] for name in weights}


def _step(user: Facts, owner: Facts, shared: Shared, percent: int) -> Facts:
    changed, ending = owner, name_suffix(user)
    for place, weights in shared.items():
        changed = _with(changed, place, {f"{name}{ending}": weight for name, weight in weights.items()} if place == _ROUTE else weights)
    services = [changed if service is owner else service for service in user[SERVICES]]
    concerned = [owner["name"], *(name for name in owner["route"]["weights"] if _ROUTE in shared and name != owner["name"])]
    return {"percent": percent, "shown": ", ".join(_shown(shared)), "plan": with_services(derived({**user, SERVICES: services}), *concerned)}


def _with(value: Facts, place: tuple[str, ...], new: t.Any) -> Facts:
    first, *rest = place
    return {**value, first: _with(value[first], tuple(rest), new) if rest else new}


def _shown(shared: Shared, full: bool = False) -> list[str]:
    """Each place with its weights, as the user would write them; those of a route without their place, unless `full`."""
    words = {place: ", ".join(f"{name}: {weight}" for name, weight in weights.items()) for place, weights in shared.items()}
    return [f"{'.'.join(place)}: {{{each}}}" if full or len(place) > 2 else each for place, each in words.items()]
