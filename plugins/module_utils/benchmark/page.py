# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTML page of a measurement. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.objects import Facts
from ..report import html, svg
from . import result, slo
from .comparison import milliseconds, per_second, percent

SHOWN = 7  # stages in one chart, as many as there are colors
BARS = 16  # servers
CDFS = (
    ("ttft_from_schedule", "Time to first token", "from when the request was due"),
    ("tpot", "Time per output token", "after the first one, per request"),
    ("itl", "Time between tokens", "between pieces of an answer, over all requests"),
    ("e2e_from_schedule", "Time to last token", "from when the request was due"),
)
LATE, BOUNDS = "†", "‡"
MARKS = {
    LATE: "The client itself was late: these numbers say nothing about the server.",
    BOUNDS: "The client itself was late: latencies are upper bounds. Objectives are judged with that counted in.",
}
STYLE = """
h2.part{font-size:1.3rem;margin:1.6em 0 .3em;padding-top:.6em;border-top:2px solid var(--rule)}
ul.why{margin:.4em 0 1em;padding-left:1.2em}td:first-child,th:first-child{text-align:left}
"""


def page(measurement: c.Mapping[str, t.Any]) -> str:
    """The page of a result, as result.json holds it."""
    return html.document(f"Performance of {', '.join(measurement['about']['models'])}", html.of(measurement["about"]) + _body(measurement), style=STYLE)


def together(title: str, each: c.Sequence[tuple[str, c.Mapping[str, t.Any]]], about: c.Mapping[str, t.Any] | None = None) -> str:
    """One page of several results, each with its name. about: {instance, namespace, cluster, release}, where they are of a deployment."""
    return html.document(
        title, html.of(about or {}) + "".join(f'<h2 class="part">{html.escape(name)}</h2>{_body(measurement)}' for name, measurement in each), style=STYLE
    )


def _body(measurement: c.Mapping[str, t.Any]) -> str:
    stages = measurement["stages"]
    shown = spread(stages)
    labels = [stage["label"] for stage in shown]
    charts = [*_ladder(stages), *(_cdf(shown, *each) for each in CDFS), *_over_time(shown), *_servers(shown)]
    return "".join(
        [
            _head(measurement),
            html.legend(labels),
            f'<div class="charts">{"".join(charts)}</div>',
            _left_out(stages, shown),
            "<h2>All numbers</h2>",
            _numbers(stages),
            _objectives(stages),
            _comparison(measurement.get("comparison"), measurement.get("baseline_differs")),
            '<p class="soft">Latencies are those of requests that succeeded. TTFT and end to end count from when a request was due, so that waiting for a slow '
            "server counts. Percentiles are within 0.05 %. Objectives count a failed request as one that takes forever.</p>",
            "<h2>What was measured</h2>",
            html.definitions({"started": measurement["started"], "seconds": measurement["seconds"], "client": measurement["client"], **measurement["about"]}),
        ]
    )


def spread(stages: c.Sequence[Facts]) -> list[Facts]:
    """The stages that a chart shows, the first and the last among them."""
    if len(stages) <= SHOWN:
        return list(stages)
    return [stages[round(index * (len(stages) - 1) / (SHOWN - 1))] for index in range(SHOWN)]


def _head(measurement: c.Mapping[str, t.Any]) -> str:
    best = f" Highest rate that met every objective: {measurement['best_rate']:g} requests/s." if measurement["best_rate"] and _has_slo(measurement) else ""
    limited = f" {html.escape(measurement['limited'])}." if measurement["limited"] else ""
    why = "".join(f"<li>{html.escape(line)}</li>" for line in measurement["why"])
    headline = f'<p class="headline"><span class="verdict {measurement["verdict"]}">{measurement["verdict"]}</span>{best}{limited}</p>'
    return headline + (f'<ul class="why">{why}</ul>' if why else "")


def _has_slo(measurement: c.Mapping[str, t.Any]) -> bool:
    return any(stage["slo"] for stage in measurement["stages"])


def _left_out(stages: c.Sequence[Facts], shown: c.Sequence[Facts]) -> str:
    return "" if len(shown) == len(stages) else f'<p class="soft">{len(stages) - len(shown)} of {len(stages)} stages are only in the table.</p>'


def _ladder(stages: c.Sequence[Facts]) -> list[str]:
    """Throughput and latency by load, where several stages have the same kind of load."""
    for name, label in (("rate", "target requests per second"), ("concurrency", "requests in flight")):
        loads = sorted((stage for stage in stages if stage[name] is not None and stage["to_rate"] is None), key=lambda stage: stage[name])
        if len({stage[name] for stage in loads}) > 1:
            return [
                _against(
                    loads,
                    name,
                    label,
                    "Throughput by load",
                    "Output tokens of successful requests.",
                    "output tokens per second",
                    lambda stage: stage["output_tokens_per_s"],
                ),
                _against(loads, name, label, "Requests answered by load", "Successful requests.", "requests per second", lambda stage: stage["requests_per_s"]),
                _against(
                    loads,
                    name,
                    label,
                    "Time to first token by load, 90th percentile",
                    "Lower is better.",
                    "milliseconds",
                    lambda stage: stage["ttft_from_schedule_ms"]["p90"],
                    wide=True,
                ),
            ]
    return []


def _against(
    loads: c.Sequence[Facts], name: str, across: str, title: str, note: str, up: str, of: c.Callable[[Facts], float | None], wide: bool = False
) -> str:
    series = [(title, [(stage[name], of(stage)) for stage in loads])]
    return html.figure(title, note, svg.line_chart(title, t.cast(t.Any, series), svg.Axis(across, low=0.0), svg.Axis(up, low=0.0, wide=wide)))


def _cdf(stages: c.Sequence[Facts], name: str, title: str, note: str) -> str:
    series = [(stage["label"], stage["cdf"][name]) for stage in stages]
    if not any(value > 0 for _label, points in series for value, _share in points):
        return ""
    chart = svg.line_chart(title, t.cast(t.Any, series), svg.Axis("milliseconds", log=True), svg.Axis("share", low=0.0, high=1.0), dots=False, steps=True)
    return html.figure(title, f"Share that took no longer, {note}.", chart)


def _over_time(stages: c.Sequence[Facts]) -> list[str]:
    if all(len(stage["series"]) < 3 for stage in stages):
        return []

    def chart(title: str, note: str, up: svg.Axis, name: str) -> str:
        series = [(stage["label"], [(row["second"], row[name]) for row in _whole(stage["series"])]) for stage in stages]
        return html.figure(title, note, svg.line_chart(title, t.cast(t.Any, series), svg.Axis("seconds since the start of the stage", low=0.0), up, dots=False))

    return [
        chart("Time to first token over time", "90th percentile of the requests that were due then.", svg.Axis("milliseconds", wide=True), "ttft_p90_ms"),
        chart("Answers over time", "Successful requests by when they ended.", svg.Axis("requests per second", low=0.0), "requests_per_s"),
    ]


def _whole(rows: c.Sequence[Facts]) -> c.Sequence[Facts]:
    """The rows without the last slice of time, which is not whole."""
    return rows[:-1] if len(rows) > 3 else rows


def _servers(stages: c.Sequence[Facts]) -> list[str]:
    if not any(stage["servers"] for stage in stages):
        return []
    title = "Requests per server"
    if len(stages) > 1:
        bars = [(stage["label"], sorted(stage["servers"].values(), reverse=True)[:BARS]) for stage in stages]
        return [html.figure(title, "Each bar is a server, the busiest first.", svg.bar_chart(title, bars, svg.Axis("requests"), "", "group"))]
    counts = sorted(stages[0]["servers"].items(), key=lambda each: -each[1])[:BARS]
    bars = [(name, [float(count)]) for name, count in counts]
    return [html.figure(title, "By the name that servers give in their answers.", svg.bar_chart(title, bars, svg.Axis("requests")))]


def _rows(stages: c.Sequence[Facts]) -> list[list[str]]:
    head = [
        "load",
        "TTFT p50",
        "TTFT p90",
        "TTFT p99",
        "TPOT p50",
        "TPOT p90",
        "end to end p90",
        "requests/s",
        "output tokens/s",
        "good",
        "cache hits",
        "failed",
        "client CPU",
    ]
    return [head] + [
        [
            stage["label"] + mark(stage),
            *(shown_time(stage["ttft_from_schedule_ms"][name]) for name in ("p50", "p90", "p99")),
            *(shown_time(stage["tpot_ms"][name]) for name in ("p50", "p90")),
            shown_time(stage["e2e_from_schedule_ms"]["p90"]),
            f"{stage['requests_per_s']:.1f}",
            per_second(stage["output_tokens_per_s"]),
            percent(stage["goodput_share"]),
            percent(stage["hit_ratio"]),
            f"{stage['failed']} of {stage['requests']}",
            f"{stage['client_cpu']:.2f}",
        ]
        for stage in stages
    ]


def mark(stage: c.Mapping[str, t.Any]) -> str:
    """The mark behind the name of a stage in which the client was late; empty for other stages."""
    return f" {LATE}" if not stage["valid"] else f" {BOUNDS}" if stage["late"] else ""


def shown_time(value: float | None) -> str:
    """A latency in milliseconds as text."""
    return f"{value:.1f} ms" if value is not None and value < 100 else milliseconds(value)


def _objectives(stages: c.Sequence[Facts]) -> str:
    rows = [[stage["label"], slo.objective_line(judged)] for stage in stages for judged in stage["slo"]]
    return "" if not rows else "<h2>Objectives</h2>" + html.table([["load", "objective"], *rows])


def _comparison(rows: c.Sequence[Facts] | None, noted: str | None) -> str:
    if not rows:
        return ""
    head = ["load", "what", "baseline", "now", "ratio", "95 % interval", ""]
    body = [
        [
            row["label"],
            row["name"],
            *("-" if row[run] is None else f"{row[run]:g}" for run in ("baseline", "measured")),
            "-" if row["ratio"] is None else f"{row['ratio']:.3f}",
            result.ends(row),
            row["verdict"],
        ]
        for row in rows
        if not row["why"]
    ]
    notes = [line[:1].upper() + line[1:] + "." for line in [*result.uncompared(rows), *([noted] if noted else [])]]
    shown = html.table([head, *body]) if body else ""
    return "<h2>Compared with the baseline</h2>" + shown + "".join(f'<p class="soft">{html.escape(note)}</p>' for note in notes)


def _numbers(stages: c.Sequence[Facts]) -> str:
    """The table of stages, with a note where the client was late in one."""
    return html.table(_rows(stages)) + "".join(f'<p class="soft">{html.escape(note)}</p>' for note in marks(stages))


def marks(stages: c.Iterable[c.Mapping[str, t.Any]]) -> list[str]:
    """The marks behind names of stages with their meaning, one line for each that occurs."""
    present = {mark(stage).strip() for stage in stages}
    return [f"{each} {MARKS[each]}" for each in MARKS if each in present]
