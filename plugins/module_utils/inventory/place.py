# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The instance and the namespace of a starting file: those of the kubeconfig's context, and free ones where deployments of ours run. Pure."""

from __future__ import annotations

import itertools
import typing as t
from dataclasses import dataclass

from ..common.objects import Facts, dicts, mapping
from ..preflight.running import running, said
from ..schema.variables import VARIABLES

INSTANCE, NAMESPACE = (str(VARIABLES[name].default) for name in ("llm_d_instance", "llm_d_namespace"))
PAGE = "docs/second-deployment.md"


@dataclass(frozen=True)
class Place:
    """Where a file deploys. suffix: of names, in a namespace that another deployment has; beside: the deployments that run; known: whether all are known."""

    instance: str
    namespace: str
    suffix: str
    beside: tuple[Facts, ...]
    known: bool

    @property
    def whole(self) -> str:
        """The instance and its namespace."""
        return f"{self.instance}{self.suffix} in namespace {self.namespace}"


def restricted(facts: Facts) -> bool:
    """Whether the account may list nothing of the cluster, so that it has permissions in its namespace only."""
    return not {"nodes", "crds", "gateway_classes"} & set(facts)


def starting_place(facts: Facts, reached: Facts) -> Place:
    """The place for a file. facts: of preflight/facts.py survey. reached: its namespace is that of the context; empty, or `default`, is none."""
    seen = mapping(facts.get("running"))
    beside = tuple(running(dicts(seen.get("objects"))))
    known = not seen or "Deployment" not in seen["unread"]
    home = str(reached.get("namespace") or "")
    wished = NAMESPACE if home in ("", "default") else home
    taken = {name: {each[name] for each in beside} for name in ("instance", "namespace")}
    if restricted(facts) and wished in taken["namespace"]:
        ending = next(f"-{number}" for number in itertools.count(2) if f"{INSTANCE}-{number}" not in taken["instance"])
        return Place(INSTANCE, wished, ending, beside, known)
    there = taken["namespace"] | set(facts.get("namespaces") or [])
    instance = next(name for name in _names(INSTANCE) if name not in taken["instance"] and (wished not in taken["namespace"] or name not in there))
    return Place(instance, instance if wished in taken["namespace"] else wished, "", beside, known)


def _names(name: str) -> t.Iterator[str]:
    """name, name-2, name-3 and so on."""
    return itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))


def lines(place: Place) -> list[tuple[str, str]]:
    """(what, text) of what runs there and of what is proposed."""
    if not place.known:
        return [("running here", "not known: no permission to list Deployments")]
    if not place.beside:
        return [("running here", "no deployment of this collection")]
    return [("running here", said(each)) for each in place.beside] + [("proposed", f"a second deployment, {place.whole}; {PAGE}")]


def comments(place: Place) -> list[str]:
    """Sentences for the file about what runs there, and how to take it over instead."""
    if not place.beside:
        return []
    first = place.beside[0]
    release = f", llm_d_release: {first['release']}" if first["release"] else ""
    return [
        f"What runs here stays as it is: this file is a second deployment beside it, {place.whole}, which are free ({PAGE}).",
        f"To take {first['instance']} over instead, write llm_d_instance: {first['instance']}, llm_d_namespace: {first['namespace']}{release} and its services"
        " as they run, until playbooks/diff.yml finds no difference: what the file does not have, site.yml would remove.",
    ]


def options(place: Place) -> dict[str, str]:
    """The options of the file that say where it deploys, without those that are the default."""
    found = {"llm_d_instance": place.instance, "llm_d_namespace": place.namespace, "llm_d_name_suffix": place.suffix}
    return {name: value for name, value in found.items() if value and value != VARIABLES[name].default}
