# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of modules in one table each, of which both the argument spec and the documentation are made. Pure."""

from __future__ import annotations

import collections.abc as c
import json
import typing as t

Options = c.Mapping[str, dict[str, t.Any]]
_WORDS = {"description", "version_added"}  # what an argument spec does not have
_RULES = {"no_log", "mutually_exclusive", "required_one_of", "required_together", "required_by"}  # what documentation does not have


def option(kind: str, *description: str, **spec: t.Any) -> dict[str, t.Any]:
    """One option. description: its paragraphs. spec: as in an argument spec, and `version_added`; `options` is a table of the same form."""
    return {"description": list(description), "type": kind, **spec}


PROGRESS = option("path", "File to which progress lines are appended. The action plugin sets it.")


def named(kind: str, **others: dict[str, t.Any]) -> dict[str, t.Any]:
    """The options that name an object of this kind, and others."""
    return {"namespace": option("str", f"Namespace of the {kind}.", required=True), "name": option("str", f"Name of the {kind}.", required=True), **others}


def argument_spec(options: Options) -> dict[str, t.Any]:
    """The options as AnsibleModule takes them."""
    return _without(options, _WORDS, "options")


def documentation(options: Options) -> str:
    """The text of a documentation fragment with these options."""
    return json.dumps({"options": _without(options, _RULES, "suboptions")})


def defaults(options: Options) -> dict[str, t.Any]:
    """The values of options that are left out."""
    return {name: each.get("default") for name, each in options.items()}


def _without(options: Options, left_out: set[str], inner: str) -> dict[str, t.Any]:
    """The options without these keys, at any depth, with the options of an option under `inner`."""
    return {
        name: {
            **{key: value for key, value in each.items() if key not in left_out and key != "options"},
            **({inner: _without(each["options"], left_out, inner)} if "options" in each else {}),
        }
        for name, each in options.items()
    }
