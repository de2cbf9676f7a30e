# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that send requests to model servers: vllm_health, vllm_health_info, vllm_warmup and vllm_adapters."""

from __future__ import annotations

import typing as t

from ..common.module_options import named, option
from ..http import tls
from ..releases import engines
from . import health

APIS = ["completions", "chat_completions"]
GATEWAY = named("Gateway", listener=option("str", "Name of the listener; the first one by default."))
_SCHEME = option("str", "Protocol of the server.", choices=["http", "https"], default="http")


def api_key_secret(*description: str) -> dict[str, t.Any]:
    """The option that names the Secret with an API key."""
    key = option("str", "Key of the Secret that holds the API key.", required=True, no_log=False)
    return option("dict", *description, options=named("Secret", key=key), no_log=False)


SERVER: dict[str, t.Any] = {
    "host_header": option("str", "Host header of requests, where a gateway routes by host name."),
    "api_key": option("str", "API key of the server. It is never shown.", no_log=True),
    **tls.OPTIONS,
    "kubeconfig": option(
        "path",
        "Kubeconfig of the cluster.",
        "All other settings of the connection come from the C(K8S_AUTH_*) environment variables, as for C(kubernetes.core).",
    ),
    "context": option("str", "Context in the kubeconfig."),
}
_REPLICAS: dict[str, t.Any] = {
    "options": {
        "namespace": option("str", "Namespace of the Pods.", required=True),
        "service": option("str", "Name of the Service that selects the Pods."),
        "label_selector": option("str", "Labels of the Pods, such as V(llm-d.ai/model-service=llama-8b)."),
        "port": option("str", "Number or name of the port. Defaults to the Service's target port, or the first port that each Pod declares."),
        "scheme": _SCHEME,
        "count": option("int", "Minimum number of servers. M(llm_d.inference.vllm_adapters) ignores it.", default=1),
        "api_key_secret": api_key_secret(
            "The Secret with the API key of these servers. The module reads the key from it, so that the task has no key in it. It overrides O(api_key).",
            "Its servers are reached by a forwarded port, whatever O(through) says.",
        ),
    },
    "mutually_exclusive": [("service", "label_selector")],
    "required_one_of": [("service", "label_selector")],
}

_RETRIES = "Number of retries of a request, with growing pauses, when there is no answer or the answer is 429, 502, 503 or 504."
_HEALTH: dict[str, t.Any] = {
    "url": option("str", "Address of the server or of the gateway in front of it, without C(/v1).", "Proxies of the environment are used."),
    "urls": option("list", "Addresses of several servers that should be equal. They are checked in parallel and compared.", elements="str"),
    "service": option(
        "dict",
        "A Service in the cluster, reached through the API server's proxy, which picks one of its servers.",
        "The proxy does not pass on O(api_key) or O(host_header); a server that requires them needs O(through=port_forward) or O(url).",
        options=named("Service", port=option("str", "Number or name of the Service's port.", required=True), scheme=_SCHEME),
    ),
    "pod": option(
        "dict",
        "One Pod, reached through the API server's proxy. Known failures in its status and log are among RV(findings).",
        options=named("Pod", port=option("str", "Number or name of the port. Defaults to the first port that the Pod declares."), scheme=_SCHEME),
    ),
    "gateway": option(
        "dict",
        "A Gateway. Its Service is reached through the API server's proxy.",
        "For gateways with an address that cannot be reached from here.",
        options=GATEWAY,
    ),
    "replicas": option(
        "dict",
        "All servers behind a Service, or with these labels, checked in parallel, each reached through the API server's proxy.",
        "They are compared with each other. Pods that are being deleted are left out.",
        **_REPLICAS,
    ),
    "through": option(
        "str",
        "How to reach O(service), O(pod), O(gateway) and O(replicas).",
        "V(proxy) is the API server's HTTP proxy, which does not pass on O(api_key) and O(host_header) and verifies no certificate.",
        (
            "V(port_forward) forwards a port of a Pod for each request, as C(kubectl port-forward) does, and closes it after the answer. O(api_key),"
            " O(host_header), O(ca_path), O(client_cert) and O(validate_certs) then apply to the server. For O(service) and O(gateway), a Pod behind them is"
            " used. It requires permission to C(get) and C(create) C(pods/portforward)."
        ),
        choices=["proxy", "port_forward"],
        default="proxy",
    ),
    "engine": option(
        "str",
        "The engine of the server. V(auto) detects it.",
        "For V(triton), both its OpenAI front end and its own API are supported.",
        choices=["auto", *engines.ENGINES],
        default="auto",
    ),
    "model": option("str", "Name under which the model must be served.", "Without it any model is accepted."),
    "min_model_len": option("int", "Minimum length in tokens that the model must support, where the server reports its length."),
    "level": option(
        "str",
        "The level that servers must reach. Each level includes those before it.",
        "V(metrics) requires the servers themselves, since a gateway does not pass on their metrics.",
        choices=list(health.LEVELS),
        default="serving",
    ),
    "apis": option("list", "Which completions O(level=serving) requests.", elements="str", choices=APIS, default=APIS[:1]),
    "signals": option(
        "list",
        "Which signals for the scheduler must be exported, for O(level=metrics). Other missing signals, except V(lora), are among the notes.",
        "The LoRA affinity scorer reads V(lora). vLLM exports it only with C(--enable-lora), the simulator always, other engines never.",
        elements="str",
        choices=list(engines.SIGNALS),
        default=list(engines.REQUIRED),
    ),
    "metrics_port": option("int", "Port of the metrics, where it differs from the server's port. For Triton it is 8002."),
    "request_timeout": option("float", "Seconds that one request may take, including its retries.", default=10),
    **SERVER,
    "use_proxy": option("bool", "Whether to use the proxies of the environment for O(url) and O(urls).", default=True),
}
# The options that say where the servers are: a task has exactly one of them.
PLACES = ("url", "urls", "service", "pod", "gateway", "replicas")
HEALTH: dict[str, t.Any] = {
    "timeout": option("float", "Seconds to wait.", default=300),
    "interval": option("float", "Seconds between two checks.", default=2),
    "retries": option("int", _RETRIES, "Rarely needed, since the next check sends the request again.", default=0),
    **_HEALTH,
}
HEALTH_INFO: dict[str, t.Any] = {
    "retries": option("int", _RETRIES, default=2),
    **_HEALTH,
    "groups": option(
        "list",
        "Several sets of servers, checked in parallel; servers are compared within a set.",
        "Replaces O(url), O(urls), O(service), O(pod), O(gateway) and O(replicas).",
        "All other options apply to every set.",
        elements="dict",
        options={
            "name": option("str", "Name of the set in RV(groups).", required=True),
            "model": option("str", "Name under which its servers must serve the model. Defaults to O(model)."),
            "signals": option("list", "Signals that its servers must export. Defaults to O(signals).", elements="str", choices=list(engines.SIGNALS)),
            "replicas": option("dict", "Its servers.", required=True, **_REPLICAS),
        },
    ),
}


def _each_server(request_timeout: dict[str, t.Any], **own: dict[str, t.Any]) -> dict[str, t.Any]:
    """The options of a module that sends requests to each server of model services.

    request_timeout: the option of this name; own: the options of a service in addition to its name and its servers.
    """
    element = {
        "name": option("str", "Name of the service in RV(services).", required=True),
        **own,
        "urls": option("list", "Addresses of its servers, each without C(/v1). Not that of a gateway, which picks one of them.", elements="str"),
        "replicas": option(
            "list", "Its servers in the cluster, reached as O(through) says. Pods that are being deleted are left out.", elements="dict", **_REPLICAS
        ),
    }
    rules = {"mutually_exclusive": [("urls", "replicas")], "required_one_of": [("urls", "replicas")]}
    return {
        "services": option("list", "The model services.", elements="dict", required=True, options=element, **rules),
        "through": option(
            "str",
            "How to reach O(services[].replicas).",
            "V(proxy) is the API server's HTTP proxy, which does not pass on O(api_key) and O(host_header) and verifies no certificate.",
            "V(port_forward) forwards a port of the Pod for each request. It requires permission to C(get) and C(create) C(pods/portforward).",
            choices=["proxy", "port_forward"],
            default="proxy",
        ),
        "use_proxy": option("bool", "Whether to use the proxies of the environment for O(services[].urls).", default=True),
        "request_timeout": request_timeout,
        **SERVER,
    }


WARMUP = _each_server(
    option("float", "Seconds that one prompt may take on one server.", default=60),
    model=option("str", "Name under which its servers serve the model.", required=True),
    # not secret, but long, and the user's own text
    prompts=option(
        "list",
        "The prompts. Each must be longer than O(services[].block_size) bytes, since a token has at least one byte.",
        elements="str",
        default=[],
        no_log=True,
    ),
    config_map=option("dict", "A ConfigMap; each of its values is one more prompt, in the order of its keys.", options=named("ConfigMap")),
    api=option(
        "str",
        "The API by which the prompts are sent. Later requests must use the same API, since a chat template adds text before them.",
        "V(chat_completions) sends a prompt as the system message of a chat, V(completions) as a prompt.",
        choices=APIS,
        default="chat_completions",
    ),
    block_size=option("int", "Tokens in one KV cache block of its servers. Defaults to the number in each server's metrics, or 16 where they have none."),
)
ADAPTERS = _each_server(
    option("float", "Seconds that a server may take to load one adapter, which it may have to download.", default=300),
    adapters=option(
        "list",
        "The adapters that each of its servers has afterwards. All others are unloaded.",
        elements="dict",
        default=[],
        options={
            "name": option("str", "Name under which clients ask for it.", required=True),
            "source": option("str", "Folder in the container of the server, or C(ORGANISATION/NAME) of a model repository.", required=True),
        },
    ),
)
