# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role record at the end of site.yml: it prunes what the file no longer has, except in check mode and with tags that leave something out."""

from __future__ import annotations

import json

import plays
import pytest
import yaml
from local_servers import serve
from teardown_api import NAMESPACES, Api, labels

RECORD = f"{NAMESPACES}/llm-d/configmaps/llm-d-record"
REPORT = f"{NAMESPACES}/llm-d/configmaps/llm-d-report-verdict"
OURS, FOREIGN = (f"/apis/apps/v1/namespaces/llm-d/deployments/{name}" for name in ("old-decode", "theirs"))


@pytest.fixture(name="api")
def _api():
    api = Api()
    api.bare()
    api.kept[OURS] = {"metadata": {"namespace": "llm-d", "name": "old-decode", "labels": labels("llm-d")}}
    api.kept[FOREIGN] = {"metadata": {"namespace": "llm-d", "name": "theirs", "labels": labels("other")}}
    with serve(api.answer) as api.url:
        yield api


@pytest.fixture(name="site")
def _site(api, tmp_path):
    """A function that runs the two entries of the role in site.yml, and returns the output."""
    plays.kubeconfig(tmp_path / "config", api.url)
    roles = [{"role": "llm_d.inference.record"}, {"role": "llm_d.inference.record", "vars": {"record_state": "prune"}}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "roles": roles}]), encoding="utf-8")
    file = {"llm_d_kubeconfig": f"{tmp_path}/config", "llm_d_gateway": {"provider": "standalone"}, "llm_d_model_services": []}

    def run(*arguments):
        given = ["-i", "localhost,", "-c", "local", "-e", json.dumps({**file, "llm_d_artifacts_dir": f"{tmp_path}/artifacts"})]
        done = plays.run(*given, *arguments, str(tmp_path / "play.yml"), no_proxy="*")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize(
    ("arguments", "goes"),
    [
        ([], True),
        pytest.param(["--skip-tags", "validation"], True, marks=pytest.mark.rest),
        pytest.param(["--skip-tags", "molecule-notest,notest"], True, marks=pytest.mark.rest),
        pytest.param(["--tags", "record"], False, marks=pytest.mark.rest),
        (["--tags", "record,model_service"], False),
        pytest.param(["--skip-tags", "model_service"], False, marks=pytest.mark.rest),
        pytest.param(["--skip-tags", "gaie_scheduler_present"], False, marks=pytest.mark.rest),
        (["--check", "--diff"], False),
    ],
)
def test_stale_objects_are_pruned_only_if_the_whole_file_was_applied(site, api, arguments, goes):
    output = site(*arguments)
    assert (OURS not in api.kept) == goes and FOREIGN in api.kept, output
    shown = "Deployment (1): old-decode" in output
    assert shown == (goes or "--check" in arguments), output
    assert (RECORD in api.kept) == ("--check" not in arguments)


def test_a_run_with_start_at_task_prunes_nothing(site, api):
    """The skipped tasks would create the replacements of the pruned objects."""
    assert "Deployment (1)" not in site("--start-at-task", "llm_d.inference.record : Compute what to record") and OURS in api.kept


def test_a_second_run_changes_nothing(site, api):
    site()
    record = api.kept[RECORD]
    assert "Deployment" not in record["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"]
    assert (
        record["data"] == {"secrets": "", "releases": "", "crds": "", "kinds": "", "needed": ""}
        and "Deployment (1)" not in site()
        and api.kept[RECORD] == record
    )


def test_report_config_maps_are_kept_while_the_file_requests_them(site, api):
    api.kept[REPORT] = {"metadata": {"namespace": "llm-d", "name": "llm-d-report-verdict", "labels": labels("llm-d")}}
    site("-e", json.dumps({"llm_d_artifacts": {"config_map": True}}))
    assert REPORT in api.kept
    assert "ConfigMap (1): llm-d-report-verdict" in site() and REPORT not in api.kept
