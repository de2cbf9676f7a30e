"""The user's variables as the plan reads them."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import plays
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import problems
from ansible_collections.llm_d.inference.plugins.plugin_utils import planning
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import read

HOSTS = {"groups": {"all": ["berlin", "paris"]}, "inventory_hostname": "paris"}


def as_it_is(value: t.Any) -> t.Any:
    return value


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({}, "/out"),
        ({"llm_d_instance": "llm-d"}, "/out"),
        ({"llm_d_instance": "blue"}, "/out/blue"),
        ({"llm_d_name_suffix": "-blue"}, "/out/llm-d-blue"),
        ({"llm_d_instance": "edge", "llm_d_name_suffix": "-blue"}, "/out/edge-blue"),
        (HOSTS, "/out/paris"),
        ({"llm_d_instance": "benchmark"}, "/out/benchmark%"),
        (HOSTS | {"llm_d_instance": "llm-d"}, "/out/paris"),
        (HOSTS | {"llm_d_instance": "edge"}, "/out/paris/edge"),
        (HOSTS | {"llm_d_instance": "other"}, "/out/paris/other"),
        (HOSTS | {"llm_d_instance": "compare"}, "/out/paris/compare%"),
        (HOSTS | {"llm_d_name_suffix": "-blue"}, "/out/paris/llm-d-blue"),
        (HOSTS | {"inventory_hostname": "paris-blue"}, "/out/paris-blue"),
        (HOSTS | {"inventory_hostname": "a/b"}, "/out/a%2Fb"),
        (HOSTS | {"inventory_hostname": "a_b"}, "/out/a_b"),
        (HOSTS | {"inventory_hostname": "a%2Fb"}, "/out/a%252Fb"),
        (HOSTS | {"inventory_hostname": ".."}, "/out/..%"),
        (HOSTS | {"inventory_hostname": "fleet"}, "/out/fleet%"),
        ({"groups": {"all": ["llm-d", "one"]}, "inventory_hostname": "llm-d"}, "/out/llm-d"),
        ({"groups": {"all": ["one"]}, "inventory_hostname": "one"}, "/out"),
    ],
)
def test_clusters_and_instances_share_no_folder_of_artifacts(variables: dict[str, t.Any], folder: str) -> None:
    user, failures = read({"llm_d_artifacts_dir": "/out", **variables}, as_it_is)
    assert not failures
    assert user["llm_d_artifacts_dir"] == folder
    assert planning.fleet_folder(variables, user) == "/out/fleet"


@pytest.mark.parametrize("nothing", ["", " ", None])
def test_an_empty_folder_of_artifacts_is_the_default_one(nothing: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A survey gives an empty text for a question without an answer, and /mirror is at the top of the file system."""
    monkeypatch.chdir(tmp_path)
    host = {"groups": {"all": ["one"]}, "inventory_hostname": "one"}
    default, _failures = read(host, as_it_is)
    user, failures = read({"llm_d_artifacts_dir": nothing, **host}, as_it_is)
    assert not failures and user["llm_d_artifacts_dir"] == default["llm_d_artifacts_dir"] == str(tmp_path / "artifacts/one/llm-d")


def test_an_unanswered_text_without_a_default_is_left_out() -> None:
    """A name that has a default stays empty, and is refused: a template that yields an empty text would deploy to another place than intended."""
    given = {
        "llm_d_name_suffix": "",
        "llm_d_image_registry": " ",
        "llm_d_scheduler_namespace": "",
        "llm_d_context": "",
        "llm_d_namespace": "",
        "llm_d_state": "",
    }
    user, failures = read({"llm_d_artifacts_dir": "/out", **given}, as_it_is)
    assert not failures and {name: user[name] for name in given} == {**dict.fromkeys(given), "llm_d_namespace": "", "llm_d_state": ""}
    assert {problem.path for problem in problems(user)} >= {"llm_d_namespace", "llm_d_state"} and "llm_d_name_suffix" not in str(problems(user))


def test_no_host_or_instance_has_the_folder_of_a_result() -> None:
    texts = [path.read_text(encoding="utf-8") for folder in ("roles", "playbooks") for path in (plays.ROOT / folder).rglob("*.yml")]
    results = {name for text in texts for name in re.findall(r"artifacts_dir(?: ~ '| }})/([a-z_]+)\b(?!\.)", text)}
    assert {"benchmark", "diagnose", "mirror", "performance"} <= results <= set(planning._RESERVED)
