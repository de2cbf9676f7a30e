"""Prints a line for each live test as soon as it is over: molecule shows pytest's output only at its end, which some scenarios reach after 40 minutes."""

from __future__ import annotations

import contextlib
import os
import time

import pytest

SHOWN_AT = "LLM_D_SHOWN_AT"  # a file that is open for appending, such as /proc/PID/fd/1; nothing is shown without it


def show(report: pytest.TestReport) -> None:
    """Write the line of a test's call, or of a setup or teardown that failed or skipped."""
    place = os.environ.get(SHOWN_AT)
    if place and (report.when == "call" or not report.passed):
        part = "" if report.when == "call" else f" at its {report.when}"
        with contextlib.suppress(OSError), open(place, "a", encoding="utf-8") as shown:
            shown.write(f"{time.strftime('%H:%M:%S')} {report.nodeid}: {report.outcome}{part} ({report.duration:.0f} s)\n")
