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
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path

PREFIX = "llm_d-"
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
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.pid,), daemon=True).start()


def _end_with(parent: int | None) -> None:
    while os.getppid() == parent:  # not multiprocessing's sentinel: workers forked later hold its other end too
        time.sleep(1)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
