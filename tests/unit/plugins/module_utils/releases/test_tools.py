# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions that are known to be broken: their conditions, their error messages, and that our requirements exclude them."""

from __future__ import annotations

import re
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.filter.readable import readable
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import unusable
from ansible_collections.llm_d.inference.plugins.module_utils.releases.tools import BROKEN, broken, cause, fits
from ansible_collections.llm_d.inference.plugins.plugin_utils import collection
from ansible_collections.llm_d.inference.plugins.plugin_utils.in_process import with_cause
from packaging.specifiers import SpecifierSet


@pytest.mark.parametrize(
    ("version", "conditions", "right"),
    [
        ("36.0.0", "==36.0.0", True),
        ("36.0", "==36.0.0", True),
        ("36.0.1", "==36.0.0", False),
        ("v4.0.1+g12500dd", ">=4.0.0", True),
        ("3.19.0", ">=4.0.0", False),
        ("34.1.0", ">=34.1.0,<36.0.0", True),
        ("35.10.0", ">=34.1.0,<36.0.0", True),
        ("36.0.0", ">=34.1.0,<36.0.0", False),
        ("6.10.0", "<6.4.0", False),
        ("", "<6.4.0", False),
        ("unknown", "<6.4.0", False),
    ],
)
def test_conditions(version: str, conditions: str, right: bool) -> None:
    assert fits(version, conditions) is right


@pytest.mark.parametrize(
    ("versions", "names"),
    [
        ({"kubernetes": "36.0.0"}, ["kubernetes"]),
        ({"kubernetes": "36.0.2", "urllib3": "2.8.0", "requests": "2.34.2"}, []),
        ({"kubernetes": "33.1.0", "urllib3": "2.6.0"}, ["urllib3"]),
        ({"kubernetes": "37.0.2", "urllib3": "2.6.0"}, []),
        ({"requests": "2.28.2", "urllib3": "2.0.7"}, ["requests"]),
        ({"requests": "2.28.2", "urllib3": "1.26.18"}, []),
        ({"urllib3": "1.26.9", "python": "3.13.1"}, ["urllib3"]),
        ({"urllib3": "1.26.9", "python": "3.11.9"}, []),
        ({"websocket": "0.2.1", "websocket-client": "1.9.0"}, ["websocket"]),
        ({"kubernetes.core": "6.2.0", "helm": "4.0.1"}, ["kubernetes.core"]),
        ({"kubernetes.core": "6.2.0", "helm": "3.19.0"}, []),
        ({"kubernetes.core": "6.2.0", "helm": None}, []),
        ({"kubernetes.core": "6.4.0", "helm": "4.0.1"}, []),
    ],
)
def test_a_broken_version_or_combination_of_tools_is_reported(versions: dict[str, str | None], names: list[str]) -> None:
    assert [row.name for row in broken(versions)] == names


def test_an_error_names_the_version_that_causes_it() -> None:
    message = "Task failed: Module failed: too many values to unpack (expected 3, got 4)"
    assert "kubernetes.core <6.4.0 with helm >=4.0.0" in cause(message) and not cause("too many values to unpack (expected 2)")
    assert "kubernetes.core:>=6.4.0" in str(readable([message], failed=True)) and "6.4.0" not in str(readable([message]))
    assert "kubernetes.core:>=6.4.0" in with_cause({"failed": True, "msg": message})["msg"]
    assert with_cause({"failed": True, "msg": "no"}) == {"failed": True, "msg": "no"} and with_cause({"msg": message}) == {"msg": message}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModuleNotFoundError("No module named 'kubernetes'", name="kubernetes"), "'kubernetes' is missing"),
        (ModuleNotFoundError("No module named 'urllib3.packages.six.moves'", name="urllib3.packages.six.moves"), "urllib3 <1.26.15 with python >=3.12.0"),
        (ImportError("cannot import name 'WebSocket' from 'websocket' (/x/websocket/__init__.py)", name="websocket"), "pip install websocket-client"),
        (ImportError("cannot import name 'x' from 'kubernetes.client'", name="kubernetes.client"), "versions that fit together"),
        (AttributeError("module 'lib' has no attribute 'X509_V_FLAG_NOTIFY_POLICY'"), "versions that fit together"),
    ],
)
def test_libraries_that_cannot_be_imported_are_not_reported_as_missing(error: Exception, words: str) -> None:
    message = str(unusable(error))
    assert words in message and sys.executable in message and ("missing" in words) is ("missing" in message)


def test_a_module_that_crashed_on_import_names_the_version() -> None:
    crashed = {"failed": True, "msg": "MODULE FAILURE", "module_stderr": "ModuleNotFoundError: No module named 'urllib3.packages.six.moves'"}
    assert "urllib3 <1.26.15" in with_cause(crashed)["msg"]


def test_no_requirement_allows_what_is_broken(root: Path) -> None:
    """Only versions that are broken by themselves are excluded: a broken pair is reported by preflight and in the error."""
    alone = [(row.name, row.versions.removeprefix("==")) for row in BROKEN if row.versions.startswith("==") and not row.beside]
    stated: list[tuple[str, str]] = []
    for path in sorted((root / "plugins").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        stated += [(path.name, line) for line in re.findall(r"^  - (kubernetes [<>=!][^\n]*)$", text, re.MULTILINE)]
    assert len(stated) > 10 and alone
    for name, version in alone:
        for where, line in stated:
            wanted = ",".join(re.findall(r"[<>=!]=? ?[0-9.]+", line.removeprefix(f"{name} ")))
            assert not SpecifierSet(wanted).contains(version), f"{where}: {line}"


def test_galaxy_installs_no_collection_that_is_broken(root: Path) -> None:
    """Versions that are broken with a common tool are excluded too: Galaxy cannot check the version of Helm."""
    wanted = yaml.safe_load((root / "galaxy.yml").read_text(encoding="utf-8"))["dependencies"]
    collections = [row for row in BROKEN if row.name in wanted]
    assert collections
    for row in collections:
        (oldest,) = re.findall(r">=([0-9.]+)", wanted[row.name])
        assert not fits(oldest, row.versions) and oldest in row.fix, f"{row.name}: {wanted[row.name]}"


def test_pinned_versions_of_the_collection_are_not_reported_as_broken(root: Path) -> None:
    pinned: dict[str, t.Any] = dict(re.findall(r"^([\w.-]+)==(\S+)$", (root / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE))
    assert broken({**pinned, "kubernetes.core": collection.version("kubernetes.core")}) == []
    assert collection.version() == yaml.safe_load((root / "galaxy.yml").read_text(encoding="utf-8"))["version"]
    assert re.match(r"[0-9]+\.", collection.version("kubernetes.core"))
