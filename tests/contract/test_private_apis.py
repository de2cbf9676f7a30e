# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private APIs of ansible-core, kubernetes.core and the Kubernetes client are used only in two modules named compat, which list the tried versions.

A newer version is a warning, since a failing test would hinder every upgrade; one that is older than all of them is a failure.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import warnings
from pathlib import Path

import ansible_collections.kubernetes.core as kubernetes_core
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import compat as connections
from ansible_collections.llm_d.inference.plugins.plugin_utils import compat as workers
from packaging.version import Version
from plays import ROOT

COMPAT = {ROOT / "plugins/module_utils/k8s/compat.py", ROOT / "plugins/plugin_utils/compat.py"}
FOREIGN = ("ansible", "ansible_collections", "kubernetes")
# Private by their name, but in Ansible's developer guide: attributes of every action plugin, lookup and module.
DOCUMENTED = {
    "_connection", "_diff", "_execute_module", "_requires_connection", "_supports_check_mode", "_task", "_templar", "_VALID_ARGS",
}  # fmt: skip
# Foreign classes whose instances `plugins` uses.
INSTANCES = {"AnsibleModule"}
TRIED = {**connections.TRIED, **workers.TRIED}


def sources() -> list[Path]:
    return [path for path in sorted((ROOT / "plugins").rglob("*.py")) if not path.is_symlink()]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def foreign_names(tree: ast.Module) -> tuple[set[str], list[str]]:
    """(names in a file that refer to foreign modules or objects, private names that it imports)."""
    names, private = set(), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names if alias.name.split(".")[0] in FOREIGN}
            imported = [alias.name for alias in node.names if alias.name.split(".")[0] in FOREIGN]
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] in FOREIGN:
            names |= {alias.asname or alias.name for alias in node.names}
            imported = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        private += [f"{node.lineno} {name}" for name in imported if any(is_private(part) for part in name.split("."))]
    for node in ast.walk(tree):
        # module = AnsibleModule(...), and def f(module: AnsibleModule)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in INSTANCES:
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.arg) and node.annotation and ast.unparse(node.annotation) in INSTANCES:
            names.add(node.arg)
    return names, private


def used(path: Path) -> list[str]:
    """Each private name of a foreign library that a file uses, with its line."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names, uses = foreign_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in DOCUMENTED:
            root = node.value
            while isinstance(root, (ast.Attribute, ast.Call)):
                root = root.value if isinstance(root, ast.Attribute) else root.func
            if isinstance(root, ast.Name) and root.id in names:
                uses.append(f"{node.lineno} {ast.unparse(node)}")
        # In a class that inherits from a foreign one, attributes that it reads and does not define are the parent's.
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).split(".", maxsplit=1)[0] in names for base in node.bases):
            inner = [each for each in ast.walk(node) if isinstance(each, ast.Attribute) and is_private(each.attr)]
            own = {each.attr for each in inner if isinstance(each.ctx, ast.Store)}
            own |= {each.name for each in ast.walk(node) if isinstance(each, ast.FunctionDef)}
            own |= {target.id for each in node.body if isinstance(each, ast.Assign) for target in each.targets if isinstance(target, ast.Name)}
            uses += [
                f"{each.lineno} {ast.unparse(each)}"
                for each in inner
                if each.attr not in own | DOCUMENTED and ast.unparse(each.value) in ("self", "cls", "super()")
            ]
    return uses


def test_private_names_of_libraries_are_used_in_compat_only():
    assert {str(path.relative_to(ROOT)): uses for path in sources() if path not in COMPAT and (uses := used(path))} == {}


@pytest.mark.parametrize(
    "line",
    [
        "from ansible.plugins._private import thing",
        "from kubernetes.config.kube_config import _temp_files",
        "from ansible.module_utils import basic\nbasic._ANSIBLE_ARGS",
        "import kubernetes\nkubernetes.client.Configuration()._default",
        "from ansible.module_utils.basic import AnsibleModule\nmodule = AnsibleModule({})\nmodule._debug",
        "from ansible.plugins.action import ActionBase\nclass A(ActionBase):\n    def run(self):\n        self._compute_environment_string({})",
    ],
)
def test_each_use_of_a_private_name_is_detected(tmp_path, line):
    (tmp_path / "plugin.py").write_text(line, encoding="utf-8")
    assert used(tmp_path / "plugin.py")


def installed(name: str) -> str:
    if name != "kubernetes.core":
        return importlib.metadata.version(name)
    manifest = json.loads((Path(next(iter(kubernetes_core.__path__))) / "MANIFEST.json").read_text(encoding="utf-8"))
    return manifest["collection_info"]["version"]


def key(version: str) -> Version:
    return Version(version)


def test_versions_before_a_release_have_an_order() -> None:
    assert key("2.21.5") < key("2.22.0b2") < key("2.22.0rc1") < key("2.22.0") < key("2.22.1")


@pytest.mark.parametrize("name", sorted(TRIED))
def test_the_installed_version_was_tried(name):
    version, tried = installed(name), TRIED[name]
    assert key(version) >= min(key(each) for each in tried), f"{name} {version} is older than every version tried: {', '.join(tried)}"
    if version not in tried:
        warnings.warn(f"{name} {version} is not among the versions tried ({', '.join(tried)}): when the tests pass, add it to TRIED", stacklevel=1)
