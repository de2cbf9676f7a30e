# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/pin_images.yml as a user runs it, with a registry on this host: the lock file, and its use in later runs."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import typing as t
from pathlib import Path

import plays
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import Mistakes, plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from local_servers import serve
from planned_pods import main

Facts = dict[str, t.Any]
SERVICE = {"name": "llama-8b", "model": {"uri": "hf://meta-llama/Llama-3.1-8B-Instruct"}}


def digest(path: str) -> str:
    return f"sha256:{hashlib.sha256(path.encode()).hexdigest()}"


@contextlib.contextmanager
def registry(lacks: str = "none", account: str = "") -> t.Iterator[str]:
    """A registry with every image but one, which may require an account; yields its host."""
    wanted = f"Basic {base64.b64encode(account.encode()).decode()}"

    def answer(handler: t.Any, _method: str, path: str, _body: bytes) -> t.Any:
        if account and handler.headers.get("Authorization") != wanted:
            return 401, {"WWW-Authenticate": 'Basic realm="x"'}, ""
        return (404, {}, "") if lacks in path else (200, {"Docker-Content-Digest": digest(path)}, "")

    with serve(answer) as url:
        yield url.partition("://")[2]


def inventory(folder: Path, host: str, **variables: t.Any) -> Path:
    """An inventory with the smallest file, and the registry as mirror."""
    (folder / "group_vars/all").mkdir(parents=True, exist_ok=True)
    (folder / "hosts").write_text((plays.ROOT / "inventories/kubernetes/hosts").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "group_vars/all/llm_d.yml").write_text(
        yaml.safe_dump({"llm_d_image_registry": host, "llm_d_model_services": [SERVICE], **variables}), encoding="utf-8"
    )
    return folder / "group_vars/all/llm-d.lock.yml"


def pin(folder: Path, *arguments: str, **environment: str) -> t.Any:
    return plays.run("-i", str(folder), "playbooks/pin_images.yml", *arguments, HOME=str(folder), **environment)


@pytest.mark.rest
def test_a_list_of_hosts_has_no_folder_for_the_digests(tmp_path: Path) -> None:
    with registry() as host:
        given = json.dumps({"llm_d_image_registry": host, "llm_d_model_services": [SERVICE]})
        refused = plays.run("-i", "localhost,", "playbooks/pin_images.yml", "-e", given)
        assert refused.returncode != 0 and "write -e pin_images_file=PATH" in refused.stdout, refused.stdout
        assert not (plays.ROOT / "None").exists() and not (plays.ROOT / "playbooks/None").exists()
        done = plays.run("-i", "localhost,", "playbooks/pin_images.yml", "-e", given, "-e", f"pin_images_file={tmp_path / 'lock.yml'}")
    assert done.returncode == 0 and (tmp_path / "lock.yml").exists(), done.stdout


@pytest.mark.rest
def test_every_image_is_pinned_by_the_digest_that_its_registry_names(tmp_path: Path) -> None:
    with registry() as host:
        lock = inventory(tmp_path, host)
        checked = pin(tmp_path, "--check", "--diff")
        assert checked.returncode == 0 and "+llm_d_image_digests:" in checked.stdout and not lock.exists(), checked.stdout
        done = pin(tmp_path)
        assert done.returncode == 0 and f"written: {lock}" in " ".join(done.stdout.split()), done.stdout
        written = yaml.safe_load(lock.read_text(encoding="utf-8"))
        again = pin(tmp_path)
        assert "changed=0 " in again.stdout and "The digests are as they were." in again.stdout, again.stdout
        listed = plays.run("-i", str(tmp_path), "playbooks/list_images.yml", "-e", f"llm_d_artifacts_dir={tmp_path}/out", HOME=str(tmp_path))
    file = {"llm_d_image_registry": host, "llm_d_model_services": [SERVICE]}
    plain = needed(plan(file))
    assert set(written["llm_d_image_digests"]) == set(plain["sources"])
    pinned = plan({**file, **written})
    assert needed(pinned)["images"] == sorted(
        f"{name}@{digest('/v2/' + '/manifests/'.join(name.partition('/')[2].rsplit(':', 1)))}" for name in plain["images"]
    )
    pods = [pod for service in pinned["services"] for pod in (*service["servers"], service["scheduler"])]
    assert all("@sha256:" in pod["image"] for pod in pods)
    assert listed.returncode == 0 and pods[0]["image"] in listed.stdout, listed.stdout
    assert "@" not in (tmp_path / "out/mirror/images.txt").read_text(encoding="utf-8"), "images to copy have tags"


@pytest.mark.rest
def test_a_lock_that_does_not_match_the_file_is_refused_and_can_be_rewritten(tmp_path: Path) -> None:
    with registry() as host:
        inventory(tmp_path, host)
        assert pin(tmp_path).returncode == 0
        lock = inventory(tmp_path, host, llm_d_release="router-0.9", llm_d_scope="namespace")
        old, new = (f"ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.{number}.0" for number in (10, 9))
        refused = plays.run("-i", str(tmp_path), "playbooks/list_images.yml", HOME=str(tmp_path))
        output = " ".join(refused.stdout.split() + refused.stderr.split())
        assert refused.returncode and f"llm_d_image_digests: lacks {new}." in output and "playbooks/pin_images.yml" in output
        assert pin(tmp_path).returncode == 0 and "docker.io/envoyproxy/gateway:" in lock.read_text(encoding="utf-8"), "of the controller too"
        assert new in lock.read_text(encoding="utf-8") and old not in lock.read_text(encoding="utf-8")


def test_all_images_without_a_digest_are_reported_and_no_lock_is_written(tmp_path: Path) -> None:
    with registry(lacks="vllm-openai") as host:
        lock = inventory(tmp_path, host)
        done = pin(tmp_path)
        output = " ".join(done.stdout.split() + done.stderr.split())
        assert done.returncode and not lock.exists()
        assert f"{host}/vllm/vllm-openai:v0.30.0: the registry does not have it (HTTP 404)." in output


@pytest.mark.rest
@pytest.mark.parametrize("given", ["file", "docker"])
def test_the_registry_gets_an_account(tmp_path: Path, given: str) -> None:
    with registry(account="robot:se-cret") as host:
        lock = inventory(tmp_path, host)
        refused = pin(tmp_path)
        assert "the registry wants an account (HTTP 401)" in " ".join(refused.stdout.split() + refused.stderr.split())
        if given == "file":
            inventory(tmp_path, host, llm_d_image_pull_credentials=[{"registry": host, "username": "robot", "password": "se-cret"}])
        else:
            auth = base64.b64encode(b"robot:se-cret").decode()
            (tmp_path / "config.json").write_text(json.dumps({"auths": {f"https://{host}/v2/": {"auth": auth}}}), encoding="utf-8")
        done = pin(tmp_path, "-vvv", DOCKER_CONFIG=str(tmp_path))
        assert done.returncode == 0 and lock.exists() and "se-cret" not in done.stdout + done.stderr, done.stdout


@pytest.mark.parametrize("value", ["latest", "sha256:12", "sha512:" + "0" * 64])
def test_an_invalid_digest_is_refused(value: str) -> None:
    with pytest.raises(Mistakes, match="sha256: and 64 hexadecimal digits"):
        plan({"llm_d_model_services": [SERVICE], "llm_d_image_digests": {"docker.io/a/b:1": value}})


def test_an_image_of_the_user_with_a_digest_needs_no_other() -> None:
    own = {**SERVICE, "engine": {"image": f"registry.test/vllm:1@{digest('x')}"}}
    images = needed(plan({"llm_d_model_services": [own]}))["sources"]
    digests = {name: digest(name) for name in images if "@" not in name}
    pinned = plan({"llm_d_model_services": [own], "llm_d_image_digests": digests})
    assert main(pinned["services"][0]["server"])["image"] == own["engine"]["image"]
    assert all(name.count("@") == 1 for name in needed(pinned)["images"])


def test_charts_get_the_digest_after_the_tag() -> None:
    for provider in ("envoy_gateway", "istio", "agentgateway", "kgateway"):
        file: Facts = {"llm_d_model_services": [SERVICE], "llm_d_gateway": {"provider": provider}}
        digests = {name: digest(name) for name in needed(plan(file))["sources"]}
        pinned = plan({**file, "llm_d_image_digests": digests})
        assert needed(pinned)["images"] == sorted(f"{name}@{value}" for name, value in digests.items()), provider


@pytest.mark.parametrize("scope", ["prerequisites", "namespace"])
def test_one_lock_is_for_both_parts_of_a_deployment(scope: str) -> None:
    file: Facts = {"llm_d_model_services": [SERVICE]}
    digests = {name: digest(name) for name in needed(plan(file))["sources"]}
    assert plan({**file, "llm_d_scope": scope, "llm_d_image_digests": digests})["scope"] == scope
