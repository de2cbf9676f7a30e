# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: answered
author:
  - llm_d.inference contributors (@llm-d)
short_description: A variable of the inventory with the answers to a survey in it
version_added: 1.0.0
description:
  - For playbooks that a survey of AWX starts. An answer that is left empty keeps what the inventory has.
  - Answers stay texts. The roles take booleans, numbers and lists from them.
positional: _input, answers
options:
  _input:
    description: The value of the inventory, empty where it has none.
    type: raw
    required: true
  answers:
    description:
      - Answers by path, such as C(slo.ttft_p90_ms) or C([qwen].model.uri). C([qwen]) is the element with this name, which is added where there is none.
      - C([]) is the only element, and an empty path the value itself.
    type: dict
    required: true
  add:
    description: Whether an element that the value does not have is added. Otherwise its name is refused.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Show the model services with the answers to a survey
  ansible.builtin.debug:
    msg: >-
      {{ llm_d_model_services | default([])
         | llm_d.inference.answered({'[' ~ survey_service ~ '].model.uri': survey_model | default('')}) }}
"""

RETURN = r"""
_value:
  description: The value with the answers. The value of the inventory where none is given.
  type: raw
  sample: [{name: qwen, model: {uri: hf://Qwen/Qwen3-0.6B}}]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.schema.answers import AnswerError
from ..module_utils.schema.answers import answered as placed
from ..plugin_utils.planning import plain


def answered(value: t.Any, answers: t.Any, add: bool = True) -> t.Any:
    """The value with the answers in it."""
    if not isinstance(answers, dict):
        raise AnsibleFilterError("answered takes a mapping of paths to answers")
    try:
        return placed(plain(value), plain(answers), add)
    except AnswerError as exc:
        raise AnsibleFilterError(str(exc)) from exc  # the plan shows the cause among the mistakes of the file


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"answered": answered}
