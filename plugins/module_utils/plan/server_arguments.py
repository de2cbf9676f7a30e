# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command line and environment of a model server. Pure."""

from __future__ import annotations

from ..common.flags import flags_of
from ..common.objects import Facts
from ..releases.lines import ENGINE_DEFAULTS
from .engine import arguments as engine_arguments
from .engine import block_size
from .engine import environment as engine_environment
from .pod_spec import later_wins
from .weights import CACHE_PATH, HUB_PATH, credentials, served_name, source
from .weights import arguments as weights_arguments


def served_arguments(service: Facts, required: Facts) -> list[str]:
    """The command line: the model (vLLM), derived arguments, those that the scheduler requires, then engine.args, which win where a flag is in both.

    required: what the scheduler configuration requires of model servers: {args, env, ports}.
    """
    own = service["engine"]["args"]
    theirs = flags_of(own)
    ours = {argument.split("=", 1)[0]: argument for argument in [*_arguments(service, service["engine"]["port"]), *required.get("args", [])]}
    model = [source(service["model"])] if service["engine"]["type"] == "vllm" else []
    if theirs.keys() & {"tp", "pipeline-parallel-size", "pp", "data-parallel-size", "dp"}:
        ours.pop("--tensor-parallel-size", None)
    return [*model, *(argument for flag, argument in ours.items() if flag.lstrip("-") not in theirs), *own]


def server_environment(service: Facts, required: list[Facts]) -> list[Facts]:
    """The environment variables: derived, those that the scheduler requires, then engine.env. Each name once; the last one wins."""
    env: list[Facts] = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in (("POD_NAME", "metadata.name"), ("POD_NAMESPACE", "metadata.namespace"), ("POD_IP", "status.podIP"))
    ]
    if service["engine"]["type"] == "vllm":
        # Home and caches are on the writable volume: the container runs with a user id that the image does not know.
        env += [
            {"name": name, "value": value}
            for name, value in (
                ("HOME", CACHE_PATH),
                ("USER", "vllm"),
                ("LOGNAME", "vllm"),
                ("HF_HOME", HUB_PATH),
                ("VLLM_CACHE_ROOT", f"{CACHE_PATH}/vllm"),
                ("TORCHINDUCTOR_CACHE_DIR", f"{CACHE_PATH}/inductor"),
                ("TRITON_CACHE_DIR", f"{CACHE_PATH}/triton"),
            )
        ]
    env += engine_environment(service["engine"])
    env += credentials(service["model"])
    own = [{"name": name, "value": value} for name, value in service["engine"]["env"].items()]
    return later_wins(env + required + own)


def _arguments(service: Facts, port: int) -> list[str]:
    engine = service["engine"]
    name = served_name(service["model"])
    length = engine["max_model_len"] or ENGINE_DEFAULTS[engine["type"]]["max_model_len"]
    # Name and port are what clients, endpoint picker and Services go by. The others have a value only if the user's file sets it.
    arguments = {
        "--served-model-name": name,
        "--port": port,
        "--max-model-len": length,
        "--max-num-seqs": engine["max_num_seqs"],
        "--block-size": block_size(service),
    }
    if engine["type"] == "simulator":
        arguments = {"--model": name, **arguments, **_simulator_arguments(engine)}
    else:
        per_replica = service["accelerator"]["per_replica"]
        arguments.update(weights_arguments(service["model"]))
        # vLLM uses one accelerator unless it is told otherwise.
        arguments["--tensor-parallel-size"] = per_replica if per_replica > 1 else None
    # Without it vLLM does not report cached tokens, and nobody sees whether prefixes are found in the cache.
    details = ["--enable-prompt-tokens-details"] if engine["type"] == "vllm" else []
    return [f"{flag}={value}" for flag, value in arguments.items() if value is not None] + engine_arguments(engine) + details


def _simulator_arguments(engine: Facts) -> Facts:
    settings = engine["simulator"] or {}
    flags = {f"--{key.replace('_', '-')}": value for key, value in settings.items()}
    # Without the dummy tokenizer the simulator asks a model hub whether the model exists.
    return {"--force-dummy-tokenizer": "true", "--enable-kvcache": "true", **flags}
