# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long what terminates keeps its in-flight requests: model servers, their endpoint picker, the gateway's proxy. Pure.

A deleted pod pauses (preStop), since requests still reach it until endpoint picker and proxies know; then it receives SIGTERM, after which some engines finish
what they have, for as long as they are told or for a time of their own; then it has some time to end. The grace period of the pod is the sum.
"""

from __future__ import annotations

import re
import typing as t

from ...common.flags import flags_of, place_of
from ...common.objects import Facts
from ...releases import vllm
from ...releases.deployed import ENGINE_DEFAULTS
from ...schema.fields import Problem
from .engine import vllm_version

# Seconds for which requests may still reach a server whose deletion has begun.
PAUSE = 10
# The least pause of a server that finishes requests for a time of its own.
LEAST_PAUSE = 5
# Seconds that a model server needs to free its memory after its last request.
END_SECONDS = 55
# Seconds that an endpoint picker gives in-flight requests after SIGTERM, and the option of it that router 0.10 has.
PICKER_DRAIN, PICKER_OPTION = 30, "drain-timeout"
PICKER_PAUSE, PICKER_END = 30, 10
# Seconds that the proxies of Envoy Gateway have; its own default of 60 is less than servers have.
PROXY_DRAIN, TOLD_PROXIES = 120, ("envoy_gateway", "envoy_ai_gateway")
OPTION = "shutdown-timeout"  # of vLLM
_UNITS = {"h": 3600, "m": 60, "s": 1, "ms": 0.001}


def drain_seconds(service: Facts) -> int:
    """Seconds for which a terminating server has its in-flight requests finished."""
    engine = service["engine"]
    return int(engine["drain_seconds"] or ENGINE_DEFAULTS[engine["type"]]["drain_seconds"])


def server_drain(service: Facts, user: Facts, role: str) -> Facts:
    """{drain_seconds, pause, termination_grace, args} of the servers of a role."""
    whole = drain_seconds(service)
    own = ENGINE_DEFAULTS[service["engine"]["type"]]["own_drain"]
    pause, args = max(LEAST_PAUSE, whole - own) if own else whole, []
    if _is_told(service, user, role):
        pause, args = PAUSE, [f"--{OPTION}={whole}"]
    # Where it is told how long, requests that come during the pause have as long as any other.
    return {"drain_seconds": whole, "pause": pause, "termination_grace": (pause if args else 0) + whole + END_SECONDS, "args": args}


def _is_told(service: Facts, user: Facts, role: str) -> bool:
    """Whether vLLM is told how long to finish requests. Otherwise the pod pauses for the whole time, however few requests there are.

    A prefill server has no request any more for which a decode server still fetches KV caches, and of a group of several nodes all have to stay.
    """
    if service["engine"]["type"] != "vllm" or role != "decode" or service["accelerator"]["nodes"] > 1:
        return False
    version = vllm_version(service, user)
    return OPTION in flags_of(service["engine"]["args"]) or (version is not None and vllm.has_option(version, f"--{OPTION}"))


def picker_drain(service: Facts) -> Facts:
    """{drain_seconds, termination_grace} of the endpoint picker: no less than its servers have, since answers pass through it."""
    own, asked = _picker_own(service), service["scheduler"]["drain_seconds"]
    pause = int(asked or max(PICKER_PAUSE, drain_seconds(service) - own))
    return {"drain_seconds": pause, "termination_grace": pause + own + PICKER_END}


def _picker_own(service: Facts) -> int:
    said = flags_of(service["scheduler"]["args"]).get(PICKER_OPTION)
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|h|m|s)", said or "")
    return int(-(-sum(float(number) * _UNITS[unit] for number, unit in parts) // 1)) if parts else PICKER_DRAIN


def proxy_drain(settings: Facts) -> int | None:
    """Seconds for which a terminating proxy of the Gateway keeps its connections; None where the plan does not say. It follows from no model service, since
    a change replaces the proxy."""
    return int(settings["drain_seconds"] or PROXY_DRAIN) if settings["provider"] in TOLD_PROXIES and settings["create"] else None


def proxy_drain_rule(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    """A drain of proxies that somebody else sets up."""
    if settings["drain_seconds"] and proxy_drain(settings) is None:
        why = f"is for Gateways that we create with {' or '.join(TOLD_PROXIES)}; elsewhere nobody reads it."
        yield Problem("llm_d_gateway.drain_seconds", settings["drain_seconds"], why, "Take it out.")


def drain_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    """Times that contradict each other, so that one would cut answers which another has promised to finish."""
    whole, engine, found = drain_seconds(service), service["engine"], []
    said = flags_of(engine["args"]).get(OPTION) if engine["type"] == "vllm" else None
    number = vllm.number_of(said) if said is not None else None
    if said is not None and number != whole:
        why = f"contradicts engine.drain_seconds, which is {whole}: the pod's grace period and the drain of the endpoint picker and of the gateway follow that."
        fix = f"Take it out and write engine.drain_seconds: {number}." if number is not None and 5 <= number <= 3600 else "Take it out."
        found.append(Problem(place_of(engine["args"], OPTION, f"{path}.engine.args"), f"--{OPTION}={said}", why, fix))
    proxies = proxy_drain(user["llm_d_gateway"])
    if proxies is not None and proxies < whole:
        why = f"answers pass through the gateway's proxy, which cuts them {proxies} s after its deletion (llm_d_gateway.drain_seconds)."
        found.append(Problem(f"{path}.engine.drain_seconds", whole, why, f"Write llm_d_gateway.drain_seconds: {whole}, or at most {proxies} here."))
    asked, own = service["scheduler"]["drain_seconds"], _picker_own(service)
    if engine["drain_seconds"] and asked and asked + own < whole:
        why = f"answers pass through the endpoint picker, which ends them {asked + own} s after its deletion ({own} s of its own), and servers have {whole} s."
        fix = f"Write {whole - own} or more, leave it out, or write engine.drain_seconds: {asked + own}."
        found.append(Problem(f"{path}.scheduler.drain_seconds", asked, why, fix))
    return found
