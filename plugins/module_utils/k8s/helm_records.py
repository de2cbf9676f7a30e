# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Helm's record of a release, which is a Secret for each revision: whether Helm is at work on it, and its form after a failure. Pure."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import re
import typing as t

from ..common.objects import Facts, get_path, mapping, text

# what Helm writes before it does something, and overwrites after it
AT_WORK = ("pending-install", "pending-upgrade", "pending-rollback", "uninstalling")
_DESCRIPTION = "Helm was interrupted"


def newest(records: t.Sequence[Facts]) -> Facts | None:
    """The record of the last revision; None where there is none."""
    return max(records, key=lambda record: _number(_label(record, "version")), default=None)


def status(record: Facts | None) -> str:
    """The status of a record, `absent` for none."""
    return _label(record, "status") if record else "absent"


def age(record: Facts, now: float) -> float:
    """Seconds since Helm last wrote the record. now: seconds since 1970."""
    return now - max(_number(_label(record, "createdAt")), _number(_label(record, "modifiedAt")))


def facts(record: Facts | None) -> Facts:
    """{status, revision, version of the chart, values that it was given}. Raises ValueError where the record is none of Helm's."""
    release = _read(text(get_path(record, "data", "release"))) if record else {}
    version = text(get_path(release, "chart", "metadata", "version"))
    return {
        "status": status(record),
        "revision": _number(_label(record, "version")) if record else 0,
        "version": version.removeprefix("v"),
        "release_values": mapping(release.get("config")),
    }


def failed(record: Facts) -> Facts:
    """The record as Helm leaves it after an ordinary failure: from there it can upgrade and uninstall. Raises ValueError where it is none of Helm's."""
    changed = copy.deepcopy(record)
    release = _read(text(get_path(record, "data", "release")))
    release.setdefault("info", {}).update(status="failed", description=f"{_DESCRIPTION} while {status(record)}")
    changed["data"]["release"] = _written(release)
    changed["metadata"]["labels"]["status"] = "failed"
    return changed


def _read(data: str) -> Facts:
    try:
        packed = base64.b64decode(base64.b64decode(data))
        return mapping(json.loads(gzip.decompress(packed) if packed.startswith(b"\x1f\x8b") else packed))
    except (OSError, EOFError) as error:
        raise ValueError(str(error)) from error


def _written(release: Facts) -> str:
    return base64.b64encode(base64.b64encode(gzip.compress(json.dumps(release).encode()))).decode()


def _label(record: Facts, name: str) -> str:
    return text(mapping(get_path(record, "metadata", "labels")).get(name))


def _number(label: str) -> int:
    return int(label) if re.fullmatch(r"\d+", label) else 0
