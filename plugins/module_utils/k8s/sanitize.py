# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects made fit to be kept as evidence: without secrets and without noise. Computes only."""

from __future__ import annotations

import re

from ..common.objects import dig, mapping, text
from ..common.text import redact, shorten
from .pod_failures import event_time

REMOVED = "(removed)"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SECRET_NAME = re.compile(r"token|passw|secret|api_?key|access_?key|credential|private", re.IGNORECASE)
# an argument whose value is the next one; --tokenizer and --max-num-batched-tokens are none
_SECRET_FLAG = re.compile(r"--?([a-z-]+-)?(token|password|secret|api-?key|access-?key|credentials?)", re.IGNORECASE)


def clean(obj: dict) -> dict:
    """An object without managed fields, without the values of a Secret, and with what looks like a secret removed from every text."""
    metadata = {name: value for name, value in mapping(obj.get("metadata")).items() if name != "managedFields"}
    annotations = {name: value for name, value in mapping(metadata.get("annotations")).items() if name != LAST_APPLIED}
    if "annotations" in metadata:
        metadata["annotations"] = annotations
    cleaned = {**obj, "metadata": metadata}
    if obj.get("kind") == "Secret":
        cleaned.update({key: {name: REMOVED for name in mapping(obj.get(key))} for key in ("data", "stringData") if key in obj})
    return _walk(cleaned)


def _walk(value: object) -> object:
    if isinstance(value, dict):
        if isinstance(value.get("name"), str) and isinstance(value.get("value"), str) and _SECRET_NAME.search(value["name"]):
            # an environment variable, or a header, whose name gives its value away
            return {**value, "value": REMOVED}
        return {name: _walk(item) for name, item in value.items()}
    if isinstance(value, list):
        named = [False, *(isinstance(item, str) and bool(_SECRET_FLAG.fullmatch(item)) for item in value)]
        return [REMOVED if given and isinstance(item, str) and not item.startswith("-") else _walk(item) for given, item in zip(named, value)]
    return redact(value) if isinstance(value, str) else value


def file_name(*parts: str) -> str:
    """A file name of some names: lower case, nothing but letters, digits, dots and dashes."""
    return "-".join(re.sub(r"[^a-z0-9.]+", "-", part.lower()).strip("-.") for part in parts if part)


def event_table(events: list[dict]) -> str:
    """Events as lines of text, the oldest first: time, type, reason, object, count, message."""
    lines = []
    for event in sorted(events, key=event_time):
        who = f"{text(dig(event, 'involvedObject', 'kind'))}/{text(dig(event, 'involvedObject', 'name'))}"
        count = event.get("count") or dig(event, "series", "count") or 1
        lines.append(f"{event_time(event)}  {text(event.get('type'))}  {text(event.get('reason'))}  {who}  x{count}  {shorten(text(event.get('message')), 1000)}")
    return "".join(line + "\n" for line in lines)
