# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the builder on the control node, so that it can display its progress."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..module_utils.local_cluster.go_build import Asset, Binary, Builder, BuildError, find_go

BINARY = {
    "name": {"type": "str", "required": True},
    "source": {"type": "path", "required": True},
    "package": {"type": "str", "default": "."},
    "ldflags": {"type": "str", "default": "-s -w"},
}
ASSET = {
    "source": {"type": "path", "required": True},
    "module": {"type": "str", "required": True},
    "path": {"type": "str", "required": True},
    "dest": {"type": "str", "required": True},
    "template": {"type": "str", "default": ""},
    "substitute": {"type": "dict", "default": {}},
}
ARGUMENTS = {
    "cache": {"type": "path", "required": True},
    "go_minimum": {"type": "str", "required": True},
    "go_candidates": {"type": "list", "elements": "str", "default": ["go", "/usr/local/go/bin/go"]},
    "gcflags": {"type": "list", "elements": "str", "default": []},
    "binaries": {"type": "list", "elements": "dict", "options": BINARY, "default": []},
    "assets": {"type": "list", "elements": "dict", "options": ASSET, "default": []},
}


class ActionModule(ActionBase):
    """Build what is stale; display a line per binary at its start, every ten seconds, and at its end."""

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Validate the arguments, then build and copy what is stale."""
        result = super().run(tmp, task_vars)
        validated = ArgumentSpecValidator(ARGUMENTS).validate(self._task.args)
        if validated.error_messages:
            raise AnsibleActionFail("go_build: " + "; ".join(validated.error_messages))
        arguments = validated.validated_parameters
        binaries = [Binary(**each, gcflags=tuple(arguments["gcflags"])) for each in arguments["binaries"]]
        assets = [Asset(**{**each, "substitute": tuple(sorted(each["substitute"].items()))}) for each in arguments["assets"]]
        go = find_go(arguments["go_minimum"], arguments["go_candidates"])
        if go is None and self._task.check_mode:  # an earlier task, which check mode skips, installs it
            planned = {"built": [each.name for each in binaries], "copied": [each.dest for each in assets]}
            return {**result, **planned, "changed": True, "go_version": "", "binaries": {}}
        if go is None:
            raise AnsibleActionFail(
                f"No Go compiler of version {arguments['go_minimum']} or newer among {', '.join(arguments['go_candidates'])}. "
                "Install one, or let the role install its own (it needs a package index for Python)."
            )
        try:
            return {**result, **self._build(Builder(arguments["cache"], go, self._report), binaries, assets)}
        except BuildError as error:
            raise AnsibleActionFail(str(error)) from None

    def _build(self, builder: Builder, binaries: list[Binary], assets: list[Asset]) -> dict[str, t.Any]:
        stale, missing = builder.stale_binaries(binaries), builder.stale_assets(assets)
        if not self._task.check_mode:
            builder.fetch(stale[1:])
            for number, binary in enumerate(stale, start=1):
                builder.build(binary, f"{number} of {len(stale)}")
            for asset in missing:
                builder.copy(asset)
        return {
            "changed": bool(stale or missing),
            "built": [each.name for each in stale],
            "copied": [each.dest for each in missing],
            "go_version": builder.go_version,
            "binaries": {each.name: str(builder.path(each.name)) for each in binaries},
        }

    @staticmethod
    def _report(line: str) -> None:
        Display().display("    " + line)
