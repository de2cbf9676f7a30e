# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One request of the load client, and the body that it sends. Pure."""

from __future__ import annotations

import dataclasses
import json
import typing as t

PATHS = {"completions": "/v1/completions", "chat_completions": "/v1/chat/completions"}


@dataclasses.dataclass(slots=True)
class Call:
    """A request: its number in the run, the prefix group or conversation it belongs to, its path and body.

    `output_len`: tokens that the answer must have, fewer are a failure; 0 for any number. `keep_text`: whether the text of the answer is kept.
    `follow`: what the workload needs to make the request after this one; `turn`: the turn of a conversation.
    """

    number: int
    group: int
    model: str
    path: str
    body: bytes
    output_len: int = 0
    stream: bool = True
    keep_text: bool = False
    follow: t.Any = None
    turn: int = 0


@dataclasses.dataclass(frozen=True)
class Shape:
    """The properties that all requests of a run share."""

    api: str = "completions"
    stream: bool = True
    ignore_eos: bool = True
    temperature: float | None = 0.0
    extra: tuple[tuple[str, t.Any], ...] = ()  # fields that the user adds to each body

    @property
    def path(self) -> str:
        """The path below the server's address."""
        return PATHS[self.api]

    def body(self, model: str, prompt: str | list[dict[str, str]], output_len: int | None) -> bytes:
        """The JSON of one request. For chat a text becomes one message of the user; for completions messages become lines of one prompt."""
        fields: dict[str, t.Any] = {"model": model}
        if self.api == "chat_completions":
            fields["messages"] = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        else:
            fields["prompt"] = prompt if isinstance(prompt, str) else "\n".join(message["content"] for message in prompt)
        if output_len:
            fields["max_tokens"] = output_len
        if self.temperature is not None:
            fields["temperature"] = self.temperature
        if self.ignore_eos:
            fields["ignore_eos"] = True
        if self.stream:
            fields |= {"stream": True, "stream_options": {"include_usage": True}}
        return json.dumps({**fields, **dict(self.extra)}).encode()
