#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: scheduler_proof
short_description: Wait until endpoint pickers run their configuration, and verify it
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Waits until the Deployment of every endpoint picker is rolled out, and reads from the log of every pod which configuration it has loaded.
  - Fails at once, with the error from its log, when an endpoint picker ends because of its configuration. Read-only.
options:
  namespace:
    description: Namespace of the endpoint pickers.
    type: str
    required: true
  configurations:
    description: For the name of each Deployment, the text of the configuration that its pods must have loaded.
    type: dict
    required: true
  timeout:
    description: Seconds to wait for all of them.
    type: int
    default: 300
  patient:
    description: Whether to wait for Deployments that are not ready. V(false) is for those that have been waited for before.
    type: bool
    default: true
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
  - PyYAML
attributes:
  check_mode:
    description: Checks nothing, since nothing was applied.
"""

EXAMPLES = r"""
- name: Verify the configuration of an endpoint picker
  llm_d.inference.scheduler_proof:
    namespace: llm-d
    configurations:
      sim-epp: "{{ ({'preset': 'balanced'} | llm_d.inference.scorer_config).text }}"
"""

RETURN = r"""
schedulers:
  description: The evidence for each endpoint picker, C(by) its V(log), or by its V(readiness) where the log is no longer available.
  returned: success, when not in check mode
  type: list
  elements: dict
  sample:
    - name: sim-epp
      pods: [{pod: sim-epp-5d9c7, by: log, line: '{"msg":"loaded configuration from file/text successfully"}'}]
seconds:
  description: How long it took.
  returned: when the endpoint pickers were checked
  type: float
  sample: 0.1
failures:
  description: The endpoint pickers that do not run their configuration, with the C(error), and as C(culprit) the line of their log.
  returned: on failure
  type: list
  elements: dict
  sample:
    - name: sim-epp
      error: "the new endpoint picker does not start: plugin type 'quue-scorer' is not registered"
      culprit: "plugin type 'quue-scorer' is not registered"
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.k8s.client import auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.validation.rollout import RolloutTarget, checksum, settle

try:
    import yaml
except ImportError:
    # the kubernetes library requires it too, so connect() fails before it is used
    yaml = None


def main() -> None:
    """Entry of the module."""
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "namespace": {"type": "str", "required": True},
            "configurations": {"type": "dict", "required": True},
            "timeout": {"type": "int", "default": 300},
            "patient": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    namespace, configurations = module.params["namespace"], module.params["configurations"]
    if module.check_mode or not configurations:
        module.exit_json(changed=False, **({} if module.check_mode else {"schedulers": [], "seconds": 0.0}))
    start = time.monotonic()
    try:
        cluster = connect(module)
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        wanted = [(RolloutTarget(namespace, name, name, ""), checksum(config), yaml.load(config, Loader=loader)) for name, config in configurations.items()]
        outcomes = settle(cluster, wanted, module.params["timeout"], module.params["patient"])
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    seconds = round(time.monotonic() - start, 3)
    failures = [
        {"name": name, "error": outcome.error, "culprit": outcome.culprit} for name, outcome in zip(configurations, outcomes, strict=True) if outcome.error
    ]
    if failures:
        module.fail_json(msg="\n".join(f"{namespace}/{item['name']}: {item['error']}" for item in failures), failures=failures, seconds=seconds)
    module.exit_json(
        changed=False, schedulers=[{"name": name, "pods": outcome.pods} for name, outcome in zip(configurations, outcomes, strict=True)], seconds=seconds
    )


if __name__ == "__main__":
    main()
