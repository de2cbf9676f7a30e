# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The golden files tests/golden/manifests/<inventory>.yml: the objects that each inventory renders. Their diff shows what a change does to a cluster."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import yaml

from plugins.module_utils.inventory.file import MADE_BY
from plugins.module_utils.k8s.apply_results import hide_secret_values
from plugins.module_utils.plan.build import plan, secret_definitions
from plugins.plugin_utils.planning import definitions

Facts = dict[str, t.Any]
ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden/manifests"
BANNER = "Written by tools/generate.py. Do not edit."


class Dumper(yaml.SafeDumper):
    """YAML as yamllint requires it: sequences indented, no aliases."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: t.Any) -> bool:
        return True


class _BlockDumper(Dumper):
    """Writes strings of several lines as block scalars."""


_BlockDumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None))


def names() -> list[str]:
    """The shipped inventories, without those that `make inventory` has written."""
    folders = [path for path in (ROOT / "inventories").iterdir() if (path / "hosts").is_file()]
    return sorted(path.name for path in folders if MADE_BY not in (path / "hosts").read_text(encoding="utf-8"))


def user_file(name: str) -> Facts:
    """The variables of an inventory. References to variables of the role local_cluster (inventory `local` has them) are replaced by its defaults."""
    variables: Facts = {}
    defaults = yaml.safe_load((ROOT / "roles/local_cluster/defaults/main.yml").read_text(encoding="utf-8"))
    for path in sorted((ROOT / f"inventories/{name}/group_vars/all").glob("*.yml")):
        text = path.read_text(encoding="utf-8")
        while re.search(r"\{\{ (local_cluster_\w+) \}\}", text):
            text = re.sub(r"\{\{ (local_cluster_\w+) \}\}", lambda match: str(defaults[match.group(1)]), text)
        variables |= yaml.safe_load(text) or {}
    return variables


def case(name: str) -> tuple[Facts, list[Facts]]:
    """(plan, objects) of an inventory."""
    user = {key: value for key, value in user_file(name).items() if key.startswith("llm_d_")}
    planned = plan(user)
    return planned, [*definitions(planned), *secret_definitions(user)]


def generated() -> dict[Path, str]:
    """The text of each golden file, without the values of Secrets."""
    texts = {}
    for name in names():
        document = {"apiVersion": "v1", "kind": "List", "items": [hide_secret_values(item) for item in case(name)[1]]}
        text = yaml.dump(document, Dumper=_BlockDumper, sort_keys=False, width=120)
        texts[GOLDEN / f"{name}.yml"] = f"---\n# Written by tools/generate.py from inventories/{name}. Do not edit.\n{text}"
    return texts
