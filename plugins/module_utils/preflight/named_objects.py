# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on objects that the user's file names: Secrets, ConfigMaps, claims, classes. Pure."""

from __future__ import annotations

from ..common.objects import Facts, get_path, mapping, text
from .finding import Findings, PreflightFinding


def named(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """Every object that the file names exists and has its key; a value that is sent in headers is only the credential. Values are not kept."""
    objects = mapping(facts.get("named"))
    for wanted in needs["named"]:
        kind, key, name = wanted["kind"], wanted["key"], wanted["object"]
        existing = objects.get(name, "unread")
        keys = existing.get("keys") if isinstance(existing, dict) else None
        if existing is None:
            what, how = f"{wanted['path']} names a {kind} that does not exist.", f"Create it{f', with key {key}' if key else ''}, or name another one."
            yield PreflightFinding("named/missing", what, "none", name, how + (_default_class(facts) if kind == "PersistentVolumeClaim" else ""))
        elif kind == "PersistentVolumeClaim" and isinstance(existing, dict) and text(get_path(existing, "status", "phase")) == "Lost":
            what = f"{wanted['path']} names a PersistentVolumeClaim that has lost its volume."
            yield PreflightFinding("named/lost", what, "Lost", "Bound", "Bring its volume back, or make another claim.")
        elif keys is not None and key and key not in keys:
            what = f"{wanted['path']} names a {kind} without the key that is read."
            yield PreflightFinding("named/key", what, ", ".join(keys) or "no key", key, f"Put the value under {key}.")
        elif keys and keys.get(key) and wanted["alone"]:
            yield PreflightFinding(
                "named/padded",
                f"{wanted['path']} names a Secret whose value has blanks, a line end, quotes or 'Bearer' around it, which no server takes.",
                f"{name}, key {key}",
                "the value alone",
                f"Write it again, such as: kubectl -n {wanted['namespace']} create secret generic {wanted['name']} --from-literal={key}=VALUE"
                " (--from-file keeps the line end of a file).",
            )


def _default_class(facts: Facts) -> str:
    default = default_storage_class(facts)
    return f" The default storage class is {default}." if default else " There is no default storage class: name one in the claim."


def storage_classes(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The StorageClasses of the claims that we create exist."""
    if not isinstance(facts.get("storage_classes"), dict):  # not readable
        return
    known = mapping(facts["storage_classes"])
    for wanted in needs["storage_classes"]:
        name, listed = wanted["class_name"], ", ".join(sorted(known)) or "none"
        if name and name not in known:
            yield PreflightFinding("storage/class", f"{wanted['path']} names a storage class that does not exist.", listed, name, "Write one that exists.")
        elif not name and not default_storage_class(facts):
            fix = f"Write one under {wanted['path']}, or mark one as the default."
            yield PreflightFinding("storage/class", "No storage class is the default one, and a claim names none.", listed, "a default storage class", fix)


def default_storage_class(facts: Facts) -> str | None:
    """The default StorageClass; None where there is none, or it was not read."""
    marked = "storageclass.kubernetes.io/is-default-class"
    classes = mapping(facts.get("storage_classes"))
    return next((name for name, item in classes.items() if mapping(get_path(item, "metadata", "annotations")).get(marked) == "true"), None)


CHECKS = (named, storage_classes)
