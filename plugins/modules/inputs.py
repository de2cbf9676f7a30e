# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: inputs
author:
  - llm_d.inference contributors (@llm-d)
short_description: Check the llm_d_* variables and the options of roles before anything is changed
version_added: 1.0.0
description:
  - Reads every variable of the host whose name begins with C(llm_d_) and fails with all mistakes at once.
  - Options of roles and playbooks that do not exist, or hold a text that is no boolean, number or list where one is required, are mistakes too, and so are
    paths to write to that are not writable.
  - Each mistake names the place, the value, the reason and what to write instead.
  - Runs on the controller, connects to nothing and changes nothing.
options:
  playbook:
    description: Name of a playbook that needs no file. Then only the options of roles and playbooks are checked, and those that it requires.
    type: str
notes:
  - Works as an action plugin, since only the controller knows the variables.
seealso:
  - plugin: llm_d.inference.plan
    plugin_type: lookup
    description: The plan of the variables.
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
"""

EXAMPLES = r"""
- name: Reject a file with mistakes
  llm_d.inference.inputs:
"""

RETURN = r"""
problems:
  description: The mistakes.
  returned: failed
  type: list
  elements: dict
  contains:
    path:
      description: Path in the user's file, or the name of an option.
      type: str
      sample: llm_d_model_services[0].replicas
    value:
      description: The value. Values that may be secret are not shown.
      type: raw
      sample: -1
    reason:
      description: Why it is a mistake.
      type: str
      sample: -1 is less than 0.
    fix:
      description: What to write instead.
      type: str
      sample: Write a whole number, at least 0.
services:
  description: Names of the model services.
  returned: success
  type: list
  elements: str
  sample: [llama-8b]
provider:
  description: The gateway provider.
  returned: success
  type: str
  sample: envoy_gateway
release:
  description: The release line of the endpoint picker.
  returned: success
  type: str
  sample: scheduler-0.7
instance:
  description: Name of the deployment, with its suffix.
  returned: success
  type: str
  sample: llm-d
namespace:
  description: The namespace of all objects.
  returned: success
  type: str
  sample: llm-d
"""
