# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All kinds that an API server has are listed, once each, and kinds that cannot be listed are reported."""

from __future__ import annotations

import json
import urllib.parse

import pytest
from ansible_collections.llm_d.inference.plugins.modules import namespace_contents
from local_servers import serve

LABELS = {"app.kubernetes.io/managed-by": "llm_d.inference", "app.kubernetes.io/part-of": "llm-d"}
ALL = ["create", "delete", "get", "list", "patch"]
SPACE = "/api/v1/namespaces/llm-d"
FORCE = "kubectl delete namespace llm-d deletes it with all that is in it"


def kinds(**names):
    return [{"name": name, "kind": kind, "namespaced": True, "verbs": ALL} for name, kind in names.items()]


def named(name, **metadata):
    return {"metadata": {"name": name, "namespace": "llm-d", "uid": f"uid-{name}", **metadata}}


class Api:
    """An API server with kinds by API version and objects by path. `requests`: the requested paths; `accepted`: the accepted content types."""

    def __init__(self):
        self.kinds = {
            "v1": kinds(pods="Pod", configmaps="ConfigMap", secrets="Secret", events="Event", endpoints="Endpoints")
            + [{"name": "pods/log", "kind": "Pod", "namespaced": True, "verbs": ["get"]}, {**kinds(nodes="Node")[0], "namespaced": False}],
            "apps/v1": kinds(deployments="Deployment"),
            "events.k8s.io/v1": kinds(events="Event"),
            "coordination.k8s.io/v1": kinds(leases="Lease"),
            "discovery.k8s.io/v1": kinds(endpointslices="EndpointSlice"),
            "metrics.k8s.io/v1beta1": [{**kinds(pods="PodMetrics")[0], "verbs": ["get", "list"]}],
            "example.com/v1": kinds(things="Thing"),
            "example.com/v1alpha1": kinds(things="Thing", gadgets="Gadget"),
        }
        self.lists = {SPACE: [], f"{SPACE}/configmaps": [named("kube-root-ca.crt")], f"{SPACE}/events": [named("theirs")]}
        self.answers, self.requests, self.accepted = {}, [], set()

    def answer(self, handler, _method, path, _body):
        plain, _mark, query = path.partition("?")
        self.requests.append(plain)
        self.accepted.add(handler.headers["Accept"])
        status, content = self.answers.get(plain) or self.respond(plain, urllib.parse.parse_qs(query))
        return status, {}, json.dumps(content)

    def respond(self, plain, query):
        if plain == "/api":
            return 200, {"kind": "APIVersions", "versions": ["v1"]}
        if plain == "/apis":
            groups = {}
            for version in self.kinds:
                if "/" in version:
                    groups.setdefault(version.partition("/")[0], []).append({"groupVersion": version})
            return 200, {"groups": [{"name": name, "preferredVersion": versions[0], "versions": versions} for name, versions in groups.items()]}
        version = plain.removeprefix("/apis/").removeprefix("/api/")
        if version in self.kinds:
            return 200, {"resources": self.kinds[version]}
        if plain in self.lists or plain.rpartition("/")[2] in {entry["name"] for entries in self.kinds.values() for entry in entries}:
            start = int(query.get("continue", ["0"])[0])
            items = self.lists.get(plain, [])
            metadata = {"continue": str(start + 2)} if len(items) > start + 2 else {}
            return 200, {"metadata": metadata, "items": items[start : start + 2]}
        return 404, {"kind": "Status", "reason": "NotFound", "code": 404, "message": "not found"}


@pytest.fixture(name="api")
def _api():
    api = Api()
    with serve(api.answer) as api.url:
        yield api


@pytest.fixture(name="look")
def _look(call, api):
    def look(**options):
        return call(namespace_contents, host=api.url, api_key="sesame-open", **{"namespaces": ["llm-d"], "labels": LABELS, "home": "llm-d", **options})

    return look


def test_a_namespace_with_only_objects_of_the_collection_is_not_kept(look, api):
    api.lists["/apis/apps/v1/namespaces/llm-d/deployments"] = [named("sim", labels=LABELS)]
    result = look()
    assert result["kept"] == [] and not result["changed"]
    assert all(accept.startswith("application/json") for accept in api.accepted) and any("PartialObjectMetadataList" in accept for accept in api.accepted)


def test_every_kind_is_listed_once_and_events_leases_and_endpoints_never(look, api):
    """Kinds of all versions of a group are listed, page by page; views that cannot be deleted, such as metrics, are no objects."""
    api.lists["/apis/example.com/v1alpha1/namespaces/llm-d/gadgets"] = [named(f"gadget-{number}") for number in range(5)]
    api.lists["/apis/metrics.k8s.io/v1beta1/namespaces/llm-d/pods"] = [named("sim-1")]
    (kept,) = look()["kept"]
    assert kept["objects"] == [f"Gadget llm-d/gadget-{number}" for number in range(5)]
    assert kept["lines"][0] == kept["summary"] == "the namespace llm-d stays: it holds 5 objects that are not deleted" and kept["lines"][-1] == FORCE
    listed = [path for path in api.requests if "/namespaces/llm-d/" in path]
    plurals = ["pods", "configmaps", "secrets", "deployments", "things", *["gadgets"] * 3]
    assert sorted(path.rpartition("/")[2] for path in listed) == sorted(plurals)
    assert "/apis/example.com/v1/namespaces/llm-d/things" in listed


def test_an_object_served_by_two_api_groups_is_listed_once(look, api):
    api.kinds["extensions/v1beta1"] = kinds(deployments="Deployment")
    for version in ("apps/v1", "extensions/v1beta1"):
        api.lists[f"/apis/{version}/namespaces/llm-d/deployments"] = [named("notebook")]
    (kept,) = look()["kept"]
    assert kept["lines"] == ["the namespace llm-d stays: Deployment llm-d/notebook", FORCE]


def test_openshift_views_of_rolebindings_count_as_those_of_kubernetes(look, api):
    """OpenShift's RoleBindings are views of those of Kubernetes, with the same uid."""
    for version in ("rbac.authorization.k8s.io/v1", "authorization.openshift.io/v1"):
        api.kinds[version] = kinds(rolebindings="RoleBinding")
        api.lists[f"/apis/{version}/namespaces/llm-d/rolebindings"] = [named("system:image-pullers"), named("system:deployers")]
    assert look()["kept"] == []


def test_an_owner_outside_the_namespace_is_requested(look, api):
    api.kinds["nvidia.com/v1"] = [{**kinds(clusterpolicies="ClusterPolicy")[0], "namespaced": False}]
    policy = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "name": "policy", "uid": "uid-policy"}
    api.lists["/apis/apps/v1/namespaces/llm-d/deployments"] = [named("driver", ownerReferences=[policy])]
    assert look()["kept"] == [], "it is gone, and so will be what it owned"
    at = "/apis/nvidia.com/v1/clusterpolicies/policy"
    api.answers[at] = (200, {"metadata": {"uid": "uid-policy"}})
    assert look()["kept"][0]["objects"] == ["Deployment llm-d/driver"]
    api.answers[at] = (200, {"metadata": {"uid": "uid-policy", "labels": LABELS}})
    assert look()["kept"] == []
    api.answers[at] = (200, {"metadata": {"uid": "another"}})
    assert look()["kept"] == []
    api.answers[at] = (403, {"kind": "Status", "code": 403})
    assert look()["kept"][0]["objects"] == ["Deployment llm-d/driver"]


def test_a_kind_that_cannot_be_listed_keeps_the_namespace_without_a_failure(look, api):
    api.answers[f"{SPACE}/secrets"] = (403, {"kind": "Status", "reason": "Forbidden", "code": 403, "message": "forbidden"})
    unable = {"kind": "Status", "reason": "ServiceUnavailable", "code": 503, "message": "the server is currently unable to handle the request"}
    api.answers["/apis/example.com/v1alpha1"] = (503, unable)
    api.answers["/apis/example.com/v1/namespaces/llm-d/things"] = (500, {**unable, "code": 500, "message": "the conversion webhook does not answer"})
    result = look()
    (kept,) = result["kept"]
    assert not result.get("failed") and kept["objects"] == [] and kept["summary"] == "the namespace llm-d stays: not all that is in it is known"
    why = "the namespace llm-d stays: it is not known whether it holds objects of others, since"
    assert kept["lines"] == [
        f"{why} this account may not list secrets",
        f"{why} example.com/v1alpha1 cannot be listed: 503 the server is currently unable to handle the request",
        f"{why} things.example.com cannot be listed: 500 the conversion webhook does not answer",
        FORCE,
    ]


def test_an_api_server_that_names_no_kind_is_not_believed(look, api):
    api.kinds.clear()
    assert "the API server names no kind" in look()["kept"][0]["lines"][0]


def test_credentials_that_expire_are_an_error(look, api):
    api.answers[f"{SPACE}/secrets"] = (401, {"kind": "Status", "code": 401})
    result = look()
    assert result["failed"] and "(401)" in result["msg"]


def test_a_server_error_when_reading_the_namespace_is_an_error(look, api):
    api.answers[SPACE] = (500, {"kind": "Status", "code": 500, "message": "etcd is away"})
    result = look()
    assert result["failed"] and "etcd is away" in result["msg"]


def test_a_missing_or_terminating_namespace_is_not_reported_as_kept(look, api):
    del api.lists[SPACE]
    assert look()["kept"] == []
    api.lists[f"{SPACE}/secrets"] = [named("theirs")]
    api.answers[SPACE] = (200, {"metadata": {"name": "llm-d", "deletionTimestamp": "2026-01-01T00:00:00Z"}})
    assert look()["kept"] == []
    api.answers[SPACE] = (403, {"kind": "Status", "code": 403})
    assert look()["kept"][0]["objects"] == ["Secret llm-d/theirs"]
