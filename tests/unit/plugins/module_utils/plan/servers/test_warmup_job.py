# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A warm-up on a schedule: the objects of its CronJob, their permissions, mistakes, and their removal."""

from __future__ import annotations

import base64
import json
import typing as t

import kubernetes
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.presets import SERVING_LABEL
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.export import exported
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from ansible_collections.llm_d.inference.plugins.module_utils.plan.parts.pod_spec import SERVICE_LABEL
from ansible_collections.llm_d.inference.plugins.module_utils.releases.deployed import PYTHON_IMAGE
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import ROLES, definitions, render, with_secrets
from pruned import pruned

from .test_warmup import PLACE, PROMPT, SIM, file_of

Facts = dict[str, t.Any]
WARMUP: Facts = {"prompts": [PROMPT], "config_map": "more", "schedule": "*/15 * * * *"}
SCHEDULED: Facts = {**SIM, "warmup": WARMUP}
KINDS = ["ServiceAccount", "Role", "RoleBinding", "ConfigMap", "CronJob"]


def made(file: Facts) -> dict[str, Facts]:
    """The objects of the warm-up of `sim` by kind, with the Secret."""
    planned = plan(file)
    items = definitions(planned) + render(ROLES / "model_service/templates/prompts.yml.j2", planned)
    return {item["kind"]: item for item in items if item["metadata"]["name"] == "sim-warmup"}


def unknown_fields(value: t.Any, kind: str, path: str = "") -> list[str]:
    """Paths of fields that the API of Kubernetes does not have, according to the generated models of its client."""
    if kind.startswith("List["):
        return [field for item in value for field in unknown_fields(item, kind[5:-1], path)]
    model = getattr(kubernetes.client, kind, None)
    if model is None:
        return []
    names = {spelled: name for name, spelled in model.attribute_map.items()}
    unknown = [f"{path}.{key}" for key in value if key not in names]
    return unknown + [field for key, item in value.items() if key in names for field in unknown_fields(item, model.openapi_types[names[key]], f"{path}.{key}")]


def test_a_scheduled_warm_up_is_planned_as_a_restricted_cron_job() -> None:
    objects = made(file_of({**SCHEDULED, "warmup": {**WARMUP, "time_zone": "Europe/Berlin"}}, llm_d_namespace="team", llm_d_image_pull_secrets=["pull"]))
    assert list(objects) == [*KINDS, "Secret"] and {item["metadata"]["namespace"] for item in objects.values()} == {"team"}
    assert {item["metadata"]["labels"][SERVICE_LABEL] for item in objects.values()} == {"sim"}
    spec = objects["CronJob"]["spec"]
    assert (spec["schedule"], spec["timeZone"], spec["suspend"]) == ("*/15 * * * *", "Europe/Berlin", False)
    assert spec["concurrencyPolicy"] == "Forbid" and spec["startingDeadlineSeconds"] and spec["jobTemplate"]["spec"]["activeDeadlineSeconds"]
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"], spec["jobTemplate"]["spec"]["backoffLimit"]) == (1, 1, 0)
    template = spec["jobTemplate"]["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert container["image"] == PYTHON_IMAGE and container["resources"]["requests"] and container["resources"]["limits"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True}
    assert template["spec"]["securityContext"]["runAsNonRoot"] and template["spec"]["serviceAccountName"] == "sim-warmup"
    assert objects["ServiceAccount"]["imagePullSecrets"] == [{"name": "pull"}]
    # No pool and no selector of servers may match these pods.
    assert not {SERVICE_LABEL, SERVING_LABEL} & template["metadata"]["labels"].keys()
    mounted = {source[kind]["name"] for source in template["spec"]["volumes"][0]["projected"]["sources"] for kind in source}
    assert mounted == {objects["ConfigMap"]["metadata"]["name"], objects["Secret"]["metadata"]["name"]}


def test_prompts_that_just_fit_into_a_secret_are_accepted() -> None:
    full = {**WARMUP, "prompts": ["x" * (2**20 - 4)]}
    (made,) = plan(file_of({**SIM, "warmup": full}))["services"]
    assert len(base64.b64decode(made["warmup_job"]["prompts"]["prompts.json"])) == 2**20
    assert problems(file_of({**SIM, "warmup": {**full, "prompts": ["x" * 2**21], "schedule": None}})) == []


def test_no_cron_job_is_planned_without_a_schedule() -> None:
    assert made(file_of(SIM)) == {} and plan(file_of(SIM))["services"][0]["warmup_job"] is None


def test_kubernetes_has_every_field() -> None:
    objects = made(file_of({**SCHEDULED, "warmup": {**WARMUP, "time_zone": "Etc/UTC", "suspend": True}}))
    assert [field for kind, item in objects.items() for field in unknown_fields(item, f"V1{kind}")] == []
    spec: Facts = objects["CronJob"]["spec"]
    spec["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["images"] = "x"
    assert unknown_fields(objects["CronJob"], "V1CronJob") == [".spec.jobTemplate.spec.template.spec.containers.images"]


def test_the_account_may_only_list_pods_and_get_its_config_map() -> None:
    pods = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    named = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["more"], "verbs": ["get"]}
    assert made(file_of(SCHEDULED))["Role"]["rules"] == [pods, named]
    assert made(file_of({**SCHEDULED, "warmup": {**WARMUP, "config_map": None}}))["Role"]["rules"] == [pods]


def test_prompts_are_in_the_secret_and_nowhere_else() -> None:
    objects = made(file_of(SCHEDULED))
    secret = objects.pop("Secret")
    assert json.loads(base64.b64decode(secret["data"]["prompts.json"])) == [PROMPT]
    hidden = base64.b64encode(json.dumps([PROMPT]).encode()).decode()
    planned = plan(file_of(SCHEDULED))
    files = exported(planned, definitions(planned))
    assert not any(text in json.dumps(shown) for text in (PROMPT, hidden) for shown in (definitions(planned), files))
    assert "- Secret llm-d/sim-warmup with the key prompts.json" in files["NEEDS.md"]


def test_both_roles_of_servers_are_warmed_however_many_there_are() -> None:
    split = {**SCHEDULED, "replicas": 3, "prefill": {"replicas": 0}, "scheduler": {"preset": "disaggregated"}}
    whole = json.loads(made(file_of(split))["ConfigMap"]["data"]["options.json"])
    options = whole["warmup"]
    assert whole["adapters"] is None
    assert [(entry["label_selector"].rpartition("=")[2], entry["count"]) for entry in options["replicas"]] == [("decode", 0), ("prefill", 0)]
    assert options["config_map"] == {"namespace": "llm-d", "name": "more"} and "prompts" not in options


def test_the_image_is_listed_mirrored_pinned_and_replaced() -> None:
    digest = f"sha256:{'a' * 64}"

    def image(**variables: t.Any) -> str:
        return str(made(file_of(SCHEDULED, **variables))["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"])

    assert PYTHON_IMAGE in needed(plan(file_of(SCHEDULED)))["sources"] and PYTHON_IMAGE not in needed(plan(file_of(SIM)))["sources"]
    assert image(llm_d_image_registry="mirror.example.com/m") == f"mirror.example.com/m/{PYTHON_IMAGE.partition('/')[2]}"
    pins = dict.fromkeys(needed(plan(file_of(SCHEDULED)))["sources"], digest)
    assert image(llm_d_image_digests=pins) == f"{PYTHON_IMAGE}@{digest}"
    assert image(llm_d_images={"python": "acme/python:3"}) == "acme/python:3"


def test_permissions_for_the_cron_job_and_its_secret_are_requested() -> None:
    def requested(service: Facts) -> set[tuple[str, str, str | None]]:
        return {(entry["verb"], entry["resource"], entry.get("name")) for entry in plan(file_of(service))["preflight"]["permissions"]}

    added = requested(SCHEDULED) - requested(SIM)
    assert added == {(verb, "cronjobs", None) for verb in ("get", "list", "create", "patch", "delete")} | {
        (verb, "secrets", "sim-warmup") for verb in ("get", "patch", "delete")
    }
    assert ("create", "secrets", None) in requested(SCHEDULED)  # as for the records of Helm


@pytest.mark.parametrize("after", [file_of(SIM), file_of({**SIM, "name": "other", "warmup": None}, llm_d_prune={"services": True})])
def test_a_removed_schedule_is_pruned_with_its_prompts_secret(after: Facts) -> None:
    there = with_secrets(plan(file_of(SCHEDULED)))
    gone = [kind for _version, kind, _namespace, name in pruned(there, plan(after)) if name == "sim-warmup"]
    assert sorted(gone) == sorted([*KINDS, "Secret"])


@pytest.mark.parametrize("schedule", ["0 9-17 * * Mon-FRI", "@hourly", "1,2,5-9/2 */3 1 JAN ?", "00 07 * * *"])
def test_schedules_that_kubernetes_accepts_are_accepted(schedule: str) -> None:
    assert problems(file_of({**SIM, "warmup": {**WARMUP, "schedule": schedule}})) == []


@pytest.mark.parametrize(
    ("settings", "place", "reason"),
    [
        ({"schedule": "* * * *"}, "schedule", "five fields of cron"),
        ({"schedule": "60 * * * *"}, "schedule", "five fields of cron"),
        ({"schedule": "0 0 * * 7"}, "schedule", "five fields of cron"),
        ({"schedule": "TZ=UTC 0 0 * * *"}, "schedule", "five fields of cron"),
        ({"schedule": "0 17-9 * * *"}, "schedule", "a range that ends before it begins, 17-9"),
        ({"time_zone": "Local"}, "time_zone", "IANA"),
        ({"schedule": None, "time_zone": "Etc/UTC"}, "time_zone", "there is none"),
        ({"prompts": ["x" * (2**20 - 3)]}, "prompts", "come to 1048577 bytes in JSON, and the Secret with those of a scheduled warm-up holds 1048576."),
        ({"schedule": None, "suspend": True}, "suspend", "there is none"),
    ],
)
def test_invalid_options_of_a_scheduled_warm_up_are_refused_with_their_path(settings: Facts, place: str, reason: str) -> None:
    reported = problems(file_of({**SIM, "warmup": {**WARMUP, **settings}}))
    assert [problem.path for problem in reported] == [f"{PLACE}.warmup.{place}"] and reason in str(reported[0]) and "Write" in reported[0].fix


def test_a_name_that_is_too_long_for_a_cron_job_is_refused_only_with_one() -> None:
    name = "a" * 46
    assert problems(file_of({**SIM, "name": name})) == []
    (refusal,) = problems(file_of({**SCHEDULED, "name": name}))
    assert refusal.path == f"{PLACE}.name" and "at most 45" in refusal.fix
    assert problems(file_of({**SCHEDULED, "name": name[1:]})) == []
    taken = problems(file_of(SCHEDULED, {**SIM, "name": "sim-warmup", "warmup": None, "route": {"path": "/b"}}))
    assert [problem.path for problem in taken] == ["llm_d_model_services[1].name"]
