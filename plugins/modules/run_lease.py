# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run_lease
short_description: Keep two runs on one instance apart
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Takes a Lease (C(coordination.k8s.io/v1)), waits while another run has it, and fails with the name of that run after O(timeout).
  - The task renews it in the background until the run ends, and deletes it then, however the run ends. A Lease that nobody renews for 30 seconds is free.
  - Warns where the account has no permissions for Leases. Takes none in a namespace that does not exist, and none for a task that runs on another host than
    Ansible or with another interpreter.
options:
  namespace:
    description: Its namespace.
    type: str
    required: true
  name:
    description: Its name.
    type: str
    required: true
  instance:
    description: What the runs work on, for messages.
    type: str
    required: true
  holder:
    description: Who takes it, for other runs. By default the job, or the user, with the host and the process.
    type: str
  state:
    description: What to do with it. V(renewed) and V(absent) are those of the task itself.
    type: str
    choices:
      - held
      - renewed
      - absent
    default: held
  timeout:
    description: Seconds to wait for it.
    type: int
    default: 600
  progress_path:
    description: A file to which the module appends lines on its progress.
    type: path
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.no_diff
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Takes nothing, and does not wait.
"""

EXAMPLES = r"""
- name: Let one run at a time change the deployment
  llm_d.inference.run_lease:
    namespace: llm-d
    name: llm-d-record
    instance: llm-d
"""

RETURN = r"""
held:
  description: Whether this run has it, or had it where it is released.
  returned: always
  type: bool
reached:
  description: Whether the API server answered, and took the account.
  returned: on failure
  type: bool
waited:
  description: Seconds that were waited for another run.
  returned: success
  type: float
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.text import one_line
from ..module_utils.k8s.client import auth_spec, connect
from ..module_utils.k8s.errors import ApiError, ClusterError
from ..module_utils.k8s.lease import Lease

PAUSE = 1.0  # seconds between two attempts
BEAT = 10.0  # seconds between two lines of progress
UNGUARDED = (
    "nothing keeps two runs on the instance {instance} apart, since this one cannot have a Lease in the namespace {namespace} ({why});"
    " playbooks/list_permissions.yml writes the permissions for it"
)


def taken(module: AnsibleModule, lease: Lease, clock) -> float:
    """Seconds that were waited until the Lease was taken. Fails where another run keeps it."""
    params, begin, logged = module.params, clock.now(), -BEAT
    while holder := lease.take():
        waited = clock.now() - begin
        if waited >= params["timeout"]:
            module.fail_json(
                msg=f"another run works on the instance {params['instance']} in the namespace {params['namespace']}: {holder};"
                f" it was waited for {waited:.0f} s. Run the same again once that has ended",
                held=False,
            )
        if waited - logged >= BEAT and params["progress_path"]:
            logged = waited
            with open(params["progress_path"], "a", encoding="utf-8") as file:
                file.write(f"waiting {waited:.0f} s for another run on the instance {params['instance']}: {holder}\n")
        clock.sleep(PAUSE)
    return clock.now() - begin


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "namespace": {"type": "str", "required": True},
            "name": {"type": "str", "required": True},
            "instance": {"type": "str", "required": True},
            "holder": {"type": "str"},
            "state": {"type": "str", "choices": ["held", "renewed", "absent"], "default": "held"},
            "timeout": {"type": "int", "default": 600},
            "progress_path": {"type": "path"},
        },
        supports_check_mode=True,
    )
    params = module.params
    if module.check_mode:
        module.exit_json(changed=False, held=False, waited=0.0)
    try:
        cluster = connect(module)
        lease = Lease(cluster, params["namespace"], params["name"], params["holder"])
        if params["state"] == "renewed":
            module.exit_json(changed=False, held=lease.renew(), waited=0.0)
        if params["state"] == "absent":
            module.exit_json(changed=False, held=lease.release(), waited=0.0)
        cluster.be_patient(params["timeout"])
        waited = taken(module, lease, cluster.clock)
    except ApiError as exc:
        if exc.status not in (403, 404):
            module.fail_json(msg=str(exc), held=False, reached=exc.status != 401)
        if exc.status == 403:
            module.warn(UNGUARDED.format(**params, why=one_line(exc.message or "403", 200)))
        module.exit_json(changed=False, held=False, waited=0.0)
    except ClusterError as exc:
        module.fail_json(msg=str(exc), held=False, reached=False)
    module.exit_json(changed=False, held=True, waited=round(waited, 1))


if __name__ == "__main__":
    main()
