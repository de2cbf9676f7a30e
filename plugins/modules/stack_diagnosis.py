# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: stack_diagnosis
short_description: Find the cause of failures of a stack
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Reads the objects of a deployment, their conditions, events and logs, requests a short completion from every model server and through the gateway,
    reads the metrics of the endpoint pickers, and compares all of it with the plan and with the catalog of known failures.
  - Reads the kinds and objects that the plan makes or uses, and judges the objects of the stack, those that its pods refer to, and those that select or bind
    them. Other objects in its namespaces are not judged, however broken they are.
  - Finds what others attach to the stack too, such as routes that win against ours, policies, patches and admission webhooks. It lists the kinds of the API
    groups for gateways in all namespaces, or, where the account may not, in those of the stack.
  - Resources outside of these namespaces that the account may not read are one line of RV(not_read) and no finding. C(playbooks/list_permissions.yml) writes a
    file that grants the permissions to read in them.
  - Returns findings, each with the problem, its place, the evidence and the remedy, the most probable cause first.
  - Read-only, and works on a broken stack. An API server that does not answer is a finding as well.
  - Values that look like secrets are redacted in everything that is returned. Secrets are not read, except the labels of those that Helm creates.
options:
  plan:
    description: The plan of the deployment, from P(llm_d.inference.plan#lookup).
    type: dict
    required: true
  definitions:
    description:
      - The objects that the plan renders, of RV(llm_d.inference.role_facts#module:everything). Each object in the cluster is compared with its definition
        by a server-side dry run, and what differs is a finding, with the field, its value, the planned one, and who changed it.
    type: list
    elements: dict
    default: []
  requests:
    description: Whether to send requests to the model servers and through the gateway.
    type: bool
    default: true
  request_timeout:
    description: Seconds that one request may take.
    type: float
    default: 5
  log_lines:
    description: Lines to read from the log of a container that is not ready.
    type: int
    default: 400
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
attributes:
  check_mode:
    description: Sends no request to model servers or gateway.
"""

EXAMPLES = r"""
- name: Diagnose the stack
  llm_d.inference.stack_diagnosis:
    plan: "{{ lookup('llm_d.inference.plan') }}"
  register: diagnosis

- name: Show the findings
  ansible.builtin.debug:
    msg: "{{ diagnosis.lines }}"
"""

RETURN = r"""
ok:
  description: Whether no known failure was found. Notes do not count.
  returned: always
  type: bool
  sample: false
summary:
  description: The most probable cause in one line.
  returned: always
  type: str
  sample: "most probable cause: the pool selects no pod (InferencePool llm-d/llama-8b); 2 more findings"
findings:
  description: The findings, the most probable cause first.
  returned: always
  type: list
  elements: dict
  sample:
    - rank: 1
      code: F21
      kind: cause
      what: the pool selects no pod
      where: InferencePool llm-d/llama-8b
      evidence: ["its selector is app=llama, and no pod has these labels"]
      remedy: "set the selector to the labels of its pods: run playbooks/site.yml"
  contains:
    rank:
      description: Place in the list.
      type: int
    code:
      description: Code of the failure, as listed in C(docs/troubleshooting.md).
      type: str
    kind:
      description: V(cause), V(suspect), V(symptom) or V(note).
      type: str
    what:
      description: The problem.
      type: str
    where:
      description: The objects, the most relevant first.
      type: str
    evidence:
      description: What was observed.
      type: list
      elements: str
    remedy:
      description: What to do.
      type: str
busy:
  description: Whether a server has requests in its queue, and makes progress.
  returned: always
  type: bool
  sample: false
looked_at:
  description: How many objects of each kind were read.
  returned: always
  type: dict
  sample: {Pod: 7, Deployment: 3}
not_read:
  description: Resources that could not be read, in one line for all that this account may not read, and one for each other reason.
  returned: always
  type: list
  elements: str
  sample: ["Node; Deployment, Pod in kube-system: this account may not read them, so a cause that lies there is not found"]
instance:
  description: Name of the deployment.
  returned: always
  type: str
  sample: llm-d
namespace:
  description: Its namespace.
  returned: always
  type: str
  sample: llm-d
cluster:
  description: The URL of its API server, or the name of its host among several; empty where the kubeconfig is not on the control node.
  returned: always
  type: str
  sample: https://10.215.0.1:6443
release:
  description: Its release line.
  returned: always
  type: str
  sample: scheduler-0.7
time:
  description: When the diagnosis was made, UTC.
  returned: always
  type: str
  sample: "2026-11-21T12:00:00Z"
seconds:
  description: How long it took.
  returned: always
  type: float
  sample: 2.1
lines:
  description: The findings as lines of text.
  returned: always
  type: list
  elements: str
  sample: ["most probable cause: the pool selects no pod (InferencePool llm-d/llama-8b)"]
markdown:
  description: The findings as Markdown.
  returned: always
  type: str
  sample: "# Diagnosis of llm-d in llm-d"
msg:
  description: Why nothing could be diagnosed.
  returned: on failure
  type: str
  sample: "request_timeout must be more than 0"
"""

import datetime
import time

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.text import one_line
from ..module_utils.diagnosis import report, traffic
from ..module_utils.diagnosis.collect import Collector
from ..module_utils.k8s.client import auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.validation.targets import plan_error


def main() -> None:
    """Entry of the module."""
    spec = {
        "plan": {"type": "dict", "required": True},
        "definitions": {"type": "list", "elements": "dict", "default": []},
        "requests": {"type": "bool", "default": True},
        "request_timeout": {"type": "float", "default": 5},
        "log_lines": {"type": "int", "default": 400},
    }
    module = AnsibleModule({**auth_spec(), **spec}, supports_check_mode=True)
    # With -vvv Ansible shows the options, and in these are prompts and keys.
    plan, definitions = module.params.pop("plan"), module.params.pop("definitions")
    reason = plan_error(plan) or ("request_timeout must be more than 0" if module.params["request_timeout"] <= 0 else "")
    if reason:
        module.fail_json(msg=reason)
    limits = {name: module.params[name] for name in ("request_timeout", "log_lines")}
    limits["requests"] = module.params["requests"] and not module.check_mode
    start, checked, not_read, busy = time.monotonic(), {}, [], False
    try:
        snap = Collector(connect(module), plan, limits, definitions).collect()
        findings = report.diagnose(snap)
        busy = any(traffic.busy(server) for server in snap.servers)
        checked = {kind: len(items) for kind, items in sorted(snap.objects.items()) if items}
        not_read = report.not_read(snap)
    except ClusterError as error:
        findings = report.unreachable(one_line(error))
    facts = {
        "instance": plan["instance"],
        "namespace": plan["namespace"],
        "cluster": (plan.get("deployment") or {}).get("cluster", ""),
        "release": plan["release"]["name"],
        "busy": busy,
        "looked_at": checked,
        "not_read": not_read,
        "time": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": round(time.monotonic() - start, 1),
    }
    made = report.report(findings, facts)
    module.exit_json(changed=False, **made, lines=report.lines(made), markdown=report.markdown(made))


if __name__ == "__main__":
    main()
