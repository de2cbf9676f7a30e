# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply or delete a list of objects with one call of kubernetes.core.k8s, and return the outcome for each object."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.kubernetes.core.plugins.modules import k8s  # noqa: F401  # pylint: disable=unused-import  # loaded before workers are forked

from ..module_utils.common.objects import Facts
from ..module_utils.common.text import one_line
from ..module_utils.k8s.apply_results import (
    FIELDS_TAKEN,
    OTHERWISE,
    Change,
    changes,
    check_definitions,
    holds_values,
    is_namespace,
    is_secret,
    split_foreign,
    without_credentials,
)
from ..module_utils.k8s.applyset import joined
from ..module_utils.k8s.errors import explain
from ..module_utils.k8s.events import events
from ..module_utils.k8s.field_ownership import REPLICAS_SUFFIX, keep_replicas, leaves_replicas, release_ownership
from ..module_utils.k8s.readiness.judge import waitable
from ..module_utils.k8s.sanitize import redact_change
from ..module_utils.k8s.secret_checksums import environment_secrets, with_checksums
from ..module_utils.k8s.stand_in import judged, trials
from ..modules import cluster_snapshot, namespace_contents, secret_checksums  # noqa: F401  # pylint: disable=unused-import  # loaded before workers are forked
from ..plugin_utils.in_process import InProcess, shown
from ..plugin_utils.object_yaml import object_yaml

MODULE = "kubernetes.core.k8s"
CONTACT = "llm_d.inference.cluster_access"
SNAPSHOT = "llm_d.inference.cluster_snapshot"
CHECKSUMS = "llm_d.inference.secret_checksums"
CONTENTS = "llm_d.inference.namespace_contents"
OPTIONS = ("definitions", "state", "owned_by", "contents", "foreign", "refused", "skip_forbidden", "force_conflicts", "field_manager", "events", "stand_in")
NOISE = "No meaningful diff was generated"


class ActionModule(InProcess):
    """Adds to kubernetes.core.k8s: all problems at once, a diff, check mode on a new cluster, and hidden Secrets."""

    def run(self, tmp: str | None = None, task_vars: Facts | None = None) -> Facts:
        """Validate the arguments, then bring the objects to their state."""
        result: Facts = ActionBase.run(self, tmp, task_vars)
        _checked, options = self.validate_argument_spec(
            argument_spec={
                "definitions": {"type": "list", "elements": "dict", "required": True},
                "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
                "owned_by": {"type": "dict", "default": {}},
                "contents": {"type": "dict", "default": {}},
                "foreign": {"type": "str", "choices": ["keep", "refuse", "take"], "default": "keep"},
                "refused": {"type": "str", "choices": ["fail", "report"], "default": "fail"},
                "skip_forbidden": {"type": "bool", "default": False},
                "force_conflicts": {"type": "bool", "default": True},
                "field_manager": {"type": "str", "default": "llm_d.inference"},
                "events": {"type": "bool", "default": False},
                "stand_in": {"type": "str", "default": ""},
                **{name: {"type": "raw"} for name in self._task.args if name not in OPTIONS},
            },
        )
        return shown(self.bring(result, options, task_vars))

    def bring(self, result: Facts, options: Facts, task_vars: Facts | None) -> Facts:
        """The result of the task, after the definitions were brought to their state."""
        definitions = options["definitions"]
        problems = check_definitions(definitions)
        if problems:
            return {**result, "failed": True, "msg": "; ".join(problems)}
        order = list(reversed(definitions)) if options["state"] == "absent" else definitions
        done: list[Change] = []
        if order and options["owned_by"] and (options["state"] == "absent" or options["foreign"] != "take"):
            try:
                references = [_reference(item) for item in order]
                existing = self._existing(references, options["skip_forbidden"], task_vars)
            except AnsibleActionFail as exc:
                return {**result, "failed": True, "msg": str(exc)}
            done, rest = split_foreign(references, existing, options["owned_by"], options["state"])
            kept = {id(reference): live for reference, live in rest}
            left = [(item, kept[id(reference)]) for item, reference in zip(order, references, strict=True) if id(reference) in kept]
            order = [item if item["metadata"].get("namespace") else joined(item, live) for item, live in left]
            foreign = [f"{change.title} ({change.problem})" for change in done if change.action == "foreign"]
            if foreign and options["state"] == "present" and options["foreign"] == "refuse":
                return {**result, "failed": True, "foreign": foreign, "msg": _names_of_others(foreign)}
        if options["state"] == "present":
            try:
                order = self._with_checksums(self._with_released_replicas(order, options, task_vars), task_vars)
            except AnsibleActionFail as exc:
                return {**result, "failed": True, "msg": str(exc)}
        namespaces = [item for item in order if is_namespace(item)] if options["state"] == "absent" else []
        failed = self._handle([item for item in order if item not in namespaces], done, options, result, task_vars)
        if namespaces and not failed:
            try:
                empty = self._empty(namespaces, done, options, result, task_vars)
            except AnsibleActionFail as exc:
                return {**result, "failed": True, "msg": str(exc)}
            failed = self._handle(empty, done, options, result, task_vars)
        if failed:
            return {**result, "failed": True, "msg": failed}
        if self._task.check_mode and options.get("stand_in") and (tried := trials(done, options["stand_in"])):
            objects = [definition for _index, definition in tried]
            answer = self._call(objects, options, task_vars)
            done = done if answer.get("failed") else judged(done, zip(tried, changes(objects, answer, options["state"], True), strict=True))
        event_objects = events(done, datetime.datetime.now(datetime.UTC)) if options.get("events") and not self._task.check_mode else []
        if event_objects:  # where they cannot be created, nothing is reported: the changes have been made
            self._call(event_objects, {**options, "apply": False}, task_vars)
        return self._finish(result, done, options.get("refused") == "report")

    def _handle(self, definitions: list[Facts], done: list[Change], options: Facts, result: Facts, task_vars: Facts | None) -> str:
        """Bring the definitions to their state, and add the outcome of each to `done`. Returns the error of a call that failed as a whole, else ""."""
        parts = batches(definitions)
        for part in parts if options["state"] == "present" else reversed(parts):
            answer = self._call(part, options, task_vars)
            if answer.get("failed"):
                return self._why(answer, task_vars)
            result.setdefault("warnings", []).extend(_warnings(answer))
            done += changes(part, answer, options["state"], self._task.check_mode)
        return ""

    def _empty(self, namespaces: list[Facts], done: list[Change], options: Facts, result: Facts, task_vars: Facts | None) -> list[Facts]:
        """The namespaces without objects of others. The reasons that keep the rest are added to `done` and to the result. done: the changes before."""
        args = {name: value for name, value in self._task.args.items() if name not in OPTIONS}
        inside = {"labels": options["owned_by"], **(options.get("contents") or {})}
        inside["going"] = [*inside.get("going", ()), *(_reference(change.definition) for change in done if change.action == "deleted")]
        answer = self._execute_module(
            module_name=CONTENTS, module_args={**args, **inside, "namespaces": [item["metadata"]["name"] for item in namespaces]}, task_vars=task_vars
        )
        if answer.get("failed"):
            raise AnsibleActionFail(answer.get("msg"))
        kept = {entry["namespace"]: entry for entry in answer["kept"]}
        done += [Change(item, "kept", {}, {}, problem=kept[name]["summary"]) for item in namespaces if (name := item["metadata"]["name"]) in kept]
        result["kept"] = [line for entry in answer["kept"] for line in entry["lines"]]
        result.setdefault("warnings", []).extend(entry["summary"] for entry in answer["kept"])
        return [item for item in namespaces if item["metadata"]["name"] not in kept]

    def _existing(self, references: list[Facts], skip_forbidden: bool, task_vars: Facts | None) -> list[Facts]:
        """The objects among the references that exist, each with kind, name and labels."""
        args = {name: value for name, value in self._task.args.items() if name not in OPTIONS}
        args.update(skip_forbidden=skip_forbidden, resources=references)
        answer = self._execute_module(module_name=CONTACT, module_args=args, task_vars=task_vars)
        if answer.get("failed"):
            raise AnsibleActionFail(answer.get("msg"))
        objects: list[Facts] = answer["existing"]
        return objects

    def _with_released_replicas(self, definitions: list[Facts], options: Facts, task_vars: Facts | None) -> list[Facts]:
        """The definitions, after another field manager took over spec.replicas from us where a definition omits it. See field_ownership."""
        leaving = [item for item in definitions if leaves_replicas(item)]
        if not leaving:
            return definitions
        args = {name: value for name, value in self._task.args.items() if name not in OPTIONS}
        args["resources"] = [_reference(item) for item in leaving]
        applied = self._execute_module(module_name=SNAPSHOT, module_args=args, task_vars=task_vars)
        if applied.get("failed"):
            raise AnsibleActionFail(applied.get("msg"))
        parts = release_ownership(leaving, applied["definitions"])
        if self._task.check_mode:
            return keep_replicas(definitions, parts)
        if not parts:
            return definitions
        answer = self._call(parts, {**options, "field_manager": options["field_manager"] + REPLICAS_SUFFIX, "force_conflicts": False}, task_vars)
        if answer.get("failed"):
            raise AnsibleActionFail(self._why(answer, task_vars))
        refused = [change for change in changes(parts, answer, "present", False) if change.action == "refused"]
        # A conflict means that someone scaled it in the meantime, and owns the number now.
        problems = [
            f"{change.title}: another field manager could not take over its replicas: {change.problem}"
            for change in refused
            if FIELDS_TAKEN not in change.problem
        ]
        if problems:
            raise AnsibleActionFail("\n".join(problems))
        return definitions

    def _with_checksums(self, definitions: list[Facts], task_vars: Facts | None) -> list[Facts]:
        """The definitions, with checksum annotations on templates that read Secrets, so that a new value replaces their pods."""
        reading = [index for index, item in enumerate(definitions) if environment_secrets(item)]
        if not reading:
            return definitions
        args = {name: value for name, value in self._task.args.items() if name not in OPTIONS}
        with self._unlogged(definitions):
            answer = self._execute_module(
                module_name=CHECKSUMS, module_args={**args, "definitions": [definitions[index] for index in reading]}, task_vars=task_vars
            )
        if answer.get("failed"):
            raise AnsibleActionFail(answer.get("msg"))
        made = list(definitions)
        for index, checksums in zip(reading, answer["checksums"], strict=True):
            made[index] = with_checksums(made[index], {tuple(entry["path"]): entry["value"] for entry in checksums})
        return made

    def _why(self, answer: Facts, task_vars: Facts | None) -> str:
        """One line for a call that failed as a whole: the error of cluster_access, else the module's own message."""
        args = {name: value for name, value in self._task.args.items() if name not in OPTIONS}
        contact = self._execute_module(module_name=CONTACT, module_args=args, task_vars=task_vars)
        return contact["msg"] if contact.get("failed") and contact.get("msg") else f"no object was handled: {one_line(answer.get('msg'))}"

    def _call(self, definitions: list[Facts], options: Facts, task_vars: Facts | None) -> Facts:
        """The result of one call of the module, which fails and does not raise. options: those of the task, and apply: false to create only."""
        args = {name: value for name, value in self._task.args.items() if name not in OPTIONS}
        args.update(definition=definitions, state=options["state"], continue_on_error=True)
        if options["state"] == "present" and options.get("apply", True):
            args["apply"] = True
            args["server_side_apply"] = {"field_manager": options["field_manager"], "force_conflicts": options["force_conflicts"]}
        elif options["state"] == "absent":
            args["delete_options"] = {"propagationPolicy": "Foreground"}
        # `changed` of the module counts fields that controllers write; its diff shows which fields changed.
        diff = self._task.diff
        try:
            self._task.diff = True
            with self._unlogged(definitions):
                answer: Facts = self._execute_module(module_name=MODULE, module_args=args, task_vars=task_vars)
            if refused := without_credentials(answer):
                return {"failed": True, "msg": f"the API server did not accept the credentials (401) for {refused} of {len(definitions)} objects, and does now"}
            return answer
        except Exception as exc:  # pylint: disable=broad-except  # the module does not handle an API server that stops during the call
            return {"failed": True, "msg": str(explain(exc, where=f"of {args.get('kubeconfig') or 'the default kubeconfig'}"))}
        finally:
            self._task.diff = diff

    @contextlib.contextmanager
    def _unlogged(self, definitions: list[Facts]) -> t.Iterator[None]:
        """Modules that are called in this context with definitions that hold values do not write them to the system log of the target."""
        no_log = self._task.no_log
        self._task.no_log = no_log or any(holds_values(item) for item in definitions)
        try:
            yield
        finally:
            self._task.no_log = no_log

    def _finish(self, result: Facts, done: list[Change], tolerant: bool) -> Facts:
        result["objects"] = [_entry(change) for change in done]
        result["changed"] = any(change.is_change for change in done)
        if self._task.diff:
            result["diff"] = [_diff(change) for change in done if change.is_change]
        refused = [change for change in done if change.action == "refused"]
        if refused:
            lines = [f"{len(refused)} of {len(done)} objects {'was' if len(refused) == 1 else 'were'} refused:"]
            result["failed"] = not tolerant
            result["msg"] = "\n".join(lines + [f"- {change.title}: {change.problem}" for change in refused])
        return result


def _reference(definition: Facts) -> Facts:
    return {key: definition[key] for key in ("apiVersion", "kind", "metadata")}


def batches(definitions: list[Facts]) -> list[list[Facts]]:
    """The definitions in calls, in the order of creation: one, or up to three with Secrets, which are apart from the rest, and after their namespaces."""
    secrets = [item for item in definitions if is_secret(item)]
    if not secrets:
        return [definitions] if definitions else []
    first = [item for item in definitions if item.get("kind") in ("Namespace", "CustomResourceDefinition")]
    rest = [item for item in definitions if item not in first and not is_secret(item)]
    return [part for part in (first, secrets, rest) if part]


def _names_of_others(foreign: list[str]) -> str:
    return "\n".join(["Nothing was applied: objects of others have the names of ours.", *(f"- {title}" for title in foreign), OTHERWISE])


def _entry(change: Change) -> Facts:
    metadata = change.definition["metadata"]
    return {
        "api_version": change.definition["apiVersion"],
        "kind": change.definition["kind"],
        "name": metadata["name"],
        "namespace": metadata.get("namespace") or "",
        "generation": change.generation,
        "action": change.action,
        "problem": change.problem,
        "untried": change.untried,
        "waitable": waitable(change.definition),
    }


def _diff(change: Change) -> Facts:
    before, after = redact_change(_without_binary(change.before), _without_binary(change.after))
    return {
        "before_header": change.title,
        "after_header": f"{change.title} ({change.action})",
        "before": object_yaml(before),
        "after": object_yaml(after),
    }


def _without_binary(part: Facts) -> Facts:
    """A part of an object with checksums instead of binary data, such as a program of 100 KB."""
    data = part.get("binaryData")
    if not isinstance(data, dict):
        return part
    return {
        **part,
        "binaryData": {key: f"(binary, sha256 {hashlib.sha256(str(value).encode()).hexdigest()[:12]} of its base64)" for key, value in data.items()},
    }


def _warnings(answer: Facts) -> list[str]:
    """Warnings of the API server, each once. Ansible displays those of the module itself."""
    items = (answer.get("result") or {}).get("results") or []
    return list(dict.fromkeys(str(text) for item in items for text in item.get("warnings") or [] if NOISE not in text))
