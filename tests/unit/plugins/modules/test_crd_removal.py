# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CRDs are removed when they are ours and unused, all or none; those of others never."""

from __future__ import annotations

import json

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.crds import other_managers
from ansible_collections.llm_d.inference.plugins.modules import crd_removal
from local_servers import serve

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OURS = {"manager": "llm_d.inference", "operation": "Apply"}
STATUS = {"manager": "kube-apiserver", "operation": "Update", "subresource": "status"}
POOLS, GATEWAYS, CLASSES = "inferencepools.inference.networking.k8s.io", "gateways.gateway.networking.k8s.io", "gatewayclasses.gateway.networking.k8s.io"


class Api:
    """An API server with three definitions of ours, one that a platform took over, and objects."""

    def __init__(self):
        self.managers = {
            POOLS: [OURS, STATUS],
            CLASSES: [OURS, STATUS],
            GATEWAYS: [OURS, STATUS],
            "httproutes.gateway.networking.k8s.io": [OURS, {"manager": "ingress-operator", "operation": "Update"}, STATUS],
            "things.example.com": [{"manager": "helm", "operation": "Update"}, STATUS],
        }
        self.objects, self.remaining, self.unserved, self.refused, self.deleted = {}, 0, (), (), []

    def answer(self, _handler, method, path, _body):
        plain = path.split("?")[0]
        if plain == CRDS:
            items = [{"metadata": {"name": name, "managedFields": fields}} for name, fields in self.managers.items()]
            return 200, {}, json.dumps({"kind": "PartialObjectMetadataList", "items": items})
        name = plain.removeprefix(f"{CRDS}/")
        if name in self.managers:
            if method == "DELETE":
                self.deleted.append(name)
                del self.managers[name]
            return 200, {}, json.dumps({"kind": "PartialObjectMetadata"})
        parts = plain.removeprefix("/apis/").split("/")
        served = [known for known in self.managers if known.partition(".")[2] == parts[0] and known not in self.unserved]
        if plain.startswith("/apis/") and len(parts) == 1 and served:
            return 200, {}, json.dumps({"versions": [{"version": "v1", "groupVersion": f"{parts[0]}/v1"}]})
        if plain.startswith("/apis/") and len(parts) == 2:
            return 200, {}, json.dumps({"resources": [{"name": known.partition(".")[0]} for known in served]})
        if plain.startswith("/apis/") and len(parts) == 3 and f"{parts[2]}.{parts[0]}" in self.refused:
            return 403, {}, json.dumps({"kind": "Status", "reason": "Forbidden", "code": 403, "message": "forbidden"})
        if plain.startswith("/apis/") and len(parts) == 3:
            items = self.objects.get(f"{parts[2]}.{parts[0]}", [])
            return 200, {}, json.dumps({"metadata": {"remainingItemCount": self.remaining} if self.remaining and items else {}, "items": items})
        return 404, {}, json.dumps({"kind": "Status", "reason": "NotFound", "code": 404, "message": "not found"})


@pytest.fixture(name="api")
def _api():
    api = Api()
    with serve(api.answer) as api.url:
        yield api


def test_unused_crds_of_the_collection_are_removed(call, api):
    result = call(crd_removal, host=api.url, api_key="sesame-open")
    assert result["changed"] and result["removed"] == sorted([POOLS, GATEWAYS, CLASSES]) == sorted(api.deleted)
    assert sorted(api.managers) == ["httproutes.gateway.networking.k8s.io", "things.example.com"]
    again = call(crd_removal, host=api.url, api_key="sesame-open")
    assert not again["changed"] and again["removed"] == []


def test_no_crd_is_removed_while_objects_exist_and_they_are_listed(call, api):
    api.objects = {POOLS: [{"metadata": {"name": "sim", "namespace": "llm-d"}}], CLASSES: [{"metadata": {"name": "envoy-gateway"}}]}
    api.remaining = 7
    result = call(crd_removal, host=api.url, api_key="sesame-open")
    assert result["failed"] and api.deleted == [] and "Nothing has been removed" in result["msg"]
    assert result["objects"] == [f"{CLASSES} envoy-gateway", f"{CLASSES}: 7 more", f"{POOLS} llm-d/sim", f"{POOLS}: 7 more"]


def test_crds_with_unlistable_objects_are_reported_beside_existing_objects(call, api):
    api.objects, api.unserved, api.refused = {CLASSES: [{"metadata": {"name": "theirs"}}]}, (POOLS,), (GATEWAYS,)
    result = call(crd_removal, host=api.url, api_key="sesame-open")
    assert result["failed"] and api.deleted == []
    assert result["objects"] == [
        f"{POOLS}: the API server does not serve it, so its objects cannot be listed; remove it by hand",
        f"{CLASSES} theirs",
        f"{GATEWAYS}: its objects cannot be listed (403 forbidden)",
    ]


def test_check_mode_removes_nothing(call, api):
    result = call(crd_removal, host=api.url, api_key="sesame-open", check=True, _ansible_diff=True)
    assert result["changed"] and len(result["removed"]) == 3 and api.deleted == []
    assert POOLS in result["diff"]["before"]


def test_a_crd_that_is_not_served_is_not_removed(call, api):
    api.unserved = (POOLS,)
    result = call(crd_removal, host=api.url, api_key="sesame-open")
    assert result["failed"] and POOLS in result["msg"] and api.deleted == []


@pytest.mark.parametrize(
    ("managers", "others"),
    [
        ([OURS, STATUS], ""),
        ([STATUS], "unknown"),
        ([{"manager": "llm_d.inference", "operation": "Update"}], "unknown"),
        ([OURS, {"manager": "Go-http-client", "operation": "Update"}, STATUS], "Go-http-client"),
        ([{"manager": "kubectl", "operation": "Apply"}], "kubectl"),
    ],
)
def test_other_field_managers_of_a_crd_are_detected(managers, others):
    assert other_managers({"managedFields": managers}, "llm_d.inference") == others
