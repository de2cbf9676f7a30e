# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A warm-up as a program that needs no Ansible: `python warmup.pyz OPTIONS.json PROMPTS.json ACCOUNT`. `benchmark.bundle` makes warmup.pyz.

OPTIONS.json holds one element of the option `services` of vllm_warmup as `warmup`, and of vllm_adapters as `adapters`; each may be null. PROMPTS.json is the
list of prompts. The folder ACCOUNT holds the files that the kubelet mounts for a service account. The variable LLM_D_API_KEY holds the API key of the servers,
where they require one. Requests go to the addresses of the servers that are ready at this moment; the next run may use others. The exit status is 0 when the
servers have all adapters and, as far as they report it, all prompts; 1 when they do not; and 2 when the files are invalid or this is not a pod. No output
contains a prompt.
"""

from __future__ import annotations

import collections.abc as c
import json
import os
import signal
import sys
import typing as t

from ..common.objects import Facts
from ..k8s.errors import ClusterError
from ..k8s.in_cluster import InCluster
from . import adapters, warmup_states
from .warmup import Warmup

KEY_VARIABLE = "LLM_D_API_KEY"
REQUEST_TIMEOUT, ADAPTER_TIMEOUT = 60.0, 300.0  # seconds for one prompt, or for one adapter, on one server


def _stop(*_args: t.Any) -> None:
    raise SystemExit(143)  # 128 + SIGTERM


def main(arguments: c.Sequence[str]) -> int:
    """Warms the servers; returns the exit status."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        options_path, prompts_path, account_folder = arguments
        options, prompts = _read(options_path), _read(prompts_path)
        cluster = InCluster(account_folder)
    except (ValueError, OSError, ClusterError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    failed = _load(options["adapters"], cluster) if options["adapters"] else False
    return int(_warm({**options["warmup"], "prompts": prompts}, cluster) or failed) if options["warmup"] else int(failed)


def _params(service: Facts, seconds: float) -> Facts:
    """The options of vllm_warmup or vllm_adapters for one service."""
    return {
        "services": [{**service, "urls": None}],
        "through": "address",
        "request_timeout": seconds,
        "use_proxy": False,
        "api_key": os.environ.get(KEY_VARIABLE),
    }


def _load(service: Facts, cluster: InCluster) -> bool:
    """Loads and unloads adapters; returns whether that failed for any server."""
    (result,) = adapters.Adapters(_params(service, ADAPTER_TIMEOUT), cluster).run(check=False)
    rows = adapters.rows(result, adapters.HAS, adapters.LOADED, adapters.UNLOADED)
    for server, row in rows:
        sys.stdout.write(f"{server}: adapter {row['adapter']}: {row['state']}\n")
    failed = [result["problem"]] if result["problem"] else []
    failed += [f"{server}: adapter {row['adapter']}: {row['evidence']}: {row['remedy']}" for server, row in adapters.rows(result, adapters.FAILED)]
    for line in failed:
        sys.stderr.write(f"{result['name']}: {line}\n")
    return bool(failed)


def _warm(service: Facts, cluster: InCluster) -> bool:
    """Sends the prompts; returns whether any prompt failed or is too short to be cached, or servers are missing."""
    (result,) = Warmup(_params(service, REQUEST_TIMEOUT), cluster).run()
    for line in _lines(result):
        sys.stdout.write(f"{line}\n")
    for line in warmup_states.warnings(result):
        sys.stderr.write(f"{line}\n")
    return bool(result["problem"] or warmup_states.rows(result, warmup_states.FAILED, warmup_states.SHORT))


def _read(path: str) -> t.Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _lines(result: Facts) -> list[str]:
    """The lines of the log: one for each prompt on each server."""
    lines = [
        f"{server['server']}: {prompt['prompt']}: {prompt['state']}, {prompt['cached']} of {prompt['tokens']} tokens were cached"
        for server in result["servers"]
        for prompt in server["prompts"]
    ]
    return lines or [f"{result['name']}: no server is ready"]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
