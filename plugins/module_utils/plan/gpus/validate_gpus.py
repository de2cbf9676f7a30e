# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes in llm_d_gpus: operators, charts, node pools, shares of a GPU and MIG profiles. Pure."""

from __future__ import annotations

import json

from ...common.objects import Facts
from ...releases.gpus import COMPUTE_SLICES, MEMORY_SLICES, MIG, OPERATORS, SLICES
from ...schema.fields import Problem

BLOCK = "llm_d_gpus"


def gpu_problems(user: Facts) -> list[Problem]:
    """Options of llm_d_gpus that contradict the platform, the product or each other."""
    settings = user[BLOCK]
    facts = OPERATORS[settings["operator"]]
    problems = []
    if facts.get("platforms") and user["llm_d_platform"] not in facts["platforms"]:
        other = "nvidia_olm" if user["llm_d_platform"] == "openshift" else "nvidia_helm"
        problems.append(
            Problem(
                f"{BLOCK}.operator",
                settings["operator"],
                f"is for {' and '.join(facts['platforms'])}, and llm_d_platform is '{user['llm_d_platform']}'.",
                f"Write '{other}' for NVIDIA, or 'none' where device plugins are there.",
            )
        )
    if settings["approved"] and settings["approval"] != "Manual":
        problems.append(Problem(f"{BLOCK}.approved", settings["approved"], "is for 'approval: Manual'.", "Write that, or take it out."))
    taken: dict[str, str] = {}
    for index, pool in enumerate(settings["pools"]):
        path = f"{BLOCK}.pools[{index}]"
        problems += _pool_problems(pool, path, settings)
        for key in (f"name {pool['name']}", json.dumps(pool["node_selector"], sort_keys=True)):
            if key in taken:
                option = "name" if key.startswith("name ") else "node_selector"
                problems.append(Problem(f"{path}.{option}", pool[option], f"duplicates {taken[key]}.", "A node belongs to one pool: write another value."))
            taken.setdefault(key, path)
    return problems


def _pool_problems(pool: Facts, path: str, settings: Facts) -> list[Problem]:
    problems = []
    if not pool["node_selector"]:
        problems.append(Problem(f"{path}.node_selector", {}, "is empty, and would take every node.", "Write labels of the nodes."))
    if pool["sharing"] != "exclusive" and settings["operator"] in ("amd", "gaudi"):
        problems.append(Problem(f"{path}.sharing", pool["sharing"], f"is not available with operator {settings['operator']}.", "Write exclusive."))
    if pool["sharing"] == "mig":
        problems += _mig_problems(pool, path)
    elif pool["profiles"]:
        problems.append(
            Problem(
                f"{path}.profiles", pool["profiles"], f"are for 'sharing: mig', and sharing is '{pool['sharing']}'.", "Take them out, or write 'sharing: mig'."
            )
        )
    if pool["sharing"] in ("time_slicing", "mps"):
        problems += _replica_problems(pool, path)
    elif pool["replicas"] is not None:
        hint = "MPS and time slicing cannot be laid over MIG here. " if pool["sharing"] == "mig" else ""
        problems.append(Problem(f"{path}.replicas", pool["replicas"], f"is for 'sharing: time_slicing' or mps. {hint}".rstrip(), "Take it out."))
    return problems


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
        return [Problem(f"{path}.replicas", value, f"{value} is not possible: a GPU is shared by a whole number of pods.", fix)]
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
    problems = [
        Problem(f"{path}.profiles.{name}", count, f"one {product} has at most {table[name]} of {name}.", f"Write {table[name]} or less.")
        for name, count in profiles.items()
        if count > table[name]
    ]
    return problems or _sum_problems(pool, path)


def _sum_problems(pool: Facts, path: str) -> list[Problem]:
    """MIG profiles that together do not fit on one GPU."""
    compute, memory = SLICES.get(pool["product"], (COMPUTE_SLICES, MEMORY_SLICES))
    sizes = [(compute_slices(name) * count, memory_slices(name, pool["product"]) * count) for name, count in pool["profiles"].items()]
    used = (sum(first for first, _second in sizes), sum(second for _first, second in sizes))
    if used[0] <= compute and used[1] <= memory:
        return []
    mix = " and ".join(f"{count} of {name}" for name, count in pool["profiles"].items())
    why = f"{mix} need {used[0]} compute and {used[1]} memory slices, and one {pool['product']} has {compute} and {memory}."
    return [Problem(f"{path}.profiles", pool["profiles"], why, "Write fewer, or spread them over two pools.")]


def compute_slices(profile: str) -> int:
    """Number of compute slices of a MIG profile such as 3g.40gb."""
    return int(profile.split("g.", 1)[0])


def memory_slices(profile: str, product: str) -> int:
    """Number of memory slices of a MIG profile.

    Of eight, 3g and 4g take four, 7g all, and the larger of two 1g profiles two. Products with four slices have as many for memory as for compute.
    """
    size = compute_slices(profile)
    if product in SLICES:
        return size
    smallest = min(int(name.split(".")[1][:-2]) for name in MIG[product])
    if size == 1:
        return 1 if int(profile.split(".")[1][:-2]) == smallest else 2
    return {2: 2, 3: 4, 4: 4, 7: 8}[size]
