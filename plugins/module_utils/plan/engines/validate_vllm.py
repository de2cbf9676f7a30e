# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments that the version of vLLM in the image does not accept: the user's, and those that the plan derives from options. Pure."""

from __future__ import annotations

from ...common.objects import Facts
from ...releases.lines import RELEASES
from ...releases.vllm import EVENTS_AS_MAPS, Misfit, events_are_maps, is_same, misfits, released_as
from ...schema.fields import Problem
from .engine import engine_image, vendor, vllm_version
from .multi_node import START_RANK, to_workload
from .server_arguments import served_arguments

# {argument: the option from which the plan derives it}, where that is not the option of engine with the same name.
_BROUGHT_BY = {
    "served-model-name": "model.served_name",
    "revision": "model.revision",
    "load-format": "model.uri",
    "tensor-parallel-size": "accelerator.per_replica",
    "pipeline-parallel-size": "accelerator.nodes",
    "distributed-executor-backend": "accelerator.nodes",
    "enable-expert-parallel": "accelerator.across_nodes",
    "headless": "accelerator.across_nodes",
    "enable-prefix-caching": "engine.prefix_caching",
    "no-enable-prefix-caching": "engine.prefix_caching",
    "enable-prompt-tokens-details": "engine.type",
    "kv-events-config": "scheduler",
    "kv-transfer-config": "scheduler",
    "kv-offloading-size": "cache.cpu_size",
    "kv-offloading-backend": "cache.cpu_size",
    "kv-cache-memory-bytes": "cache.device_size",
}
# Vendors whose platforms are plugins of vLLM. These add choices of their own, such as for --quantization.
_PLUGINS = ("intel_gaudi", "google")


def version_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    """A version for an engine other than vLLM, or one that contradicts the image."""
    engine, image = service["engine"], engine_image(service, user)
    if not engine["version"]:
        return []
    if engine["type"] == "vllm":
        tag = released_as(image)
        if tag is None or is_same(tag, engine["version"]):
            return []
        why = f"contradicts the image {image}, whose tag says {tag}: arguments would be checked against the wrong version."
        return [Problem(f"{path}.engine.version", engine["version"], why, f"Take it out, or write {tag}.")]
    return [Problem(f"{path}.engine.version", engine["version"], "is a version of vLLM, and the engine is another.", "Take it out, or write 'type: vllm'.")]


def vllm_problems(service: Facts, path: str, user: Facts, required: Facts) -> list[Problem]:
    """Arguments of the model servers, of each role and node, that their version of vLLM rejects.

    required: what the scheduler configuration requires of model servers: {args, env, ports}.
    """
    version = vllm_version(service, user)
    if version is None:
        return []
    return _arguments(service, path, required, version) + _events(service, path, user, required, version)


def _events(service: Facts, path: str, user: Facts, required: Facts, version: str) -> list[Problem]:
    """KV events that the release line of the endpoint picker cannot decode: it would run, and match no prefix."""
    line = user["llm_d_release"]
    if RELEASES[line]["events_as_maps"] or not events_are_maps(version) or not any(argument.startswith("--kv-events-config") for argument in required["args"]):
        return []
    newer = " or ".join(name for name, facts in RELEASES.items() if facts["events_as_maps"])
    why = f"{line} does not read the KV events of vLLM {version}, and would score as if no server cached anything: their encoding changed in {EVENTS_AS_MAPS}."
    return [
        Problem(
            f"{path}.scheduler", service["scheduler"]["preset"], why, f"Write llm_d_release: {newer}, an image with an older vLLM, or preset: prefix_aware."
        )
    ]


def _arguments(service: Facts, path: str, required: Facts, version: str) -> list[Problem]:
    """Arguments that the version does not know, or does not accept with this value."""
    own = len(service["engine"]["args"])
    problems: dict[str, Problem] = {}
    for arguments in command_lines(service, required):
        # The user's arguments are at the end.
        first_own = len(arguments) - own
        for misfit in misfits(arguments, version, choices=vendor(service) not in _PLUGINS):
            if misfit.index >= first_own:
                place = f"{path}.engine.args[{misfit.index - first_own}]"
                problem = Problem(place, misfit.flag or None, misfit.reason, misfit.fix)
            else:
                problem = _derived(service, path, misfit)
            problems.setdefault(f"{problem.path} {misfit.flag}", problem)
    return list(problems.values())


def command_lines(service: Facts, required: Facts) -> list[list[str]]:
    """The arguments after the model that each kind of pod of a service passes to `vllm serve`."""
    pod = {"args": served_arguments(service, required), "env": [], "labels": {}, "selector": {}}
    _kind, leader, worker = to_workload(service, pod)
    lines = [leader.get("args", pod["args"])[1:]]
    if worker and worker["args"]:
        lines.append([f"{START_RANK}=1", *worker["args"][1:]])
    return lines


def _derived(service: Facts, path: str, misfit: Misfit) -> Problem:
    """The problem of an argument that the plan derives from an option."""
    name = misfit.flag.lstrip("-")
    option = _BROUGHT_BY.get(name) or (f"engine.{name.replace('-', '_')}" if name.replace("-", "_") in service["engine"] else "")
    if name == "block-size" and service["engine"]["block_size"] is None:
        option = "scheduler"
    if name.startswith("data-parallel"):
        option = "accelerator.across_nodes"
    if not option:
        return Problem(f"{path}.engine.image", None, f"every plan has --{name}: {misfit.reason}", misfit.fix)
    value = service["scheduler"]["preset"] if option == "scheduler" else None
    return Problem(f"{path}.{option}", value, f"brings {misfit.flag}: {misfit.reason}", misfit.fix)
