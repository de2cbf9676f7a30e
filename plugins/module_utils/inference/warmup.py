# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends prompts to every server of some services, so that they lie in the prefix caches, and writes down what the servers had of them."""

from __future__ import annotations

import collections.abc as c
import concurrent.futures
import typing as t

from ..common.objects import mapping
from ..http.errors import Trouble
from . import warmup_states
from .client import OpenAIClient
from .targets import ServerTarget, Targets, ready

Facts = dict[str, t.Any]

THREADS = 16  # servers asked at the same time, each for one prompt after the other
RETRIES = 2
NEXT = "Hello."  # what the user of a chat says: what comes behind the system message is cut off the cached part


class WarmupError(Exception):
    """Why a service cannot be warmed up, with its remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


class Warmup:
    """`params`: the module's options; those that do not fit raise ValueError. `run` raises nothing, since a cold cache is a finding."""

    def __init__(self, params: Facts) -> None:
        self._params = {**params, "retries": RETRIES}
        self._reach = Targets(self._params)

    def run(self) -> list[Facts]:
        """For each service {name, wrong, remedy, servers: [{server, prompts: [{prompt, state, tokens, cached, evidence, remedy}]}]}."""
        found = [self._found(service) for service in self._params["services"]]
        jobs = [(target, prompts, service) for service, (targets, prompts, _wrong) in zip(self._params["services"], found) for target in targets]
        with concurrent.futures.ThreadPoolExecutor(max_workers=THREADS) as pool:
            answers = iter(list(pool.map(lambda job: self._warm(*job), jobs)))
        return [
            {
                "name": service["name"],
                "wrong": str(wrong or ""),
                "remedy": wrong.remedy if wrong else "",
                "servers": [{"server": target.name, "prompts": next(answers)} for target in targets],
            }
            for service, (targets, _prompts, wrong) in zip(self._params["services"], found)
        ]

    def _found(self, service: Facts) -> tuple[list[ServerTarget], dict[str, str], WarmupError | None]:
        """The servers and the named prompts of a service, and what is wrong with them as a whole. What can be warmed is warmed all the same."""
        try:
            prompts = warmup_states.names(service["prompts"] or [], self._config_map(service["config_map"]))
            targets, missing = self._targets(service)
        except WarmupError as mistake:
            return [], {}, mistake
        except ValueError as error:
            return [], {}, WarmupError(str(error), "correct the options")
        except Exception as error:  # pylint: disable=broad-except  # cluster.py words every trouble for people; the other services go on
            return [], {}, WarmupError(str(error), "check the connection to the API server, and the right to list pods")
        return targets, prompts, missing

    def _config_map(self, wanted: Facts | None) -> dict[str, str]:
        if not wanted:
            return {}
        where = f"ConfigMap {wanted['namespace']}/{wanted['name']}"
        found = self._reach.cluster.find(f"/api/v1/namespaces/{wanted['namespace']}/configmaps/{wanted['name']}")
        if found is None:
            raise WarmupError(f"there is no {where}", f"kubectl --namespace {wanted['namespace']} create configmap {wanted['name']} --from-file=FOLDER")
        values = {key: value for key, value in mapping(found.get("data")).items() if isinstance(value, str) and value.strip()}
        if not values:
            raise WarmupError(f"{where} has no prompt in its data", "put a prompt under each key")
        return values

    def _targets(self, service: Facts) -> tuple[list[ServerTarget], WarmupError | None]:
        if service["urls"]:
            return Targets({**self._params, "urls": service["urls"]}).find(), None
        found, missing = [], None
        for group in service["replicas"]:
            targets = Targets({**self._params, "replicas": group}, self._reach.cluster).find()
            if len(targets) < group["count"]:
                missing = WarmupError(f"{len(targets)} of {group['count']} servers are there", "look at the Deployment of the servers")
            found += targets
        return found, missing

    def _warm(self, target: ServerTarget, prompts: c.Mapping[str, str], service: Facts) -> list[Facts]:
        """One prompt after the other. A server that gives no answer at all is not asked for the rest."""
        if not ready(target.pod):
            return [_failed(name, "the pod is not ready", "look at the pod and at its log") for name in prompts]
        rows: list[Facts] = []
        silent: Trouble | None = None
        for name, prompt in prompts.items():
            try:
                if silent is not None:
                    raise silent
                rows.append(self._answered(name, prompt, target.client, service))
            except Trouble as trouble:
                silent = trouble if trouble.status is None else None
                said = str(trouble).replace(prompt, "(the prompt)")  # a server may say it again, and warnings are not censored
                rows.append(_failed(name, said, trouble.remedy))
        return rows

    def _answered(self, name: str, prompt: str, client: OpenAIClient, service: Facts) -> Facts:
        """One prompt at one server. Raises Trouble."""
        block = service["block_size"]
        tokens, cached = self._ask(prompt, client, service)
        if tokens is not None and cached is None and warmup_states.reusable(tokens, block):
            # vLLM leaves the number out where it would be nought: only a second answer tells that from a server that never says it
            cached = None if self._ask(prompt, client, service)[1] is None else 0
        found = {"prompt": name, "state": warmup_states.state(tokens, cached, block), "tokens": tokens, "cached": cached, "evidence": "", "remedy": ""}
        if found["state"] == warmup_states.SHORT:
            evidence = f"{name} has {tokens} tokens, which do not fill a KV-cache block of {block} and go on behind it, so none of it is kept"
            return {**found, "evidence": evidence, "remedy": "write a longer prompt, or take it out"}
        if found["state"] == warmup_states.WARMED:
            return {
                **found,
                "evidence": f"{name}: {cached} of {tokens} tokens were in the cache, where {warmup_states.reusable(tokens or 0, block)} could have been",
            }
        return found

    def _ask(self, prompt: str, client: OpenAIClient, service: Facts) -> tuple[int | None, int | None]:
        """Tokens of the prompt, and how many of them came from the cache. Raises Trouble."""
        chat, timeout = service["api"] == "chat_completions", self._params["request_timeout"]
        words = {"prompt": NEXT, "system": prompt} if chat else {"prompt": prompt}
        completion = client.complete(service["model"], api=service["api"], timeout=timeout, **words).completion
        return completion.prompt_tokens, completion.cached_tokens


def _failed(name: str, evidence: str, remedy: str) -> Facts:
    return {"prompt": name, "state": warmup_states.FAILED, "tokens": None, "cached": None, "evidence": f"{name}: {evidence}", "remedy": remedy}
