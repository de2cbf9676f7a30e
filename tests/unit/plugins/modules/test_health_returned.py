# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The health modules return exactly what their documentation lists."""

from __future__ import annotations

import re

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.modules import vllm_health, vllm_health_info
from engine_servers import TINY, cluster, engine
from local_servers import JSON

REPLICAS = {"namespace": "llm-d", "label_selector": ",".join(f"{key}={value}" for key, value in TINY.items())}
OLDER = {"/version": (200, JSON, '{"version":"0.31.0"}')}
LOADING = {"/health": (503, "text/plain", "loading")}
COMMON = {"changed", "failed", "invocation", "warnings"}  # of every module


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)


def returned(documentation):
    """The documented return values of a module; a reference to a return value of vllm_health has the type and the contents of that one."""
    documented, others = yaml.safe_load(documentation), yaml.safe_load(vllm_health.RETURN)
    for about in documented.values():
        if match := re.fullmatch(r"As RV\(llm_d\.inference\.vllm_health#module:(\w+)\)\.", about["description"]):
            other = others[match.group(1)]
            assert other["type"] == about["type"]
            about |= {"contains": other["contains"]} if "contains" in other else {}
    return documented


def same(documented, result, but=()):
    """Both have the same keys, at every level; values have the documented types, and samples have no other keys."""
    assert set(result) == set(documented) - set(but)
    for name, value in result.items():
        about = documented[name]
        assert value is None or type(value).__name__ == about["type"], (name, value)
        if "contains" in about:
            for item in value:
                same(about["contains"], item)
            assert all(set(item) <= set(about["contains"]) for item in about.get("sample", ())), name
        assert (
            name != "metrics"
            or not value
            or not about.get("sample")
            or {key: set(each) for key, each in about["sample"].items()} == {key: set(each) for key, each in value.items()}
        )


def specific(result):
    """A result without the keys that every module returns."""
    return {key: value for key, value in result.items() if key not in COMMON}


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("other", [{}, OLDER, LOADING])
def test_of_one_set(call, monkeypatch, other):
    """The results of a healthy set, of one with findings, and of one with a failing server have all documented keys, and no others."""
    documented, documented_info = returned(vllm_health.RETURN), returned(vllm_health_info.RETURN)
    of_groups = [name for name, about in documented_info.items() if about["returned"] == "with O(groups)"]
    with cluster(monkeypatch, engine("vllm"), engine("vllm", **other)):
        waited = call(vllm_health, replicas=REPLICAS, level="metrics", timeout=60, interval=30)
        looked = call(vllm_health, True, replicas=REPLICAS, level="metrics")
        info = call(vllm_health_info, replicas=REPLICAS, level="metrics", retries=0)
    assert waited["healthy"] is info["healthy"] is (not other) and bool(info["findings"]) is (other == OLDER)
    same(documented, specific(waited), () if other else ["msg"])
    same(documented, specific(looked))
    same(documented_info, specific(info), of_groups if other == OLDER else [*of_groups, "msg"])
    assert all(each["sample"] is not None for each in (*documented.values(), *documented_info.values()))


def test_of_groups(call, monkeypatch):
    documented = returned(vllm_health_info.RETURN)
    groups = [
        {"name": "well", "replicas": REPLICAS},
        {"name": "few", "replicas": {**REPLICAS, "count": 9}},
        {"name": "gone", "replicas": {"namespace": "llm-d", "service": "gone"}},
    ]
    with cluster(monkeypatch, engine("vllm"), engine("vllm")):
        result = call(vllm_health_info, groups=groups, level="metrics")
    assert set(specific(result)) == {name for name, about in documented.items() if about["returned"] in ("always", "with O(groups)")}
    described, (complete, few, gone) = documented["groups"]["contains"], result["groups"]
    same(described, complete, ["msg"])
    same(described, few)
    assert set(gone) == {"name", "healthy", "msg"} and all(f"C({name})" in documented["groups"]["description"] for name in gone)
    assert set(described) == {"name", *(set(documented) - {"groups"})}
    assert all(described[name]["type"] == about["type"] for name, about in documented.items() if name in described)
    assert all(set(sample) <= set(described) for sample in documented["groups"]["sample"])
