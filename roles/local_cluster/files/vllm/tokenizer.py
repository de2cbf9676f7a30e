# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidecar from which an endpoint picker requests token ids; it runs the Hugging Face tokenizer of a model.

Socket, port and health path are those of upstream's tokenizer. The protocol is read from the Go module that the endpoint picker is built with.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import http.server
import json
import signal
import sys
import threading
import typing as t
from pathlib import Path

import grpc
from transformers import AutoTokenizer

SOCKET = Path("/tmp/tokenizer/tokenizer-uds.socket")
HEALTH = 8082
# The limit of the endpoint picker; gRPC's default of 4 MiB is too small for a long chat.
MESSAGE = 100 << 20
sys.path.append("/opt/tokenizer")
messages, services = grpc.protos_and_services("tokenizer.proto")


@functools.cache
def tokenizer(model: str) -> t.Any:
    """The tokenizer of a folder, or of a repository of the hub."""
    return AutoTokenizer.from_pretrained(model)


def chat(message: t.Any) -> dict[str, t.Any]:
    """A message of the protocol, converted to the form that chat templates expect."""
    parts = [{"type": part.type, "text": part.text} for part in message.content_parts]
    converted: dict[str, t.Any] = {"role": message.role, "content": parts or message.content}
    if message.tool_calls_json:
        converted["tool_calls"] = json.loads(message.tool_calls_json)
    return converted


class Service(services.TokenizationServiceServicer):  # type: ignore[misc]
    """The four calls of the endpoint picker."""

    def InitializeTokenizer(self, request: t.Any, _context: t.Any) -> t.Any:
        try:
            tokenizer(request.model_name)
        except (OSError, ValueError) as error:
            return messages.InitializeTokenizerResponse(success=False, error_message=str(error)[:500])
        return messages.InitializeTokenizerResponse(success=True)

    def Tokenize(self, request: t.Any, _context: t.Any) -> t.Any:
        made = tokenizer(request.model_name)(request.input, add_special_tokens=request.add_special_tokens, return_offsets_mapping=True)
        pairs = [place for pair in made["offset_mapping"] for place in pair]
        return messages.TokenizeResponse(input_ids=made["input_ids"], offset_pairs=pairs, success=True)

    def RenderCompletion(self, request: t.Any, _context: t.Any) -> t.Any:
        return messages.RenderCompletionResponse(token_ids=tokenizer(request.model_name)(request.prompt)["input_ids"], success=True)

    def RenderChatCompletion(self, request: t.Any, _context: t.Any) -> t.Any:
        ids = tokenizer(request.model_name).apply_chat_template(
            [chat(message) for message in request.messages],
            tools=json.loads(request.tools_json) if request.tools_json else None,
            chat_template=request.chat_template or None,
            add_generation_prompt=request.add_generation_prompt if request.HasField("add_generation_prompt") else True,
            continue_final_message=request.continue_final_message,
            tokenize=True,
            return_dict=True,
            **(json.loads(request.chat_template_kwargs) if request.chat_template_kwargs else {}),
        )["input_ids"]
        return messages.RenderChatCompletionResponse(token_ids=ids, success=True)


class Health(http.server.BaseHTTPRequestHandler):
    """Answers 200 to /healthz."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *_arguments: t.Any) -> None:
        """Do not log probes."""


def main() -> None:
    # A container that is restarted finds the socket of its previous run.
    with contextlib.suppress(FileNotFoundError):
        SOCKET.unlink()
    options = [("grpc.max_receive_message_length", MESSAGE), ("grpc.keepalive_permit_without_calls", 1)]
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), options=options)
    services.add_TokenizationServiceServicer_to_server(Service(), server)
    server.add_insecure_port(f"unix://{SOCKET}")
    server.start()
    health = http.server.ThreadingHTTPServer(("", HEALTH), Health)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: threading.Thread(target=health.shutdown).start())
    print(f"tokenizing on {SOCKET}, healthy on port {HEALTH}", flush=True)
    health.serve_forever()
    server.stop(grace=10).wait()


if __name__ == "__main__":
    main()
