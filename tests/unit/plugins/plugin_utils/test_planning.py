"""The user's variables as the plan reads them."""

from __future__ import annotations

import typing as t

import pytest
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
        ({**HOSTS, "llm_d_instance": "edge"}, "/out/paris"),
        ({**HOSTS, "llm_d_name_suffix": "-blue"}, "/out/paris-blue"),
        ({**HOSTS, "inventory_hostname": "a/b"}, "/out/a_b"),
        ({"groups": {"all": ["llm-d", "one"]}, "inventory_hostname": "llm-d"}, "/out/llm-d"),
        ({"groups": {"all": ["one"]}, "inventory_hostname": "one"}, "/out"),
    ],
)
def test_clusters_and_instances_share_no_folder_of_artifacts(variables: dict[str, t.Any], folder: str) -> None:
    user, wrong = read({"llm_d_artifacts_dir": "/out", **variables}, as_it_is)
    assert not wrong
    assert user["llm_d_artifacts_dir"] == folder
