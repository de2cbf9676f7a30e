# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where results go: into the folder of artifacts, or where that cannot be written, as in a job whose project is read-only, below the folder of temporary files.

The run and its reports are the same then; a warning names the folder. So no role has to know whether it can write.
"""

from __future__ import annotations

import os
import stat
import tempfile

from ansible.utils.display import Display

from ..module_utils.common.objects import Facts
from ..module_utils.http import sigv4
from ..module_utils.schema.fields import Problem

BASE = "llm_d-results-"  # and the user's number
display = Display()


def unwritable(folder: str, whole: bool = False) -> str:
    """Why nothing can be written into a folder, which may have to be made; "" where it can. whole: also checks all folders in it."""
    place = os.path.abspath(folder)
    while not os.path.lexists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        return f"{place} is no folder"
    inside = [where for where, _folders, _files in os.walk(place)] if whole and place == os.path.abspath(folder) else [place]
    return next((_why(where) for where in inside if not os.access(where, os.W_OK | os.X_OK)), "")


def _why(place: str) -> str:
    return f"{place} is on a read-only file system" if os.statvfs(place).f_flag & os.ST_RDONLY else f"no permission to write into {place}"


def results_folder(wanted: str) -> str:
    """The folder itself, or where it is not writable another one, with a warning once a run. Creates no folder."""
    why = unwritable(wanted, whole=True)
    if not why:
        return wanted
    base = os.path.join(tempfile.gettempdir(), f"{BASE}{os.getuid()}")
    instead = os.path.join(base, wanted.lstrip(os.sep))
    if not _is_ours(base) or unwritable(instead, whole=True):
        return wanted
    display.warning(f"{why}, so the results of this run go to {instead}. Set llm_d_artifacts_dir to a folder that can be written.")
    return instead


def without_credentials(user: Facts) -> list[Problem]:
    """The problem of a bucket for reports without credentials, which would otherwise fail only at the end of a run."""
    artifacts = user.get("llm_d_artifacts")
    if not isinstance(artifacts, dict) or not artifacts.get("s3") or sigv4.keys(os.environ):
        return []
    fix = f"Set {' and '.join(sigv4.NEEDED)}, in AWX by a credential of the type Amazon Web Services."
    return [Problem("llm_d_artifacts.s3", None, "needs credentials, which the environment does not have.", fix)]


def _is_ours(path: str) -> bool:
    """Whether the path does not exist, or is a folder of this user, so that nobody else can have put files there."""
    if not os.path.lexists(path):
        return True
    status = os.lstat(path)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
