"""The cluster in OpenShift's shape, and playbooks on it."""

from __future__ import annotations

import json
import os
import sys
import typing as t

import plays
import pytest

sys.path.insert(0, str(plays.ROOT / "molecule/openshift/standin"))

from api import Api

KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
Facts = dict[str, t.Any]


class Done(t.NamedTuple):
    """The result of a playbook."""

    ok: bool
    unchanged: bool
    text: str


@pytest.fixture(scope="session")
def api() -> Api:
    return Api(KUBECONFIG)


@pytest.fixture(scope="session")
def play(tmp_path_factory: pytest.TempPathFactory) -> t.Callable[..., Done]:
    """Runs a playbook with the scenario's inventory and the given variables."""
    folder = tmp_path_factory.mktemp("artifacts")

    def run(playbook: str, **variables: t.Any) -> Done:
        given = {"llm_d_artifacts_dir": str(folder), "gpu_operator_timeout": 40, **variables}
        done = plays.run("-i", "molecule/openshift/inventory", playbook, "-e", json.dumps(given))
        text = done.stdout + done.stderr
        return Done(done.returncode == 0, "changed=0" in text, text)

    return run
