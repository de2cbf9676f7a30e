# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of extensions/controller, from tools/controller.yml and the job templates of the patterns."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import yaml

from plugins.plugin_utils.role_options import PLAYBOOKS
from tools import patterns
from tools.manifests import BANNER, Dumper

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "extensions/controller"
TEMPLATES = "controller_templates"
OPTIONS = PLAYBOOKS["configure_awx"]
Facts = dict[str, t.Any]


class Unsafe(str):
    """A text that Ansible does not template: the controller evaluates it."""


class _Loader(yaml.SafeLoader):
    """Keeps !unsafe."""


class _Dumper(Dumper):
    """Keeps !unsafe."""


_Loader.add_constructor("!unsafe", lambda loader, node: Unsafe(loader.construct_scalar(t.cast(yaml.ScalarNode, node))))
_Dumper.add_representer(Unsafe, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text), style='"'))


def data() -> Facts:
    """The lists by their names in infra.aap_configuration, with the options of configure_awx filled in."""
    source = yaml.load((ROOT / "tools/controller.yml").read_text(encoding="utf-8"), Loader=_Loader)  # the safe loader, with one more tag
    common = source.pop("common")
    made = [{**common, **each} for each in [*source[TEMPLATES], *templates()]]
    return t.cast(Facts, _with_options({**source, TEMPLATES: made}))


def templates() -> list[Facts]:
    """The job templates of the patterns."""
    source = patterns.data()
    job_templates = []
    for name, pattern in source["patterns"].items():
        (made,) = patterns.definition(name, pattern, source["questions"])["aap_resources"]["controller_job_templates"]
        kept = {key: value for key, value in made.items() if key not in ("primary", "survey", "playbook")}
        playbook = f"extensions/patterns/{name}/playbooks/{made['playbook']}"
        job_templates.append({**kept, "playbook": playbook, "survey_enabled": True, "survey_spec": made["survey"]})
    return job_templates


def _with_options(value: t.Any) -> t.Any:
    """A value in which each $name is replaced by Jinja."""
    if isinstance(value, dict):
        return {key: _with_options(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_options(item) for item in value]
    if not isinstance(value, str) or isinstance(value, Unsafe):
        return value
    if value.startswith("$"):
        return f"{{{{ {_option(value[1:])} }}}}"
    return re.sub(r"\$([a-z_]+)", lambda match: f"({_option(match[1])})", value)


def _option(name: str) -> str:
    """An option of configure_awx, or its default, as Jinja."""
    variable = f"configure_awx_{name}"
    default = "" if OPTIONS[variable].default is None else OPTIONS[variable].default
    if OPTIONS[variable].type == "list":  # or the names in one text
        # An empty text is left out, an empty list is none.
        names = f'[{json.dumps(",".join(default))} if {variable} | default("") == "" else {variable}] | flatten | join(",")'
        return f'{names} | split(",") | map("trim") | select | list'
    return variable if OPTIONS[variable].required else f"{variable} | default({json.dumps(default)}, true)"


def generated() -> dict[Path, str]:
    """The expected content of each file."""
    head = f"---\n# {BANNER}\n"
    return {
        FOLDER / f"{name.removeprefix('controller_').removeprefix('aap_')}.yml": head + yaml.dump({name: items}, Dumper=_Dumper, sort_keys=False, width=120)
        for name, items in data().items()
    }
