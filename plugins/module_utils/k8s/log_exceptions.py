# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exceptions in the log of a program: of Python, also behind prefixes of loggers and in lines of JSON, and panics of Go, Rust and C++. Pure.

An exception of Python is recognized by the shape of its traceback: the line behind the last frame, whatever its name. Where the traceback is lost, the name
decides. Reads line by line and at most LIMIT characters of each, so the time is linear in the length of the log, whoever wrote it.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field

from .last_words import message, texts

LIMIT = 2000  # characters of a line
MORE = 12  # further lines of a message


class Rank(enum.IntEnum):
    """How near an exception is to the cause of an end; of equal ones the first counts."""

    CAUSE = 0
    ECHO = 1  # repeats the message of another, which a cut log may no longer hold
    FOLLOWS = 2  # usually of a program that is being ended, or whose other part is gone
    SURVIVED = 3  # logged as a warning, or before the program began to serve: it went on
    WRAPPER = 4  # only reports that another part has failed


@dataclass
class Raised:
    """One exception or panic. line: its message; more: further lines of the message; chain: the same number for exceptions that follow from each other."""

    line: str
    rank: Rank
    chain: int
    more: list[str] = field(default_factory=list)


# The prefixes of vLLM, Ray and torchrun before a line: process, then level, time and source, then the rank.
_PREFIX = re.compile(
    r"(?P<process>(?:\([A-Za-z][\w.-]{0,60} pid=[0-9]{1,10}(?:, ip=[0-9A-Fa-f.:]{1,45})?\) ?){0,3})"
    r"(?:(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) [0-9-]{5,10} [0-9:.,]{8,15} \[?(?P<source>[\w./-]{1,200}:[0-9]{1,6})\] ?)?"
    r"(?:(?P<rank>\[rank[0-9]{1,6}\]): ?)?"
)
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
_GROUP = re.compile(r" {2,40}\| ?")  # the margin of an exception group
_HEADER = "Traceback (most recent call last):"
_BOX = "Traceback (most recent call last) ─"  # of the library rich, which draws a traceback into a box
_STACK = "Stack (most recent call last):"  # of a logger, without an exception
_FRAME = re.compile(r'  File "[^"\n]{1,1000}", line [0-9]{1,9}(?:,|\s{0,9}\Z)')
_DIGITS = str.maketrans("123456789", "0" * 9)
_LEVELS = frozenset({"DEBUG", "TRACE", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL"})
_PASSED = re.compile(r"\b(?:DEBUG|WARN|WARNING)\b")
_LINKS = ("The above exception was the direct cause of", "During handling of the above exception")
_FIELD = re.compile(r"  (?=\S)")  # pydantic: two spaces before the problem, four before the address of its documentation
_RUST = re.compile(r"thread '[^']{0,200}' (?:\([0-9]{1,20}\) )?(?:panicked at |has overflowed its stack)")
_KLOG = re.compile(r"F[0-9]{4} [0-9:.]{8,15} {1,10}[0-9]{1,10} [\w./-]{1,200}:[0-9]{1,6}\] ")
_PANICS = ("panic: ", "fatal error: ", "Fatal Python error: ", "fatal runtime error: ", "libc++abi: terminating", "terminate called ")
_CPP = "terminate called after throwing an instance of"
# Signals as fault handlers of C++ report them (glog, PyTorch, UCX), messages of the C library before it aborts, and those of a shell afterwards.
_NATIVE = re.compile(
    r"!{1,20} ?[A-Za-z ]{1,40} encountered|\*{3} (?:SIG[A-Z]{2,6}|Process received signal)|(?:\[[^\]\n]{1,100}\] )?Caught signal [0-9]{1,2}"
    r"|(?:free\(\)|malloc\(\)|realloc\(\)|munmap_chunk\(\)): [a-z]|double free or corruption|corrupted (?:size|double-linked)"
    r"|(?:Segmentation fault|Bus error|Illegal instruction|Aborted)(?: \(core dumped\)|\Z)"
)
# Prefixes of exceptions that the program survives.
_HARMLESS = ("Exception ignored in", "Exception in ASGI application", "exception was never retrieved")
_SERVES = "Application startup complete."
# Parts of messages, in lower case.
_WRAPPERS = (
    "engine core initialization failed", "workerproc initialization failed", "enginedeaderror", "enginecore encountered", "executor failed",
    "see root cause above", "see stack trace", "in a background process", "childfailederror", "sub-exception",
)  # fmt: skip
_ECHOES = ("worker failed with error", "raytaskerror")
_FOLLOWS = ("keyboardinterrupt", "cancellederror", "systemexit", "brokenpipeerror", "connectionreseterror", "eoferror")


def _exception(line: str, inside: bool, follows: bool) -> bool:
    """Whether a line is an exception with its message. inside: a traceback has begun; follows: its last frame is in the line before, so any name counts."""
    name, colon, message = line.rstrip().partition(":")
    if colon:
        name = name[:300].partition("(")[0]
    name = name[:300].replace("<locals>.", "").replace("<unknown>.", "")
    if (message and not message[0].isspace()) or not all(part.isidentifier() for part in name.split(".")):
        return False
    last = name.rpartition(".")[2]
    if last in _LEVELS or (not inside and last.startswith("nccl")):  # ncclSystemError: a line of the message of PyTorch's exception
        return False
    if follows:
        return True
    if last.isupper():
        return False
    if not inside:
        return bool(message.strip()) and last != last.lower() and last.endswith(("Error", "Exception", "Interrupt"))
    return last[0].isupper() or last.endswith(("error", "exception", "timeout", "Error", "Exception"))


def _panic(line: str) -> bool:
    return line.startswith(_PANICS) or bool(_RUST.match(line) or _KLOG.match(line) or _NATIVE.match(line))


@dataclass
class _LogStream:
    """The state of reading the lines of one process and one call of its logger.

    inside: a traceback has begun; follows: the line before was of one; wants: the message of the latest exception comes in the line that follows; margin: the
    text of the logger before each line of a traceback, with zeros for digits.
    """

    inside: bool = False
    follows: bool = False
    stack: bool = False
    margin: str = ""
    linked: bool = False
    harmless: bool = False
    latest: Raised | None = None
    wants: bool = False


class _LogReader:
    def __init__(self) -> None:
        self.raised: list[Raised] = []
        self.other: list[str] = []
        self._streams: dict[tuple[str | None, ...], _LogStream] = {}
        self._chains = 0
        self._survived = 0  # how many of the first exceptions the program survived

    def read(self, whole: str) -> None:
        """Take in the next line."""
        whole = _COLOUR.sub("", whole[:LIMIT])
        if not whole.strip():
            return
        match = _PREFIX.match(whole)
        key = match.group("process", "level", "source", "rank") if match else ()
        line = whole[match.end() :] if match else whole
        group = _GROUP.match(line)
        line = line[group.end() :] if group else line
        stream = self._streams.setdefault(key, _LogStream())
        if _SERVES in line:
            self._survived = len(self.raised)
        line = self._within(stream, line)
        follows, stream.follows = stream.follows, False
        if line.rstrip().endswith(_HEADER):
            stream.inside, stream.wants, stream.stack = True, False, False
        elif line.rstrip().endswith(_STACK):
            stream.stack = True
        elif _BOX in line or (stream.inside and line[:1] in ("│", "╰")):
            stream.inside, stream.wants, stream.follows = True, False, line[:1] == "╰"
        elif line.startswith(_LINKS):
            stream.linked = True
        elif line.startswith("  Value error, "):
            self._invalid(stream, key, line, "")
        elif stream.stack and line[:1] in (" ", "\t"):
            pass
        elif _FRAME.match(line):
            stream.inside, stream.follows, stream.wants = True, True, False  # so is the rest of a traceback in a log that was cut
        elif stream.inside and line[:1] in (" ", "\t"):
            stream.follows = follows  # quoted source
        elif _panic(line):
            self._add(stream, key, line)
            stream.wants = line.startswith(_CPP) or line.rstrip().endswith(":")
        elif _exception(line, stream.inside, follows):
            self._add(stream, key, line)
            stream.wants = line.rstrip().endswith(":")
        else:
            self._message(stream, key, line)
            stream.stack = False
            stream.harmless = any(mark in line for mark in _HARMLESS)
            self.other.append(whole)

    @staticmethod
    def _within(stream: _LogStream, line: str) -> str:
        """The line without the margin of its stream, which its header or its first frame shows: a time, a rank, a level, a name, or blanks.

        A progress bar without a line end looks like one before a header, and before no other line.
        """
        size = len(stream.margin)
        size = size if line[:size].translate(_DIGITS) == stream.margin else 0
        header, frame = line.rstrip().endswith(_HEADER), _FRAME.search(line)
        if header or frame:
            at = frame.start() if frame else len(line.rstrip()) - len(_HEADER)
            if at != size:
                size = at
                stream.margin = line[:at].translate(_DIGITS)
        return line[size:]

    def exceptions(self) -> list[Raised]:
        """The exceptions so far."""
        for earlier in self.raised[: self._survived]:
            earlier.rank = max(earlier.rank, Rank.SURVIVED)
        return self.raised

    def _add(self, stream: _LogStream, key: tuple[str | None, ...], line: str) -> Raised:
        if not (stream.linked and stream.latest):
            self._chains += 1
        chain = stream.latest.chain if stream.linked and stream.latest else self._chains
        raised = Raised(line.strip(), Rank.CAUSE, chain)
        weak = stream.harmless or (len(key) > 1 and key[1] in ("DEBUG", "INFO", "WARNING")) or bool(_PASSED.search(stream.margin))
        weak = weak or (stream.linked and stream.latest is not None and stream.latest.rank is Rank.SURVIVED)
        raised.rank = max(_rank(raised.line), Rank.SURVIVED if weak else Rank.CAUSE)
        self.raised.append(raised)
        stream.inside = stream.linked = stream.harmless = False
        stream.latest = raised
        return raised

    def _invalid(self, stream: _LogStream, key: tuple[str | None, ...], line: str, where: str) -> None:
        """A problem that pydantic reports: the message of the exception before it, or, where the log was cut, all that is left."""
        latest = stream.latest
        if stream.inside or latest is None or "validation error" not in latest.line:
            latest = self._add(stream, key, line)
        latest.line = where + line.strip().partition(" [type=")[0]
        latest.rank = max(_rank(latest.line), latest.rank)

    def _message(self, stream: _LogStream, key: tuple[str | None, ...], line: str) -> None:
        latest, stripped = stream.latest, line.strip()
        if latest is None or len(latest.more) >= MORE:
            return
        if "validation error" in latest.line and _FIELD.match(line):
            where = latest.more[-1] + ": " if latest.more else ""
            self._invalid(stream, key, line, where)
            return
        if stream.wants:
            latest.line, stream.wants = f"{latest.line} {stripped}", False
            latest.rank = max(_rank(latest.line), latest.rank)
        else:
            latest.more.append(stripped)


def _rank(line: str) -> Rank:
    lowered = line.lower()
    kinds = ((Rank.ECHO, _ECHOES), (Rank.WRAPPER, _WRAPPERS), (Rank.FOLLOWS, _FOLLOWS))
    return next((rank for rank, marks in kinds if any(mark in lowered for mark in marks)), Rank.CAUSE)


def read_exceptions(log: str) -> tuple[list[Raised], list[str]]:
    """(the exceptions of a log in their order, the lines that are neither of a traceback nor an exception)."""
    reader, within = _LogReader(), False  # a traceback of which each line is a line of JSON
    for line in log.replace("\r", "\n").split("\n"):
        logged = message(line) if line.startswith("{") and (within or _HEADER in line) else ""
        within = bool(logged) and (within or logged.rstrip().endswith(_HEADER)) and "\n" not in logged.strip()
        before = len(reader.raised)
        for part in [logged] if within else texts(line) if line.startswith("{") and _HEADER in line else [line]:
            reader.read(part)
        within = within and len(reader.raised) == before
    return reader.exceptions(), reader.other


def first_exception(raised: list[Raised]) -> list[Raised]:
    """The exception that is the cause, then those of its chain that are no wrappers; empty where there are only wrappers."""
    first = min((one for one in raised if one.rank is not Rank.WRAPPER), key=lambda one: one.rank, default=None)
    if first is None:
        return []
    return [first, *(one for one in raised if one is not first and one.chain == first.chain and one.rank is not Rank.WRAPPER)]
