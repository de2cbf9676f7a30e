# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: helm_release
short_description: Wait for pending Helm operations, then read the release
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Reads Helm's record of a release from the API server, in a tenth of the time that starting Helm takes.
  - While Helm installs, upgrades or uninstalls a release, it marks its record as C(pending-install), C(pending-upgrade), C(pending-rollback) or
    C(uninstalling), and refuses to change a release with such a mark. A Helm process that is killed does not remove the mark.
  - Waits until the mark is removed. One that is older than O(timeout) counts as abandoned, and the release is marked as C(failed), which is what Helm itself
    writes when it is interrupted. A failed release can be upgraded or uninstalled.
  - Reads and writes the Secrets that Helm keeps its records in by default.
  - Returns the steps that bring the release to its wanted state. It does not take them; M(kubernetes.core.helm) does.
options:
  release_name:
    description: Name of the release.
    type: str
    required: true
  release_namespace:
    description: Namespace of the release.
    type: str
    required: true
  release_state:
    description: The wanted state.
    type: str
    choices: [absent, present]
    default: present
  chart_ref:
    description: The chart of the wanted release. Where it is a folder on the host of the task, its C(Chart.yaml) says the version.
    type: str
  chart_version:
    description: Version of the chart of the wanted release, where O(chart_ref) is not a folder.
    type: str
    default: ""
  release_values:
    description: Values of the wanted release, without the chart's own.
    type: dict
    default: {}
  timeout:
    description: Seconds that an operation of Helm may take.
    type: int
    default: 300
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.progress
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Reads the release once, and reports whether it is marked.
  diff_mode:
    description: The difference is the status alone.
    support: none
requirements:
  - python >= 3.11
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
"""

EXAMPLES = r"""
- name: Read the release
  llm_d.inference.helm_release:
    release_name: envoy-gateway
    release_namespace: envoy-gateway-system
    chart_ref: oci://docker.io/envoyproxy/gateway-helm
    chart_version: v1.9.1
  register: release

- name: Install or upgrade it, where that is needed
  kubernetes.core.helm:
    release_name: envoy-gateway
    release_namespace: envoy-gateway-system
    chart_ref: oci://docker.io/envoyproxy/gateway-helm
    chart_version: v1.9.1
    force: "{{ release.steps.force }}"
  when: release.steps.install
"""

RETURN = r"""
before:
  description: The observed status, V(absent) where there is no release.
  returned: success
  type: str
  sample: pending-install
status:
  description: The status in the end.
  returned: success
  type: str
  sample: failed
revision:
  description: Number of the last revision, 0 where there is no release.
  returned: success
  type: int
  sample: 2
version:
  description: Version of the chart, without a C(v) before it; empty where there is no release.
  returned: success
  type: str
  sample: 1.9.1
release_values:
  description: The values that the release was given, without the chart's own. They are not hidden.
  returned: success
  type: dict
  sample:
    deployment: {replicas: 1}
steps:
  description: The steps to the wanted state, in this order.
  returned: success
  type: dict
  contains:
    uninstall:
      description: Whether to uninstall the release. Also a first installation that failed, before it is installed again.
      type: bool
      sample: false
    install:
      description: Whether to install or upgrade the release, since chart version, values or state differ.
      type: bool
      sample: true
    force:
      description: Whether to upgrade with C(force), since a later revision failed.
      type: bool
      sample: false
"""

import os
import time
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.objects import get_path
from ..module_utils.k8s import helm_records as records
from ..module_utils.k8s import helm_state
from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ApiError, ClusterError

INTERVAL = 1.0
BEAT = 10.0


class Release:
    """Helm's records of one release."""

    def __init__(self, cluster: Cluster, params: dict[str, t.Any]):
        self.cluster, self.params = cluster, params
        self.title = f"the Helm release {params['release_namespace']}/{params['release_name']}"
        self._path = f"/api/v1/namespaces/{params['release_namespace']}/secrets"

    def look(self) -> dict[str, t.Any] | None:
        """The record of the last revision."""
        listing = self.cluster.get(self._path, {"labelSelector": f"owner=helm,name={self.params['release_name']}"})
        return records.newest(listing.get("items") or [])

    def facts(self, record: dict[str, t.Any] | None) -> dict[str, t.Any]:
        """The returned values of a record."""
        try:
            state = records.facts(record)
        except ValueError as error:
            raise self._unreadable(record, error) from error
        return {**state, "steps": self.steps(state)}

    def steps(self, state: dict[str, t.Any]) -> helm_state.Steps:
        """The steps from this state to the wanted one."""
        if self.params["release_state"] == "absent":
            return helm_state.steps_to_absent(state)
        return helm_state.steps_to_present(state, self._wanted_version(), self.params["release_values"])

    def _wanted_version(self) -> str:
        path = os.path.join(self.params["chart_ref"] or "", "Chart.yaml")
        if not self.params["chart_ref"] or not os.path.isfile(path):
            return self.params["chart_version"]
        try:
            with open(path, encoding="utf-8") as file:
                return helm_state.version_in(file.read())
        except (OSError, ValueError) as error:
            raise ClusterError(f"{self.title}: the version of the chart {self.params['chart_ref']} cannot be read ({error})") from error

    def settle(self, record: dict[str, t.Any]) -> bool:
        """Mark the release as failed; False when someone else has just written it."""
        try:
            body = records.failed(record)
        except ValueError as error:
            raise self._unreadable(record, error) from error
        try:
            self.cluster.request("PUT", f"{self._path}/{record['metadata']['name']}", body=body)
        except ApiError as error:
            if error.status in (404, 409):
                return False
            raise
        return True

    def _unreadable(self, record: dict[str, t.Any] | None, error: ValueError) -> ClusterError:
        return ClusterError(f"{self.title}: its record {get_path(record, 'metadata', 'name')} cannot be read ({error}); delete that Secret")

    def wait(self) -> dict[str, t.Any]:
        """Result of the module."""
        before, logged, changed = "", 0.0, False
        while True:
            record = self.look()
            status = records.status(record)
            before = before or status
            if record is None or status not in records.AT_WORK:
                return {"changed": changed, "before": before, **self.facts(record)}
            age = records.age(record, time.time())
            if age > self.params["timeout"]:
                self._log(f"{self.title} is {status} since {age:.0f} s: its Helm process was killed, and the release is marked as failed")
                changed = self.settle(record)
                continue
            if time.monotonic() - logged > BEAT:
                logged = time.monotonic()
                limit = self.params["timeout"]
                self._log(f"{self.title} is {status} since {age:.0f} s: another Helm process works on it, or was killed; at {limit} s it is marked as failed")
            time.sleep(INTERVAL)

    def _log(self, line: str) -> None:
        if self.params["progress_path"]:
            with open(self.params["progress_path"], "a", encoding="utf-8") as file:
                file.write(line + "\n")


def main() -> None:
    """Entry of the module."""
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "release_name": {"type": "str", "required": True},
            "release_namespace": {"type": "str", "required": True},
            "release_state": {"type": "str", "choices": ["absent", "present"], "default": "present"},
            "chart_ref": {"type": "str"},
            "chart_version": {"type": "str", "default": ""},
            "release_values": {"type": "dict", "default": {}},
            "timeout": {"type": "int", "default": 300},
            "progress_path": {"type": "path"},
        },
        supports_check_mode=True,
    )
    try:
        cluster = connect(module)
        cluster.be_patient(0 if module.check_mode else module.params["timeout"])
        release = Release(cluster, module.params)
        if module.check_mode:
            record = release.look()
            facts = release.facts(record)
            module.exit_json(changed=facts["status"] in records.AT_WORK, before=facts["status"], **facts)
        result = release.wait()
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
