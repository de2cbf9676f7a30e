# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: canary_steps
author:
  - llm_d.inference contributors (@llm-d)
short_description: Compute the steps in which requests move to another service or model
version_added: 1.0.0
description:
  - For the role P(llm_d.inference.canary#role).
  - Takes the weights of C(route.weights) and C(model.aliases) in the C(llm_d_*) variables of the host, and returns what the deployment is in each step.
  - Fails with all mistakes at once. Runs on the controller, connects to nothing and changes nothing.
  - Callbacks do not show the result, since plans may hold the key of an API.
options:
  service:
    description: The model service whose requests move. The only one that shares requests by weight by default.
    type: raw
  to:
    description: The other service or model that they move to. By default the only one with a weight that is neither the service nor its served name.
    type: raw
  steps:
    description: Percentages of the requests, in rising order, as a list or as a comma-separated string.
    type: raw
    required: true
  pause:
    description: Seconds for which each step lasts.
    type: raw
    required: true
notes:
  - Works as an action plugin, since only the controller knows the variables and the templates.
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
"""

EXAMPLES = r"""
- name: Compute the steps
  llm_d.inference.canary_steps:
    service: llama
    to: llama-next
    steps: [10, 50, 100]
    pause: 60
  register: __canary_facts
"""

RETURN = r"""
service:
  description: The service whose requests move.
  returned: success
  type: str
  sample: llama
to:
  description: The service or model that they move to.
  returned: success
  type: str
  sample: llama-next
pause:
  description: Seconds for which each step lasts.
  returned: success
  type: int
  sample: 60
before:
  description: The state that the user's file describes.
  returned: success
  type: dict
  contains: &step
    percent:
      description: Percentage of the requests that move.
      type: int
      sample: 10
    shown:
      description: The weights.
      type: str
      sample: "llama: 90, llama-next: 10"
    plan:
      description: The plan of the services concerned alone.
      type: dict
    objects:
      description: Definitions of the objects that the steps change.
      type: list
      elements: dict
steps:
  description: The steps that the user's file has not completed.
  returned: success
  type: list
  elements: dict
  contains: *step
file:
  description: Lines to write into the user's file after the last step.
  returned: success
  type: list
  elements: str
  sample: ["llm_d_model_services[0].route.weights: {llama: 0, llama-next: 100}"]
state:
  description: The state of the plan.
  returned: success
  type: str
  sample: present
options:
  description:
    - The options of the role by their names without its prefix, with their types; a text such as C("true") or C("4") becomes a boolean or a number.
    - Values that roles pass to each other, such as C(<role>_plan), are not among them.
  returned: success
  type: dict
  sample: {performance: false, disregard: [counted]}
connection:
  description: The connection options of the plan that are set, for C(module_defaults).
  returned: success
  type: dict
  sample:
    kubeconfig: /home/me/.kube/config
"""
