# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU operators: their installation (OLM or Helm), their configuration (ClusterPolicies, chart values), and the objects that report their state. Pure."""

from __future__ import annotations

from ...common.objects import Facts
from ...releases.gateways import PLATFORMS
from ...releases.gpus import GAUDI_RELEASE
from ...releases.sources import GAUDI_REGISTRY
from ..parts.chart_values import with_own
from ..parts.references import chart as chart_source
from ..parts.references import mirrored

BLOCK = "llm_d_gpus"
# ConfigMaps of the device plugin and of the MIG manager.
DEVICE_CONFIG, MIG_CONFIG = "llm-d-device-plugin", "llm-d-mig-parted"
# A subchart whose values have an image in two parts, and pull secrets as objects.
FEATURES = "node-feature-discovery"
# The operator appends the operating system of the node, such as ubuntu24.04, to the tag of the driver.
SYSTEM = "-<system>"


def ready_reference(settings: Facts, facts: Facts) -> Facts | None:
    """The object whose state says that the operator is ready. The object of an adopted operator can have any name, so all objects of the kind count."""
    ready = facts.get("ready")
    return {**{key: ready[key] for key in ("api_version", "kind")}, "every": True} if ready and not settings["install"] else ready


def subscriptions(settings: Facts, facts: Facts) -> list[Facts]:
    """The Subscriptions of OLM to apply. facts: the row of the operator in releases/gpus.py, as in the functions below."""
    if not settings["install"]:
        return []
    subscribed = [dict(item) for item in facts.get("subscriptions", []) if item["name"] != "nfd" or settings["node_feature_discovery"]]
    for item in subscribed:
        if item["name"] != "nfd" and settings["channel"]:
            item["channel"] = settings["channel"]
        item["approval"] = settings["approval"]
    return subscribed


def installed(settings: Facts, facts: Facts) -> list[Facts]:
    """References to the objects in which OLM reports the state of an installation: Subscriptions, and ClusterServiceVersions by the label that OLM sets."""
    version, references = "operators.coreos.com/v1alpha1", []
    for item in subscriptions(settings, facts):
        label = f"operators.coreos.com/{item['name']}.{item['namespace']}"
        references.append({"api_version": version, "kind": "Subscription", "namespace": item["namespace"], "name": item["name"]})
        references.append({"api_version": version, "kind": "ClusterServiceVersion", "namespace": item["namespace"], "label_selector": label})
    return references


def approval(settings: Facts, facts: Facts) -> Facts | None:
    """{subscriptions: those with manual approval, approved: versions}; None with automatic approval."""
    names = [{key: item[key] for key in ("namespace", "name")} for item in subscriptions(settings, facts)]
    return {"subscriptions": names, "approved": settings["approved"]} if names and settings["approval"] == "Manual" else None


def operator_namespaces(settings: Facts, facts: Facts, owner: Facts) -> list[Facts]:
    """Namespaces of the operators, with their labels. OpenShift's platform monitoring is meant for these, not for namespaces of users."""
    if not settings["install"] or not facts["namespace"]:
        return []
    olm = [item["namespace"] for item in subscriptions(settings, facts)]
    labels = {"openshift.io/cluster-monitoring": "true"} if olm else {"pod-security.kubernetes.io/enforce": "privileged"}
    return [{"name": name, "labels": {**owner, **labels}} for name in dict.fromkeys([*olm, facts["namespace"]])]


def nvidia_chart(user: Facts, facts: Facts, strategy: str, driver: bool, shared: bool, cut: bool) -> Facts | None:
    settings, chart = user[BLOCK], facts.get("chart")
    if not chart or not settings["install"]:
        return None
    toolkit = PLATFORMS[user["llm_d_platform"]].get("toolkit", {})
    defaults = {"toolkit": {"env": [{"name": name, "value": value} for name, value in toolkit.items()]}} if toolkit else {}
    values: Facts = {
        "driver": {"enabled": driver},
        "toolkit": {"enabled": driver or bool(toolkit)},
        "nfd": {"enabled": settings["node_feature_discovery"]},
        "mig": {"strategy": strategy},
        "dcgmExporter": {"serviceMonitor": {"enabled": settings["metrics"]}},
    }
    if shared:
        values["devicePlugin"] = {"config": {"name": DEVICE_CONFIG, "default": "default"}}
    if cut:
        values["migManager"] = {"config": {"name": MIG_CONFIG, "default": "all-disabled"}}
    for part, image_values in chart_images(user, chart, driver)[1].items():
        values.setdefault(part, {}).update(image_values)
    return {
        "key": chart["key"],
        "release_name": chart["release_name"],
        "namespace": facts["namespace"],
        **chart_source(user, chart["key"], chart["name"], settings["version"] or chart["version"]),
        **with_own(user, chart["key"], values, defaults),
    }


def nvidia_policy(strategy: str, driver: bool, metrics: bool, shared: bool, cut: bool) -> Facts:
    """The spec of NVIDIA's ClusterPolicy, with every section that its CRD requires."""
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


def gaudi_policy(user: Facts) -> Facts | None:
    """The spec of Gaudi's ClusterPolicy, with all its images; None for another operator, and for an adopted one."""
    settings = user["llm_d_gpus"]
    if settings["operator"] != "gaudi" or not settings["install"]:
        return None
    source = settings["gaudi"]["registry"] or mirrored(f"{GAUDI_REGISTRY}/", user["llm_d_image_registry"]).rstrip("/")
    release, options = settings["version"] or GAUDI_RELEASE, settings["gaudi"]
    system = options["system"]

    def image(path: str, tag: str = release) -> Facts:
        return {"repository": f"{source}/{path}", "tag": tag}

    driver = image(f"habana-ai-operator/driver/{system.replace('_', '')}/driver-installer")
    return {
        "image_registry": source,
        "driver": {
            "driver_loader": {
                "images": {system: driver},
                "repo_server": options["packages"] or source.partition("/")[0],
                "repo_path": "artifactory/gaudi-installer/repos",
            },
            "driver_runner": {"image": driver},
        },
        # Only this image has a tag without build number.
        "device_plugin": {"image": image("docker-k8s-device-plugin/docker-k8s-device-plugin", release.partition("-")[0])},
        "runtime": {"runner": {"image": image("habana-ai-operator/habana-container-runtime")}, "configuration": {"container_engine": "crio"}},
        "metric_exporter": {"runner": {"image": image("gaudi-metric-exporter/metric-exporter")}, "port": 41611, "interval": 20},
        "feature_discovery": {"runner": {"image": image("habana-ai-operator/habanalabs-feature-discovery")}, "nfd_plugin": False},
        "bmc_monitoring": {"image": image("habana-bmc-exporter/bmc-exporter")},
    }


def chart_images(user: Facts, chart: Facts, driver: bool) -> tuple[list[str], Facts]:
    """(images of NVIDIA's chart, chart values for them). driver: whether the operator installs driver and toolkit.

    Images come from llm_d_image_registry if it is set. For an untested version of the chart the list of images is empty, since tags are not known.
    """
    settings, mirror = user["llm_d_gpus"], user["llm_d_image_registry"]
    tested = settings["version"] in (None, chart["version"])
    used = {
        part: image
        for part, image in chart["images"].items()
        if (driver or part.partition(".")[0] not in ("driver", "toolkit")) and (settings["node_feature_discovery"] or part != FEATURES)
    }
    whole = {part: mirrored(image, mirror) for part, image in used.items()}
    values: Facts = {}
    for part, image in whole.items():
        moved = image != used[part]
        _put(values, part, {**(_image_parts(part, image, tested) if moved else {}), **_image_secrets(part, user["llm_d_image_pull_secrets"])})
    listed = [image + (SYSTEM if part == "driver" else "") for part, image in whole.items()] if tested else []
    return listed, values


def _image_parts(part: str, image: str, tested: bool) -> Facts:
    """The chart values for the image of a part; for an untested version only the repository."""
    name, _colon, tag = image.rpartition(":")
    if part == FEATURES:
        return {"image": {"repository": name, **({"tag": tag} if tested else {})}}
    repository, _slash, last = name.rpartition("/")
    return {"repository": repository, "image": last, "version": tag} if tested else {"repository": repository}


def _image_secrets(part: str, names: list[str]) -> Facts:
    if not names or "." in part:  # a nested part has no pull secrets of its own
        return {}
    return {"imagePullSecrets": [{"name": name} for name in names] if part == FEATURES else list(names)}


def _put(values: Facts, path: str, value: Facts) -> None:
    part, _dot, below = path.partition(".")
    if value and below:
        values.setdefault(part, {})[below] = value
    elif value:
        values.setdefault(part, {}).update(value)
