# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary files and processes of a worker. None of them outlives the run, however it ends.

A worker keeps its temporary files in one folder, which it removes when it ends. A worker that is killed removes nothing, so its process id is part of
the folder's name, and the next run removes the folders of processes that no longer exist.
"""

from __future__ import annotations

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
import typing as t
from pathlib import Path

PREFIX = "llm_d-"
WAKE = signal.SIGURG  # which interrupts what the main thread waits in, and does nothing to a process without a handler for it
_OURS = re.compile(re.escape(PREFIX) + r"(\d+)-")


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
        named = _OURS.match(path.name)
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
    A signal that Ansible sends to the worker may be taken by any of its threads. Python runs its handler in the main thread only, and does not wake that
    from the call it waits in: the thread that is started here does.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        taken, tell = os.pipe()
        os.set_blocking(tell, False)
        signal.signal(WAKE, lambda _number, _frame: None)
        signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
        os.register_at_fork(after_in_child=functools.partial(signal.set_wakeup_fd, -1))
        threading.Thread(target=_end_with, args=(parent.pid, taken), daemon=True).start()


def _end_with(parent: int | None, taken: int) -> None:
    """`taken` reads the numbers of the signals that this process has taken."""
    while os.getppid() == parent:  # not multiprocessing's sentinel: workers forked later hold its other end too
        if select.select([taken], [], [], 1)[0] and os.read(taken, 64).strip(bytes([WAKE])):
            signal.pthread_kill(t.cast(int, threading.main_thread().ident), WAKE)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
