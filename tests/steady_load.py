"""An open-loop client: requests leave at a fixed rate, whatever the answers do; each one without a complete answer is reported with its reason."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import json
import threading
import time
import typing as t
import urllib.parse


@dataclasses.dataclass
class Report:
    """The results of the requests. lost: (seconds since the start, reason) of each without a complete answer."""

    sent: int = 0
    statuses: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)
    lost: list[tuple[float, str]] = dataclasses.field(default_factory=list)
    latencies: list[float] = dataclasses.field(default_factory=list)
    pods: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    latest: float = 0.0  # the largest delay of a request's start against its schedule, in seconds
    seconds: float = 0.0

    def __str__(self) -> str:
        ordered = sorted(self.latencies) or [0.0]
        return (
            f"{self.sent} requests in {self.seconds:.1f} s ({self.sent / max(self.seconds, 0.001):.1f}/s, latest {self.latest * 1000:.0f} ms late), "
            f"statuses {dict(self.statuses)}, lost {len(self.lost)}{self.lost[:20] or ''}, "
            f"p50 {ordered[len(ordered) // 2] * 1000:.0f} ms, max {ordered[-1] * 1000:.0f} ms"
        )


class SteadyLoad:
    """Sends until the context ends, then waits for the in-flight requests. Read `report` afterwards."""

    def __init__(self, url: str, model: str, rate: float, timeout: float = 60.0, long_every: int = 50, long_tokens: int = 400):
        parts = urllib.parse.urlsplit(url)
        self._host, self._port, self._path = parts.hostname or "", parts.port or 80, parts.path.rstrip("/")
        self._model, self._rate, self._timeout = model, rate, timeout
        self._long_every, self._long_tokens = long_every, long_tokens
        self._end = threading.Event()
        self._begin = 0.0
        self.report = Report()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> SteadyLoad:
        self._thread.start()
        return self

    def __exit__(self, *_exc: t.Any) -> None:
        self._end.set()
        self._thread.join(self._timeout + 30)

    async def _run(self) -> None:
        self._begin, in_flight = time.monotonic(), set()
        while not self._end.is_set():
            due = self._begin + self.report.sent / self._rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            self.report.latest = max(self.report.latest, time.monotonic() - due)
            task = asyncio.create_task(self._one(self.report.sent))
            in_flight.add(task)
            task.add_done_callback(in_flight.discard)
            self.report.sent += 1
        self.report.seconds = time.monotonic() - self._begin
        endless: set[asyncio.Task[None]] = set()
        if in_flight:
            _ended, endless = await asyncio.wait(in_flight, timeout=self._timeout + 5)  # each ends by its own limit, and counts itself
        self.report.lost += [(self.report.seconds, "no end of the answer")] * len(endless)

    async def _one(self, number: int) -> None:
        start, streamed = time.monotonic(), number % 2 == 0
        tokens = self._long_tokens if self._long_every and number % self._long_every == 0 else 4
        story = number if number % 5 == 0 else number % 7  # a fifth of the prompts is new: a repeated one stays with the server that has its prefix
        body = {"model": self._model, "prompt": f"Story {story} of the river. " * 8, "max_tokens": tokens, "ignore_eos": True, "stream": streamed}
        try:
            status, headers, content = await asyncio.wait_for(self._exchange(json.dumps(body).encode()), self._timeout)
            self.report.statuses[status] += 1
            why = trouble(status, content, streamed)
        except Exception as exc:  # whatever it is, this request was lost
            self.report.lost.append((start - self._begin, f"{type(exc).__name__}: {exc}"))
            return
        if why:
            self.report.lost.append((start - self._begin, why))
        else:
            self.report.latencies.append(time.monotonic() - start)
            self.report.pods[headers.get("x-inference-pod", "")] += 1

    async def _exchange(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            head = f"POST {self._path}/v1/completions HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\nConnection: close\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.strip().lower(): value.strip() for name, _colon, value in (line.partition(":") for line in lines[1:] if line)}
            if "content-length" in headers:
                content = await reader.readexactly(int(headers["content-length"]))
            elif headers.get("transfer-encoding", "").lower() == "chunked":
                content = await chunks(reader)
            else:
                content = await reader.read()
            return int(lines[0].split()[1]), headers, content
        finally:
            writer.close()


async def chunks(reader: asyncio.StreamReader) -> bytes:
    """A chunked body. Raises IncompleteReadError if it ends early."""
    content = b""
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        content += await reader.readexactly(size)
        await reader.readexactly(2)
        if size == 0:
            return content


def trouble(status: int, content: bytes, streamed: bool) -> str:
    """Why an answer is not a complete completion; empty if it is."""
    text = content.decode("utf-8", "replace")
    if status != 200:
        return f"status {status}: {text[:200]}"
    events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")] if streamed else [text]
    if streamed and (not events or events[-1] != "[DONE]"):
        return f"the stream ends without [DONE]: {text[-200:]!r}"
    finished = False
    for event in events:
        if event == "[DONE]":
            continue
        payload = json.loads(event)
        if "error" in payload:
            return f"an error in the answer: {event[:200]}"
        finished = finished or any(choice.get("finish_reason") for choice in payload.get("choices") or [])
    return "" if finished else f"no finish_reason: {text[-200:]!r}"
