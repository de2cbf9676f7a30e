# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record the fields of pod templates in the oldest and the newest supported version of Kubernetes, in plugins/module_utils/releases/pod_fields.py.

    python tools/record_pod_fields.py 1.29.6 1.37.2

downloads the Go module k8s.io/kubernetes of each version (about 15 MB) and reads its OpenAPI document, which names the merge key of each list. Nothing is built
or run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
import typing as t
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "plugins/module_utils/releases/pod_fields.py"
OPENAPI, ROOT = "api/openapi-spec/swagger.json", "io.k8s.api.core.v1.PodTemplateSpec"
# Definitions without fields, and the type that is recorded for them.
SCALARS = {"Quantity": "quantity", "IntOrString": "int-or-string", "Time": "string", "FieldsV1": "object"}
WIDTH = 152  # of a line in the data file, in characters
Facts = dict[str, t.Any]
Fields = dict[str, dict[str, str]]  # definition, field, type


def main() -> int:
    if len(sys.argv) != 3:
        raise SystemExit("name the oldest and the newest version, such as 1.29.6 and 1.37.2")
    oldest, newest = sys.argv[1:]
    old, new = (pod_template_fields(api_definitions(version)) for version in (oldest, newest))
    DATA.write_text(data_file({oldest: old, newest: new}), encoding="utf-8")
    print("\n".join(f"{version}: {sum(map(len, fields.values()))} fields" for version, fields in ((oldest, old), (newest, new))))
    return 0


def api_definitions(version: str) -> Facts:
    """The OpenAPI definitions of a Kubernetes version, by their full names."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@v{version}"]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    definitions: Facts = json.loads((Path(json.loads(done.stdout)["Dir"]) / OPENAPI).read_text(encoding="utf-8"))["definitions"]
    return definitions


def pod_template_fields(definitions: Facts) -> Fields:
    """The fields of a pod template and of all definitions that it refers to, directly or not."""
    result: Fields = {}
    pending = [ROOT]
    while pending:
        name = pending.pop()
        if short(name) in result or short(name) in SCALARS:
            continue
        required = definitions[name].get("required", [])
        fields = definitions[name]["properties"]
        result[short(name)] = {key: kind(field) + ("!" if key in required else "") for key, field in fields.items()}
        types = [each for field in fields.values() for each in (field, field.get("items", {}), field.get("additionalProperties", {}))]
        pending += [each["$ref"].rpartition("/")[2] for each in types if "$ref" in each]
    return result


def kind(field: Facts) -> str:
    """The type of a field, as the docstring of the data file describes it."""
    if "$ref" in field:
        name = short(field["$ref"])
        return SCALARS.get(name, name)
    if field["type"] == "array":
        return f"[{kind(field['items'])}]{field.get('x-kubernetes-patch-merge-key', '')}"
    if field["type"] == "object" and "additionalProperties" in field:
        return f"{{{kind(field['additionalProperties'])}}}"
    return str(field["type"])


def short(name: str) -> str:
    """The name of a definition without its package: PodSpec of io.k8s.api.core.v1.PodSpec."""
    return name.rpartition(".")[2]


def data_file(versions: dict[str, Fields]) -> str:
    """The text of the data file, for the oldest and the newest version."""
    (oldest, old), (newest, new) = versions.items()
    lines = []
    for name in sorted({*old, *new}):
        fields = {**old.get(name, {}), **new.get(name, {})}
        # No field has a mark if only one version has the whole definition: the fields that refer to it have one.
        marks = {key: "" if name not in old or name not in new or key in old[name] and key in new[name] else "<" if key in old[name] else ">" for key in fields}
        text = " ".join(f"{key}={fields[key]}{marks[key]}" for key in sorted(fields))
        lines.append(f'    "{name}": """\n' + "\n".join(textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False)) + '\n""",')
    return HEAD.format(oldest=oldest, newest=newest) + "\n".join(lines) + "\n}\n"


HEAD = '''# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of a pod template, and of all that it holds, in Kubernetes {oldest} and {newest}. Data only; written by tools/record_pod_fields.py, not by hand.

FIELD=TYPE: `[TYPE]` a list that a patch replaces, `[TYPE]KEY` one that it merges by this key of its elements, `{{TYPE}}` a mapping with keys of the
user. Then `!` where it is required, `<` where only the older version has it, `>` where only the newer one has it.
"""

from __future__ import annotations

OLDEST, NEWEST = "{oldest}", "{newest}"
FIELDS = {{
'''


if __name__ == "__main__":
    sys.exit(main())
