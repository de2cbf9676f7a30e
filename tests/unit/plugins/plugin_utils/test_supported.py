# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An ansible-core that cannot load the collection is refused with a remedy, before an import of ours fails."""

from __future__ import annotations

import ast

import pytest
from ansible.errors import AnsibleError
from ansible.utils.display import Display
from ansible_collections.llm_d.inference.plugins.plugin_utils import supported
from plays import ROOT


@pytest.mark.parametrize("version", ["2.9.27", "2.14.18", "2.16.14", "2.17.14", "2.18.1rc1"])
def test_an_ansible_core_that_cannot_load_it_is_refused(version: str) -> None:
    with pytest.raises(AnsibleError) as error:
        supported.check(version)
    message = str(error.value)
    assert f"this is ansible-core {version} on Python 3." in message and "ansible-core 2.20 or newer" in message
    assert "python3.12 -m venv" in message and "pip install 'ansible-core>=2.20' kubernetes" in message and "docs/jobs.md" in message


@pytest.mark.parametrize(("version", "warned"), [("2.19.14", 1), ("2.20.0", 0), ("2.21.5", 0), ("2.22.0rc1", 0), ("2.23.0.dev0", 0), ("3.0.0", 0)])
def test_one_that_has_reached_its_end_is_warned_of(version: str, warned: int, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(Display, "warning", lambda _display, text: warnings.append(text))
    supported.check(version)
    assert len(warnings) == warned and all("this is ansible-core 2.19.14" in text for text in warnings)


@pytest.mark.parametrize("name", ["action/inputs.py", "action/role_facts.py", "plugin_utils/in_process.py"])
def test_ansible_core_is_checked_before_other_imports_of_the_collection(name: str) -> None:
    """All other actions come after the first two, or import the third."""
    body = ast.parse((ROOT / "plugins" / name).read_text(encoding="utf-8")).body
    ours = [index for index, node in enumerate(body) if isinstance(node, ast.ImportFrom) and node.level]
    assert ast.unparse(body[ours[0]]).endswith("import supported") and ast.unparse(body[ours[0] + 1]) == "supported.check()"


def test_an_old_python_can_run_it() -> None:
    """RHEL 9 and Debian 11 have Python 3.9."""
    text = (ROOT / "plugins/plugin_utils/supported.py").read_text(encoding="utf-8")
    assert ast.parse(text, feature_version=(3, 7)) and "import ..module_utils" not in text and "from ." not in text
