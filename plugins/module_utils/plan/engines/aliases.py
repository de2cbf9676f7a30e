# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other names of a model, which its endpoint picker rewrites in requests: model.aliases as an InferenceModelRewrite. Pure."""

from __future__ import annotations

from ...common.objects import Facts
from ...releases.gateways import GATEWAY_PROVIDERS
from ...releases.lines import NEWER_GROUP, OLDER_GROUP, RELEASES
from ...schema.fields import Problem
from .weights import served_name

KIND = "InferenceModelRewrite"
API_VERSIONS = tuple(f"{group}/v1alpha2" for group in (NEWER_GROUP, OLDER_GROUP))


def rewrites(service: Facts, release: Facts) -> Facts | None:
    """{api_version, rules} of the InferenceModelRewrite of a service; None where it has no aliases.

    The router reads the newer group as soon as the cluster serves it, which the CRDs of the release line decide.
    """
    aliases = service["model"]["aliases"]
    if not aliases:
        return None
    newer, older = API_VERSIONS
    return {
        "api_version": newer if any(f"{NEWER_GROUP}_" in source for source in release["crds_sources"]) else older,
        "rules": [
            {
                "matches": [{"model": {"type": "Exact", "value": alias}}],
                "targets": [{"modelRewrite": name, "weight": weight} for name, weight in _targets(models).items() if weight],
            }
            for alias, models in aliases.items()
        ],
    }


def _targets(models: str | dict[str, int]) -> dict[str, int]:
    return {models: 1} if isinstance(models, str) else models


def alias_names(service: Facts) -> list[str]:
    """The aliases of a service and the models that they stand for, without its served name. Each of these names has to answer."""
    aliases = service["model"]["aliases"]
    names = dict.fromkeys([*aliases, *(name for models in aliases.values() for name in _targets(models))])
    return [name for name in names if name != served_name(service["model"])]


def alias_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    """Aliases that no endpoint picker would read, or that have no valid target."""
    aliases, place = service["model"]["aliases"], f"{path}.model.aliases"
    if not aliases:
        return []
    provider = user["llm_d_gateway"]["provider"]
    if not GATEWAY_PROVIDERS[provider]["gateway_api"] and RELEASES[user["llm_d_release"]]["endpoint_selector"]:
        why = f"are rewritten for the requests of an InferencePool, and provider {provider} has none with {user['llm_d_release']}."
        return [Problem(place, aliases, why, "Take them out, or write another provider.")]
    problems = []
    for alias, models in aliases.items():
        if not any(_targets(models).values()):
            problems.append(Problem(f"{place}.{alias}", models, "gives no model any requests.", f"Write a model, such as {served_name(service['model'])}."))
        if alias == served_name(service["model"]):
            why = "is the served name itself, which the verdict, warm-up and measurements ask for: they are about one model."
            problems.append(Problem(f"{place}.{alias}", models, why, "Write another served_name, and this name for clients as an alias."))
        elif alias in _targets(models):
            problems.append(Problem(f"{place}.{alias}", models, "is an alias of itself.", "Write the served name of a model."))
    return problems
