# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The action plugin of the same name does the work; this file is its documentation.

from __future__ import annotations

DOCUMENTATION = r"""
module: stack_secrets
short_description: Create the Secrets of the user's values
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Creates Secrets from C(llm_d_model_token), C(llm_d_api_key) and C(llm_d_image_pull_credentials) in C(llm_d_namespace), and brings them up to date.
  - It reads these variables of the host itself. Their values are no argument of the task, and appear neither in its result, nor in its diff, nor in an error.
  - A Secret of the same name that someone else created stays as it is, and nothing is applied, unless O(foreign=take).
options:
  foreign:
    description: What happens where Secrets of these names belong to someone else.
    type: str
    choices: [refuse, take]
    default: refuse
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Makes a dry run on the API server. A Secret whose namespace does not exist yet counts as created.
  diff_mode:
    description: Shows the parts that differ, with all values hidden.
"""

EXAMPLES = r"""
- name: Create the secrets
  llm_d.inference.stack_secrets:
"""

RETURN = r"""
objects:
  description: The outcome for each Secret, as of M(llm_d.inference.cluster_objects).
  returned: success, and on refusal of some
  type: list
  elements: dict
  sample:
    - {action: created, api_version: v1, generation: 0, kind: Secret, name: llm-d-model-token, namespace: llm-d, waitable: false}
"""
