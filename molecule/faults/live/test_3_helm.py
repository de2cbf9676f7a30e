"""A killed Helm leaves its release pending forever. The next run recovers it."""

from __future__ import annotations

import subprocess
import typing as t

import pytest
from live_stack import until
from stack import CACHE, Stack

CHART = str(CACHE / "assets/charts/gateway-helm")
CONFIG = "/api/v1/namespaces/envoy-gateway-system/configmaps/envoy-gateway-config"
# Seconds after which a Helm counts as dead, and the limit of any other wait of these runs.
PATIENCE = 30
# An image in no registry: a wait for it never ends by itself.
STUCK = ("--set", "global.images.envoyGateway.image=127.0.0.1:5215/no/such:image", "--set", "crds.enabled=false", "--skip-crds", "--wait", "--timeout", "10m")


def killed(stack: Stack, status: str, *arguments: str) -> None:
    """Kill a helm command as soon as its release record has the status."""
    with subprocess.Popen(stack.helm(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as helm:
        try:
            until(lambda: status in [record for _name, record in stack.helm_records()], 60, f"the release is {status}")
        finally:
            helm.kill()
    assert status in [record for _name, record in stack.helm_records()]


def finalizers(stack: Stack, names: list[str]) -> None:
    stack.cluster.request("PATCH", CONFIG, body={"metadata": {"finalizers": names}}, content_type="application/merge-patch+json")


def upgrade(stack: Stack) -> None:
    killed(stack, "pending-upgrade", "upgrade", "envoy-gateway", CHART, *STUCK)


def install(stack: Stack) -> None:
    subprocess.run(stack.helm("uninstall", "envoy-gateway", "--wait"), check=True, capture_output=True)
    killed(stack, "pending-install", "install", "envoy-gateway", CHART, "--no-hooks", *STUCK)


def uninstall(stack: Stack) -> None:
    finalizers(stack, ["faults.example.com/held"])
    try:
        killed(stack, "uninstalling", "uninstall", "envoy-gateway", "--wait")
    finally:
        finalizers(stack, [])


@pytest.mark.parametrize("interrupted", [upgrade, install, uninstall])
def test_the_next_run_recovers_a_release_that_a_killed_helm_left_pending(stack: Stack, interrupted: t.Callable[[Stack], None]) -> None:
    interrupted(stack)
    out = stack.converges(llm_d_wait_timeout=PATIENCE)
    assert "the release is marked as failed" in out, out
    records = stack.helm_records()
    assert [status for _name, status in records].count("deployed") == 1 and records[-1][1] == "deployed", records
    assert not [status for _name, status in records if status not in ("deployed", "superseded", "failed")], records


def test_a_run_after_the_recovery_changes_nothing(stack: Stack) -> None:
    stack.settled()
