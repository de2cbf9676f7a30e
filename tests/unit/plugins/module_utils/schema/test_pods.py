# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of pods, and the merge of patches. tests/contract/test_pod_patches.py compares the merge with the API server."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.releases.pod_fields import FIELDS
from ansible_collections.llm_d.inference.plugins.module_utils.schema.fields import REDACTED, complete
from ansible_collections.llm_d.inference.plugins.module_utils.schema.pods import POD, TEMPLATE, Type, container_field, merged, missing, pod_field, types
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

FIELD, CONTAINER = pod_field("of tests"), container_field("of tests")
SPEC = Type(POD)


def messages(value: t.Any, field: t.Any = FIELD) -> list[str]:
    return [str(problem) for problem in complete(value, field, "pod")[1]]


def test_types_are_those_of_kubernetes() -> None:
    spec, container = types(POD), types("Container")
    assert spec["volumes"] == Type("list", "Volume", "name") and spec["tolerations"] == Type("list", "Toleration")
    assert spec["nodeSelector"] == Type("map", "string") and spec["hostNetwork"] == Type("boolean")
    assert container["ports"] == Type("list", "ContainerPort", "containerPort") and container["name"] == Type("string", required=True)
    assert types("ResourceRequirements")["limits"] == Type("map", "quantity") and types("string") == {}


def test_every_type_is_known() -> None:
    known = {"string", "integer", "boolean", "quantity", "int-or-string", "object", *FIELDS}
    used = {part for name in FIELDS for kind in types(name).values() for part in ([kind.of] if kind.of else [kind.name])}
    assert used <= known and FIELDS.keys() - used == {TEMPLATE}


WHOLE: dict[str, t.Any] = {
    "labels": {"example.com/team": "a"},
    "annotations": {"k8s.v1.cni.cncf.io/networks": "roce-a", "removed": None},
    "runtimeClassName": "nvidia",
    "securityContext": None,
    "nodeSelector": {"zone": None},
    "volumes": [{"name": "a", "configMap": {"name": "b", "defaultMode": 420}}, {"name": "c", "$patch": "delete"}],
    "containers": [{"name": "side", "resources": {"limits": {"cpu": "2"}}, "ports": [{"containerPort": 1}], "livenessProbe": {"httpGet": {"port": "x"}}}],
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}, {"name": "old", "source": {"resourceClaimName": "x"}}],
}


def test_pod_options_are_kept_as_written_without_added_defaults() -> None:
    assert complete(WHOLE, FIELD, "pod") == (WHOLE, [])
    assert complete({}, FIELD, "pod") == ({}, []) and complete(None, FIELD, "pod") == (None, [])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"runtimeClass": "x"}, "pod.runtimeClass: there is no such option. Did you mean 'runtimeClassName'?"),
        ({"runtime_class_name": "x"}, "pod.runtime_class_name: there is no such option. Did you mean 'runtimeClassName'?"),
        ({"volumeMounts": []}, "pod.volumeMounts: there is no such option in this block. Write it under container."),
        ({"spec": {}}, "pod.spec: there is no such option in this block. Write what is in it here, without it."),
        ({"runAsUser": 5}, "pod.runAsUser: there is no such option. Write it under securityContext."),
        ({"priority": "high"}, "pod.priority: 'high' is a string, not a whole number. Write a whole number."),
        ({"volumes": {"name": "a"}}, 'pod.volumes: {"name": "a"} is a mapping (key: value), not a list. Put \'- \' in front of each element.'),
        ({"volumes": [{"name": "a", "secret": {"name": "b"}}]}, "pod.volumes[0].secret.name: there is no such option. Allowed here: $patch, defaultMode, "),
        ({"annotations": {"a": True}}, 'pod.annotations.a: true is true/false, not a string. Write it in quotes, such as "true": '),
        ({"labels": {"a b": "c"}}, "pod.labels.a b: the key 'a b' is not a Kubernetes label key."),
        ({"overhead": {"cpu": "much"}}, "pod.overhead.cpu: 'much' is not a Kubernetes quantity"),
        ({"volumes": [{"$patch": "remove"}]}, "pod.volumes[0].$patch: 'remove' is not known here. "),
        ({"containers": ["x"]}, "pod.containers[0]: "),
        ({"nodeSelector": {"a": "b c"}}, "pod.nodeSelector.a: 'b c' is not "),
        ({"tolerations": [{"effect": "NoShedule"}]}, "pod.tolerations[0].effect: 'NoShedule' is not known here. Did you mean 'NoSchedule'? "),
        ({"tolerations": [{"operator": "exists"}]}, "pod.tolerations[0].operator: 'exists' is not known here. Did you mean 'Exists'? "),
        ({"tolerations": [{"key": "a b"}]}, "pod.tolerations[0].key: 'a b' is not a Kubernetes label key."),
        ("x", "pod: 'x' is a string, not a mapping (key: value). "),
    ],
)
def test_unknown_or_invalid_pod_options_are_refused_with_their_path(value: t.Any, text: str) -> None:
    (message,) = messages(value)
    assert message.startswith(text)


def test_a_container_has_the_fields_of_a_container() -> None:
    assert messages({"runtimeClassName": "x"}, CONTAINER) == ["pod.runtimeClassName: there is no such option in this block. Write it under pod."]
    (message,) = messages({"name": "x"}, CONTAINER)
    assert "Write another one under pod.containers." in message


def test_values_of_variables_are_not_shown() -> None:
    (problem,) = complete({"env": [{"name": "A", "value": 4711}]}, CONTAINER, "container")[1]
    assert problem.value == REDACTED and "4711" not in str(problem)


OURS: dict[str, t.Any] = {
    "securityContext": {"runAsNonRoot": True, "runAsUser": 1},
    "nodeSelector": {"zone": "a"},
    "tolerations": [{"key": "ours"}],
    "volumes": [{"name": "one", "emptyDir": {}}, {"name": "two", "emptyDir": {}}],
    "containers": [{"name": "server", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "args": ["x"]}],
}


@pytest.mark.parametrize(
    ("patch", "changed"),
    [
        ({}, {}),
        ({"runtimeClassName": "x"}, {"runtimeClassName": "x"}),
        ({"securityContext": {"runAsUser": 2}}, {"securityContext": {"runAsNonRoot": True, "runAsUser": 2}}),
        ({"securityContext": {"runAsUser": None}}, {"securityContext": {"runAsNonRoot": True}}),
        ({"securityContext": {"$patch": "replace", "fsGroup": 3}}, {"securityContext": {"fsGroup": 3}}),
        ({"securityContext": {"$patch": "delete", "fsGroup": 3}}, {"securityContext": {}}),
        ({"hostAliases": [{"hostnames": ["a"]}, {"hostnames": ["b"]}]}, {"hostAliases": [{"hostnames": ["a"]}, {"hostnames": ["b"]}]}),
        ({"nodeSelector": {"disk": "ssd"}}, {"nodeSelector": {"zone": "a", "disk": "ssd"}}),
        ({"tolerations": [{"key": "theirs"}]}, {"tolerations": [{"key": "theirs"}]}),
        ({"volumes": [{"name": "three", "secret": {"secretName": "s"}}]}, {"volumes": [*OURS["volumes"], {"name": "three", "secret": {"secretName": "s"}}]}),
        ({"volumes": [{"name": "one", "$patch": "delete"}]}, {"volumes": [OURS["volumes"][1]]}),
        ({"volumes": [{"$patch": "replace"}, {"name": "x"}]}, {"volumes": [{"name": "x"}]}),
        (
            {"containers": [{"name": "server", "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}], "args": ["y"]}]},
            {"containers": [{"name": "server", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}, {"name": "C", "value": "4"}], "args": ["y"]}]},
        ),
    ],
)
def test_patches(patch: t.Any, changed: t.Any) -> None:
    before = repr(OURS)
    assert merged(OURS, patch, SPEC) == {**OURS, **changed}
    assert repr(OURS) == before, "what is patched stays as it was"


def test_null_removes_a_field_and_stays_in_a_merged_patch() -> None:
    assert "tolerations" not in merged(OURS, {"tolerations": None}, SPEC)
    assert merged({"hostname": "a"}, {"hostname": None}, SPEC, patch=True) == {"hostname": None}


NAMES, WORDS = st.sampled_from(["one", "two", "three"]), st.sampled_from(["x", "y"]) | st.none()
DIRECTIVES = st.fixed_dictionaries({}, optional={"$patch": st.sampled_from(["delete", "replace", "merge"])})


def made_of(directives: t.Any, **fields: t.Any) -> t.Any:
    """Mappings with some of the fields, and directives where there are any."""
    whole = st.fixed_dictionaries({}, optional=fields)
    return st.builds(lambda value, directive: {**value, **directive}, whole, directives) if directives is not None else whole


def named(directives: t.Any, items: t.Any) -> t.Any:
    """Lists of items that have a name each, and directives where there are any."""
    named_items = st.dictionaries(NAMES, items, max_size=3).map(lambda by: [{**item, "name": name} for name, item in by.items()])
    return (
        st.builds(lambda listed, replaced: [*([{"$patch": "replace"}] if replaced else []), *listed], named_items, st.booleans())
        if directives is not None
        else named_items
    )


def specs(directives: t.Any) -> t.Any:
    """PodSpecs, or patches of them where there are directives."""
    nothing = st.none() if directives is not None else st.nothing()
    volumes = made_of(directives, emptyDir=made_of(directives, medium=WORDS, sizeLimit=WORDS) | nothing, hostPath=made_of(directives, path=WORDS) | nothing)
    return made_of(
        directives,
        hostname=WORDS,
        nodeSelector=st.dictionaries(NAMES, WORDS) | nothing,
        securityContext=made_of(directives, fsGroup=WORDS, seLinuxOptions=made_of(directives, level=WORDS, role=WORDS) | nothing) | nothing,
        tolerations=st.lists(made_of(None, key=WORDS), max_size=2) | nothing,
        volumes=named(directives, volumes) | nothing,
    )


def without_null(value: t.Any) -> t.Any:
    """An object as Kubernetes keeps it, without `null`. Lists are sorted by name: a patch that removes and adds an element changes its position."""
    if isinstance(value, dict):
        return {key: without_null(item) for key, item in value.items() if item is not None}
    return sorted((without_null(item) for item in value), key=lambda item: item.get("name", "")) if isinstance(value, list) else value


@given(specs(None), specs(DIRECTIVES), specs(DIRECTIVES))
@examples(1000)
def test_a_patch_over_a_patch_does_what_both_do(spec: t.Any, first: t.Any, second: t.Any) -> None:
    one_by_one = merged(merged(without_null(spec), first, SPEC), second, SPEC)
    assert without_null(merged(without_null(spec), merged(first, second, SPEC, patch=True), SPEC)) == without_null(one_by_one)


def test_missing_required_pod_fields_are_listed_with_their_path() -> None:
    assert [*missing(OURS, SPEC)] == []
    lacking = {**OURS, "volumes": [{"name": "a", "secret": {"items": [{"key": "k"}]}}], "topologySpreadConstraints": [{"topologyKey": "z", "maxSkew": 1}]}
    assert [*missing(lacking, SPEC)] == [
        ("volumes", ("name", "a"), "secret", "items", 0, "path"),
        ("topologySpreadConstraints", ("topologyKey", "z"), "whenUnsatisfiable"),
    ]


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3), max_leaves=4)
KEYS = st.sampled_from(["volumes", "name", "env", "nodeSelector", "securityContext", "containers", "$patch", "x"])
ANYTHING = st.recursive(VALUES, lambda inner: st.dictionaries(KEYS, inner, max_size=4) | st.lists(inner, max_size=3), max_leaves=12)


@given(st.dictionaries(KEYS, ANYTHING, max_size=4), st.dictionaries(KEYS, ANYTHING, max_size=4))
@examples(200)
def test_merging_and_checking_never_raise_for_any_value(value: t.Any, other: t.Any) -> None:
    """A profile is merged before it is checked, and neither raises."""
    complete(merged(value, other, SPEC, patch=True), FIELD, "pod")
