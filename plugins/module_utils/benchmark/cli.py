# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A measurement as a program that needs no Ansible: `python perf.pyz OPTIONS.json [--rows]`. `bundle` makes perf.pyz.

OPTIONS.json holds the complete options of `vllm_perf`. Progress goes to standard error, the result as JSON to standard output.
With `--rows`, for a Job, the requests come before the result, as `output.read` reads them; files are not written, and nothing is compared with a baseline.

The exit status is 0 when the verdict is passed or inconclusive, 1 when it is failed or invalid, and 2 when nothing was measured. SIGTERM and Ctrl-C end the
program at once, with 143 and 130.
"""

from __future__ import annotations

import json
import secrets
import signal
import sys
import typing as t

from . import execute, input_files, options, output
from .runner import Unusable


def _stop(*_args: t.Any) -> None:
    raise SystemExit(143)  # 128 + SIGTERM


def main(arguments: list[str]) -> int:
    """Perform the measurement and print its result. Returns the exit status."""
    signal.signal(signal.SIGTERM, _stop)
    if not arguments:
        sys.stderr.write("usage: python perf.pyz OPTIONS.json [--rows]\n")
        return 2
    try:
        with open(arguments[0], encoding="utf-8") as file:
            params = json.load(file)
        params["progress_path"] = params.get("progress_path") or "-"
        nonce = params.get("nonce") or secrets.token_hex(4)
        files = input_files.read(params)
        plan = options.plan(params, files.workload, nonce)
        rows = output.OutputRows() if "--rows" in arguments[1:] else None
        result = execute.measure(plan, params, nonce, t.cast(t.TextIO, rows)) if rows else execute.perform(plan, params, files, nonce)
    except (ValueError, OSError, Unusable) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    for line in rows.lines() if rows else ():
        sys.stdout.write(line + "\n")
    sys.stdout.write(json.dumps(result, allow_nan=False) + "\n")
    return 0 if result["verdict"] in ("passed", "inconclusive") else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
