# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No regular expression for untrusted text takes more than linear time: each is searched in texts that are made to slow it down."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common import text as common_text
from ansible_collections.llm_d.inference.plugins.module_utils.common.patterns import GAP, LINE, TEXT, LinePattern, lines
from ansible_collections.llm_d.inference.plugins.module_utils.common.text import redact
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis.gateway import REASON_CODES
from ansible_collections.llm_d.inference.plugins.module_utils.epp.observed import summary_from_log
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import node_failures, pod_failures, sanitize
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.answer_messages import RESPONSES
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.failure_logs import LOGS, REFUSALS
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.node_messages import CREATE, INSPECT, INVALID, SANDBOX
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.readiness.gateway import REMEDIES
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.volume_messages import VOLUMES
from hostile_text import attacks, patterns_in, superlinear

UTILS = Path(__file__).resolve().parents[5] / "plugins/module_utils"
# Packages and modules that read logs, messages, pages and objects of others.
READERS = ["common", "diagnosis", "epp/observed.py", "http", "inference", "k8s", "preflight", "validation"]


def steps(pattern):
    """The regular expressions of a pattern of the tables."""
    return [part for way in ([pattern] if isinstance(pattern, str) else pattern) for part in way.split(GAP) if part]


def in_tables():
    rows = [(row[0], 0) for row in LOGS] + [(row[1], re.IGNORECASE) for row in RESPONSES] + [(row[0], re.IGNORECASE) for row in REFUSALS]
    rows += [(row[0], re.IGNORECASE) for table in (CREATE, INSPECT, INVALID, SANDBOX, VOLUMES) for row in table]
    patterns = {(part, flags) for pattern, flags in rows for part in steps(pattern)}
    patterns |= {(pattern, 0) for pattern, _what in (*REASON_CODES, *REMEDIES)} | {(row[0], re.IGNORECASE) for row in node_failures._PULL}
    patterns |= {(rf"\A(?:{pattern.pattern})\Z", re.IGNORECASE | re.DOTALL) for pattern in (sanitize._SECRET_FLAG, sanitize._SECRET_KEY)}
    return patterns | {(pattern.pattern, re.IGNORECASE) for pattern, _instead in common_text._SECRETS} | {(common_text._SEQUENCE.pattern, 0)}


def written_out():
    files = [file for name in READERS for file in ([UTILS / name] if name.endswith(".py") else sorted((UTILS / name).rglob("*.py")))]
    return {pattern for file in files for pattern in patterns_in(file.read_text(encoding="utf-8"))}


@pytest.mark.timing
def test_every_pattern_is_searched_in_linear_time():
    patterns = sorted(in_tables() | written_out())
    slow = {pattern: held(pattern, flags) for pattern, flags in patterns}
    assert len(patterns) > 140 and {pattern: took for pattern, took in slow.items() if took} == {}


def held(pattern, flags):
    search = re.compile(pattern, flags).search
    return next((slow for piece in attacks(pattern, flags) if (slow := superlinear(search, piece))), "")


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        (r"^.*(?:failed to list .*(inferencepools|inferenceobjectives|inferencemodelrewrites|pods).* forbidden).*$", re.MULTILINE),
        (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?", re.IGNORECASE),
        (r"Worker proc .*died unexpectedly", 0),
        (r"x*y", 0),
    ],
)
def test_these_texts_find_a_pattern_that_does_not(pattern, flags):
    """The older patterns of this collection, and a classic."""
    assert held(pattern, flags)


HOSTILE = {
    "lists": "failed to list pods " * 2000,
    "tokens": "-eyJ" * 8000,
    "escapes": "\x1b]0;" * 8000,
    "one line": "x" * (2 * TEXT),
    "many lines": "failed to list pods\n" * (TEXT // 10),
    "braces": "Plugins: [" + "{Name: " * 5000,
    "secrets": "password=" * 4000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.timing
@pytest.mark.parametrize(
    "read",
    [
        pod_failures.log_failure,
        pod_failures.refusal_failure,
        lambda text: pod_failures.response_failure(500, text),
        pod_failures.last_line,
        redact,
        summary_from_log,
    ],
)
def test_a_hostile_log_is_read_in_bounded_time(name, read):
    """It took more than 40 s for 32 KB once. The limit is generous, since the machine may be busy; patterns of linear time take a tenth of it at most."""
    begin = time.thread_time()
    read(HOSTILE[name])
    assert time.thread_time() - begin < 5


def test_a_gap_in_a_pattern_matches_any_text_within_one_line():
    pattern = LinePattern("failed to list  ... pods|nodes ...  forbidden", "panic")
    assert pattern.find("a\nfailed to list x: pods y: is forbidden\nb") == "failed to list x: pods y: is forbidden"
    assert pattern.find("failed to list failed to list pods nodes forbidden") and pattern.find("x panic")
    assert pattern.find("failed to list pods\n is forbidden") is None and pattern.find("pods failed to list  forbidden") is None
    assert LinePattern("").find("") == ""


def test_long_texts_are_searched_at_both_ends_and_long_lines_at_the_front():
    pattern = LinePattern("needle")
    hay = "hay\n" * TEXT
    assert pattern.find("needle\n" + hay) and pattern.find(hay + "needle") and pattern.find(hay + "needle\n" + hay) is None
    assert pattern.find("x" * (LINE - 10) + "needle") and pattern.find("x" * LINE + "needle") is None
    assert max(map(len, lines("y" * (4 * TEXT)))) == LINE


def test_colours_do_not_hide_a_failure():
    assert pod_failures.log_failure("\x1b[31mNo available memory for\x1b[0m the cache blocks").code == "F18"
