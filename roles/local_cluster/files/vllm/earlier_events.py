# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's own KV events, encoded as vLLM before 0.24 encodes them: each as an array of its tag and its fields.

No endpoint picker that reads the newer encoding can be built for the local cluster.
"""

from __future__ import annotations

import typing as t

import msgspec
from vllm.distributed import kv_events


class EarlierEncoder:
    """In place of the encoder of a publisher."""

    def __init__(self) -> None:
        self._encoder = msgspec.msgpack.Encoder()

    def encode(self, batch: t.Any) -> bytes:
        events = [[type(event).__name__, *(getattr(event, name) for name in event.__struct_fields__)] for event in batch.events]
        return t.cast("bytes", self._encoder.encode([batch.ts, events, batch.data_parallel_rank]))


class EarlierPublisher(kv_events.ZmqEventPublisher):
    """Publishes as vLLM does, in the earlier encoding."""

    def __init__(self, *arguments: t.Any, **named: t.Any) -> None:
        super().__init__(*arguments, **named)
        self._pack = EarlierEncoder()


kv_events.EventPublisherFactory._registry["zmq"] = EarlierPublisher
