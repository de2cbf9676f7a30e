# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The instance and the namespace of a starting file: those of the kubeconfig's context, and free ones where deployments of ours run. Pure."""

from __future__ import annotations

import itertools
import typing as t
from dataclasses import dataclass

from ..common.objects import Facts, dicts, mapping
from ..preflight.running import description, running
from ..schema.variables import VARIABLES

INSTANCE, NAMESPACE = (str(VARIABLES[name].default) for name in ("llm_d_instance", "llm_d_namespace"))
PAGE = "docs/second-deployment.md"


@dataclass(frozen=True)
class Place:
    """Where a file deploys. suffix: of names, where another deployment has the namespace; deployments: those that run; known: whether these are all."""

    instance: str
    namespace: str
    suffix: str
    deployments: tuple[Facts, ...]
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
    listing = mapping(facts.get("running"))
    deployments = tuple(running(dicts(listing.get("objects"))))
    known = not listing or "Deployment" not in listing["unread"]
    context_namespace = str(reached.get("namespace") or "")
    preferred = NAMESPACE if context_namespace in ("", "default") else context_namespace
    taken = {name: {each[name] for each in deployments} for name in ("instance", "namespace")}
    if restricted(facts) and preferred in taken["namespace"]:
        ending = next(f"-{number}" for number in itertools.count(2) if f"{INSTANCE}-{number}" not in taken["instance"])
        return Place(INSTANCE, preferred, ending, deployments, known)
    unavailable = taken["namespace"] | set(facts.get("namespaces") or [])
    instance = next(name for name in _names(INSTANCE) if name not in taken["instance"] and (preferred not in taken["namespace"] or name not in unavailable))
    return Place(instance, instance if preferred in taken["namespace"] else preferred, "", deployments, known)


def _names(name: str) -> t.Iterator[str]:
    """name, name-2, name-3 and so on."""
    return itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))


def lines(place: Place) -> list[tuple[str, str]]:
    """(label, text) of each line about the deployments that run there and the one that is proposed."""
    if not place.known:
        return [("running here", "not known: no permission to list Deployments")]
    if not place.deployments:
        return [("running here", "no deployment of this collection")]
    return [("running here", description(each)) for each in place.deployments] + [("proposed", f"a second deployment, {place.whole}; {PAGE}")]


def comments(place: Place) -> list[str]:
    """Sentences for the file about the deployments that run there, and how to take one over instead."""
    if not place.deployments:
        return []
    first = place.deployments[0]
    release = f", llm_d_release: {first['release']}" if first["release"] else ""
    return [
        f"What runs here stays as it is: this file is a second deployment beside it, {place.whole}, which are free ({PAGE}).",
        f"To take {first['instance']} over instead, write llm_d_instance: {first['instance']}, llm_d_namespace: {first['namespace']}{release} and its services"
        " as they run, until playbooks/diff.yml finds no difference: what the file does not have, site.yml would remove.",
    ]


def options(place: Place) -> dict[str, str]:
    """The options of the file that say where it deploys, without those that are the default."""
    values = {"llm_d_instance": place.instance, "llm_d_namespace": place.namespace, "llm_d_name_suffix": place.suffix}
    return {name: value for name, value in values.items() if value and value != VARIABLES[name].default}
