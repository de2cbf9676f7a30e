"""Targets of tests/run-fuzz: parsers.py TARGET CORPUS [options of libFuzzer]. Each raises if a parser violates its contract."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

with atheris.instrument_imports(include=["ansible_collections"]):
    from ansible_collections.llm_d.inference.plugins.module_utils.common import prometheus_text, sse
    from ansible_collections.llm_d.inference.plugins.module_utils.loadgen import http11
    from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.answer_reader import AnswerReader
    from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
SEEDS = {
    "sse": [b'data: {"a": 1}\n\ndata: [DONE]\n\n', b"event: error\r\ndata: x\r\ndata: y\r\n\r\n", b": ping\rdata:\xff\r\r", b"\xef\xbb\xbfid: 1\ndata"],
    "metrics": [b'# TYPE a gauge\na{b="c\\"d\\n"} 1 170\na NaN\n', b'x_bucket{le="+Inf"} 3e5\nx +Inf\n'],
    "answer": [
        HEAD + event + b"data: [DONE]\n\n"
        for event in (
            b'data: {"choices":[{"text":"a"}]}\n\ndata: {"choices":[{"text":"","finish_reason":"stop"}],"usage":{"completion_tokens":2}}\n\n',
            b'data: {"error":{"message":"x"}}\n\n',
            b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n',
        )
    ],
    "wire": [b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"],
}


def cut(data: bytes) -> list[bytes]:
    """The rest of the data in pieces, whose lengths are in its first bytes."""
    count, body = (data[0] % 8, data[1:]) if data else (0, b"")
    lengths, body = body[:count], body[count:]
    pieces = []
    for length in lengths:
        pieces.append(body[:length])
        body = body[length:]
    return [*pieces, body]


def check_sse(data: bytes) -> None:
    """The events do not depend on how the bytes are cut."""
    pieces, parser = cut(data), sse.SseParser()
    events = [event for piece in pieces for event in parser.feed(piece)] + parser.close()
    assert events == sse.parse(b"".join(pieces)), pieces


def check_metrics(data: bytes) -> None:
    """Any text results in samples that can be summed."""
    samples = prometheus_text.parse(data.decode("utf-8", "replace"))
    for sample in samples:
        assert sample.name and isinstance(sample.value, float)
        total = prometheus_text.total(samples, sample.name)
        assert total is None or math.isfinite(total) or math.isinf(total)
        for label in sample.labels:
            prometheus_text.by_label(samples, sample.name, label)


def check_wire(data: bytes) -> None:
    """The same answer or a WireError, however it is cut; never more bytes than the input."""
    outcomes = []
    for pieces in (cut(data), [b"".join(cut(data))]):
        parser, content = http11.ResponseParser(), b""
        try:
            for piece in pieces:
                content += b"".join(parser.feed(piece))
            outcomes.append(content)
        except http11.WireError:
            outcomes.append(None)
        assert len(content) <= sum(map(len, pieces))
    assert outcomes[0] == outcomes[1], (data, outcomes)


def check_answer(data: bytes) -> None:
    """Any answer ends in a failure or in ordered timestamps, with the same tokens in pieces as in one piece."""
    pieces, counts = cut(data), []
    for parts in (pieces, [b"".join(pieces)]):
        reader = AnswerReader(Record(0, 0, 0.0, 0.0), 0, stream=data[:1] != b"\x01", keep_text=True)
        try:
            for now, piece in enumerate(parts, 1):
                if not reader.done:
                    reader.feed(piece, float(now))
            reader.eof(99.0)
        except http11.WireError:
            counts.append(None)
            continue
        record = reader.record
        assert reader.done and (record.error or record.first <= record.last <= record.end), record
        assert all(gap > 0 for gap in record.gaps), record
        counts.append((record.error, record.chunks, record.output_tokens))
    assert counts[0] == counts[1], counts


def main() -> None:
    """Run one target."""
    target, corpus = sys.argv[1], Path(sys.argv[2])
    for index, seed in enumerate(SEEDS[target]):
        (corpus / f"seed-{index}").write_bytes((b"" if target == "metrics" else b"\x02\x05\x07") + seed)
    atheris.Setup([sys.argv[0], str(corpus), *sys.argv[3:]], {"sse": check_sse, "metrics": check_metrics, "wire": check_wire, "answer": check_answer}[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
