# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: secret_checksums
short_description: Compute checksums of the Secrets that workloads read
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Returns for each pod template an annotation that changes when a Secret changes that its containers read environment variables from, so that its pods
    are replaced and read the new value. M(llm_d.inference.cluster_objects) sets it on what it applies.
  - It is an HMAC keyed with the Secret's uid. Neither the values nor the uid leave the module.
  - When a Secret does not exist or cannot be read, returns the current annotation of the workload, so that its pods are not replaced.
options:
  definitions:
    description: The workloads, as definitions.
    type: list
    elements: dict
    required: true
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
"""

EXAMPLES = r"""
- name: Compute the annotations
  llm_d.inference.secret_checksums:
    definitions:
      - apiVersion: apps/v1
        kind: Deployment
        metadata: {name: llama-8b-decode, namespace: llm-d}
        spec:
          template:
            spec:
              containers:
                - name: server
                  env:
                    - name: HF_TOKEN
                      valueFrom: {secretKeyRef: {name: llm-d-model-token, key: HF_TOKEN}}
"""

RETURN = r"""
checksums:
  description: For each of O(definitions), its templates with their annotation; null for none.
  returned: success
  type: list
  elements: list
  sample:
    - - path: [spec, template]
        value: 0f3d5c5b9f6f4b0d8e8a0c2b6a1d9e77
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.objects import get_path, text
from ..module_utils.k8s import secret_checksums as checksums
from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ApiError, ClusterError


def read(cluster: Cluster, path: str | None) -> dict | None:
    """An object; None when it or its kind does not exist, or the account may not read it."""
    if path is None:
        return None
    try:
        return cluster.find(path)
    except ApiError as error:
        if error.status == 403:
            return None
        raise


def annotations(cluster: Cluster, definitions: list[dict]) -> list[list[dict]]:
    """For each definition, its templates with their annotations."""
    templates = [checksums.environment_secrets(item) for item in definitions]
    homes = [text(get_path(item, "metadata", "namespace")) for item in definitions]
    wanted = sorted({(home, name) for home, by_path in zip(homes, templates, strict=True) for references in by_path.values() for name, _key in references})
    objects = cluster.parallel(lambda entry: read(cluster, f"/api/v1/namespaces/{entry[0]}/secrets/{entry[1]}"), wanted)
    secrets = dict(zip(wanted, objects, strict=True))
    made = []
    for item, home, by_path in zip(definitions, homes, templates, strict=True):
        local = {name: secret for (place, name), secret in secrets.items() if place == home}
        values = {path: checksums.checksum(references, local) for path, references in by_path.items()}
        if None in values.values():
            live = read(cluster, cluster.path(item["apiVersion"], item["kind"], home, item["metadata"]["name"]))
            values = {path: value or checksums.current_checksum(live, path) for path, value in values.items()}
        made.append([{"path": list(path), "value": value} for path, value in values.items()])
    return made


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={**auth_spec(), "definitions": {"type": "list", "elements": "dict", "required": True}},
        supports_check_mode=True,
    )
    try:
        result = annotations(connect(module), module.params["definitions"])
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    module.exit_json(changed=False, checksums=result)


if __name__ == "__main__":
    main()
