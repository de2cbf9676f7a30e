# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments with which a model server runs, and nobody reaches it or sees its load. Pure."""

from __future__ import annotations

from ..common.flags import flags_of
from ..common.objects import Facts
from ..schema.fields import Problem
from .validate_arguments import place_of

_ANYWHERE = ("0.0.0.0", "::", "[::]", "$(POD_IP)")
_HOST = "the server listens there only, and probes, Services and the endpoint picker reach a pod by its own address.", "Take it out, or write 0.0.0.0."
_TLS = "the server speaks TLS, and probes, the endpoint picker and routes speak plain HTTP inside the cluster.", "Take it out; clients meet TLS at the Gateway."
_FILE = "what stands in that file is seen by nobody else, such as another port or model.", "Take it out, and write its options here, each as --OPTION=VALUE."
_GRPC = "the server speaks gRPC, and everything that asks it speaks HTTP.", "Take it out."
_OTHERS = "the server waits for others of its group, and nobody starts them.", "Take it out; accelerator.nodes makes groups."
_MUTE = "the server neither reads nor writes text.", "Take it out."
_WEB = dict.fromkeys(("ssl-keyfile", "ssl-certfile", "ssl-ca-certs"), _TLS)
# By engine, the arguments as releases/vllm.py and sglang.py spell them: (why, what to write). Those of one node; groups have arguments of their own.
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
        **dict.fromkeys(("nnodes", "node-rank", "master-addr"), _OTHERS),
        **_WEB,
    },
    "sglang": {
        "host": _HOST,
        "config": _FILE,
        **dict.fromkeys(("grpc-mode", "smg-grpc-mode"), _GRPC),
        "skip-tokenizer-init": _MUTE,
        **dict.fromkeys(("nnodes", "node-rank", "dist-init-addr"), _OTHERS),
        **_WEB,
    },
    "trtllm": {"host": _HOST, "grpc": _GRPC},
    "tgi": {"hostname": _HOST},
    "triton": {"host": _HOST},
    "simulator": {"config": _FILE, "self-signed-certs": _TLS, **_WEB},
}


def reach_problems(service: Facts, path: str) -> list[Problem]:
    """The arguments of the user that are in OUT_OF_REACH."""
    arguments, where = service["engine"]["args"], f"{path}.engine.args"
    found = []
    for flag, value in flags_of(arguments).items() if service["accelerator"]["nodes"] == 1 else ():
        why = OUT_OF_REACH[service["engine"]["type"]].get(flag)
        harmless = _is_harmless(flag, value)
        if why and not harmless:
            found.append(Problem(place_of(arguments, flag, where), value, f"--{flag}: {why[0]}", why[1]))
    return found


def _is_harmless(flag: str, value: str | None) -> bool:
    if flag in ("host", "hostname"):
        return value in _ANYWHERE
    if flag in ("nnodes", "node-rank"):
        return value == ("1" if flag == "nnodes" else "0")
    return value != "0" if flag == "api-server-count" else str(value).lower() == "false"
