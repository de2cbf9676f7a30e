# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turn a YAML template and a plan into object definitions.

Plain Jinja: a template sees the plan, the filter to_json, and nothing else. Ansible's own templating checks every value it passes for
templates and tags, and its YAML reader marks every scalar: for a thousand services that is a minute of work that nobody asked for.
"""

from __future__ import annotations

import typing as t
from pathlib import Path

import yaml
from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MARK = "\u2063value "


class _Values:
    """Values that a template prints with to_json travel beside the text, since to write them as YAML and read them again is most of the work."""

    def __init__(self) -> None:
        self.kept: list[t.Any] = []
        self.placed = 0

    def keep(self, value: t.Any) -> str:
        """A short scalar that stands for the value."""
        self.kept.append(value)
        return f'"{_MARK}{len(self.kept) - 1}"'

    def place(self, node: t.Any) -> t.Any:
        """The same structure with each stand-in replaced by its value."""
        if isinstance(node, dict):
            return {key: self.place(item) for key, item in node.items()}
        if isinstance(node, list):
            return [self.place(item) for item in node]
        if isinstance(node, str) and node.startswith(_MARK):
            self.placed += 1
            return self.kept[int(node[len(_MARK) :])]
        return node


def render(template: str | Path, plan: t.Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    """The definitions that a template file makes of a plan, in order. Raises jinja2.TemplateError, yaml.YAMLError or ValueError."""
    path, values = Path(template), _Values()
    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(path.parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters = {"to_json": values.keep}
    text = environment.get_template(path.name).render(plan=plan)
    found = [values.place(document) for document in yaml.load_all(text, Loader=_Loader) if document]
    if values.placed != len(values.kept):
        raise ValueError(f"{path.name}: to_json has to be the whole value of a key or list item; {len(values.kept) - values.placed} of its uses are not.")
    return found
