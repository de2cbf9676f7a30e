# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods as in the Kubernetes API: the fields of a PodSpec and of a container as options, and the merge of patches into them. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import functools
import typing as t

from ..common.objects import Facts, mapping
from ..releases.pod_fields import FIELDS, NEWEST, OLDEST
from .fields import Field

TEMPLATE, POD, CONTAINER = "PodTemplateSpec", "PodSpec", "Container"
DIRECTIVE = "$patch"
_REPLACE, _DELETE = {DIRECTIVE: "replace"}, {DIRECTIVE: "delete"}
BLOCKS = {"pod": POD, "container": CONTAINER}  # {option: the definition that it adds to}
_SCALARS = {
    "string": Field("str", "A string."),
    "integer": Field("int", "A whole number."),
    "boolean": Field("bool", "true or false."),
    "quantity": Field("quantity", "A quantity."),
    "int-or-string": Field("int", "A number or a name.", otherwise=Field("str", "A name.")),
    "object": Field("any", "A mapping."),
}
_DIRECTIVE = Field("str", "C(delete), C(replace) or C(merge), as in a patch for C(kubectl patch).", choices=("delete", "replace", "merge"))
# References to other objects: {definition: [(kind of the object, field with its name, field with the key that is read; empty for the whole object)]}.
_NAMED = {
    "SecretKeySelector": [("Secret", "name", "key")],
    "SecretEnvSource": [("Secret", "name", "")],
    "SecretProjection": [("Secret", "name", "")],
    "SecretVolumeSource": [("Secret", "secretName", "")],
    "LocalObjectReference": [("Secret", "name", "")],
    "ConfigMapKeySelector": [("ConfigMap", "name", "key")],
    "ConfigMapEnvSource": [("ConfigMap", "name", "")],
    "ConfigMapProjection": [("ConfigMap", "name", "")],
    "ConfigMapVolumeSource": [("ConfigMap", "name", "")],
    "PersistentVolumeClaimVolumeSource": [("PersistentVolumeClaim", "claimName", "")],
    "CSIVolumeSource": [("CSIDriver", "driver", "")],
    "PodResourceClaim": [("ResourceClaimTemplate", "resourceClaimTemplateName", ""), ("ResourceClaim", "resourceClaimName", "")],
    POD: [("PriorityClass", "priorityClassName", ""), ("RuntimeClass", "runtimeClassName", "")],
}
CLUSTER_WIDE = ("PriorityClass", "RuntimeClass", "CSIDriver", "DeviceClass")  # without a namespace
_LABELS = Field("map", "Labels.", keys="label_key", elements=Field("str", "The value.", format="label_value", nullable=True))
_ANNOTATIONS = Field("map", "Annotations.", keys="label_key", elements=Field("str", "The value.", nullable=True))
# Values with more constraints than their type.
_VALUES = {
    ("EnvVar", "value"): Field("str", "The value.", secret=True),
    (POD, "nodeSelector"): _LABELS,
    ("Toleration", "effect"): Field("str", "Taint effect.", choices=("NoSchedule", "PreferNoSchedule", "NoExecute")),
    ("Toleration", "key"): Field("str", "Taint key.", format="label_key"),
    ("Toleration", "operator"): Field("str", "Operator that compares the value.", choices=("Equal", "Exists", "Lt", "Gt")),
    ("Toleration", "value"): Field("str", "Taint value.", format="label_value"),
}
# {option of a model service: the field of the PodSpec that it is the short form of}.
SHORT_FORMS = {"node_selector": "nodeSelector", "tolerations": "tolerations"}


Steps = tuple[t.Any, ...]  # path to a field: keys and indexes; in a list that patches merge by a key, (key, its value) instead of an index


class Named(t.NamedTuple):
    """An object that pods refer to. key: the key that is read; empty for the whole object."""

    kind: str
    name: str
    key: str


class Type(t.NamedTuple):
    """The type of a field. of: that of its elements, if it is a `list` or a `map`; by: the key of the elements of a list that patches merge."""

    name: str
    of: str = ""
    by: str = ""
    required: bool = False


@functools.cache
def types(definition: str) -> dict[str, Type]:
    """{field: type} of a definition, from the notation of releases/pod_fields.py; {} for scalars."""
    fields = {}
    for row in FIELDS.get(definition, "").split():
        name, _equals, text = row.partition("=")
        text = text.rstrip("<>")
        required, text = text.endswith("!"), text.rstrip("!")
        if text[0] in "[{":
            of, _bracket, by = text[1:].partition("]" if text[0] == "[" else "}")
            fields[name] = Type("list" if text[0] == "[" else "map", of, by, required)
        else:
            fields[name] = Type(text, required=required)
    return fields


@functools.cache
def definition(name: str) -> Field:
    """The option for an object of a Kubernetes definition, such as `Affinity`. It accepts `$patch` too."""
    return Field("dict", f"A {name}.", fields={**{key: _field(name, key, kind) for key, kind in types(name).items()}, DIRECTIVE: _DIRECTIVE})


def _field(owner: str, name: str, kind: Type) -> Field:
    if (owner, name) in _VALUES:
        return _VALUES[owner, name]
    if kind.name == "list":
        return Field("list", f"{name}.", elements=_value(kind.of))
    if kind.name == "map":
        return Field("map", f"{name}.", elements=dataclasses.replace(_value(kind.of), nullable=True))
    return _value(kind.name)


def _value(name: str) -> Field:
    return _SCALARS.get(name) or definition(name)


_KNOWN_VERSIONS = f"The fields of Kubernetes {OLDEST.rpartition('.')[0]} and {NEWEST.rpartition('.')[0]} are known."


@functools.cache
def added_fields(block: str) -> t.Mapping[str, Field]:
    """The fields of a `pod`, or a `container`, of a user's file."""
    if block == "pod":
        return {"labels": _LABELS, "annotations": _ANNOTATIONS, **(definition(POD).fields or {})}
    return {name: field for name, field in (definition(CONTAINER).fields or {}).items() if name != "name"}


def pod_field(of: str) -> Field:
    """The option `pod` with additions to pods. of: which pods, such as `of the gateway`."""
    fields = added_fields("pod")
    elsewhere = dict.fromkeys(types(CONTAINER).keys() - fields.keys(), "Write it under container.")
    elsewhere |= dict.fromkeys(("metadata", "spec"), "Write what is in it here, without it.")
    text = (
        f"What to add to the pods {of}: C(labels), C(annotations) and any field of a PodSpec, in Kubernetes' own words, merged as C(kubectl patch) does. See"
        f" C(docs/pods.md). {_KNOWN_VERSIONS}"
    )
    return Field("dict", text, fields=fields, elsewhere=elsewhere, example={"runtimeClassName": "nvidia"})


def short_form(option: str, description: str, example: t.Any) -> Field:
    """The option of a model service that is the short form of a field of its pods."""
    field = (definition(POD).fields or {})[SHORT_FORMS[option]]
    elements = dataclasses.replace(field.elements, nullable=False) if field.elements else None
    return dataclasses.replace(field, description=description, elements=elements, default=type(example)(), example=example)


def container_field(of: str) -> Field:
    """The option `container` with additions to a container. of: which one, such as `of the gateway`."""
    fields = added_fields("container")
    elsewhere = dict.fromkeys(types(POD).keys() - fields.keys(), "Write it under pod.")
    elsewhere["name"] = "Take it out: this is the container that we make. Write another one under pod.containers."
    text = f"What to add to the container {of}: any field of a container, in Kubernetes' own words, merged as C(kubectl patch) does. See C(docs/pods.md)."
    return Field("dict", text, fields=fields, elsewhere=elsewhere, example={"workingDir": "/srv"})


def merged(base: t.Any, over: t.Any, kind: Type, patch: bool = False) -> t.Any:
    """A value of a type with a patch over it, as `kubectl patch` merges (strategic merge), except that new elements of a list come last.

    patch: the value is a patch itself, and the result is the patch that does the same as both in order: `null` and directives are kept.
    Source: k8s.io/apimachinery/pkg/util/strategicpatch.
    """
    if isinstance(over, dict):
        return _merged_mapping(base, over, kind, patch)
    if not isinstance(over, list):
        return over
    if not kind.by:
        return [merged(None, item, Type(kind.of), patch) for item in over]
    return _merged_list(base if isinstance(base, list) else [], over, kind, patch)


def _merged_mapping(base: t.Any, over: Facts, kind: Type, patch: bool) -> Facts:
    directive, known = over.get(DIRECTIVE), types(kind.name)
    if directive == "delete":
        return dict(_DELETE) if patch else {}
    result: Facts = dict(base) if isinstance(base, dict) and directive != "replace" else {}
    if patch and (directive == "replace" or result.get(DIRECTIVE) == "delete"):
        result = dict(_REPLACE)
    for key, value in over.items():
        if value is None and not patch:
            result.pop(key, None)
        elif key != DIRECTIVE:
            # The earlier patch deletes the field and this one sets it again: the combined patch has to replace it, not merge into it.
            deleted_before = patch and key in result and result[key] is None
            before = ([_REPLACE] if isinstance(value, list) else _REPLACE) if deleted_before else result.get(key)
            result[key] = merged(before, value, known.get(key, Type(kind.of)), patch)
    return result


def _merged_list(base: list[t.Any], over: list[t.Any], kind: Type, patch: bool) -> list[t.Any]:
    result = list(base) if _REPLACE not in over else [_REPLACE] if patch else []
    for item in over:
        if item == _REPLACE:
            continue
        key = mapping(item).get(kind.by)
        place = next((index for index, other in enumerate(result) if key is not None and mapping(other).get(kind.by) == key), len(result))
        before = result[place] if place < len(result) else None
        if mapping(item).get(DIRECTIVE) == "delete":
            result[place : place + 1] = [item] if patch else []
        else:
            result[place : place + 1] = [merged(before, item, Type(kind.of), patch)]
    return result


def missing(value: t.Any, kind: Type) -> c.Iterator[Steps]:
    """The paths of the fields that Kubernetes requires and that a value of this type lacks."""
    known = types(kind.name)
    if isinstance(value, dict):
        yield from ((name,) for name, each in known.items() if each.required and name not in value)
        for key, item in value.items():
            yield from ((key, *steps) for steps in missing(item, known.get(key, Type(kind.of))))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            step = (kind.by, item.get(kind.by)) if kind.by else index
            yield from ((step, *steps) for steps in missing(item, Type(kind.of)))


def named(value: t.Any, kind: Type) -> c.Iterator[tuple[Steps, Named]]:
    """(path, object) of each object that a value of this type refers to and that has to exist: not of `optional` references."""
    known = types(kind.name)
    if isinstance(value, dict) and value.get("optional") is not True:
        yield from (((field,), Named(api_kind, value[field], value.get(key) or "")) for api_kind, field, key in _NAMED.get(kind.name, ()) if value.get(field))
        for key, item in value.items():
            yield from (((key, *steps), what) for steps, what in named(item, known.get(key, Type(kind.of))))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            step = (kind.by, item.get(kind.by)) if kind.by else index
            yield from (((step, *steps), what) for steps, what in named(item, Type(kind.of)))
