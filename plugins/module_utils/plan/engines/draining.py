# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a terminating model server, endpoint picker or proxy of the Gateway keeps its in-flight requests. Pure.

A deleted pod pauses (preStop), since requests still reach it until the endpoint picker and the proxies have removed it. It then receives SIGTERM. Some engines
finish their requests after that, within a timeout that is configured or built in. The pod then has some time to end. Its grace period is the sum.
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
# The minimum pause of a server that finishes requests after SIGTERM within a built-in timeout.
LEAST_PAUSE = 5
# Seconds that a model server needs to free its memory after its last request.
END_SECONDS = 55
# Seconds that an endpoint picker gives in-flight requests after SIGTERM, and the option for it, since router 0.10.
PICKER_DRAIN, PICKER_OPTION = 30, "drain-timeout"
PICKER_PAUSE, PICKER_END = 30, 10
# Seconds that the proxies of Envoy Gateway get, since its own default of 60 is less than the servers have; the providers where this can be configured.
PROXY_DRAIN, CONFIGURED_PROXIES = 120, ("envoy_gateway", "envoy_ai_gateway")
OPTION = "shutdown-timeout"  # of vLLM
_UNITS = {"h": 3600, "m": 60, "s": 1, "ms": 0.001}


def drain_seconds(service: Facts) -> int:
    """Seconds that a terminating server gives its in-flight requests."""
    engine = service["engine"]
    return int(engine["drain_seconds"] or ENGINE_DEFAULTS[engine["type"]]["drain_seconds"])


def server_drain(service: Facts, user: Facts, role: str) -> Facts:
    """{drain_seconds, pause, termination_grace, args} of the servers of a role."""
    seconds = drain_seconds(service)
    own_seconds = ENGINE_DEFAULTS[service["engine"]["type"]]["own_drain"]
    pause, args = max(LEAST_PAUSE, seconds - own_seconds) if own_seconds else seconds, []
    if _has_timeout(service, user, role):
        pause, args = PAUSE, [f"--{OPTION}={seconds}"]
    # With --shutdown-timeout, requests that arrive during the pause have as long as any other.
    return {"drain_seconds": seconds, "pause": pause, "termination_grace": (pause if args else 0) + seconds + END_SECONDS, "args": args}


def _has_timeout(service: Facts, user: Facts, role: str) -> bool:
    """Whether vLLM gets --shutdown-timeout. Otherwise the pod pauses for the whole time, however few requests there are.

    Prefill servers and groups of several nodes do not: a prefill server has finished a request before a decode server has fetched its KV cache, and all pods
    of a group have to stay as long as one of them is needed.
    """
    if service["engine"]["type"] != "vllm" or role != "decode" or service["accelerator"]["nodes"] > 1:
        return False
    version = vllm_version(service, user)
    return OPTION in flags_of(service["engine"]["args"]) or (version is not None and vllm.has_option(version, f"--{OPTION}"))


def picker_drain(service: Facts) -> Facts:
    """{drain_seconds, termination_grace} of the endpoint picker: at least the time of its servers, since answers pass through it."""
    timeout, configured = _picker_timeout(service), service["scheduler"]["drain_seconds"]
    pause = int(configured or max(PICKER_PAUSE, drain_seconds(service) - timeout))
    return {"drain_seconds": pause, "termination_grace": pause + timeout + PICKER_END}


def _picker_timeout(service: Facts) -> int:
    value = flags_of(service["scheduler"]["args"]).get(PICKER_OPTION)
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|h|m|s)", value or "")
    return int(-(-sum(float(number) * _UNITS[unit] for number, unit in parts) // 1)) if parts else PICKER_DRAIN


def proxy_drain(settings: Facts) -> int | None:
    """Seconds for which a terminating proxy of the Gateway keeps its connections; None where the plan does not set it. It does not depend on model services,
    since a change replaces the proxy."""
    return int(settings["drain_seconds"] or PROXY_DRAIN) if settings["provider"] in CONFIGURED_PROXIES and settings["create"] else None


def proxy_drain_rule(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    """A drain time for proxies that this collection does not configure."""
    if settings["drain_seconds"] and proxy_drain(settings) is None:
        why = f"is for Gateways that we create with {' or '.join(CONFIGURED_PROXIES)}; elsewhere it has no effect."
        yield Problem("llm_d_gateway.drain_seconds", settings["drain_seconds"], why, "Take it out.")


def drain_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    """Times that contradict each other: one component would cut answers that another still gives time to finish."""
    seconds, engine, problems = drain_seconds(service), service["engine"], []
    argument = flags_of(engine["args"]).get(OPTION) if engine["type"] == "vllm" else None
    number = vllm.number_of(argument) if argument is not None else None
    if argument is not None and number != seconds:
        why = (
            f"contradicts engine.drain_seconds, which is {seconds}: the pod's grace period and the drain of the endpoint picker and of the gateway follow that."
        )
        fix = f"Take it out and write engine.drain_seconds: {number}." if number is not None and 5 <= number <= 3600 else "Take it out."
        problems.append(Problem(place_of(engine["args"], OPTION, f"{path}.engine.args"), f"--{OPTION}={argument}", why, fix))
    proxies = proxy_drain(user["llm_d_gateway"])
    if proxies is not None and proxies < seconds:
        why = f"answers pass through the gateway's proxy, which cuts them {proxies} s after its deletion (llm_d_gateway.drain_seconds)."
        problems.append(Problem(f"{path}.engine.drain_seconds", seconds, why, f"Write llm_d_gateway.drain_seconds: {seconds}, or at most {proxies} here."))
    configured, timeout = service["scheduler"]["drain_seconds"], _picker_timeout(service)
    end = (configured or 0) + timeout
    if engine["drain_seconds"] and configured and end < seconds:
        why = f"answers pass through the endpoint picker, which ends them {end} s after its deletion ({timeout} s of its own), and servers have {seconds} s."
        fix = f"Write {seconds - timeout} or more, leave it out, or write engine.drain_seconds: {end}."
        problems.append(Problem(f"{path}.scheduler.drain_seconds", configured, why, fix))
    return problems
