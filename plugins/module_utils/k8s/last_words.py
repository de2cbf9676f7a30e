# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The error that a program logs last before it ends, by the mark of its logger for errors, whatever the error is. Pure."""

from __future__ import annotations

import json
import re

from ..common.objects import Facts, mapping, text
from ..common.patterns import LINE
from ..common.text import shorten

LATEST = 60  # lines from the end that are read: the usage that many programs print behind an error is shorter
_LEVELS = frozenset({"err", "error", "fatal", "panic", "dpanic", "critical", "crit", "alert", "emergency"})
# Names of fields in logs of JSON.
_LEVEL, _MESSAGE, _ERROR = ("level", "severity", "lvl", "levelname", "log.level"), ("msg", "message", "event"), ("error", "err", "exception", "exc_info")
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
_WORD = r"(?:ERROR|FATAL|CRITICAL|PANIC|[Ee]rror|[Ff]atal|panic)"
# Of klog, of logfmt and of lines of JSON that are cut, then behind a time or the name of a program (`2026-11-22T10:00:00Z\tERROR\tsetup\t`, `error: `,
# `prog: error: `), and of Envoy (`[2026-11-22 10:00:00.000][1][critical][main] `).
_MARKS = (
    re.compile(r"^[EF][0-9]{4} [0-9:.]{8,15} {1,10}[0-9]{1,10} [\w./-]{1,200}:[0-9]{1,6}\] "),
    re.compile(r"(?:^|[\s,{\"])(?:level|lvl|severity)\"?[=:] ?\"?(?:err|error|fatal|panic|critical)\b", re.IGNORECASE),
    re.compile(r"^(?:\([^)\n]{0,80}\) ?)?[^A-Za-z]{0,40}(?:[TZ][^A-Za-z]{0,20}){0,2}(?:[\w.-]{1,60}: ?)?\[?" + _WORD + r"(?:\]|:?\s)"),
    re.compile(r"^(?:\[[^\]\n]{0,60}\]){1,3}\[(?:critical|error)\]"),
)


def last_words(log: str) -> str:
    """The last line of a log that is marked as an error, as one short line; empty where none of the LATEST lines is."""
    lines = [line for line in log.replace("\r", "\n").split("\n") if line.strip()]
    for line in reversed(lines[-LATEST:]):
        line = _COLOUR.sub("", line[:LINE]).strip()
        if _marked(line):
            return shorten(summary(line))
    return ""


def summary(line: str) -> str:
    """`message: error` of a line of JSON that has both, else the line."""
    entry = _entry(line)
    message, error = _field(entry, _MESSAGE), _field(entry, _ERROR)
    return f"{message}: {error}" if message and error else message if message and _error(entry) else line


def message(line: str) -> str:
    """The message of a line of JSON; empty for any other."""
    return _field(_entry(line), _MESSAGE)


def texts(line: str) -> list[str]:
    """The lines of all texts in a line of JSON, at two levels: a logger writes a whole traceback into one field. Any other line as it is."""
    values = list(_entry(line[:LINE]).values())
    strings = [value for one in values for value in (one.values() if isinstance(one, dict) else [one]) if isinstance(value, str)]
    return [part for value in strings for part in value.split("\n")] or [line]


def _marked(line: str) -> bool:
    entry = _entry(line)
    return _error(entry) if entry else any(mark.search(line) for mark in _MARKS)


def _entry(line: str) -> Facts:
    """The fields of a line of JSON; empty for any other."""
    try:
        return mapping(json.loads(line)) if line.startswith("{") else {}
    except (ValueError, RecursionError):
        return {}


def _field(entry: Facts, names: tuple[str, ...]) -> str:
    return next((text(entry[name]) for name in names if entry.get(name)), "")


def _error(entry: Facts) -> bool:
    return _field(entry, _LEVEL).lower() in _LEVELS
