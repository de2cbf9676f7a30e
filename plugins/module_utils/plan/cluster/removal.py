# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our objects in the namespaces that a teardown deletes, and the permissions to list the other objects. Pure."""

from __future__ import annotations

from ...common.objects import Facts
from ...k8s.applyset import reference
from ...releases.charts import CHART_LEAVES
from ...releases.gateways import GATEWAY_PROVIDERS
from ...releases.lines import LEADER_WORKER_SET
from ..gateways.gateway import CERT_MANAGER, default_name
from ..parts.names import name_suffix


def contents(planned: Facts, user: Facts) -> Facts:
    """The options of the module namespace_contents, except the namespaces."""
    charts, home = _charts(planned), planned["namespace"]
    secrets = [*planned["secrets"]["present"], *planned["secrets"]["prune"]]
    return {
        "labels": planned["labels"],
        "home": home,
        # Objects that are deployed with the other half of the permissions are deleted with these namespaces.
        "tenants": list(dict.fromkeys((home, planned["scheduler_namespace"]))) if planned["scope"] == "prerequisites" else [],
        "releases": [{key: chart[key] for key in ("release_name", "namespace")} for chart in charts],
        "marks": [*_left_by_charts(charts), *_proxies(planned["gateway"], user), *_certificates(planned["gateway"]), *_operators(planned["gpus"])],
        "going": [*map(reference, secrets), *_claims(planned)],
    }


def permissions(planned: Facts) -> list[Facts]:
    """Permissions to list objects that would be deleted with a namespace or lose their controller, as attributes of an access review. Without them the
    namespace and the controller stay."""
    gpus, controllers = planned["gpus"], planned["record"]["controllers"]
    names = [*planned["prerequisites"]["namespaces"], *(gpus["namespaces"] if gpus["active"] else [])]
    shared = (
        [(LEADER_WORKER_SET["group"], LEADER_WORKER_SET["crd"].partition(".")[0]), ("", "configmaps")] if controllers else []
    )  # and the records of other files
    users = [{"verb": "list", "group": group, "resource": resource, "namespace": ""} for group, resource in shared]
    return [*users, *({"verb": "list", "group": "*", "resource": "*", "namespace": name} for name in dict.fromkeys(each["name"] for each in names))]


def _charts(planned: Facts) -> list[Facts]:
    """The charts that we may have installed, by this run or earlier, each once."""
    gpus = planned["gpus"]
    charts = [*planned["record"]["controllers"], *([gpus["chart"]] if gpus["active"] and gpus["chart"] else [])]
    return list({(chart["release_name"], chart["namespace"]): chart for chart in charts}.values())


def _left_by_charts(charts: list[Facts]) -> list[Facts]:
    return [{"namespace": chart["namespace"], **left} for chart in charts for left in CHART_LEAVES.get(chart["release_name"], ())]


def _proxies(gateway: Facts, user: Facts) -> list[Facts]:
    """Proxies of our Gateway in the namespace of their controller, also of a previous provider. The proxies of other providers are owned by the Gateway."""
    proxies = []
    for provider, row in GATEWAY_PROVIDERS.items():
        name = gateway["name"] if provider == gateway["provider"] else (user["llm_d_gateway"]["name"] or default_name(provider)) + name_suffix(user)
        if row["proxy_namespace"] == "controller":
            labels = row["owning_labels"]
            proxies.append({"namespace": row["namespace"], "labels": {labels["name"]: name, labels["namespace"]: gateway["namespace"]}})
    return proxies


def _certificates(gateway: Facts) -> list[Facts]:
    """Secrets that cert-manager creates for listeners of our Gateway, and does not delete."""
    secrets = [listener["tls_secret"] for listener in gateway["listeners"] if gateway["annotations"] and listener["tls_secret"]]
    return [{"namespace": each["namespace"], "kind": "Secret", "name": each["name"], "annotation": f"{CERT_MANAGER}/certificate-name"} for each in secrets]


def _operators(gpus: Facts) -> list[Facts]:
    """Objects that OLM creates for our Subscriptions and labels with them, and the objects in which Node Feature Discovery records nodes."""
    objects = [{"namespace": each["namespace"], "labels": {f"operators.coreos.com/{each['name']}.{each['namespace']}": ""}} for each in gpus["subscriptions"]]
    return objects + [{"namespace": each["name"], "kind": "NodeFeature"} for each in gpus["namespaces"]]


def _claims(planned: Facts) -> list[Facts]:
    """The claims that are deleted with their servers."""
    heads = [{"name": name, "namespace": planned["namespace"]} for name in planned["record"]["given_up"]]
    return [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": head} for head in heads]
