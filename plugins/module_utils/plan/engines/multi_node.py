# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Model servers that span several nodes: a LeaderWorkerSet, whose groups have one leader, which answers requests, and workers. Pure."""

from __future__ import annotations

from ...common.flags import flags_of
from ...common.objects import Facts
from ...epp.catalog.presets import SERVING_LABEL
from ...releases.deployed import ENGINE_DEFAULTS, FULL_SUPPORT, engines_with, has_option
from ...releases.engines import ENGINES
from ...releases.lines import LEADER_WORKER_SET
from ...schema.fields import Problem
from .engine import vendor

RAY_PORT, RPC_PORT = 6379, 13345
START_RANK = "--data-parallel-start-rank"  # of a worker; its shell computes it
# A worker's StatefulSet is named <name>-decode-<group>; its revision label adds a hash of ten characters, and labels have at most 63.
LONGEST_NAME = 63 - len("-decode-999-0123456789")
_DEPLOYMENT: Facts = {"api_version": "apps/v1", "kind": "Deployment"}
_GROUPS: Facts = {"api_version": LEADER_WORKER_SET["api_version"], "kind": LEADER_WORKER_SET["kind"]}
# Flags of vLLM that the plan derives from the accelerators.
PARALLEL_FLAGS = (
    *("tensor-parallel-size", "tp", "pipeline-parallel-size", "pp", "data-parallel-size", "dp", "data-parallel-size-local", "dpl"),
    *("data-parallel-start-rank", "dpr", "data-parallel-address", "dpa", "data-parallel-rpc-port", "dpp", "data-parallel-backend", "dpb"),
    *("data-parallel-hybrid-lb", "dph", "data-parallel-external-lb", "dpe", "enable-expert-parallel", "ep", "distributed-executor-backend"),
    *("headless", "nnodes", "node-rank", "master-addr", "master-port", "model"),
)
# Those that also divide the accelerators of one node.
_FLAGS_OF_A_NODE = {"tensor-parallel-size", "tp", "pipeline-parallel-size", "pp", "data-parallel-size", "dp", "enable-expert-parallel", "ep"}


def per_node(service: Facts) -> int:
    """Accelerators of one pod."""
    return int(service["accelerator"]["per_replica"] // service["accelerator"]["nodes"])


def meeting_port(service: Facts) -> int | None:
    """The port on which the leader of a group waits for its workers; None without workers, and for simulators, whose pods do not connect."""
    if service["accelerator"]["nodes"] == 1 or service["engine"]["type"] == "simulator":
        return None
    return RPC_PORT if service["accelerator"]["across_nodes"] == "expert" else RAY_PORT


def to_workload(service: Facts, pod: Facts) -> tuple[Facts, Facts, Facts | None]:
    """(facts of the workload, which is a Deployment or a LeaderWorkerSet; additional fields of its pods; fields of the workers, None for a Deployment).

    pod: selector, labels, args and env of a server on one node.
    """
    nodes, simulated = service["accelerator"]["nodes"], service["engine"]["type"] == "simulator"
    if nodes == 1:
        command = ENGINE_DEFAULTS[service["engine"]["type"]]["command"]
        return {**_DEPLOYMENT, "nodes": nodes}, {"command": list(command) if command else None}, None
    leader, worker = _WAYS["simulator" if simulated else service["accelerator"]["across_nodes"] or "pipeline"](service, pod["args"])
    names = {item["name"] for item in pod["env"]}
    defaults = [] if simulated else [{"name": "VLLM_HOST_IP", "value": "$(POD_IP)"}, {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"}]
    env = {"env": pod["env"] + [item for item in defaults if item["name"] not in names]}
    # The pool and the Services select servers by this label: only leaders answer requests.
    not_serving = {SERVING_LABEL: "false"}
    silent: Facts = {"container_ports": [], "probes": {}, "init_containers": []}
    marked = {"labels": {**pod["labels"], **not_serving}, "selector": {**pod["selector"], **not_serving}}
    return {**_GROUPS, "nodes": nodes}, {**env, **leader}, {**env, **silent, **marked, **worker}


def node_problems(service: Facts, path: str, ending: str = "") -> list[Problem]:
    """Mistakes in the options of servers that span several nodes. ending: the suffix that the plan adds to the name of the service."""
    settings, place = service["accelerator"], f"{path}.accelerator"
    nodes, count, way = settings["nodes"], settings["per_replica"], settings["across_nodes"]
    bare, simulated = vendor(service) == "none", service["engine"]["type"] == "simulator"
    problems = _part_problems(service, path)
    if nodes == 1:
        return problems + (
            [Problem(f"{place}.across_nodes", way, "is for servers of several nodes.", "Take it out, or write nodes: 2 or more.")] if way else []
        )
    if service["engine"]["type"] not in FULL_SUPPORT:
        why = f"is for vLLM: groups of several nodes are not set up for {ENGINES[service['engine']['type']].title}."
        return [*problems, Problem(f"{place}.nodes", nodes, why, "Write nodes: 1, or 'type: vllm'.")]
    if bare and not simulated:
        return [*problems, Problem(f"{place}.nodes", nodes, "there are no accelerators that could lie on several nodes.", "Take it out.")]
    if way and simulated:
        problems.append(Problem(f"{place}.across_nodes", way, "is of no use: the simulator has no model that could lie on several nodes.", "Take it out."))
    if count % nodes and not bare:
        fix = f"Write a multiple of {nodes}, such as {-(-count // nodes) * nodes}."
        problems.append(Problem(f"{place}.per_replica", count, f"cannot be laid on {nodes} nodes in equal parts.", fix))
    if len(service["name"]) > LONGEST_NAME:
        longest = LONGEST_NAME - len(ending)
        fix = f"Write a name of at most {longest} characters, such as {service['name'][:longest].rstrip('-')}."
        problems.append(Problem(f"{path}.name", service["name"], "is too long for servers of several nodes, whose pods are numbered.", fix))
    return problems


def _part_problems(service: Facts, path: str) -> list[Problem]:
    """Mistakes in the parallelism within one node: pipeline, data, expert."""
    settings, place = service["accelerator"], f"{path}.accelerator"
    options = [name for name, usual in (("pipeline", 1), ("data", 1), ("expert", 0)) if settings[name] > usual]
    if not options:
        return []
    value, place = settings[options[0]], f"{place}.{options[0]}"
    if vendor(service) == "none" or service["engine"]["type"] == "simulator":
        return [Problem(place, value, "is of no use: there are no accelerators to divide.", "Take it out.")]
    if unknown := [name for name in options if not has_option(service["engine"]["type"], name)]:
        title, others = ENGINES[service["engine"]["type"]].title, engines_with(unknown[0])
        return [Problem(f"{path}.accelerator.{unknown[0]}", settings[unknown[0]], f"is no option of {title}.", f"Take it out, or write type: {others}.")]
    if settings["nodes"] > 1:
        why = "is for servers of one node; across_nodes sets it for servers of several nodes."
        return [Problem(place, value, why, f"Take it out, and write across_nodes: {'pipeline' if options[0] == 'pipeline' else 'expert'}.")]
    if written := sorted(flags_of(service["engine"]["args"]).keys() & _FLAGS_OF_A_NODE):
        return [Problem(place, value, f"is also set by --{written[0]} in engine.args.", "Write one of them.")]
    count, parts = settings["per_replica"], settings["pipeline"] * settings["data"]
    if count % parts:
        fix = f"Write numbers whose product divides {count}, or per_replica: {-(-count // parts) * parts}."
        return [Problem(place, value, f"leaves {count} accelerators in {parts} unequal parts.", fix)]
    if settings["expert"] and count == 1:
        return [Problem(f"{path}.accelerator.expert", True, "is of no use: there is one accelerator.", "Take it out, or write per_replica: 2 or more.")]
    return []


def scheduler_problems(service: Facts, path: str, required: Facts) -> list[Problem]:
    """Schedulers that need KV events, or prefill and decode servers: both work only with servers of one pod."""
    if service["accelerator"]["nodes"] == 1 or not (required["roles"] or any(required["vllm"].values())):
        return []
    why = "requires KV events, or transfers between prefill and decode, which servers of several nodes do not support."
    return [Problem(f"{path}.scheduler", service["scheduler"]["preset"], why, "Write preset: prefix_aware, or nodes: 1 under accelerator.")]


def _simulator(service: Facts, args: list[str]) -> tuple[Facts, Facts]:
    """(leader, worker) of a simulated group: each pod runs a simulator, and only the leader gets requests."""
    alike = {"command": None, "args": args}
    return alike, alike


def _pipeline(service: Facts, args: list[str]) -> tuple[Facts, Facts]:
    """(leader, worker) with Ray: the leader starts the Ray cluster and serves on it, workers wait for it and join.

    A worker that exits restarts the whole group, so workers retry.
    """
    wide = [f"--pipeline-parallel-size={service['accelerator']['nodes']}", "--distributed-executor-backend=ray"]
    narrow = [f"--tensor-parallel-size={per_node(service)}"] if per_node(service) > 1 else []
    begin = f'ray start --head --port={RAY_PORT} --node-ip-address="$POD_IP" --include-dashboard=false && exec vllm serve "$@"'
    address = f'--address="$LWS_LEADER_ADDRESS:{RAY_PORT}"'
    join = f'until ray health-check {address}; do sleep 2; done; exec ray start {address} --node-ip-address="$POD_IP" --block'
    return {"command": _shell(begin), "args": _positional(args, *narrow, *wide)}, {"command": _shell(join), "args": []}


def _expert(service: Facts, args: list[str]) -> tuple[Facts, Facts]:
    """(leader, worker) with expert parallelism: one engine for each accelerator; the leader's API server distributes requests over them."""
    local = per_node(service)
    common = [f"--data-parallel-size={service['accelerator']['per_replica']}", f"--data-parallel-size-local={local}"]
    common += [f"--data-parallel-rpc-port={RPC_PORT}", "--enable-expert-parallel"]
    # The leader listens on an IP address; the workers connect by name.
    leader = _positional(args, *common, "--data-parallel-address=$(POD_IP)")
    worker = _positional(args, *common, "--data-parallel-address=$(LWS_LEADER_ADDRESS)", "--headless")
    start = f'exec vllm serve "$@" {START_RANK}="$((LWS_WORKER_INDEX * {local}))"'
    return {"command": _shell('exec vllm serve "$@"'), "args": leader}, {"command": _shell(start), "args": worker}


_WAYS = {"simulator": _simulator, "pipeline": _pipeline, "expert": _expert}


def _shell(script: str) -> list[str]:
    """The command that runs a script; $@ are the arguments of the container."""
    return ["/bin/bash", "-c", script, "vllm"]


def _positional(args: list[str], *derived: str) -> list[str]:
    """The arguments for `vllm serve`: the model, `derived`, then the others without the tensor parallelism of one node."""
    model, *rest = args
    return [model, *derived, *(argument for argument in rest if not argument.startswith("--tensor-parallel-size="))]
