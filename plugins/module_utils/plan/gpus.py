# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU operators and the sharing of GPUs: definitions, device-plugin and MIG configurations, node labels, and what has to come of them. Pure."""

from __future__ import annotations

import json
import typing as t

from ..releases.gpus import COMPUTE_SLICES, DRIVER_THERE, MEMORY_SLICES, MIG, OPERATORS, SLICES
from ..releases.lines import ACCELERATORS
from ..schema.fields import Problem
from .gpu_checks import checks, use
from .gpu_gaudi import gaudi_policy, gaudi_problems
from .gpu_images import chart_images

Facts = dict[str, t.Any]
BLOCK = "llm_d_gpus"
DEVICE_CONFIG, MIG_CONFIG = "llm-d-device-plugin", "llm-d-mig-parted"
GPU = "nvidia.com/gpu"


def gpus(user: Facts, owner: Facts) -> Facts:
    """All about GPUs that the role gpu_operator does. owner: labels of what is ours."""
    settings = user[BLOCK]
    facts = OPERATORS[settings["operator"]]
    shared = [pool for pool in settings["pools"] if pool["sharing"] in ("time_slicing", "mps")]
    cut = [pool for pool in settings["pools"] if pool["sharing"] == "mig"]
    strategy = mig_strategy(cut)
    driver = settings["driver"] if settings["driver"] is not None else user["llm_d_platform"] not in DRIVER_THERE
    configured = settings["install"] and settings["operator"] in ("nvidia_olm", "nvidia_helm")
    wanted = [name for name, used in ((DEVICE_CONFIG, shared), (MIG_CONFIG, cut)) if used]
    return {
        "operator": settings["operator"],
        "install": settings["install"] and settings["operator"] != "none",
        # Operators, and labels of nodes, are an administrator's.
        "active": user["llm_d_scope"] != "namespace" and (settings["operator"] != "none" or bool(settings["pools"])),
        "namespace": facts["namespace"],
        "subscriptions": (subscriptions := _subscriptions(settings, facts)),
        "installed": _installed(settings, facts),
        "approval": _approval(settings, facts),
        "namespaces": _namespaces(settings, facts, owner),
        "node_feature_discovery": settings["node_feature_discovery"] and settings["operator"] == "nvidia_olm",
        "chart": (chart := _chart(user, facts, strategy, driver, bool(shared), bool(cut))),
        "images": chart_images(user, facts["chart"], driver)[0] if chart else [],
        "cluster_policy": _cluster_policy(strategy, driver, settings["metrics"], bool(shared), bool(cut)) if settings["operator"] == "nvidia_olm" else None,
        "gaudi_policy": gaudi_policy(user),
        "ready": _ready(settings, facts),
        "mig_strategy": strategy,
        "device_plugin": {"name": DEVICE_CONFIG, "data": _device_configs(settings["pools"], strategy)} if shared and configured else None,
        "mig_manager": {"name": MIG_CONFIG, "data": {"config.yaml": _mig_configs(cut)}} if cut and configured else None,
        # What pools that were shared in another way have left.
        "unwanted": [_config_map(name, facts) for name in (DEVICE_CONFIG, MIG_CONFIG) if configured and name not in wanted],
        "pools": (pools := [_pool(pool, strategy, configured, ACCELERATORS[facts["vendor"]]["resource"]) for pool in settings["pools"]]),
        "checks": checks(user, facts, pools, owner),
        "use": use(settings, facts, subscriptions),
    }


def _ready(settings: Facts, facts: Facts) -> Facts | None:
    """A reference to what the operator reports on. One that someone else installed may bear any name: all that are there count."""
    ready = facts.get("ready")
    return {**{key: ready[key] for key in ("api_version", "kind")}, "every": True} if ready and not settings["install"] else ready


def gpu_problems(user: Facts) -> list[Problem]:
    """What cannot be: a wrong platform, mixes that no GPU can be cut into, fractions, pools that overlap."""
    settings = user[BLOCK]
    facts = OPERATORS[settings["operator"]]
    found = []
    if facts.get("platforms") and user["llm_d_platform"] not in facts["platforms"]:
        other = "nvidia_olm" if user["llm_d_platform"] == "openshift" else "nvidia_helm"
        found.append(
            Problem(
                f"{BLOCK}.operator",
                settings["operator"],
                f"is for {' and '.join(facts['platforms'])}, and llm_d_platform is '{user['llm_d_platform']}'.",
                f"Write '{other}' for NVIDIA, or 'none' where device plugins are there.",
            )
        )
    chart = facts.get("chart")
    if chart and settings["install"] and user["llm_d_scope"] != "namespace" and not user["llm_d_charts"].get(chart["key"]):
        found.append(
            Problem(
                f"llm_d_charts.{chart['key']}",
                None,
                "is missing, so that there is no chart to install the operator from.",
                f"Write the folder, archive or oci:// reference of chart {chart['name']}, or 'install: false' under {BLOCK}.",
            )
        )
    found += gaudi_problems(user)
    if settings["approved"] and settings["approval"] != "Manual":
        found.append(Problem(f"{BLOCK}.approved", settings["approved"], "is for 'approval: Manual'.", "Write that, or take it out."))
    seen: dict[str, str] = {}
    for index, pool in enumerate(settings["pools"]):
        path = f"{BLOCK}.pools[{index}]"
        found += _pool_problems(pool, path, settings)
        for key in (f"name {pool['name']}", json.dumps(pool["node_selector"], sort_keys=True)):
            if key in seen:
                option = "name" if key.startswith("name ") else "node_selector"
                found.append(
                    Problem(f"{path}.{option}", pool[option], f"{seen[key]} has it already.", "One node, one way to share: give each pool nodes of its own.")
                )
            seen.setdefault(key, path)
    return found


def _pool_problems(pool: Facts, path: str, settings: Facts) -> list[Problem]:
    found = []
    if not pool["node_selector"]:
        found.append(Problem(f"{path}.node_selector", {}, "is empty, and would take every node.", "Write labels of the nodes."))
    if pool["sharing"] != "exclusive" and settings["operator"] in ("amd", "gaudi"):
        found.append(Problem(f"{path}.sharing", pool["sharing"], f"cannot be had with operator {settings['operator']}.", "Write exclusive."))
    if pool["sharing"] == "mig":
        found += _mig_problems(pool, path)
    elif pool["profiles"]:
        found.append(
            Problem(
                f"{path}.profiles", pool["profiles"], f"are for 'sharing: mig', and sharing is '{pool['sharing']}'.", "Take them out, or write 'sharing: mig'."
            )
        )
    if pool["sharing"] in ("time_slicing", "mps"):
        found += _replica_problems(pool, path)
    elif pool["replicas"] is not None:
        hint = "MPS and time slicing cannot be laid over MIG here. " if pool["sharing"] == "mig" else ""
        found.append(Problem(f"{path}.replicas", pool["replicas"], f"is for 'sharing: time_slicing' or mps. {hint}".rstrip(), "Take it out."))
    return found


def _replica_problems(pool: Facts, path: str) -> list[Problem]:
    value = pool["replicas"]
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2:
        return []
    if value is None:
        return [Problem(f"{path}.replicas", None, "is missing: how many pods share one GPU?", "Write a whole number from 2 on.")]
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if number > 1 and number != int(number):
        fix = f"Write {max(2, int(number))}, or split the nodes into two pools, one exclusive and one with {int(number) + 1}."
        return [Problem(f"{path}.replicas", value, f"{value} cannot be had: a GPU is shared by a whole number of pods.", fix)]
    return [Problem(f"{path}.replicas", value, f"{value!r} shares nothing.", "Write a whole number from 2 on, or 'sharing: exclusive'.")]


def _mig_problems(pool: Facts, path: str) -> list[Problem]:
    product, profiles = pool["product"], pool["profiles"]
    if not product:
        return [
            Problem(
                f"{path}.product",
                None,
                "is missing: what a GPU can be cut into depends on it.",
                f"Write one of: {', '.join(name for name in MIG if MIG[name])}.",
            )
        ]
    table = MIG[product]
    if not table:
        return [Problem(f"{path}.sharing", "mig", f"{product} cannot be cut into slices.", "Write time_slicing, mps or exclusive.")]
    if not profiles:
        return [Problem(f"{path}.profiles", None, "is missing.", f"Write how many of which: {', '.join(table)}.")]
    unknown = [name for name in profiles if name not in table]
    if unknown:
        return [
            Problem(f"{path}.profiles.{name}", profiles[name], f"'{name}' is no profile of {product}.", f"Write one of: {', '.join(table)}.")
            for name in unknown
        ]
    found = [
        Problem(f"{path}.profiles.{name}", count, f"one {product} has at most {table[name]} of {name}.", f"Write {table[name]} or less.")
        for name, count in profiles.items()
        if count > table[name]
    ]
    return found or _sum_problems(pool, path)


def _sum_problems(pool: Facts, path: str) -> list[Problem]:
    """Profiles that are each right do not fit one GPU together."""
    compute, memory = SLICES.get(pool["product"], (COMPUTE_SLICES, MEMORY_SLICES))
    asked = [(compute_slices(name) * count, memory_slices(name, pool["product"]) * count) for name, count in pool["profiles"].items()]
    used = (sum(first for first, _second in asked), sum(second for _first, second in asked))
    if used[0] <= compute and used[1] <= memory:
        return []
    mix = " and ".join(f"{count} of {name}" for name, count in pool["profiles"].items())
    why = f"{mix} need {used[0]} compute and {used[1]} memory slices, and one {pool['product']} has {compute} and {memory}."
    return [Problem(f"{path}.profiles", pool["profiles"], why, "Write fewer, or spread them over two pools.")]


def compute_slices(profile: str) -> int:
    """Compute slices of a profile such as 3g.40gb."""
    return int(profile.split("g.", 1)[0])


def memory_slices(profile: str, product: str) -> int:
    """Memory slices of a profile: 3g and 4g take four of the eight, 7g all, the larger 1g two. Products of four slices have as many of both."""
    size = compute_slices(profile)
    if product in SLICES:
        return size
    smallest = min(int(name.split(".")[1][:-2]) for name in MIG[product])
    if size == 1:
        return 1 if int(profile.split(".")[1][:-2]) == smallest else 2
    return {2: 2, 3: 4, 4: 4, 7: 8}[size]


def mig_strategy(pools: t.Sequence[Facts]) -> str:
    """none, single (all slices of a node are equal and count as nvidia.com/gpu), or mixed. One for the whole cluster."""
    if not pools:
        return "none"
    return "single" if all(len(pool["profiles"] or {}) == 1 for pool in pools) else "mixed"


def _config_map(name: str, facts: Facts) -> Facts:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": facts["namespace"]}}


def _pool(pool: Facts, strategy: str, configured: bool, whole: str | None) -> Facts:
    """Labels for the nodes of a pool, and what their allocatable has to be. whole: the resource of an accelerator that is not cut."""
    expected = []
    number = pool["gpus_per_node"]
    cut = pool["sharing"] == "mig"
    if cut:
        for name, count in (pool["profiles"] or {}).items():
            resource = GPU if strategy == "single" else f"nvidia.com/mig-{name}"
            expected.append({"resource": resource, "count": number * count if number else None})
    else:
        expected.append({"resource": whole, "count": number * (pool["replicas"] or 1) if number else None})
    # None: not there. A node that was cut is told to be whole again; one that never was needs no word.
    labels = {
        "nvidia.com/device-plugin.config": pool["name"] if pool["sharing"] in ("time_slicing", "mps") else None,
        **({"nvidia.com/mig.config": pool["name"]} if cut else {}),
    }
    return {
        "name": pool["name"],
        "selector": ",".join(f"{key}={value}" for key, value in pool["node_selector"].items()),
        "labels": labels if configured else {},
        "corrected": {"nvidia.com/mig.config": "all-disabled"} if configured and not cut else {},
        "expected": expected,
        "state_label": "nvidia.com/mig.config.state" if cut else None,
    }


def _device_configs(pools: t.Sequence[Facts], strategy: str) -> Facts:
    """The device plugin's configurations by name: one for each pool that shares, and the one of all other nodes."""
    found = {"default": _yaml({"version": "v1", "flags": {"migStrategy": strategy}})}
    for pool in pools:
        if pool["sharing"] not in ("time_slicing", "mps"):
            continue
        resources = [{"name": GPU, "replicas": pool["replicas"]}]
        if pool["sharing"] == "time_slicing":  # a pod that asks for two would get the same GPU twice
            sharing: Facts = {"timeSlicing": {"failRequestsGreaterThanOne": True, "resources": resources}}
        else:
            sharing = {"mps": {"resources": resources}}
        found[pool["name"]] = _yaml({"version": "v1", "flags": {"migStrategy": strategy}, "sharing": sharing})
    return found


def _mig_configs(pools: t.Sequence[Facts]) -> str:
    configs: Facts = {"all-disabled": [{"devices": "all", "mig-enabled": False}]}
    configs.update({pool["name"]: [{"devices": "all", "mig-enabled": True, "mig-devices": dict(pool["profiles"])}] for pool in pools})
    return _yaml({"version": "v1", "mig-configs": configs})


def _yaml(document: Facts) -> str:
    return json.dumps(document, indent=2) + "\n"  # YAML as well


def _subscriptions(settings: Facts, facts: Facts) -> list[Facts]:
    if not settings["install"]:
        return []
    found = [dict(item) for item in facts.get("subscriptions", []) if item["name"] != "nfd" or settings["node_feature_discovery"]]
    for item in found:
        if item["name"] != "nfd" and settings["channel"]:
            item["channel"] = settings["channel"]
        item["approval"] = settings["approval"]
    return found


def _installed(settings: Facts, facts: Facts) -> list[Facts]:
    """References to what OLM has to report on: Subscriptions, and the operators themselves by the label that OLM gives them."""
    version, found = "operators.coreos.com/v1alpha1", []
    for item in _subscriptions(settings, facts):
        label = f"operators.coreos.com/{item['name']}.{item['namespace']}"
        found.append({"api_version": version, "kind": "Subscription", "namespace": item["namespace"], "name": item["name"]})
        found.append({"api_version": version, "kind": "ClusterServiceVersion", "namespace": item["namespace"], "label_selector": label})
    return found


def _approval(settings: Facts, facts: Facts) -> Facts | None:
    """Which Subscriptions wait for an approval, and what they may install at first; None where nothing waits."""
    names = [{key: item[key] for key in ("namespace", "name")} for item in _subscriptions(settings, facts)]
    return {"subscriptions": names, "approved": settings["approved"]} if names and settings["approval"] == "Manual" else None


def _namespaces(settings: Facts, facts: Facts, owner: Facts) -> list[Facts]:
    """The operators' own namespaces. Monitoring of the platform is right for these, and wrong for those of users."""
    if not settings["install"] or not facts["namespace"]:
        return []
    olm = [item["namespace"] for item in _subscriptions(settings, facts)]
    labels = {"openshift.io/cluster-monitoring": "true"} if olm else {"pod-security.kubernetes.io/enforce": "privileged"}
    return [{"name": name, "labels": {**owner, **labels}} for name in dict.fromkeys([*olm, facts["namespace"]])]


def _chart(user: Facts, facts: Facts, strategy: str, driver: bool, shared: bool, cut: bool) -> Facts | None:
    settings, chart = user[BLOCK], facts.get("chart")
    if not chart or not settings["install"]:
        return None
    values: Facts = {
        "driver": {"enabled": driver},
        "toolkit": {"enabled": driver},
        "nfd": {"enabled": settings["node_feature_discovery"]},
        "mig": {"strategy": strategy},
        "dcgmExporter": {"serviceMonitor": {"enabled": settings["metrics"]}},
    }
    if shared:
        values["devicePlugin"] = {"config": {"name": DEVICE_CONFIG, "default": "default"}}
    if cut:
        values["migManager"] = {"config": {"name": MIG_CONFIG, "default": "all-disabled"}}
    for part, said in chart_images(user, chart, driver)[1].items():
        values.setdefault(part, {}).update(said)
    return {
        "release_name": chart["release_name"],
        "namespace": facts["namespace"],
        "ref": user["llm_d_charts"].get(chart["key"]),
        "version": settings["version"] or chart["version"],
        "values": values,
    }


def _cluster_policy(strategy: str, driver: bool, metrics: bool, shared: bool, cut: bool) -> Facts:
    """The spec of the one ClusterPolicy, with every section that its definition requires."""
    on = {"enabled": True}
    plugin: Facts = dict(on)
    if shared:
        plugin["config"] = {"name": DEVICE_CONFIG, "default": "default"}
    manager: Facts = dict(on)
    if cut:
        manager["config"] = {"name": MIG_CONFIG, "default": "all-disabled"}
    return {
        "operator": {"defaultRuntime": "crio", "use_ocp_driver_toolkit": True},
        "daemonsets": {"updateStrategy": "RollingUpdate"},
        "driver": {"enabled": driver},
        "toolkit": {"enabled": driver},
        "devicePlugin": plugin,
        "dcgm": dict(on),
        "dcgmExporter": {**on, "serviceMonitor": {"enabled": metrics}},
        "gfd": dict(on),
        "nodeStatusExporter": dict(on),
        "mig": {"strategy": strategy},
        "migManager": manager,
        "validator": {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "true"}]}},
    }
