# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client for OpenAI-compatible servers: vLLM, SGLang, TensorRT-LLM, the simulator, or a gateway in front of them."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import json
import typing as t

from ..http.answer import Answer
from ..http.errors import ExchangeError
from ..http.headers import merged
from ..http.transport import Transport
from . import responses

JSON_HEADERS = {"Content-Type": "application/json"}
PATHS = {"completions": "/v1/completions", "chat_completions": "/v1/chat/completions"}


@dataclasses.dataclass(frozen=True)
class Reply:
    """A completion and the HTTP response it was read from."""

    completion: responses.Completion
    answer: Answer


class OpenAIClient:
    """One server. A request takes `timeout` seconds at most. Methods raise ExchangeError, except `version`."""

    def __init__(self, transport: Transport, api_key: str | None = None, headers: c.Mapping[str, str] | None = None) -> None:
        self._transport = transport
        self._secrets = (api_key,) if api_key else ()
        self._headers = dict(headers or {})
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"

    def get(self, path: str, timeout: float = 10.0) -> Answer:
        """The response of a GET, of any status."""
        return self._transport.request("GET", path, headers=self._headers, timeout=timeout)

    def health(self, timeout: float = 10.0, path: str = "/health") -> Answer:
        """The response of `/health`. Status 200 means that the process answers, not that it serves a model."""
        answer = self.get(path, timeout)
        responses.require_ok(answer, self._secrets)
        return answer

    def json(self, path: str, timeout: float = 10.0) -> dict[str, t.Any]:
        """The JSON object that a GET returns."""
        return responses.json_object(self.get(path, timeout), self._secrets)

    def post(self, path: str, payload: dict[str, t.Any], timeout: float = 10.0, until: bytes | None = None) -> Answer:
        """The response of a POST with a JSON body, of any status. With `until`, reading stops after these bytes."""
        return self._transport.request("POST", path, json.dumps(payload).encode(), merged(JSON_HEADERS, self._headers.items()), timeout, until)

    def version(self, timeout: float = 10.0) -> str | None:
        """The version that `/version` returns; None where the server has no such page (the simulator, some gateways)."""
        try:
            value = responses.json_object(self.get("/version", timeout)).get("version")
        except ExchangeError:
            return None
        return value if isinstance(value, str) else None

    def models(self, timeout: float = 10.0) -> list[responses.Model]:
        """The models in `/v1/models`."""
        return responses.models(self.get("/v1/models", timeout), self._secrets)

    def complete(
        self,
        model: str,
        prompt: str,
        max_tokens: int = 1,
        stream: bool = False,
        api: str = "completions",
        timeout: float = 30.0,
        system: str = "",
        temperature: float = 0,
    ) -> Reply:
        """One completion of a prompt. `api` is completions or chat_completions; `system` is the system message of a chat."""
        payload: dict[str, t.Any] = {"model": model, "max_tokens": max_tokens, "temperature": temperature}
        if api == "chat_completions":
            payload["messages"] = [*([{"role": "system", "content": system}] if system else []), {"role": "user", "content": prompt}]
        else:
            payload["prompt"] = prompt
        if stream:
            payload.update(stream=True, stream_options={"include_usage": True})
        answer = self.post(PATHS[api], payload, timeout, b"data: [DONE]" if stream else None)
        try:
            return Reply((responses.streamed if stream else responses.completion)(answer, self._secrets, api), answer)
        except ExchangeError as trouble:
            raise self._with_models(trouble, model, timeout) from None

    def _with_models(self, trouble: ExchangeError, model: str, timeout: float) -> ExchangeError:
        """The error of a completion. A 404 usually means a wrong model name: the error then lists the models of the server, from one more request."""
        if trouble.status != 404 or trouble.kind != "not_found":
            return trouble
        try:
            served = [entry.id for entry in self.models(min(timeout, 5.0))]
        except ExchangeError:
            return trouble
        if model in served:
            return trouble
        return ExchangeError(
            "model", f"{trouble}; the server lists {', '.join(served) or 'no model'}", f"ask for one of those, or serve {model!r} under that name", 404
        )
