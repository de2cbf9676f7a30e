# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of roles and playbooks as users give them, in files, by -e and in surveys: read by the argument specs, converted from texts, refused if invalid.

An extra variable cannot be replaced by its converted value, since nothing has a higher precedence. So tasks read the options that role_facts returns.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import os
import typing as t
from pathlib import Path

import yaml

from ..module_utils.common.objects import Facts
from ..module_utils.common.scalars import blank, words
from ..module_utils.schema.fields import Field, Kind, Problem, complete, suggest
from ..module_utils.schema.variables import VARIABLES
from .planning import ROLES, Template, plain
from .results import unwritable

# The options of playbooks that belong to no role. tests/contract/test_role_options.py compares them with the playbooks.
PLAYBOOKS: dict[str, dict[str, Field]] = {
    "configure_awx": {
        "configure_awx_organization": Field("str", "Name of the organization.", default="Default"),
        "configure_awx_project_url": Field("str", "The repository whose playbooks are started.", default="https://github.com/llm-d/llm_d.inference.git"),
        "configure_awx_project_branch": Field("str", "Its branch, tag or commit."),
        "configure_awx_project_credential": Field("str", "Name of its credential, of the type Source Control. If omitted, anyone may read it."),
        "configure_awx_inventory_url": Field("str", "The repository with your inventory.", required=True, example="https://git.example.com/stack.git"),
        "configure_awx_inventory_branch": Field("str", "Its branch, tag or commit."),
        "configure_awx_inventory_credential": Field("str", "Name of its credential, of the type Source Control. If omitted, anyone may read it."),
        "configure_awx_inventory_path": Field("str", "Folder of the inventory in its repository.", default="inventories/mine"),
        "configure_awx_kubeconfig": Field("str", "A kubeconfig for the credentials that are created. If omitted, the credentials must exist in AWX."),
        "configure_awx_credentials": Field("list", "Names of the credentials of the jobs.", default=["llm-d: Cluster"], elements=Field("str", "")),
        "configure_awx_controller_credential": Field("str", "Name of the credential that writes into approvals.", default="llm-d: Controller"),
        "configure_awx_image": Field("str", "Image of the execution environment. If omitted, the one of the organization."),
        "configure_awx_image_credential": Field("str", "Name of its credential, of the type Container Registry. If omitted, anyone may pull it."),
        "configure_awx_notification_url": Field("str", "Webhook that each end of a job is sent to. If omitted, none."),
        "configure_awx_scheduled": Field("bool", "Whether the schedules are enabled.", default=False),
    },
    "export": {"export_path": Field("str", "Folder of the files.")},
    "inventory": {f"inventory_{name}": Field("str", "See cluster_inventory.") for name in ("name", "folder", "kubeconfig", "context")},
    "pin_images": {"pin_images_file": Field("str", "The file with the digests.")},
    "show": {"show_only": Field("str", "Kinds and names of the objects to show, with commas. If omitted, all.", example="Deployment,llama-8b-epp")},
    "teardown": {"teardown_confirmed": Field("bool", "Whether to skip the confirmation.", default=False)},
    "watch": {"watch_restore": Field("bool", "Whether the file is deployed again.", default=True)},
}
# The paths that a playbook writes to.
WRITTEN = ("benchmark_path", "calibrate_path", "compare_path", "export_path", "pin_images_file")
# Facts that roles set for later plays and other roles.
RESULTS = frozenset({"diagnose_drift", "inventory_written", "objects_refused", "objects_untried", "record_held", "record_surplus", "validation_verdict"})
_MAGIC = "inventory"  # Ansible has variables of its own with this prefix
_OTHERS = ("llm_d_", "ansible_", "awx_", "tower_")  # prefixes of extra variables that are checked elsewhere, or that Ansible and AWX give to a run
_KINDS: dict[str, Kind] = {"path": "str", "raw": "any", "str": "str", "bool": "bool", "int": "int", "float": "float"}
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@functools.cache
def options_of(role: str) -> dict[str, Field]:
    """The options of a role, of all its entry points, from its argument specs; {} for a name that no role has."""
    path = ROLES / role / "meta/argument_specs.yml"
    specs = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)["argument_specs"] if path.is_file() else {}
    return {name: _field(spec) for entry in specs.values() for name, spec in (entry.get("options") or {}).items() if not name.startswith("llm_d_")}


@functools.cache
def _known() -> dict[str, dict[str, Field]]:
    """{the prefix of each role and playbook: its options}"""
    return {**{path.name: options_of(path.name) for path in sorted(Path(ROLES).iterdir())}, **PLAYBOOKS}


def _field(spec: Facts) -> Field:
    """One option of an argument spec."""
    kind, nested = spec.get("type", "str"), {name: _field(inner) for name, inner in (spec.get("options") or {}).items()}
    facts: Facts = {"required": bool(spec.get("required")), "default": spec.get("default"), "choices": tuple(spec.get("choices") or ())}
    if kind == "list":
        element = _field({"type": spec.get("elements", "raw"), "options": spec.get("options"), "choices": spec.get("choices")})
        return Field("list", "", **{**facts, "choices": ()}, elements=element)
    if kind == "dict":
        return Field("dict", "", **facts, options=nested) if nested else Field("map", "", **facts, elements=Field("any", ""))
    return Field(_KINDS[kind], "", **facts)


def given(role: str, variables: t.Mapping[str, t.Any], template: Template) -> tuple[Facts, list[Problem]]:
    """(the role's options by their names without its prefix, with their types; problems). Plans and runs, which roles pass to each other, are left out."""
    options: Facts = {}
    problems: list[Problem] = []
    for name, field in options_of(role).items():
        if not _internal(field):
            value, failures = _converted(plain(template(variables.get(name))), field, name)
            options[name.removeprefix(f"{role}_")] = value
            problems += failures
    return options, problems


def option_problems(variables: t.Mapping[str, t.Any], extra: t.Collection[str], roles: t.Collection[str], template: Template) -> list[Problem]:
    """Problems of all options of roles and playbooks. extra: names of extra variables. roles: those of the play, whose options Ansible checks as well.

    A variable of the inventory with a role's prefix may be the user's own, so it is refused only where it is nearly an option; an extra variable always.
    """
    problems: list[Problem] = []
    for prefix, options in _known().items():
        for name in sorted(str(each) for each in variables if str(each).startswith(f"{prefix}_")):
            if name in options:
                problems += _value_problems(name, variables[name], options[name], prefix in roles, template)
            elif name not in RESULTS and owner(name) == prefix:
                problems += _unknown_option(name, variables[name], prefix, name in extra)
    return problems + _misspelled(extra)


def missing_options(playbook: str, variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of the options that a playbook requires."""
    required = {name: field for name, field in PLAYBOOKS.get(playbook, {}).items() if field.required}
    left_out = [name for name in required if variables.get(name) is None or blank(variables[name])]
    return [problem for name in left_out for problem in complete(None, required[name], name)[1]]


def locked_paths(variables: t.Mapping[str, t.Any], template: Template) -> list[Problem]:
    """Problems of the paths that a playbook writes to, before it does anything."""
    problems = []
    for name in WRITTEN:
        try:
            path = str(template(variables.get(name)) or "")
        except Exception:  # the task that reads it reports the error
            continue
        folder = os.path.dirname(os.path.abspath(path)) if path and name == "pin_images_file" else path
        why = unwritable(os.path.expanduser(folder)) if path else ""
        if why:
            problems.append(Problem(name, path, f"is not writable: {why}.", "Write a path that is."))
    return problems


def owner(name: str) -> str:
    """The longest prefix of a role or playbook that a name has; "" where it has none."""
    return max((prefix for prefix in _known() if name.startswith(f"{prefix}_")), key=len, default="")


def _internal(field: Field) -> bool:
    return field.type == "map" or (_structured(field) and field.elements is not None and field.elements.type == "map")


def _value_problems(name: str, value: t.Any, field: Field, checked: bool, template: Template) -> list[Problem]:
    if field.type == "str" and "{{" in str(value):  # a state that follows from llm_d_state, whose own mistakes are reported
        return []
    try:
        value = plain(template(value))
    except Exception:  # the task that reads it reports the error
        return []
    if checked and isinstance(value, str) and not blank(value) and _structured(field):
        why = "is one text, and Ansible splits a text at its commas before the role can read a list of mappings."
        return [Problem(name, value, why, f"Write it as a list, on a command line all of it in JSON: -e '{{\"{name}\": [...]}}'.")]
    empty = _empty(value, field, name) if checked else []
    if empty:
        why = f"is empty, and Ansible refuses an empty {'value' if value is None else 'text'} for this option of a role before the role can leave it out."
        return [Problem(path, "", why, "Leave it out; in a survey, give the question a default answer.") for path in empty]
    return [] if _internal(field) or (field.type in ("str", "any") and not field.choices) else _converted(value, field, name)[1]


def _empty(value: t.Any, field: Field, path: str) -> list[str]:
    """The paths of the empty parts of a value that Ansible refuses: a blank text, and null where there is a default or a choice."""
    if value is None or blank(value):
        typed = field.type in ("bool", "int", "float", "dict", "map") or _structured(field)
        refused = typed if value is not None else field.default is not None and (typed or field.type == "list")
        return [path] if refused or field.choices else []
    if isinstance(value, str) and field.type in ("dict", "list"):
        value = _parts(value, field)
    if isinstance(value, dict):
        return [each for name, option in (field.options or {}).items() if name in value for each in _empty(value[name], option, f"{path}.{name}")]
    if isinstance(value, list) and field.elements:
        return [each for index, item in enumerate(value) for each in _empty(item, field.elements, f"{path}[{index}]")]
    return []


def _structured(field: Field) -> bool:
    """Whether it is a list of mappings."""
    return field.type == "list" and field.elements is not None and field.elements.type in ("dict", "map")


def _converted(value: t.Any, field: Field, path: str) -> tuple[t.Any, list[Problem]]:
    """(the value with its type, problems). An empty text is left out; a list of words may be a text with commas, and a list or mapping a text of JSON."""
    if blank(value):
        value = None
    elif isinstance(value, str) and field.type in ("dict", "list"):
        value = _parts(value, field)
    elif field.type == "str" and isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    if value is None and field.type in ("str", "any"):
        return field.default, []
    made, problems = complete(value, dataclasses.replace(field, required=False), path)
    return _without_blanks(made), problems


def _parts(text: str, field: Field) -> t.Any:
    if text.strip()[:1] in ("[", "{"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text if field.type == "dict" or _structured(field) else words(text)


def _without_blanks(value: t.Any) -> t.Any:
    """The value without the options in it that were left out."""
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if item is not None}
    return [_without_blanks(item) for item in value] if isinstance(value, list) else value


def _unknown_option(name: str, value: t.Any, prefix: str, extra: bool) -> list[Problem]:
    options = {option.removeprefix(f"{prefix}_"): option for option in _known()[prefix]}
    near = suggest(name.removeprefix(f"{prefix}_"), options)
    if prefix == _MAGIC or not (extra or near):
        return []
    fix = f"Did you mean '{options[near]}'?" if near else f"Allowed here: {', '.join(sorted(options.values())) or 'none'}."
    return [Problem(name, value, "there is no such option.", f"{fix} A variable of your own needs another prefix than {prefix}_.")]


def _misspelled(extra: t.Collection[str]) -> list[Problem]:
    """Problems of extra variables whose prefix itself is misspelled."""
    known = [name for options in _known().values() for name in options] + list(VARIABLES)
    problems = []
    for name in sorted(extra):
        if name in known or (owner(name) and owner(name) != _MAGIC) or name.startswith(_OTHERS) or name in RESULTS:
            continue
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
        if near:
            problems.append(Problem(name, None, "there is no such option.", f"Did you mean '{near[0]}'?"))
    return problems
