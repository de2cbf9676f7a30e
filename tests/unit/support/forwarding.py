# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A port-forward over a WebSocket (v4.channel.k8s.io), as an API server and a kubelet handle it, with real sockets on both sides."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import socket
import struct
import threading
import typing as t

PROTOCOL = "v4.channel.k8s.io"
_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
DATA, CLOSE = 2, 8


def forward(handler: t.Any, port: int, target: tuple[str, int]) -> None:
    """Answers the upgrade of an http.server handler, and copies bytes to and from `target` until either side closes its connection."""
    accept = base64.b64encode(hashlib.sha1((handler.headers["Sec-WebSocket-Key"] + _GUID).encode()).digest()).decode()
    handler.send_response(101)
    for name, value in {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept, "Sec-WebSocket-Protocol": PROTOCOL}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.flush()
    for channel in (0, 1):
        _send(handler, DATA, bytes([channel]) + struct.pack("<H", port))
    try:
        far = socket.create_connection(target, timeout=60)
    except OSError as error:
        _send(handler, DATA, b"\x01" + f"error forwarding port {port} to pod 9f3a, uid : {error}".encode())
        _send(handler, CLOSE, b"")
        return
    far.settimeout(None)
    with far:
        back = threading.Thread(target=_back, args=(handler, far), daemon=True)
        back.start()
        while (data := _receive(handler)) is not None:
            if data[:1] == b"\x00":
                far.sendall(data[1:])
        with contextlib.suppress(OSError):
            far.shutdown(socket.SHUT_RDWR)
        back.join(5)


def _back(handler: t.Any, far: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := far.recv(65536):
            _send(handler, DATA, b"\x00" + data)
        _send(handler, CLOSE, b"")


def _send(handler: t.Any, kind: int, data: bytes) -> None:
    size = bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack(">H", len(data)) if len(data) < 65536 else b"\x7f" + struct.pack(">Q", len(data))
    handler.wfile.write(bytes([0x80 | kind]) + size + data)
    handler.wfile.flush()


def _receive(handler: t.Any) -> bytes | None:
    """The data of the next frame; None at the end."""
    head = handler.rfile.read(2)
    if len(head) < 2 or head[0] & 15 == CLOSE:
        return None
    size = head[1] & 127
    if size > 125:
        size = struct.unpack(">H" if size == 126 else ">Q", handler.rfile.read(2 if size == 126 else 8))[0]
    mask, data = handler.rfile.read(4), handler.rfile.read(size)
    return bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))
