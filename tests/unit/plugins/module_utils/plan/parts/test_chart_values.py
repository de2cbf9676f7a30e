# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the user for charts: merged with those of the plan, which stay as they are."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from ansible_collections.llm_d.inference.plugins.module_utils.releases.charts import CHART_DISPLACES
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES

Facts = dict[str, t.Any]
CHARTS = dict.fromkeys(VARIABLES["llm_d_charts"].options or {}, "/c")
GPUS: Facts = {"llm_d_gpus": {"operator": "nvidia_helm", "pools": [{"name": "p", "node_selector": {"a": "b"}, "product": "A100-80GB", "gpus_per_node": 1}]}}
# A file that installs each chart.
FILES: dict[str, Facts] = {
    "envoy_gateway": {},
    "envoy_ai_gateway": {"llm_d_gateway": {"provider": "envoy_ai_gateway"}},
    "istio_base": {"llm_d_gateway": {"provider": "istio"}},
    "istio": {"llm_d_gateway": {"provider": "istio"}},
    "agentgateway": {"llm_d_gateway": {"provider": "agentgateway"}},
    "kgateway": {"llm_d_gateway": {"provider": "kgateway"}},
    "gpu_operator": GPUS,
    "leader_worker_set": {"llm_d_leader_worker_set": {"install": True}},
}


def file_of(key: str, values: Facts, **options: t.Any) -> Facts:
    return {"llm_d_charts": CHARTS, **FILES[key], "llm_d_chart_values": {key: values}, **options}


def chart(key: str, values: Facts) -> Facts:
    """The planned chart."""
    planned = plan(file_of(key, values))
    groups, gpus = planned["prerequisites"]["leader_worker_set"], planned["gpus"]
    charts = [*planned["gateway"]["charts"], *([groups["chart"]] if groups else []), *([gpus["chart"]] if gpus["chart"] else [])]
    return next(each for each in charts if each["key"] == key)


def messages(file: Facts) -> dict[str, str]:
    return {problem.path: f"{problem.reason} {problem.fix}" for problem in problems(file)}


def leaves(value: t.Any, path: str) -> dict[str, t.Any]:
    if not isinstance(value, dict) or not value:
        return {path: value}
    return {place: leaf for key, item in value.items() for place, leaf in leaves(item, f"{path}.{key}").items()}


def test_every_chart_of_llm_d_charts_accepts_values() -> None:
    assert FILES.keys() == CHARTS.keys() == (VARIABLES["llm_d_chart_values"].options or {}).keys()


@pytest.mark.parametrize("key", FILES)
def test_user_values_are_merged_at_any_depth_and_planned_values_remain(key: str) -> None:
    ours = chart(key, {})["values"]
    within = next((name for name, value in ours.items() if isinstance(value, dict) and value), None)
    own = {"theirs": {"limits": [1]}, **({within: {"theirs": {"cpu": None}}} if within else {})}
    made = chart(key, own)["values"]
    assert made["theirs"] == {"limits": [1]} and {name: value for name, value in made.items() if name not in own} == {
        name: value for name, value in ours.items() if name != within
    }
    assert not within or made[within] == {"theirs": {"cpu": None}, **ours[within]}


@pytest.mark.parametrize("key", FILES)
def test_user_values_that_the_plan_sets_are_refused_at_their_path(key: str) -> None:
    ours = leaves(chart(key, {})["values"], "")
    for path, value in ours.items():
        other: t.Any = {"x": 1} if not isinstance(value, dict) else "x"
        nested: t.Any = other
        for step in reversed(path.strip(".").split(".")):
            nested = {step: nested}
        refusals = messages(file_of(key, nested))
        assert (
            list(refusals) == [f"llm_d_chart_values.{key}{path}"]
            and "is decided by other options of your file. Take it out" in refusals[f"llm_d_chart_values.{key}{path}"]
        )


@pytest.mark.parametrize(
    ("key", "values", "path", "fix"),
    [
        ("gpu_operator", {"driver": {"enabled": True}}, "driver.enabled", "Take it out, and write llm_d_gpus.driver."),
        ("gpu_operator", {"mig": "mixed"}, "mig", "Take it out, and write llm_d_gpus.pools."),
        ("leader_worker_set", {"imagePullSecrets": []}, "imagePullSecrets", "Take it out, and write llm_d_image_pull_secrets."),
        ("envoy_gateway", {"global": {"images": {"envoyGateway": {"image": "x"}}}}, "global.images.envoyGateway.image", "and write llm_d_images."),
        ("envoy_gateway", {"config": {"envoyGateway": {"provider": None}}}, "config.envoyGateway.provider", "Take it out."),
        ("gpu_operator", {"operator": {"version": "v1"}}, "operator.version", "Take it out, and write llm_d_gpus.version."),
        ("gpu_operator", {"operator": {"repository": "x"}}, "operator.repository", "Take it out, and write llm_d_image_registry."),
        ("envoy_gateway", {"global": {"imageRegistry": "x"}}, "global.imageRegistry", "Take it out, and write llm_d_image_registry."),
    ],
)
def test_the_option_that_decides_is_named(key: str, values: Facts, path: str, fix: str) -> None:
    ((place, message),) = messages(file_of(key, values)).items()
    assert place == f"llm_d_chart_values.{key}.{path}" and message.endswith(fix)


@pytest.mark.parametrize(("key", "place"), [(key, place) for key, places in CHART_DISPLACES.items() for place in places])
def test_values_that_displace_planned_ones_are_refused(key: str, place: str) -> None:
    """Helm would use these values instead of the plan's values, which are under another path."""
    refused: t.Any = None
    for step in reversed(place.split(".")):
        refused = {step: refused}
    assert list(messages(file_of(key, refused))) == [f"llm_d_chart_values.{key}.{place}"]
    beside = {**refused, "theirs": 1} if "." not in place else {place.partition(".")[0]: {"theirs": 1}}
    assert len(messages(file_of(key, beside))) == ("." not in place)


def test_every_chart_has_a_row_of_displacing_values() -> None:
    assert CHART_DISPLACES.keys() == CHARTS.keys()


@pytest.mark.parametrize(
    ("platform", "socket", "count"),
    [
        ("k3s", "/run/k3s/containerd/containerd.sock", 1),
        ("rke2", "/run/k3s/containerd/containerd.sock", 1),
        ("microk8s", "/var/snap/microk8s/common/run/containerd.sock", 4),
    ],
)
def test_the_toolkit_gets_the_containerd_socket_of_the_platform_or_the_user(platform: str, socket: str, count: int) -> None:
    def toolkit(values: Facts, **options: t.Any) -> Facts:
        file = file_of("gpu_operator", values, llm_d_platform=platform, **options)
        return dict(plan(file)["gpus"]["chart"]["values"]["toolkit"])

    env = {item["name"]: item["value"] for item in toolkit({})["env"]}
    assert env["CONTAINERD_SOCKET"] == socket and len(env) == count and all(isinstance(value, str) for value in env.values())
    own = [{"name": "CONTAINERD_SOCKET", "value": "/x.sock"}]
    assert toolkit({"toolkit": {"env": own}}) == {"enabled": True, "env": own}
    assert toolkit({}, llm_d_gpus={**GPUS["llm_d_gpus"], "driver": False})["enabled"], "an installed driver has no toolkit for this containerd"
    assert list(messages(file_of("gpu_operator", {"toolkit": {"enabled": False}}, llm_d_platform=platform))) == [
        "llm_d_chart_values.gpu_operator.toolkit.enabled"
    ]
    assert "env" not in plan(file_of("gpu_operator", {}))["gpus"]["chart"]["values"]["toolkit"]


def test_values_for_a_chart_that_is_not_installed_are_refused() -> None:
    unused = "is of no use: this file installs no such chart. "
    assert messages(file_of("envoy_gateway", {}) | {"llm_d_chart_values": {"istio": {"a": 1}, "kgateway": {}}}) == {
        "llm_d_chart_values.istio": f"{unused}Take it out, or write values for envoy_gateway."
    }
    alone = {"llm_d_gateway": {"provider": "standalone"}, "llm_d_chart_values": {"envoy_gateway": {"a": 1}}}
    assert messages(alone) == {"llm_d_chart_values.envoy_gateway": f"{unused}Take it out."}
    assert list(messages(file_of("envoy_gateway", {"a": 1}, llm_d_scope="namespace"))) == ["llm_d_chart_values.envoy_gateway"]
    assert list(messages({"llm_d_charts": CHARTS, "llm_d_chart_values": {"envoy": {"a": 1}}})) == ["llm_d_chart_values.envoy"]


def test_examples_of_the_documentation_are_valid(root: Path) -> None:
    text = (root / "docs/pods.md").read_text(encoding="utf-8").partition("## Pods that charts make")[2]
    examples = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    assert len(examples) > 1 and [problems({"llm_d_charts": CHARTS, **each}) for each in examples] == [[]] * len(examples)


def test_images_in_values_are_listed() -> None:
    values = {"deployment": {"extra": {"image": {"repository": "registry.example.com/side", "tag": "1.2"}}}}
    assert "registry.example.com/side:1.2" in needed(plan(file_of("envoy_gateway", values)))["images"]
