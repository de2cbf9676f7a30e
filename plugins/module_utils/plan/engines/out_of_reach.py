# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments with which a model server runs, but cannot be reached, or does not report its load. Pure."""

from __future__ import annotations

from ...common.flags import flags_of, place_of
from ...common.objects import Facts
from ...schema.fields import Problem
from .multi_node import PARALLEL_FLAGS

_ANYWHERE = ("", "0.0.0.0", "::", "[::]", "$(POD_IP)")
_HOST = "the server listens there only, and probes, Services and the endpoint picker reach a pod by its own address.", "Take it out, or write 0.0.0.0."
_TLS = "the server speaks TLS, and probes, the endpoint picker and routes speak plain HTTP inside the cluster.", "Take it out; clients meet TLS at the Gateway."
_FILE = "the plan does not know the options in that file, such as another port or model.", "Take it out, and write its options here, each as --OPTION=VALUE."
_GRPC = "the server speaks gRPC, and everything that asks it speaks HTTP.", "Take it out."
_OTHERS = "the server waits for others of its group, and nobody starts them.", "Take it out; accelerator.nodes makes groups."
_MUTE = "the server neither reads nor writes text.", "Take it out."
_HALF = "the server does a part of the work for requests, and waits for others that nobody starts.", "Take it out."
_OURS = (
    "that file takes the place of the one that the plan writes, with metrics and engine.prefix_caching.",
    "Take it out; options of engine and other arguments say the same.",
)
_WEB = dict.fromkeys(("ssl-keyfile", "ssl-certfile"), _TLS)
# By engine, the arguments as releases/vllm.py and sglang.py spell them: (why, what to write).
# https://docs.vllm.ai/en/latest/cli/serve/  https://docs.sglang.io/advanced_features/server_arguments.html
OUT_OF_REACH: dict[str, dict[str, tuple[str, str]]] = {
    "vllm": {
        "host": _HOST,
        "uds": ("the server listens at a file of its container only.", "Take it out."),
        "headless": ("the server has no API.", "Take it out."),
        "api-server-count": ("the server has no API.", "Take it out, or write 1 or more."),
        "disable-log-stats": ("its metrics stand still, by which the endpoint picker, autoscalers and alerts go.", "Take it out."),
        "config": _FILE,
        "grpc": _GRPC,
        "tokens-only": _MUTE,
        "skip-tokenizer-init": _MUTE,
        "mm-encoder-only": _MUTE,
        **dict.fromkeys(("nnodes", "node-rank", "master-addr", "data-parallel-size-local", "data-parallel-start-rank", "data-parallel-address"), _OTHERS),
        **dict.fromkeys(("data-parallel-external-lb", "data-parallel-rank"), _OTHERS),
        **_WEB,
    },
    "sglang": {
        "host": _HOST,
        "config": _FILE,
        **dict.fromkeys(("grpc-mode", "smg-grpc-mode"), _GRPC),
        **dict.fromkeys(("skip-tokenizer-init", "encoder-only"), _MUTE),
        **dict.fromkeys(("nnodes", "node-rank", "dist-init-addr"), _OTHERS),
        "disaggregation-mode": _HALF,
        **_WEB,
    },
    "trtllm": {
        "host": _HOST,
        "grpc": _GRPC,
        **dict.fromkeys(("config", "extra_llm_api_options"), _OURS),
        **dict.fromkeys(("server_role", "disagg_cluster_uri", "metadata_server_config_file"), _HALF),
    },
    "tgi": {"hostname": _HOST},
    "triton": {"host": _HOST},
    "simulator": {"config": _FILE, "self-signed-certs": _TLS, **_WEB},
}


# Values that keep the server reachable.
_HARMLESS = {
    **dict.fromkeys(("host", "hostname"), _ANYWHERE),
    "nnodes": ("1",),
    "node-rank": ("0",),
    "data-parallel-start-rank": ("0",),
    "data-parallel-address": ("127.0.0.1", "localhost", "$(POD_IP)"),
    "disaggregation-mode": ("null",),
}


def reach_problems(service: Facts, path: str) -> list[Problem]:
    """Arguments of the user that are in OUT_OF_REACH, and the variable from which TGI reads its address."""
    arguments, where, engine = service["engine"]["args"], f"{path}.engine.args", service["engine"]["type"]
    flags = {"data-parallel-size": str(service["accelerator"]["data"]), **flags_of(arguments)}
    problems = []
    for flag, value in flags.items():
        why = OUT_OF_REACH[engine].get(flag)
        reported = service["accelerator"]["nodes"] > 1 and flag in PARALLEL_FLAGS  # by validate_arguments.py: the plan sets them for groups
        if why and not reported and not _is_harmless(engine, flag, value, flags):
            problems.append(Problem(place_of(arguments, flag, where), value, f"--{flag}: {why[0]}", why[1]))
    if engine == "tgi" and service["engine"]["env"].get("HOSTNAME", "0.0.0.0") not in _ANYWHERE:
        problems.append(Problem(f"{path}.engine.env.HOSTNAME", None, f"is --hostname for it: {_HOST[0]}", _HOST[1]))
    return problems


def _is_harmless(engine: str, flag: str, value: str | None, flags: dict[str, str | None]) -> bool:
    """Whether the flag has no effect with this value. flags: all flags, with the number of data-parallel ranks."""
    if flag == "data-parallel-size-local":
        return value == flags["data-parallel-size"]
    if flag == "api-server-count":
        return value != "0"
    return value in _HARMLESS.get(flag, ()) or (flag == "host" and engine == "vllm" and value == "None") or str(value).lower() == "false"
