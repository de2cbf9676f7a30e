# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Applies or deletes a list of objects by one call of kubernetes.core.k8s, and tells object by object what became of it."""

from __future__ import annotations

import yaml
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.kubernetes.core.plugins.modules import k8s  # noqa: F401  # pylint: disable=unused-import  # loaded before workers are forked

from ..module_utils.k8s import replica_ownership
from ..module_utils.k8s.apply_results import TAKEN, Change, changes, check_definitions, is_secret, sort_out
from ..module_utils.k8s.errors import explain, one_line
from ..module_utils.k8s.readiness.judge import waitable
from ..module_utils.k8s.secret_checksums import annotated, read_by
from ..modules import cluster_snapshot, secret_checksums
from ..plugin_utils.in_process import InProcess

MODULE = "kubernetes.core.k8s"
CONTACT = "llm_d.inference.cluster_access"
SNAPSHOT = "llm_d.inference.cluster_snapshot"
CHECKSUMS = "llm_d.inference.secret_checksums"
OPTIONS = ("definitions", "state", "owned_by", "skip_forbidden", "force_conflicts", "field_manager")
NOISE = "No meaningful diff was generated"


class ActionModule(InProcess):
    """Adds to the module what a list needs: every problem at once, a diff, a true check mode on a fresh cluster, hidden Secrets."""

    def run(self, tmp=None, task_vars=None):
        result = ActionBase.run(self, tmp, task_vars)
        _checked, options = self.validate_argument_spec(
            argument_spec={
                "definitions": {"type": "list", "elements": "dict", "required": True},
                "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
                "owned_by": {"type": "dict", "default": {}},
                "skip_forbidden": {"type": "bool", "default": False},
                "force_conflicts": {"type": "bool", "default": True},
                "field_manager": {"type": "str", "default": "llm_d.inference"},
                **{name: {"type": "raw"} for name in self._task.args if name not in OPTIONS},
            },
        )
        return self.bring(result, options, task_vars)

    def bring(self, result: dict, options: dict, task_vars) -> dict:
        """Bring the definitions to their state; the result of the task."""
        definitions = options["definitions"]
        problems = check_definitions(definitions)
        if problems:
            return {**result, "failed": True, "msg": "; ".join(problems)}
        order = list(reversed(definitions)) if options["state"] == "absent" else definitions
        done: list[Change] = []
        if options["owned_by"]:
            try:
                existing = self._existing(order, options["skip_forbidden"], task_vars)
            except AnsibleActionFail as exc:
                return {**result, "failed": True, "msg": str(exc)}
            done, order = sort_out(order, existing, options["owned_by"], options["state"])
        if options["state"] == "present":
            try:
                order = self._with_checksums(self._replicas_given_up(order, options, task_vars), task_vars)
            except AnsibleActionFail as exc:
                return {**result, "failed": True, "msg": str(exc)}
        for part in batches(order):
            answer = self._call(part, options, task_vars)
            if answer.get("failed"):
                return {**result, "failed": True, "msg": self._why(answer, task_vars)}
            result.setdefault("warnings", []).extend(_warnings(answer))
            done += changes(part, answer, options["state"], self._task.check_mode)
        return self._finish(result, done)

    def _existing(self, definitions: list[dict], skip_forbidden: bool, task_vars) -> list[dict]:
        """Those of the definitions' objects that are there: what they are and their labels."""
        args = {name: value for name, value in self._task.args.items() if name not in OPTIONS}
        args["skip_forbidden"] = skip_forbidden
        args["resources"] = [{key: item[key] for key in ("apiVersion", "kind", "metadata")} for item in definitions]
        answer = self._execute_module(module_name=CONTACT, module_args=args, task_vars=task_vars)
        if answer.get("failed"):
            raise AnsibleActionFail(answer.get("msg"))
        return answer["found"]

    def _replicas_given_up(self, definitions: list[dict], options: dict, task_vars) -> list[dict]:
        """The definitions; where one leaves its replicas to others and they are ours, another name owns their number from now on (see handover)."""
        leaving = [item for item in definitions if replica_ownership.leaves_replicas(item)]
        if not leaving:
            return definitions
        args = {name: value for name, value in self._task.args.items() if name not in OPTIONS}
        args["resources"] = [{key: item[key] for key in ("apiVersion", "kind", "metadata")} for item in leaving]
        applied = self._execute_module(module_name=SNAPSHOT, module_args=args, task_vars=task_vars)
        if applied.get("failed"):
            raise AnsibleActionFail(applied.get("msg"))
        parts = replica_ownership.given_up(leaving, applied["definitions"])
        if self._task.check_mode:
            return replica_ownership.kept(definitions, parts)
        if not parts:
            return definitions
        answer = self._call(parts, {**options, "field_manager": options["field_manager"] + replica_ownership.SUFFIX, "force_conflicts": False}, task_vars)
        if answer.get("failed"):
            raise AnsibleActionFail(self._why(answer, task_vars))
        refused = [change for change in changes(parts, answer, "present", False) if change.action == "refused"]
        # Who has scaled it since we looked owns it since.
        wrong = [f"{change.title}: its replicas could not be given up: {change.problem}" for change in refused if TAKEN not in change.problem]
        if wrong:
            raise AnsibleActionFail("\n".join(wrong))
        return definitions

    def _with_checksums(self, definitions: list[dict], task_vars) -> list[dict]:
        """The definitions; those that read Secrets are annotated so that a new value replaces their pods."""
        reading = [index for index, item in enumerate(definitions) if read_by(item)]
        if not reading:
            return definitions
        args = {name: value for name, value in self._task.args.items() if name not in OPTIONS}
        answer = self._execute_module(
            module_name=CHECKSUMS, module_args={**args, "definitions": [definitions[index] for index in reading]}, task_vars=task_vars
        )
        if answer.get("failed"):
            raise AnsibleActionFail(answer.get("msg"))
        made = list(definitions)
        for index, found in zip(reading, answer["checksums"]):
            made[index] = annotated(made[index], {tuple(entry["path"]): entry["value"] for entry in found})
        return made

    def _why(self, answer: dict, task_vars) -> str:
        """One line for a call that failed as a whole: what the first contact says, else the module's own words."""
        args = {name: value for name, value in self._task.args.items() if name not in OPTIONS}
        contact = self._execute_module(module_name=CONTACT, module_args=args, task_vars=task_vars)
        return contact["msg"] if contact.get("failed") and contact.get("msg") else f"no object was handled: {one_line(answer.get('msg'))}"

    def _call(self, definitions: list[dict], options: dict, task_vars) -> dict:
        args = {name: value for name, value in self._task.args.items() if name not in OPTIONS}
        args.update(definition=definitions, state=options["state"], continue_on_error=True)
        if options["state"] == "present":
            args["apply"] = True
            args["server_side_apply"] = {"field_manager": options["field_manager"], "force_conflicts": options["force_conflicts"]}
        else:
            args["delete_options"] = {"propagationPolicy": "Foreground"}
        # the module's own verdict counts what controllers write; only its diff can tell our changes from theirs.
        # And no Secret may reach the target's system log.
        diff, no_log = self._task.diff, self._task.no_log
        try:
            self._task.diff = True
            self._task.no_log = no_log or any(is_secret(item) for item in definitions)
            return self._execute_module(module_name=MODULE, module_args=args, task_vars=task_vars)
        except Exception as exc:  # pylint: disable=broad-except  # it cannot put into words that the API server has gone away meanwhile
            return {"failed": True, "msg": str(explain(exc, where=f"of {args.get('kubeconfig') or 'the default kubeconfig'}"))}
        finally:
            self._task.diff, self._task.no_log = diff, no_log

    def _finish(self, result: dict, done: list[Change]) -> dict:
        result["objects"] = [_entry(change) for change in done]
        result["changed"] = any(change.is_change for change in done)
        if self._task.diff:
            result["diff"] = [_diff(change) for change in done if change.is_change]
        refused = [change for change in done if change.action == "refused"]
        if refused:
            lines = [f"{len(refused)} of {len(done)} objects {'was' if len(refused) == 1 else 'were'} refused:"]
            result["failed"] = True
            result["msg"] = "\n".join(lines + [f"- {change.title}: {change.problem}" for change in refused])
        return result


def batches(definitions: list[dict]) -> list[list[dict]]:
    """The definitions in calls: one, or up to three with Secrets, which are applied apart from the rest, and after their namespaces."""
    secrets = [item for item in definitions if is_secret(item)]
    if not secrets:
        return [definitions] if definitions else []
    first = [item for item in definitions if item.get("kind") in ("Namespace", "CustomResourceDefinition")]
    rest = [item for item in definitions if item not in first and not is_secret(item)]
    return [part for part in (first, secrets, rest) if part]


def _entry(change: Change) -> dict:
    metadata = change.definition["metadata"]
    return {
        "api_version": change.definition["apiVersion"],
        "kind": change.definition["kind"],
        "name": metadata["name"],
        "namespace": metadata.get("namespace") or "",
        "generation": change.generation,
        "action": change.action,
        "waitable": waitable(change.definition),
    }


def _diff(change: Change) -> dict:
    return {
        "before_header": change.title,
        "after_header": f"{change.title} ({change.action})",
        "before": _yaml(change.before),
        "after": _yaml(change.after),
    }


def _yaml(part: dict) -> str:
    # a round through plain types: values carry Ansible's tags
    return yaml.dump(_plain(part), Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), default_flow_style=False, sort_keys=False) if part else ""


def _plain(value):
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return bool(value) if kind is bool else kind(value)
    return None if value is None else str(value)


def _warnings(answer: dict) -> list[str]:
    """Warnings of the API server, each once. Those of the module itself are displayed by Ansible."""
    items = (answer.get("result") or {}).get("results") or []
    return list(dict.fromkeys(str(text) for item in items for text in item.get("warnings") or [] if NOISE not in text))
