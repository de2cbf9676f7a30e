# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary files and processes of a worker, the process that Ansible forks for a task. They do not outlast the run by long, however it ends.

A worker keeps its temporary files in one folder, which it removes when it ends. A worker that is killed removes nothing, so its process id is part of
the folder's name, and the next run removes the folders of processes that no longer exist.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import multiprocessing.util
import os
import re
import select
import shutil
import signal
import tempfile
import threading
import time
import typing as t
from pathlib import Path

PREFIX = "llm_d-"
WAKE = signal.SIGURG  # sent to the main thread to interrupt a blocking call; ignored by a process that has no handler for it
SLOWEST = 2.0  # seconds after the end of a run within which the last of its workers has ended
_DESCRIPTORS = 1 << 16  # higher than any file descriptor that a process has open
_FOLDER_NAME = re.compile(re.escape(PREFIX) + r"(\d+)-")


def folder() -> str:
    """The path of the folder for temporary files of this process; made on the first call."""
    return _folder_of(os.getpid())


@functools.lru_cache(maxsize=1)
def _folder_of(pid: int) -> str:
    made = tempfile.mkdtemp(prefix=f"{PREFIX}{pid}-")
    # A worker runs the finalizers of multiprocessing when it ends, but not those of atexit.
    multiprocessing.util.Finalize(None, shutil.rmtree, args=(made, True), exitpriority=1)
    return made


def remove_orphans() -> list[str]:
    """Remove the folders of processes that no longer exist; returns their paths."""
    removed = []
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        named = _FOLDER_NAME.match(path.name)
        try:
            if named and path.lstat().st_uid == os.getuid() and not _alive(int(named.group(1))):
                shutil.rmtree(path)
                removed.append(str(path))
        except OSError:
            continue  # another run removed it first
    return removed


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@functools.lru_cache(maxsize=1)
def end_with_the_run() -> None:
    """In a worker: end it, and what it has started, within a second of the end of the run it works for.

    A worker has a session of its own, so a signal that kills the run does not reach it: it would go on waiting, or changing things, during the next run.
    The kernel may deliver a signal for the worker to any of its threads, but Python runs handlers in the main thread only, which may be in a blocking call.
    The thread that is started here interrupts that call.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.signal(WAKE, lambda _number, _frame: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        os.register_at_fork(after_in_child=functools.partial(signal.set_wakeup_fd, -1))
        threading.Thread(target=_end_with, args=(parent.pid, reader), daemon=True).start()


def _end_with(parent: int | None, reader: int) -> None:
    """End this process once `parent` has ended. reader: descriptor with the numbers of the signals that this process received."""
    while os.getppid() == parent:  # not multiprocessing's sentinel: workers forked later hold its other end too
        if select.select([reader], [], [], 1)[0] and os.read(reader, 64).strip(bytes([WAKE])):
            signal.pthread_kill(t.cast(int, threading.main_thread().ident), WAKE)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def until_the_run_ends(every: float, work: t.Callable[[], object], end: t.Callable[[], object]) -> int:
    """From a worker: start a process that calls `work` every `every` seconds until the run is over, and then `end`. Returns its id; 0 outside of a
    worker.

    It shares no session, terminal or open file with the run: what waits for their end, such as ansible-runner, does not wait for this process.
    """
    parent = multiprocessing.parent_process()
    end_with_the_run()  # called before the fork, for the worker: called by the new process, it would watch the wrong parent
    if parent is None or (made := os.fork()):
        return 0 if parent is None else made
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        devnull = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(devnull, descriptor)
        os.closerange(3, _DESCRIPTORS)
        while not _is_over(t.cast(int, parent.pid), every):
            with contextlib.suppress(Exception):
                work()
        end()
    finally:
        shutil.rmtree(folder(), ignore_errors=True)
        os._exit(0)


def _is_over(pid: int, seconds: float) -> bool:
    """Wait up to `seconds` for a process to end; returns whether it has."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except (AttributeError, OSError):  # the system has no pidfd_open
        deadline = time.monotonic() + seconds
        while _alive(pid) and time.monotonic() < deadline:
            time.sleep(1)
        return not _alive(pid)
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)
