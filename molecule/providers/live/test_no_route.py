"""A host without a route to the cluster's addresses, as outside of kind or minikube, validates by port-forward. Needs `make site` first."""

from __future__ import annotations

import json
import subprocess
import typing as t
from pathlib import Path

import plays
import pytest
import yaml

SERVICES = yaml.safe_load((plays.ROOT / "roles/local_cluster/defaults/main.yml").read_text(encoding="utf-8"))["local_cluster_service_range"]


TABLE = "llm-d-test-no-route"
# Before kube-proxy replaces the Service's address by a pod's.
RULES = f"table ip {TABLE} {{ chain output {{ type filter hook output priority mangle; ip daddr {SERVICES} tcp dport 80 drop; }}; }}"


@pytest.fixture(name="no_route")
def _no_route() -> t.Iterator[None]:
    """Make Services unreachable from this host; pods still reach them, since their packets are forwarded. A separate table is deleted as a whole."""
    subprocess.run(["nft", RULES], check=True)
    try:
        yield
    finally:
        subprocess.run(["nft", "delete", "table", "ip", TABLE], check=True)


@pytest.mark.usefixtures("no_route")
def test_the_verdict_holds_without_a_route_to_the_cluster(tmp_path: Path) -> None:
    plays.well("inventories/local", "playbooks/validate.yml", tmp_path)
    verdict = json.loads((tmp_path / "verdict.json").read_text(encoding="utf-8"))
    serving = next(claim for claim in verdict["claims"] if claim["id"] == "sim/serving")
    assert verdict["ok"] and "by port-forward to Service envoy-gateway-system/" in serving["evidence"]
    assert {"sim/scheduled", "sim/counted", "sim/sticky"} <= {claim["id"] for claim in verdict["claims"] if claim["ok"]}
