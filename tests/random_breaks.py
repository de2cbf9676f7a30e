"""Random changes of a running stack, as a user of kubectl makes them, and whether the diagnosis names them.

Each break takes one field of an object that site.yml has applied, and changes the value, removes it, or adds a value next to it; a change that the API server
refuses does not count. Then the stack is diagnosed at once, without requests, and the object is restored. Import plays first.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import random
import time
import types
import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis import report
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis.collect import Collector
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis.finding import SUSPECT, SYMPTOM, Finding
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.apply_results import object_title
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ClusterError
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions

LIMITS = {"request_timeout": 5, "log_lines": 200, "requests": False}
LEFT_OUT = {"metadata", "status", "apiVersion", "kind"}
SOMEONE = {"fieldManager": "someone"}
Facts = dict[str, t.Any]
Way = tuple[t.Any, ...]


def leaves(value: t.Any, way: Way = ()) -> t.Iterator[Way]:
    """The path of each field of an object, and of each element of its lists."""
    inner: list[tuple[t.Any, t.Any]] = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    for key, below in inner:
        if not way and key in LEFT_OUT:
            continue
        yield from leaves(below, (*way, key))
    if way and not inner:
        yield way


def changed(value: t.Any, chance: random.Random) -> t.Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + chance.choice([1, 7, 1000]) if chance.random() < 0.7 else max(0, value - 1)
    if isinstance(value, str):
        return f"{value}x" if chance.random() < 0.5 else f"x{value}"
    return value


def spoil(obj: Facts, chance: random.Random) -> tuple[str, Facts]:
    """(the change in words, the object with one field changed, removed, or added)."""
    made = copy.deepcopy(obj)
    way = chance.choice(sorted(leaves(obj), key=str))
    parent = made
    for key in way[:-1]:
        parent = parent[key]
    shown = ".".join(map(str, way))
    kind = chance.choice(["change", "change", "change", "remove", "add"])
    if kind == "remove":
        del parent[way[-1]]
    elif kind == "add" and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[way[-1]]))
    elif kind == "add" and all(isinstance(item, str) for item in parent.values()):
        parent["added-by-someone"] = "yes"
    else:
        kind, parent[way[-1]] = "change", changed(parent[way[-1]], chance)
    return f"{kind} {shown}", made


@dataclasses.dataclass
class Outcome:
    """The results of the breaks. named: the object that was changed is named; first: in the first finding; missed: a line for each that is not first."""

    done: int = 0
    named: int = 0
    first: int = 0
    refused: int = 0
    missed: list[str] = dataclasses.field(default_factory=list)


class Stack:
    """A running stack of a user's file, with the definitions of all objects that site.yml applies."""

    def __init__(self, user: Facts, kubeconfig: str) -> None:
        self.cluster = connect(types.SimpleNamespace(params={"kubeconfig": kubeconfig}))
        self.plan = plan({name: value for name, value in user.items() if name.startswith("llm_d_")})
        self.objects = definitions(self.plan)

    def findings(self, weight: int = SYMPTOM) -> list[Finding]:
        """The findings of at least this weight."""
        snap = Collector(self.cluster, self.plan, LIMITS, self.objects).collect()
        return [entry for entry in report.diagnose(snap) if entry.weight >= weight]

    def alarms(self, seconds: float = 120) -> list[str]:
        """The findings that are still there after `seconds`: Deployments need time to recreate their pods."""
        end, rest = time.monotonic() + seconds, self.findings()
        while rest and time.monotonic() < end:
            time.sleep(2)
            rest = self.findings()
        return [f"{entry.code} {entry.where}: {'; '.join(entry.evidence)}" for entry in rest]

    def breaks(self, count: int, seed: int, log: t.Callable[[str], None] = print) -> Outcome:
        """Break and restore objects `count` times. log: called with a line for each break that is not named first."""
        chance, out = random.Random(seed), Outcome()
        while out.done < count:
            item = chance.choice([each for each in self.objects if each["kind"] != "Namespace"])
            path = self.cluster.path(item["apiVersion"], item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
            assert path
            before = self.cluster.get(path)
            before["metadata"].pop("resourceVersion")
            if not list(leaves(before)):
                continue
            what, after = spoil(before, chance)
            try:
                answer = self.cluster.request("PUT", path, SOMEONE, after)
            except ClusterError:
                out.refused += 1
                continue
            if _content(answer) == _content(before):
                out.refused += 1  # the API server has reverted it, as it does with its defaults
                continue
            try:
                findings = self.findings(SUSPECT)
            finally:
                self.cluster.request("PUT", path, SOMEONE, before)
            title = object_title(item)
            hits = [index for index, entry in enumerate(findings) if title in entry.where]
            out.done, out.named, out.first = out.done + 1, out.named + bool(hits), out.first + (hits[:1] == [0])
            if hits[:1] != [0]:
                out.missed.append(f"{'behind another' if hits else 'NOT NAMED'}: {title}: {what}; found {json.dumps([entry.where for entry in findings])}")
                log(out.missed[-1])
        return out


def _content(obj: Facts) -> Facts:
    return {name: value for name, value in obj.items() if name not in LEFT_OUT}
