# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a row that is added to a list of an object."""

from __future__ import annotations

from controller_api import prompts
from controller_api.fields import Values
from controller_api.store import TEMPLATES, Row, Store
from controller_api.tables import REFUSALS, refuse

LINKS = ("success_nodes", "failure_nodes", "always_nodes")


def check(store: Store, parent: Row, name: str, row: Row) -> None:
    """Raises Refused if a row may not be added to a list of another one."""
    template = store.find(TEMPLATES, parent.values.get("unified_job_template"))
    names: Values = {
        "parent": parent.names(),
        "row": row.names(),
        "template": template and template.names(),
    }
    if row.kind == "credentials":
        names |= {
            "kind": store.type_of(row).values,
            "doubled": _hash(row) in map(_hash, store.listed(parent, name)),
            "passwords": prompts.needed_passwords(store, row),
        }
    if name in LINKS:
        names |= {"elsewhere": any(row.id in parent.lists[other] for other in LINKS if other != name), "cycle": parent.id in _reached(store, row)}
    refuse(REFUSALS["lists"].get(name, []), names)


def _hash(credential: Row) -> tuple[int, str]:
    """(type, vault ID) of a credential: unique within a template."""
    return credential["credential_type"], credential["inputs"].get("vault_id", "")


def _reached(store: Store, node: Row) -> set[int]:
    """The ids of a node and of all nodes after it. AWX does not detect a cycle that no first node leads to; here it is refused as well."""
    reached, front = {node.id}, {node.id}
    while front:
        front = {number for one in front for link in LINKS for number in store.get(node.kind, one).lists[link]} - reached
        reached |= front
    return reached
