# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a worker has on this host while it works. Nothing of it outlives the run, however that ends.

A worker's temporary files lie in one folder, which goes with it. A worker that is killed removes nothing, so the folder bears its
process id, and the next run takes it away.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import multiprocessing.util
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import typing as t
from pathlib import Path
from unittest import mock

PREFIX = "llm_d-"
_OURS = re.compile(re.escape(PREFIX) + r"(\d+)-")


def folder() -> str:
    """The folder for temporary files of this process."""
    return _folder_of(os.getpid())


@functools.lru_cache(maxsize=1)
def _folder_of(pid: int) -> str:
    made = tempfile.mkdtemp(prefix=f"{PREFIX}{pid}-")
    # a worker ends without what `atexit` would do
    multiprocessing.util.Finalize(None, shutil.rmtree, args=(made, True), exitpriority=1)
    return made


def remove_orphans() -> list[str]:
    """Remove the folders of processes that are no more; returns their paths."""
    removed = []
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        named = _OURS.match(path.name)
        try:
            if named and path.lstat().st_uid == os.getuid() and not _alive(int(named.group(1))):
                shutil.rmtree(path)
                removed.append(str(path))
        except OSError:
            continue  # another run was quicker
    return removed


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextlib.contextmanager
def key_files() -> t.Iterator[None]:
    """Have the Kubernetes client write the keys and certificates of a kubeconfig into our folder, and remove them at once when they have served.

    By itself it writes them beside it and removes them at the interpreter's exit, which a worker does not have: it may be ended as soon as it has answered.
    """
    library = sys.modules.get("kubernetes.config.kube_config")
    if library is None:
        yield
        return
    write = library._create_temp_file_with_content

    def within(content, temp_file_path=None, force_recreate=False):
        return write(content, temp_file_path or folder(), force_recreate)

    with mock.patch.object(library, "_create_temp_file_with_content", within):
        try:
            yield
        finally:
            for content, path in list(library._temp_files.items()):
                if Path(path).parent == Path(folder()):
                    Path(path).unlink(missing_ok=True)
                    del library._temp_files[content]


@functools.lru_cache(maxsize=1)
def end_with_the_run() -> None:
    """In a worker: end it, and what it has started, as soon as the run that it works for is no more.

    A worker has a session of its own, so who kills the run does not reach it: it would wait, or change things, beside the next run.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_outlive_nobody, args=(parent.pid,), daemon=True).start()


def _outlive_nobody(parent: int | None) -> None:
    while os.getppid() == parent:  # workers that were forked later hold the other end of multiprocessing's own sentinel
        time.sleep(1)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
