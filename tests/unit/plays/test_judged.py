# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A dry run of all objects: a definite refusal by the API server stops the play before anything is applied."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import plays
import pytest
from keeping_api_server import PREPARED, KeepingApi
from local_servers import serve

SERVICE = {"name": "a", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}
TOLERATION = 'Deployment.apps "a-decode" is invalid: spec.template.spec.tolerations[0].operator: Invalid value: "Equal"'


LACKS = "failed to create typed patch object (llm-d/a; gateway.networking.k8s.io/v1, Kind=HTTPRoute): .spec.rules[0].timeouts: field not declared in schema"


def prerequisites(api: KeepingApi, tmp_path: Path, *options: str, **given: t.Any) -> tuple[int, str]:
    """(exit status, output) of the prerequisites of a file for a foreign namespace."""
    api.kept.update(PREPARED)
    with serve(api.answer) as url:
        user: dict[str, t.Any] = {
            "llm_d_kubeconfig": plays.kubeconfig(tmp_path / "config", url),
            "llm_d_artifacts_dir": str(tmp_path / "artifacts"),
            "llm_d_scope": "namespace",
            "llm_d_gateway": {"provider": "none", "name": "theirs"},
            "llm_d_model_services": [SERVICE],
            **given,
        }
        done = plays.run("-i", "inventories/kubernetes", "site.yml", "--tags", "prerequisites", *options, "-e", json.dumps(user), no_proxy="*")
    return done.returncode, done.stdout + done.stderr


def test_a_refused_dry_run_stops_the_play_before_anything_is_applied(tmp_path: Path) -> None:
    api = KeepingApi(dry_runs={"Deployment": (422, TOLERATION)})
    status, output = prerequisites(api, tmp_path, llm_d_model_services=[{**SERVICE, "tolerations": [{"key": "gpu"}]}])
    assert status and "Nothing of the deployment has been touched" in output and "(llm_d_model_services[0].tolerations[0].operator)" in output, output
    assert api.kept == PREPARED


@pytest.mark.rest
@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [
        ("Deployment", 503, "the server is currently unable to handle the request"),
        # The Role is missing, since the dry run did not create it, for an account that may bind only its own permissions.
        ("RoleBinding", 404, 'rolebindings.rbac.authorization.k8s.io "a-epp" not found'),
    ],
)
def test_an_inconclusive_dry_run_does_not_stop_the_play(tmp_path: Path, kind: str, code: int, message: str) -> None:
    status, output = prerequisites(KeepingApi(dry_runs={kind: (code, message)}), tmp_path)
    assert status == 0, output


@pytest.mark.rest
@pytest.mark.parametrize("updates", [True, pytest.param(False, marks=pytest.mark.rest)])
def test_a_field_that_an_old_crd_lacks_is_checked_after_the_crd_update(tmp_path: Path, updates: bool) -> None:
    """The check waits only for an update by the same account: with scope namespace, another account updates the CRDs."""
    sources = {name: [] for name in ("gateway_api", "inference_extension")}
    given = {"llm_d_scope": "cluster", "llm_d_crd_sources": sources} if updates else {}
    status, output = prerequisites(KeepingApi(dry_runs={"HTTPRoute": (500, LACKS)}), tmp_path, **given)
    assert status and "Nothing of the deployment has been touched" in output and ("present | Install the CRDs" in output) is updates, output
    assert prerequisites(KeepingApi(dry_runs={"HTTPRoute": (500, LACKS)}), tmp_path, "--check", **given)[0] == (0 if updates else 2)
