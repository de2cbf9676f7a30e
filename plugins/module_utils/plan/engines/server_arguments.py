# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command line and environment of a model server. Pure."""

from __future__ import annotations

from ...common.flags import flags_of
from ...common.objects import Facts
from ...releases.deployed import ENGINE_DEFAULTS, OPTIONS
from ..parts.environment import variables
from ..parts.pod_spec import later_wins
from .adapters import adapter_arguments, adapter_environment
from .api_keys import api_key_environment
from .engine import arguments as engine_arguments
from .engine import block_size, dividing
from .engine import environment as engine_environment
from .weights import CACHE_PATH, HUB_PATH, credentials, loader, model_uri, served_name


def served_arguments(service: Facts, required: Facts) -> list[str]:
    """The command line: derived arguments, the model first, then those that the scheduler requires, then engine.args, which win if a flag is in both.

    required: what the scheduler configuration requires of model servers: {args, env, ports}.
    """
    engine, own = service["engine"], service["engine"]["args"]
    user_flags = flags_of(own)
    derived = {argument.split("=", 1)[0]: argument for argument in [*_arguments(service), *required.get("args", [])]}
    flags = ENGINE_DEFAULTS[engine["type"]]["flags"]
    # If the user's arguments divide the accelerators, they also set the tensor parallelism.
    if dividing(service):
        derived = {flag: argument for flag, argument in derived.items() if flag.lstrip("-") not in flags.get("tensor", ())}
    kept = [argument for flag, argument in derived.items() if not flag.startswith("-") or flag.lstrip("-") not in user_flags]
    return [*kept, *adapter_arguments(service), *own]


def as_written(service: Facts, arguments: list[str]) -> list[str]:
    """The command line with engine.args, which are at its end, as the user's file spells them, except for arguments that were replaced since."""
    own = service["engine"]["args"]
    if not arguments:
        return []
    start = len(arguments) - len(own)
    written = zip(arguments[start:], own, service.get("written_args", own), strict=True)
    return [*arguments[:start], *(text if argument == spelled else argument for argument, spelled, text in written)]


def server_environment(service: Facts, required: list[Facts]) -> list[Facts]:
    """The environment variables: derived ones, those that the scheduler requires, then engine.env. Each name is there once; the last one wins."""
    env: list[Facts] = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in (("POD_NAME", "metadata.name"), ("POD_NAMESPACE", "metadata.namespace"), ("POD_IP", "status.podIP"))
    ]
    if service["engine"]["type"] != "simulator":
        # Home and caches are on the writable volume, since the container runs with a user id that the image does not know.
        env += [
            {"name": name, "value": value}
            for name, value in (
                ("HOME", CACHE_PATH),
                ("USER", service["engine"]["type"]),
                ("LOGNAME", service["engine"]["type"]),
                ("HF_HOME", HUB_PATH),
                ("TORCHINDUCTOR_CACHE_DIR", f"{CACHE_PATH}/inductor"),
                ("TRITON_CACHE_DIR", f"{CACHE_PATH}/triton"),
            )
        ]
    env += engine_environment(service["engine"], _values(service))
    env += credentials(service["model"]) + api_key_environment(service) + adapter_environment(service)
    if any("$(POD_PORT)" in argument for argument in service["engine"]["args"]):  # in the topics of KV events in upstream's guides
        env.append({"name": "POD_PORT", "value": str(service["engine"]["port"])})
    return later_wins(env + required + variables(service["engine"]["env"]))


def _values(service: Facts) -> Facts:
    """{option of releases/deployed.py: its value for this service; None if the engine decides}."""
    engine, accelerator, model = service["engine"], service["accelerator"], service["model"]
    simulated = engine["type"] == "simulator"
    in_one = accelerator["per_replica"] // (accelerator["pipeline"] * accelerator["data"])
    # Engines use one accelerator by default.
    parts = {"tensor": in_one, "pipeline": accelerator["pipeline"], "data": accelerator["data"]}
    values = {
        "model": served_name(model) if simulated else model_uri(model).location,
        # Clients, endpoint picker and Services rely on name and port. The others have a value only if the user's file sets it.
        "served_name": served_name(model),
        "port": engine["port"],
        "max_model_len": engine["max_model_len"] or ENGINE_DEFAULTS[engine["type"]]["max_model_len"],
        "block_size": block_size(service),
        **{option: count if count > 1 else None for option, count in parts.items()},
        "revision": model["revision"],
        "expert": accelerator["expert"] or None,
    }
    return {option: values[option] if option in values else engine[option] for option in OPTIONS}


def _arguments(service: Facts) -> list[str]:
    engine = service["engine"]
    arguments = engine_arguments(engine, _values(service)) + loader(service["model"]) + list(ENGINE_DEFAULTS[engine["type"]]["always"])
    settings = (engine["simulator"] or {}) if engine["type"] == "simulator" else {}
    return arguments + [f"--{key.replace('_', '-')}={value}" for key, value in settings.items() if value is not None]
