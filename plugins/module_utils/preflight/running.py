# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Summaries of deployments, from objects with our labels: those of a cluster, and those that a plan renders. Pure."""

from __future__ import annotations

import functools
import hashlib
import typing as t

from ..common.flags import flags_of
from ..common.labels import HOME_LABEL, MANAGED_BY, PART_OF, PICKER, has_labels
from ..common.objects import Facts, dicts, get_path, mapping, text
from ..common.text import one_line, pluralize
from ..epp.catalog.plugins import PICKER_ALIASES
from ..epp.catalog.presets import ROLE_LABEL
from ..epp.document import ParsedConfig, Profile, parse_config
from ..epp.explain.scores import alias
from ..plan.parts.pod_spec import SERVICE_LABEL
from ..releases.deployed import ENGINE_DEFAULTS, NAME_VARIABLE
from ..releases.lines import LEADER_WORKER_SET, RELEASES

try:
    import yaml
except ImportError:
    # The kubernetes library requires it too: without it no cluster is read.
    yaml = None  # type: ignore[assignment]

MANAGER = "llm_d.inference"
# The objects that identify a deployment: (API version, kind).
KINDS = (
    ("apps/v1", "Deployment"),
    (LEADER_WORKER_SET["api_version"], LEADER_WORKER_SET["kind"]),
    ("v1", "ConfigMap"),
    ("gateway.networking.k8s.io/v1", "Gateway"),
)
_LINES = {facts["epp_image"].rpartition("/")[2]: name for name, facts in RELEASES.items()}
_NAMED = [name for row in ENGINE_DEFAULTS.values() for name in row["flags"].get("served_name", ())]
_LOADED = [name for row in ENGINE_DEFAULTS.values() for name in row["flags"].get("model", ()) if name]


def running(objects: t.Iterable[Facts]) -> list[Facts]:
    """The deployments that these objects make up, by namespace and instance: {instance, namespace, release, services, gateways}.

    release: the line; empty where no image names it. services: by name {servers: {name: {replicas, image, model}}, flags, image, config, scorers, proxy};
    replicas: None where an autoscaler sets it; flags: by server, each with a checksum of its value, which may be a secret; config: the text; proxy: whether
    the endpoint picker has one in its pod. gateways: {NAMESPACE/NAME: class}.
    """
    by_place: dict[tuple[str, str], Facts] = {}
    for item in objects:
        labels = mapping(get_path(item, "metadata", "labels"))
        if labels.get(MANAGED_BY) != MANAGER or not labels.get(PART_OF):
            continue
        home = text(labels.get(HOME_LABEL)) or text(get_path(item, "metadata", "namespace"))
        instance = text(labels[PART_OF])
        _add(by_place.setdefault((home, instance), {"instance": instance, "namespace": home, "release": "", "services": {}, "gateways": {}}), item, labels)
    deployments = [each for _place, each in sorted(by_place.items()) if each["services"] or each["gateways"]]
    for each in deployments:
        lines = sorted({line_of(service["image"]) for service in each["services"].values() if service["image"]})
        each["release"] = lines[0] if len(lines) == 1 else ""
        for service in each["services"].values():
            service["scorers"] = scorers(service["config"], each["release"])
    return deployments


def _add(deployment: Facts, item: Facts, labels: Facts) -> None:
    name, kind = text(get_path(item, "metadata", "name")), text(item.get("kind"))
    if kind == "Gateway":
        deployment["gateways"][f"{text(get_path(item, 'metadata', 'namespace'))}/{name}"] = text(get_path(item, "spec", "gatewayClassName"))
    service_name = text(labels.get(SERVICE_LABEL))
    picker = has_labels(item, PICKER)
    if not service_name or kind not in ("Deployment", "ConfigMap", LEADER_WORKER_SET["kind"]) or not (picker or ROLE_LABEL in labels):
        return
    service = deployment["services"].setdefault(service_name, {"servers": {}, "flags": {}, "image": "", "config": "", "scorers": "", "proxy": False})
    if kind == "ConfigMap":
        service["config"] = next((text(value) for value in mapping(item.get("data")).values() if "EndpointPickerConfig" in text(value)), service["config"])
    elif picker:
        service["image"] = text(_container(item, "epp").get("image"))
        service["proxy"] = "proxy" in [each.get("name") for each in dicts(get_path(item, "spec", "template", "spec", "initContainers"))]
    else:
        server = _container(item, "server")
        service["servers"][name] = {"replicas": get_path(item, "spec", "replicas"), "image": text(server.get("image")), "model": _model(server)}
        service["flags"][name] = _flags(server)


def _container(item: Facts, name: str) -> Facts:
    """The container of this name in the pods of a workload, of the leaders where there are any; else the first one."""
    groups = mapping(get_path(item, "spec", "leaderWorkerTemplate"))
    template = groups.get("leaderTemplate") or groups.get("workerTemplate") or get_path(item, "spec", "template")
    containers = dicts(get_path(template, "spec", "containers"))
    return next((each for each in containers if each.get("name") == name), containers[0] if containers else {})


def _model(server: Facts) -> str:
    """The model that a server loads, and the name under which it serves it where that differs; empty where neither is known."""
    arguments = [text(argument) for argument in server.get("args") or []]
    flags = flags_of(arguments)
    variable = next((text(each.get("value")) for each in dicts(server.get("env")) if each.get("name") == NAME_VARIABLE), "")
    named = next((flags[name] for name in _NAMED if flags.get(name)), None) or variable
    first = next((argument for argument in arguments[:1] if not argument.startswith("-")), "")
    loaded = next((flags[name] for name in _LOADED if flags.get(name)), None) or first
    return f"{loaded}, served as {named}" if named and loaded and named != loaded else named or loaded


def _flags(server: Facts) -> dict[str, str]:
    """The flags of a server, except those of its model, each with a checksum of its value."""
    flags = flags_of([text(argument) for argument in server.get("args") or []])
    return {name: hashlib.sha256(str(value).encode()).hexdigest()[:12] for name, value in flags.items() if name not in (*_NAMED, *_LOADED)}


def line_of(image: str) -> str:
    """The release line of an endpoint picker's image, from any mirror; empty for an unknown image."""
    return _LINES.get(image.partition("@")[0].rpartition("/")[2], "")


@functools.lru_cache(maxsize=1024)
def scorers(config: str, release: str) -> str:
    """Scorers with weights, such as `queue 1, kv_cache 2, prefix 3`, by profile where there are several; empty for a text that is no configuration."""
    try:
        document = yaml.load(config, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if yaml else None
    except yaml.YAMLError:
        document = None
    if not isinstance(document, dict):
        return ""
    parsed = parse_config(document, release or next(reversed(RELEASES)))
    weights = {profile.name: _weights(profile, parsed) for profile in parsed.profiles}
    return one_line("; ".join(f"{name}: {words}" for name, words in weights.items()) if len(weights) > 1 else "".join(weights.values()))


def _weights(profile: Profile, config: ParsedConfig) -> str:
    terms = [f"{alias(item.declared, config)} {1 if item.weight is None else item.weight}" for item in profile.of("scorer") if item.declared]
    pickers = [name for item in profile.of("picker") if item.declared for name, kind in PICKER_ALIASES.items() if kind == item.declared.type]
    return ", ".join(terms) or " ".join(["no scorers", *(f"({name})" for name in pickers)])


def servers_of(service: Facts) -> int:
    """The number of servers of a service, including those that an autoscaler has started; planned servers whose number it sets count as 0."""
    return sum(each["replicas"] or 0 for each in service["servers"].values())


def description(deployment: Facts) -> str:
    """A deployment on one line: instance and namespace, release line, and each service with the number of its servers."""
    services = [f"{name} ({pluralize(servers_of(service), 'server')})" for name, service in sorted(deployment["services"].items())]
    what = ", ".join([deployment["release"] or "of no known release line", *services] if services else ["a Gateway alone"])
    return one_line(f"{deployment['instance']} in namespace {deployment['namespace']}: {what}", 1000)
