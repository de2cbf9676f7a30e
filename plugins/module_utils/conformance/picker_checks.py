# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The requirements on an endpoint picker, as checks of a running one: the requests, and the required answers. Pure.

`section` of a check is the section of the Endpoint Picker Protocol that demands it (gateway-api-inference-extension, docs/proposals/004), or PROFILE for the
checks that this profile adds.
"""

from __future__ import annotations

import collections.abc as c
import contextlib
import dataclasses
import ipaddress
import json
import typing as t

from ..common.prometheus_text import parse
from ..common.text import pluralize, shorten
from ..releases.metrics import GIE_METRICS, ROUTER_METRICS
from .ext_proc import DESTINATION, SUBSET, HeaderChange, Pairs

PROFILE, STREAMING, SUBSETS = "this profile", "streaming mode", "Endpoint Subset"
DESTINATIONS, HEALTH = "Destination Endpoint", "Health Checking"
NOBODY = "192.0.2.1:9"  # an endpoint that does not exist: the address is reserved for documentation
TEST_HEADER = "test-epp-endpoint-selection"  # the header by which the tests of the inference extension choose an endpoint
SERVICES = ("liveness", "readiness", "envoy.service.ext_proc.v3.ExternalProcessor")
SIGNALS = ("ready_endpoints", "pool_queue", "pool_kv_cache", "requests", "scheduler_duration")
PICKS = 24  # requests of a check that searches for one wrong pick among many
REPEATS = 6  # times that a check sends the same request
MAX_SUBSETS = 4  # subsets that a check sends
LISTED = 4  # endpoints that a message lists
LARGE_BODY, PIECE, SMALL_PIECE = 8 << 20, 16 << 10, 64  # bytes; a piece is a part of a body that one message holds
PADDING = 512 << 10  # bytes of a body through the gateway, below the usual limits of gateways
EVENTS = 5  # pieces of a streamed response
LONG_RESPONSE, MIN_PIECES = 10, 3  # a response with this many events must come in this many pieces or more; a shorter one may come at once
ANSWERS = 12  # requests until an answer is long enough: the length of an answer varies


class Failed(Exception):
    """A check that fails; the message is the problem, in one line."""


class Skipped(Exception):
    """A check that cannot run here; the message is the reason."""


@dataclasses.dataclass(frozen=True)
class PickerRequest:
    """One HTTP request as a gateway sends it. subset: the endpoints of which one must be picked, None to name none; piece: bytes of the body in one message."""

    body: bytes | None = None
    headers: Pairs = ()
    subset: tuple[str, ...] | None = None
    piece: int = PIECE


@dataclasses.dataclass(frozen=True)
class PickerReply:
    """The answer of the endpoint picker to one request. changes: those of the destination header; destination: the endpoints in the dynamic metadata.

    status: that of an immediate response; body: the body that it passes on, None where it sends none; error: the reason why there is no answer.
    """

    changes: tuple[HeaderChange, ...] = ()
    destination: str | None = None
    status: int = 0
    body: bytes | None = None
    error: str = ""

    @property
    def endpoints(self) -> list[str]:
        """The picked endpoints; the gateway uses the first."""
        return [each.strip() for change in self.changes for each in change.value.split(",")]

    def __str__(self) -> str:
        if self.error:
            return f"it does not answer: {self.error}"
        if self.status:
            return f"it answers {self.status} instead of an endpoint"
        return f"it picks {', '.join(self.endpoints) or 'no endpoint'}"


class Probe(t.Protocol):
    """A Pod of the pool that only the checks use. address: ip:port, empty until it has one."""

    address: str

    def ready(self, ready: bool) -> None:
        """Makes it ready, or not ready."""

    def terminate(self) -> None:
        """Deletes it; it continues to run, as a Pod that drains."""

    def remove(self) -> None:
        """Deletes it at once."""


class Bench(t.Protocol):
    """A running endpoint picker as checks use it. endpoints: ip:port of the ready Pods of its pool; bound: seconds within which it must react to a change.

    failure_mode: the failureMode of the pool, empty where it has none.
    """

    endpoints: c.Sequence[str]
    model: str
    bound: float
    failure_mode: str

    def ask(self, requests: c.Sequence[PickerRequest]) -> list[PickerReply]:
        """The answers to requests that are sent together, over one connection."""

    def answer(self, request: PickerRequest, pieces: c.Sequence[bytes]) -> tuple[PickerReply, list[bytes | None]]:
        """The answer to a request, and the result for each piece of a streamed response, None where nothing is passed on before the next piece is due."""

    def break_off(self, request: PickerRequest) -> PickerReply:
        """Sends half of a request, resets its stream, and sends it again over the same connection; returns the second answer."""

    def probe(self) -> contextlib.AbstractContextManager[Probe]:
        """A new Pod of the pool, which is not ready. Raises Skipped."""

    def until(self, holds: c.Callable[[], bool]) -> float | None:
        """Seconds until a condition holds; None where it does not within `bound`."""

    def health(self, service: str) -> str:
        """The status of a service from the health service, such as SERVING."""

    def metrics(self) -> str:
        """The page of metrics. Raises Skipped."""

    def send(self, request: PickerRequest) -> tuple[int, list[bytes]]:
        """(status, pieces of the body as they came) of a request to the gateway; a body is sent in chunks. Raises Skipped and Failed."""

    def stopped(self) -> contextlib.AbstractContextManager[None]:
        """Stops the endpoint picker for the duration of the context. Raises Skipped."""


@dataclasses.dataclass(frozen=True)
class PickerCheck:
    """One check. title: the requirement; run: raises Failed or Skipped, and returns details about a check that passes."""

    name: str
    section: str
    title: str
    run: c.Callable[[Bench], str]


Run = c.Callable[[Bench], t.Optional[str]]  # noqa: UP045  # ansible-test's pylint knows older Pythons too
CHECKS: list[PickerCheck] = []


def _check(section: str, title: str) -> c.Callable[[Run], Run]:
    """A decorator that adds a function to CHECKS, under its name."""

    def add(run: Run) -> Run:
        CHECKS.append(PickerCheck(run.__name__, section, title, lambda bench: run(bench) or ""))
        return run

    return add


def completion(model: str, words: str = "Hello", stream: bool = False) -> bytes:
    """The body of a request for a chat completion of one token."""
    payload = {"model": model, "messages": [{"role": "user", "content": words}], "max_tokens": 1}
    return json.dumps({**payload, "stream": True} if stream else payload).encode()


def _post(bench: Bench, subset: c.Sequence[str] | None = None, headers: Pairs = ()) -> PickerRequest:
    """A request for a chat completion."""
    return PickerRequest(completion(bench.model), headers, None if subset is None else tuple(subset))


def _picked(reply: PickerReply, among: c.Collection[str], what: str = "the endpoints of the pool") -> None:
    """Raises Failed unless the header names one or more endpoints, all of them in `among`. what: describes `among` in the message."""
    if reply.error or reply.status or not reply.endpoints:
        raise Failed(str(reply))
    others = [each for each in reply.endpoints if each not in among]
    if others:
        raise Failed(f"it picks {', '.join(others)}, which is none of {what} ({', '.join(list(among)[:LISTED])}{', ...' if len(among) > LISTED else ''})")


def _endpoints(bench: Bench, minimum: int = 1) -> c.Sequence[str]:
    """The endpoints of the pool. Raises Skipped where there are fewer than `minimum`."""
    if len(bench.endpoints) < minimum:
        raise Skipped(f"the pool has {pluralize(len(bench.endpoints), 'ready endpoint')}, and this takes {minimum}")
    return bench.endpoints


@_check(SUBSETS, "Without a subset, each pick is an endpoint of a ready Pod of the InferencePool")
def offered(bench: Bench) -> str:
    among = _endpoints(bench)
    replies = bench.ask([_post(bench)] * PICKS)
    for reply in replies:
        _picked(reply, among)
    used = {reply.endpoints[0] for reply in replies}
    return f"{PICKS} picks, {len(used)} of {pluralize(len(among), 'endpoint')}"


@_check(DESTINATIONS, "The endpoint is in the header and in the metadata, and is the same in both")
def header_and_metadata(bench: Bench) -> None:
    for reply in bench.ask([_post(bench)] * REPEATS):
        if reply.error or reply.status:
            raise Failed(str(reply))
        if not reply.changes:
            raise Failed(f"it sets no header {DESTINATION}")
        if reply.destination is None:
            raise Failed(f"it sets no dynamic metadata envoy.lb/{DESTINATION}")
        values = {change.value for change in reply.changes}
        if values != {reply.destination}:
            raise Failed(f"the header is {', '.join(sorted(values))}, the metadata {reply.destination}")


@_check(DESTINATIONS, "The value is a list of ip:port")
def form(bench: Bench) -> None:
    for reply in bench.ask([_post(bench)] * REPEATS):
        if reply.error or reply.status or not reply.endpoints:
            raise Failed(str(reply))
        for each in reply.endpoints:
            host, _colon, port = each.rpartition(":")
            if not port.isdecimal() or not 0 < int(port) < 1 << 16 or not _is_address(host.removeprefix("[").removesuffix("]")):
                raise Failed(f"{shorten(each)!r} is no ip:port")
        if len(set(reply.endpoints)) < len(reply.endpoints):
            raise Failed(f"it names an endpoint twice: {', '.join(reply.endpoints)}")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@_check(SUBSETS, "The pick is at an address of the subset that the gateway names")
def subset(bench: Bench) -> str:
    hosts = _by_host(_endpoints(bench, 2))
    if len(hosts) < 2:
        raise Skipped("the pool has one ready Pod, and this takes 2")
    first = [group[0] for group in hosts.values()]
    subsets = [(each,) for each in first[:MAX_SUBSETS]] + [tuple(first[:2])] * (len(first) > 2)
    for each in subsets:
        for reply in bench.ask([_post(bench, each)] * REPEATS):
            _picked(reply, [endpoint for one in each for endpoint in hosts[_host(one)]], "the subset")
    return pluralize(len(subsets), "subset")


@_check(SUBSETS, "The pick is at the port that the subset names, where each Pod serves on several")
def subset_ports(bench: Bench) -> str:
    several = [group for group in _by_host(_endpoints(bench)).values() if len(group) > 1]
    if not several:
        raise Skipped("the pool has one target port")
    for each in several[0]:
        for reply in bench.ask([_post(bench, (each,))] * REPEATS):
            _picked(reply, (each,), "the subset")
    return pluralize(len(several[0]), "port")


def _by_host(endpoints: c.Sequence[str]) -> dict[str, list[str]]:
    """The endpoints of each address."""
    groups: dict[str, list[str]] = {}
    for each in endpoints:
        groups.setdefault(_host(each), []).append(each)
    return groups


def _host(endpoint: str) -> str:
    return endpoint.rpartition(":")[0]


@_check(SUBSETS, "503 where no endpoint of the subset is one of the pool")
def subset_of_strangers(bench: Bench) -> None:
    _refused(bench, [NOBODY])


@_check(SUBSETS, "503 where the subset is empty")
def subset_empty(bench: Bench) -> None:
    _refused(bench, [])


def _refused(bench: Bench, endpoints: list[str]) -> None:
    """Raises Failed unless a request with this subset is answered with 503."""
    (reply,) = bench.ask([_post(bench, endpoints)])
    if reply.status != 503:
        raise Failed(f"{reply}, and 503 is required")


@_check(SUBSETS, "A request without a body is given an endpoint of the pool")
def no_body(bench: Bench) -> None:
    among = _endpoints(bench)
    for reply in bench.ask([PickerRequest()] * REPEATS):
        _picked(reply, among)


@_check(SUBSETS, "The subset counts for a request without a body too")
def no_body_subset(bench: Bench) -> None:
    for each in _endpoints(bench, 2)[:MAX_SUBSETS]:
        for reply in bench.ask([PickerRequest(subset=(each,))] * REPEATS):
            _picked(reply, (each,), "the subset")


@_check(PROFILE, "Streams that run at the same time are not mixed up")
def together(bench: Bench) -> str:
    hosts = list(_by_host(_endpoints(bench, 2)).values())
    if len(hosts) < 2:
        raise Skipped("the pool has one ready Pod, and this takes 2")
    wanted = [hosts[index % len(hosts)] for index in range(PICKS)]
    for reply, each in zip(bench.ask([_post(bench, each) for each in wanted]), wanted, strict=True):
        _picked(reply, each, "the subset")
    return f"{PICKS} streams on one connection"


@_check(DESTINATIONS, "A Pod that is not ready is never picked")
def not_ready(bench: Bench) -> None:
    with bench.probe() as probe:
        picked: list[str] = []

        def picks_it() -> bool:
            picked.extend(bench.ask([_post(bench, (probe.address,))])[0].endpoints)
            return bool(picked)

        if bench.until(picks_it) is not None:
            raise Failed(f"it picks {picked[0]}, whose Pod is not ready")
        for reply in bench.ask([_post(bench)] * PICKS if bench.endpoints else []):
            if probe.address in reply.endpoints:
                raise Failed(f"it picks {probe.address}, whose Pod is not ready")


@_check(PROFILE, "A Pod that becomes ready is picked, and one that stops being ready is left out, within the bound")
def stops_being_ready(bench: Bench) -> str:
    with bench.probe() as probe:
        return _left_out(bench, probe, lambda: probe.ready(False), "is not ready any more")


@_check(PROFILE, "A Pod that terminates is left out within the bound, while it still runs")
def draining(bench: Bench) -> str:
    with bench.probe() as probe:
        return _left_out(bench, probe, probe.terminate, "terminates")


@_check(PROFILE, "A Pod that is deleted is left out within the bound")
def deleted(bench: Bench) -> str:
    with bench.probe() as probe:
        return _left_out(bench, probe, probe.remove, "is deleted")


def _left_out(bench: Bench, probe: Probe, change: c.Callable[[], None], what: str) -> str:
    """Seconds until the Pod is picked, and until it is left out after the change."""

    def picked() -> bool:
        return probe.address in bench.ask([_post(bench, (probe.address,))])[0].endpoints

    probe.ready(True)
    included = bench.until(picked)
    if included is None:
        raise Failed(f"{bench.bound:g} s after its Pod is ready, {probe.address} is not picked")
    change()
    excluded = bench.until(lambda: not picked())
    if excluded is None:
        raise Failed(f"{bench.bound:g} s after its Pod {what}, {probe.address} is still picked")
    return f"picked {included:.1f} s after it was ready, left out after {excluded:.1f} s"


@_check(STREAMING, "A body that comes in pieces is passed on, whole")
def pieces(bench: Bench) -> None:
    _passed_on(bench, completion(bench.model, "Hello " * 300), SMALL_PIECE)


@_check(STREAMING, "A body of 8 MiB is passed on, whole")
def large_body(bench: Bench) -> None:
    _passed_on(bench, completion(bench.model, "Hello " * (LARGE_BODY // 6)), PIECE)


def _passed_on(bench: Bench, body: bytes, piece: int) -> None:
    """Raises Failed unless the body, sent in pieces of `piece` bytes, is passed on with the same messages."""
    (reply,) = bench.ask([PickerRequest(body, piece=piece)])
    _picked(reply, _endpoints(bench))
    if reply.body is None:
        raise Failed("it picks an endpoint, and does not pass the body on")
    try:
        same = json.loads(reply.body)["messages"] == json.loads(body)["messages"]
    except (ValueError, LookupError, TypeError):
        same = False
    if not same:
        raise Failed(f"of {len(body)} bytes of a prompt it passes on {len(reply.body)}, and not the same messages")


@_check(STREAMING, "Each piece of a streamed response is passed on, unchanged, before the next comes")
def streamed_response(bench: Bench) -> None:
    events = [b'data: {"choices": [{"index": 0, "delta": {"content": "word %d"}}]}\n\n' % index for index in range(EVENTS)]
    sent = [*events, b"data: [DONE]\n\n", b""]  # the last message has no bytes, only the end of the body
    reply, passed = bench.answer(PickerRequest(completion(bench.model, stream=True)), sent)
    _picked(reply, _endpoints(bench))
    for index, (piece, got) in enumerate(zip(sent, passed, strict=True)):
        what = f"piece {index + 1} of a streamed response" if piece else "the end of a streamed response"
        if got is None:
            raise Failed(f"{what} is not passed on, or only after the next")
        if got != piece:
            raise Failed(f"{what} is changed: {shorten(got.decode('utf-8', 'replace'))}")


@_check(PROFILE, "A body that is not JSON is refused with 4xx, or passed on unchanged, and the next request is answered")
def no_json(bench: Bench) -> str:
    body = b'{"model": "' + b"\xff\x00" * 40
    (reply,) = bench.ask([PickerRequest(body)])
    if not 400 <= reply.status < 500 and not (reply.endpoints and reply.body == body):
        raise Failed(f"{reply}, and does not pass the body on unchanged" if reply.endpoints else str(reply))
    _picked(bench.ask([_post(bench)])[0], _endpoints(bench))
    return f"answers {reply.status}" if reply.status else "passed on"


@_check(PROFILE, "After a stream that is broken off, the next one on the connection is answered")
def broken_off(bench: Bench) -> None:
    among = _endpoints(bench)
    for _index in range(REPEATS):
        _picked(bench.break_off(PickerRequest(completion(bench.model, "Hello " * 300), piece=SMALL_PIECE)), among)


@_check(DESTINATIONS, "A destination that the client names is replaced")
def forged_destination(bench: Bench) -> None:
    among = _endpoints(bench)
    requests = [_post(bench, headers=[(DESTINATION, NOBODY)]), PickerRequest(headers=[(DESTINATION, NOBODY)])]
    for reply in bench.ask(requests * REPEATS):
        _picked(reply, among)
        if any(change.keeps for change in reply.changes):
            raise Failed("it adds its endpoint beside that of the client, which stays in the header")


@_check(PROFILE, "A client cannot choose or narrow the endpoints by a header of its own")
def steered(bench: Bench) -> None:
    among = _endpoints(bench)
    for name in (SUBSET, TEST_HEADER):
        (reply,) = bench.ask([_post(bench, headers=[(name, NOBODY)])])
        if not reply.endpoints:
            raise Failed(f"a client's header {name} decides: {reply}")
        _picked(reply, among)


@_check(HEALTH, "The health service reports SERVING for liveness, readiness and the external processor")
def health(bench: Bench) -> None:
    problems = [f"{service}: {status}" for service in SERVICES if (status := bench.health(service)) != "SERVING"]
    if problems:
        raise Failed("; ".join(problems))


@_check(PROFILE, "The metrics that scrapers, autoscalers and dashboards read exist")
def metrics(bench: Bench) -> None:
    bench.ask([_post(bench)])
    names = {sample.name for sample in parse(bench.metrics())}
    known = [(GIE_METRICS[signal], ROUTER_METRICS[signal]) for signal in SIGNALS]
    missing = [" or ".join(either) for either in known if not any(_exported(name, names) for name in either)]
    if missing:
        raise Failed(f"these are missing among {pluralize(len(names), 'name')}: {'; '.join(missing)}")


def _exported(name: str, names: c.Collection[str]) -> bool:
    """Whether a metric is in names of samples; that of a histogram has a suffix."""
    return name in names or f"{name}_count" in names


@_check(DESTINATIONS, "Through the gateway: a destination that the client names is replaced")
def gateway_forged_destination(bench: Bench) -> None:
    status, _body = bench.send(PickerRequest(completion(bench.model), [(DESTINATION, NOBODY)]))
    if status != 200:
        raise Failed(f"a request that names {NOBODY} as its destination is answered with {status}, and one that names none with {_status(bench)}")


def _status(bench: Bench) -> int:
    """The status of a chat completion through the gateway."""
    return bench.send(PickerRequest(completion(bench.model)))[0]


@_check(STREAMING, "Through the gateway: a body in chunks reaches the server, also one of 512 KiB")
def gateway_body(bench: Bench) -> None:
    small = completion(bench.model, "Hello " * 20)
    padded = json.dumps({**json.loads(small), "user": "x" * PADDING}).encode()  # large, with a short prompt
    for body, piece, what in ((small, SMALL_PIECE, f"a body in pieces of {SMALL_PIECE} bytes"), (padded, PIECE, f"a body of {PADDING >> 10} KiB")):
        status, answered = bench.send(PickerRequest(body, piece=piece))
        if status != 200:
            raise Failed(f"{what} is answered with {status}: {shorten(b''.join(answered).decode('utf-8', 'replace'))}")


@_check(STREAMING, "Through the gateway: a streamed response comes whole, and not in one piece")
def gateway_streamed_response(bench: Bench) -> str:
    for number in range(ANSWERS):
        payload = {**json.loads(completion(bench.model, f"Write a long story about the number {number}.", stream=True)), "max_tokens": 64}
        status, body = bench.send(PickerRequest(json.dumps(payload).encode()))
        whole = b"".join(body)
        if status != 200 or b"[DONE]" not in whole:
            raise Failed(f"it is answered with {status}, and the end is missing: {shorten(whole[-200:].decode('utf-8', 'replace'))}")
        if (events := whole.count(b"data:")) >= LONG_RESPONSE:
            break
    else:
        raise Skipped(f"none of {ANSWERS} answers has {LONG_RESPONSE} events, and fewer may come at once")
    if len(body) < MIN_PIECES:
        raise Failed(f"{events} events come in {pluralize(len(body), 'piece')}")
    return f"{events} events in {pluralize(len(body), 'piece')}"


@_check(PROFILE, "Through the gateway: without the endpoint picker a request fails or passes as the pool's failureMode says")
def gateway_failure_mode(bench: Bench) -> str:
    if bench.failure_mode not in ("FailOpen", "FailClose"):
        raise Skipped(f"the pool's failureMode is {bench.failure_mode or 'not known'}")
    if (status := _status(bench)) != 200:
        raise Failed(f"with the endpoint picker a request is answered with {status}")
    opens = bench.failure_mode == "FailOpen"
    with bench.stopped():
        statuses: list[int] = []

        def passes() -> bool:
            statuses[:] = [_status(bench) for _index in range(REPEATS)]  # one alone may pass by chance
            return all(status == 200 for status in statuses) if opens else any(status < 500 for status in statuses)

        if (bench.until(passes) is not None) != opens:
            raise Failed(f"{bench.failure_mode}, and requests without the endpoint picker are answered with {', '.join(map(str, sorted(set(statuses))))}")
    back = bench.until(lambda: _status(bench) == 200)
    if back is None:
        raise Failed("with the endpoint picker back, requests are not answered within the bound")
    return f"{bench.failure_mode}: {statuses[-1]}; answered {back:.1f} s after it is back"


def run(bench: Bench, checks: c.Sequence[PickerCheck], clock: c.Callable[[], float], say: c.Callable[[str], None]) -> list[dict[str, t.Any]]:
    """The outcome of each check: {name, result: passed, failed or skipped, seconds, why, section, title}. clock: seconds; say: called with each outcome."""
    outcomes = []
    for check in checks:
        began = clock()
        try:
            result, why = "passed", check.run(bench)
        except Failed as error:
            result, why = "failed", str(error)
        except Skipped as error:
            result, why = "skipped", str(error)
        seconds = round(clock() - began, 2)
        outcomes.append({"name": check.name, "result": result, "seconds": seconds, "why": shorten(why, 400), "section": check.section, "title": check.title})
        say(f"{check.name}: {result} ({seconds:g} s)" + (f": {shorten(why)}" if result == "failed" else ""))
    return outcomes
