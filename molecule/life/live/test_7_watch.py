"""watch.yml detects and restores foreign changes of the stack; it names those that it cannot restore, and fails."""

from __future__ import annotations

import json

import plays
from stack import INVENTORY, NAMESPACE, SIM, Stack

ROUTE = ("gateway.networking.k8s.io/v1", "HTTPRoute")
# Changes with the default field manager count as the collection's.
SOMEONE = {"fieldManager": "someone"}
GIVEN = {"llm_d_model_services": [SIM]}


def watch(stack: Stack, **given: object) -> tuple[int, str, list[str]]:
    """Run watch.yml: (exit status, output on one line, objects that differ at its end)."""
    variables = json.dumps({"llm_d_artifacts_dir": str(stack.artifacts), **GIVEN, **given})
    done = plays.run("-i", INVENTORY, "playbooks/watch.yml", "-e", variables)
    drift = json.loads((stack.artifacts / "drift.json").read_text(encoding="utf-8"))
    return done.returncode, " ".join(done.stdout.split()), sorted(entry["where"] for entry in drift["objects"])


def test_drift_is_restored_without_a_user(stack: Stack) -> None:
    stack.serves(SIM)
    status, shown, differing = watch(stack)
    assert (status, differing) == (0, []) and "each is as planned" in shown and "changed=0 " in shown, shown[-3000:]

    service = f"{stack.cluster.path('v1', 'Service', NAMESPACE)}/sim"
    ports = stack.cluster.get(service)["spec"]["ports"]
    stack.cluster.request("PATCH", service, SOMEONE, body={"spec": {"selector": {"llm-d.ai/role": "nobody"}}}, content_type="application/merge-patch+json")
    route = next(iter(stack.named(*ROUTE)))
    stack.cluster.request("DELETE", f"{stack.cluster.path(*ROUTE, NAMESPACE)}/{route}")
    status, shown, differing = watch(stack, watch_restore=False)
    assert status == 2 and len(differing) == 2 and f"HTTPRoute {NAMESPACE}/{route}" in shown and "nobody" in shown, (differing, shown[-3000:])

    status, shown, differing = watch(stack)
    assert (status, differing) == (0, []) and "nobody" in shown, (differing, shown[-3000:])
    assert stack.cluster.get(service)["spec"]["ports"] == ports
    assert stack.ask("sim", "who answers?").startswith("sim-")


def test_a_foreign_addition_to_an_own_object_stays_and_is_reported(stack: Stack) -> None:
    service = f"{stack.cluster.path('v1', 'Service', NAMESPACE)}/sim"
    addition = {"spec": {"ports": [{"name": "theirs", "port": 9999}]}}
    stack.cluster.request("PATCH", service, SOMEONE, body=addition, content_type="application/strategic-merge-patch+json")
    status, shown, differing = watch(stack)
    assert status == 2 and differing == [f"Service {NAMESPACE}/sim"] and "9999" in shown, (differing, shown[-3000:])
    ports = stack.cluster.get(service)["spec"]["ports"]
    patch = {"spec": {"ports": [port for port in ports if port["name"] != "theirs"]}}
    stack.cluster.request("PATCH", service, SOMEONE, body=patch, content_type="application/merge-patch+json")
    assert watch(stack)[0] == 0
