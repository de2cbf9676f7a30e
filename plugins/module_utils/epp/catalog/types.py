# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words in which the endpoint picker's plugins and parameters are described. Shapes only; the facts are in the catalog."""

from __future__ import annotations

import dataclasses
import typing as t

GIE15, S07, S08, R09, R10 = "gie-1.5", "scheduler-0.7", "scheduler-0.8", "router-0.9", "router-0.10"
LINES = (S07, GIE15, S08, R09, R10)  # in order of age: scheduler-0.7 builds on GIE 1.4, scheduler-0.8 on GIE 1.5
ALL = frozenset(LINES)
LLMD = ALL - {GIE15}
SINCE_15 = ALL - {S07}
SCHEDULER = frozenset({S07, S08})
UNTIL_15 = frozenset({S07, GIE15, S08})
ON_15 = frozenset({GIE15, S08})
ROUTER = frozenset({R09, R10})
NEWEST = frozenset({R10})

# int, float, bool, str and strs (a list of texts) say what they are. duration: text such as "200ms". nanoseconds: a raw number.
# quantity: a number or text such as "1Gi". object: has `fields`. objects: a list of those. map: text to text. free: anything.
Kind = t.Literal["int", "float", "bool", "str", "strs", "duration", "nanoseconds", "quantity", "object", "objects", "map", "free"]


@dataclasses.dataclass(frozen=True)
class Param:
    """One parameter: its upstream name, what it may hold, in which release lines it exists.

    `low`/`high` are inclusive, `above`/`below` exclusive. `refers` names the role of the plugin the value must name.
    `retired` says why it must not be written although the release knows the name.
    """

    name: str
    kind: Kind
    default: t.Any = None
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[t.Any, ...] = ()
    required: bool = False
    fields: tuple[Param, ...] = ()
    lines: frozenset[str] = ALL
    refers: str = ""
    retired: str = ""


@dataclasses.dataclass(frozen=True)
class Plugin:
    """One plugin type as a set of release lines knows it.

    `roles`: the slots it fills. `blind`: its factory never looks at its parameters. `alpha`: lines where the EPP needs
    --allow-experimental-plugins for it. `needs`/`makes`: the per-server data it reads and writes. `default`: started by itself when not declared.
    """

    type: str
    roles: tuple[str, ...]
    lines: frozenset[str]
    params: tuple[Param, ...] = ()
    blind: bool = False
    alpha: frozenset[str] = frozenset()
    deprecated: str = ""
    needs: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    default: bool = False
    single_entry: str = ""  # a list parameter that must hold exactly one element


@dataclasses.dataclass(frozen=True)
class Line:
    """What a release line says of the document itself. `gates`: name to what it does ("" means: no effect any more)."""

    name: str
    api_versions: tuple[str, ...]
    gates: t.Mapping[str, str]
    gate_values: bool = False  # accepts name=true and name=false
    strict: bool = False  # refuses unknown plugin parameters; the others ignore them silently
    integer_weights: bool = False
    ordered: bool = True  # a plugin named by another one must be declared before it
    header_handler: bool = True  # P/D needs a plugin that writes the prefill header
    inline_saturation: bool = False
    data_by_gate: bool = False  # data producers run only with the gate prepareDataPlugins, and scorers find each other by plugin name
    data_section: str = "dataLayer"
    clears_metrics: bool = False  # a dataLayer section without the metrics source switches scraping off


@dataclasses.dataclass(frozen=True)
class Move:
    """A name that is no longer, or not here, right: what to write instead."""

    old: str
    new: str
    when: str
    how: str = ""
