# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The menu of the site has every page once, and its reports are made of results that the pages of today can show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import report_pictures, site

ROOT = Path(__file__).resolve().parents[3]
MADE = {"reports", "reference/index", "contributing"}  # pages that the build writes


def test_each_page_of_the_guides_is_in_the_menu_once() -> None:
    menu = sorted(page for pages in site.PARTS.values() for page in pages)
    assert menu == sorted({path.stem for path in (ROOT / "docs").glob("*.md")} | MADE)


def test_each_role_of_the_reference_has_an_argument_spec() -> None:
    assert not [name for name in site.ROLES if not (ROOT / "roles" / name / "meta/argument_specs.yml").is_file()]


@pytest.mark.parametrize("name", report_pictures.REPORTS)
def test_a_report_is_made_of_results_that_are_there(name: str) -> None:
    report = report_pictures.REPORTS[name]
    assert (ROOT / f"playbooks/{report.play}.yml").is_file() and (ROOT / f"docs/{report.guide}.md").is_file()
    page = report.page(json.loads((report_pictures.RESULTS / f"{name}.json").read_text(encoding="utf-8")))
    assert page.startswith("<!doctype html>") and "</html>" in page


def test_links_of_documents_lead_to_pages_of_the_site() -> None:
    repository = "https://example.org/repository"
    cases = {"docs/pods.md": "pods.md", "CONTRIBUTING.md": "contributing.md", "roles/gaie_scheduler/README.md": "reference/gaie_scheduler_role.rst"}
    for link, target in {**cases, "docs/pictures/request.svg": "pictures/request.svg", "LICENSE": f"{repository}/blob/main/LICENSE"}.items():
        assert site._target(link, ROOT, repository) == target
