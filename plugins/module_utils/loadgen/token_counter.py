# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts the tokens of answers without `usage`, by the server's own /tokenize, so that no tokenizer is needed here."""

from __future__ import annotations

import asyncio
import collections.abc as c
import http.client
import json
import ssl
import typing as t
import urllib.parse

from ..http.headers import merged
from ..http.urls import AGENT, base_url
from .destination import Destination
from .record import MOST, Record
from .request import Call

WAITING = 2000  # answers that may wait to be counted; the tokens of one more are its chunks


class TokenCounter:
    """Counts one answer after the other, beside the load, and calls `done` with each record."""

    def __init__(self, destination: Destination, done: c.Callable[[Record, Call], None], tls: ssl.SSLContext | None = None, timeout: float = 10.0) -> None:
        self._destination, self._done, self._tls, self._timeout = destination, done, tls, timeout
        self._queue: asyncio.Queue[tuple[Record, Call]] = asyncio.Queue()
        self._connection: http.client.HTTPConnection | None = None
        self._task = asyncio.get_running_loop().create_task(self._work())
        self._works = True  # until the endpoint fails

    def put(self, record: Record, call: Call) -> None:
        """Count an answer."""
        if not self._works or record.text is None or self._queue.qsize() >= WAITING:
            in_chunks(record, call)
            self._done(record, call)
        else:
            self._queue.put_nowait((record, call))

    async def drain(self) -> None:
        """Wait until all are counted. Raises the error that stopped the counting."""
        counted = asyncio.ensure_future(self._queue.join())
        await asyncio.wait([counted, self._task], return_when=asyncio.FIRST_COMPLETED)
        counted.cancel()
        if self._task.done():
            self._task.result()

    async def close(self) -> None:
        """Stop counting and close the connection."""
        self._task.cancel()
        if self._connection is not None:
            self._connection.close()

    async def _work(self) -> None:
        while True:
            record, call = await self._queue.get()
            try:
                await self._one(record, call)
            finally:
                self._queue.task_done()
            self._done(record, call)

    async def _one(self, record: Record, call: Call) -> None:
        try:
            if not self._works:
                raise OSError
            record.output_tokens = await asyncio.to_thread(self._count, {"model": call.model, "prompt": record.text, "add_special_tokens": False})
            sent = json.loads(call.body)
            fields = {name: sent[name] for name in ("prompt", "messages") if name in sent}
            record.prompt_tokens = await asyncio.to_thread(self._count, {"model": call.model, **fields})
            record.token_source = "tokenize"
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            self._works = False
            in_chunks(record, call)

    def _count(self, fields: dict[str, t.Any]) -> int:
        parts = urllib.parse.urlsplit(base_url(self._destination.url))
        if self._connection is None:
            if parts.scheme == "https":
                self._connection = http.client.HTTPSConnection(parts.netloc, timeout=self._timeout, context=self._tls)
            else:
                self._connection = http.client.HTTPConnection(parts.netloc, timeout=self._timeout)
        headers = {"Content-Type": "application/json", "User-Agent": AGENT}
        if self._destination.host_header:
            headers["Host"] = self._destination.host_header
        if self._destination.api_key:
            headers["Authorization"] = f"Bearer {self._destination.api_key}"
        headers = merged(headers, self._destination.headers)
        self._connection.request("POST", f"{parts.path}/tokenize", json.dumps(fields), headers)
        answer = self._connection.getresponse()
        data = json.loads(answer.read(32 << 20))
        count = data.get("count") if answer.status == 200 and isinstance(data, dict) else None
        if not isinstance(count, int) or not 0 <= count <= MOST:
            raise ValueError("no count")
        return count


def in_chunks(record: Record, call: Call) -> None:
    """Take the events with content as tokens: servers send about one token in each. Those of an unstreamed answer are unknown."""
    record.output_tokens, record.token_source = (record.chunks, "chunks") if call.stream else (None, "none")
