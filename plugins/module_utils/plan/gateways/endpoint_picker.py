# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoint picker of one service and its InferencePool, derived from one completed element of llm_d_model_services. Pure."""

from __future__ import annotations

import hashlib

from ...common.flags import flags_of
from ...common.labels import INSTANCE_LABEL, PICKER, label_selector
from ...common.objects import Facts
from ...epp.catalog.plugins import reads
from ...epp.catalog.presets import SEED
from ...epp.catalog.release_lines import LINE_FLAGS
from ...epp.config.build import Built, build
from ...epp.config.resolve import Findings, known_options
from ...epp.document import parse_config
from ...epp.explain.summary import preset, summary
from ...epp.rules.check import EXPERIMENTAL
from ...releases.deployed import picker_signals
from ...releases.engines import REQUIRED
from ...releases.gateways import MAX_POOL_PORTS
from ..engines.api_keys import api_key_warnings
from ..engines.draining import picker_drain
from ..engines.engine import block_size, engine_warnings, max_model_len, other_pair, ranks, runtime_warnings, usual_block_size
from ..engines.server_arguments import served_arguments
from ..engines.sidecars import picker_sidecars
from ..engines.stages import stage_warnings
from ..engines.weights import model_uri, served_name
from ..parts.environment import stated, variables
from ..parts.names import picker_name, scheduler_namespace
from ..parts.overlays import overlays_of, planned_pod
from ..parts.pod_spec import container_security, labels_in, later_wins, pod_security, pool_selector
from ..parts.references import image
from ..parts.tracing import picker_environment, picker_flag
from .picker_pod import CONTAINER, pod_template
from .standalone import sidecar

CONFIG_DIR = "/config"
CONFIG_KEY = "config.yaml"
PODS_SUFFIX = "-epp-pods"
PORTS = {"health": 9003, "metrics": 9090}
# Data of plugins that the endpoint picker counts from its own in-flight requests.
_IN_FLIGHT_DATA = {"inflight", "uncached"}


def configuration(service: Facts, release: str) -> Built:
    """The EndpointPickerConfig of a service, what it requires elsewhere, and its problems.

    Paths of problems are relative to the scheduler block; in them, `server_args`, `server_env` and `epp_args` stand for the user's engine.args, engine.env and
    scheduler.args.
    """
    settings, engine = service["scheduler"], service["engine"]
    # The plan adds this flag where a plugin needs it, unless the file has it or the release line does not: its absence in scheduler.args is no mistake.
    flag_settled = any(EXPERIMENTAL in argument for argument in settings["args"]) or release not in LINE_FLAGS[EXPERIMENTAL.lstrip("-")]
    experimental = [] if flag_settled else [f"{EXPERIMENTAL}=true"]
    context = {
        "engine": engine["type"],
        "model": served_name(service["model"]),
        "tokenizer": model_uri(service["model"]).location if engine["type"] == "vllm" else None,
        "max_model_len": max_model_len(service),
        "block_size": block_size(service),
        "usual_block_size": usual_block_size(service),
        "hash_seed": stated(engine["env"]).get(SEED),
        "port": engine["port"],
        "epp_service": ".".join([events_service(service), *([settings["namespace"]] if settings.get("namespace") else [])]),
        "epp_args": settings["args"] and settings["args"] + experimental,
    }

    def servers(required: Facts) -> Facts:
        """The final command line of the servers: derived, required, and the user's own."""
        env = {item["name"]: item.get("value") for item in [*required["env"], *variables(engine["env"])]}
        return {"server_args": served_arguments(service, required), "server_env": env}

    return build(_decision_options(settings), release, context, servers)


def _decision_options(settings: Facts) -> Facts:
    """The options of a scheduler block that say how the endpoint picker decides, without those that are an empty mapping or list."""
    return {key: value for key, value in known_options(settings, Findings()).items() if value not in ({}, []) or settings[key] is True}


def events_service(service: Facts) -> str:
    """Name of the Service for KV events of model servers that connect to the endpoint picker."""
    return f"{service['name']}-events"


def pods_service(service: Facts) -> str:
    """Name of the headless Service of the endpoint picker's pods, for proxies that resolve its name by themselves."""
    return f"{service['name']}{PODS_SUFFIX}"


def pool(service: Facts, gateway: Facts, proxied: bool) -> Facts:
    """The InferencePool: selector, target ports and failure mode. proxied: whether a routing sidecar listens in place of the server.

    With data parallelism, each rank of a server listens on a port of its own. The pool has all of them where the gateway sends requests to the pool and its
    version is v1; elsewhere only the first one.
    """
    port = service["engine"]["port"]
    all_ranks = gateway["connection"] == "pool" and gateway["pool_version"] == "v1" and not proxied
    return {
        "name": service["name"],
        "api_version": f"{gateway['pool_group']}/{gateway['pool_version']}",
        "group": gateway["pool_group"],
        "version": gateway["pool_version"],
        "exists": gateway["pool"],
        "selector": pool_selector(service),
        "target_ports": [port + rank for rank in range(min(ranks(service), MAX_POOL_PORTS) if all_ranks else 1)],
        "picker": pods_service(service) if gateway["picker_by_name"] else picker_name(service, gateway),
        "failure_mode": service["scheduler"]["failure_mode"] or gateway["failure_modes"][0],
    }


def scheduler(service: Facts, user: Facts, release: Facts, gateway: Facts, labels: Facts, built: Built) -> Facts:
    """The Deployment, Service, Role and configuration of the endpoint picker."""
    settings = service["scheduler"]
    name = picker_name(service, gateway)
    selector = {**PICKER, INSTANCE_LABEL: name}
    required = built.requires["epp"]
    sidecars, volumes, mounts = picker_sidecars(service, user, release, built.requires["sidecars"])
    config = {"name": "config", "mountPath": CONFIG_DIR, "readOnly": True}
    namespace = scheduler_namespace(user)
    own_labels = {**labels_in(namespace, user["llm_d_namespace"], labels), **selector}
    proxy = sidecar(service, user, gateway, own_labels, selector, settings["grpc_port"])
    untested_pair = other_pair(service, user, release, gateway)
    draining = picker_drain(service)
    ports = {"grpc": settings["grpc_port"], "grpc-health": PORTS["health"], "metrics": PORTS["metrics"]}
    ports |= {port["name"]: port["port"] for port in required["ports"]}
    checksum = hashlib.sha256(built.text.encode()).hexdigest()
    pod = {
        "service_account": name,
        "labels": own_labels,
        "checksums": {"llm-d.ai/config-checksum": checksum, **({"llm-d.ai/proxy-checksum": proxy["checksum"]} if proxy else {})},
        "image": settings["image"] or image(user, "epp", release["epp_image"]),
        "image_pull_policy": user["llm_d_image_pull_policy"],
        "args": _arguments(service, user, release, gateway, required["args"]),
        "env": _environment(service, picker_environment(user, release, name) + required["env"]),
        "container_ports": [{"name": port, "containerPort": number} for port, number in ports.items()],
        "init_containers": sidecars + ([proxy["container"]] if proxy else []),
        "volumes": [{"name": "config", "configMap": {"name": name}}, *volumes, *([proxy["volume"]] if proxy else [])],
        "volume_mounts": [config, *mounts],
        "probes": _probes(),
        "resources": {part: amounts for part, amounts in (settings["resources"] or release["resources"]).items() if amounts},
        "pod_security": pod_security(user),
        "container_security": container_security(read_only=True),
        "pause": draining["drain_seconds"],
        **draining,
    }
    ours = pod_template(pod)
    return {
        "name": name,
        "namespace": namespace,
        "replicas": settings["replicas"],
        "selector": selector,
        # Of the Role and its binding, in the namespace of the servers.
        "role_labels": {**labels, **selector},
        **{kept: pod[kept] for kept in ("service_account", "labels", "image", "args", "drain_seconds")},
        "event_ports": list(required["ports"]),
        **planned_pod(ours, overlays_of(settings, "", CONTAINER)),
        "proxy": proxy,
        "events_service": events_service(service),
        "publish_not_ready": required["publish_not_ready"],
        "config": built.text,
        "decides": [preset(_decision_options(settings)), *summary(built.document, release["name"])],
        "config_dir": CONFIG_DIR,
        "config_key": CONFIG_KEY,
        "config_file": f"{CONFIG_DIR}/{CONFIG_KEY}",
        "ports": {"grpc": settings["grpc_port"], **PORTS},
        "rules": _rules(release, gateway),
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        # Metrics that every server has to export for the configured decisions.
        "signals": [
            *(signal for signal in REQUIRED if signal in picker_signals(service["engine"]["type"])),
            *(["lora"] if any(entry["type"] == "lora-affinity-scorer" for entry in built.document["plugins"]) else []),
        ],
        "notes": [
            *built.notes,
            *_counting_notes(built.document, release["name"], settings["replicas"]),
            *engine_warnings(service, built.requires["roles"]),
            *runtime_warnings(service, user),
            *(stage_warnings(service) if built.requires["roles"] else []),
            *api_key_warnings(service, built.document),
            *filter(None, [untested_pair]),
        ],
        "other_pair": untested_pair,
    }


def _counting_notes(document: Facts, release: str, replicas: int) -> list[str]:
    """A warning where the endpoint picker has several replicas, and plugins that count in-flight requests: each replica counts only its own."""
    plugins = parse_config(document, release).plugins
    counting = sorted({item.type for item in plugins if item.plugin is not None and _IN_FLIGHT_DATA & set(reads(item.plugin, release, item.parameters))})
    if replicas < 2 or not counting:
        return []
    return [
        f"scheduler.replicas is {replicas}: each of them counts only its own in-flight requests, so that {', '.join(counting)} takes a server for about "
        f"{replicas} times less loaded than it is. Write 1."
    ]


def _arguments(service: Facts, user: Facts, release: Facts, gateway: Facts, required: list[str]) -> list[str]:
    """The command line of the endpoint picker; the user's flags replace ours. A boolean needs its '=': Go's flag package ignores a separate `false`."""
    own = service["scheduler"]["args"]
    ours = [
        *_server_flags(service, user, gateway),
        f"--config-file={CONFIG_DIR}/{CONFIG_KEY}",
        f"--grpc-port={service['scheduler']['grpc_port']}",
        f"--grpc-health-port={PORTS['health']}",
        f"--metrics-port={PORTS['metrics']}",
        f"--secure-serving={'true' if gateway['secure_ext_proc'] else 'false'}",
        "--metrics-endpoint-auth=false",  # with true, it needs cluster-wide permissions for token reviews
        picker_flag(user),
        "--zap-encoder=json",
        f"--v={service['scheduler']['verbosity']}",
        *required,
    ]
    own_flags = flags_of(own)
    return [*(argument for argument in ours if argument.lstrip("-").split("=", 1)[0] not in own_flags), *own]


def _server_flags(service: Facts, user: Facts, gateway: Facts) -> list[str]:
    """The flags that select the servers: by their InferencePool, or by its labels where the plan has no pool."""
    if not gateway["pool"]:
        labels = label_selector(pool_selector(service))
        return [f"--endpoint-selector={labels}", f"--endpoint-target-ports={service['engine']['port']}", f"--pool-namespace={user['llm_d_namespace']}"]
    return [f"--pool-name={service['name']}", f"--pool-namespace={user['llm_d_namespace']}", f"--pool-group={gateway['pool_group']}"]


def _rules(release: Facts, gateway: Facts) -> list[Facts]:
    """The rules of the endpoint picker's Role, with InferencePools in the API group that the gateway reads."""
    return [{**rule, "apiGroups": [gateway["pool_group"]]} if "inferencepools" in rule["resources"] else rule for rule in release["rules"]]


def _environment(service: Facts, required: list[Facts]) -> list[Facts]:
    pod_name = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    return later_wins([pod_name, *required, *variables(service["scheduler"]["env"])])


def _probes() -> Facts:
    """Probes of the health service. It is ready only once the endpoint picker has read the InferencePool: the startup probe covers this time."""
    check = {"grpc": {"port": PORTS["health"], "service": "envoy.service.ext_proc.v3.ExternalProcessor"}}
    return {
        "startup": {**check, "periodSeconds": 1, "failureThreshold": 120, "timeoutSeconds": 2},
        "readiness": {**check, "periodSeconds": 2, "failureThreshold": 3, "timeoutSeconds": 2},
        "liveness": {**check, "periodSeconds": 10, "failureThreshold": 5, "timeoutSeconds": 2},
    }
