# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/export.yml as a user runs it: the files are the objects of site.yml, the same bytes each time, and other files are not touched."""

from __future__ import annotations

import json
import sys
import typing as t
from pathlib import Path

import plays
import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.llm_d.inference.plugins.filter.plan_files import exported_files
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions

WAVE = "argocd.argoproj.io/sync-wave"
SERVICES: list[dict[str, t.Any]] = [
    {"name": name, "model": {"uri": "hf://acme/llama", "served_name": f"acme/{name}"}, "route": {"path": f"/{name}"}} for name in ("on", "no")
]
USER: dict[str, t.Any] = {"llm_d_model_services": SERVICES, "llm_d_model_token": "hf_planted", "llm_d_monitoring": {"scrape": True}}


def export(folder: Path, **variables: t.Any) -> dict[str, bytes]:
    """Run the playbook; the files by name."""
    given = {"export_path": str(folder), "ansible_python_interpreter": sys.executable, **USER, **variables}
    done = plays.run("-i", "localhost,", "-c", "local", "playbooks/export.yml", "-e", json.dumps(given), "-vvv", "--diff")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hf_planted" not in done.stdout
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.rest
def test_exported_files_are_the_planned_objects_and_stale_files_are_removed(tmp_path: Path) -> None:
    first = export(tmp_path / "out")
    assert b"hf_planted" not in b"".join(first.values())
    listed = yaml.safe_load(first["kustomization.yaml"])["resources"]
    assert sorted([*listed, "kustomization.yaml", "NEEDS.md"]) == sorted(first)
    objects = [yaml.safe_load(first[name]) for name in listed]
    for item in objects:
        assert item["metadata"]["annotations"].pop(WAVE) in {"0", "1", "2"}
        if not item["metadata"]["annotations"]:
            del item["metadata"]["annotations"]
    assert objects == definitions(plan(dict(USER)))
    (tmp_path / "out/README.md").write_text("mine", encoding="utf-8")
    again = export(tmp_path / "out")
    assert again.pop("README.md") == b"mine" and again == first
    fewer = export(tmp_path / "out", llm_d_model_services=SERVICES[:1])
    gone = first.keys() - fewer.keys()
    assert gone and all("llm-d-no" in name for name in gone) and "README.md" in fewer


@pytest.mark.rest
def test_files_of_others_are_neither_removed_nor_overwritten(tmp_path: Path) -> None:
    kustomization, mine = tmp_path / "kustomization.yaml", tmp_path / "mine.yml"
    kustomization.write_text("resources: [mine.yml]\n", encoding="utf-8")
    mine.write_text("kind: ConfigMap\n", encoding="utf-8")
    given = {"export_path": str(tmp_path), "ansible_python_interpreter": sys.executable, **USER}
    refused = plays.run("-i", "localhost,", "-c", "local", "playbooks/export.yml", "-e", json.dumps(given))
    assert refused.returncode != 0 and f"{kustomization} is not of an earlier export" in " ".join(refused.stdout.split()), refused.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kustomization.yaml", "mine.yml"]
    kustomization.unlink()
    export(tmp_path)
    kustomization.write_text(kustomization.read_text(encoding="utf-8") + "  - mine.yml\n", encoding="utf-8")
    assert export(tmp_path)["mine.yml"] == b"kind: ConfigMap\n", "a user has listed it in our file"


def test_sync_waves_put_referenced_objects_first_and_routes_last() -> None:
    objects = definitions(plan(dict(USER)))
    files = exported_files(plan(dict(USER)), objects)
    waves = {
        item["kind"]: int(item["metadata"]["annotations"][WAVE]) for name, text in files.items() if name.endswith(".yml") for item in [yaml.safe_load(text)]
    }
    assert waves["Namespace"] == waves["ServiceAccount"] == waves["ConfigMap"] == 0
    assert waves["Deployment"] == waves["Service"] == waves["Gateway"] == 1
    assert waves["HTTPRoute"] == waves["PodMonitor"] == 2


def test_needed_objects_outside_the_exported_files_are_listed() -> None:
    planned = plan({**USER, "llm_d_image_pull_credentials": [{"registry": "quay.io", "username": "me", "password": "pw_planted"}]})
    text = exported_files(planned, [])["NEEDS.md"]
    assert "- Secret llm-d/llm-d-model-token with the key HF_TOKEN" in text and "- Secret llm-d/llm-d-image-pull with the key .dockerconfigjson" in text
    assert "- CRDs: https://github.com/kubernetes-sigs/gateway-api/" in text and "- chart envoy-gateway: oci://" in text and "planted" not in text
    gated = {**SERVICES[0], "model": {"uri": "hf://acme/gated", "token_secret": "mine", "token_key": "TOKEN"}}
    needs = exported_files(plan({**USER, "llm_d_model_services": [gated]}), [])["NEEDS.md"]
    assert "- Secret llm-d/mine with the key TOKEN (llm_d_model_services[0].model.token_secret)" in needs


@pytest.mark.parametrize("value", [None, [], {}])
def test_the_filter_refuses_values_that_are_not_a_plan(value: t.Any) -> None:
    with pytest.raises(AnsibleFilterError, match="takes a plan"):
        exported_files(value, [])
