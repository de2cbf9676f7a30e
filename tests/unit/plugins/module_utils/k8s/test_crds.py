# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CRD bundles: cutting text into documents, reading names, comparing versions, deciding."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.crds import BUNDLE_VERSION, Document, annotate, decide, documents, version_key
from hypothesis import given
from hypothesis import strategies as st

# the shape of a release file of the Gateway API: comments before, between and after separators
RELEASE = """\
# Copyright The Kubernetes Authors.
#
---
#
# config/crd/standard/gateway.networking.k8s.io_gateways.yaml
#
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    api-approved.kubernetes.io: https://github.com/kubernetes-sigs/gateway-api/pull/4530
    gateway.networking.k8s.io/bundle-version: v1.6.1
  labels:
    name: not-this
  name: gateways.gateway.networking.k8s.io
spec:
  names:
    kind: Gateway
    plural: gateways
  description: |
    a text with kind: Other
    --- and dashes
status:
  conditions: []
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: "safe-upgrades.gateway.networking.k8s.io"
--- # the next
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition # a comment
metadata:
  name: 'xmeshes.gateway.networking.x-k8s.io'
spec: {}
---
# nothing here
"""


def test_documents_of_a_release():
    crds, others = documents(RELEASE, "release.yaml")
    assert [document.name for document in crds] == ["gateways.gateway.networking.k8s.io", "xmeshes.gateway.networking.x-k8s.io"]
    assert others == ["ValidatingAdmissionPolicy"]
    assert (crds[0].plural, crds[0].group) == ("gateways", "gateway.networking.k8s.io")


def test_documents_agree_with_a_yaml_parser():
    whole = [document for document in yaml.safe_load_all(RELEASE) if document and document["kind"] == "CustomResourceDefinition"]
    assert [yaml.safe_load(document.text) for document in documents(RELEASE, "x")[0]] == whole


def test_windows_line_ends():
    assert [document.name for document in documents(RELEASE.replace("\n", "\r\n"), "x")[0]] == [document.name for document in documents(RELEASE, "x")[0]]


@pytest.mark.parametrize(
    "text, problem",
    [
        ("<html>404</html>", "this is no Kubernetes YAML"),
        ("kind: CustomResourceDefinition\nmetadata: {name: a.b}\n", "must be in block style"),
        ("kind: CustomResourceDefinition\nmetadata:\n  labels:\n    name: a.b\n", "without metadata.name"),
    ],
)
def test_invalid_crd_release_text_is_refused_with_its_url(text, problem):
    with pytest.raises(ValueError, match=problem) as caught:
        documents(text, "https://example.com/crds.yaml")
    assert "https://example.com/crds.yaml" in str(caught.value)


def test_annotate_with_and_without_annotations():
    for document in documents(RELEASE, "x")[0]:
        before = yaml.safe_load(document.text)
        after = yaml.safe_load(annotate(document, {BUNDLE_VERSION: "1.9.1"}).text)
        assert after["metadata"]["annotations"].pop(BUNDLE_VERSION) == "1.9.1"
        if not after["metadata"]["annotations"]:
            del after["metadata"]["annotations"]
        assert after == before
    assert annotate(Document("a.b", "no metadata"), {"a": "b"}).text == "no metadata"


VERSIONS = ["0.0.0-dev", "0.9", "1.0.0-alpha.1", "1.0.0-alpha.2", "1.0.0-alpha.10", "1.0.0-beta", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.5", "1.10.0"]


def test_versions_sort_as_semver_does():
    backwards = VERSIONS[::-1]
    assert sorted(backwards, key=version_key) == VERSIONS
    assert version_key("v1.5") == version_key("1.5.0") == version_key("1.5.0+build7")
    assert version_key("main") is None and version_key("") is None


@given(st.text(max_size=12), st.text(max_size=12))
def test_versions_always_compare(one, other):
    first, second = version_key(one), version_key(other)
    if first is not None and second is not None:
        assert (first < second) + (first == second) + (first > second) == 1


BUNDLE = {"name": "gateway-api", "version": "1.5.0", "annotation": "x/bundle-version", "probe": "gateways.g"}


@pytest.mark.parametrize(
    "installed, names, action",
    [
        ({}, ["gateways.g"], "install"),
        ({"others.g": {"x/bundle-version": "v1.5.0"}}, ["gateways.g"], "install"),
        ({"gateways.g": {"x/bundle-version": "v1.4.1"}}, ["gateways.g"], "upgrade"),
        ({"gateways.g": {"x/bundle-version": "v1.5.0"}}, ["gateways.g"], "keep"),
        ({"gateways.g": {"x/bundle-version": "v1.5.0"}}, None, "keep"),
        ({"gateways.g": {"x/bundle-version": "v1.10.0"}}, ["gateways.g", "new.g"], "keep"),
        ({"gateways.g": {"x/bundle-version": "v1.5.0"}}, ["gateways.g", "routes.g"], "repair"),
        ({"gateways.g": {}}, ["gateways.g"], "adopt"),
        ({"gateways.g": {"x/bundle-version": "v1.5.0-rc.1"}}, ["gateways.g"], "upgrade"),
        ({"gateways.g": {"x/bundle-version": "main"}}, ["gateways.g"], "upgrade"),
    ],
)
def test_decide(installed, names, action):
    assert decide(BUNDLE, installed, names)["action"] == action


def test_a_crd_bundle_without_an_annotation_uses_that_of_the_collection():
    bundle = {**BUNDLE, "annotation": None}
    assert decide(bundle, {"gateways.g": {BUNDLE_VERSION: "1.5.0"}}, None) == {"action": "keep", "installed": "1.5.0", "missing": []}
    assert decide(bundle, {"gateways.g": {"x/bundle-version": "9"}}, None)["action"] == "adopt"
