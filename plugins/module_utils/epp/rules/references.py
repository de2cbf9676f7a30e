# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules for how the parts of a document fit together: types, names, references, feature gates, data layer. Pure.

Each rule takes a ParsedConfig and returns problems with paths in the document.
"""

from __future__ import annotations

import typing as t

from ...schema.fields import Problem, show, suggest
from ..catalog.plugins import TYPE_MOVES, defaults_of, lines_of, normalize, types_of
from ..catalog.release_lines import DOCUMENT, GATE_MOVES, METRICS_EXTRACTOR, NEWEST_API
from ..catalog.types import LINES, Move
from ..document import PROFILE_ROLES, Declared, ParsedConfig, entries, parameter_references
from .shape import Owner, check_tree, moved

ROLE_NAMES = {
    "scorer": "a scorer",
    "filter": "a filter",
    "picker": "a picker",
    "handler": "a profile handler",
    "decider": "a decider",
    "producer": "a data producer",
    "source": "a data source",
    "extractor": "an extractor",
    "discovery": "a discovery plugin",
    "fairness": "a fairness policy",
    "ordering": "an ordering policy",
    "usage_limit": "a usage-limit policy",
    "saturation": "a saturation detector",
    "parser": "a parser",
    "syncer": "a syncer",
}
# Roles of plugins that work without being named.
_BY_THEMSELVES = frozenset({"handler", "headers", "producer", "admission", "reporter", "request", "test", "eviction"})


def document_shape(config: ParsedConfig) -> list[Problem]:
    """Fields of the document: names, types, API version."""
    problems = check_tree(config.document, DOCUMENT, "", Owner(config.line))
    version = config.document.get("apiVersion")
    if isinstance(version, str) and version not in config.line.api_versions:
        newest = "; what else differs is under dataLayer." if version == NEWEST_API and config.line.strict else "."
        problems.append(
            Problem("apiVersion", version, f"{config.line.name} is not known to read this version.", f"Write {config.line.api_versions[0]}{newest}")
        )
    return problems


def plugin_types(config: ParsedConfig) -> list[Problem]:
    """The release line has every type, and names are unique."""
    problems: list[Problem] = []
    paths: dict[str, str] = {}
    for item in config.plugins:
        if item.type and item.plugin is None:
            problems.append(unknown_type(item.type, config.line.name, f"{item.path}.type"))
        if item.name and item.name in paths:
            problems.append(
                Problem(
                    f"{item.path}.name",
                    item.name,
                    f"two plugins have this name (the other is {paths[item.name]}), and the endpoint picker refuses to start.",
                    "Give one of them another name.",
                )
            )
        paths.setdefault(item.name, item.path)
    return problems


def type_move(kind: str, line: str) -> Move | None:
    """What replaces a plugin type that the line does not have."""
    return next((move for lines, move in TYPE_MOVES if line in lines and move.old == kind), None)


def unknown_type(kind: str, line: str, path: str, role: str | None = None) -> Problem:
    """The problem for an unknown plugin type. It names what replaced the type, the lines that have it, or the closest type."""
    move, known = type_move(kind, line), lines_of(kind)
    if move is not None:
        newer = bool(known) and LINES.index(known[0]) > LINES.index(line)
        since = f", which is gone since {move.when}" if move.how and move.when and not newer else ""
        return Problem(path, kind, f"{line} has no plugin type {kind}{since}.", moved(move, newer))
    if known:
        same = "" if role is None else f" Plugins of this kind here: {', '.join(types_of(line, role))}."
        return Problem(path, kind, f"{line} has no plugin type {kind}.", f"Use a release that has it: {', '.join(known)}.{same}")
    choice = types_of(line, role)
    near = next((name for name in choice if normalize(name) == normalize(kind)), None) or suggest(kind, choice)
    return Problem(path, kind, f"{line} has no plugin type {kind}.", f"Did you mean {near}?" if near else f"Known: {', '.join(choice)}.")


def plugin_parameters(config: ParsedConfig) -> list[Problem]:
    """Parameters: the plugin has them in this line, and they have the right type and range."""
    problems: list[Problem] = []
    for item in config.plugins:
        if item.plugin is None:
            continue
        raw = config.document["plugins"][item.index].get("parameters")
        path = f"{item.path}.parameters"
        if raw is not None and not isinstance(raw, dict):
            problems.append(Problem(path, raw, f"{show(raw)} is not a mapping (key: value).", "Write one parameter per line, or leave it out."))
        elif item.plugin.blind:
            problems += [
                Problem(f"{path}.{key}", value, f"{item.type} takes no parameters: it would be ignored silently.", "Leave it out.")
                for key, value in item.parameters.items()
            ]
        else:
            problems += check_tree(item.parameters, item.plugin.params, path, Owner(config.line, item.type))
            problems += _single(item, path)
    return problems


def _single(item: Declared, path: str) -> list[Problem]:
    key = item.plugin.single_entry if item.plugin else ""
    value = item.parameters.get(key) if key else None
    if isinstance(value, list) and len(value) != 1:
        return [Problem(f"{path}.{key}", len(value), f"{item.type} takes exactly one element and refuses to start with another number.", "Write exactly one.")]
    return []


def unreferenced(config: ParsedConfig) -> list[Problem]:
    """Every source, policy and decider is named by a section or a parameter; otherwise it has no effect."""
    return [
        Problem(
            item.path, item.name, f"{item.name} is {_what(item)} that is not named by anything: it is created and never used.", _where_to_name(item, config)
        )
        for item in _unused(config)
        if not item.has_any(PROFILE_ROLES)
    ]


def idle(config: ParsedConfig) -> list[str]:
    """Notes on plugins without effect: filters, scorers and pickers that no profile names, and other plugins that a profile names."""
    unused = [item for item in _unused(config) if item.has_any(PROFILE_ROLES)]
    remarks = [f"{item.name} is {_what(item)} that no profile names: it is created and never used. {_where_to_name(item, config)}" for item in unused]
    named = [
        (profile, item.declared) for profile in config.profiles for item in profile.plugins if item.declared is not None and item.declared.plugin is not None
    ]
    return remarks + [
        f"{item.name} is neither a filter, a scorer nor a picker: in profile {profile.name} it has no effect."
        for profile, item in named
        if not item.has_any(PROFILE_ROLES)
    ]


def _unused(config: ParsedConfig) -> list[Declared]:
    named = {item.name for profile in config.profiles for item in profile.plugins}
    if any(not profile.of("picker") for profile in config.profiles):
        named |= {item.name for item in config.of("picker")}  # a profile without a picker takes the one that is declared
    named |= {name for _role, name, _path in _all_references(config)}
    named |= {"prefix-based-pd-decider"} if any(item.type == "pd-profile-handler" for item in config.plugins) else set()  # the default of that handler
    # Names that unknown plugins refer to: unknown plugins are reported, and problems that follow from them are not.
    named |= {text for item in config.plugins if item.plugin is None for text in _texts(item.parameters)}
    return [
        item
        for item in config.plugins
        if item.plugin is not None
        and item.name not in named
        and not item.has_any(_BY_THEMSELVES)
        and not (item.plugin.default and item.name == item.type)  # the endpoint picker looks it up under this name
    ]


def _texts(value: t.Any) -> t.Iterator[str]:
    """All texts among the values of a tree of parameters."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)


def _what(item: Declared) -> str:
    return "/".join(ROLE_NAMES.get(role, role) for role in (item.plugin.roles if item.plugin else ()))


def _where_to_name(item: Declared, config: ParsedConfig) -> str:
    if item.has("decider"):
        return "Name it in the parameters of the profile handler (deciders.prefill), or remove it."
    if item.has_any({"source", "extractor"}):
        return f"Name it under {config.line.data_section}.sources, or remove it."
    if item.has_any({"discovery", "syncer"}):
        return f"Name it under {config.line.data_section}, or remove it."
    if item.has_any({"fairness", "ordering", "usage_limit", "saturation"}):
        return "Name it under flowControl or saturationDetector, or remove it."
    return "Name it in a profile, or remove it." if item.has_any(PROFILE_ROLES) else "Remove it."


def _all_references(config: ParsedConfig) -> t.Iterator[tuple[str, t.Any, str]]:
    """(role, name, path) of every plugin that the document or the parameters of a plugin refer to."""
    yield from parameter_references(config.document, DOCUMENT, config.line.name, "")
    for item in config.plugins:
        if item.plugin is not None:
            yield from parameter_references(item.parameters, item.plugin.params, config.line.name, f"{item.path}.parameters")


def referred(config: ParsedConfig) -> list[Problem]:
    """Plugins that sections and parameters refer to exist and have the right role."""
    problems: list[Problem] = []
    for role, name, path in _all_references(config):
        target = config.named(name)
        if target is None:
            if not _by_itself(role, name, config):
                near = suggest(name, [item.name for item in config.of(role)])
                problems.append(
                    Problem(
                        path,
                        name,
                        "no plugin has this name.",
                        f"Did you mean {near}?" if near else f"Declare {ROLE_NAMES.get(role, role)} of this name under plugins.",
                    )
                )
        elif target.plugin is not None and role not in target.plugin.roles:
            problems.append(
                Problem(
                    path,
                    name,
                    f"{target.type} is not {ROLE_NAMES.get(role, role)}.",
                    f"Name one that is: {', '.join(item.name for item in config.of(role)) or ', '.join(types_of(config.line.name, role))}.",
                )
            )
    return problems


def _by_itself(role: str, name: t.Any, config: ParsedConfig) -> bool:
    """Whether the endpoint picker creates a plugin of this name by itself."""
    if role == "parser":
        return name in types_of(config.line.name, role) if config.line.strict else name == "openai-parser"
    return role in ("fairness", "ordering", "usage_limit", "saturation", "producer") and name in defaults_of(config.line.name)


def gates(config: ParsedConfig) -> list[Problem]:
    """Feature gates: the line has them (an unknown one stops the endpoint picker), and flowControl has its gate."""
    problems: list[Problem] = []
    for index, gate in enumerate(entries(config.document, "featureGates", str)):
        name, given, value = gate.partition("=")
        where = f"featureGates[{index}]"
        if given and not config.line.gate_values:
            problems.append(Problem(where, gate, f"{config.line.name} reads gate names only.", f"Write {name}, or leave it out to disable it."))
        elif given and value.strip().lower() not in ("1", "0", "t", "f", "true", "false"):
            problems.append(Problem(where, gate, f"{show(value)} is neither true nor false.", f"Write {name}=true or {name}=false."))
        if name not in config.line.gates:
            move = next((move for lines, move in GATE_MOVES if config.line.name in lines and move.old == name), None)
            near = suggest(name, config.line.gates)
            fix = move.how if move else f"Did you mean {near}?" if near else f"Known: {', '.join(config.line.gates)}."
            problems.append(Problem(where, gate, f"{config.line.name} knows no such gate and refuses to start.", fix))
    if config.section("flowControl").keys() - {"saturationDetector"} and not config.gate("flowControl"):
        problems.append(
            Problem(
                "flowControl",
                sorted(config.section("flowControl")),
                "without the gate flowControl this section is ignored silently.",
                "Add flowControl to featureGates.",
            )
        )
    return problems


def data_layer(config: ParsedConfig) -> list[Problem]:
    """The data section and its feature gate agree, and metrics stay available to the scorers that read them."""
    sources = entries(config.section(config.line.data_section), "sources", dict)
    if config.line.data_section == "data":
        return _data_gate(config, sources)
    readers = [item.name for item in config.plugins if item.plugin is not None and "metrics" in item.plugin.needs]
    off = _metrics_off(config, [source.get("pluginRef") for source in sources])
    if not off or not readers:
        return []
    reason = f"{off}: {', '.join(readers)} would see zeros for every server."
    fix = "Add the source metrics-data-source with the extractor core-metrics-extractor."
    return [Problem("dataLayer", config.document.get("dataLayer"), reason, fix)]


def _data_gate(config: ParsedConfig, sources: list[dict[str, t.Any]]) -> list[Problem]:
    """Scheduler 0.7: the gate without sources stops the endpoint picker, and so does the metrics extractor without the gate."""
    extractor, gate = METRICS_EXTRACTOR[config.line.name], config.gate("dataLayer")
    problems: list[Problem] = []
    if gate and not sources:
        reason = "the gate dataLayer without sources in the section data stops the endpoint picker."
        problems.append(Problem("featureGates", "dataLayer", reason, "Write data.sources, or leave the gate out."))
    for index, source in enumerate(sources):
        for place, item in enumerate(entries(source, "extractors", dict)):
            target = config.named(item.get("pluginRef"))
            if target is not None and target.type == extractor and not gate:
                reason = f"{extractor} without the gate dataLayer stops the endpoint picker."
                problems.append(Problem(f"data.sources[{index}].extractors[{place}].pluginRef", item["pluginRef"], reason, "Add dataLayer to featureGates."))
    return problems


def _metrics_off(config: ParsedConfig, used: list[t.Any]) -> str:
    targets = [config.named(name) for name in used]
    if any(item is not None and item.type == "metrics-data-source" for item in targets):
        return ""
    if config.line.clears_metrics and config.document.get("dataLayer") is not None and not config.gate("enableLegacyMetrics"):
        return f"a dataLayer section without metrics-data-source disables scraping in {config.line.name}"
    if config.section("dataLayer").get("injectDefaults") is False:
        return "injectDefaults: false without metrics-data-source disables scraping"
    return ""


def order(config: ParsedConfig) -> list[Problem]:
    """Before router 0.10 a decider must be declared before the handler that names it."""
    if not config.line.ordered:
        return []
    problems = []
    for item in config.of("handler"):
        for role, name, path in parameter_references(item.parameters, item.plugin.params if item.plugin else (), config.line.name, f"{item.path}.parameters"):
            target = config.named(name)
            if role == "decider" and target is not None and target.index > item.index:
                problems.append(
                    Problem(
                        path,
                        name,
                        f"{name} is declared after {item.name}, which names it: {config.line.name} reads plugins in order and refuses to start.",
                        f"Move {name} above {item.name} in plugins.",
                    )
                )
    return problems


RULES: tuple[t.Callable[[ParsedConfig], list[Problem]], ...] = (
    document_shape,
    plugin_types,
    plugin_parameters,
    unreferenced,
    referred,
    gates,
    data_layer,
    order,
)
