# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx settings of the site, which tools/site.py assembles."""

from __future__ import annotations

import re
import typing as t

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

project = html_title = "llm_d.inference"
author = "llm_d.inference contributors"
extensions = ["myst_parser", "sphinx_antsibull_ext"]
html_theme = "furo"
html_static_path, html_css_files = ["static"], ["site.css"]
html_show_copyright = False
html_copy_source = False
myst_heading_anchors = 4
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]  # templates in YAML are shown as they are

# Pages of labels in Ansible's own documentation, which is not built here; labels of variables of the user's file.
_ANSIBLE = "https://docs.ansible.com/ansible/latest/"
_PAGES = (
    (r"(action|callback)_plugins", rf"{_ANSIBLE}plugins/\1.html"),
    (r"common_return_values", f"{_ANSIBLE}reference_appendices/common_return_values.html"),
    (r"ansible_configuration_settings", f"{_ANSIBLE}reference_appendices/config.html"),
    (r"ansible_collections\.(?!llm_d)(\w+)\.(\w+)\.(\w+_(?:module|plugin|inventory))\b.*", rf"{_ANSIBLE}collections/\1/\2/\3.html"),
)
_VARIABLE = re.compile(r"ansible_collections\.llm_d\.inference\.\w+_role__parameter-\w+__(llm_d_\w+)")


def _resolve(app: Sphinx, _env: BuildEnvironment, node: pending_xref, text: nodes.TextElement) -> nodes.reference | None:
    """The link for a label that no page of the site has; None if the label is unknown."""
    label = str(node.get("reftarget", ""))
    if variable := _VARIABLE.match(label):
        page = app.builder.get_relative_uri(str(node["refdoc"]), "user-file")
        return nodes.reference("", "", text, internal=True, refuri=f"{page}#{variable[1].replace('_', '-')}")
    for pattern, page in _PAGES:
        if match := re.fullmatch(pattern, label):
            return nodes.reference("", "", text, internal=False, refuri=match.expand(page))
    return None


def setup(app: Sphinx) -> dict[str, t.Any]:
    """Register the resolver of labels of other sites."""
    app.connect("missing-reference", _resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
