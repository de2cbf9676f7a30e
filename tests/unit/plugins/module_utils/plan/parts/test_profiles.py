"""Profiles: named options, which those of the service override; a mistake is reported where it is written."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.parts.profiles import over_profile
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from ansible_collections.llm_d.inference.plugins.module_utils.releases.profiles import PROFILES

Facts = dict[str, t.Any]
VLLM: Facts = {"name": "llama", "model": {"uri": "hf://org/m"}}
S0 = "llm_d_model_services[0]"


def user(*services: Facts, **variables: t.Any) -> Facts:
    return {"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": list(services), **variables}


def service(element: Facts, **variables: t.Any) -> Facts:
    return t.cast(Facts, plan(user(element, **variables))["services"][0])


def test_service_options_override_the_profile_and_replace_its_lists() -> None:
    part = {"replicas": 2, "engine": {"args": ["--a"], "max_num_seqs": 4, "env": {"A": "1"}}, "labels": {"team": "a"}}
    made = over_profile({"name": "x", "profile": "p", "engine": {"args": ["--b"], "env": {"B": "2"}}, "labels": None}, {"p": part})
    assert made == {
        "name": "x",
        "profile": "p",
        "replicas": 2,
        "engine": {"args": ["--b"], "max_num_seqs": 4, "env": {"A": "1", "B": "2"}},
        "labels": None,
    }
    assert part["engine"]["env"] == {"A": "1"}, "the profile stays as it is"


def test_a_preset_of_the_service_replaces_how_the_profile_decides_and_not_how_it_runs() -> None:
    profiles = {"ours": {"scheduler": {"scorers": {"queue": 7}, "verbosity": 4}}}
    planned = service({**VLLM, "profile": "ours", "scheduler": {"preset": "prefix_aware"}}, llm_d_profiles=profiles)
    alone = service({**VLLM, "scheduler": {"preset": "prefix_aware"}})
    assert planned["scheduler"]["config"] == alone["scheduler"]["config"] and "--v=4" in planned["scheduler"]["args"]


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("release", RELEASES)
def test_each_built_in_profile_equals_its_options_written_in_the_service(name: str, release: str) -> None:
    element = {**VLLM, "profile": name, **({"model": {"served_name": "m"}} if name == "simulated" else {})}
    bare = {key: value for key, value in element.items() if key != "profile"}
    if mistakes := problems(user({**bare, **PROFILES[name]}, llm_d_release=release)):
        assert (name, release) == ("basic-gpu-with-nixl", "gie-1.5"), mistakes
        assert [problem.path for problem in problems(user(element, llm_d_release=release))] == [f"{S0}.profile"]
        return
    made = plan(user(element, llm_d_release=release))
    assert made == plan(user({**bare, **PROFILES[name]}, llm_d_release=release))
    assert name == "simulated" or made != plan(user(bare, llm_d_release=release))


def test_a_profile_of_the_user_replaces_a_built_in_profile() -> None:
    assert service({**VLLM, "profile": "throughput"}, llm_d_profiles={"throughput": {"replicas": 5}})["server"]["replicas"] == 5


@pytest.mark.parametrize(
    ("element", "profiles", "place", "words"),
    [
        ({"profile": "small-latncy"}, {}, f"{S0}.profile", "there is no profile 'small-latncy'. Did you mean small-latency?"),
        ({"profile": "x-y-z"}, {"ours": {}}, f"{S0}.profile", "or define it in llm_d_profiles."),
        ({"profile": "ours"}, {"ours": {"replica": 2}}, "llm_d_profiles.ours.replica", "Did you mean 'replicas'?"),
        ({}, {"ours": {"replica": 2}}, "llm_d_profiles.ours.replica", "Did you mean 'replicas'?"),
        ({"profile": "ours"}, {"ours": {"engine": {"port": "x"}}}, "llm_d_profiles.ours.engine.port", "a whole number"),
        ({"profile": "ours"}, {"ours": {"name": "x"}}, "llm_d_profiles.ours.name", "there is no such option"),
        ({"profile": "ours"}, {"ours": {"scheduler": {"scorers": {"queu": 1}}}}, "llm_d_profiles.ours.scheduler.scorers.queu", ""),
        ({"profile": "ours", "engine": {"port": "x"}}, {"ours": {"engine": {"port": 8001}}}, f"{S0}.engine.port", "a whole number"),
        ({"profile": "ours"}, {"ours": {"autoscaling": {"provider": "hpa", "max": 0}}}, "llm_d_profiles.ours.autoscaling.max", ""),
        ({"profile": "ours"}, {"ours": {"autoscaling": {"max": 4}}}, "llm_d_profiles.ours.autoscaling.provider", "is missing"),
        ({"profile": "ours", "replicas": 3}, {"ours": {"autoscaling": {"provider": "hpa", "max": 3, "metrics": {"queue": 1}}}}, f"{S0}.replicas", ""),
        ({"profile": 5}, {}, f"{S0}.profile", "a string"),
        ({"profile": "ours"}, {"ours": [1]}, "llm_d_profiles.ours", "a mapping"),
    ],
)
def test_a_mistake_is_reported_once_where_it_is_written(element: Facts, profiles: Facts, place: str, words: str) -> None:
    mistakes = problems(user({**VLLM, **element}, {**VLLM, "name": "second", "route": {"path": "/second"}, **element}, llm_d_profiles=profiles))
    here = [problem for problem in mistakes if problem.path == place]
    assert len(here) == 1 and words in str(here[0]), mistakes
    assert {problem.path.replace("services[1]", "services[0]") for problem in mistakes} == {place}, mistakes


def test_a_mistake_in_a_profile_is_reported_there_beside_mistakes_of_other_variables() -> None:
    element = {**VLLM, "profile": "ours", "pod": {"hostname": "a"}}
    own = {"ours": {"pod": {"hostPIDs": True}}}
    mistakes = problems(user(element, llm_d_profiles=own, llm_d_wait_timeout="soon"))
    assert [mistake.path for mistake in mistakes] == ["llm_d_profiles.ours.pod.hostPIDs", "llm_d_wait_timeout"]


def test_a_conflict_with_a_profile_of_the_collection_is_reported_at_its_name() -> None:
    (mistake,) = problems(user({**VLLM, "profile": "basic-gpu-with-nixl", "engine": {"type": "simulator"}, "accelerator": {"nodes": 2}}))[:1]
    assert mistake.path.startswith(S0)
    (problem,) = problems(user({**VLLM, "profile": "small-latency", "engine": {"args": ["--max-num-seqs=4"]}}))
    assert problem.path in (f"{S0}.profile", f"{S0}.engine.args[0]", f"{S0}.engine.args"), problem


def test_no_secret_of_a_profile_is_shown() -> None:
    mistakes = problems(user({**VLLM, "profile": "ours"}, llm_d_profiles={"ours": {"engine": {"env": {"TOKEN": ["hunter2"]}}}}))
    assert mistakes and "hunter2" not in " ".join(f"{problem} {problem.value}" for problem in mistakes)
