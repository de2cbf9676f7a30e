#!/usr/bin/env python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Generate argument specs, role READMEs, docs and the JSON Schema from plugins/module_utils, the argument specs and docs/coverage.yml.

`tools/generate.py` writes them; `tools/generate.py --check` lists what is stale and exits 1.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import typing as t
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from plugins.module_utils.releases.pod_fields import FIELDS  # noqa: E402
from plugins.module_utils.schema.fields import FORMATS, Field, argument_type  # noqa: E402
from plugins.module_utils.schema.pods import BLOCKS, added_fields, definition  # noqa: E402
from plugins.module_utils.schema.variables import VARIABLES  # noqa: E402
from tools import controller, drawings, endpoint_picker, import_graph, manifests, patterns, pictures, public_plugins, tables  # noqa: E402
from tools.manifests import BANNER  # noqa: E402

JSON_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object", "map": "object", "list": "array"}
# Objects of Kubernetes, each of which is in the JSON Schema once: {its name: its fields}.
OBJECTS = {**{name: definition(name).fields or {} for name in FIELDS}, **{name: added_fields(name) for name in BLOCKS}}
NAMES = {id(fields): name for name, fields in OBJECTS.items()}
MODEL_SERVICE = {
    "short_description": "Deploy the model servers of each model service, with their Service and HTTPRoute",
    "description": [
        "Creates for each model service its model servers, a Service for them, and the HTTPRoute that leads to them.",
        "It returns when every server is healthy and the gateway has accepted the route.",
        "All settings come from the plan, which derives them from your C(llm_d_*) variables. See C(docs/user-file.md).",
    ],
    "version_added": "1.0.0",
    "author": ["llm_d.inference contributors (@llm-d)"],
    "examples": """\
- name: Deploy everything that serves requests
  hosts: all
  gather_facts: false
  roles:
    - role: llm_d.inference.inputs
    - role: llm_d.inference.prerequisites
    - role: llm_d.inference.record
    - role: llm_d.inference.gateway_provider
    - role: llm_d.inference.gaie_scheduler
    - role: llm_d.inference.model_service
""",
}
MODEL_SERVICE_OPTIONS: dict[str, t.Any] = {
    "model_service_plan": {"description": ["What to deploy.", "If omitted, C(lookup('llm_d.inference.plan'))."], "type": "dict"},
    "model_service_state": {
        "description": [
            "Desired state of the model servers.",
            "V(absent) fails, and removes nothing, while workloads of others mount a claim that would be deleted. V(removable) only checks that.",
            "If omitted, O(llm_d_state).",
        ],
        "type": "str",
        "choices": ["present", "absent", "removable"],
    },
}


def option(field: Field) -> dict[str, t.Any]:
    """One option of an argument spec."""
    # Options next to this one, or within it, are no options of the role.
    sentences = re.split(r"(?<=\.) (?=[A-Z])", re.sub(r"O\((?!llm_d_)", "C(", field.description))
    spec: dict[str, t.Any] = {"description": sentences, **argument_type(field)}
    if field.required:
        spec["required"] = True
    if field.default is not None and not (field.type == "dict" and field.default == {}):
        spec["default"] = field.default
    if field.choices:
        spec["choices"] = list(field.choices)
    if field.secret or (field.elements and field.elements.secret):
        spec["no_log"] = True
    nested = nested_options(field)
    if nested:
        spec["options"] = {name: secretless(name, option(inner)) for name, inner in nested.items()}
    return spec


def nested_options(field: Field) -> t.Mapping[str, Field] | None:
    """The options below an option, or below each element of a list."""
    element = field.elements if field.type == "list" else None
    return next((each.options for each in (field, field.otherwise, element) if each and each.options), None)


def secretless(name: str, spec: dict[str, t.Any]) -> dict[str, t.Any]:
    """Set no_log for options that Ansible takes for secrets by their name, such as token_secret: ours hold the name of a Secret."""
    return {**spec, "no_log": False} if re.search("secret|token|key", name) else spec


class _Dumper(manifests.Dumper):
    """Writes strings of several lines as blocks."""


_Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None))


def argument_spec() -> str:
    """meta/argument_specs.yml of model_service, with the whole schema of llm_d_model_services."""
    options = {**MODEL_SERVICE_OPTIONS, "llm_d_model_services": option(VARIABLES["llm_d_model_services"])}
    document = {"argument_specs": {"main": {**MODEL_SERVICE, "options": options}}}
    return f"---\n# {BANNER}\n" + yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)


def json_schema() -> str:
    """JSON Schema (draft 2020-12) of the user's file, for editors. Jinja expressions are allowed everywhere."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": BANNER,
        "title": "llm_d.inference variables",
        "type": "object",
        "patternProperties": {"^(?!llm_d_)": True},
        "properties": {name: _json_field(field) for name, field in VARIABLES.items()},
        "additionalProperties": False,
        "$defs": {"template": {"type": "string", "pattern": "\\{[{%]"}, **{name: _json_object(fields) for name, fields in OBJECTS.items()}},
    }
    return json.dumps(document, indent=0) + "\n"


def _json_field(field: Field) -> dict[str, t.Any]:
    schema: dict[str, t.Any] = {}
    if field.type == "quantity":
        schema = {"type": ["string", "number"]}
    elif field.type != "any":
        schema = {"type": JSON_TYPES[field.type]}
    if field.choices:
        schema["enum"] = list(field.choices)
    for key, limit in (("minimum", field.minimum), ("maximum", field.maximum)):
        if limit is not None:
            schema[key] = limit
    if field.format:
        schema["pattern"] = "^" + FORMATS[field.format].pattern.pattern.replace("\\Z", "$")
    if field.fields:
        schema = {"$ref": f"#/$defs/{NAMES[id(field.fields)]}"}
    elif field.options:
        schema = _json_object(field.options)
    if field.most is not None:
        schema["maxItems" if field.type == "list" else "maxProperties"] = field.most
    if field.elements:
        schema["items" if field.type == "list" else "additionalProperties"] = _json_field(field.elements)
    described: dict[str, t.Any] = {"description": plain(field.description)}
    if field.default is not None:
        described["default"] = field.default
    # An option without a value counts as omitted.
    choices = [schema, *([_json_field(field.otherwise)] if field.otherwise else []), {"$ref": "#/$defs/template"}] + (
        [] if field.required else [{"type": "null"}]
    )
    return {**described, **(schema if field.type == "any" else {"anyOf": choices})}


def _json_object(fields: t.Mapping[str, Field]) -> dict[str, t.Any]:
    required = [name for name, field in fields.items() if field.required]
    return {"type": "object", "properties": {name: _json_field(field) for name, field in fields.items()}, "additionalProperties": False, "required": required}


def plain(text: str) -> str:
    """Ansible's markup as plain text."""
    return re.sub(r"[BCIOVM]\(((?:[^()]|\([^()]*\))*)\)", r"\1", text)


def markdown(text: str) -> str:
    """Ansible's markup as Markdown."""
    text = re.sub(r"P\(([\w.]+)#\w+\)", r"`\1`", text)  # a plugin, with its type
    return re.sub(r"[BCIOVM]\(((?:[^()]|\([^()]*\))*)\)", r"`\1`", text).replace("|", "\\|")


def user_file() -> str:
    """docs/user-file.md: every variable and option, with examples."""
    lines = [f"<!-- {BANNER} -->", "# Your file", "", _intro(), ""]
    shown = examples()
    for name, field in VARIABLES.items():
        lines += [f"## `{name}`", "", markdown(field.description), ""]
        lines += [line for example in shown.get(name, ()) for line in ("```yaml", example, "```", "")]
        options = field.options or (field.elements.options if field.elements else None)
        if options:
            lines += _table(options, "")
        else:
            lines += [_facts(field), ""]
    return "\n".join(lines).rstrip() + "\n"


def examples() -> dict[str, list[str]]:
    """The text of the examples of docs/user-file-examples.yml, by their first variable."""
    by_name: dict[str, list[str]] = {}
    for text in yaml.safe_load((ROOT / "docs/user-file-examples.yml").read_text(encoding="utf-8")):
        by_name.setdefault(next(iter(yaml.safe_load(text))), []).append(text.rstrip())
    return by_name


def _intro() -> str:
    return (
        "Set the variables in `inventories/<cluster>/group_vars/all/`; their names begin with `llm_d_`. Every option has a default for production use,\n"
        "except `name` and `model` of a model service. `llm_d.inference.site` reports unknown keys and all other mistakes at once, before it\n"
        'changes anything. A text that is a boolean or a number beyond doubt, such as `"4"`, is taken as one, and an empty one is left out:\n'
        "[jobs](jobs.md#surveys-and--e).\n\n"
        "Editors with support for JSON Schema can complete and check the file with `docs/user-file.schema.json`: put\n"
        "`# yaml-language-server: $schema=../../../../docs/user-file.schema.json` on its first line."
    )


def _table(options: t.Mapping[str, Field], prefix: str) -> list[str]:
    rows = ["| option | type | default | meaning |", "|---|---|---|---|"] if not prefix else []
    for name, field in options.items():
        kind = kind_of(field)
        default = "**required**" if field.required else _value(field)
        limits = f" {_limits(field)}" if _limits(field) else ""
        rows.append(f"| `{prefix}{name}` | {kind} | {default} | {markdown(field.description)}{limits} |")
        nested = nested_options(field)
        rows += _table(nested, f"{prefix}{name}{'[].' if field.type == 'list' else '.'}") if nested else []
    return rows + ([] if prefix else [""])


def _value(field: Field) -> str:
    return (
        "" if field.default is None or field.default in ({}, []) else f"`{json.dumps(field.default) if not isinstance(field.default, str) else field.default}`"
    )


def _limits(field: Field) -> str:
    if field.choices:
        return "One of " + ", ".join(f"`{choice}`" for choice in field.choices) + "."
    if field.minimum is not None and field.maximum is not None:
        return f"From {field.minimum:g} to {field.maximum:g}."
    if field.minimum is not None:
        return f"At least {field.minimum:g}."
    most = [f"At most {field.most}."] if field.most is not None else []
    return " ".join([*most, *([f"Example: `{field.example}`."] if field.example is not None else [])])


def kind_of(field: Field) -> str:
    """The type of an option in the docs, such as `list of str` or `str or map`."""
    kind = f"list of {field.elements.type}" if field.type == "list" and field.elements else field.type
    return f"{kind} or {field.otherwise.type}" if field.otherwise else kind


def _facts(field: Field) -> str:
    facts = [f"Type: {kind_of(field)}.", f"Default: {_value(field)}." if _value(field) else "No default.", _limits(field)]
    return " ".join(fact for fact in facts if fact)


def readme(role: Path, specs: dict[str, t.Any]) -> str:
    """README.md of a role from its argument specs."""
    lines = [f"<!-- {BANNER} From meta/argument_specs.yml. -->", f"# {role.name}", ""]
    for entry, spec in specs.items():
        if entry != "main":
            lines += [f"## `tasks_from: {entry}`", ""]
        lines += [f"{markdown(spec['short_description'])}.", ""] if spec.get("short_description") else []
        lines += [" ".join(markdown(text) for text in _sentences(spec.get("description"))), ""]
        options = {name: item for name, item in (spec.get("options") or {}).items() if not name.startswith("llm_d_")}
        if options:
            lines += ["| variable | type | default | meaning |", "|---|---|---|---|", *_spec_rows(options, ""), ""]
        else:
            lines += ["It has no variables of its own.", ""]
        shared = [name for name in (spec.get("options") or {}) if name.startswith("llm_d_")]
        if shared:
            lines += ["Described in [your file](../../docs/user-file.md): " + ", ".join(f"`{name}`" for name in shared) + ".", ""]
        lines += ["```yaml", spec["examples"].rstrip(), "```", ""] if spec.get("examples") else []
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _sentences(description: t.Any) -> list[str]:
    return [description] if isinstance(description, str) else list(description or [])


def _spec_rows(options: dict[str, t.Any], prefix: str) -> list[str]:
    rows = []
    for name, item in options.items():
        kind = f"list of {item['elements']}" if item.get("elements") else item.get("type", "str")
        default = (
            "**required**" if item.get("required") else ("" if item.get("default") in (None, {}, []) else f"`{json.dumps(item['default']).strip(chr(34))}`")
        )
        choices = " One of " + ", ".join(f"`{choice}`" for choice in item["choices"]) + "." if item.get("choices") else ""
        meaning = " ".join(markdown(text) for text in _sentences(item.get("description")))
        rows.append(f"| `{prefix}{name}` | {kind} | {default} | {meaning}{choices} |")
        rows += _spec_rows(item.get("options") or {}, f"{prefix}{name}{'[].' if item.get('elements') else '.'}")
    return rows


def generated() -> dict[Path, str]:
    """The expected content of every generated file."""
    spec = ROOT / "roles/model_service/meta/argument_specs.yml"
    files = {
        spec: argument_spec(),
        ROOT / "docs/user-file.md": user_file(),
        ROOT / "docs/user-file.schema.json": json_schema(),
        **{ROOT / f"docs/{name}.md": f"<!-- {BANNER} -->\n{text}" for name, text in _tables().items()},
        ROOT / "docs/architecture.md": f"<!-- {BANNER} -->\n{import_graph.page()}",
        **manifests.generated(),
        **patterns.generated(),
        **controller.generated(),
        **pictures.generated(),
        **drawings.generated(),
    }
    for path in sorted({spec, *ROOT.glob("roles/*/meta/argument_specs.yml")}):
        text = files[spec] if path == spec else path.read_text(encoding="utf-8")
        files[path.parent.parent / "README.md"] = readme(path.parent.parent, yaml.safe_load(text)["argument_specs"])
    return files


def _tables() -> dict[str, str]:
    rows = yaml.safe_load((ROOT / "docs/coverage.yml").read_text(encoding="utf-8"))
    return {
        "coverage": tables.coverage(rows),
        "endpoint-picker": endpoint_picker.page(),
        "endpoint-picker-parameters": endpoint_picker.parameters(),
        "versions": tables.versions(),
        "engines": tables.engines(),
        "plugins": public_plugins.page(),
        "presets": tables.presets(),
        "troubleshooting": tables.troubleshooting(),
    }


def stale() -> list[Path]:
    """The generated files that are missing or differ from their expected content."""
    return [path for path, text in generated().items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when something is stale")
    check = parser.parse_args().check
    outdated = stale()
    for path in outdated:
        print(f"{'stale' if check else 'wrote'}: {path.relative_to(ROOT)}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(generated()[path], encoding="utf-8")
    return 1 if check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
