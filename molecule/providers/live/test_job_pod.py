"""A job as AWX's container group runs it: ansible-runner in a pod of this cluster, in an image of the execution environment, as an account with permissions
in one namespace. Needs `make site` first.

The pod's user has no entry in /etc/passwd, its file system is read-only, and its credentials are those that the kubelet mounts. Input and output are those
of AWX: `ansible-runner transmit`, `worker` and `process`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tempfile
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import execution_environment as environment
import plays
import pytest
import yaml
from job_output import plain, wide
from kubernetes import client, config
from live_stack import until

KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
KUBECTL = os.environ.get("LLM_D_KUBECTL", "/var/lib/llm-d-local/bin/kubectl")
HOME, JOBS, ACCOUNT = "llm-d-job", "awx-jobs", "awx-deployer"
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
# The variables of the local inventory that do not depend on this host.
LOCAL = yaml.safe_load((plays.ROOT / "inventories/local/group_vars/all/llm_d.yml").read_text(encoding="utf-8"))
FILE = {
    **{name: LOCAL[name] for name in ("llm_d_release", "llm_d_gateway", "llm_d_model_services", "llm_d_preflight", "llm_d_images")},
    "llm_d_namespace": HOME,
    "llm_d_instance": HOME,
}
SECONDS = 400


class Job(t.NamedTuple):
    """AWX's record of a finished job. given: artifacts for the next job of a workflow."""

    status: str
    output: str
    changed: int
    given: dict[str, t.Any]


def kubectl(*arguments: str, **options: t.Any) -> subprocess.CompletedProcess[bytes]:
    """Run kubectl as the administrator."""
    return subprocess.run([KUBECTL, "--kubeconfig", KUBECONFIG, *arguments], check=False, capture_output=True, **options)


def play(name: str, folder: Path, **variables: t.Any) -> str:
    """Run a playbook as an administrator on this host; returns its output."""
    return plays.well("inventories/local", name, folder / "artifacts", **{**FILE, **variables})


def pod(name: str, image: str, mounted: bool) -> dict[str, t.Any]:
    """The pod of a job, as a container group specifies it, with the changes of OpenShift's restricted-v2. mounted: whether its account's token is."""
    closed = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True}
    worker = {
        "name": "worker",
        "image": image,
        "imagePullPolicy": "Always",
        "args": ["ansible-runner", "worker", "--private-data-dir=/runner"],
        "stdin": True,
        "stdinOnce": True,
        "securityContext": closed,
        "volumeMounts": [{"name": "runner", "mountPath": "/runner"}, {"name": "temporary", "mountPath": "/tmp"}],
    }
    user = {"runAsNonRoot": True, "runAsUser": 1000640000, "runAsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"}}
    volumes = [{"name": name, "emptyDir": {}} for name in ("runner", "temporary")]
    account = {"serviceAccountName": ACCOUNT, "automountServiceAccountToken": mounted}
    spec = {**account, "restartPolicy": "Never", "securityContext": user, "volumes": volumes, "containers": [worker]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": JOBS}, "spec": spec}


class Controller:
    """The part of AWX that starts jobs in pods of this cluster."""

    def __init__(self, folder: Path, image: str) -> None:
        self.folder, self.image = folder, image

    def run(self, number: int, playbook: str, mounted: bool = True, **variables: t.Any) -> Job:
        """Run a job from its project to the artifacts after its pod's end. variables: additions to its file."""
        here, sent = self._sent(number, playbook, variables)
        done = self._runner("process", here, input=self._worker(pod(here.name, self.image, mounted), sent))
        kept = here / "artifacts"
        events = [json.loads(path.read_text(encoding="utf-8")) for path in (kept / "job_events").glob("*.json")]
        statistics = [each["event_data"] for each in events if each["event"] == "playbook_on_stats"]
        # A pseudo-terminal ends lines with CR LF.
        output = (kept / "stdout").read_text(encoding="utf-8").replace("\r\n", "\n") + done.stderr.decode()
        assert statistics, output
        (last,) = statistics
        return Job((kept / "status").read_text(encoding="utf-8"), output, sum(last["changed"].values()), last.get("artifact_data") or {})

    def kill(self, number: int, playbook: str, when: t.Callable[[], object]) -> None:
        """Start a job and kill all its processes once `when` is true, as if its node had failed."""
        here, sent = self._sent(number, playbook, {})
        with ThreadPoolExecutor() as beside:
            job = beside.submit(self._worker, pod(here.name, self.image, True), sent)
            until(when, SECONDS, "the job reaches the point of its cancellation")
            assert not job.done()
            kubectl("exec", here.name, "-n", JOBS, "--", "sh", "-c", "kill -9 -1")
            client.CoreV1Api().delete_namespaced_pod(here.name, JOBS, grace_period_seconds=0)

    def _sent(self, number: int, playbook: str, variables: dict[str, t.Any]) -> tuple[Path, bytes]:
        """(folder of a job, input of its worker). The project is a checkout, as in AWX, or only imports a playbook of the image's collection."""
        here = self.folder / f"automation-job-{number}"
        for part in ("env", "inventory"):
            (here / part).mkdir(parents=True)
        given = {**FILE, "llm_d_scope": "namespace", "llm_d_artifacts": {"config_map": True}, **variables}
        (here / "inventory/hosts").write_text("cluster ansible_connection=local\n", encoding="utf-8")
        (here / "env/extravars").write_text(json.dumps(given), encoding="utf-8")
        if playbook.endswith(".yml"):
            plays.copied(plays.ROOT, here / "project")
            return here, self._runner("transmit", here, "--playbook", playbook).stdout
        (here / "project").mkdir()
        (here / f"project/{playbook}.yml").write_text(f"---\n- import_playbook: llm_d.inference.{playbook}\n", encoding="utf-8")
        (here / "project/ansible.cfg").write_text("[defaults]\ncallbacks_enabled = llm_d.inference.summary\n", encoding="utf-8")
        return here, self._runner("transmit", here, "--playbook", f"{playbook}.yml").stdout

    def _runner(self, command: str, folder: Path, *arguments: str, **options: t.Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([environment.BIN / "ansible-runner", command, folder, *arguments], capture_output=True, check=False, **options)

    def _worker(self, wanted: dict[str, t.Any], sent: bytes) -> bytes:
        """Run the worker in a pod with this input; returns its output."""
        api, name = client.CoreV1Api(), wanted["metadata"]["name"]
        api.create_namespaced_pod(JOBS, wanted)
        try:
            done = kubectl("wait", f"pod/{name}", "-n", JOBS, "--for=jsonpath={.status.phase}=Running", "--timeout=120s")
            assert done.returncode == 0, kubectl("describe", "pod", name, "-n", JOBS).stdout.decode()
            return kubectl("attach", "-i", name, "-n", JOBS, "--quiet", input=sent, timeout=SECONDS).stdout
        finally:
            with contextlib.suppress(client.ApiException):  # of a killed job
                api.delete_namespaced_pod(name, JOBS, grace_period_seconds=0)


@pytest.fixture(name="controller", scope="module")
def _controller(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Controller]:
    """The administrator's preparation: namespaces for the jobs and the stack, and the account with the permissions that list_permissions.yml writes."""
    config.load_kube_config(KUBECONFIG)
    api, folder = client.CoreV1Api(), tmp_path_factory.mktemp("controller")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:  # the image uses the same path of Python, and its /tmp is a volume
        image = environment.push(Path(made))
    try:
        api.create_namespace({"metadata": {"name": JOBS, "labels": RESTRICTED}})
        play("playbooks/prerequisites.yml", folder)
        named = {"list_permissions_account": ACCOUNT, "list_permissions_account_namespace": JOBS}
        output = play("playbooks/list_permissions.yml", folder, llm_d_scope="namespace", llm_d_artifacts={"config_map": True}, **named)
        path = re.search(r"kubectl apply -f ([^\s\"]+)", output)
        assert path and kubectl("apply", "-f", path.group(1)).returncode == 0, output
        yield Controller(folder, image)
    finally:
        for name in (JOBS, HOME):
            kubectl("delete", "namespace", name, "--ignore-not-found")


def test_a_job_pod_without_a_service_account_token_is_refused(controller: Controller) -> None:
    job = controller.run(0, "preflight", mounted=False)
    assert job.status == "failed" and "this pod has no token of an account; set automountServiceAccountToken: true" in " ".join(job.output.split())


def test_the_context_of_a_kubeconfig_that_the_pod_has_not_is_named(controller: Controller) -> None:
    job = controller.run(1, "preflight", llm_d_context="prod")
    assert job.status == "failed" and "leave llm_d_context (or K8S_AUTH_CONTEXT) out" in " ".join(job.output.split())


def test_a_killed_job_does_not_release_its_lease(controller: Controller) -> None:
    """It ends without a release of the Lease: test_a_job_in_a_pod_brings_up_a_stack_and_leaves_its_verdict has to wait for its expiry."""
    leases = client.CoordinationV1Api()
    controller.kill(2, "site", lambda: leases.list_namespaced_lease(HOME).items)
    assert leases.list_namespaced_lease(HOME).items


def test_a_job_in_a_pod_brings_up_a_stack_and_leaves_its_verdict(controller: Controller) -> None:
    job = controller.run(3, "site")
    assert job.status == "successful" and job.changed, job.output[-6000:]
    assert re.search(r"waiting 0 s for another run on the instance llm-d-job", job.output) and "nothing keeps two runs" not in job.output
    verdict = job.given["inference_stacks"]["cluster"]["verdict"]
    assert verdict["endpoint"].startswith("http://") and {"collection", "release", "kubernetes", "gateway"} <= set(verdict["versions"]), verdict
    assert verdict["ok"] and verdict["reports"]["config_map"] == f"{HOME}/{HOME}-report-verdict", verdict
    kept = client.CoreV1Api().read_namespaced_config_map(f"{HOME}-report-verdict", HOME).data
    assert json.loads(kept["verdict.json"])["ok"] and "<html" in kept["report.html"]
    assert "Traceback" not in job.output and wide(plain(job.output)) == []


def test_a_second_job_from_a_checkout_changes_nothing(controller: Controller) -> None:
    job = controller.run(4, "site.yml")
    assert job.status == "successful" and not job.changed, job.output[-6000:]


def test_a_job_in_a_pod_removes_the_stack(controller: Controller) -> None:
    job = controller.run(5, "teardown")
    assert job.status == "successful" and wide(plain(job.output)) == [], job.output[-6000:]
    assert not client.AppsV1Api().list_namespaced_deployment(HOME).items
