"""An event loop with virtual time, and a load client with a simulated server: a measurement of minutes runs in milliseconds, always with the same result."""

from __future__ import annotations

import asyncio
import collections.abc as c
import selectors
import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.request import Call


class _Jump(selectors.DefaultSelector):
    """Never waits: the time for which the loop would wait is added to `now`."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def select(self, timeout: float | None = None) -> t.Any:
        self.now += timeout or 0.0
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose time jumps from one timer to the next."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.now

    def stall(self, seconds: float) -> None:
        """Nothing runs for this many seconds."""
        self._jump.now += seconds


class Server:
    """Answers `rate` requests per second, one after the other, each after `takes` seconds.

    error: the kind of failure of all requests from number `begins` on.
    stalls: by the number of a request, the seconds for which the client stalls when it sends the request.
    """

    def __init__(
        self, rate: float = float("inf"), takes: float = 0.0, error: str | None = None, stalls: c.Mapping[int, float] | None = None, begins: int = -1
    ) -> None:
        self.rate, self.takes, self.error, self.stalls, self.begins = rate, takes, error, stalls or {}, begins
        self.sent: list[tuple[float, Call]] = []  # seconds on the loop's clock
        self.most = 0  # in flight
        self._free = 0.0

    def answered(self, now: float) -> float:
        """The time at which a request that arrives now is answered."""
        self._free = max(self._free, now) + 1 / self.rate
        return self._free + self.takes

    def client(self, _destination: t.Any, _limits: t.Any, handler: c.Callable[[Record, Call], None], _tls: t.Any = None) -> Client:
        """Replaces loadgen.client.LoadClient."""
        return Client(self, handler)


class Client:
    """See loadgen.client.LoadClient; the server is simulated."""

    def __init__(self, server: Server, handler: c.Callable[[Record, Call], None]) -> None:
        self._server, self._handler, self._loop, self.running = server, handler, t.cast(VirtualLoop, asyncio.get_running_loop()), 0
        self._start = self._loop.time()

    def begin(self) -> None:
        self._start = self._loop.time()

    def now(self) -> float:
        return self._loop.time() - self._start

    def send(self, call: Call, planned: float, _bounded: bool = True) -> None:
        self._loop.stall(self._server.stalls.get(call.number, 0.0))
        self.running += 1
        self._server.sent.append((self._loop.time(), call))
        self._server.most = max(self._server.most, self.running)
        record = Record(call.number, call.group, planned, self.now(), model=call.model, turn=call.turn)
        self._loop.call_at(self._server.answered(self._loop.time()), self._answer, record, call)

    def _answer(self, record: Record, call: Call) -> None:
        self.running -= 1
        record.end = self.now()
        if self._server.error and call.number >= self._server.begins:
            record.fail(self._server.error, "it failed")
            record.status = int(record.error[5:]) if str(record.error).startswith("http_") else None
        else:
            record.first = record.last = record.end
            record.status, record.prompt_tokens, record.output_tokens = 200, 8, call.output_len or 1
        self._handler(record, call)

    def close(self) -> None:
        pass
