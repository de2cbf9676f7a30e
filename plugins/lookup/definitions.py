# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: definitions
author:
  - llm_d.inference contributors (@llm-d)
short_description: Object definitions from a YAML template and the plan
version_added: 0.1.0
description:
  - Renders a template of the role with plain Jinja and returns its documents as one list of object definitions.
  - The template sees the C(plan) and the filter C(to_json), and nothing else. Whatever it asks for that the plan does not have is an error.
  - C(to_json) has to be the whole value of a key or list item.
options:
  _terms:
    description: Names of template files, searched for in the C(templates) folder of the role.
    type: list
    elements: str
    required: true
  plan:
    description: The plan, as C(lookup('llm_d.inference.plan')) returns it. Either this or O(variable).
    type: dict
  variable:
    description:
      - Name of the variable that holds the plan.
      - Where the variable is the lookup of the plan and nothing else, the plan goes straight to the template. As O(plan) it would go through
        Ansible's templating, which looks at every value of it, and for many services that is most of the work.
    type: str
seealso:
  - plugin: llm_d.inference.plan
    plugin_type: lookup
    description: Makes the plan.
"""

EXAMPLES = r"""
- name: Show the objects of the model servers
  ansible.builtin.debug:
    msg: "{{ lookup('llm_d.inference.definitions', 'servers.yml.j2', variable='model_service_plan') }}"
"""

RETURN = r"""
_raw:
  description: One list of object definitions.
  type: list
  elements: list
  sample:
    - - apiVersion: v1
        kind: ServiceAccount
        metadata:
          name: llama-8b
"""

import re
import typing as t

import yaml
from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase
from jinja2 import TemplateError

from ..plugin_utils.planning import plain, planned, render

_THE_LOOKUP = re.compile(r"""\s*\{\{-?\s*lookup\(\s*['"]llm_d\.inference\.plan['"]\s*\)\s*-?\}\}\s*""")


class LookupModule(LookupBase):
    """Definitions of all documents of the named templates."""

    def run(self, terms: list[t.Any], variables: dict[str, t.Any] | None = None, **kwargs: t.Any) -> list[t.Any]:
        """Return one list of definitions as the only element."""
        self.set_options(var_options=variables, direct=kwargs)
        plan = self._plan(variables or {})
        found: list[dict[str, t.Any]] = []
        for term in terms:
            path = self.find_file_in_search_path(variables, "templates", term)
            if not path:
                raise AnsibleLookupError(f"There is no template {term}.")
            try:
                found += render(path, plan)
            except (TemplateError, yaml.YAMLError, ValueError) as error:
                raise AnsibleLookupError(f"{term}: {error}") from error
        return [found]

    def _plan(self, variables: dict[str, t.Any]) -> t.Any:
        given, name = self.get_option("plan"), self.get_option("variable")
        if (given is None) == (name is None):
            raise AnsibleLookupError("Write either plan or variable.")
        if name is None:
            return plain(given)
        if name not in variables:
            raise AnsibleLookupError(f"There is no variable {name}.")
        if _THE_LOOKUP.fullmatch(str(variables[name])):
            return planned(variables, self._templar.template)
        return plain(self._templar.template(variables[name]))
