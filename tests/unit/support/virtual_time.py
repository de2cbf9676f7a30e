"""An event loop in whose time nothing takes any, and a load client whose server is computed: a measurement of minutes runs in milliseconds, always the same."""

from __future__ import annotations

import asyncio
import collections.abc as c
import selectors
import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.request import Call


class _Jump(selectors.DefaultSelector):
    """Waits for nothing: the time that the loop would wait is over at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def select(self, timeout: float | None = None) -> t.Any:
        self.now += timeout or 0.0
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its time goes from one timer to the next."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.now

    def stall(self, seconds: float) -> None:
        """Nothing runs for so long."""
        self._jump.now += seconds


class Server:
    """Answers `rate` requests in a second, one after the other, each `takes` seconds later.

    error: the kind of failure of all, from request number `begins` on.
    stalls: for how many seconds the client stands still when it sends the request with this number.
    """

    def __init__(
        self, rate: float = float("inf"), takes: float = 0.0, error: str | None = None, stalls: c.Mapping[int, float] | None = None, begins: int = -1
    ) -> None:
        self.rate, self.takes, self.error, self.stalls, self.begins = rate, takes, error, stalls or {}, begins
        self.sent: list[tuple[float, Call]] = []  # seconds on the loop's clock
        self.most = 0  # in flight
        self._free = 0.0

    def answered(self, now: float) -> float:
        """When a request that comes now is answered."""
        self._free = max(self._free, now) + 1 / self.rate
        return self._free + self.takes

    def client(self, _destination: t.Any, _limits: t.Any, seen: c.Callable[[Record, Call], None], _tls: t.Any = None) -> Client:
        """In the place of loadgen.client.LoadClient."""
        return Client(self, seen)


class Client:
    """See loadgen.client.LoadClient; its server is computed."""

    def __init__(self, server: Server, seen: c.Callable[[Record, Call], None]) -> None:
        self._server, self._seen, self._loop, self.running = server, seen, t.cast(VirtualLoop, asyncio.get_running_loop()), 0
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
        self._seen(record, call)

    def close(self) -> None:
        pass
