# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that check a stack."""

from __future__ import annotations

import typing as t

from ..common.module_options import PROGRESS, named, option
from ..http import tls
from ..inference.options import APIS, GATEWAY, api_key_secret
from . import claims, verdict

_GATEWAY = option("dict", "The Gateway whose address requests are sent to, where no address is given.", options=GATEWAY)
METRICS = {
    "namespace": option("str", "Namespace of the picker's pods, which are reached through the API server."),
    "labels": option("dict", "Labels of the picker's pods. All of them are read, and their counters are added up."),
    "port": option("str", "Number or name of their metrics port.", default="9090"),
    "url": option("str", "Address of the picker's metrics port, instead of its pods."),
    "path": option("str", "Path of the metrics page.", default="/metrics"),
    "names": option(
        "dict",
        (
            "Names of the series in the picker's release, C(requests), C(scheduler_attempts) and optionally C(ready_endpoints), C(plugin_duration) and"
            " C(disagg_decisions)."
        ),
        required=True,
    ),
}
SERVICE: dict[str, t.Any] = {
    "name": option("str", "Name of the service, the start of the claim ids.", required=True),
    "model": option("str", "Name under which the model is served.", required=True),
    "aliases": option("list", "Other names under which the model must be served.", elements="str", default=[]),
    "url": option("str", "Address to send requests to. The address of O(gateway) by default."),
    "address": option(
        "dict",
        "The Service to send requests to, where there is no gateway.",
        options=named("Service", port=option("int", "Its port.", required=True)),
    ),
    "path": option("str", "Prefix of the path, behind the address of O(gateway)."),
    "host_header": option("str", "Host header of requests, where the gateway routes by host name."),
    "headers": option("dict", "Other headers of requests, where the gateway routes by them.", default={}),
    "weights": option(
        "dict",
        "Names of services of O(services), with the weights by which they share the requests to this one that have O(services[].shared_headers) only.",
        "200 such requests are sent, and counted by the endpoint picker of each service. Without requests of other clients at the same time this is claimed.",
        default={},
    ),
    "shared_headers": option("dict", "The headers of such requests, instead of O(services[].headers).", default={}),
    "api": option("str", "Which completions to request.", choices=APIS, default="completions"),
    "promises": option(
        "list",
        "What the scheduling policy promises for a service with idle servers.",
        (
            "V(sticky), requests with one shared prefix go to one server, which serves it from its cache; V(spread), requests with different prefixes reach"
            " more than one server; V(roam), even requests with one prefix do."
        ),
        (
            "V(follow), a prompt that was sent to a server directly is then routed to that server, by its KV events; V(split), new prompts are prefilled by"
            " prefill servers; V(avoid), new prompts avoid a server with waiting requests. For V(avoid) one server gets more requests directly than it"
            " processes concurrently, see O(services[].max_num_seqs)."
        ),
        elements="str",
        choices=["sticky", "spread", "roam", "follow", "split", "avoid"],
        default=["sticky", "spread"],
    ),
    "plugins": option("dict", "Plugins that run for every request, by extension point, C(Filter), C(Scorer) and C(Picker). Without it this is not claimed."),
    "sometimes": option("dict", "Plugins that run for some requests, in the form of O(services[].plugins)."),
    "cold_tokens": option(
        "int",
        "Number of uncached tokens up to which a prompt is not split. V(split) is not claimed where it exceeds the prompts of this module.",
        default=0,
        no_log=False,
    ),
    "max_num_seqs": option("int", "Requests that one server processes concurrently. Without it, or above 16, V(avoid) is not claimed."),
    "events_wait": option(
        "float",
        (
            "Seconds to wait for KV events, for V(follow). A server connects some time after it has started, and one that connects to the endpoint picker"
            " stays with the previous one until that has ended."
        ),
        default=claims.EVENTS_WAIT,
    ),
    "endpoints": option("int", "Number of servers of all roles that the picker must know. Without it this is not claimed."),
    "servers": option(
        "dict",
        "The servers, reached through the API server for V(follow), V(split) and V(avoid).",
        options={
            "namespace": option("str", "Namespace of their pods.", required=True),
            "groups": option(
                "list",
                "Groups of equal servers, by C(role), C(decode) or C(prefill), with C(labels) and C(port).",
                options={
                    "role": option("str", "Their role.", required=True),
                    "labels": option("dict", "Labels of their pods.", required=True),
                    "port": option("str", "Port they listen on.", required=True),
                },
                elements="dict",
                required=True,
            ),
        },
    ),
    "replicas": option(
        "int",
        "Number of servers. With one server there is no choice, so V(sticky) and V(spread) are not claimed.",
        "Without it, the number that the picker knows.",
    ),
    "metrics": option(
        "dict",
        "The endpoint picker's metrics. Without them C(counted) is a failed claim.",
        options=METRICS,
        mutually_exclusive=[("labels", "url")],
        required_one_of=[("labels", "url")],
        required_together=[("namespace", "labels")],
    ),
    "api_key": option("str", "API key of the servers. It is never shown.", no_log=True),
    "api_key_secret": api_key_secret(
        "The Secret that holds the API key, which is read from it and is no argument of the task. Instead of O(services[].api_key)."
    ),
    **tls.OPTIONS,
    "use_proxy": option("bool", "Whether to use the proxies of the environment.", default=True),
}
STACK: dict[str, t.Any] = {
    "plan": option("dict", "What is deployed, from P(llm_d.inference.plan#lookup)."),
    "checks": option(
        "list",
        "Which parts of O(plan) to check. V(objects), that all are ready, which is waited for; V(routing), with requests through the gateway.",
        "V(platform), the version of the cluster, its CRDs, the controller of the gateway, the permissions of this account, and the autoscalers.",
        (
            "V(warmup), that every server has the prompts of a warm-up in its cache; V(servers), that every server by itself is healthy, has the planned"
            " adapters and block size, and is scraped."
        ),
        (
            "V(schedulers), that endpoint pickers run the planned configuration, according to their logs; V(security), the permissions of their accounts, and"
            " the privileges of all pods."
        ),
        "V(monitoring), that the Prometheus of the plan has data for all alerts and dashboards.",
        elements="str",
        choices=list(verdict.CHECKS),
        default=list(verdict.CHECKS),
    ),
    "gateway": _GATEWAY,
    "services": option(
        "list",
        "Model services to send requests to, whoever has deployed them.",
        elements="dict",
        options=SERVICE,
        required_by=tls.REQUIRED_BY,
    ),
    "settle": option("float", "Seconds to wait until the counters have increased.", default=3),
    "sticky_requests": option("int", "Number of requests with one shared prefix.", default=6),
    "spread_requests": option("int", "Maximum number of requests with different prefixes; no more are sent once they have reached two servers.", default=24),
    "prefix_words": option(
        "int",
        "Length of a prefix in words, which should fill several blocks of the prefix cache; one word is one token or slightly more.",
        "Limited to a quarter of the maximum length of the model, where the server reports it.",
        default=256,
    ),
    "wait": option(
        "float",
        (
            "Seconds to wait for an address of the gateway, and then for a service to answer. With O(plan) also for the logs of endpoint pickers, and until"
            " autoscalers work."
        ),
        default=60,
    ),
    "timeout": option("float", "Seconds to wait until the objects of O(plan) are ready. If omitted, C(llm_d_wait_timeout)."),
    "patient": option(
        "bool",
        "Whether missing objects may still appear, as after a change.",
        (
            "With V(false), only changes in progress are waited for. Objects that are absent, rejected, in a crash loop or unschedulable fail within seconds,"
            " and so does a service whose objects are ready and that does not answer."
        ),
        default=True,
    ),
    "request_timeout": option("float", "Seconds that one request may take. If omitted, 10, or 5 without O(patient)."),
    "unreached": option("str", "The error of an earlier call that failed to reach the API server. Nothing is checked then, and RV(verdict) reports the error."),
    "verdict": option("dict", "A verdict to which to add the claims about O(performance), instead of checking anything."),
    "performance": option(
        "list", "Results of M(llm_d.inference.vllm_perf), each with the C(item) that P(llm_d.inference.benchmark_runs#filter) made.", elements="dict"
    ),
    "progress_path": PROGRESS,
}
PICKER: dict[str, t.Any] = {
    "path": option("path", "Folder for the results on the host of the task. It is created.", required=True),
    "pool": option("str", "Name of the InferencePool.", required=True),
    "namespace": option("str", "Its namespace.", required=True),
    "model": option("str", "Name of the model that requests name.", required=True),
    "picker_address": option(
        "str", "C(HOST:PORT) of the endpoint picker. Without it, a port of one of its Pods is forwarded through the API server.", default=""
    ),
    "health_address": option("str", "C(HOST:PORT) of its health service, as for O(picker_address).", default=""),
    "metrics_address": option("str", "C(HOST:PORT) of its metrics, as for O(picker_address).", default=""),
    "bound": option("float", "Seconds within which the endpoint picker must observe a change of a Pod.", default=10),
    "probe_image": option(
        "str",
        "Image of a Pod that only waits, and that the pool selects. It serves to check that Pods that are not ready, terminating or deleted are not picked.",
        "Requests of other clients can be sent to that Pod while it is ready, for some seconds, and are not answered.",
        default="",
    ),
    "stop_picker": option(
        "bool", "Whether the Deployment of the endpoint picker may be scaled to 0 for some seconds, to check the gateway without it.", default=False
    ),
    "url": option("str", "Address of the gateway, without C(/v1). That of O(gateway) by default.", default=""),
    "gateway": _GATEWAY,
    "url_path": option("str", "Prefix of the path behind the address of O(gateway).", default=""),
    "host_header": option("str", "Host header of requests, where the gateway routes by host name.", default=""),
    "headers": option("dict", "Other headers of requests, where the gateway routes by them.", default={}),
    "model_api_key": option("str", "API key of the servers. It is never shown.", default="", no_log=True),
    "model_api_key_secret": api_key_secret(
        "The Secret that holds the API key, which is read from it and is no argument of the task. Instead of O(model_api_key)."
    ),
    "url_validate_certs": option("bool", "Whether the gateway's certificate must be trusted.", default=True),
    "url_ca_path": option("path", "PEM file with the certificates of the authorities to trust."),
    "only": option("str", "Name of the only check to run.", default=""),
    "skip": option("list", "Names of checks to leave out.", elements="str", default=[]),
    "remove": option("bool", "Only deletes the Pods of O(probe_image) that remain from a run that was killed.", default=False),
    "progress_path": PROGRESS,
}
CONFORMANCE_SUITE: dict[str, t.Any] = {
    "path": option("path", "Folder for the results on the host of the task. It is created.", required=True),
    "program": option("path", "The suite as a program.", required=True),
    "gateway_class": option("str", "The GatewayClass to test.", required=True),
    "arguments": option("list", "Further arguments of the suite.", default=[], elements="str"),
    "other_crds": option("bool", "Whether the CRDs may be of other versions than the suite.", default=False),
    "wait": option("int", "Seconds for which the suite waits for a route's condition, and for an expected answer. The defaults of the suite if 0.", default=0),
    "provider": option("str", "The gateway provider, whose known failures the results name.", default=""),
    "provider_version": option("str", "Version of the provider's controller that serves pools.", default=""),
    "provider_controller": option("str", "Name of the provider's controller. Known failures are named where the class has this controller.", default=""),
    "placeholder": option("str", "Image of a pod that is created in the namespace of the suite's Gateways; none where empty.", default=""),
    "timeout": option("int", "Seconds after which the suite is ended.", default=5400),
    "remove": option("bool", "Only deletes the suite's namespaces.", default=False),
    "progress_path": PROGRESS,
}
