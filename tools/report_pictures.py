# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the site that shows reports: each made of the results of a real run (docs/site/reports), as a page and as pictures of it, light and dark."""

from __future__ import annotations

import collections.abc as c
import json
import shutil
import subprocess
import tempfile
import typing as t
from pathlib import Path

from plugins.module_utils.benchmark import comparison_page
from plugins.module_utils.benchmark import page as benchmark_page
from plugins.module_utils.validation import fleet, verdict_page

RESULTS = Path(__file__).resolve().parent.parent / "docs/site/reports"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SCHEMES = {"dark": 0, "light": 1}  # of Blink's setting preferredColorScheme
WIDE, HIGH = 1100, 900  # of a picture


class Report(t.NamedTuple):
    """A report: its heading, the page of the guide about it, the play that writes it, what it shows, and how the page is made of the results."""

    title: str
    guide: str
    play: str
    shows: str
    page: c.Callable[[t.Any], str]
    high: int = HIGH  # of the picture


REPORTS = {
    "verdict": Report("Verdict", "claims", "site", "Claims, each with its evidence.", verdict_page.page),
    "benchmark": Report("Benchmark", "benchmark", "benchmark", "Latencies and rates of each stage, held against the objectives.", benchmark_page.page),
    "comparison": Report("Comparison", "compare", "compare_scorers", "Schedulers under the same load, one after the other.", comparison_page.page),
    "fleet": Report("Clusters of an inventory", "fleets", "site", "One line for each cluster, with its verdict.", fleet.page, 620),
}


def write(folder: Path) -> None:
    """Write reports.md and the files that it shows into the sources of the site. Raises SystemExit without a browser."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not browser:
        raise SystemExit(f"The pictures of reports need one of {', '.join(BROWSERS)}")
    shown = folder / "static/reports"
    shown.mkdir(parents=True)
    parts = ["# Reports\n\nMade of results of real runs on the local cluster, whose model servers are simulators.\n"]
    for name, report in REPORTS.items():
        result = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        (shown / f"{name}.html").write_text(report.page(result), encoding="utf-8")
        for scheme in SCHEMES:
            picture(browser, shown / f"{name}.html", scheme, report.high)
        images = "".join(f"```{{image}} static/reports/{name}-{scheme}.png\n:class: only-{scheme}\n:alt: {report.title}\n```\n\n" for scheme in SCHEMES)
        whole = f'<a href="_static/reports/{name}.html">The whole page</a>'
        links = f"{whole}, written by `llm_d.inference.{report.play}`; [more about it]({report.guide}.md)."
        parts.append(f"## {report.title}\n\n{report.shows}\n\n{images}{links}\n")
    (folder / "reports.md").write_text("\n".join(parts), encoding="utf-8")


def picture(browser: str, page: Path, scheme: str, high: int) -> None:
    """Write a picture of the top of a page beside it."""
    target = page.with_name(f"{page.stem}-{scheme}.png")
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}", f"--window-size={WIDE},{high}"]
        command += [f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", f"--screenshot={target}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    if not target.is_file():
        raise SystemExit(f"{browser} wrote no {target}")
