# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API key that model servers require of each request: the Secret that holds it, and settings of the user's file that would set another one. Pure."""

from __future__ import annotations

from ...common.flags import flags_of, place_of
from ...common.objects import Facts
from ...releases.deployed import API_KEY_SETTINGS
from ...releases.engines import ENGINES
from ...schema.fields import Problem

OWN_KEY = "API_KEY"


def api_key_name(user: Facts) -> str:
    """Name of the Secret with the key of the user's file."""
    return f"{user['llm_d_instance']}-api-key"


def api_key_reference(service: Facts, user: Facts) -> Facts:
    """{api_key: the reference to our own Secret}, to add to the options of a model; {} where the service names a Secret itself, or there is no key."""
    if not user["llm_d_api_key"] or service["model"]["api_key"]:
        return {}
    return {"api_key": {"secret": api_key_name(user), "key": OWN_KEY}}


def api_key_secret(service: Facts, namespace: str) -> Facts | None:
    """{namespace, name, key} of the Secret with the key of a service, as modules take it; None where there is no key."""
    key = service["model"]["api_key"]
    return {"namespace": namespace, "name": key["secret"], "key": key["key"]} if key else None


def servers_ask(service: Facts) -> bool:
    """Whether its servers check the key themselves. Otherwise only the gateway before them can."""
    return bool(service["model"]["api_key"] and _variable(service))


def api_key_environment(service: Facts, variable: str = "") -> list[Facts]:
    """The environment variable that holds the key, from the Secret. variable: its name; empty for the one that the engine reads."""
    key = service["model"]["api_key"]
    return [{"name": variable or _variable(service), "valueFrom": {"secretKeyRef": {"name": key["secret"], "key": key["key"]}}}] if servers_ask(service) else []


def api_key_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    """API keys in arguments and environment variables of the engine. Validation, warm-ups and measurements do not have these keys."""
    engine = service["engine"]
    flag, variable = API_KEY_SETTINGS.get(engine["type"], ("", ""))
    where = [place_of(engine["args"], name, f"{path}.engine.args") for name in flags_of(engine["args"]) if flag and name.replace("_", "-") == flag]
    keyed = service["model"]["api_key"] or user["llm_d_api_key"]
    where += [f"{path}.engine.env.{variable}"] if variable and (engine["env"].get(variable) or (keyed and variable in engine["env"])) else []
    clear = "" if isinstance(engine["env"].get(variable), dict) else " stands in clear in their pods, and that"
    why = f"gives the servers an API key that{clear} validation, warm-ups and measurements do not send."
    fix = "Take it out, and write the key as llm_d_api_key (from a vault), or name a Secret with it as model.api_key."
    return [Problem(place, None, why, fix if variable else "Take it out, and have the gateway ask for keys.") for place in where]


def api_key_warnings(service: Facts, document: Facts) -> list[str]:
    """Warnings about a configured key: servers that answer without it, and plugins that request from servers and do not have it.

    document: the EndpointPickerConfig.
    """
    warnings = []
    if service["model"]["api_key"] and not servers_ask(service):
        title = ENGINES[service["engine"]["type"]].title
        warnings.append(f"its servers answer without the API key, since {title} reads none from its environment: have the gateway ask for it")
    askers = [entry["type"] for entry in document["plugins"] if entry["type"] == "models-data-source"]
    if askers and servers_ask(service):
        warnings.append(f"the endpoint picker's {askers[0]} has no API key, so servers refuse its requests")
    return [f"{service['name']}: {text}." for text in warnings]


def _variable(service: Facts) -> str:
    return API_KEY_SETTINGS.get(service["engine"]["type"], ("", ""))[1]
