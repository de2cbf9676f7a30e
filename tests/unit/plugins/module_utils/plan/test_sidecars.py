"""Sidecars of the endpoint picker and of the servers, told apart by where they stand, whatever their order."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.sidecars import picker_sidecars
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from ansible_collections.llm_d.inference.plugins.module_utils.schema.fields import complete
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import SERVICE, VARIABLES

ON_SERVERS = {"on": "decode", "kind": "proxy", "name": "routing-proxy", "port": 8000, "args": []}
ON_THE_PICKER = {"on": "epp", "kind": "uds", "name": "tokenizer", "shared_dir": "/tmp/tokenizer"}


@pytest.mark.parametrize("wanted", [[ON_SERVERS, ON_THE_PICKER], [ON_THE_PICKER, ON_SERVERS]])
def test_the_picker_gets_its_own_in_any_order(wanted: list[dict[str, object]]) -> None:
    user = {name: complete(None, field, name)[0] for name, field in VARIABLES.items()}
    service, problems = complete({"name": "llama", "model": {"uri": "hf://org/m"}}, SERVICE, "s")
    assert not problems
    containers, volumes, mounts = picker_sidecars(service, user, RELEASES["scheduler-0.7"], wanted)
    assert [container["name"] for container in containers] == ["tokenizer"]
    shared = [mount for mount in mounts if mount["mountPath"] == "/tmp/tokenizer"]
    assert shared and {mount["name"] for mount in mounts} <= {volume["name"] for volume in volumes}


def test_helm_never_owns_definitions_of_a_gateway() -> None:
    """The role prerequisites applies them; of a chart they would be deleted with it, and every Gateway of the cluster with them."""
    planned = plan({"llm_d_model_services": [{"name": "llama", "model": {"uri": "hf://org/m"}}]})
    (chart,) = planned["gateway"]["charts"]
    assert chart["values"]["crds"] == {"enabled": False}
