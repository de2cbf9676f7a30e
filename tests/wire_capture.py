# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times at which the events of streamed answers were on loopback, captured by tcpdump."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import signal
import struct
import subprocess
import time


@contextlib.contextmanager
def wire(url: str, folder: pathlib.Path):
    """Yield a list that contains, afterwards, (milliseconds to the first event, between events) by the kernel's timestamps; it stays empty without tcpdump."""
    samples: list[tuple[list[float], list[float]]] = []
    if not shutil.which("tcpdump"):
        yield samples
        return
    port = url.rpartition(":")[2]
    command = [
        "tcpdump",
        "-i",
        "lo",
        "-n",
        "-U",
        "--time-stamp-precision=nano",
        "-s",
        "700",
        "-B",
        "65536",
        "-w",
        str(folder / "wire.pcap"),
        f"tcp port {port}",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as watching:
        watching.stderr.readline()  # it reports that it listens
        try:
            yield samples
        finally:
            time.sleep(0.5)
            watching.send_signal(signal.SIGINT)
            watching.communicate()
    samples.append(events((folder / "wire.pcap").read_bytes(), int(port)))


def events(capture: bytes, port: int) -> tuple[list[float], list[float]]:
    """Times to the first event and between events of every answer, in milliseconds, from a capture of Ethernet frames with nanoseconds."""
    first, between, request_times, last = [], [], {}, {}
    at = 24
    while at < len(capture):
        seconds, nanoseconds, kept = struct.unpack_from("<III", capture, at)
        frame = capture[at + 16 : at + 16 + kept]
        at += 16 + kept
        now, tcp = seconds * 1e3 + nanoseconds / 1e6, 14 + (frame[14] & 15) * 4
        source, target = struct.unpack_from(">HH", frame, tcp)
        payload = frame[tcp + (frame[tcp + 12] >> 4) * 4 :]
        if target == port and payload.startswith(b"POST "):
            request_times[source] = now
            last.pop(source, None)
        elif source == port and b'data: {"' in payload:
            if target in last:
                between.append(now - last[target])
            elif target in request_times:
                first.append(now - request_times[target])
            last[target] = now
    return first, between
