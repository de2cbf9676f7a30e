"""The claims about Prometheus pass, its scrape targets are complete, and objects of a disabled option are removed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import plays
from live_stack import NAMESPACE
from watched import INVENTORY, SERVICE, Watched


def claims(path: Path) -> dict[str, dict[str, object]]:
    return {entry["id"]: entry for entry in json.loads(path.read_text(encoding="utf-8"))["claims"]}


def test_the_claims_hold() -> None:
    verdict = claims(Path(os.environ["LLM_D_VERDICT"]))
    for name in (f"{SERVICE}/alerts", f"{SERVICE}/dashboards"):
        print(verdict[name])
        assert verdict[name]["ok"], verdict[name]
    assert str(verdict[f"{SERVICE}/alerts"]["evidence"]).startswith("8 alerts loaded; ")


def test_prometheus_scrapes_each_pod_once(stack: Watched) -> None:
    pods = {*stack.servers(SERVICE), *stack.pickers(SERVICE)}
    assert sorted(series["metric"]["pod"] for series in stack.query(f'up{{namespace="{NAMESPACE}"}} == 1')) == sorted(pods)


def test_dashboards_are_deleted_when_switched_off_and_come_back(stack: Watched, tmp_path: Path) -> None:
    def dashboards() -> set[str]:
        maps = {item.metadata.name for item in stack.core.list_namespaced_config_map(NAMESPACE).items}
        return {name for name in maps if name.endswith("-grafana")}

    assert dashboards() == {f"{SERVICE}-grafana"}
    plays.well(INVENTORY, "site.yml", tmp_path, "--skip-tags", "validation", llm_d_monitoring={"scrape": True, "labels": {"release": "prometheus"}})
    assert dashboards() == set()
    plays.well(INVENTORY, "site.yml", tmp_path, "--skip-tags", "validation")
    assert dashboards() == {f"{SERVICE}-grafana"}
