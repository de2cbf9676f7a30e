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


def test_a_site_without_pictures_or_search_or_with_files_of_other_hosts_is_refused(tmp_path: Path) -> None:
    for name in ("searchindex.js", "search.html", "reports.html"):
        (tmp_path / name).write_text("<img src='a.png'><a href='https://example.com'>", encoding="utf-8")
    for name in report_pictures.REPORTS:
        for scheme in report_pictures.SCHEMES:
            (tmp_path / f"{name}-{scheme}.png").write_bytes(b"\x89PNG " + scheme.encode())
    assert site.defects(tmp_path) == []
    (tmp_path / "search.html").unlink()
    (tmp_path / "verdict-dark.png").write_bytes((tmp_path / "verdict-light.png").read_bytes())
    remote = '<script async src="https://a.example/x.js"></script><link rel="stylesheet" href="//b.example/x.css"><link rel="next" href="https://c.example/">'
    (tmp_path / "reports.html").write_text(remote, encoding="utf-8")
    assert site.defects(tmp_path) == [
        "search.html is missing",
        "the pictures of verdict are missing, or equal in both color schemes",
        "reports.html loads https://a.example/x.js",
        "reports.html loads //b.example/x.css",
    ]


def test_links_of_documents_lead_to_pages_of_the_site() -> None:
    repository = "https://example.org/repository"
    cases = {"docs/pods.md": "pods.md", "CONTRIBUTING.md": "contributing.md", "roles/gaie_scheduler/README.md": "reference/gaie_scheduler_role.rst"}
    for link, target in {**cases, "docs/pictures/request.svg": "pictures/request.svg", "LICENSE": f"{repository}/blob/main/LICENSE"}.items():
        assert site._target(link, ROOT, repository) == target
