# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends prompts to every server of services, so that their prefix caches hold them, and reports what was cached before."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common import prometheus_text as prometheus
from ..common.objects import Facts, mapping
from ..http.errors import ExchangeError
from ..releases import engines
from . import warmup_states
from .client import OpenAIClient
from .targets import ServerTarget, Targets, of_service, on_each, ready

RETRIES = 2
USUAL_BLOCK = 16  # tokens in a KV cache block of a server that does not export the number
NEXT = "Hello."  # the user message of a chat; only the system message before it is meant to be cached


class WarmupError(Exception):
    """The reason why a service cannot be warmed up; `remedy` says what to do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


class Warmup:
    """`params`: the options of vllm_warmup; `cluster`: a connection, where there is one already. Raises ValueError for options that contradict each other.

    `run` raises nothing: a cold cache is a result.
    """

    def __init__(self, params: Facts, cluster: t.Any = None) -> None:
        self._params = {**params, "retries": RETRIES}
        self._reach = Targets(self._params, cluster)

    def run(self) -> list[Facts]:
        """For each service {name, problem, remedy, servers: [{server, prompts: [{prompt, state, tokens, cached, evidence, remedy}]}]}."""
        resolved = [self._resolve(service) for service in self._params["services"]]
        services = self._params["services"]
        warmed = on_each([targets for targets, _prompts, _error in resolved], lambda index, target: self._warm(target, resolved[index][1], services[index]))
        return [
            {
                "name": service["name"],
                "problem": str(error or ""),
                "remedy": error.remedy if error else "",
                "servers": [{"server": target.name, "prompts": rows} for target, rows in zip(targets, each, strict=True)],
            }
            for service, (targets, _prompts, error), each in zip(services, resolved, warmed, strict=True)
        ]

    def _resolve(self, service: Facts) -> tuple[list[ServerTarget], dict[str, str], WarmupError | None]:
        """(servers, prompts by name, error) of a service. Servers and prompts that exist are warmed even when there is an error."""
        try:
            prompts = warmup_states.names(service["prompts"] or [], self._config_map(service["config_map"]))
            targets, missing = self._targets(service)
        except WarmupError as error:
            return [], {}, error
        except ValueError as error:
            return [], {}, WarmupError(str(error), "correct the options")
        except Exception as error:  # pylint: disable=broad-except  # k8s.client words every error for people; the other services go on
            return [], {}, WarmupError(str(error), "check the connection to the API server, and the permission to list pods")
        return targets, prompts, missing

    def _config_map(self, wanted: Facts | None) -> dict[str, str]:
        """The prompts of a ConfigMap by key; {} without one. Raises WarmupError and ClusterError."""
        if not wanted:
            return {}
        where = f"ConfigMap {wanted['namespace']}/{wanted['name']}"
        config_map = self._reach.cluster.find(f"/api/v1/namespaces/{wanted['namespace']}/configmaps/{wanted['name']}")
        if config_map is None:
            raise WarmupError(f"there is no {where}", f"kubectl --namespace {wanted['namespace']} create configmap {wanted['name']} --from-file=FOLDER")
        values = {key: value for key, value in mapping(config_map.get("data")).items() if isinstance(value, str) and value.strip()}
        if not values:
            raise WarmupError(f"{where} has no prompt in its data", "put a prompt under each key")
        return values

    def _targets(self, service: Facts) -> tuple[list[ServerTarget], WarmupError | None]:
        """(servers, the error where fewer exist than are planned)."""
        servers, missing = [], None
        for targets, count in of_service(self._params, service, self._reach):
            if len(targets) < count:
                missing = WarmupError(f"{len(targets)} of {count} servers exist", "check the Deployment of the servers")
            servers += targets
        return servers, missing

    def _warm(self, target: ServerTarget, prompts: c.Mapping[str, str], service: Facts) -> list[Facts]:
        """Send the prompts in turn; one row per prompt. After an exchange without a response the remaining prompts are not sent."""
        if not ready(target.pod):
            return [_failed(name, "the pod is not ready", "check the pod and its log") for name in prompts]
        rows: list[Facts] = []
        silent: ExchangeError | None = None
        service = {**service, "block_size": service["block_size"] or self._block_size(target.client)}
        for name, prompt in prompts.items():
            try:
                if silent is not None:
                    raise silent
                rows.append(self._warm_prompt(name, prompt, target.client, service))
            except ExchangeError as trouble:
                silent = trouble if trouble.status is None else None
                message = str(trouble).replace(prompt, "(the prompt)")  # the server may repeat the prompt, and warnings are not redacted
                rows.append(_failed(name, message, trouble.remedy))
        return rows

    def _block_size(self, client: OpenAIClient) -> int:
        """Tokens in a KV cache block, from the metrics of the server; USUAL_BLOCK where they do not export it."""
        try:
            samples = prometheus.parse(client.get("/metrics", min(self._params["request_timeout"], 10.0)).text)
        except ExchangeError:
            return USUAL_BLOCK
        engine = engines.engine_by_metrics(samples)
        size = engines.read_signals(engine, samples).get("block_size") if engine else None
        return int(size.value) if size and size.value and size.value >= 1 else USUAL_BLOCK

    def _warm_prompt(self, name: str, prompt: str, client: OpenAIClient, service: Facts) -> Facts:
        """The row of one prompt at one server, which the prompt is sent to. Raises ExchangeError."""
        block = service["block_size"]
        tokens, cached = self._complete(prompt, client, service)
        if tokens is not None and cached is None and warmup_states.reusable(tokens, block):
            # vLLM omits a count of 0: only a second answer distinguishes it from a server that never reports the count
            cached = None if self._complete(prompt, client, service)[1] is None else 0
        row = {"prompt": name, "state": warmup_states.state(tokens, cached, block), "tokens": tokens, "cached": cached, "evidence": "", "remedy": ""}
        if row["state"] == warmup_states.SHORT:
            evidence = f"{name} has {tokens} tokens, too few to fill a KV-cache block of {block} tokens, so none of it is cached"
            return {**row, "evidence": evidence, "remedy": "write a longer prompt, or remove it"}
        if row["state"] == warmup_states.WARMED:
            return {
                **row,
                "evidence": f"{name}: {cached} of {tokens} tokens were cached, of {warmup_states.reusable(tokens or 0, block)} that can be",
            }
        return row

    def _complete(self, prompt: str, client: OpenAIClient, service: Facts) -> tuple[int | None, int | None]:
        """(tokens of the prompt, tokens of it that came from the cache) of one completion. Raises ExchangeError."""
        chat, timeout = service["api"] == "chat_completions", self._params["request_timeout"]
        user, system = (NEXT, prompt) if chat else (prompt, "")
        completion = client.complete(service["model"], user, api=service["api"], timeout=timeout, system=system).completion
        return completion.prompt_tokens, completion.cached_tokens


def _failed(name: str, evidence: str, remedy: str) -> Facts:
    return {"prompt": name, "state": warmup_states.FAILED, "tokens": None, "cached": None, "evidence": f"{name}: {evidence}", "remedy": remedy}
