# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sockets that know when the kernel received what they read and what the other side received, and connecting them.

A loop with thirty readable sockets reads the last one when it is done with the others; by its own clock the server would be late.
Linux stamps each packet on arrival (SO_TIMESTAMPNS, socket(7)). Elsewhere, and without a stamp, `behind` is 0 and the loop's clock counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import platform
import socket
import struct
import sys
import threading
import time
import typing as t

# Python's socket module does not name it. This is its number on all machines in MACHINES.
SO_TIMESTAMPNS = 35
MACHINES = ("x86_64", "aarch64", "ppc64le", "s390x")
STAMPED = sys.platform == "linux" and platform.machine() in MACHINES
TIMESPEC = struct.Struct("@qq")
TCP_INFO, ESTABLISHED = struct.Struct("@B119xQ"), 1  # tcpi_state and tcpi_bytes_acked of struct tcp_info (linux/tcp.h)
OWN = (errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS, errno.ENOMEM)  # errors of this host, whatever the server does
NO_WAY = (errno.ENETUNREACH, errno.EAFNOSUPPORT)  # this host has no address of the kind
Place = tuple[t.Any, ...]  # as getaddrinfo returns it
ANCILLARY = socket.CMSG_SPACE(TIMESPEC.size) if STAMPED else 0


class StampedSocket(socket.socket):
    """A socket whose `recv_into`, which is how asyncio reads into a buffer, keeps the stamp of the last packet that it read."""

    stamp = 0.0  # seconds since 1970; 0 for none

    def begin_stamps(self) -> None:
        """Ask the kernel for stamps. No error where it has none."""
        with contextlib.suppress(OSError):
            self.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)

    def recv_into(self, buffer: t.Any, nbytes: int = 0, flags: int = 0) -> int:
        """As socket.socket.recv_into."""
        read, messages, _flags, _address = self.recvmsg_into([memoryview(buffer)[:nbytes] if nbytes else buffer], ANCILLARY, flags)
        self.stamp = 0.0
        for level, kind, data in messages:
            if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS and len(data) == TIMESPEC.size:
                seconds, nanoseconds = TIMESPEC.unpack(data)
                self.stamp = seconds + nanoseconds / 1e9
        return read

    @property
    def behind(self) -> float:
        """Seconds since the arrival of the packet that was read last; 0 without a stamp."""
        return max(0.0, time.time() - self.stamp) if self.stamp else 0.0


def tcp_state(sock: socket.socket) -> tuple[bool, int | None] | None:
    """(whether neither side has closed the connection, how many bytes the other side's kernel has acknowledged); None where our kernel does not report it.

    The number is None where the kernel does not count (gVisor reports 0). On Linux it is never 0, since the opening of a connection is acknowledged too.
    """
    if sys.platform != "linux":  # FreeBSD has an option of this name, with other numbers for the states
        return None
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO.size)
    except OSError:
        return None
    state, acknowledged = TCP_INFO.unpack(info) if len(info) == TCP_INFO.size else (0, 0)
    return (state == ESTABLISHED, acknowledged or None) if state else None


async def resolve(host: str, port: int) -> list[Place]:
    """The addresses of a name. Raises socket.gaierror and UnicodeError."""
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        pass
    loop = asyncio.get_running_loop()
    resolved: asyncio.Future[list[Place]] = loop.create_future()

    def settle(places: list[Place], error: Exception | None) -> None:
        if error and not resolved.done():
            resolved.set_exception(error)
        elif not resolved.done():
            resolved.set_result(places)

    def look() -> None:
        places, failed = [], None
        try:
            places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            failed = error
        with contextlib.suppress(RuntimeError):  # the loop may have ended
            loop.call_soon_threadsafe(settle, places, failed)

    # Not a thread of the loop's executor: the loop waits for those when it ends, and no time-out ends a look-up.
    threading.Thread(target=look, daemon=True).start()
    return await resolved


async def connect(places: list[Place]) -> socket.socket:
    """A connection to the first address that accepts one. Raises OSError: of several, the one that is the least likely to be of this host."""
    refused: list[OSError] = []
    for place in places:
        try:
            return await _connected(place)
        except OSError as error:
            refused.append(_unreachable(place) or error if error.errno == errno.EADDRNOTAVAIL else error)
    raise min(refused, key=lambda error: 2 * (error.errno in OWN) + (error.errno in NO_WAY))


async def _connected(place: Place) -> socket.socket:
    family, kind, protocol, _name, address = place
    made = StampedSocket(family, kind, protocol) if STAMPED else socket.socket(family, kind, protocol)
    try:
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, address)
    except BaseException:
        made.close()
        raise
    if isinstance(made, StampedSocket):
        made.begin_stamps()
    return made


def _unreachable(place: Place) -> OSError | None:
    """The error of an address that no address of this host reaches, as where IPv6 is off; None where one does, and no port is left."""
    with socket.socket(place[0], socket.SOCK_DGRAM) as probe:  # sends nothing
        try:
            probe.connect(place[4])
        except OSError:
            return OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))
    return None
