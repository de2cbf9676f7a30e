# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Types of the catalog: release lines, plugins, parameters, renames. Shapes only."""

from __future__ import annotations

import dataclasses
import typing as t

GIE15, S07, R09, R10, R11 = "gie-1.5", "scheduler-0.7", "router-0.9", "router-0.10", "router-0.11"
LINES = (S07, GIE15, R09, R10, R11)  # oldest first: scheduler-0.7 builds on GIE 1.4
# Sets of release lines. 15 is GIE 1.5; R10 and R11 are router 0.10 and 0.11.
ALL = frozenset(LINES)
LLMD = ALL - {GIE15}
SINCE_15 = ALL - {S07}
SCHEDULER = frozenset({S07})
UNTIL_15 = frozenset({S07, GIE15})
ON_15 = frozenset({GIE15})
ROUTER = frozenset({R09, R10, R11})
R10_UP = frozenset({R10, R11})
R11_UP = frozenset({R11})
UNTIL_R10 = ROUTER - R11_UP  # router lines only

# strs: a list of strings. duration: a string such as "200ms". nanoseconds: an integer. quantity: an integer or a string such as "1Gi".
# object: a mapping with `fields`. objects: a list of those. map: strings to strings. free: any value.
Kind = t.Literal["int", "float", "bool", "str", "strs", "duration", "nanoseconds", "quantity", "object", "objects", "map", "free"]


@dataclasses.dataclass(frozen=True)
class Param:
    """One parameter: its upstream name, the values it accepts, the release lines that have it.

    `low`/`high` are inclusive, `above`/`below` exclusive; a list with a `low` may not be empty. `refers` is the role of the plugin that the value must name.
    `obsolete` says why it must not be set although the release accepts the name.
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
    obsolete: str = ""


@dataclasses.dataclass(frozen=True)
class Reads:
    """Data that a plugin reads under conditions: in these `lines`, `when` a parameter has a value, `unless` it has one, both as (name, value).

    `optional`: the plugin works without the data, less well.
    """

    data: str
    lines: frozenset[str] = ALL
    when: tuple[str, t.Any] | None = None
    unless: tuple[str, t.Any] | None = None
    optional: bool = False


@dataclasses.dataclass(frozen=True)
class Plugin:
    """One plugin type in a set of release lines.

    `roles`: the extension points it implements. `blind`: it ignores its parameters. `alpha`: lines where it needs --allow-experimental-plugins.
    `needs`/`makes`: the data it reads and writes (Consumes and Produces of its Go code; docs/endpoint-picker.md). `default`: created by the EPP if it is
    not declared.
    """

    type: str
    roles: tuple[str, ...]
    lines: frozenset[str]
    params: tuple[Param, ...] = ()
    blind: bool = False
    alpha: frozenset[str] = frozenset()
    deprecated: str = ""
    needs: tuple[str | Reads, ...] = ()
    makes: tuple[str, ...] = ()
    default: bool = False
    single_entry: str = ""  # a list parameter that must hold exactly one element


@dataclasses.dataclass(frozen=True)
class Line:
    """Properties of the EndpointPickerConfig in a release line. `gates`: feature gate to its effect, "" if it no longer has one."""

    name: str
    api_versions: tuple[str, ...]
    gates: t.Mapping[str, str]
    gate_values: bool = False  # accepts name=true and name=false
    strict: bool = False  # refuses unknown plugin parameters; other lines ignore them silently
    integer_weights: bool = False
    ordered: bool = True  # a plugin must be declared before the plugin that names it
    header_handler: bool = True  # disaggregation needs a plugin that writes the prefill header
    inline_saturation: bool = False  # saturationDetector holds the parameters; in other lines it refers to a plugin
    data_by_gate: bool = False  # data producers run only with the gate prepareDataPlugins, and scorers find each other by plugin name
    data_section: str = "dataLayer"
    own_keys: bool = False  # computes the keys of KV blocks from token ids: block size and hash seed need not be those of the engine
    clears_metrics: bool = False  # a dataLayer section without the metrics source disables scraping


@dataclasses.dataclass(frozen=True)
class Move:
    """A renamed, removed or moved name. `new`: the name to use; `when`: the release of the change; `how`: advice to show instead of the names."""

    old: str
    new: str
    when: str
    how: str = ""
