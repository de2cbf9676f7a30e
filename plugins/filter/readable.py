# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: readable
author:
  - llm_d.inference contributors (@llm-d)
short_description: Text for people, as lines whatever callback shows it
version_added: 0.1.0
description:
  - A callback that shows results as YAML shows one text of several lines as it is; one that shows JSON writes C(\n) into it, and a list line by line.
    Returns the one or the other, by the option C(result_format) of the callback for standard output.
  - Names playbooks as the user starts them, by their names in the installed collection or by their paths in a checkout.
options:
  _input:
    description: Lines, or texts of several lines. Anything else is shown as YAML.
    type: list
    elements: raw
    required: true
  failed:
    description:
      - Whether it is the message of a failure, which is one text, since Ansible itself shows it in lines.
      - It names the version of a library or tool that is known to cause it.
    type: bool
    default: false
  wrap:
    description: Whether they are sentences, which are wrapped to the width of a terminal. Tables, files and commands are not.
    type: bool
    default: false
extends_documentation_fragment: llm_d.inference.internal
"""

EXAMPLES = r"""
- name: Show the verdict
  ansible.builtin.debug:
    msg: "{{ validation_verdict | llm_d.inference.verdict_table | llm_d.inference.readable }}"
"""

RETURN = r"""
_value:
  description: One text of several lines, or a list of lines.
  type: raw
  sample: ["ok    platform/kubernetes     0.63 s  Kubernetes v1.34.4", "OK: 23 of 23 claims hold"]
"""

import collections.abc as c
import typing as t

import yaml
from ansible import constants
from ansible.errors import AnsibleError

from ..module_utils.common.commands import spelled
from ..module_utils.releases.tools import cause
from ..module_utils.report.text import wrapped
from ..plugin_utils.planning import plain


def readable(value: t.Any, failed: bool = False, wrap: bool = False) -> str | list[str]:
    """One text, or its lines where the callback would show line feeds as C(\\n)."""
    parts = [value] if isinstance(value, (str, c.Mapping)) else list(value)
    lines = [line for part in parts for line in _text(part).split("\n")]
    lines = [piece for line in lines for piece in wrapped(line, indent="  ")] if wrap else lines
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    if failed and (known := cause("\n".join(lines))):
        lines.append(known)
    return "\n".join(lines) if failed or len(lines) == 1 or shows_yaml() else lines


def _text(part: t.Any) -> str:
    text = str(part) if isinstance(part, str) else str(yaml.safe_dump(plain(part), sort_keys=False, default_flow_style=False, width=1000, allow_unicode=True))
    return str(spelled(text)).rstrip("\n")


def shows_yaml() -> bool:
    """Whether the callback for standard output writes results as YAML."""
    try:
        return bool(constants.config.get_config_value("result_format", plugin_type="callback", plugin_name=constants.DEFAULT_STDOUT_CALLBACK) == "yaml")
    except AnsibleError:  # it has no such option
        return False


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"readable": readable}
