"""Images by digest on the running stack: resolved by the registry, run by the pods, and replaced by tags again. Needs `make site` first."""

from __future__ import annotations

import os
from pathlib import Path

import plays
import yaml
from kubernetes import client, config
from live_stack import until

from tools.manifests import user_file

KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
LOCAL, SPACES = "inventories/local", ("llm-d", "envoy-gateway-system")
REGISTRY = yaml.safe_load((plays.ROOT / "roles/local_cluster/defaults/main.yml").read_text(encoding="utf-8"))["local_cluster_registry"]
# The registry of this host has upstream's images below their hosts' names; nodes pull them by upstream's names.
MIRROR = {host: f"{REGISTRY}/{host}" for host in ("ghcr.io", "docker.io")}
# Images that the file names are resolved in the registry of this host.
NAMED = {name: f"{REGISTRY}/{image}" for name, image in user_file("local")["llm_d_images"].items()}
# Seconds until the last old proxy ends: the gateway controller replaces the proxies, and requests are answered meanwhile.
ROLLED_OUT = 180


def running() -> dict[str, str]:
    """{image of a container: digest that the node runs} of all pods of the stack."""
    core = client.CoreV1Api()
    pods = [pod for space in SPACES for pod in core.list_namespaced_pod(space).items if not pod.metadata.deletion_timestamp]
    return {container.image: container.image_id.rpartition("@")[2] for pod in pods for container in pod.status.container_statuses}


def requested() -> set[str]:
    """The images that the pods specify."""
    core = client.CoreV1Api()
    pods = [pod for space in SPACES for pod in core.list_namespaced_pod(space).items if not pod.metadata.deletion_timestamp]
    return {container.image for pod in pods for container in pod.spec.containers}


def test_pods_run_the_images_of_the_lock_file_and_those_of_the_tags_without_it(tmp_path: Path) -> None:
    config.load_kube_config(KUBECONFIG)
    before, lock = requested(), tmp_path / "llm-d.lock.yml"
    plays.well(LOCAL, "playbooks/pin_images.yml", tmp_path, llm_d_image_registry=MIRROR, llm_d_images=NAMED, pin_images_file=str(lock))
    digests = yaml.safe_load(lock.read_text(encoding="utf-8"))["llm_d_image_digests"]
    assert set(digests) >= before
    verdict, _out = plays.site(LOCAL, tmp_path, llm_d_image_digests=digests)
    assert verdict["ok"], [claim for claim in verdict["claims"] if not claim["ok"]]
    pinned = {f"{image}@{digests[image]}" for image in before}
    until(lambda: requested() == pinned, ROLLED_OUT, "all pods specify the digests")
    until(lambda: set(running().values()) == {digests[image] for image in before}, ROLLED_OUT, "all nodes run the digests")
    assert "changed=0 " in plays.site(LOCAL, tmp_path, llm_d_image_digests=digests)[1]
    assert plays.site(LOCAL, tmp_path)[0]["ok"]
    until(lambda: requested() == before, ROLLED_OUT, "all pods specify the tags")
