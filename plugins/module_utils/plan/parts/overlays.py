# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Additions of the user to pods, in `pod` and `container` of the file: merged over the pod template, which keeps what the plan decides. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ...common.objects import Facts, mapping
from ...releases.gateways import GATEWAY_PROVIDERS
from ...schema.fields import REDACTED, Problem
from ...schema.pods import CONTAINER, TEMPLATE, Steps, Type, merged, missing, named, types
from .environment import as_option
from .pod_spec import SERVICE_LABEL

_METADATA = ("labels", "annotations")
# Beginnings of labels by which the collection and others select pods.
_SELECTING = {
    **dict.fromkeys(("llm-d.ai/", "app.kubernetes.io/", "inference.networking."), "the collection"),
    **dict.fromkeys((label for row in GATEWAY_PROVIDERS.values() if row for label in row["owning_labels"].values()), "the controller of gateways"),
    "leaderworkerset.sigs.k8s.io/": "LeaderWorkerSet",
}


class Overlay(t.NamedTuple):
    """A `pod` or `container` block. path: in the user's file; container: the name of the container that it is for, empty for a pod; names: those of fields in
    the file, where they differ."""

    path: str
    value: Facts
    container: str = ""
    names: t.Mapping[str, str] = {}


class Governed(t.NamedTuple):
    """The option that decides a field of a pod. free: the user can change the value of the plan; whole: the user cannot add it where the plan has none."""

    option: str = ""
    free: bool = False
    whole: bool = False


Table = t.Mapping[str, Governed]  # by path, `pod.volumes` or `container.args`
# Fields of all pods.
ALIKE = {
    "container.imagePullPolicy": Governed("llm_d_image_pull_policy"),
    "container.restartPolicy": Governed(whole=True),
    "container.securityContext": Governed(free=True),
    "pod.enableServiceLinks": Governed(free=True),
    "pod.imagePullSecrets": Governed("llm_d_image_pull_secrets", whole=True),
    "pod.restartPolicy": Governed(whole=True),
    "pod.securityContext": Governed(free=True),
}


def overlays_of(block: Facts, path: str, container: str) -> list[Overlay]:
    """The overlays of a block of the user's file: for its pods, and for their container of this name."""
    return [Overlay(f"{path}.{name}", block[name], of) for name, of in (("pod", ""), ("container", container)) if block[name]]


def overlaid(template: Facts, overlays: c.Iterable[Overlay], patch: bool = False) -> Facts:
    """The pod template with overlays over it, one after the other. patch: it is a patch, for a template that another controller creates."""
    for overlay in overlays:
        template = merged(template, _patch(overlay), Type(TEMPLATE), patch)
    return template


def planned_pod(ours: Facts, overlays: c.Sequence[Overlay], patch: bool = False) -> Facts:
    """{ours: the pod template without overlays, template: with them, added: {path of an added field in the template: its path in the file}}."""
    template = overlaid(ours, overlays, patch)
    added = {}
    for steps, _ours in _changes(ours, template, Type(TEMPLATE)):
        for length in range(len(steps), 0, -1):
            part = steps[:length]
            place, depth = _deepest(overlays, part)
            if depth < length or length < len(steps) and _at(ours, part) is not None:
                break
            added[_spelled(template, part)] = place
    return {"ours": ours, "template": template, "added": added}


def patch_of(block: Facts, container: str) -> Facts:
    """The additions of a block as one patch of a pod template; {} without any."""
    return overlaid({}, overlays_of(block, "", container), patch=True)


def overlay_problems(template: Facts, overlays: c.Sequence[Overlay], main: str, table: Table) -> list[Problem]:
    """Overlays that change what the plan decides, or lack what Kubernetes requires. main: the name of the container of the template."""
    refusals: dict[Steps, Problem] = {}
    made = template
    for overlay in overlays:
        made = overlaid(made, [overlay])
        for steps, ours in _changes(template, made, Type(TEMPLATE)):
            rule = _rule(_path(steps, main), table)
            if steps not in refusals and (rule.whole or ours and not rule.free):
                refusals[steps] = refused(_place(overlay, steps)[0], rule)
    labels = [label_problems(mapping(overlay.value.get("labels")), f"{overlay.path}.labels") for overlay in overlays if not overlay.container]
    problems = {problem.path: problem for each in ([*refusals.values()], *labels) for problem in each}
    for steps in missing(made, Type(TEMPLATE)):
        place, depth = _deepest(overlays, steps)
        path = place + "".join(f".{step}" for step in steps[depth:])
        if place not in problems:  # a block that removes fields of the plan is reported once
            problems[path] = Problem(path, None, "is missing, and Kubernetes requires it.", "Write it.")
    return [*problems.values()]


def added_environment(block: Facts, path: str, container: str) -> dict[str, tuple[t.Any, str]]:
    """{variable: (its value, or its reference as in an option `env`; where it is written)} of the additions of a block to a container."""
    overlays, variables = overlays_of(block, path, container), {}
    for item in _at(overlaid({}, overlays, patch=True), (*_inside(container), "env")) or []:
        value = as_option(item)
        if item.get("name") and value is not None:
            variables[item["name"]] = (value, _deepest(overlays, (*_inside(container), "env", ("name", item["name"])))[0])
    return variables


def label_problems(labels: t.Mapping[str, t.Any], path: str) -> list[Problem]:
    """Labels by which pools, Services and controllers select pods: with them a pod would be among those of another object. path: of the labels in the file."""
    problems = []
    for key, value in labels.items():
        owner = next((owner for beginning, owner in _SELECTING.items() if key.startswith(beginning)), "")
        if key == SERVICE_LABEL:
            reason = f"is what InferencePools select servers by: these would be in the pool of '{value}' as well."
        elif owner:
            reason = f"belongs to {owner}, which selects pods by it."
        else:
            continue
        problems.append(Problem(f"{path}.{key}", value, reason, "Write a label with a prefix of your own."))
    return problems


def added_place(planned: Facts, field: str) -> str:
    """The path in the user's file of an added field, or of a field within one; empty for any other field. planned: as `planned_pod` returns it."""
    paths = [path for path in planned["added"] if field == path or field.startswith((f"{path}.", f"{path}["))]
    longest = max(paths, key=len, default="")
    return f"{planned['added'][longest]}{field.removeprefix(longest)}" if longest else ""


def added_references(planned: Facts, path: str) -> list[Facts]:
    """The objects that the template of a planned pod names and its `ours` does not: {kind, name, key, path: in the user's file}. path: of its block."""
    present = set(named(planned["ours"], Type(TEMPLATE)))
    additions = [each for each in named(planned["template"], Type(TEMPLATE)) if each not in present]
    return [{**reference._asdict(), "path": path + added_place(planned, _spelled(planned["template"], steps))} for steps, reference in additions]


def _at(value: t.Any, steps: Steps) -> t.Any:
    """The value of a template at these steps; None without one."""
    for step in steps:
        if isinstance(step, tuple):
            value = next((item for item in value or [] if item.get(step[0]) == step[1]), None)
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _spelled(template: Facts, steps: Steps) -> str:
    """The path of steps in the form of the API server: `spec.containers[0].resources.limits[cpu]`."""
    path, kind = "", Type(TEMPLATE)
    for depth, step in enumerate(steps):
        if isinstance(step, tuple):
            items = _at(template, steps[:depth]) or []
            path += f"[{next((number for number, item in enumerate(items) if item.get(step[0]) == step[1]), len(items))}]"
        else:
            path += f"[{step}]" if kind.name in ("list", "map") else f".{step}"
        kind = types(kind.name).get(step, Type(kind.of))
    return path.removeprefix(".")


def _deepest(overlays: c.Sequence[Overlay], steps: Steps) -> tuple[str, int]:
    """What `_place` returns for the overlay that has the most of the steps; the last one of several."""
    return max((_place(overlay, steps) for overlay in reversed(overlays)), key=lambda match: match[1])


def _patch(overlay: Overlay) -> Facts:
    """The overlay as a patch of a pod template."""
    if overlay.container:
        return {"spec": {"containers": [{**overlay.value, "name": overlay.container}]}}
    labelled = {name: overlay.value[name] for name in _METADATA if name in overlay.value}
    return {"metadata": labelled, "spec": {name: value for name, value in overlay.value.items() if name not in _METADATA}}


def _changes(before: t.Any, after: t.Any, kind: Type) -> c.Iterator[tuple[Steps, bool]]:
    """(steps to a difference of two values of a type, whether `before` has a value there, or the element of a list that it is in)."""
    if isinstance(before, dict) or isinstance(after, dict):
        one, other, known = before or {}, after or {}, types(kind.name)
        for key in [*one, *(key for key in other if key not in one)]:
            below = _changes(one.get(key), other.get(key), known.get(key, Type(kind.of)))
            yield from (((key, *steps), ours) for steps, ours in below)
    elif kind.by:
        one, other = ({item.get(kind.by): item for item in each or []} for each in (before, after))
        for key in [*one, *(key for key in other if key not in one)]:
            whole = key in one and kind.of != CONTAINER  # a variable, a port, a volume of the plan
            yield from ((((kind.by, key), *steps), ours or whole) for steps, ours in _changes(one.get(key), other.get(key), Type(kind.of)))
    elif before != after and not (before in (None, [], "") and after in (None, [], "")):
        yield (), before not in (None, [])


def _path(steps: Steps, main: str) -> str:
    """The path of steps as a table has it: that of the main container begins with `container`, every other one with `pod`; without elements of lists."""
    block, rest = ("container", steps[3:]) if steps[:3] == _inside(main) else ("pod", steps[1:])
    return ".".join([block, *(step for step in rest if isinstance(step, str))])


def _inside(container: str) -> Steps:
    return ("spec", "containers", ("name", container))


def _rule(path: str, table: Table) -> Governed:
    """The rule of the longest beginning of a path that the table has."""
    parts = path.split(".")
    named = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((table[name] for name in named if name in table), Governed())


def refused(place: str, rule: Governed) -> Problem:
    """The problem of an addition that a rule does not allow."""
    fix = f"Take it out, and write {rule.option}." if rule.option else "Take it out."
    return Problem(place, REDACTED, "is decided by other options of your file.", fix)


def _place(overlay: Overlay, steps: Steps) -> tuple[str, int]:
    """(the path of steps in the user's file as far as the overlay has it, how many of the steps that is)."""
    start = 3 if overlay.container else 1
    if overlay.container and steps[:3] != _inside(overlay.container):
        return overlay.path, 0
    value, place = t.cast(t.Any, overlay.value), overlay.path
    for depth, step in enumerate(steps[start:], start):
        if isinstance(step, tuple):
            index = next((number for number, item in enumerate(value) if item.get(step[0]) == step[1]), None) if isinstance(value, list) else None
        else:
            index = step if isinstance(step, int) and isinstance(value, list) and step < len(value) else None
        if index is None and not (isinstance(value, dict) and step in value):
            return place, depth
        place += f".{overlay.names.get(step, step) if depth == start else step}" if index is None else f"[{index}]"
        value = value[step if index is None else index]
    return place, len(steps)
