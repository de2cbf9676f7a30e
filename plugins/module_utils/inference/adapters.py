# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads and unloads LoRA adapters of running servers through vLLM's API, until each server has the requested adapters and no others."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.objects import Facts, dicts, text
from ..http.errors import ExchangeError
from .client import OpenAIClient
from .responses import error_message, require_ok
from .targets import ServerTarget, Targets, of_service, on_each, ready

LIST_TIMEOUT = 30.0  # seconds
# https://docs.vllm.ai/en/latest/features/lora/#dynamically-serving-lora-adapters
LOAD, UNLOAD = "/v1/load_lora_adapter", "/v1/unload_lora_adapter"
HAS, LOADED, UNLOADED, FAILED, WAITING = "has", "loaded", "unloaded", "failed", "not_ready"
_CLOSED = (
    "the server takes no adapters while it runs: start vLLM with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True, as model.adapters_at_runtime does"
)


def listed(client: OpenAIClient) -> dict[str, str]:
    """{name: source} of the adapters that a server lists: the models with a parent. Raises ExchangeError."""
    models = dicts(client.json("/v1/models", LIST_TIMEOUT).get("data"))
    return {text(model.get("id")): text(model.get("root")) for model in models if model.get("parent")}


def steps(has: c.Mapping[str, str], wanted: c.Mapping[str, str]) -> list[tuple[str, str]]:
    """(UNLOADED or LOADED, name) of each step at a server; unloading comes first, since it makes room. has, wanted: {name: source}. Pure."""
    stale = [name for name, source in has.items() if wanted.get(name) != source]
    return [(UNLOADED, name) for name in stale] + [(LOADED, name) for name in wanted if name not in has or name in stale]


class Adapters:
    """`params`: the options of vllm_adapters. Raises ValueError for options that contradict each other; `run` raises nothing."""

    def __init__(self, params: Facts, cluster: t.Any = None) -> None:
        self._params = params
        self._reach = Targets(params, cluster)

    def run(self, check: bool) -> list[Facts]:
        """For each service {name, problem, servers: [{server, before, after: {name: source}, adapters: [{adapter, state, evidence, remedy}]}]}.

        check: only list the adapters, and return the steps that would be done.
        """
        services = self._params["services"]
        resolved = [self._targets(service) for service in services]
        done = on_each([targets for targets, _error in resolved], lambda index, target: self._server(target, services[index], check))
        return [
            {"name": service["name"], "problem": error, "servers": servers}
            for service, (_targets, error), servers in zip(services, resolved, done, strict=True)
        ]

    def _targets(self, service: Facts) -> tuple[list[ServerTarget], str]:
        """(servers, error) of a service."""
        try:
            return [target for targets, _count in of_service(self._params, service, self._reach) for target in targets], ""
        except Exception as error:  # pylint: disable=broad-except  # k8s.client words every error for people; the other services go on
            return [], str(error)

    def _server(self, target: ServerTarget, service: Facts, check: bool) -> Facts:
        wanted = {adapter["name"]: adapter["source"] for adapter in service["adapters"]}
        if not ready(target.pod):
            row = _row("all", WAITING, f"{target.name} is not ready", "run this again once it is")
            return {"server": target.name, "before": {}, "after": {}, "adapters": [row]}
        try:
            before = listed(target.client)
        except ExchangeError as error:
            return {"server": target.name, "before": {}, "after": {}, "adapters": [_row("all", FAILED, str(error), error.remedy)]}
        rows, after = [], dict(before)
        failed = set()
        for state, name in steps(before, wanted):
            if name in failed:  # it is loaded from its old source still
                continue
            failure = None if check else self._do(target.client, state, name, wanted.get(name, ""))
            if failure:
                rows.append(_row(name, FAILED, str(failure), failure.remedy))
                failed.add(name)
                continue
            rows.append(_row(name, state))
            after.pop(name, None)
            after |= {name: wanted[name]} if state == LOADED else {}
        rows += [_row(name, HAS) for name, source in wanted.items() if before.get(name) == source]
        return {"server": target.name, "before": before, "after": after, "adapters": rows}

    def _do(self, client: OpenAIClient, state: str, name: str, source: str) -> ExchangeError | None:
        """Loads or unloads one adapter; returns the error where that fails."""
        body = {"lora_name": name, **({"lora_path": source} if state == LOADED else {})}
        try:
            answer = client.post(LOAD if state == LOADED else UNLOAD, body, self._params["request_timeout"])
            if answer.status in (404, 405) and not error_message(answer):  # there is no such page; for an adapter that does not exist, vLLM sends a message
                return ExchangeError("not_found", f"{answer.request}: {answer.status}", _CLOSED, answer.status)
            require_ok(answer)
        except ExchangeError as error:
            return error
        return None


def rows(service: Facts, *states: str) -> list[tuple[str, Facts]]:
    """(server, adapter) for each adapter of a service in one of these states. Pure."""
    return [(server["server"], adapter) for server in service["servers"] for adapter in server["adapters"] if adapter["state"] in states]


def shown(services: c.Sequence[Facts], when: str) -> str:
    """One line for each adapter of each server, `when` before or after, for a diff. Pure."""
    lines = [f"{server['server']}: {name} from {source}" for service in services for server in service["servers"] for name, source in server[when].items()]
    return "".join(f"{line}\n" for line in sorted(lines))


def _row(adapter: str, state: str, evidence: str = "", remedy: str = "") -> Facts:
    return {"adapter": adapter, "state": state, "evidence": evidence, "remedy": remedy}
