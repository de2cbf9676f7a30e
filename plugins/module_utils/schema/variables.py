# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's file, described once. Argument specs, docs and the editors' JSON Schema are generated from here."""

from __future__ import annotations

from ..releases.gateways import PLATFORMS
from ..releases.lines import ACCELERATORS, RELEASES
from .autoscaling import AUTOSCALING
from .benchmark import BENCHMARK
from .fields import Field
from .gateway import GATEWAY
from .gpus import GPUS
from .model import ENGINE, MODEL, STORAGE, WARMUP

PRESETS = ("round_robin", "queue", "balanced", "prefix_aware", "precise_prefix", "disaggregated", "default")

_RESOURCES = {
    "requests": Field("map", "What the container asks for, such as C({cpu: 2, memory: 8Gi}).", elements=Field("quantity", "An amount.")),
    "limits": Field("map", "What the container may use at most.", elements=Field("quantity", "An amount.")),
}

_ACCELERATOR = {
    "vendor": Field(
        "str", "Whose accelerator a model server runs on. Left out, C(nvidia) for vLLM and C(none) for the simulator.", choices=tuple(ACCELERATORS)
    ),
    "product": Field("str", "Run only on nodes whose accelerator product label has this value.", format="label_value", example="NVIDIA-L40S"),
    "resource": Field("str", "Extended resource to ask for, where it is not the vendor's usual one, such as C(nvidia.com/mig-3g.20gb).", format="label_key"),
    "per_replica": Field("int", "Accelerators of one replica. More than one turns on tensor parallelism over all of them.", default=1, minimum=1, maximum=64),
    "nodes": Field(
        "int",
        "Nodes that one replica spans, each with an equal part of its accelerators. With more than one, a replica is a group of servers, of which one"
        " answers and the others work for it. LeaderWorkerSet makes them, see O(llm_d_leader_worker_set). A group of simulators needs no accelerators, and the"
        " others have nothing to do.",
        default=1,
        minimum=1,
        maximum=64,
    ),
    "across_nodes": Field(
        "str",
        "How a model lies on several nodes. C(pipeline): each node has some of the layers, split over its accelerators (pipeline and tensor parallelism, by"
        " Ray). C(expert): each accelerator takes requests of its own and has some of the experts (data and expert parallelism). Left out, C(pipeline)."
        " Not for the simulator.",
        choices=("pipeline", "expert"),
    ),
}

_ANY = Field("any", "A value.")

_SCHEDULER = {
    "preset": Field(
        "str",
        "How requests are scheduled. Left out, C(default), which is what the release does by itself, or only what stands beside it.",
        choices=PRESETS,
        example="balanced",
    ),
    "scorers": Field(
        "map",
        "Scorers by alias, each with its weight, on top of the preset, or alone where there is none. A weight of 0 takes a scorer out.",
        elements=Field("any", "A weight, or a mapping with C(weight) and the parameters of the scorer."),
        example={"queue": 1, "prefix": 3},
    ),
    "picker": Field("str", "Who picks among the scored servers, by alias.", example="max_score"),
    "picker_parameters": Field("map", "Parameters of the picker.", elements=_ANY),
    "profile_handler": Field("str", "Who runs the scheduling profiles, by alias.", example="single"),
    "profile_handler_parameters": Field("map", "Parameters of the profile handler.", elements=_ANY),
    "filters": Field("list", "Filters by alias, before the scorers, each a name, or a mapping of one name to its parameters.", elements=_ANY),
    "disaggregation": Field(
        "any",
        "Prefill and decode on servers of their own, where the release has it: C(true), or a mapping with C(decider) (C(prefix) or C(always)),"
        " C(non_cached_tokens), C(prompt_tokens), C(connector), and C(prefill) and C(decode), each with C(scorers) and C(picker) of its own.",
    ),
    "saturation": Field("map", "When the endpoint picker takes a server for saturated.", elements=_ANY),
    "flow_control": Field("map", "Queueing in the endpoint picker, where the release has it.", elements=_ANY),
    "kv_cache_metric": Field(
        "str",
        "Metric by which model servers say how full their KV cache is, where it is not that of vLLM from 0.11 on, C(vllm:kv_cache_usage_perc). With labels,"
        " C(name{label=value}).",
        example="vllm:gpu_cache_usage_perc",
    ),
    "feature_gates": Field("list", "Feature gates of the endpoint picker.", elements=Field("str", "Name of a gate.")),
    "plugins": Field("list", "For experts: the plugins of the configuration, as the release spells them, in place of all options above.", elements=_ANY),
    "profiles": Field("list", "For experts: the scheduling profiles over O(plugins).", elements=_ANY),
    "document": Field("map", "For experts: the whole EndpointPickerConfig. It is checked for the release like any other.", elements=_ANY),
    "replicas": Field(
        "int",
        "Endpoint pickers at work at the same time: all of them answer, none waits for another to fail. Each keeps its own view of prefixes and of"
        " requests under way, so more than one dilutes prefix affinity. See C(docs/versions.md) for why there is no leader election.",
        default=1,
        minimum=1,
        maximum=10,
    ),
    "image": Field("str", "Image of the endpoint picker, used as written. Left out, the one of the release line.", format="image"),
    "verbosity": Field("int", "Log level of the endpoint picker: 2 is normal, 4 is debug, 5 is trace.", default=2, minimum=0, maximum=10),
    "failure_mode": Field(
        "str",
        "What happens to requests while no endpoint picker answers. Left out, C(FailOpen) where the gateway can do it, else C(FailClose).",
        choices=("FailOpen", "FailClose"),
    ),
    "drain_seconds": Field(
        "int",
        "Seconds that a replaced endpoint picker stays with the answers under way before it is told to end; it then takes up to 30 more."
        " An answer that takes longer than both is cut off when the scheduler changes.",
        default=30,
        minimum=5,
        maximum=3600,
    ),
    "args": Field(
        "list", "Further command-line arguments of the endpoint picker.", default=[], elements=Field("str", "One argument.", example="--tracing=true")
    ),
    "env": Field("map", "Further environment variables of the endpoint picker.", default={}, keys="env_name", elements=Field("str", "The value.", secret=True)),
    "resources": Field("dict", "Resources of one endpoint picker.", default={"requests": {"cpu": "1", "memory": "1Gi"}}, options=_RESOURCES),
}

_ROUTE = {
    "path": Field(
        "str",
        "Path prefix of this model at the gateway. Anything but C(/) is cut off before the model server sees the request.",
        default="/",
        format="url_path",
    ),
    "hostnames": Field(
        "list", "Host names of this model at the gateway. None means every host.", default=[], elements=Field("str", "A host name.", format="hostname")
    ),
    "timeouts": Field(
        "dict",
        "How long the gateway waits.",
        default={},
        options={
            "request": Field("str", "For the whole answer. C(0s) means without limit.", default="0s", format="gateway_duration"),
        },
    ),
}

_PREFILL = {
    "replicas": Field("int", "Number of prefill servers. Left out, 1, or what O(autoscaling) says.", minimum=0),
    "autoscaling": Field("dict", "Who scales the prefill servers. They are scaled apart from the decode servers.", options=AUTOSCALING),
}

_TOLERATION = {
    "key": Field("str", "Taint key. Left out, every key.", format="label_key"),
    "operator": Field("str", "How the value is compared.", default="Equal", choices=("Equal", "Exists")),
    "value": Field("str", "Taint value.", format="label_value"),
    "effect": Field("str", "Taint effect. Left out, every effect.", choices=("NoSchedule", "PreferNoSchedule", "NoExecute")),
}

SERVICE = Field(
    "dict",
    "One model, its servers and its scheduler.",
    options={
        "name": Field("str", "Name of the model service. All of its objects are named after it.", required=True, format="dns_label"),
        "model": Field("dict", "Which model is served.", required=True, options=MODEL),
        "replicas": Field(
            "int",
            "Number of model servers. With prefill servers of their own, number of decode servers. Left out, 1, or what O(autoscaling) says.",
            minimum=0,
        ),
        "autoscaling": Field(
            "dict",
            "Who scales the model servers, in the place of O(replicas), between which numbers, and by what. Left out, nobody. With prefill servers of their"
            " own, the decode servers.",
            options=AUTOSCALING,
        ),
        "prefill": Field(
            "dict",
            "The prefill servers. There are some only while the scheduler tells prefill from decode (C(preset: disaggregated), or"
            " O(scheduler.disaggregation)).",
            default={},
            options=_PREFILL,
        ),
        "accelerator": Field("dict", "What one model server runs on.", default={}, options=_ACCELERATOR),
        "engine": Field("dict", "The model server.", default={}, options=ENGINE),
        "scheduler": Field("dict", "The endpoint picker, which chooses a server for each request.", default={}, options=_SCHEDULER),
        "route": Field("dict", "How the gateway finds this model.", default={}, options=_ROUTE),
        "storage": Field("dict", "Where the weights lie.", default={}, options=STORAGE),
        "warmup": Field(
            "dict",
            "Prompts that every server shall have in its prefix cache: each run sends each of them once to each server, and the verdict claims that they are"
            " there. See C(docs/warm-up.md).",
            options=WARMUP,
        ),
        "resources": Field("dict", "Resources of one model server, next to its accelerators. Left out, requests that suit the engine.", options=_RESOURCES),
        "labels": Field(
            "map", "Further labels of the model server pods.", default={}, keys="label_key", elements=Field("str", "The value.", format="label_value")
        ),
        "service_account": Field(
            "str",
            "ServiceAccount of the model server pods, such as one that a cloud lets read a bucket. It has to be there. Left out, we make one without rights.",
            format="dns_subdomain",
        ),
        "node_selector": Field(
            "map", "Node labels that a model server needs.", default={}, keys="label_key", elements=Field("str", "The value.", format="label_value")
        ),
        "tolerations": Field("list", "Node taints that a model server tolerates.", default=[], elements=Field("dict", "One toleration.", options=_TOLERATION)),
    },
)

_SOURCE = Field(
    "list", "Files, folders or URLs with the definitions. An empty list means that the cluster has them already.", elements=Field("str", "A path or a URL.")
)

_CREDENTIALS = {
    "registry": Field("str", "The registry.", required=True, format="image_prefix", example="registry.example.com:5000"),
    "username": Field("str", "The account.", required=True),
    "password": Field("str", "Its password, or a token.", required=True, secret=True, example="{{ vault_registry_password }}"),
}

VARIABLES: dict[str, Field] = {
    "llm_d_model_services": Field("list", "The models to serve.", default=[], elements=SERVICE),
    "llm_d_scheduler_overrides": Field(
        "map",
        "Other scheduler blocks for this run, by name of the model service, or C(*) for all others, on top of those in the file: what"
        " C(playbooks/scorers.yml) tries without an edit. One with a C(preset) replaces all that says how to decide; any other is laid over it.",
        default={},
        elements=Field("map", "Options of O(llm_d_model_services[].scheduler).", elements=_ANY),
        example={"llama-8b": {"preset": "queue"}},
    ),
    "llm_d_gateway": Field("dict", "The gateway in front of all models.", default={}, options=GATEWAY),
    "llm_d_gpus": Field("dict", "Accelerator operator, and how GPUs are shared.", default={}, options=GPUS),
    "llm_d_leader_worker_set": Field(
        "dict",
        "LeaderWorkerSet, by which one model server spans several nodes (O(llm_d_model_services[].accelerator.nodes)).",
        default={},
        options={
            "install": Field(
                "bool",
                "Install its definitions and its controller. Left out, C(true) while a model service spans several nodes, except on OpenShift, whose"
                " catalogue has the operator C(leader-worker-set). C(false): it is there, is verified, and is not changed.",
            ),
            "version": Field("str", "Its version. Left out, the tested one.", format="version"),
        },
    ),
    "llm_d_monitoring": Field(
        "dict",
        "Metrics of model servers and endpoint pickers, for a Prometheus of the Prometheus operator.",
        default={},
        options={
            "scrape": Field(
                "bool",
                "Have all of them scraped, by PodMonitors beside them. Needs the definition of PodMonitors, and on OpenShift monitoring of user workloads.",
                default=False,
            ),
            "interval": Field("int", "Seconds between two scrapes.", default=15, minimum=1, maximum=3600),
            "labels": Field(
                "map",
                "Further labels of the PodMonitors, by which many a Prometheus selects them.",
                default={},
                keys="label_key",
                elements=Field("str", "The value.", format="label_value"),
                example={"release": "prometheus"},
            ),
        },
    ),
    "llm_d_benchmark": Field("dict", "What C(playbooks/benchmark.yml) sends, and what it asks of the answers.", default={}, options=BENCHMARK),
    "llm_d_release": Field("str", "Release line of the endpoint picker.", default="scheduler-0.7", choices=tuple(RELEASES)),
    "llm_d_namespace": Field("str", "Namespace of all objects.", default="llm-d", format="dns_label"),
    "llm_d_instance": Field(
        "str", "Name of this deployment. It marks what the collection owns (label C(app.kubernetes.io/part-of)).", default="llm-d", format="dns_label"
    ),
    "llm_d_state": Field("str", "Whether the deployment shall exist.", default="present", choices=("present", "absent")),
    "llm_d_platform": Field(
        "str",
        "What the cluster is. What its makers bring is left alone: the Gateway API on OpenShift and GKE, where it is sealed or managed.",
        default="kubernetes",
        choices=tuple(PLATFORMS),
    ),
    "llm_d_scope": Field(
        "str",
        "C(namespace) where the account has rights to its namespace only: nothing outside of it is written, and namespace, definitions, GatewayClass and"
        " controller must be there. C(prerequisites) is the other half, what an administrator does once: C(playbooks/prerequisites.yml) says so by itself,"
        " whatever the file says.",
        default="cluster",
        choices=("cluster", "namespace", "prerequisites"),
    ),
    "llm_d_request_project": Field(
        "bool", "On OpenShift, request the namespace as a project, as those do who may not create namespaces. It is not removed again.", default=False
    ),
    "llm_d_kubeconfig": Field("str", "Kubeconfig file. Left out, C(KUBECONFIG) or C(~/.kube/config)."),
    "llm_d_context": Field("str", "Context in the kubeconfig. Left out, its current one."),
    "llm_d_helm": Field("str", "Path of the helm command. Left out, the one in C(PATH)."),
    "llm_d_wait_timeout": Field("int", "Seconds to wait for objects to become ready.", default=300, minimum=1, maximum=86400),
    "llm_d_artifacts_dir": Field("str", "Folder for the verdict and other results. Relative to where the play was started.", default="artifacts"),
    "llm_d_image_registry": Field(
        "str", "Registry put in front of every image of this collection.", format="image_prefix", example="registry.example.com:5000/mirror"
    ),
    "llm_d_images": Field(
        "dict",
        "Whole images, used as written in place of the tested ones.",
        default={},
        options={
            "epp": Field("str", "The endpoint picker.", format="image"),
            "vllm": Field("str", "vLLM.", format="image"),
            "simulator": Field("str", "The model server simulator.", format="image"),
            "routing_sidecar": Field("str", "The sidecar of decode servers that asks a prefill server first.", format="image"),
            "tokenizer": Field("str", "The sidecar of the endpoint picker that turns prompts into tokens for precise prefix matching.", format="image"),
            "gateway": Field("str", "The controller of the gateway provider.", format="image"),
            "proxy": Field("str", "The proxy of the gateway provider.", format="image"),
            "leader_worker_set": Field("str", "The controller of LeaderWorkerSet.", format="image"),
            "gpu_test": Field("str", "What a test pod of GPUs runs: its own command has to use a GPU and end.", format="image"),
        },
    ),
    "llm_d_image_pull_policy": Field("str", "When nodes pull images.", default="IfNotPresent", choices=("IfNotPresent", "Always", "Never")),
    "llm_d_image_pull_secrets": Field(
        "list", "Secrets in the namespace that open the registry.", default=[], elements=Field("str", "Name of a Secret.", format="dns_subdomain")
    ),
    "llm_d_image_pull_credentials": Field(
        "list",
        "What opens the registry, where there is no Secret yet: we make one of it, C(<llm_d_instance>-image-pull), and pods use it beside"
        " O(llm_d_image_pull_secrets). Keep the values in a vault.",
        default=[],
        elements=Field("dict", "One registry.", options=_CREDENTIALS),
    ),
    "llm_d_model_token": Field(
        "str",
        "The token of the model repository, where there is no Secret with it yet: we make one, C(<llm_d_instance>-model-token), for each C(hf://) model"
        " without a C(token_secret). Keep the value in a vault.",
        secret=True,
        example="{{ vault_hf_token }}",
    ),
    "llm_d_run_as_user": Field("int", "User id of our containers. C(0) leaves it to the cluster, as OpenShift wants it.", default=65532, minimum=0),
    "llm_d_crd_sources": Field(
        "dict",
        "Where custom resource definitions come from. Left out, the projects' release pages.",
        default={},
        options={
            "gateway_api": _SOURCE,
            "inference_extension": _SOURCE,
            "envoy_gateway": _SOURCE,
            "istio": _SOURCE,
            "agentgateway": _SOURCE,
            "kgateway": _SOURCE,
            "leader_worker_set": _SOURCE,
        },
    ),
    "llm_d_charts": Field(
        "dict",
        "Where Helm charts come from: a folder, an archive or an C(oci://) reference.",
        default={},
        options={
            "envoy_gateway": Field("str", "The chart C(gateway-helm) of Envoy Gateway.", example="oci://registry.example.com/envoyproxy/gateway-helm"),
            "istio_base": Field("str", "The chart C(base) of Istio."),
            "istio": Field("str", "The chart C(istiod) of Istio."),
            "agentgateway": Field("str", "The chart C(agentgateway)."),
            "kgateway": Field("str", "The chart C(agentgateway) of kgateway 2.2, or with class C(kgateway) the chart C(kgateway) of 2.1."),
            "gpu_operator": Field("str", "The chart C(gpu-operator) of NVIDIA."),
            "leader_worker_set": Field("str", "The chart C(lws) of LeaderWorkerSet."),
        },
    ),
}
