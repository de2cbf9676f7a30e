# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on CRDs, controllers, GatewayClasses and Gateways. Pure."""

from __future__ import annotations

import re
import typing as t

from ..common.labels import MANAGED_BY, PART_OF, has_labels
from ..common.objects import Facts, condition, dicts, get_path, mapping, text
from ..k8s.platform import image_version, load_balancer, older
from .finding import ADMINISTRATOR, Findings, PreflightFinding, crd_of


def gateway_api(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The Gateway API is installed, or will be, in a version that can route to InferencePools."""
    if not needs["gateway"]["gateway_api"]:
        return
    crd = crd_of(facts, "gateways.gateway.networking.k8s.io")
    if crd is None:
        if not needs["installs"]["gateway_api"]:
            yield PreflightFinding(
                "gateway_api/missing", "The Gateway API is missing.", "no such CRDs", needs["minimum"]["gateway_api"], _gateway_api_how(platform)
            )
        return
    version, minimum = crd.get("version"), needs["minimum"]["gateway_api"]
    old_pools = needs["gateway"]["provider"] == "openshift" and needs["gateway"]["pool_version"] == "v1alpha2"
    if version and older(version, minimum) and not needs["installs"]["gateway_api"] and not old_pools:
        yield PreflightFinding("gateway_api/version", "The Gateway API is too old.", version, f"{minimum} or newer", _gateway_api_how(platform))


def _gateway_api_how(platform: Facts) -> str:
    if platform["name"] == "openshift":
        return "OpenShift 4.19 and newer have it (4.21 has 1.3.0): upgrade OpenShift, or use provider standalone. Do not install it: the platform owns it."
    if platform["name"] == "gke":
        return "Turn it on: gcloud container clusters update --gateway-api=standard."
    return ADMINISTRATOR


def provider(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The cluster has the CRDs of a controller that we do not install."""
    probe, gateway = needs["provider_crd"], needs["gateway"]
    if not probe or needs["installs"]["controller"] or crd_of(facts, probe) is not None:
        return
    yield PreflightFinding(
        "provider/missing",
        f"The CRDs of {gateway['provider']} are missing.",
        "no such CRD",
        probe,
        "An administrator installs them once (playbooks/prerequisites.yml). If your account may do so, write 'install: true' under llm_d_gateway.",
    )


def monitoring(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The cluster has the CRDs of monitors, alerts and dashboards that the plan creates."""
    for wanted in needs["monitors"]:
        if crd_of(facts, wanted["crd"]) is None:
            yield PreflightFinding(
                "monitoring/missing",
                f"{wanted['what']} ({wanted['option']}), and the cluster has no CRD for it.",
                "no such CRD",
                wanted["crd"],
                f"Install the {wanted['operator']} operator, or {wanted['instead']}.",
            )


def certificates(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The cluster has cert-manager where it is to issue certificates."""
    crd = "certificates.cert-manager.io"
    if needs["issues"] and crd_of(facts, crd) is None:
        yield PreflightFinding(
            "certificates/missing",
            "cert-manager is to issue the certificates of the listeners (llm_d_gateway.certificate_issuer), and the cluster does not have it.",
            "no such CRD",
            crd,
            "Install cert-manager with enableGatewayAPI, or write tls_secret in each HTTPS listener instead.",
        )


def user_workloads(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """OpenShift monitors the workloads of users: it always has the CRDs, but the monitoring has to be enabled."""
    if not needs["user_workload_monitoring"] or platform["name"] != "openshift" or "cluster_monitoring" not in facts:
        return
    config = text(get_path(facts["cluster_monitoring"], "data", "config.yaml"))
    if not re.search(r"^[\"']?enableUserWorkload[\"']?\s*:\s*true\s*(#.*)?$", config, re.MULTILINE):
        yield PreflightFinding(
            "monitoring/user_workloads",
            "Model servers and endpoint pickers are to be scraped (llm_d_monitoring.scrape), and OpenShift does not monitor the workloads of users.",
            "enableUserWorkload is not true",
            "'enableUserWorkload: true' in config.yaml of ConfigMap openshift-monitoring/cluster-monitoring-config",
            "Have an administrator enable it, or write 'scrape: false' under llm_d_monitoring.",
        )


def collector(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The Service that spans are sent to exists and has the port. Nothing else reports it: senders drop their spans silently."""
    wanted, observed = needs["collector"], mapping(facts.get("collector"))
    if not wanted or not observed or not (observed["namespace"] or wanted["sure"]):  # not `sure`: a host without .svc may be outside the cluster
        return
    place = f"Service {wanted['namespace']}/{wanted['name']}"
    ports = [str(port.get("port")) for port in dicts(get_path(observed["service"], "spec", "ports"))]
    if observed["service"] is None or str(wanted["port"]) not in ports:
        yield PreflightFinding(
            "tracing/collector",
            "Spans are to be sent (llm_d_tracing.endpoint) to a Service that " + ("does not exist." if observed["service"] is None else "has no such port."),
            "none" if observed["service"] is None else f"port {', '.join(ports) or 'none'}",
            f"{place}, port {wanted['port']}",
            "Install the collector, or write another endpoint: until then there are no traces.",
            severity="warning",
        )


def controller(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """A controller that we do not install exists and is new enough; a controller of others is not replaced."""
    gateway = needs["gateway"]
    for wanted in gateway["controllers"]:
        name = f"{wanted['namespace']}/{wanted['name']}"
        deployment = mapping(facts.get("controllers")).get(name, "unread")  # None if it does not exist
        if needs["installs"]["controller"]:
            yield from _taken(facts, needs, wanted, deployment) if isinstance(deployment, dict) else ()
        elif deployment is None:
            yield PreflightFinding(
                "controller/missing",
                f"There is no controller of {gateway['provider']}, and we do not install one ('install: false', or 'llm_d_scope: namespace').",
                "none",
                f"Deployment {name}",
                "Install it, write 'install: true' under llm_d_gateway, or have an administrator run playbooks/prerequisites.yml.",
            )
        elif wanted["name"] == gateway["controller"]["name"]:
            yield from _adopted(gateway, deployment)


def _adopted(gateway: Facts, deployment: t.Any) -> Findings:
    """A controller that we do not install has a version and configuration that serves InferencePools. deployment: `unread` where it could not be read."""
    version = image_version(deployment)
    if version and gateway["minimum"] and older(version, gateway["minimum"]):
        yield PreflightFinding(
            "controller/version",
            f"The controller of {gateway['provider']} is too old.",
            version,
            f"{gateway['minimum']} or newer",
            "Upgrade it, or have another provider installed.",
        )
    if version and gateway["below"] and not older(version, gateway["below"]):
        yield PreflightFinding(
            "controller/no_pools",
            f"The controller of {gateway['provider']} no longer serves InferencePools in this version, with this GatewayClass.",
            version,
            f"older than {gateway['below']}",
            "Write 'provider: agentgateway', whose class and routes are the same, and have its controller installed.",
        )
    if gateway["provider"] == "istio" and isinstance(deployment, dict) and gateway["backend"] == "InferencePool":
        flag = "ENABLE_GATEWAY_API_INFERENCE_EXTENSION"
        containers = dicts(get_path(deployment, "spec", "template", "spec", "containers"))
        env = {entry.get("name"): entry.get("value") for part in containers for entry in dicts(part.get("env"))}
        if env.get(flag) != "true":
            yield PreflightFinding(
                "controller/flag",
                "Istio is not configured to serve InferencePools.",
                f"{flag}={env.get(flag)}",
                f"{flag}=true",
                f'Set pilot.env.{flag} of its chart to "true".',
            )


def _taken(facts: Facts, needs: Facts, wanted: Facts, deployment: Facts) -> Findings:
    """A controller that exists where we install one is of the same Helm release, and is not downgraded."""
    name = f"{wanted['namespace']}/{wanted['name']}"
    gateway, adopt = needs["gateway"], "Write 'install: false' under llm_d_gateway to use it as it is"
    managed = mapping(get_path(deployment, "metadata", "labels")).get(MANAGED_BY)
    release = mapping(get_path(deployment, "metadata", "annotations")).get("meta.helm.sh/release-name")
    if managed not in ("Helm", None) or (release and release not in gateway["releases"]):
        maker = managed if managed not in ("Helm", None) else f"Helm's release {release}"
        needed = f"none, or of Helm's release {' or '.join(gateway['releases'])}"
        yield PreflightFinding("controller/foreign", f"The controller {name} exists, and {maker} made it.", maker, needed, f"{adopt}.")
        return
    version = image_version(deployment)
    needed = _version_of(wanted["image"]) or wanted["version"]
    ours = has_labels(mapping(mapping(facts.get("namespaces")).get(wanted["namespace"])), needs["labels"])
    if not version or not older(needed, version) or (ours and gateway["requested_version"]):  # our own is downgraded where the user's file names the version
        return
    clause = "which this instance installed in a newer version, perhaps with a newer collection" if ours else "which others may use"
    yield PreflightFinding(
        "controller/newer",
        f"The controller {name}, {clause}, would be downgraded.",
        version,
        f"{needed} or older",
        f"{adopt}, or 'version: {version}' with its charts under llm_d_charts to keep it"
        + (f"; 'version: {gateway['version']}' downgrades it." if ours else "."),
    )


def shared_controller(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """No other instance uses the controller that we install for another provider, with an extension where we have none, or without where we have one.

    Such providers share one Helm release: to install one replaces the other (Envoy Gateway and Envoy AI Gateway).
    """
    gateway = needs["gateway"]
    for rival in gateway["rivals"]:
        place = gateway["controller"]["namespace"]
        if rival["extension"]:
            # The labels of the extension's namespace name its instance. Without them it was installed without this collection.
            owner = mapping(facts.get("extensions")).get(rival["extension"]["namespace"])
            taken = isinstance(owner, dict) and not has_labels(owner, needs["labels"])
        else:
            owner = mapping(mapping(facts.get("namespaces")).get(place))
            labels = mapping(get_path(owner, "metadata", "labels"))
            extended = any(
                mapping(facts.get("controllers")).get(f"{each['namespace']}/{each['name']}")
                for each in gateway["controllers"]
                if each["name"] != gateway["controller"]["name"]
            )
            taken = labels.get(MANAGED_BY) == needs["labels"][MANAGED_BY] and not has_labels(owner, needs["labels"]) and not extended
        if taken:
            instance = text(mapping(get_path(owner, "metadata", "labels")).get(PART_OF))
            yield PreflightFinding(
                "controller/shared",
                f"The controller {place}/{gateway['controller']['name']} exists for {rival['provider']}, and {gateway['provider']} would replace it.",
                f"{rival['provider']} of instance {instance}" if instance else rival["provider"],
                f"{gateway['provider']}, or none",
                f"Write 'provider: {rival['provider']}' under llm_d_gateway, or have the other instance change to {gateway['provider']}"
                + (", or write 'install: false' to use it as it is." if rival["extension"] else "."),
            )


def _version_of(image: str | None) -> str | None:
    return image_version({"spec": {"template": {"spec": {"containers": [{"image": image}]}}}})


def gateway_class(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The GatewayClass is ours to create, or exists, is accepted, and belongs to the controller of the provider."""
    gateway = needs["gateway"]
    if not gateway["create"] and not gateway["create_class"]:
        return
    existing = mapping(facts.get("gateway_classes")).get(gateway["class_name"])
    if existing is None:
        if not gateway["create_class"] and "gateway_classes" in facts and crd_of(facts, "gateways.gateway.networking.k8s.io") is not None:
            yield PreflightFinding(
                "class/missing",
                f"There is no GatewayClass {gateway['class_name']}.",
                ", ".join(sorted(mapping(facts.get("gateway_classes")))) or "none",
                gateway["class_name"],
                "Have it created, or write another class_name.",
            )
        return
    owner = text(get_path(existing, "spec", "controllerName"))
    if gateway["controller_name"] and owner != gateway["controller_name"]:
        yield PreflightFinding(
            "class/foreign",
            f"The GatewayClass {gateway['class_name']} belongs to another controller.",
            owner,
            gateway["controller_name"],
            "Write a class_name of its own under llm_d_gateway.",
        )
    accepted = condition(existing.get("status"), "Accepted")
    if accepted.get("status") == "False":
        yield PreflightFinding(
            "class/refused",
            f"The GatewayClass {gateway['class_name']} is refused by its controller.",
            text(accepted.get("message")) or "Accepted=False",
            "Accepted=True",
            "Check the controller's log.",
            "warning",
        )


def gateway_object(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """A Gateway that we create does not belong to others; one that we use exists."""
    gateway = needs["gateway"]
    if not gateway["gateway_api"] or "gateway" not in facts or needs["scope"] == "prerequisites":
        return
    existing, name = facts["gateway"], f"{gateway['namespace']}/{gateway['name']}"
    if gateway["create"] and isinstance(existing, dict):
        labels = mapping(get_path(existing, "metadata", "labels"))
        if any(labels.get(key) != value for key, value in needs["labels"].items()):
            yield PreflightFinding(
                "gateway/foreign",
                f"The Gateway {name} exists, and someone else made it.",
                "other labels, or none",
                "the labels of this instance",
                "Write another name under llm_d_gateway, or 'create: false' to use it.",
            )
    if not gateway["create"] and existing is None:
        yield PreflightFinding(
            "gateway/missing",
            f"The Gateway {name} that routes refer to does not exist.",
            "none",
            name,
            "Create it, correct name and namespace under llm_d_gateway, or write 'create: true'.",
        )


def address(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The cluster provides load balancers where the Gateway needs one."""
    gateway = needs["gateway"]
    if "load_balancers" not in facts:  # not needed, or not readable
        return
    if gateway["service_type"] != "LoadBalancer" or (gateway["gateway_api"] and not gateway["create"]) or load_balancer(facts, platform):
        return
    how = "Write 'service_type: ClusterIP' or NodePort under llm_d_gateway, or install a load balancer such as MetalLB."
    if platform["name"] == "openshift":
        how = "Write 'service_type: ClusterIP' and 'openshift_route: {enabled: true}' under llm_d_gateway."
    yield PreflightFinding(
        "load_balancer/none", "Nothing in this cluster gives addresses to Services of type LoadBalancer.", platform["flavour"], "a load balancer", how
    )


CHECKS = (
    gateway_api,
    provider,
    monitoring,
    certificates,
    user_workloads,
    collector,
    controller,
    shared_controller,
    gateway_class,
    gateway_object,
    address,
)
