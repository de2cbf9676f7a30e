# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions that upstream tested with each release line of the endpoint picker, and the images of engines for it. Pure.

A pair is of minor releases: 0.26 is 0.26.0 and 0.26.1.
"""

from __future__ import annotations

import typing as t


class Pair(t.NamedTuple):
    """A release of llm-d. vllm: the version that it was tested with, which is installed; gie: minor releases of the inference extension; page: the source."""

    llm_d: str
    vllm: str
    gie: tuple[str, ...]
    page: str


PAIRS: dict[str, Pair] = {
    # GIE 1.6 by llm-d-benchmark 0.8, whose defaults are router 0.10.0, vLLM 0.26.0 and GIE 1.6.0.
    "router-0.10": Pair("0.9.0", "0.26.0", ("1.5", "1.6"), "https://github.com/llm-d/llm-d/releases/tag/v0.9.0"),
    # The table of artifacts names vLLM; that its router is 0.11 is inferred. The router's own tree of 2026-08-22 has GIE 1.5.
    "router-0.11": Pair("0.10.0", "0.30.0", ("1.5",), "https://github.com/llm-d/llm-d/blob/main/docs/api-reference/artifacts.md"),
}
# The simulator for these lines, by our tests and those of upstream.
_OLDER_SIMULATOR, NEWER_SIMULATOR = "0.10.2", ("router-0.11",)


def paired(image: str, engine: str, line: str, newest: str) -> str:
    """A tested image of an engine in the version that goes with a release line, where its tag is that of the newest; any other as it is."""
    pair = PAIRS.get(line)
    version = pair.vllm if engine == "vllm" and pair else _OLDER_SIMULATOR if engine == "simulator" and line not in NEWER_SIMULATOR else None
    name, colon, tag = image.rpartition(":")
    return f"{name}{colon}v{version}" if version and tag == newest.rpartition(":")[2] else image


def minor(version: str) -> str:
    """0.26 of v0.26.1."""
    return ".".join(version.removeprefix("v").split(".")[:2])


def others(line: str, vllm: str | None, gie: str | None) -> str:
    """How a pair differs from the one that upstream tested; empty if it does not, if no tested pair is known, and for unknown versions."""
    pair = PAIRS.get(line)
    if not pair:
        return ""
    differences = [f"vLLM {vllm}"] if vllm and minor(vllm) != minor(pair.vllm) else []
    differences += [f"inference extension {gie}"] if gie and minor(gie) not in pair.gie else []
    tested = f"vLLM {pair.vllm} and inference extension {' or '.join(pair.gie)}"
    return f"{line} with {' and '.join(differences)} is another pair than upstream tested: llm-d {pair.llm_d} has it with {tested}" if differences else ""
