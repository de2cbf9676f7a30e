# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Existing objects that the user's file names, which have to exist before anything is changed. Pure."""

from __future__ import annotations

import typing as t

from ...common.objects import Facts, mapping
from ...schema.pods import CLUSTER_WIDE
from ..engines.weights import BUCKET_KEYS, model_uri
from ..gateways.proxy_pod import BLOCK as PROXY
from ..parts.charts import provider_facts
from ..parts.environment import environment_references
from ..parts.other_pods import other_pod_references, other_pods
from ..parts.overlays import added_references
from ..servers.caches import classes_of_caches


def named_objects(planned: Facts, user: Facts) -> list[Facts]:
    """Each object as {kind, namespace: of the pod, name, object: its title, key: the one that is read, empty for all, path: in the user's file, alone: whether
    the value is only a credential}."""
    if planned["scope"] == "prerequisites":
        return []
    home, pickers = planned["namespace"], planned["scheduler_namespace"]
    references = [
        _object("Secret", place, name, f"llm_d_image_pull_secrets[{index}]", ".dockerconfigjson")
        for place in dict.fromkeys((home, pickers))
        for index, name in enumerate(user["llm_d_image_pull_secrets"])
    ]
    for index, (service, planned_service) in enumerate(zip(user["llm_d_model_services"], planned["services"], strict=True)):
        references += _of_service(service, planned_service, f"llm_d_model_services[{index}]", home, pickers)
    if proxy := planned["gateway"]["proxy_pod"]:
        references += [_object(namespace=_proxies(planned, user), **each) for each in added_references(proxy, PROXY)]
    references += [_object(namespace=home, **each) for each in other_pod_references(other_pods(user, planned["services"], planned["gpus"]))]
    for listener in planned["gateway"]["listeners"] if not planned["gateway"]["annotations"] else []:
        if listener["tls_secret"]:
            references.append(_object("Secret", path="llm_d_gateway.listener.tls_secret", key="tls.crt", **listener["tls_secret"]))
    own = [("Secret", secret["metadata"]["namespace"], secret["metadata"]["name"]) for secret in planned["secrets"]["present"]]
    return [each for each in references if (each["kind"], each["namespace"], each["name"]) not in own]


def _proxies(planned: Facts, user: Facts) -> str:
    """The namespace of the proxies of the Gateway."""
    facts = provider_facts(user)
    return str(facts["namespace"] if facts["proxy_namespace"] == "controller" else planned["gateway"]["namespace"])


def _of_service(service: Facts, planned_service: Facts, path: str, home: str, pickers: str) -> t.Iterator[Facts]:
    """The objects that the options of a service name, then those that its additions to pods name."""
    model, picker = service["model"], planned_service["scheduler"]
    if model["token_secret"]:
        # A tokenizer beside the endpoint picker also reads this Secret.
        for place in dict.fromkeys((home, *([pickers] if _refers(picker, model["token_secret"]) else []))):
            yield _object("Secret", place, model["token_secret"], f"{path}.model.token_secret", model["token_key"], alone=True)
    if key := model["api_key"]:
        yield _object("Secret", home, key["secret"], f"{path}.model.api_key", key["key"], alone=True)
    shared = mapping((service["cache"] or {}).get("shared"))
    if shared.get("password_secret"):
        yield _object("Secret", home, shared["password_secret"], f"{path}.cache.shared.password_secret", shared["password_key"], alone=True)
    for key in BUCKET_KEYS if model["bucket_secret"] else ():
        yield _object("Secret", home, model["bucket_secret"], f"{path}.model.bucket_secret", key, alone=True)
    if claim := model_uri(model).claim:
        yield _object("PersistentVolumeClaim", home, claim, f"{path}.model.uri")
    for role, block in (("accelerator", service["accelerator"]), ("prefill.accelerator", service["prefill"]["accelerator"])):
        devices = mapping(mapping(block).get("claim"))
        if name := devices.get("template"):
            yield _object("ResourceClaimTemplate", home, name, f"{path}.{role}.claim.template")
        if name := devices.get("device_class"):
            yield _object("DeviceClass", home, name, f"{path}.{role}.claim.device_class")
    if prompts := (service["warmup"] or {}).get("config_map"):
        yield _object("ConfigMap", home, prompts, f"{path}.warmup.config_map")
    for block, options, place in (
        ("engine", service["engine"], home),
        ("prefill.engine", mapping(service["prefill"]["engine"]), home),
        ("scheduler", service["scheduler"], pickers),
    ):
        yield from (_object(namespace=place, **each) for each in environment_references(options.get("env", {}), f"{path}.{block}.env"))
    for pod, block, place in (*((each, path, home) for each in planned_service["servers"]), (picker, f"{path}.scheduler", pickers)):
        yield from (_object(namespace=place, **each) for each in added_references(pod, block))


def _object(kind: str, namespace: str, name: str, path: str, key: str = "", alone: bool = False) -> Facts:
    shown = f"{kind} {name}" if kind in CLUSTER_WIDE else f"{kind} {namespace}/{name}"
    return {"kind": kind, "namespace": namespace, "name": name, "object": shown, "key": key, "path": path, "alone": alone}


def _refers(picker: Facts, secret: str) -> bool:
    """Whether a sidecar of an endpoint picker has a variable from the Secret."""
    sources = [item.get("valueFrom", {}) for each in picker["template"]["spec"].get("initContainers", []) for item in each.get("env", [])]
    return secret in [source.get("secretKeyRef", {}).get("name") for source in sources]


def storage_classes(planned: Facts, user: Facts) -> list[Facts]:
    """Storage classes of the claims that we create: {class_name: None for the default class, path: in the user's file}."""
    services = user["llm_d_model_services"] if planned["scope"] != "prerequisites" else []
    classes = []
    for index, service in enumerate(services):
        place = f"llm_d_model_services[{index}]"
        volumes = [(f"{place}.storage", service["storage"])] if service["storage"]["claim"] else []
        volumes += classes_of_caches(service, f"{place}.cache")
        classes += [{"class_name": settings["class_name"], "path": f"{path}.class_name"} for path, settings in volumes]
    return classes
