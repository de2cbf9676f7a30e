# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of the Prometheus text format, as served at `/metrics`. Pure; never raises on any text."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import math
import re

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*\"((?:[^\"\\]|\\.)*)\"[ \t]*(,|(?=\}))")
_ESCAPE = re.compile(r"\\(.)")


@dataclasses.dataclass(frozen=True)
class Sample:
    """One line: metric name, labels, value (NaN and infinity included)."""

    name: str
    labels: dict[str, str]
    value: float


def parse(text: str) -> list[Sample]:
    """Every sample of a page. Other lines (comments, HTML, truncated lines) are skipped."""
    samples = (_sample(line.strip()) for line in text.split("\n"))
    return [sample for sample in samples if sample is not None]


def total(samples: c.Iterable[Sample], name: str, where: c.Mapping[str, str] | None = None) -> float | None:
    """The sum of the finite samples of a name whose labels include `where`; None without such a sample."""
    values = [s.value for s in _matching(samples, name, where)]
    return math.fsum(values) if values else None


def by_label(samples: c.Iterable[Sample], name: str, label: str, where: c.Mapping[str, str] | None = None) -> dict[str, float]:
    """The sum of the finite samples of a name for each value of a label. Samples without the label are left out."""
    sums: dict[str, float] = {}
    for sample in _matching(samples, name, where):
        if sample.labels.get(label):
            sums[sample.labels[label]] = sums.get(sample.labels[label], 0.0) + sample.value
    return sums


def _matching(samples: c.Iterable[Sample], name: str, where: c.Mapping[str, str] | None) -> c.Iterator[Sample]:
    wanted = (where or {}).items()
    return (s for s in samples if s.name == name and math.isfinite(s.value) and all(s.labels.get(k) == v for k, v in wanted))


def _sample(line: str) -> Sample | None:
    name = _NAME.match(line)
    if name is None:
        return None
    rest = line[name.end() :]
    labels, value = _labels(rest.lstrip()) if rest.lstrip().startswith("{") else ({}, rest if rest[:1].isspace() else "")
    try:
        return Sample(name.group(), labels, float(value.split(None, 1)[0]))
    except (ValueError, IndexError):
        return None


def _labels(text: str) -> tuple[dict[str, str], str]:
    """The labels of `{...} value` and the text after the closing brace; the text is empty when the brace is missing."""
    labels: dict[str, str] = {}
    at = 1
    while True:
        label = _LABEL.match(text, at)
        if label is None:
            break
        labels[label.group(1)] = _ESCAPE.sub(lambda m: "\n" if m.group(1) == "n" else m.group(1), label.group(2))
        at = label.end()
    rest = text[at:].lstrip()
    return labels, rest[1:] if rest.startswith("}") else ""
