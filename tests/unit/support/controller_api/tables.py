# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of this folder, and their conditions."""

from __future__ import annotations

import collections.abc as c
import functools
import pathlib
import re
import typing as t

import jinja2
import yaml

from controller_api.fields import Refused, Values

Conditions = list[dict[str, t.Any]]
PART, DOMAIN = r"[a-z0-9]+(?:(?:[_.]|__|-+)[a-z0-9]+)*", r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
DIGEST = r"@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
IMAGE = re.compile(rf"(?:{DOMAIN}(?:\.{DOMAIN})*(?::[0-9]+)?/)?{PART}(?:/{PART})*(?::\w[\w.-]{{0,127}})?(?:{DIGEST})?")


def table(name: str) -> dict[str, t.Any]:
    """A table of this folder."""
    rows: dict[str, t.Any] = yaml.safe_load(pathlib.Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return rows


REFUSALS, SHAPES = table("refusals.yml"), table("shapes.yml")
ENVIRONMENT = jinja2.Environment(undefined=jinja2.ChainableUndefined)
ENVIRONMENT.tests |= {"matching": lambda text, pattern: bool(re.search(pattern, text)), "image": lambda text: bool(IMAGE.fullmatch(text))}
ENVIRONMENT.filters["difference"] = lambda these, those: [one for one in these if one not in those]
ENVIRONMENT.globals |= {"cloud_sources": SHAPES["cloud_sources"], "type_of": lambda value: type(value).__name__}


@functools.cache
def _condition(text: str) -> c.Callable[..., t.Any]:
    return ENVIRONMENT.compile_expression(text)


def holding(rows: Conditions, names: Values) -> c.Iterator[dict[str, t.Any]]:
    """The rows whose condition holds, with the texts of their response rendered."""
    for row in rows:
        if _condition(row["when"])(**names):
            says = row["says"]
            yield {**row, "says": says if not isinstance(says, (str, dict)) else _rendered(says, names)}


def _rendered(says: t.Any, names: Values) -> t.Any:
    if isinstance(says, dict):
        return {name: _rendered(text, names) for name, text in says.items()}
    return ENVIRONMENT.from_string(says).render(names)


def refuse(rows: Conditions, names: Values, listed: bool = False) -> None:
    """Raises Refused with the response of the first row whose condition holds. listed: texts are sent within lists if the status is 400."""
    row = next(holding(rows, names), None)
    if row:
        status, says = row.get("status", 400), row["says"]
        raise Refused({name: [text] if listed and status == 400 and isinstance(text, str) else text for name, text in says.items()}, status)
