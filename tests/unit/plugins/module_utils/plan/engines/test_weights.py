"""Sources and volumes of weights: the arguments, credentials, volumes and claims by the real templates of the roles."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render

Facts = dict[str, t.Any]
TEMPLATES = Path(__file__).resolve().parents[6] / "roles/model_service/templates"
OWN: Facts = {"image": "vllm/vllm-openai:v0.11.1"}
S0 = "llm_d_model_services[0]"


def file_of(uri: str | None, model: Facts | None = None, **service: t.Any) -> Facts:
    """A user's file with one model from the URI."""
    made = {"name": "a", "model": {"uri": uri, **(model or {})}, **service}
    return {"llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"}, "llm_d_model_services": [made]}


def objects(template: str, made: Facts) -> list[Facts]:
    """The objects that a template of the model servers renders."""
    return render(TEMPLATES / f"{template}.yml.j2", plan(made))


def pod(made: Facts) -> Facts:
    """The pod of the servers."""
    return next(item for item in objects("servers", made) if item["kind"] == "Deployment")["spec"]["template"]["spec"]


def environment(made: Facts) -> Facts:
    """{variable of the server: its reference to a Secret}."""
    return {item["name"]: item["valueFrom"]["secretKeyRef"] for item in pod(made)["containers"][0]["env"] if "secretKeyRef" in item.get("valueFrom", {})}


@pytest.mark.parametrize(
    ("uri", "engine", "there", "name"),
    [
        ("hf://org/model", {}, ["org/model"], "org/model"),
        ("pvc://claim/llama/8b", {}, ["/models/llama/8b"], "8b"),
        ("s3://bucket/llama/8b", {}, ["s3://bucket/llama/8b", "--load-format=runai_streamer"], "8b"),
        ("gs://bucket/llama_8b", OWN, ["gs://bucket/llama_8b", "--load-format=runai_streamer"], "llama_8b"),
        ("file:///opt/models/8b", OWN, ["/opt/models/8b"], "8b"),
    ],
)
def test_vllm_gets_the_location_of_the_weights_in_its_arguments(uri: str, engine: Facts, there: list[str], name: str) -> None:
    args = pod(file_of(uri, engine=engine))["containers"][0]["args"]
    assert args[:1] + [argument for argument in args if argument.startswith(("--model", "--load-format="))] == there
    assert f"--served-model-name={name}" in args and not [argument for argument in args if argument.startswith("--revision")]


def test_an_image_for_all_services_counts_as_ones_own() -> None:
    made = file_of("file:///m")
    assert problems(made) and not problems({**made, "llm_d_images": {"vllm": "vllm/vllm-openai:v0.12.0"}})


def test_a_load_format_of_the_user_replaces_the_planned_one() -> None:
    args = pod(file_of("s3://bucket/m", engine={"args": ["--load-format=runai_streamer_sharded"]}))["containers"][0]["args"]
    assert [argument for argument in args if argument.startswith("--load-format")] == ["--load-format=runai_streamer_sharded"]


def test_a_group_of_several_nodes_streams_too() -> None:
    made = file_of("s3://bucket/m", accelerator={"per_replica": 16, "nodes": 2})
    group = next(item for item in objects("servers", made) if item["kind"] == "LeaderWorkerSet")
    leader = group["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"][0]
    assert leader["args"][0] == "s3://bucket/m" and "--load-format=runai_streamer" in leader["args"]


def test_credentials_for_the_weights_are_read_from_secrets() -> None:
    bucket = file_of("s3://bucket/m", {"bucket_secret": "reader"}, engine={"env": {"AWS_ENDPOINT_URL": "http://minio:9000"}})
    assert environment(bucket) == {key: {"name": "reader", "key": key} for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    assert {"name": "AWS_ENDPOINT_URL", "value": "http://minio:9000"} in pod(bucket)["containers"][0]["env"]
    assert [(need["name"], need["key"], need["path"]) for need in plan(bucket)["preflight"]["named"]] == [
        ("reader", key, f"{S0}.model.bucket_secret") for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    ]
    assert environment(file_of("hf://o/m", {"token_secret": "hf", "token_key": "t"})) == {"HF_TOKEN": {"name": "hf", "key": "t"}}
    assert environment(file_of("s3://bucket/m")) == {}, "the service account may be enough"


CLAIMED: Facts = {"claim": True, "size": "80Gi", "class_name": "fast-ssd"}


def test_a_claim_has_its_size_its_class_and_the_weights() -> None:
    made = file_of("hf://org/model", storage=CLAIMED)
    (claim,) = objects("claims", made)
    assert (claim["kind"], claim["metadata"]["name"], claim["metadata"]["namespace"]) == ("PersistentVolumeClaim", "a-weights", "llm-d")
    assert claim["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "llm_d.inference"
    assert claim["spec"] == {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "80Gi"}}, "storageClassName": "fast-ssd"}
    spec = pod(made)
    assert {"name": "weights", "persistentVolumeClaim": {"claimName": "a-weights"}} in spec["volumes"]
    server = spec["containers"][0]
    (mount,) = [mount for mount in server["volumeMounts"] if mount["name"] == "weights"]
    assert {"name": "HF_HOME", "value": mount["mountPath"]} in server["env"], "what is downloaded lands on the claim"
    assert spec["volumes"][0] == {"name": "model-cache", "emptyDir": {}}, "the size is that of the claim"
    assert plan(made)["preflight"]["named"] == [], "the claim that we create need not exist"
    permissions = [
        permission["verb"]
        for permission in plan(made)["preflight"]["permissions"]
        if permission["resource"] == "persistentvolumeclaims" and permission["namespace"] == "llm-d"
    ]
    assert sorted(permissions) == ["create", "delete", "get", "list", "patch"]


def test_the_class_and_the_mode_can_be_chosen() -> None:
    (claim,) = objects("claims", file_of("hf://o/m", replicas=3, storage={"claim": True, "size": "1Ti", "access_mode": "ReadWriteMany"}))
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"] and "storageClassName" not in claim["spec"], "the cluster's default class"
    assert objects("claims", file_of("hf://o/m", storage={"size": "1Ti"})) == []


def test_a_server_with_a_claim_of_one_node_stops_before_its_successor_starts() -> None:
    for storage, strategy in ((CLAIMED, {"maxSurge": 0, "maxUnavailable": 1}), ({"size": "80Gi"}, {"maxSurge": "25%", "maxUnavailable": 0})):
        made = file_of("hf://o/m", storage=storage, engine={"image": "mine/vllm-cpu:v1"}, accelerator={"vendor": "none"})
        deployment = next(item for item in objects("servers", made) if item["kind"] == "Deployment")
        assert deployment["spec"]["strategy"]["rollingUpdate"] == strategy


def test_the_claim_is_kept_at_removal_unless_delete_claim_is_set() -> None:
    """The tasks of state absent delete the objects of both templates. The claim is only in the second. Pruning has a test of its own."""
    kept, given_up = (file_of("hf://o/m", storage={**CLAIMED, "delete_claim": value}) for value in (False, True))
    for made in (kept, given_up):
        assert not [item for item in objects("servers", made) if item["kind"] == "PersistentVolumeClaim"]
    assert objects("prune_claims", kept) == []
    assert [(item["kind"], item["metadata"]["name"]) for item in objects("prune_claims", given_up)] == [("PersistentVolumeClaim", "a-weights")]


REFUSED: list[tuple[str, Facts, str, str]] = [
    ("a folder of the user's own", file_of("/models/llama"), f"{S0}.model.uri", "is not hf://ORGANISATION/MODEL, pvc://CLAIM/PATH, s3://BUCKET/PATH"),
    ("a folder beside the file", file_of("file://models/llama"), f"{S0}.model.uri", "file:///PATH of the image"),
    ("a bucket without a path", file_of("s3://bucket"), f"{S0}.model.uri", "s3://BUCKET/PATH"),
    ("a claim that cannot be one", file_of("pvc://my_claim/m"), f"{S0}.model.uri", "pvc://CLAIM/PATH"),
    ("a store that vllm cannot read", file_of("azure://container/m"), f"{S0}.model.uri", "Write something like hf://"),
    ("a folder of the tested image", file_of("file:///m"), f"{S0}.model.uri", "the tested one has no model in it. Write the image under engine.image"),
    ("keys of no bucket", file_of("hf://o/m", {"bucket_secret": "s"}), f"{S0}.model.bucket_secret", "only for a model from s3://"),
    ("keys of amazon at google", file_of("gs://b/m", {"bucket_secret": "s"}, engine=OWN), f"{S0}.model.bucket_secret", "only for a model from s3://"),
    ("a token for a bucket", file_of("s3://b/m", {"token_secret": "s"}), f"{S0}.model.token_secret", "only for a model from hf://"),
    ("a revision of a bucket", file_of("s3://b/m", {"revision": "main"}), f"{S0}.model.revision", "only for a model from hf://"),
    ("a claim without a size", file_of("hf://o/m", storage={"claim": True}), f"{S0}.storage.size", "Write twice the size of the weights, such as 50Gi."),
    ("a size that is none", file_of("hf://o/m", storage={"claim": True, "size": "big"}), f"{S0}.storage.size", "is not a Kubernetes quantity"),
    ("a claim for a claim", file_of("pvc://c/m", storage={**CLAIMED}), f"{S0}.storage.claim", "these weights are not downloaded"),
    ("a claim for a bucket", file_of("s3://b/m", storage={**CLAIMED}), f"{S0}.storage.claim", "these weights are not downloaded"),
    (
        "a claim of a simulator",
        file_of(None, {"served_name": "m"}, engine={"type": "simulator"}, storage={**CLAIMED}),
        f"{S0}.storage.claim",
        "these weights are not downloaded",
    ),
    ("a class of no claim", file_of("hf://o/m", storage={"class_name": "fast"}), f"{S0}.storage.class_name", "Write 'claim: true' beside it"),
    (
        "a class that can be none",
        file_of("hf://o/m", storage={**CLAIMED, "class_name": "Fast SSD"}),
        f"{S0}.storage.class_name",
        "Write something like fast-ssd.",
    ),
    ("the end of no claim", file_of("hf://o/m", storage={"delete_claim": True}), f"{S0}.storage.delete_claim", "Write 'claim: true' beside it"),
    ("a mode of no claim", file_of("hf://o/m", storage={"access_mode": "ReadWriteMany"}), f"{S0}.storage.access_mode", "or with 'claim: true'"),
    (
        "a claim that nobody may write",
        file_of("hf://o/m", storage={**CLAIMED, "access_mode": "ReadOnlyMany"}),
        f"{S0}.storage.access_mode",
        "would not let a server download the weights",
    ),
    (
        "one node's claim for several servers",
        file_of("hf://o/m", replicas=2, storage={**CLAIMED}),
        f"{S0}.storage.access_mode",
        "2 servers cannot share a ReadWriteOnce volume",
    ),
]


@pytest.mark.parametrize(("made", "path", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_invalid_model_and_storage_options_are_refused_with_their_path(made: Facts, path: str, words: str) -> None:
    reported = problems(made)
    assert [problem.path for problem in reported] == [path]
    assert words in str(reported[0])


@pytest.mark.parametrize("name", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_a_server_with_an_empty_volume_may_load_its_model(name: str) -> None:
    ((path, text),) = [(problem.path, str(problem)) for problem in problems(file_of("hf://org/model", engine={"env": {name: "true"}}))]
    assert path == f"{S0}.engine.env.{name}" and "its volume is empty at its start. Take it out, or write pvc://CLAIM/PATH" in text


@pytest.mark.parametrize(
    "made",
    [
        file_of("hf://org/model", engine={"env": {"HF_HUB_OFFLINE": "0"}}),
        file_of("pvc://claim/model", engine={"env": {"HF_HUB_OFFLINE": "1"}}),
        file_of("hf://org/model", engine={"env": {"HF_HUB_OFFLINE": "1"}}, storage={"claim": True, "size": "9Gi"}),  # an earlier run has filled it
        file_of("hf://org/model", engine={"env": {"HF_HUB_OFFLINE": "1", "HF_HOME": "/opt/hub"}, "image": "mine/vllm:v0.30.0"}),
    ],
)
def test_a_server_that_has_its_model_may_be_offline(made: Facts) -> None:
    assert problems(made) == []
