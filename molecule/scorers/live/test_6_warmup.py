"""Warm-up of prefix caches on the running stack: the warmed servers, when it counts as a change, and when the claim passes."""

from __future__ import annotations

import collections.abc as c
import json
import re
import typing as t
from pathlib import Path

import plays
import pytest
import yaml
from kubernetes import client
from python_image import push
from stack import MODELS, NAMESPACE, Stack, call, until

from tools.manifests import user_file

PROMPT = "You are the patient assistant of a shop for boots. You answer in one short sentence, from the handbook only, and you name the chapter. " * 4
IN_MAP = "Translate what follows into the language of the fishermen of the northern islands, word by word, and keep the names as they are. " * 4
CONFIG_MAP = "warm-up-prompts"


def services(warmup: dict[str, t.Any] | None) -> list[dict[str, t.Any]]:
    """The model services of the inventory, `sim` with this warmup block."""
    listed = yaml.safe_load(Path("molecule/scorers/inventory/group_vars/all/scorers.yml").read_text())["llm_d_model_services"]
    return [{**service, "warmup": warmup} if service["name"] == "sim" else service for service in listed]


def run(playbook: str, warmup: dict[str, t.Any] | None, *arguments: str, **given: t.Any) -> tuple[int, int, str]:
    """Run a playbook: (exit status, number of changes, output)."""
    given = {"llm_d_model_services": services(warmup), **given}
    done = plays.run("-i", "molecule/scorers/inventory", f"playbooks/{playbook}.yml", "-e", json.dumps(given), *arguments)
    match = re.search(r"changed=(\d+)", done.stdout)
    assert match, done.stdout + done.stderr
    return done.returncode, int(match[1]), done.stdout + done.stderr


def claim(folder: Path, warmup: dict[str, t.Any]) -> dict[str, t.Any]:
    """Run validate.yml; returns its claim `sim/warm`."""
    run("validate", warmup, llm_d_artifacts_dir=str(folder), validation_wait=5)
    (warm,) = [entry for entry in json.loads((folder / "verdict.json").read_text())["claims"] if entry["id"] == "sim/warm"]
    print(warm["evidence"])
    return warm


def cached(address: str, prompt: str, api: str = "chat_completions") -> tuple[int, int]:
    """Send a server a request that begins with a prompt: (tokens taken from the cache, tokens of the request's prompt)."""
    if api == "completions":
        status, _headers, body = call(f"http://{address}:8000/v1/completions", {"model": MODELS["sim"], "prompt": f"{prompt} And then?", "max_tokens": 1})
    else:
        messages = [{"role": "system", "content": prompt}, {"role": "user", "content": "Do you sell laces as well?"}]
        status, _headers, body = call(f"http://{address}:8000/v1/chat/completions", {"model": MODELS["sim"], "messages": messages, "max_tokens": 1})
    assert status == 200, body
    usage = json.loads(body)["usage"]
    return usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"]


def restart(stack: Stack) -> str:
    """Delete one server; returns the name of its replacement."""
    before = stack.servers("sim")
    stack.core.delete_namespaced_pod(sorted(before)[0], NAMESPACE, grace_period_seconds=0)
    until(lambda: len(stack.servers("sim")) == 4 and sorted(before)[0] not in stack.servers("sim"), 60, "another server runs")
    (new,) = set(stack.servers("sim")) - set(before)
    return new


def renew(stack: Stack) -> None:
    """Restore the stack of the inventory and replace all servers of `sim`."""
    done = stack.as_written()
    assert done.returncode == 0, done.stdout
    before = set(stack.servers("sim"))
    stack.core.delete_collection_namespaced_pod(NAMESPACE, label_selector="llm-d.ai/model-service=sim,llm-d.ai/role=decode", grace_period_seconds=0)
    until(lambda: len(stack.servers("sim")) == 4 and not before & set(stack.servers("sim")), 90, "four new servers")


@pytest.fixture(autouse=True)
def cold(stack: Stack) -> None:
    renew(stack)


@pytest.fixture(scope="module", autouse=True)
def as_before(stack: Stack) -> c.Iterator[None]:
    """Empty the caches for later tests too."""
    yield
    renew(stack)


@pytest.fixture(name="config_map")
def make_config_map(stack: Stack) -> c.Iterator[None]:
    stack.core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": CONFIG_MAP}, "data": {"translate.txt": IN_MAP}})
    yield
    stack.core.delete_namespaced_config_map(CONFIG_MAP, NAMESPACE)


@pytest.mark.parametrize("api", ["chat_completions", pytest.param("completions", marks=pytest.mark.rest)])
def test_the_first_run_warms_the_caches_and_the_second_changes_nothing(stack: Stack, config_map: None, api: str) -> None:
    warmup = {"prompts": [PROMPT], "config_map": CONFIG_MAP, "api": api}
    code, changes, shown = run("scorers", warmup, "-v")
    assert code == 0 and changes == 1, shown
    assert PROMPT.strip() not in shown and IN_MAP.strip() not in shown
    servers = stack.servers("sim")
    cached_tokens = {name: [cached(address, prompt, api) for prompt in (PROMPT, IN_MAP)] for name, address in servers.items()}
    print(cached_tokens)
    # A user's request that begins with the prompt finds all whole blocks of it cached.
    assert len(cached_tokens) == 4 and all(taken >= 64 and taken > tokens - 48 for each in cached_tokens.values() for taken, tokens in each), cached_tokens
    code, changes, shown = run("scorers", warmup)
    assert code == 0 and changes == 0, shown


@pytest.mark.rest
def test_a_restarted_server_fails_the_claim_until_it_is_warmed_again(stack: Stack, tmp_path: Path) -> None:
    warmup = {"prompts": [PROMPT]}
    assert run("scorers", warmup)[:2] == (0, 1)
    held = claim(tmp_path, warmup)
    assert held["ok"] and held["group"] == "caches" and held["evidence"].startswith("4 servers took 1 prompt from the cache"), held
    new = restart(stack)
    broken = claim(tmp_path, warmup)
    assert not broken["ok"] and new in broken["evidence"] and "site.yml" in broken["remedy"], broken
    other = restart(stack)
    code, changes, shown = run("scorers", warmup, "-v")
    assert code == 0 and changes == 1 and shown.count("state: warmed") + shown.count('"state": "warmed"') == 1, shown
    taken, tokens = cached(stack.servers("sim")[other], PROMPT)
    assert taken > tokens - 48
    assert claim(tmp_path, warmup)["ok"]


@pytest.fixture(name="image", scope="module")
def python_image(tmp_path_factory: pytest.TempPathFactory) -> str:
    return push(tmp_path_factory.mktemp("image"))


def run_now(name: str) -> tuple[bool, str]:
    """Run a Job from a CronJob, as `kubectl create job --from` does: (whether it succeeded, its log)."""
    batch, core = client.BatchV1Api(), client.CoreV1Api()
    cron_job = batch.read_namespaced_cron_job(name, NAMESPACE)
    owner = client.V1OwnerReference(api_version="batch/v1", kind="CronJob", name=name, uid=cron_job.metadata.uid, controller=True)
    about = client.V1ObjectMeta(name=f"{name}-by-hand", owner_references=[owner])
    batch.create_namespaced_job(NAMESPACE, client.V1Job(metadata=about, spec=cron_job.spec.job_template.spec))

    def ended() -> t.Any:
        status = batch.read_namespaced_job_status(about.name, NAMESPACE).status
        return status if status.succeeded or status.failed else None

    until(ended, 120, "the Job has ended")
    (pod,) = core.list_namespaced_pod(NAMESPACE, label_selector=f"batch.kubernetes.io/job-name={about.name}").items
    log = core.read_namespaced_pod_log(pod.metadata.name, NAMESPACE)
    succeeded = bool(ended().succeeded)
    batch.delete_namespaced_job(about.name, NAMESPACE, propagation_policy="Background")
    return succeeded, log


def of_the_schedule() -> set[str]:
    """The kinds of the existing objects of the CronJob of `sim`."""
    batch, core, access = client.BatchV1Api(), client.CoreV1Api(), client.RbacAuthorizationV1Api()
    listed = {
        "CronJob": batch.list_namespaced_cron_job,
        "Job": batch.list_namespaced_job,
        "Secret": core.list_namespaced_secret,
        "ConfigMap": core.list_namespaced_config_map,
        "ServiceAccount": core.list_namespaced_service_account,
        "Role": access.list_namespaced_role,
        "RoleBinding": access.list_namespaced_role_binding,
    }
    return {kind for kind, list_objects in listed.items() if any(item.metadata.name.startswith("sim-warmup") for item in list_objects(NAMESPACE).items)}


def test_the_cron_job_warms_new_servers_and_is_removed_with_its_schedule(stack: Stack, config_map: None, image: str) -> None:
    warmup = {"prompts": [PROMPT], "config_map": CONFIG_MAP, "schedule": "0 0 29 2 *", "time_zone": "Etc/UTC"}
    code, _changes, shown = run("scorers", warmup, "--diff", "-v", llm_d_images={**user_file("local")["llm_d_images"], "python": image})
    assert code == 0 and PROMPT.strip() not in shown, shown
    code, changes, shown = run("scorers", warmup, llm_d_images={**user_file("local")["llm_d_images"], "python": image})
    assert code == 0 and changes == 0, shown
    new = restart(stack)
    succeeded, log = run_now("sim-warmup")
    print(log)
    assert succeeded and log.count(": warm, ") == 6 and log.count(f"{new}: ") == 2 and log.count(": warmed, ") == 2, log
    assert PROMPT.strip() not in log and IN_MAP.strip() not in log
    for prompt in (PROMPT, IN_MAP):
        taken, tokens = cached(stack.servers("sim")[new], prompt)
        assert taken > tokens - 48
    code, changes, shown = run("scorers", {key: warmup[key] for key in ("prompts", "config_map")})
    assert code == 0 and changes > 0, shown
    until(lambda: not of_the_schedule(), 60, "the objects of the schedule are gone")


@pytest.mark.rest
def test_prefill_servers_are_warmed_as_well(stack: Stack, tmp_path: Path) -> None:
    warmup = {"prompts": [PROMPT]}
    code, changes, shown = run("scorers", warmup, llm_d_scheduler_overrides={"sim": {"preset": "disaggregated"}})
    assert code == 0 and changes > 1, shown
    for role in ("decode", "prefill"):
        for address in stack.servers("sim", role).values():
            taken, tokens = cached(address, PROMPT)
            assert taken > tokens - 48, role


@pytest.mark.rest
def test_an_unusable_warmup_prompt_fails_the_claim_and_not_the_run(stack: Stack, tmp_path: Path) -> None:
    """A prompt of few tokens but many bytes, and a ConfigMap that does not exist."""
    short = {"prompts": [PROMPT, "incomprehensibilities"], "api": "completions"}
    code, changes, shown = run("scorers", short)
    assert code == 0 and changes == 1 and "too few to fill a KV-cache block" in " ".join(shown.split()), shown
    broken = claim(tmp_path, short)
    assert not broken["ok"] and "prompts[1] (21 characters)" in broken["evidence"] and "longer" in broken["remedy"]
    missing = {"config_map": "nowhere-to-be-found"}
    code, changes, shown = run("scorers", missing)
    assert code == 0 and changes == 0 and "WARNING" in shown, shown
    broken = claim(tmp_path, missing)
    assert not broken["ok"] and "there is no ConfigMap" in broken["evidence"] and "create configmap" in broken["remedy"]


@pytest.mark.rest
def test_a_cache_that_is_too_small_never_holds(stack: Stack, tmp_path: Path) -> None:
    """The prompts exceed 1,400 blocks of 16 tokens: the last ones evict the first."""
    big = {"prompts": [f"{number} " + "a b c d e f g h i j k l m n o p " * 400 for number in range(5)], "api": "completions"}
    assert run("scorers", big)[:2] == (0, 1)
    assert run("scorers", big)[:2] == (0, 1)
    assert not claim(tmp_path, big)["ok"]


@pytest.mark.rest
def test_check_mode_sends_no_warmup_request(stack: Stack) -> None:
    code, changes, shown = run("scorers", {"prompts": [PROMPT]}, "--check")
    assert code == 0 and changes == 0, shown
    assert all(cached(address, PROMPT)[0] == 0 for address in stack.servers("sim").values())


def test_a_file_without_a_cache_is_refused() -> None:
    changed = services({"prompts": [PROMPT]})
    changed[0]["engine"]["args"] = ["--enable-kvcache=false"]
    code, changes, shown = run("scorers", None, llm_d_model_services=changed)
    assert code != 0 and changes == 0 and "llm_d_model_services[0].engine.args[0]: leaves no prefix cache" in " ".join(shown.split()), shown
