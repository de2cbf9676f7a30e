# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_use
short_description: Refuse to remove a GPU operator that others use
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - A cluster has one GPU operator and one Node Feature Discovery. They must not be removed while others use them.
  - Fails, before anything is removed and with all reasons at once, while pods of others request the accelerators or select nodes by labels of Node Feature
    Discovery, while others have Subscriptions for the same operators, and where the operator is not ours.
options:
  definitions:
    description: Objects that would be removed.
    type: list
    elements: dict
    required: true
  release:
    description: The Helm release that would be uninstalled.
    type: dict
    suboptions:
      release_name:
        description: Its name.
        type: str
        required: true
      namespace:
        description: Its namespace. The release is ours if the Namespace object has O(labels).
        type: str
        required: true
  resources:
    description: Prefixes of the resource names of the accelerators.
    type: list
    elements: str
    required: true
  namespaces:
    description: Namespaces of the operators, which are removed with their pods.
    type: list
    elements: str
    default: []
  features:
    description: Whether Node Feature Discovery would be removed too.
    type: bool
    default: false
  labels:
    description: Labels of our own objects.
    type: dict
    required: true
  own_namespace:
    description: Namespace of our own model servers, which do not count.
    type: str
    required: true
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
"""

EXAMPLES = r"""
- name: Check whether the operator can be removed
  llm_d.inference.gpu_use:
    definitions:
      - {apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: gpu-cluster-policy}}
    resources: [nvidia.com/gpu, nvidia.com/mig-]
    namespaces: [nvidia-gpu-operator]
    labels: {app.kubernetes.io/managed-by: llm_d.inference, app.kubernetes.io/part-of: llm-d}
    own_namespace: llm-d
"""

RETURN = r"""
findings:
  description: Reasons not to remove anything. Empty on success.
  returned: always
  type: list
  elements: dict
  sample:
    - id: gpu_operator/in_use
      severity: error
      what: Pods of others use the accelerators that the operator provides.
      found: Pod training/bert-0 (nvidia.com/gpu)
      needed: none
      how: "Remove them. Write 'install: false' under llm_d_gpus, so that the operator stays as it is, where they need it."
"""

import urllib.parse

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.objects import mapping
from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.preflight.gpu_use import OperatorRemoval, OperatorUse, judge
from ..module_utils.preflight.report import plain, report

OLM = "/apis/operators.coreos.com/v1alpha1"
# Objects that configure Node Feature Discovery, as (path, kind) of their lists: of OpenShift's operator and of the upstream project.
FEATURES = [
    ("/apis/nfd.openshift.io/v1/nodefeaturediscoveries", "NodeFeatureDiscovery"),
    ("/apis/nfd.openshift.io/v1alpha1/nodefeaturerules", "NodeFeatureRule"),
    ("/apis/nfd.k8s-sigs.io/v1alpha1/nodefeaturerules", "NodeFeatureRule"),
]


def existing(cluster: Cluster, definition: dict) -> dict | None:
    """The object in the cluster with the kind, namespace and name of a definition; None where it, or its kind, does not exist."""
    metadata = definition["metadata"]
    path = cluster.path(definition["apiVersion"], definition["kind"], metadata.get("namespace"), metadata["name"])
    obj = cluster.find(path) if path else None
    return {**obj, "kind": definition["kind"]} if obj else None


def has_release(cluster: Cluster, release: dict | None) -> bool:
    """Whether Helm has a record of the release."""
    if not release:
        return False
    query = {"labelSelector": f"owner=helm,name={release['release_name']}", "limit": "1"}
    path = f"/api/v1/namespaces/{urllib.parse.quote(release['namespace'], safe='')}/secrets"
    return bool(mapping(cluster.find(path, query)).get("items"))


def operator_use(cluster: Cluster, params: dict) -> OperatorUse:
    """Read from the cluster all that can be a reason against the removal."""
    objects = [item for item in cluster.parallel(lambda definition: existing(cluster, definition), params["definitions"]) if item]
    # (path, kind) of the lists to read
    subscriptions = [(f"{OLM}/subscriptions", "Subscription")] if any(item["kind"] == "Subscription" for item in params["definitions"]) else []
    features = FEATURES if params["features"] else []
    pods, *rest = cluster.parallel(lambda each: cluster.listed(*each), [("/api/v1/pods", "Pod"), *features, *subscriptions])
    return OperatorUse(
        named=objects,
        release=has_release(cluster, params["release"]),
        subscriptions=[item for part in rest[len(features) :] for item in part],
        features=[item for part in rest[: len(features)] for item in part],
        pods=pods,
    )


def main() -> None:
    """Entry of the module."""
    release = {"release_name": {"type": "str", "required": True}, "namespace": {"type": "str", "required": True}}
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "definitions": {"type": "list", "elements": "dict", "required": True},
            "release": {"type": "dict", "options": release},
            "resources": {"type": "list", "elements": "str", "required": True},
            "namespaces": {"type": "list", "elements": "str", "default": []},
            "features": {"type": "bool", "default": False},
            "labels": {"type": "dict", "required": True},
            "own_namespace": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    params = module.params
    removal = OperatorRemoval(**{key: params[key] for key in ("labels", "own_namespace", "namespaces", "resources", "features", "release")})
    try:
        findings = judge(operator_use(connect(module), params), removal)
    except ClusterError as exc:
        module.fail_json(msg=str(exc), findings=[])
    if findings:
        listing = "\n".join(f"  - {line}" for line in report(findings))
        module.fail_json(msg=f"The GPU operator must not be removed. Nothing has been removed.\n{listing}", findings=plain(findings))
    module.exit_json(changed=False, findings=[])


if __name__ == "__main__":
    main()
