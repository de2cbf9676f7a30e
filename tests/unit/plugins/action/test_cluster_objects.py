# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server that goes away while objects are applied: what kubernetes.core makes of it is no answer, and ours is."""

from __future__ import annotations

import types

from ansible_collections.llm_d.inference.plugins.action.cluster_objects import ActionModule, batches

# recorded: the module fails to print its own failure
SAID = (
    "Value of unknown type: <class 'urllib3.exceptions.NewConnectionError'>, HTTPSConnection(host='10.215.0.1', port=6443): "
    "Failed to establish a new connection: [Errno 111] Connection refused"
)


def test_a_module_that_cannot_say_why_it_failed(monkeypatch):
    def gone(*_arguments, **_options):
        raise TypeError(SAID)

    monkeypatch.setattr(ActionModule, "_execute_module", gone)
    action = ActionModule.__new__(ActionModule)
    action._task = types.SimpleNamespace(args={"kubeconfig": "/k"}, diff=False, no_log=False)
    options = {"state": "absent", "field_manager": "x", "force_conflicts": True}
    answer = action._call([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}], options, {})
    assert answer["failed"] and answer["msg"].startswith("the Kubernetes API server of /k: connection refused"), answer
    assert action._task.diff is False


def test_secrets_go_in_a_call_of_their_own_after_their_namespaces():
    space, secret, rest = ({"apiVersion": "v1", "kind": kind, "metadata": {"name": "cm"}} for kind in ("Namespace", "Secret", "ConfigMap"))
    assert batches([rest, secret, space]) == [[space], [secret], [rest]]
    assert batches([rest, space]) == [[rest, space]] and batches([]) == []
