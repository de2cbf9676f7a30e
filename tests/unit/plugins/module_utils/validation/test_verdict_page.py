# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a verdict: it shows all claims in their groups, escapes all texts, and fetches nothing."""

from __future__ import annotations

import html.parser
import re

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.validation import verdict
from ansible_collections.llm_d.inference.plugins.module_utils.validation.claims import claim
from ansible_collections.llm_d.inference.plugins.module_utils.validation.verdict_page import page

CLAIMS = [
    claim("platform/kubernetes", True, "Kubernetes v1.34.4", "", 0.1),
    claim("sim/sticky", False, "went to <b>a</b> & b", "look at the 'prefix' scorer", 0.75),
    claim("sim/performance", True, "9 of 10", "", 3.0),
]
ENDPOINT = {"name": "sim", "url": "http://10.216.7.20", "model": "acme/tiny", "host_header": None}


def made(claims=None, skipped=({"id": "sim/obeyed", "why": "not counted"},)):
    return page(verdict.verdict(CLAIMS if claims is None else claims, skipped, [ENDPOINT], {"release": "scheduler-0.7", "kubernetes": None}, "now"))


class Reader(html.parser.HTMLParser):
    """The texts, headings and references of a page."""

    def __init__(self, text):
        super().__init__()
        self.words, self.headings, self.links, self.tags = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        (self.headings if self.tags[-1] == "h2" else self.words).append(data.strip())


def test_control_and_bidi_characters_are_kept_out_of_the_page():
    hostile = claim("sim/\x1b[31mred", False, "\x1b]0;title\x07\u202eevil\x9b2J", "\r\u2066do\u2069", 0.1)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", made([*CLAIMS, hostile]))


def test_the_page_and_the_table_name_the_deployment():
    deployment = {"instance": "blue", "namespace": "team-a", "cluster": "https://10.0.0.1:6443", "release": "scheduler-0.7"}
    content = verdict.verdict(CLAIMS, [], [ENDPOINT], {"release": "scheduler-0.7"}, "now", deployment)
    assert {key: content[key] for key in deployment} == deployment
    subject = "blue in namespace team-a on https://10.0.0.1:6443, scheduler-0.7"
    assert subject in Reader(page(content)).words and " ".join(line.strip() for line in verdict.table(content)[-2:]) == f"deployment: {subject}"


def test_every_claim_with_evidence_remedy_and_time():
    read = Reader(made())
    for shown in ("Kubernetes v1.34.4", "went to <b>a</b> & b", "look at the 'prefix' scorer", "0.75 s", "sim/obeyed", "not counted", "scheduler-0.7"):
        assert shown in read.words
    assert read.words.count("went to <b>a</b> & b") == 2  # at the top, and in its group
    assert [each for each in read.headings if each] == [
        "Claims that do not hold",
        "Platform",
        "Routing policy",
        "Performance",
        "Not checked",
        "Plots of the load",
        "Send a request",
        "What was checked",
    ]
    assert "NOT OK" in read.words and "1 of 3 claims do not hold." in read.words


def test_the_page_fetches_no_external_resources():
    text = made()
    read = Reader(text)
    assert read.links == ["performance/sim/report.html"] and not {"script", "img", "link", "iframe"} & set(read.tags)
    assert not re.search(r"url\(|@import", text)


@pytest.mark.parametrize(("claims", "headline"), [([], "Nothing was checked."), ([CLAIMS[0]], "All 1 claims hold.")])
def test_without_failures(claims, headline):
    text = made(claims, [])
    assert headline in text and "Claims that do not hold" not in text and "Not checked" not in text


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("platform/permissions", "platform"),
        ("objects/deployment/sim", "objects"),
        ("gateway/programmed", "gateway"),
        ("sim/route", "gateway"),
        ("sim/pool", "scheduler"),
        ("sim/plugins", "scheduler"),
        ("sim/prefill-servers", "servers"),
        ("sim/prefill-blocks", "caches"),
        ("sim/split", "prefill and decode"),
        ("sim/follow", "routing policy"),
        ("sim/scaling", "scaling"),
        ("sim/scraped", "scraping"),
        ("sim/permissions", "security"),
        ("security/proven", "security"),
    ],
)
def test_groups(name, group):
    assert verdict.group_of(name) == group
