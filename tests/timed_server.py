#!/usr/bin/env python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that sends each token when it is due, to measure a client: `timed_server.py TTFT ITL` (milliseconds) prints its port and serves until it is ended.

It never sleeps but reads the clock all the time, on its own core: timers, those of the simulator too, are late by up to a millisecond.
Every POST is a completion of `max_tokens` tokens, streamed.
"""

from __future__ import annotations

import heapq
import json
import select
import socket
import sys
import time

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def wrapped(*events: object) -> bytes:
    """Events as one chunk of a body."""
    payload = b"".join(b"data: " + (json.dumps(event) if isinstance(event, dict) else str(event)).encode() + b"\n\n" for event in events)
    return b"%x\r\n%b\r\n" % (len(payload), payload)


TOKEN = wrapped({"object": "text_completion", "choices": [{"index": 0, "text": " token", "finish_reason": None}]})


def last(tokens: int) -> bytes:
    """The last token and the end."""
    end = {"object": "text_completion", "choices": [{"index": 0, "text": " token", "finish_reason": "length"}]}
    usage = {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1}}
    return wrapped(end) + wrapped(usage, "[DONE]") + b"0\r\n\r\n"


class Server:
    """One thread. The scheduled tokens are in a heap: (when, order, connection, tokens sent, tokens requested)."""

    def __init__(self, ttft: float, itl: float) -> None:
        self._ttft, self._itl = ttft, itl
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self._listener.setblocking(False)
        self._poll = select.epoll()
        self._poll.register(self._listener, select.EPOLLIN)
        self._open: dict[int, tuple[socket.socket, bytearray]] = {}
        self._due: list[tuple[float, int, socket.socket, int, int]] = []
        self._order = 0
        self.port = self._listener.getsockname()[1]

    def serve(self) -> None:
        """Serve until the process is ended."""
        while True:
            for number, _event in self._poll.poll(0):
                if number == self._listener.fileno():
                    self._accept()
                else:
                    self._read(number)
            while self._due and self._due[0][0] <= time.monotonic():
                self._send(*heapq.heappop(self._due))

    def _accept(self) -> None:
        made, _address = self._listener.accept()
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._open[made.fileno()] = made, bytearray()
        self._poll.register(made, select.EPOLLIN)

    def _read(self, number: int) -> None:
        connection, held = self._open[number]
        came = time.monotonic()
        try:
            data = connection.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            self._poll.unregister(connection)
            connection.close()
            del self._open[number]
            return
        held += data
        head, end, body = bytes(held).partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]):
            held.clear()
            self._plan(came + self._ttft, connection, 0, int(json.loads(body)["max_tokens"]))

    def _plan(self, when: float, connection: socket.socket, sent: int, tokens: int) -> None:
        self._order += 1
        heapq.heappush(self._due, (when, self._order, connection, sent, tokens))

    def _send(self, when: float, _order: int, connection: socket.socket, sent: int, tokens: int) -> None:
        try:
            connection.sendall((HEAD if not sent else b"") + (TOKEN if sent + 1 < tokens else last(tokens)))
        except OSError:
            return  # the client has gone
        if sent + 1 < tokens:
            self._plan(when + self._itl, connection, sent + 1, tokens)


def main() -> None:
    """TTFT and ITL in milliseconds."""
    server = Server(*(float(given) / 1000 for given in sys.argv[1:3]))
    print(server.port, flush=True)
    server.serve()


if __name__ == "__main__":
    main()
