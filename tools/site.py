#!/usr/bin/env python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the site of the documentation: tools/site.py FOLDER. What the folder holds is deleted before. `make docs` installs what this program needs.

Its pages are README.md, docs/*.md, the reference that antsibull-docs writes of modules, roles, filters and lookups, and reports with pictures that headless
Chromium takes. Needs no network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tools import report_pictures
from tools.public_plugins import PUBLIC

ROOT = Path(__file__).resolve().parent.parent
COLLECTION = "llm_d.inference"
# The pages by the parts of the menu, in their order.
PARTS = {
    "Start": ("your-cluster", "local-cluster", "openshift", "gke", "awx", "jobs"),
    "Deploy": (
        *("platforms", "presets", "endpoint-picker", "engines", "pods", "caches", "adapters", "warm-up", "routes", "autoscaling", "gpus", "secrets"),
        *("permissions", "air-gap", "second-deployment", "fleets"),
    ),
    "Operate": ("playbooks", "claims", "live-change", "upgrade", "removal", "monitoring", "troubleshooting"),
    "Measure": ("benchmark", "performance", "compare", "calibration", "conformance", "reports"),
    "Reference": ("user-file", "endpoint-picker-parameters", "plugins", "reference/index", "versions", "coverage", "support", "glossary"),
    "Contribute": ("architecture", "developer-guide", "contributing"),
}
# Roles for playbooks of users.
ROLES = (
    *("prerequisites", "gpu_operator", "gateway_provider", "gaie_scheduler", "model_service", "validation", "benchmark", "compare", "calibrate"),
    *("canary", "conformance", "diagnose", "local_cluster"),
)
# Pages of the reference, next to the modules for playbooks of users.
OTHERS = {
    "Roles": [f"{name}_role" for name in ROLES],
    "Filters, lookups and callbacks": ["scorer_config_filter", "plan_lookup", "summary_callback", "fleet_callback", "environment_variables"],
}
_ABOUT_PUBLIC = "What you use in playbooks of your own. Options and results change in a major release only, and are deprecated before that."
_ABOUT_INTERNAL = "These belong to the roles. Their options and results may change in any release."
# A script, style sheet, picture or frame of another host.
_REMOTE = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=[\"']?((?:https?:)?//[^\s\"'>]+)|<link\b(?=[^>]*stylesheet)[^>]*?\bhref=[\"']?((?:https?:)?//[^\s\"'>]+)"
)
# A relative link in Markdown: "](", target.
_LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)")


def assemble(folder: Path) -> None:
    """Write the sources of the site into a new folder."""
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("*.yml", "site"))
    shutil.copytree(ROOT / "docs/site", folder, dirs_exist_ok=True)
    for source, name in (("README.md", "index.md"), ("CONTRIBUTING.md", "contributing.md")):
        (folder / name).write_text((ROOT / source).read_text(encoding="utf-8"), encoding="utf-8")
    repository = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["repository"]
    for page in folder.glob("*.md"):
        page.write_text(_linked(page, repository), encoding="utf-8")
    report_pictures.write(folder)
    menu = [f"```{{toctree}}\n:caption: {part}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n" for part, pages in PARTS.items()]
    with (folder / "index.md").open("a", encoding="utf-8") as index:
        index.write("\n" + "\n".join(menu))


def _linked(page: Path, repository: str) -> str:
    """The text of a page, with links that are correct in the site."""
    home = ROOT if page.name in ("index.md", "contributing.md") else ROOT / "docs"
    return _LINK.sub(lambda match: match[1] + _target(match[2], home, repository), page.read_text(encoding="utf-8"))


def _target(link: str, home: Path, repository: str) -> str:
    """The target in the site of a link in a document of the folder `home`: a page, the reference of a role, or a URL of the repository."""
    path = (home / link).resolve().relative_to(ROOT)
    if path.parent == Path("docs") and path.suffix in (".md", ".json"):
        return path.name
    if str(path) in ("README.md", "CONTRIBUTING.md"):
        return {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}[str(path)]
    if path.parts[0] == "roles" and path.name == "README.md":
        return f"reference/{path.parts[1]}_role.rst"
    if path.parts[0] == "docs" and path.suffix != ".yml":
        return str(path.relative_to("docs"))
    return f"{repository}/blob/main/{path}"


def reference(folder: Path) -> None:
    """Write the pages of modules, roles, filters and lookups, with a page of contents, into a new folder. Raises CalledProcessError."""
    folder.mkdir(mode=0o750)
    command = ["antsibull-docs", "collection", "--use-current", "--squash-hierarchy", "--fail-on-error", "--dest-dir", str(folder), COLLECTION]
    subprocess.run(command, check=True)
    (folder / "index.rst").unlink()
    for page in folder.glob("*.rst"):  # the theme shows the contents of each page next to it
        page.write_text(page.read_text(encoding="utf-8").replace(".. contents::\n   :local:\n   :depth: 1\n", ""), encoding="utf-8")
    pages = {path.stem for path in folder.glob("*.rst")}
    shown = {**{group: [f"{name}_module" for name in names] for group, names in PUBLIC.items()}, **OTHERS}
    parts = [f"# Modules, roles and plugins\n\n{_ABOUT_PUBLIC}\n"]
    parts += [f"## {group}\n\n{_contents(sorted(names))}" for group, names in shown.items()]
    internal = sorted(pages - {name for names in shown.values() for name in names})
    (folder / "index.md").write_text("\n".join([*parts, f"## Internal\n\n{_contents(['internal'])}"]), encoding="utf-8")
    (folder / "internal.md").write_text(f"# Internal modules, roles and plugins\n\n{_ABOUT_INTERNAL}\n\n{_contents(internal)}", encoding="utf-8")


def _contents(pages: list[str]) -> str:
    """The links to these pages, as Sphinx builds them."""
    listed = "\n".join(pages)
    return f"```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"


def defects(html: Path) -> list[str]:
    """What the built site lacks: a picture of each report in both color schemes, a search, independence of other hosts."""
    lines = [f"{name} is missing" for name in ("searchindex.js", "search.html", "reports.html") if not (html / name).is_file()]
    for name in report_pictures.REPORTS:
        paths = [next(html.rglob(f"{name}-{scheme}.png"), None) for scheme in report_pictures.SCHEMES]
        pictures = [path.read_bytes() if path else b"" for path in paths]
        if not all(each.startswith(b"\x89PNG") for each in pictures) or len(set(pictures)) < len(pictures):
            lines.append(f"the pictures of {name} are missing, or equal in both color schemes")
    for page in sorted(html.rglob("*.html")):
        lines += [f"{page.relative_to(html)} loads {url}" for urls in _REMOTE.findall(page.read_text(encoding="utf-8")) for url in urls if url]
    return lines


def main() -> None:
    """Build the site into the folder of the command line."""
    out = Path(sys.argv[1]).resolve()
    if out.exists() and not (out / "source/index.md").is_file():
        raise SystemExit(f"{out} exists and holds no site: name another folder")
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)
    assemble(out / "source")
    reference(out / "source/reference")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-b", "html", str(out / "source"), str(out / "html")]
    done = subprocess.run(command, check=False, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    if done.returncode:
        raise SystemExit(done.returncode)
    if lines := defects(out / "html"):
        raise SystemExit("\n".join(lines))
    print(f"The site: {out / 'html/index.html'}")


if __name__ == "__main__":
    main()
