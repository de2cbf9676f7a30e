# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of schedules: RRULE with AWX's limits."""

from __future__ import annotations

import datetime
import re

import dateutil.rrule  # type: ignore[import-untyped]
import dateutil.tz  # type: ignore[import-untyped]

from controller_api.fields import Values, invalid
from controller_api.tables import REFUSALS, holding

UTC_NAMES = dict.fromkeys(("UTC", "GMT", "Z", "z"), dateutil.tz.UTC)


def checked(text: str) -> Values:
    """The stored values of a rule: the rule on one line with ends in UTC, the first run, the time zone. Raises Refused with all problems."""
    for name in ("EXDATE", "RDATE"):
        if f"{name.lower()}:" in text.lower():
            raise invalid("rrule", f"{name} not allowed in rrule.")
    names = {"text": text, "starts": re.findall(r"DTSTART(?:;[^:]+)?:[0-9]+T[0-9]+Z?", text)}
    problems = [row["says"] for row in holding(REFUSALS["rrule"], names)]
    problems += [row["says"] for rule in re.findall(r"RULE:\S*", text) for row in holding(REFUSALS["rules"], {"rule": rule})]
    kept: Values = {}
    try:
        kept = _parsed(text)
    except Exception as error:  # the library raises many types
        problems.append(f"rrule parsing failed validation: {error}")
    if problems:
        raise invalid("rrule", *problems)
    return kept


def _parsed(text: str) -> Values:
    start = re.search(r"DTSTART(?:;TZID=([^:]+))?:[0-9]+T[0-9]+(Z?)", text)
    named, utc = (start[1], start[2]) if start else (None, "")
    zone = dateutil.tz.gettz(named) if named else dateutil.tz.UTC if utc else None
    rule = " ".join(_until_in_utc(part, zone) for part in text.split())
    rules = dateutil.rrule.rrulestr(rule, forceset=True, tzinfos=UTC_NAMES)
    if zone is None:
        raise ValueError("A valid TZID must be provided (e.g., America/New_York)")
    first = next(iter(rules), None)
    return {"rrule": rule, "dtstart": first and first.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "timezone": named or "UTC"}


def _until_in_utc(part: str, zone: datetime.tzinfo | None) -> str:
    """A part of a rule with its end in UTC; an end without a time zone has that of the start."""
    until = re.search(r"UNTIL=([0-9]+T[0-9]+)(?!Z|[0-9])", part)
    if until is None or zone is None:
        return part
    end = datetime.datetime.strptime(until[1], "%Y%m%dT%H%M%S").replace(tzinfo=zone).astimezone(datetime.UTC)
    return part.replace(until[0], f"UNTIL={end:%Y%m%dT%H%M%SZ}")
