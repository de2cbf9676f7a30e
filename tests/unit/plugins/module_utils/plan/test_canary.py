# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a canary: the weights of each, the plan of a file with these weights, and mistakes."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import Mistakes, plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.canary import canary
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.record import with_services
from contract.gateway_cases import objects

Facts = dict[str, t.Any]
STEPS: Facts = {"steps": [10, 25, 50, 100], "pause": 60}


def service(name: str, path: str = "/", aliases: Facts | None = None, **route: t.Any) -> Facts:
    model = {"served_name": "base", "aliases": aliases or {}}
    return {"name": name, "model": model, "engine": {"type": "simulator"}, "route": {"path": path, **route}}


def user(weights: Facts | None = None, aliases: Facts | None = None, provider: str = "envoy_gateway") -> Facts:
    services = [service("apart", "/apart"), service("old", aliases=aliases, weights=weights or {}), service("new", "/new"), service("third", "/third")]
    return {"llm_d_model_services": services, "llm_d_gateway": {"provider": provider}}


def shown(planned: Facts) -> list[str]:
    return [f"{step['percent']} {step['shown']}" for step in planned["steps"]]


def test_two_services_share_in_percent_and_each_step_has_the_plan_of_a_file_with_its_weights() -> None:
    planned = canary(user({"old": 100, "new": 0}), STEPS)
    assert (planned["service"], planned["to"], planned["pause"], planned["before"]["percent"]) == ("old", "new", 60, 0)
    assert shown(planned) == ["10 old: 90, new: 10", "25 old: 75, new: 25", "50 old: 50, new: 50", "100 old: 0, new: 100"]
    assert planned["file"] == ["llm_d_model_services[1].route.weights: {old: 0, new: 100}"]
    for step, weights in zip(planned["steps"], ((90, 10), (75, 25), (50, 50), (0, 100)), strict=True):
        written = plan(user(dict(zip(("old", "new"), weights, strict=True))))
        assert step["plan"] == with_services(written, "old", "new") and objects(step["plan"]) == objects(with_services(written, "old", "new"))


def test_a_canary_of_a_model_shifts_every_alias_with_that_target() -> None:
    aliases = {"chat": {"base": 90, "next": 10}, "fast": {"base": 1, "next": 0}, "fixed": "base", "others": {"base": 1, "else": 1}}
    planned = canary(user(aliases=aliases), {"to": "next", "steps": "5, 50", "pause": "0"})
    assert planned["before"]["percent"] == 0 and planned["pause"] == 0
    assert shown(planned) == [
        "5 model.aliases.chat: {base: 95, next: 5}, model.aliases.fast: {base: 95, next: 5}",
        "50 model.aliases.chat: {base: 50, next: 50}, model.aliases.fast: {base: 50, next: 50}",
    ]
    (rewrite,) = (item for item in objects(planned["steps"][0]["plan"]) if item["kind"] == "InferenceModelRewrite")
    assert [[(each["modelRewrite"], each["weight"]) for each in rule["targets"]] for rule in rewrite["spec"]["rules"]] == [
        [("base", 95), ("next", 5)],
        [("base", 95), ("next", 5)],
        [("base", 1)],
        [("base", 1), ("else", 1)],
    ]
    assert planned["file"] == [
        "llm_d_model_services[1].model.aliases.chat: {base: 50, next: 50}",
        "llm_d_model_services[1].model.aliases.fast: {base: 50, next: 50}",
    ]


def test_a_model_with_weight_zero_is_no_target_of_the_alias() -> None:
    planned = plan(user(aliases={"chat": {"base": 0, "next": 1}}))["services"][1]
    assert planned["rewrites"]["rules"][0]["targets"] == [{"modelRewrite": "next", "weight": 1}] and planned["aliases"] == ["chat", "next"]


@pytest.mark.parametrize(
    ("weights", "steps", "wanted"),
    [
        ({"old": 60, "new": 0, "third": 30}, [10], ["10 old: 60, new: 10, third: 30"]),
        ({"old": 1, "new": 0, "third": 1}, [25], ["25 old: 38, new: 25, third: 37"]),
        ({"old": 75, "new": 25}, [10, 25, 26], ["26 old: 74, new: 26"]),
        ({"old": 0, "new": 1}, [10, 100], []),
        ({"old": 3, "new": 0}, [100], ["100 old: 0, new: 100"]),
    ],
)
def test_other_services_share_the_rest_and_completed_steps_are_skipped(weights: Facts, steps: list[int], wanted: list[str]) -> None:
    planned = canary(user(weights), {"to": "new", "steps": steps, "pause": 0})
    assert shown(planned) == wanted
    if not wanted:
        assert planned["file"] == ["llm_d_model_services[1].route.weights: {old: 0, new: 1}"]


def test_weights_move_back_to_the_service_itself() -> None:
    assert shown(canary(user({"old": 0, "new": 5}), {"to": "old", "steps": [40], "pause": 0})) == ["40 old: 40, new: 60"]


@pytest.mark.parametrize("options", [{}, {"service": "old", "to": "new"}, {"service": "old-blue", "to": "new-blue"}])
@pytest.mark.parametrize("ending", ["", "-blue"])
def test_services_are_named_as_in_the_file_and_move_with_its_suffix(options: Facts, ending: str) -> None:
    file = {**user({"old": 100, f"new{ending}": 0}, aliases={"chat": {"base": 100, "new": 0}}), "llm_d_name_suffix": "-blue"}
    planned = canary(file, {**STEPS, "steps": [10, 100], **(options or {"to": "new"})})
    assert (planned["service"], planned["to"], planned["before"]["shown"]) == ("old", "new", "old: 100, new: 0, model.aliases.chat: {base: 100, new: 0}")
    lines = ["llm_d_model_services[1].route.weights: {old: 0, new: 100}", "llm_d_model_services[1].model.aliases.chat: {base: 0, new: 100}"]
    assert planned["file"] == lines
    written = {**user({"old": 90, "new": 10}, aliases={"chat": {"base": 90, "new": 10}}), "llm_d_name_suffix": "-blue"}
    assert planned["steps"][0]["plan"] == with_services(plan(written), "old-blue", "new-blue")
    with pytest.raises(Mistakes, match="Write one that does: old; or first write"):
        canary(file, {**STEPS, "service": "new-blue"})


@pytest.mark.parametrize(
    ("given", "options", "lines"),
    [
        (user(), {}, ["canary_service: there is no model service that shares requests by weight. First write 'route: {weights: "]),
        (user({"old": 1, "new": 0}), {"service": "nwe"}, ["canary_service: 'nwe' is no model service. Write one that does: old."]),
        (user({"old": 1, "new": 0}), {"service": "new"}, ["canary_service: 'new' shares no requests by weight. Write one that does: old; or first write "]),
        (user({"old": 1, "new": 0, "third": 0}), {}, ["canary_to: is missing, and more than one could be meant. Write one of old, new, third."]),
        (user({"old": 1, "new": 0}), {"to": "third"}, ["canary_to: 'third' has no weight in model service old. Write one of old, new."]),
        (user({"old": 1, "new": 0}), {"steps": []}, ["canary_steps: [] is no list of percentages."]),
        (user({"old": 1, "new": 0}), {"steps": 5}, ["canary_steps: 5 is no list of percentages."]),
        (
            user({"old": 1, "new": 0}),
            {"to": "x", "steps": "50, 25, 0, 101, x, true", "pause": -1},
            [
                "canary_to: 'x' has no weight",
                "canary_steps[1]: 25 is not more than 50 before it.",
                "canary_steps[2]: '0' is no percentage from 1 to 100.",
                "canary_steps[3]: '101' is no",
                "canary_steps[4]: 'x' is no",
                "canary_steps[5]: 'true' is no",
                "canary_pause: -1 is no number of seconds. Write a whole number from 0 to 86400.",
            ],
        ),
    ],
)
def test_mistakes_are_reported_at_once(given: Facts, options: Facts, lines: list[str]) -> None:
    with pytest.raises(Mistakes) as caught:
        canary(given, {**STEPS, **options})
    assert len(caught.value.problems) == len(lines) and "in your canary_* variables. Nothing has been touched." in str(caught.value)
    for line in lines:
        assert line in str(caught.value)


def test_mistakes_in_the_file_are_reported_before_the_canary_is_planned() -> None:
    with pytest.raises(Mistakes, match=r"llm_d_\* variables.*\n.*route\.weights\.nwe"):
        canary(user({"old": 1, "nwe": 0}), STEPS)
