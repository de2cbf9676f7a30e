# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first version of a user's file for a cluster, with comments that say why each value is there. Pure."""

from __future__ import annotations

import textwrap
import typing as t

from ..common.objects import Facts, get_path, mapping, text
from ..common.text import one_line, pluralize
from ..common.yaml_text import to_yaml
from ..k8s.platform import detect, older
from ..plan.gateways.gateway import default_name, proxy_service
from ..preflight.named_objects import default_storage_class
from ..releases.gateways import GATEWAY_PROVIDERS
from ..releases.gpus import DRIVER_THERE
from ..releases.lines import LEADER_WORKER_SET, MINIMUM
from .accelerators import Offer, labelled, offers
from .gateway import GatewayChoice, gateway_choices, service_type
from .place import Place, comments, lines, options, restricted, starting_place

# In the first line of `hosts`: it distinguishes a user's inventory from the shipped ones (tools/manifests.py).
MADE_BY = "Written by playbooks/inventory.yml"
HOSTS = f"""# {MADE_BY}. The cluster is reached from here: nothing of ours runs on another host.
localhost ansible_connection=local ansible_python_interpreter="{{{{ ansible_playbook_python }}}}"
"""
WIDTH = 150
MODEL = "hf://Qwen/Qwen2.5-0.5B-Instruct"
_POD_MONITORS = "podmonitors.monitoring.coreos.com"
Lines = list[str]


def starting_file(facts: Facts, path: str, reached: Facts) -> str:
    """The text of llm_d.yml.

    facts: from `survey` of preflight/facts.py. path: of the inventory. reached: {server, kubeconfig, context, namespace}, None for each that the file need not
    name.
    """
    platform, place = detect(facts), starting_place(facts, reached)
    choices = gateway_choices(facts, platform)
    vllm, services = _model_services(facts, platform)
    parts = [
        _head(facts, path, reached),
        _cluster(facts, platform, reached, choices[0], place),
        _gateway(choices, facts, platform, "model" if vllm else "sim", place),
        _gpus(facts, platform),
        services,
        _monitoring(facts),
        _leader_worker_set(facts),
        ["# llm_d_image_registry: mirror.example.com/llm-d # where the nodes cannot pull from the internet"],
    ]
    return "---\n" + "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def observed(facts: Facts, place: Place | None = None) -> list[str]:
    """The observed facts of the cluster, as lines of text; with a place, also the deployments that run there and the proposed one."""
    platform = detect(facts)
    classes = [f"{name} ({text(get_path(item, 'spec', 'controllerName'))})" for name, item in sorted(mapping(facts.get("gateway_classes")).items())]
    crds, storage = mapping(facts.get("crds")), default_storage_class(facts)
    api = mapping(crds.get("gateways.gateway.networking.k8s.io"))
    version = text(platform["version"]) or "a version that is not known"
    kind = "" if platform["flavour"] == platform["name"] else f", {platform['flavour']}"
    nodes = pluralize(len(facts["nodes"]), "node") if "nodes" in facts else "nodes not known: no permission to list them"
    rows = {
        "platform": f"{platform['name']}{kind}, {version}, {nodes}",
        "Gateway API": _value_or_unknown(facts, "crds", f"{api.get('version') or 'of no known version'}" if api else "none", "CRDs"),
        "GatewayClasses": _value_or_unknown(facts, "gateway_classes", ", ".join(classes) or "none"),
        "accelerators": _value_or_unknown(facts, "nodes", "; ".join(offer.text for offer in offers(facts)) or "none", "nodes"),
        "storage": _value_or_unknown(facts, "storage_classes", f"default StorageClass {storage}" if storage else "no default StorageClass", "StorageClasses"),
        "Prometheus": _value_or_unknown(facts, "crds", "its operator is here" if _POD_MONITORS in crds else "no operator", "CRDs"),
        "LeaderWorkerSet": _value_or_unknown(facts, "crds", "is here" if LEADER_WORKER_SET["crd"] in crds else "none", "CRDs"),
    }
    return [f"{name + ':':<17}{one_line(what)}" for name, what in [*rows.items(), *(lines(place) if place else [])]]


def _value_or_unknown(facts: Facts, key: str, value: str, what: str = "them") -> str:
    """The value, or that it is not known where `facts` lacks the key: the account has no permission to list `what`."""
    return value if key in facts else f"not known: no permission to list {what}"


def _wrapped(line: str, first: str, rest: str) -> Lines:
    return textwrap.wrap(line, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)


def _comment(*sentences: str, indent: int = 0) -> Lines:
    lead = " " * indent + "# "
    return _wrapped(one_line(" ".join(sentences), 2000), lead, lead)


def _scalar(value: t.Any) -> str:
    return to_yaml(value).strip()


def _head(facts: Facts, path: str, reached: Facts) -> Lines:
    return [
        f"# {MADE_BY} for {one_line(reached['server'], 200)}. It is yours now: nothing writes it again.",
        f"#   ansible-playbook -i {path} playbooks/preflight.yml    what is missing on the cluster; changes nothing",
        f"#   make site INVENTORY={path}, or: ansible-playbook -i {path} site.yml    deploys and validates",
        "# Every option: docs/user-file.md. What each platform needs: docs/platforms.md",
        "#",
        "# What the cluster showed:",
        *(part for line in observed(facts, starting_place(facts, reached)) for part in _wrapped(line, "#   ", "#" + " " * 20)),
    ]


def _cluster(facts: Facts, platform: Facts, reached: Facts, choice: GatewayChoice, place: Place) -> Lines:
    lines = []
    if older(text(facts.get("version")), MINIMUM["kubernetes"]):
        lines += _comment(f"Kubernetes {text(facts.get('version'))} is too old: {MINIMUM['kubernetes']} or newer is needed.")
    lines.append(f"llm_d_platform: {platform['name']}")
    if reached["kubeconfig"]:
        lines.append(f"llm_d_kubeconfig: {_scalar(reached['kubeconfig'])}")
    if reached["context"]:
        lines.append(f"llm_d_context: {_scalar(reached['context'])} # so that a change of the current context does not change the target")
    if platform["name"] == "openshift":
        lines.append("llm_d_run_as_user: 0 # each namespace has its own range of user ids")
    if choice.options.get("pool_version") == "v1alpha2":
        lines.append("llm_d_release: scheduler-0.7 # the newest release line with the InferencePools that this OpenShift reads")
    placed = options(place)
    if restricted(facts):
        lines += _comment("This account cannot list objects of the whole cluster: it has permissions in its namespace only, and the namespace must exist.")
        lines += ["llm_d_scope: namespace", *([] if "llm_d_namespace" in placed else [f"# llm_d_namespace: {place.namespace}"])]
    lines += [part for sentence in comments(place) for part in _comment(sentence)]
    return lines + [f"{name}: {_scalar(value)}" for name, value in placed.items()]


def _gateway(choices: list[GatewayChoice], facts: Facts, platform: Facts, service: str, place: Place) -> Lines:
    choice, others = choices[0], choices[1:]
    kind, why = service_type(choice, facts, platform)
    lines = _comment(choice.why)
    for other in others:
        options = ", ".join(f"{name}: {_flow(value)}" for name, value in {"provider": other.provider, **other.options}.items())
        lines += _comment(f"Or, once this is solved ({other.problem}):" if other.problem else "Or:", f"{{{options}}}. {other.why}")
    lines += ["llm_d_gateway:", f"  provider: {choice.provider}"]
    for name, value in choice.options.items():
        if isinstance(value, dict):
            lines += [f"  {name}:", *(f"    {key}: {_scalar(one)}" for key, one in value.items())]
        else:
            lines.append(f"  {name}: {_scalar(value)}{_OPTION_COMMENTS.get((name, value), '')}")
    lines.append(f"  service_type: {kind} # {why}")
    if kind == "ClusterIP" and choice.provider != "openshift":
        lines += _way_in(choice, service, place)
    return lines


# By (option, value).
_OPTION_COMMENTS = {
    ("install", False): " # someone else's: it is neither changed nor removed",
    ("connection", "ext_proc"): " # its istiod runs without ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true, which `pool` needs",
    ("pool_version", "v1alpha2"): " # what this OpenShift reads",
}


def _flow(value: t.Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_scalar(one)}" for key, one in value.items()) + "}"
    return _scalar(value)


def _way_in(choice: GatewayChoice, service: str, place: Place) -> Lines:
    """Comments that say how requests from outside of the cluster reach a Service of type ClusterIP."""
    lines = ["  # To send requests from outside of the cluster to http://127.0.0.1:8080/v1/completions (validation reaches the gateway without this):"]
    lines += [f"  #   {command}" for command in _forward(choice, service + place.suffix, place)]
    return lines


def _forward(choice: GatewayChoice, service: str, place: Place) -> Lines:
    """Commands that make the gateway reachable at port 8080 of this host."""
    home = f"kubectl -n {place.namespace}"
    if choice.provider == "standalone":
        return [f"{home} port-forward service/{service}-gateway 8080:80"]
    row = GATEWAY_PROVIDERS[choice.provider]
    name = default_name(choice.provider) + place.suffix
    known = proxy_service({"provider": choice.provider, "name": name, "class_name": choice.options.get("class_name") or row["class_name"]})
    if known:
        return [f"{home} port-forward service/{known} 8080:80"]
    where = f"kubectl -n {row['namespace']}"
    return [f"service=$({where} get service -o name -l {row['owning_labels']['name']}={name})", f"{where} port-forward $service 8080:80"]


def _gpus(facts: Facts, platform: Facts) -> Lines:
    available, marked, name = offers(facts), labelled(facts), platform["name"]
    if available:
        return ["llm_d_gpus:", "  operator: none # device plugins are there: nodes offer accelerators to pods"]
    if not marked:
        return []
    vendor, count = marked
    intro = f"{pluralize(count, 'node')} {'has' if count == 1 else 'have'} labels of {vendor} accelerators, and no node offers them to pods:"
    if vendor != "nvidia":
        return _comment(
            intro, f"there is no device plugin. On OpenShift 'operator: {'amd' if vendor == 'amd' else 'gaudi'}' installs one, elsewhere install the vendor's."
        )
    if "clusterpolicies.nvidia.com" in mapping(facts.get("crds")):
        return [*_comment(intro, "NVIDIA's GPU operator is here, and not ready yet, or has no driver for these nodes."), "llm_d_gpus:", "  operator: none"]
    if name == "gke":
        return [*_comment(intro, "GKE installs driver and device plugin, where the node pool has gpu-driver-version."), "llm_d_gpus:", "  operator: none"]
    operator = "nvidia_olm" if name == "openshift" else "nvidia_helm"
    driver = " Its driver is the one that nodes of this platform bring." if name in DRIVER_THERE else ""
    lines = _comment(intro, f"this installs NVIDIA's GPU operator, for the whole cluster.{driver} Write none if you install a device plugin in another way.")
    return [*lines, "llm_d_gpus:", f"  operator: {operator}"]


def _model_services(facts: Facts, platform: Facts) -> tuple[bool, Lines]:
    """(whether a real model is served, the services)."""
    available = offers(facts)
    marked = labelled(facts)
    if available:
        return True, _served(facts, available[0], available[1:])
    if marked and marked[0] == "nvidia":
        return True, _served(facts, None, [])
    elif marked:
        why = "No node offers an accelerator to pods, so a simulator answers."
    elif "nodes" in facts:
        why = "No node has a GPU, so a simulator answers."
    else:
        why = "Whether there are GPUs is not known: no permission to list nodes. A simulator answers."
    return False, _simulated(why)


def _simulated(why: str) -> Lines:
    """The model services with a simulator."""
    return [
        *_comment(why, "It has the API and metrics of vLLM, and no weights."),
        f"# With GPUs: take `engine` out, and write `uri: {MODEL}` instead of `served_name`.",
        "llm_d_model_services:",
        "  - name: sim",
        "    model:",
        "      served_name: llm-d/simulated-8b # invented",
        "    replicas: 3",
        "    engine:",
        "      type: simulator",
        "      simulator:",
        "        prefill_time_per_token: 500us",
        "        inter_token_latency: 5ms",
        *_scheduler(small=True),
    ]


def _served(facts: Facts, offer: Offer | None, others: list[Offer]) -> Lines:
    """The model services with a real model. offer: the accelerator to use, None where no node offers one yet; others: further ones, for a comment."""
    storage = default_storage_class(facts)
    replicas = min(2, offer.count) if offer else 1
    lines = _comment(f"The nodes offer {offer.text}, of which others may use some." if offer else "", "The model is small and needs no token.")
    lines += _comment(f"Also there: {'; '.join(each.text for each in others)}.") if others else []
    lines += ["llm_d_model_services:", "  - name: model", "    model:", f"      uri: {MODEL} # or hf://meta-llama/Llama-3.1-8B-Instruct, with:"]
    lines += ["      # token_secret: llm-d-hf-token # a Secret with key HF_TOKEN, for gated models", f"    replicas: {replicas}"]
    if offer:
        lines += ["    accelerator:", f"      vendor: {offer.vendor}", *([f"      product: {_scalar(offer.product)}"] if offer.product else [])]
        if offer.resource.startswith("nvidia.com/mig-"):
            lines.append(f"      resource: {offer.resource}")
        lines.append("      per_replica: 1 # more for a model that does not fit in one")
        if offer.node_selector:
            lines += ["    node_selector:", *(f"      {key}: {_scalar(value)}" for key, value in offer.node_selector.items())]
        if offer.tolerations:
            lines.append("    tolerations: # for the taints of these nodes")
            lines += [
                f"      {'- ' if index == 0 else '  '}{key}: {_scalar(value)}" for each in offer.tolerations for index, (key, value) in enumerate(each.items())
            ]
    claim = f"StorageClass {storage}" if storage else "class_name: there is no default StorageClass, or it is not known"
    return [*lines, *_scheduler(), f"    # storage: {{claim: true, size: 20Gi}} # keeps the weights of one server on a claim; {claim}"]


def _scheduler(small: bool = False) -> Lines:
    requests = ["      resources:", "        requests:", "          cpu: 50m", "          memory: 128Mi"]
    return ["    scheduler:", "      preset: balanced # or round_robin (random), queue, prefix_aware: docs/presets.md", *(requests if small else [])]


def _monitoring(facts: Facts) -> Lines:
    if _POD_MONITORS not in mapping(facts.get("crds")):
        return []
    lines = _comment("The Prometheus operator is here. To have it scrape, with labels by which your Prometheus selects PodMonitors:")
    return [*lines, "# llm_d_monitoring: {scrape: true, labels: {release: prometheus}}"]


def _leader_worker_set(facts: Facts) -> Lines:
    if LEADER_WORKER_SET["crd"] not in mapping(facts.get("crds")):
        return []
    return ["llm_d_leader_worker_set:", "  install: false # it is here, for models that span several nodes; take this out if this collection installed it"]
