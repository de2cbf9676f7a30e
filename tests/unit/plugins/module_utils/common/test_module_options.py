# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One table, of which the argument spec and the documentation of a module are made."""

from __future__ import annotations

import json

from ansible_collections.llm_d.inference.plugins.module_utils.common.module_options import argument_spec, defaults, documentation, named, option

TABLE = {
    "key": option("str", "The key.", "It is not shown.", no_log=True),
    "about": option("dict", "More.", default={}, version_added="0.2.0"),
    "target": option(
        "list",
        "Where.",
        elements="dict",
        options={**named("Secret"), "options": option("list", "Its options.", elements="str", default=["a"], no_log=False)},
        required_together=[("namespace", "name")],
    ),
}


def test_the_argument_spec_has_rules_and_no_words() -> None:
    name = {"type": "str", "required": True}
    assert argument_spec(TABLE) == {
        "key": {"type": "str", "no_log": True},
        "about": {"type": "dict", "default": {}},
        "target": {
            "type": "list",
            "elements": "dict",
            "required_together": [("namespace", "name")],
            "options": {"namespace": name, "name": name, "options": {"type": "list", "elements": "str", "default": ["a"], "no_log": False}},
        },
    }


def test_the_documentation_has_words_and_no_rules() -> None:
    assert json.loads(documentation(TABLE)) == {
        "options": {
            "key": {"description": ["The key.", "It is not shown."], "type": "str"},
            "about": {"description": ["More."], "type": "dict", "default": {}, "version_added": "0.2.0"},
            "target": {
                "description": ["Where."],
                "type": "list",
                "elements": "dict",
                "suboptions": {
                    "namespace": {"description": ["Namespace of the Secret."], "type": "str", "required": True},
                    "name": {"description": ["Name of the Secret."], "type": "str", "required": True},
                    "options": {"description": ["Its options."], "type": "list", "elements": "str", "default": ["a"]},
                },
            },
        }
    }


def test_an_option_that_is_left_out_has_its_default_or_none() -> None:
    assert defaults(TABLE) == {"key": None, "about": {}, "target": None}
