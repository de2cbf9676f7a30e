# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of modules that send load."""

from __future__ import annotations


class ModuleDocFragment:
    """extends_documentation_fragment: llm_d.inference.load"""

    DOCUMENTATION = r"""
options:
  gateway:
    description: A Gateway of the cluster, instead of O(url). Requests go to the address in its status.
    type: dict
    suboptions:
      namespace:
        description: Its namespace.
        type: str
        required: true
      name:
        description: Its name.
        type: str
        required: true
      listener:
        description: Name of its listener. The first one by default.
        type: str
  path:
    description: Path prefix before C(/v1), where a gateway routes by path.
    type: str
    default: ''
  wait:
    description: Seconds to wait until the Gateway or Service has an address.
    type: float
    default: 30
  api:
    description: Which completions to request.
    type: str
    choices: [completions, chat_completions]
    default: completions
  arrivals:
    description: Arrivals in open loops, V(poisson) for independent arrivals, V(constant) for equal gaps.
    type: str
    choices: [poisson, constant]
    default: poisson
  progress_path:
    description: File to which progress lines are appended. Set by the action plugin.
    type: path
"""
