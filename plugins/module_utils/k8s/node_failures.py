# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a node cannot set a pod up: its sandbox, volumes, images and containers, from the messages of kubelet and container runtime. Pure."""

from __future__ import annotations

import collections.abc as c
import re
from dataclasses import dataclass

from ..common.objects import Facts, get_path, text
from ..common.patterns import LINE, LinePattern
from ..common.text import one_line, redact, shorten
from .log_exceptions import LIMIT
from .node_messages import CREATE, INSPECT, INVALID, SANDBOX, Row
from .volume_messages import SUMMARY, VOLUMES

COMMAND = "use an image that has this program, or correct the command"


@dataclass(frozen=True)
class Failure:
    """code: which failure; what: one line; remedy: what to do; terminal: waiting longer will not help."""

    code: str
    what: str
    remedy: str
    terminal: bool = False


# Why a container waits, where its image is not there.
PULL_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}
)
# Reasons of events about a pod that its node does not get ready to start.
SET_UP_REASONS = ("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox")
# Messages of the kubelet until it has read Secrets, ConfigMaps and Services; it tries again.
_SYNCING = r"failed to sync (secret|configmap) cache|services have not yet been read"
_SUMMARY = re.compile(SUMMARY, re.IGNORECASE)
# Names of images and digests, which hold anything, also 403 and tls.
_NAMES = re.compile(r'"[^"]*"|sha256:[0-9a-f]+|https?://\S+')
_PULL = (
    (r"no space left on device", "F34", "free space on the node's disk for images", False),
    (r"no match for platform|no matching manifest|no image found in (image index|manifest list)", "F34", "use an image for the node's processor", True),
    (r"SignatureValidationFailed|signature validation failed|Source image rejected", "F34", "sign the image, or let the node's policy accept it", True),
    (
        r"not found|manifest unknown|NotFound|no such (image|manifest)|does not exist",
        "F34",
        "correct the image's name and tag, or push it to the registry",
        True,
    ),
    (r"unauthorized|denied|forbidden|authentication required|\b403\b", "F34", "give the pod a pull secret that may read this image", True),
    (r"toomanyrequests|rate limit|\b429\b", "F34", "the registry limits its callers: use a pull secret or a mirror", False),
    (r"pull QPS exceeded", "F34", "the node limits its own pulls, and tries again; if it stays so, raise registryPullQPS of the kubelet", False),
    (r"\b50[0234]\b", "F34", "the registry has a fault, or is overloaded: the node tries again; if it stays so, use a mirror", False),
    (r"x509|certificate|tls:|http: server gave HTTP response", "F34", "make the node trust the registry's certificate, or configure it as plain HTTP", False),
    (
        r"no such host|connection refused|connection reset|timeout|i/o|unreachable|dial tcp|deadline exceeded|EOF",
        "F34",
        "the node cannot reach the registry: check its name, network and proxy",
        False,
    ),
)


class _Table:
    """Rows with their patterns."""

    def __init__(self, rows: c.Iterable[Row]) -> None:
        self._rows = [(LinePattern(*([row[0]] if isinstance(row[0], str) else row[0]), flags=re.IGNORECASE), *row[1:]) for row in rows]

    def find(self, message: str) -> tuple[str, str, str, bool] | None:
        """(code, the message around the match, remedy, whether waiting is of no use) of the first row that matches a message."""
        line = one_line(message[:LINE], LINE)
        for pattern, code, remedy, ends in self._rows:
            if pattern.matches(line):
                shown = one_line(redact(line), LINE)
                return code, _around(shown, pattern.at(shown) or len(shown)), remedy, ends
        return None


def _around(line: str, at: int) -> str:
    """A line, or of a long one its beginning and what is before `at`."""
    if at <= 230 or len(line) <= 240:
        return shorten(line)
    return f"{shorten(line, 90)} {shorten(line[max(at - 110, 90) : at + 40], 150)}"


_SANDBOX, _VOLUMES, _CREATE, _INSPECT, _INVALID = (_Table(rows) for rows in (SANDBOX, VOLUMES, CREATE, INSPECT, INVALID))


def set_up_failure(reason: str, message: str) -> Failure:
    """Why a node does not get a pod ready to start, from an event with one of SET_UP_REASONS."""
    sandbox = reason == "FailedCreatePodSandBox"
    match = (_SANDBOX if sandbox else _VOLUMES).find(message)
    if match:
        code, what, remedy, ends = match
        return Failure(code, what, remedy, ends)
    if sandbox:
        return Failure("starting", shorten(message), "check the container runtime and the network plugin of the node")
    return Failure("F20", shorten(message), "check the volume, its claim and its storage class")


def set_up_event(events: c.Iterable[Facts]) -> Facts | None:
    """The latest event with one of SET_UP_REASONS; one that only summarizes others counts where there are no others."""
    ordered = sorted((event for event in events if event.get("reason") in SET_UP_REASONS), key=event_time)
    return next((event for event in reversed(ordered) if not _SUMMARY.search(text(event.get("message"))[:LINE])), ordered[-1] if ordered else None)


def event_time(event: Facts) -> str:
    """When an event last occurred, as RFC 3339 text, which sorts."""
    series = get_path(event, "series", "lastObservedTime")
    return text(series or event.get("lastTimestamp") or event.get("eventTime") or get_path(event, "metadata", "creationTimestamp"))


def pull_failure(reason: str, message: str, image: str) -> Failure:
    """Why an image is not there, from reason and message of a container that waits for it, or from the message of an event about it."""
    if reason == "InvalidImageName":
        match = _INVALID.find(f"{image} {message}")
        remedy = match[2] if match else "correct the image's name: NAME:TAG or NAME@DIGEST, with its registry before it, without blanks or quotes"
        return Failure("F34", f"image {image!r} is no valid name", remedy, True)
    if reason == "ErrImageNeverPull":
        what = f"image {image} is not on the node and may not be pulled"
        return Failure("F34", what, "load it on the node, or change the pull policy", True)
    if reason == "ImageInspectError":
        match = _INSPECT.find(message)
        what = f"image {image} cannot be read on the node: {shorten(message) or reason}"
        code, _what, remedy, ends = match or ("F34", "", "check the node's container runtime, and its store of images", False)
        return Failure(code, what, remedy, ends)
    words = _NAMES.sub("", message.replace(image, "") if image else message)
    for pattern, code, remedy, terminal in _PULL:
        if re.search(pattern, words, re.IGNORECASE):
            return Failure(code, f"image {image} cannot be pulled: {_core(message, pattern)}", remedy, terminal)
    what = f"image {image} cannot be pulled: {_core(message) or reason}"
    return Failure("F34", what, "check the image's name, the pull secret and the registry")


def _core(message: str, pattern: str = "") -> str:
    """The last clause of a message of the container runtime that has the pattern; the others repeat the image, or have no information."""
    clauses = message.removesuffix(": unknown").split(": ")
    matching = [clause for clause in clauses if pattern and re.search(pattern, clause, re.IGNORECASE)]
    return shorten((matching or clauses)[-1]).strip(' ."')


def command_error(message: str) -> str:
    """The part of a message of the container runtime about a command that the image does not have or that may not be run; empty for other messages."""
    match = re.search(
        r'exec: "[^"]{1,200}": [^\n"]{0,300}?(?:no such file or directory|not found in \$PATH|permission denied|exec format error)'
        r"|executable file `[^`\n]{1,200}` not found|open executable: (?:No such file or directory|Permission denied)",
        message[:LIMIT],
    )
    return match.group(0) if match else ""


def create_failure(name: str, reason: str, message: str) -> Failure:
    """Why a container cannot be created or started, from reason and message of its state."""
    absent = re.search(r'(secret|configmap) "([^"]+)" not found', message)
    if absent:
        what = f"{absent.group(1)} {absent.group(2)}"
        return Failure("F17", f"container {name} needs the {what}, which does not exist", f"create the {what}", True)
    key = re.search(r"couldn't find key (\S+) in (Secret|ConfigMap) (\S+)", message)
    if key:
        what = f"container {name}: {key.group(2)} {key.group(3)} has no key {key.group(1)}"
        return Failure("F16", what, f"add the key {key.group(1)}, or name the right one", True)
    prefix = f"container {name} cannot be created: "
    if re.search(_SYNCING, message):
        return Failure("create", prefix + shorten(message), "check the node's connection to the API server")
    match, command = _CREATE.find(message), command_error(message)
    if command and (match is None or match[0] not in ("runtime", "device")):
        return Failure("command", f"container {name} cannot run its command: {shorten(command)}", COMMAND)
    if match:
        code, what, remedy, ends = match
        return Failure(code, prefix + what, remedy, ends)
    return Failure("create", prefix + (shorten(message) or reason), "correct what the message names", reason == "CreateContainerConfigError")
