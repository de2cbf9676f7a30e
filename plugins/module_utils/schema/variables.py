# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every variable of the user's file. Argument specs, docs and the JSON Schema for editors are generated from it. Data only."""

from __future__ import annotations

import dataclasses
import typing as t

from ..releases.gateways import PLATFORMS
from ..releases.lines import ACCELERATORS, RELEASES, REPLACED_RELEASES
from ..releases.profiles import PROFILES
from .autoscaling import AUTOSCALING, PREFILL_AUTOSCALING
from .benchmark import BENCHMARK
from .caches import CACHE
from .fields import Field
from .gateway import GATEWAY
from .gpus import GPUS
from .model import ENGINE, MODEL, SIMULATOR, STORAGE, WARMUP
from .monitoring import MONITORING
from .pods import container_field, pod_field, short_form
from .scheduler import RESOURCES, SCHEDULER
from .tracing import TRACING

_ACCELERATOR = {
    "vendor": Field("str", "Vendor of the accelerator. If omitted, C(nvidia) for vLLM and C(none) for the simulator.", choices=tuple(ACCELERATORS)),
    "product": Field("str", "Schedule only to nodes whose accelerator product label has this value.", format="label_value", example="NVIDIA-L40S"),
    "resource": Field("str", "Extended resource to request, if it is not the vendor's usual one, such as C(nvidia.com/mig-3g.20gb).", format="label_key"),
    "claim": Field(
        "dict",
        (
            "Request the accelerators by a claim (dynamic resource allocation, Kubernetes 1.34 and newer) instead of by a resource: O(per_replica) devices of"
            " O(device_class), or the devices of your O(template), which has to request the same number."
        ),
        options={
            "device_class": Field("str", "Name of a DeviceClass.", format="dns_subdomain", example="gpu.nvidia.com"),
            "selectors": Field(
                "list",
                "Expressions in CEL that each device has to fulfil.",
                default=[],
                elements=Field("str", "One expression.", example="device.attributes['gpu.nvidia.com'].productName.matches('H200')"),
            ),
            "template": Field("str", "Name of a ResourceClaimTemplate in the namespace.", format="dns_subdomain"),
        },
        example={"device_class": "gpu.nvidia.com"},
    ),
    "per_replica": Field("int", "Number of accelerators per replica. More than one enables tensor parallelism across them.", default=1, minimum=1, maximum=64),
    "pipeline": Field(
        "int",
        "Number of stages of pipeline parallelism on one node. The accelerators of a replica are divided among them, with tensor parallelism in each.",
        default=1,
        minimum=1,
        maximum=64,
    ),
    "data": Field(
        "int",
        "Number of engines in a server of one node that share its port (data parallelism). The accelerators of a replica are divided among them.",
        default=1,
        minimum=1,
        maximum=64,
    ),
    "expert": Field(
        "bool",
        "Whether the experts of a mixture-of-experts model are spread over the accelerators of a server of one node (expert parallelism).",
        default=False,
    ),
    "nodes": Field(
        "int",
        (
            "Number of nodes per replica, each with an equal share of its accelerators. With more than one, LeaderWorkerSet creates a replica as a group"
            " of pods (see O(llm_d_leader_worker_set)), of which the leader accepts requests. A group of simulators needs no accelerators, and its"
            " workers are idle."
        ),
        default=1,
        minimum=1,
        maximum=64,
    ),
    "across_nodes": Field(
        "str",
        (
            "How a model is distributed over several nodes. C(pipeline): pipeline parallelism between nodes and tensor parallelism within a node, with"
            " Ray. C(expert): data and expert parallelism; each accelerator processes its own requests and holds some of the experts. If omitted,"
            " C(pipeline). Not for the simulator."
        ),
        choices=("pipeline", "expert"),
    ),
}

_ANY = Field("any", "A value.")

_ROUTE = {
    "name": Field(
        "str",
        "Name of the HTTPRoute. If omitted, the name of the model service, with C(-PROVIDER) where the name of the Gateway has that.",
        format="dns_subdomain",
    ),
    "path": Field(
        "str",
        "Path prefix of this model at the gateway. A prefix other than C(/) is removed before the request reaches the model server.",
        default="/",
        format="url_path",
    ),
    "direct_path": Field(
        "str",
        (
            "Another path prefix, at which requests reach the servers of this model past the endpoint picker, by the Service in front of them and the"
            " gateway's own balancing. For comparisons, and where a route to a plain Service is required. If omitted, there is no such route."
        ),
        format="url_path",
        example="/direct/llama",
    ),
    "hostnames": Field(
        "list",
        "Host names of this model at the gateway. If empty, every host name.",
        default=[],
        most=16,
        elements=Field("str", "A host name.", format="hostname"),
    ),
    "headers": Field(
        "map",
        (
            "Request headers, with their exact values, that a request must have to reach this model, in addition to path and host name. A model service with"
            " the same path and host name and without O(headers) gets all other requests, for A/B tests and trials of a new version."
        ),
        default={},
        keys="header_name",
        most=16,
        elements=Field("str", "The value."),
        example={"x-variant": "b"},
    ),
    "weights": Field(
        "map",
        (
            "Model services, this one among them, with weights by which the requests of this route are shared among them, such as C({llama: 90,"
            " llama-next: 10}) for a canary. All have the same served name; each of the others keeps a route of its own, such as one by O(headers). A"
            " request with the header C(x-llm-d-service) and the name of this service stays with this service. C(playbooks/canary.yml) moves the weights in"
            " steps."
        ),
        default={},
        keys="dns_label",
        elements=Field("int", "The weight; 0 for no requests.", minimum=0, maximum=1000000),
        example={"llama-8b": 90, "llama-8b-next": 10},
    ),
    "timeouts": Field(
        "dict",
        "Timeouts of the gateway.",
        default={},
        options={
            "request": Field("str", "Timeout of a complete response. C(0s) means no timeout.", default="0s", format="gateway_duration"),
        },
    ),
}

_SERVICE = {
    "name": Field("str", "Name of the Service. If omitted, the name of the model service.", format="dns_label", example="llama-api"),
    "port": Field("int", "Port of the Service. If omitted, O(engine.port), to which it leads in any case.", minimum=1, maximum=65535),
}


def _left_to_all(options: t.Mapping[str, Field], *names: str) -> dict[str, Field]:
    """Some of the options without a default: an option that is not set for prefill servers has the value of all servers."""
    return {name: dataclasses.replace(options[name], default=None) for name in names}


_PREFILL = {
    "replicas": Field("int", "Number of prefill servers. If omitted, 1, or the number that O(autoscaling) sets.", minimum=0),
    "autoscaling": Field("dict", "Autoscaling of the prefill servers, independent of the decode servers.", options=PREFILL_AUTOSCALING),
    "accelerator": Field(
        "dict",
        "Accelerators of one prefill server, where they differ from O(accelerator).",
        options=_left_to_all(_ACCELERATOR, "product", "resource", "claim", "per_replica", "data", "expert"),
    ),
    "resources": Field("dict", "Resources of one prefill server, if they are not O(resources).", options=RESOURCES),
    "engine": Field(
        "dict",
        (
            "Options of prefill servers in addition to O(engine): numbers replace those of O(engine); arguments and variables are added, and take precedence."
            " What both stages have to agree on (model, size of blocks, data types, transfer) is refused here."
        ),
        options={
            **_left_to_all(ENGINE, "max_num_seqs", "gpu_memory_utilization"),
            "args": ENGINE["args"],
            "env": ENGINE["env"],
            "simulator": Field("dict", "Performance of the simulator. Only with O(engine.type=simulator).", options=_left_to_all(SIMULATOR, *SIMULATOR)),
        },
        example={"max_num_seqs": 16},
    ),
    "pod": pod_field("of the prefill servers, over that of all servers"),
    "container": container_field("of the prefill servers, over that of all servers"),
}

SERVICE = Field(
    "dict",
    "One model, its servers and its scheduler.",
    options={
        "name": Field("str", "Name of the model service. All of its objects are named after it.", required=True, format="dns_label"),
        "profile": Field(
            "str",
            (
                "Name of a profile, whose options are used where this element has none: one of O(llm_d_profiles), or "
                + ", ".join(f"C({name})" for name in PROFILES)
                + "."
            ),
            format="dns_label",
            example="small-latency",
        ),
        "model": Field("dict", "The model to serve.", required=True, options=MODEL),
        "replicas": Field(
            "int",
            "Number of model servers; with disaggregation, of decode servers. If omitted, 1, or the number that O(autoscaling) sets.",
            minimum=0,
        ),
        "autoscaling": Field(
            "dict",
            "Autoscaling of the model servers, instead of O(replicas). With disaggregation, of the decode servers. If omitted, no autoscaling.",
            options=AUTOSCALING,
        ),
        "accelerator": Field("dict", "Accelerators of one model server.", default={}, options=_ACCELERATOR),
        "engine": Field(
            "dict",
            "The model server.",
            default={},
            options=ENGINE,
            replaced=dict.fromkeys(("api_key_secret", "api_key_secret_key"), "secret and key under model.api_key"),
        ),
        "prefill": Field(
            "dict",
            "The prefill servers, whose Service is C(NAME-prefill). Only with disaggregation (C(preset: disaggregated) or O(scheduler.disaggregation)).",
            default={},
            options=_PREFILL,
        ),
        "scheduler": Field("dict", "The endpoint picker, which chooses a model server for each request.", default={}, options=SCHEDULER),
        "service": Field(
            "dict",
            (
                "The Service in front of the model servers, for clients in the cluster and for gateways that route to it. It always selects the servers that"
                " answer requests for this model (decode servers with disaggregation), as the endpoint picker does."
            ),
            default={},
            options=_SERVICE,
        ),
        "route": Field("dict", "How the gateway routes requests to this model.", default={}, options=_ROUTE),
        "storage": Field("dict", "Storage of the weights.", default={}, options=STORAGE),
        "cache": Field("dict", "Tiers of the KV cache of vLLM, from the accelerators to a shared server. See C(docs/caches.md).", options=CACHE),
        "warmup": Field(
            "dict",
            (
                "Prompts to keep in the prefix cache of every server. Each run sends each prompt once to each server, and the verdict verifies that they"
                " are cached. See C(docs/warm-up.md)."
            ),
            options=WARMUP,
        ),
        "resources": Field("dict", "Resources of one model server, without its accelerators. If omitted, requests that suit the engine.", options=RESOURCES),
        "labels": Field(
            "map",
            "Additional labels of the model servers: of their workloads and pods.",
            default={},
            keys="label_key",
            elements=Field("str", "The value.", format="label_value"),
        ),
        "service_account": Field(
            "str",
            (
                "Name of an existing ServiceAccount for the model server pods, such as one with access to a bucket. If omitted, we create one without"
                " permissions."
            ),
            format="dns_subdomain",
        ),
        "node_selector": short_form("node_selector", "Node labels that the model servers require.", {"example.com/pool": "gpu"}),
        "tolerations": short_form(
            "tolerations", "Node taints that the model servers tolerate, in Kubernetes' own words.", [{"key": "nvidia.com/gpu", "operator": "Exists"}]
        ),
        "pod": pod_field("of the model servers"),
        "container": container_field("of the model servers"),
    },
)

_DOWNLOAD = {
    "url": Field("str", "The URL.", required=True, format="download_url"),
    "sha256": Field("str", "SHA-256 of the file. Another content is refused.", format="sha256"),
    "insecure": Field("bool", "Allow plain C(http) for this URL and its redirects.", default=False),
}
_SOURCE = Field(
    "list",
    (
        "Files, directories or C(https) URLs of the CRDs, or C({url: URL, sha256: SHA256, insecure: false}): with C(sha256), another content is refused;"
        " C(insecure: true) allows plain C(http). Redirects are followed to C(https) only. An empty list means that the cluster already has them."
    ),
    elements=Field("str", "A path or a URL.", otherwise=Field("dict", "A URL and its content.", options=_DOWNLOAD)),
)

_CREDENTIALS = {
    "registry": Field("str", "The registry.", required=True, format="image_prefix", example="registry.example.com:5000"),
    "username": Field("str", "User name.", required=True, format="credential", example="robot"),
    "password": Field("str", "Password or token.", required=True, secret=True, format="credential", example="{{ vault_registry_password | trim }}"),
}

_CHARTS = {
    "envoy_gateway": Field("str", "The chart C(gateway-helm) of Envoy Gateway.", format="chart", example="oci://registry.example.com/envoyproxy/gateway-helm"),
    "envoy_ai_gateway": Field("str", "The chart C(ai-gateway-helm) of Envoy AI Gateway.", format="chart"),
    "istio_base": Field("str", "The chart C(base) of Istio.", format="chart"),
    "istio": Field("str", "The chart C(istiod) of Istio.", format="chart"),
    "agentgateway": Field("str", "The chart C(agentgateway).", format="chart"),
    "kgateway": Field("str", "The chart C(agentgateway) of kgateway 2.2, or with class C(kgateway) the chart C(kgateway) of 2.1.", format="chart"),
    "gpu_operator": Field("str", "The chart C(gpu-operator) of NVIDIA.", format="chart"),
    "leader_worker_set": Field("str", "The chart C(lws) of LeaderWorkerSet.", format="chart"),
}

VARIABLES: dict[str, Field] = {
    "llm_d_model_services": Field("list", "The models to serve.", default=[], elements=SERVICE),
    "llm_d_profiles": Field(
        "map",
        (
            "Profiles of your own: options of O(llm_d_model_services[]) by name, for services that name the profile. An option of the service itself comes"
            " first. Mappings are merged at any depth, lists are replaced; a C(scheduler) with a C(preset) replaces all scheduling options of the profile. One"
            " with the name of a profile of the collection takes its place."
        ),
        default={},
        keys="dns_label",
        elements=Field("map", "Options of O(llm_d_model_services[]), but for C(name) and C(profile).", elements=_ANY),
        example={"ours": {"engine": {"max_model_len": 8192}}},
    ),
    "llm_d_scheduler_overrides": Field(
        "map",
        (
            "Scheduler blocks that override those of the file for this run, by name of the model service, or C(*) for all others."
            " C(playbooks/scorers.yml) uses it to try a configuration without an edit. A block with a C(preset) replaces all scheduling options; any"
            " other block is merged over them."
        ),
        default={},
        elements=Field("map", "Options of O(llm_d_model_services[].scheduler).", elements=_ANY),
        example={"llama-8b": {"preset": "queue"}},
    ),
    "llm_d_gateway": Field("dict", "The gateway in front of all models.", default={}, options=GATEWAY),
    "llm_d_gpus": Field("dict", "Accelerator operator, and how GPUs are shared.", default={}, options=GPUS),
    "llm_d_leader_worker_set": Field(
        "dict",
        "LeaderWorkerSet, required for model servers that span several nodes (O(llm_d_model_services[].accelerator.nodes)).",
        default={},
        options={
            "install": Field(
                "bool",
                (
                    "Install its CRDs and controller. If omitted, C(true) while a model service spans several nodes, except on OpenShift, whose catalog"
                    " has the operator C(leader-worker-set). With C(false), it must already be there; it is verified and left unchanged."
                ),
            ),
            "version": Field("str", "Version to install. If omitted, the tested version.", format="version"),
        },
    ),
    "llm_d_monitoring": Field(
        "dict", "Scraping of model servers and endpoint pickers by a Prometheus, alerts and dashboards of each model service.", default={}, options=MONITORING
    ),
    "llm_d_tracing": Field("dict", "Traces of requests by OpenTelemetry, from gateway, endpoint pickers and model servers.", default={}, options=TRACING),
    "llm_d_benchmark": Field("dict", "Load and objectives of C(playbooks/benchmark.yml).", default={}, options=BENCHMARK),
    "llm_d_release": Field("str", "Release line of the endpoint picker.", default="router-0.11", choices=tuple(RELEASES), replaced=REPLACED_RELEASES),
    "llm_d_namespace": Field("str", "Namespace of all objects.", default="llm-d", format="dns_label"),
    "llm_d_scheduler_namespace": Field(
        "str",
        (
            "Namespace of the endpoint pickers. If omitted, O(llm_d_namespace), where the model servers, their pools and the endpoint pickers' permissions"
            " stay. For gateways whose proxy gets the address of the endpoint picker: C(envoy_gateway), C(standalone), Istio with C(connection: ext_proc)."
            " When it is changed, the endpoint pickers move with the next run of C(site.yml)."
        ),
        format="dns_label",
        example="llm-d-schedulers",
    ),
    "llm_d_instance": Field(
        "str",
        "Name of this deployment. It is the value of the label C(app.kubernetes.io/part-of), which marks the objects that the collection owns.",
        default="llm-d",
        format="dns_label",
    ),
    "llm_d_name_suffix": Field(
        "str",
        (
            "What is appended to the names of the Gateway that we create, of all model services with their objects and routes, and to O(llm_d_instance): one"
            " file with two suffixes gives two stacks side by side. Claims and reports have these names; in the file, services are referred to with or"
            " without it. Another suffix leaves the objects of the one before: remove them with C(teardown.yml) and the old suffix."
        ),
        format="name_suffix",
        example="-blue",
    ),
    "llm_d_state": Field(
        "str",
        "Desired state of the deployment. C(playbooks/teardown.yml) sets V(absent), and plays that create, such as C(site.yml), refuse it.",
        default="present",
        choices=("present", "absent"),
    ),
    "llm_d_events": Field(
        "bool",
        "Whether a run creates a Kubernetes Event on each object that it creates or changes, with what changed: C(kubectl describe) shows them.",
        default=True,
    ),
    "llm_d_adopt": Field(
        "bool",
        "Whether objects of others that have the names of ours, Secrets included, are taken over: changed, and deleted by a teardown. Otherwise they are named"
        " before anything is changed, and nothing is. Others are also another O(llm_d_instance), and a file with another O(llm_d_namespace).",
        default=False,
    ),
    "llm_d_force_removal": Field(
        "bool",
        "Whether the gateway and the claims of weights are removed while others use them: routes that are not ours, workloads that mount a claim. Otherwise"
        " these are named, and nothing is removed. A namespace that holds objects of others stays in any case.",
        default=False,
    ),
    "llm_d_confirm": Field(
        "bool",
        "Whether C(playbooks/teardown.yml) removes without confirmation. Only a person at a terminal is asked to confirm; AWX and other programs are not.",
        default=False,
    ),
    "llm_d_prune": Field(
        "dict",
        "What a run deletes that this file no longer requests. Objects are found by the record of O(llm_d_instance) and by its labels, so two files"
        " for one namespace need two instances.",
        default={},
        options={
            "services": Field(
                "bool",
                "Whether model services that are no longer in the file are deleted. Otherwise only objects that the services of the file no longer need are."
                " A file without O(llm_d_model_services) deletes none; an empty list deletes all.",
                default=True,
            ),
            "claims": Field(
                "bool",
                "Whether PersistentVolumeClaims of weights that the file no longer requests are deleted, too. The weights are lost.",
                default=False,
            ),
        },
    ),
    "llm_d_platform": Field(
        "str",
        (
            "Platform of the cluster. What the platform itself manages is left unchanged, such as the Gateway API on OpenShift and GKE. On C(k3s), C(rke2) and"
            " C(microk8s) NVIDIA's operator uses their containerd."
        ),
        default="kubernetes",
        choices=tuple(PLATFORMS),
    ),
    "llm_d_scope": Field(
        "str",
        (
            "C(namespace): for an account with permissions in its namespace only; nothing outside it is written, and the namespace, CRDs, GatewayClass"
            " and controller must already be there. C(prerequisites): the other part, which an administrator deploys once;"
            " C(playbooks/prerequisites.yml) always uses it. C(cluster): both."
        ),
        default="cluster",
        choices=("cluster", "namespace", "prerequisites"),
    ),
    "llm_d_request_project": Field(
        "bool", "On OpenShift, request the namespace as a project, for accounts that cannot create namespaces. The project is never deleted.", default=False
    ),
    "llm_d_kubeconfig": Field("str", "Path of the kubeconfig file. If omitted, C(KUBECONFIG) or C(~/.kube/config)."),
    "llm_d_context": Field("str", "Context in the kubeconfig. If omitted, the current context."),
    "llm_d_helm": Field("str", "Path of the helm command. If omitted, C(helm) in C(PATH)."),
    "llm_d_wait_timeout": Field("int", "Seconds to wait for objects to become ready.", default=300, minimum=1, maximum=86400),
    "llm_d_artifacts_dir": Field(
        "str",
        "Directory for the verdict and other results, relative to the directory in which the play was started. In the default one each cluster has a folder by"
        " the address of its API server, and in that each instance one, C(INSTANCE@NAMESPACE) where the two differ: C(artifacts/10.0.0.1_6443/llm-d)."
        " One that is written here is that of one cluster. With several hosts in the inventory, each has a"
        " folder of its name in it, and C(fleet/) has the page for all. Another O(llm_d_instance) than the default, of whose name O(llm_d_name_suffix) is"
        " part, has a folder of its name in that."
        " In names, C(/) becomes C(%2F); one that a folder of results has, such as C(benchmark), ends with C(%).",
        default="artifacts",
    ),
    "llm_d_artifacts": Field(
        "dict",
        "Where reports are kept in addition to O(llm_d_artifacts_dir), which in a job is deleted with the pod.",
        default={},
        options={
            "config_map": Field(
                "bool",
                "Keep the reports of the last run in the cluster, each kind in a ConfigMap C(INSTANCE-report-NAME) in O(llm_d_namespace). What does not"
                " fit into one is left out, and an annotation says so.",
                default=False,
            ),
            "s3": Field(
                "dict",
                "Keep the reports of every run in a bucket of S3, or of a service with its protocol, below C(PREFIX/HOST/INSTANCE/NAME/TIME). The environment"
                " has the credentials: C(AWS_ACCESS_KEY_ID), C(AWS_SECRET_ACCESS_KEY) and, where there is one, C(AWS_SESSION_TOKEN).",
                options={
                    "bucket": Field("str", "Name of the bucket, which has to be there.", required=True, example="reports"),
                    "prefix": Field("str", "What the names of the objects begin with.", default="llm-d"),
                    "endpoint": Field("str", "URL of the service. If omitted, that of AWS.", format="http_url", example="https://minio.example.com:9000"),
                    "region": Field("str", "The region. If omitted, C(AWS_REGION) of the environment, else us-east-1.", example="eu-central-1"),
                },
            ),
        },
    ),
    "llm_d_image_registry": Field(
        "str",
        "Mirror of the registries that the images come from. Its name replaces the registry of each image, and the path stays: C(ghcr.io/llm-d/x) is"
        " pulled from C(registry.example.com:5000/mirror/llm-d/x). A mapping has one mirror for each registry, such as"
        " C({ghcr.io: registry.example.com/ghcr}). If omitted, images come from upstream's registries.",
        format="image_prefix",
        example="registry.example.com:5000/mirror",
        otherwise=Field("map", "Registry to its mirror.", keys="registry_host", elements=Field("str", "The mirror.", format="image_prefix")),
    ),
    "llm_d_image_digests": Field(
        "map",
        "Digest of each image, by the name that it has upstream. Pods then get that very image, even where the tag has moved. C(playbooks/pin_images.yml)"
        " queries the registries and writes it to C(group_vars/all/llm-d.lock.yml) of the inventory. Images that a chart names by itself keep their tags.",
        default={},
        keys="image",
        elements=Field("str", "The digest.", format="digest"),
    ),
    "llm_d_images": Field(
        "dict",
        "Complete image references, used as written instead of the tested images.",
        default={},
        options={
            "epp": Field("str", "The endpoint picker.", format="image"),
            "vllm": Field("str", "vLLM.", format="image"),
            "simulator": Field("str", "The model server simulator.", format="image"),
            "sglang": Field("str", "SGLang.", format="image"),
            "trtllm": Field("str", "TensorRT-LLM.", format="image"),
            "triton": Field("str", "Triton with the back end vLLM.", format="image"),
            "tgi": Field("str", "Text Generation Inference.", format="image"),
            "routing_sidecar": Field("str", "The routing sidecar of the decode servers, which calls a prefill server first.", format="image"),
            "tokenizer": Field("str", "The tokenizer sidecar of the endpoint picker, for precise prefix matching.", format="image"),
            "gateway": Field("str", "The controller of the gateway provider.", format="image"),
            "ai_gateway": Field("str", "The controller of Envoy AI Gateway, beside that of Envoy Gateway. By tag, without a digest.", format="image"),
            "proxy": Field("str", "The proxy of the gateway provider.", format="image"),
            "leader_worker_set": Field("str", "The controller of LeaderWorkerSet.", format="image"),
            "cache": Field("str", "The Valkey of a shared cache.", format="image"),
            "python": Field("str", "Python 3.11 or newer, for a warm-up on a schedule.", format="image"),
            "gpu_test": Field("str", "Image of the GPU test pod. Its own command must use a GPU and exit.", format="image"),
        },
    ),
    "llm_d_preflight": Field(
        "dict",
        "What the checks before a deployment do.",
        default={},
        options={
            "wait": Field(
                "int",
                "Seconds to wait for missing prerequisites, which someone else may create meanwhile. C(0) reports them at once.",
                default=0,
                minimum=0,
                maximum=86400,
            ),
            "images": Field(
                "str",
                "Severity of an image that its registry does not have, by a query from the control host with the pull Secrets. A registry that does not answer"
                " there is a warning with C(error), too: nodes may still reach it. C(ignore) queries no registry.",
                default="warning",
                choices=("error", "warning", "ignore"),
            ),
            "node_autoscaler": Field(
                "str",
                "Whether nodes come when no node takes a pod, so that pods without room are a warning and no error. C(detect) looks for Karpenter's NodePools,"
                " GKE's ComputeClasses and Autopilot, Cluster API, OpenShift's MachineAutoscalers and the status of cluster-autoscaler.",
                default="detect",
                choices=("detect", "present", "absent"),
            ),
        },
    ),
    "llm_d_image_pull_policy": Field("str", "Image pull policy.", default="IfNotPresent", choices=("IfNotPresent", "Always", "Never")),
    "llm_d_image_pull_secrets": Field(
        "list", "Names of image pull Secrets in the namespace.", default=[], elements=Field("str", "Name of a Secret.", format="dns_subdomain")
    ),
    "llm_d_image_pull_credentials": Field(
        "list",
        (
            "Credentials of registries, if there is no Secret with them. We create the Secret C(<llm_d_instance>-image-pull) from them, which pods use"
            " in addition to O(llm_d_image_pull_secrets). Keep the values in a vault."
        ),
        default=[],
        elements=Field("dict", "One registry.", options=_CREDENTIALS),
    ),
    "llm_d_model_token": Field(
        "str",
        (
            "Access token of the model repository, if there is no Secret with it. We create the Secret C(<llm_d_instance>-model-token) from it for each"
            " C(hf://) model without a C(token_secret). Keep the value in a vault."
        ),
        secret=True,
        format="token",
        example="{{vault_hf_token|trim}}",
    ),
    "llm_d_api_key": Field(
        "str",
        (
            "API key that clients send to the model servers (C(Authorization: Bearer)), if there is no Secret with it. We create the Secret"
            " C(<llm_d_instance>-api-key) from it, for each service without O(llm_d_model_services[].model.api_key), which has the details. Keep it in a vault."
        ),
        format="token",
        secret=True,
    ),
    "llm_d_run_as_user": Field("int", "User ID of our containers. C(0) leaves the choice to the cluster, as OpenShift requires.", default=65532, minimum=0),
    "llm_d_crd_sources": Field(
        "dict",
        "Sources of the CRDs. If omitted, the release pages of the projects.",
        default={},
        options={
            "gateway_api": _SOURCE,
            "inference_extension": _SOURCE,
            "envoy_gateway": _SOURCE,
            "envoy_ai_gateway": _SOURCE,
            "istio": _SOURCE,
            "agentgateway": _SOURCE,
            "kgateway": _SOURCE,
            "leader_worker_set": _SOURCE,
        },
    ),
    "llm_d_insecure_charts": Field(
        "bool", "Whether O(llm_d_charts) may name repositories over plain C(http://), which anybody on the way can change.", default=False
    ),
    "llm_d_charts": Field(
        "dict",
        "Other sources of the Helm charts than upstream's: a folder, an archive, an C(oci://) reference, or the URL of a chart repository.",
        default={},
        options=_CHARTS,
    ),
    "llm_d_chart_values": Field(
        "dict",
        (
            "Values of yours for the charts that we install, by the names of O(llm_d_charts): resources, tolerations, environment of a controller. They are"
            " merged with ours, and those that other options decide are refused with these options (docs/pods.md)."
        ),
        default={},
        options={name: Field("map", f"Values for the chart of O(llm_d_charts.{name}).", elements=Field("any", "A value.")) for name in _CHARTS},
        example={"envoy_gateway": {"deployment": {"envoyGateway": {"resources": {"limits": {"memory": "1Gi"}}}}}},
    ),
}
