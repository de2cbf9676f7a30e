"""Objects of the inventories with a mistake that an API server must refuse, and a word that its message contains."""

from __future__ import annotations

import copy
import typing as t

Facts = dict[str, t.Any]


def _unknown(item: Facts) -> None:
    item["spec"]["nobodyKnowsThis"] = True


def _unknown_deep(item: Facts) -> None:
    item["spec"]["template"]["spec"]["containers"][0]["argz"] = []


def _no_number(item: Facts) -> None:
    item["spec"]["replicas"] = "three"


def _no_name(item: Facts) -> None:
    item["spec"]["template"]["spec"]["containers"][0]["name"] = "Not_A_Name"


def _no_ports(item: Facts) -> None:
    del item["spec"]["targetPorts"]


# (kind, the change of the first object of that kind, the word)
MISTAKES: tuple[tuple[str, t.Callable[[Facts], None], str], ...] = (
    ("Deployment", _unknown_deep, "argz"),
    ("Deployment", _no_number, "replicas"),
    ("Deployment", _no_name, "containers"),
    ("Service", _unknown, "nobodyKnowsThis"),
    ("InferencePool", _unknown, "nobodyKnowsThis"),
    ("InferencePool", _no_ports, "targetPorts"),
    ("HTTPRoute", _unknown, "nobodyKnowsThis"),
    ("DestinationRule", _unknown, "nobodyKnowsThis"),
)
OF_CUSTOM_KINDS = tuple(mistake for mistake in MISTAKES if mistake[0] not in ("Deployment", "Service"))


def spoiled(items: t.Sequence[Facts], kind: str, spoil: t.Callable[[Facts], None]) -> Facts:
    """The first object of a kind, with a mistake."""
    item = copy.deepcopy(next(each for each in items if each["kind"] == kind))
    spoil(item)
    return item
