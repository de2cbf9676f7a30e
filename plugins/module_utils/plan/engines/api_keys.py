# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API key that model servers want with each request: the Secret that holds it, and what in the user's file would give them another one. Pure."""

from __future__ import annotations

from ...common.flags import flags_of, place_of
from ...common.objects import Facts
from ...releases.deployed import KEYS
from ...releases.engines import ENGINES
from ...schema.fields import Problem

OWN_KEY = "API_KEY"


def api_key_name(user: Facts) -> str:
    """Name of the Secret with the key of the user's file."""
    return f"{user['llm_d_instance']}-api-key"


def api_key_reference(service: Facts, user: Facts) -> Facts:
    """The engine options api_key_secret and api_key_secret_key for our own Secret; {} where the service names one itself, or its engine takes no key."""
    if not user["llm_d_api_key"] or service["engine"]["api_key_secret"] or not _variable(service):
        return {}
    return {"api_key_secret": api_key_name(user), "api_key_secret_key": OWN_KEY}


def api_key_secret(service: Facts, namespace: str) -> Facts | None:
    """{namespace, name, key} of the Secret with the key of the servers, as modules take it; None where they want no key."""
    engine = service["engine"]
    return {"namespace": namespace, "name": engine["api_key_secret"], "key": engine["api_key_secret_key"]} if engine["api_key_secret"] else None


def api_key_environment(service: Facts, variable: str = "") -> list[Facts]:
    """The variable with the key of the servers, from the Secret: of this name, else that by which the engine reads it."""
    engine = service["engine"]
    source = {"secretKeyRef": {"name": engine["api_key_secret"], "key": engine["api_key_secret_key"]}}
    return [{"name": variable or _variable(service), "valueFrom": source}] if engine["api_key_secret"] else []


def api_key_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    """A key for an engine that takes none from its environment, and keys in arguments and variables, which no check of ours has."""
    engine, title = service["engine"], ENGINES[service["engine"]["type"]].title
    flag, variable = KEYS.get(engine["type"], ("", ""))
    found = []
    if engine["api_key_secret"] and not variable:
        why = f"is of no use: {title} reads no API key from its environment."
        found.append(Problem(f"{path}.engine.api_key_secret", engine["api_key_secret"], why, "Take it out, and have the gateway ask for keys."))
    where = [place_of(engine["args"], name, f"{path}.engine.args") for name in flags_of(engine["args"]) if flag and name.replace("_", "-") == flag]
    keyed = engine["api_key_secret"] or user["llm_d_api_key"]
    where += [f"{path}.engine.env.{variable}"] if variable and (engine["env"].get(variable) or (keyed and variable in engine["env"])) else []
    clear = "" if isinstance(engine["env"].get(variable), dict) else " stands in clear in their pods, and that"
    why = f"gives the servers an API key that{clear} validation, warm-ups and measurements do not send."
    fix = "Take it out, and write the key as llm_d_api_key (from a vault), or the name of a Secret with it as engine.api_key_secret."
    return found + [Problem(place, None, why, fix if variable else "Take it out, and have the gateway ask for keys.") for place in where]


def api_key_warnings(service: Facts, user: Facts, document: Facts) -> list[str]:
    """What users should know who wrote a key: servers that answer without it, and what asks servers and has none. document: the EndpointPickerConfig."""
    found = []
    if user["llm_d_api_key"] and not _variable(service):
        found.append(f"its servers answer without llm_d_api_key, since {ENGINES[service['engine']['type']].title} reads none from its environment")
    asks = [entry["type"] for entry in document["plugins"] if entry["type"] == "models-data-source"]
    if asks and service["engine"]["api_key_secret"]:
        found.append(f"the endpoint picker's {asks[0]} has no API key, so servers refuse its requests")
    return [f"{service['name']}: {text}." for text in found]


def _variable(service: Facts) -> str:
    return KEYS.get(service["engine"]["type"], ("", ""))[1]
