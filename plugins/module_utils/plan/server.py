# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model servers of one service: pods, Service and route, derived from one completed element of llm_d_model_services. Pure."""

from __future__ import annotations

import typing as t

from ..common.flags import flags_of
from ..epp.catalog.presets import SIDECAR_SERVER_PORT
from ..releases.lines import ACCELERATORS, ENGINE_DEFAULTS
from .autoscaling import least
from .engine import arguments as engine_arguments
from .engine import environment as engine_environment
from .engine import vendor
from .weights import CACHE_PATH, HUB_PATH, access_mode, credentials, served_name, volumes
from .weights import arguments as weights_arguments

Facts = dict[str, t.Any]

SERVICE_LABEL = "llm-d.ai/model-service"
SERVING_LABEL = "llm-d.ai/inference-serving"
ROLE_LABEL = "llm-d.ai/role"
HEALTH_PATH = "/health"
PORT_NAME = "http"
ENGINE_PORT_NAME = "engine"  # behind a routing sidecar, which has the other name then
# What a server that is told to end takes to give back its memory.
END_SECONDS = 55


def image(user: Facts, component: str, default: str) -> str:
    """The image of a component: the user's own as written, else the tested one behind the user's registry."""
    own = user["llm_d_images"].get(component)
    if own:
        return own
    prefix = user["llm_d_image_registry"]
    return f"{prefix}/{default}" if prefix else default


def pod_security(user: Facts) -> Facts:
    """Pod security context of the restricted profile; without a user id where the cluster gives one (OpenShift)."""
    context: Facts = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    if user["llm_d_run_as_user"]:
        context.update(runAsUser=user["llm_d_run_as_user"], runAsGroup=user["llm_d_run_as_user"], fsGroup=user["llm_d_run_as_user"])
    return context


def container_security(read_only: bool) -> Facts:
    """Container security context of the restricted profile."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": read_only}


def startup_timeout(service: Facts) -> int:
    """Seconds that a server may take to load its model."""
    return service["engine"]["startup_timeout"] or ENGINE_DEFAULTS[service["engine"]["type"]]["startup_timeout"]


def pool_selector(service: Facts) -> Facts:
    """Labels that all servers of a service bear, whatever their role."""
    return {SERVING_LABEL: "true", SERVICE_LABEL: service["name"]}


def reached(planned: Facts, namespace: str) -> Facts:
    """The planned servers of one role as modules that ask each of them want them (option `replicas`): where an autoscaler says how many, one at least."""
    selector = ",".join(f"{key}={value}" for key, value in planned["selector"].items())
    return {"namespace": namespace, "label_selector": selector, "port": str(planned["port"]), "count": 1 if planned["autoscaling"] else planned["replicas"]}


def served_arguments(service: Facts, required: Facts) -> list[str]:
    """The command line of a model server: ours, what the scheduler requires of it, then the user's own, which stands alone where both say the same."""
    own = service["engine"]["args"]
    theirs = flags_of(own)
    ours = {argument.split("=", 1)[0]: argument for argument in [*_arguments(service, service["engine"]["port"]), *required.get("args", [])]}
    if theirs.keys() & {"tp", "pipeline-parallel-size", "pp", "data-parallel-size", "dp"}:
        ours.pop("--tensor-parallel-size", None)
    return [argument for flag, argument in ours.items() if flag.lstrip("-") not in theirs] + own


def server(service: Facts, user: Facts, labels: Facts, required: Facts, role: str = "decode", proxy: Facts | None = None) -> Facts:
    """The Deployment of the model servers of one role; `required` is what the scheduler asks for elsewhere (see scorers_requires).

    `proxy`: the routing sidecar in front of them, a container; then they listen on `engine_port`, and the pod still on `port`.
    """
    engine = service["engine"]
    selector = {**pool_selector(service), ROLE_LABEL: role}
    rooms, mounts = volumes(service)
    asked = required.get("vllm", {})
    port = SIDECAR_SERVER_PORT if proxy else engine["port"]
    port_name = ENGINE_PORT_NAME if proxy else PORT_NAME
    arguments = [f"--port={port}" if argument.startswith("--port=") else argument for argument in served_arguments(service, asked)]
    return {
        "name": f"{service['name']}-{role}",
        "role": role,
        "service_account": service["service_account"] or service["name"],
        # Our own account has them; that of someone else is left as it is.
        "image_pull_secrets": [{"name": name} for name in user["llm_d_image_pull_secrets"]] if service["service_account"] else [],
        "replicas": least(service, role),
        "selector": selector,
        "labels": {**service["labels"], **required.get("pod_labels", {}), **labels, **selector},
        "image": engine["image"] or image(user, engine["type"], ENGINE_DEFAULTS[engine["type"]]["image"]),
        "image_pull_policy": user["llm_d_image_pull_policy"],
        "args": arguments,
        "env": _environment(service, list(asked.get("env", []))),
        "port": engine["port"],
        "port_name": PORT_NAME,
        "engine_port": port,
        "container_ports": [
            {"name": port_name, "containerPort": port},
            *({"name": item["name"], "containerPort": item["port"]} for item in asked.get("ports", [])),
        ],
        "init_containers": [proxy] if proxy else [],
        "health_path": HEALTH_PATH,
        "probes": _probes(service, port_name),
        "progress_deadline": startup_timeout(service) + 60,
        "resources": _resources(service),
        "pod_security": pod_security(user),
        "container_security": container_security(read_only=engine["type"] == "simulator"),
        "node_selector": service["node_selector"],
        "affinity": _affinity(service),
        "tolerations": [{key: value for key, value in item.items() if value is not None} for item in service["tolerations"]],
        "volumes": rooms,
        "volume_mounts": mounts,
        "strategy": _strategy(service),
        "drain_seconds": engine["drain_seconds"],
        "termination_grace": engine["drain_seconds"] + END_SECONDS,
    }


def route(service: Facts, gateway: Facts) -> Facts:
    """The HTTPRoute of a service, whose backend is what the gateway's provider can route to."""
    path = service["route"]["path"].rstrip("/") or "/"
    if gateway["backend"] == "InferencePool":
        backend = {"group": gateway["pool_group"], "kind": "InferencePool", "name": service["name"], "port": service["engine"]["port"]}
    else:
        backend = {"group": "", "kind": "Service", "name": service["name"], "port": service["engine"]["port"]}
    return {
        "name": service["name"],
        "namespace": gateway["routes_namespace"],
        "exists": gateway["gateway_api"],
        "path": path,
        "strip_prefix": path != "/",
        "hostnames": service["route"]["hostnames"],
        "backend": backend,
        "timeouts": service["route"]["timeouts"] if gateway["route_timeouts"] else {},
    }


def _arguments(service: Facts, port: int) -> list[str]:
    engine = service["engine"]
    name = served_name(service["model"])
    length = engine["max_model_len"] or ENGINE_DEFAULTS[engine["type"]]["max_model_len"]
    arguments = {
        "--model": name,
        "--served-model-name": name,
        "--port": port,
        "--max-model-len": length,
        "--max-num-seqs": engine["max_num_seqs"],
        "--block-size": engine["block_size"],
    }
    if engine["type"] == "simulator":
        arguments.update(_simulator_arguments(engine))
    else:
        per_replica = service["accelerator"]["per_replica"]
        arguments.update(weights_arguments(service["model"]))
        arguments["--tensor-parallel-size"] = per_replica if per_replica > 1 else None
    # Else vLLM does not tell what it took from its cache, and nobody could say whether a warm-up did anything.
    told = ["--enable-prompt-tokens-details"] if service["warmup"] and engine["type"] == "vllm" else []
    return [f"{flag}={value}" for flag, value in arguments.items() if value is not None] + engine_arguments(engine) + told


def _simulator_arguments(engine: Facts) -> Facts:
    settings = engine["simulator"] or {}
    flags = {f"--{key.replace('_', '-')}": value for key, value in settings.items()}
    # Without the dummy tokenizer the simulator asks a model hub whether the model exists.
    return {"--force-dummy-tokenizer": "true", "--enable-kvcache": "true", **flags}


def _environment(service: Facts, required: list[Facts]) -> list[Facts]:
    env: list[Facts] = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in (("POD_NAME", "metadata.name"), ("POD_NAMESPACE", "metadata.namespace"), ("POD_IP", "status.podIP"))
    ]
    if service["engine"]["type"] == "vllm":
        # Caches and home lie on the writable volume, since the container runs with a user id the image does not know.
        env += [
            {"name": name, "value": value}
            for name, value in (
                ("HOME", CACHE_PATH),
                ("USER", "vllm"),
                ("LOGNAME", "vllm"),
                ("HF_HOME", HUB_PATH),
                ("VLLM_CACHE_ROOT", f"{CACHE_PATH}/vllm"),
                ("TORCHINDUCTOR_CACHE_DIR", f"{CACHE_PATH}/inductor"),
                ("TRITON_CACHE_DIR", f"{CACHE_PATH}/triton"),
            )
        ]
    env += engine_environment(service["engine"])
    env += credentials(service["model"])
    own = [{"name": name, "value": value} for name, value in service["engine"]["env"].items()]
    return later_wins(env + required + own)


def later_wins(env: list[Facts]) -> list[Facts]:
    """Each name once, at its last place: a value may refer to variables that stand before it."""
    last = {item["name"]: index for index, item in enumerate(env)}
    return [item for index, item in enumerate(env) if last[item["name"]] == index]


def _accelerators(service: Facts) -> Facts:
    resource = service["accelerator"]["resource"] or ACCELERATORS[vendor(service)]["resource"]
    one_pod = service["accelerator"]["per_replica"] // service["accelerator"]["nodes"]
    return {resource: one_pod} if resource and vendor(service) != "none" else {}


def _resources(service: Facts) -> Facts:
    given = service["resources"] or {"requests": ENGINE_DEFAULTS[service["engine"]["type"]]["requests"], "limits": None}
    accelerators = _accelerators(service)
    parts = {part: {**(given[part] or {}), **accelerators} for part in ("requests", "limits")}
    return {part: amounts for part, amounts in parts.items() if amounts}


def _affinity(service: Facts) -> Facts:
    product = service["accelerator"]["product"]
    if not product:
        return {}
    match = {"key": ACCELERATORS[vendor(service)]["product_label"], "operator": "In", "values": [product]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [match]}]}}}


def _probes(service: Facts, port_name: str) -> Facts:
    check = {"httpGet": {"path": HEALTH_PATH, "port": port_name}}
    period = ENGINE_DEFAULTS[service["engine"]["type"]]["startup_period"]
    return {
        "startup": {**check, "periodSeconds": period, "failureThreshold": -(-startup_timeout(service) // period), "timeoutSeconds": 5},
        "readiness": {**check, "periodSeconds": 5, "failureThreshold": 2, "timeoutSeconds": 5},
        "liveness": {**check, "periodSeconds": 10, "failureThreshold": 6, "timeoutSeconds": 5},
    }


def _strategy(service: Facts) -> Facts:
    # A spare accelerator for a surge pod is rare, and it cannot mount what one node has: such a rollout would wait for ever.
    alone = _accelerators(service) or (access_mode(service) or "").startswith("ReadWriteOnce")
    surge, unavailable = (0, 1) if alone else ("25%", 0)
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
