"""EndpointPickerConfig documents to check: valid ones of each kind, and functions that make invalid ones."""

from __future__ import annotations

import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog import plugins as catalogue
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.release_lines import LINE_FACTS, OLD_API
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.types import GIE15, LINES, R09, R10, R11, S07

Document = dict[str, t.Any]


def document(line: str, *plugins: t.Any, gates: t.Sequence[str] = (), profile: t.Sequence[t.Any] | None = None, **sections: t.Any) -> Document:
    """A document with these plugin types (or entries); without `profile`, its profile has all scorers, filters and pickers, every scorer with weight 1."""
    entries = [{"type": item} if isinstance(item, str) else item for item in plugins]
    references: list[t.Any] = []
    for entry in entries:
        plugin = catalogue.find_plugin(entry["type"], line)
        if plugin is not None and {"scorer", "filter", "picker"} & set(plugin.roles) and "saturation" not in plugin.roles:
            references.append({"pluginRef": entry.get("name", entry["type"]), **({"weight": 1} if "scorer" in plugin.roles else {})})
    made: Document = {"apiVersion": LINE_FACTS[line].api_versions[0], "kind": "EndpointPickerConfig"}
    if gates:
        made["featureGates"] = list(gates)
    chosen = references if profile is None else [item if isinstance(item, dict) else {"pluginRef": item} for item in profile]
    return {**made, "plugins": entries, "schedulingProfiles": [{"name": "default", "plugins": chosen}], **sections}


def pd(line: str = S07, decider: t.Any = None, handler: t.Any = None, before: bool = True, **sections: t.Any) -> Document:
    """A prefill/decode document, valid unless the arguments make it invalid. before: whether the decider precedes the handler."""
    decider = decider or {"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 16}}
    handler = handler or {"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": decider["type"]}}}
    last = [decider, handler] if before else [handler, decider]
    headers = [{"type": "disagg-headers-handler"}] if LINE_FACTS[line].header_handler else []
    made: Document = {"apiVersion": LINE_FACTS[line].api_versions[0], "kind": "EndpointPickerConfig"}
    if LINE_FACTS[line].data_by_gate:
        made["featureGates"] = ["prepareDataPlugins"]
    made["plugins"] = [
        *headers,
        *({"type": name} for name in ("queue-scorer", "prefix-cache-scorer", "prefill-filter", "decode-filter", "max-score-picker")),
        *last,
    ]
    made["schedulingProfiles"] = [
        {
            "name": stage,
            "plugins": [
                {"pluginRef": f"{stage}-filter"},
                {"pluginRef": "queue-scorer", "weight": 1},
                {"pluginRef": "prefix-cache-scorer", "weight": 2},
                {"pluginRef": "max-score-picker"},
            ],
        }
        for stage in ("prefill", "decode")
    ]
    return {**made, **sections}


def precise(**changes: t.Any) -> dict[str, t.Any]:
    """A valid precise-prefix-cache-scorer of scheduler-0.7. changes: values by dotted path, with __ for the dots; None removes the field."""
    parameters: dict[str, t.Any] = {
        "tokenProcessorConfig": {"blockSize": 64, "hashSeed": "42"},
        "indexerConfig": {"tokenizersPoolConfig": {"modelName": "m", "workersCount": 5, "uds": {"socketFile": "/tmp/t/s"}}},
        "kvEventsConfig": {"discoverPods": True},
    }
    for path, value in changes.items():
        *keys, last = path.split("__")
        target = parameters
        for key in keys:
            target = target.setdefault(key, {})
        if value is None:
            target.pop(last, None)
        else:
            target[last] = value
    return {"type": "precise-prefix-cache-scorer", "parameters": parameters}


QUEUE = ("queue-scorer", "max-score-picker")


def attribute_scorer(key: str, **parameters: t.Any) -> Document:
    """An endpoint-attribute-scorer that reads this attribute."""
    algorithm = {"type": "linear_lower_is_better", "normalization": {"fixedRange": {"min": 0, "max": 1}}}
    return {"type": "endpoint-attribute-scorer", "parameters": {"attributeKey": key, "algorithm": algorithm, **parameters}}


FILES = {"type": "file-discovery", "parameters": {"path": "/etc/epp/endpoints.yaml"}}
_READS_EVENTS = {"prefixMatchInfoProducerName": "precise-prefix-cache-producer"}
BY_EVENTS = {"type": "prefix-cache-scorer", "parameters": _READS_EVENTS}
AFFINITY_BY_EVENTS = {"type": "prefix-cache-affinity-filter", "parameters": {**_READS_EVENTS, "peakPrefillThroughput": 15926}}
IN_FLIGHT_BY_EVENTS = {"type": "inflight-load-producer", "parameters": _READS_EVENTS}


def kv_events(line: str, *readers: t.Any, events: t.Any = None, wired: bool = True, tokens: t.Any = None, **parameters: t.Any) -> Document:
    """A document of the router with an index by KV events, and its readers. wired: whether a notification source adds servers to the index."""
    tokens = {"modelName": "m", "vllm": {"url": "http://render:8000"}} if tokens is None else tokens
    source = {"pluginRef": "endpoint-notification-source", "extractors": [{"pluginRef": "precise-prefix-cache-producer"}]}
    made = document(
        line,
        {"type": "token-producer", "parameters": tokens},
        *(["endpoint-notification-source"] if wired else []),
        {"type": "precise-prefix-cache-producer", "parameters": {"kvEventsConfig": {"topicFilter": "kv@"} if events is None else events, **parameters}},
        *readers,
        "max-score-picker",
    )
    return {**made, **({"dataLayer": {"sources": [source]}} if wired else {})}


VALID: dict[str, tuple[str, Document]] = {
    **{f"queue {line}": (line, document(line, *QUEUE)) for line in LINES},
    **{f"prefill/decode {line}": (line, pd(line)) for line in LINES if line != GIE15},
    "no profile at all": (S07, {key: value for key, value in document(S07, *QUEUE).items() if key != "schedulingProfiles"}),
    "old API in the router": (R09, {**document(R09, *QUEUE), "apiVersion": OLD_API}),
    "one declared picker, none named": (S07, document(S07, "queue-scorer", "random-picker", profile=[{"pluginRef": "queue-scorer"}])),
    "decider after handler in 0.10": (R10, pd(R10, before=False)),
    "attribute with its producer in 0.11": (R11, document(R11, attribute_scorer("x/y", producer=""), *QUEUE)),
    "discovery as before 0.11": (R11, document(R11, *QUEUE, FILES, dataLayer={"discovery": {"pluginRef": "file-discovery"}})),
    "discovery in 0.11": (R11, document(R11, *QUEUE, FILES, dataLayer={"discovery": {"endpoints": {"pluginRef": "file-discovery"}}})),
    # From llm-d's guide precise-prefix-cache-routing since July 2026 (llm-d pull 2071), and from its e2e tests, which have one socket for all servers.
    **{f"sticky by KV events {line}": (line, kv_events(line, AFFINITY_BY_EVENTS, "token-load-scorer", IN_FLIGHT_BY_EVENTS)) for line in (R09, R10, R11)},
    "one socket for all servers": (R10, kv_events(R10, BY_EVENTS, events={"zmqEndpoint": "tcp://0.0.0.0:5557"}, wired=False)),
    "another hash in 0.11": (R11, kv_events(R11, BY_EVENTS, tokenProcessorConfig={"blockSizeTokens": 64, "hashAlgorithm": "xxh64"})),
    "estimate of images": (R09, document(R09, {"type": "token-producer", "parameters": {"estimate": {"image": {"mode": "static"}}}}, *QUEUE)),
    "what 0.11 brings": (
        R11,
        document(
            R11,
            {"type": "program-aware-fairness", "parameters": {"lasHalfLifeSeconds": 30}},
            {"type": "sglanghttp-parser"},
            *QUEUE,
            gates=["flowControl"],
            flowControl={"noEndpointRequestTTL": "10s", "defaultPriorityBand": {"fairnessPolicyRef": "program-aware-fairness"}},
            requestHandler={"parsers": [{"pluginRef": "sglanghttp-parser"}]},
        ),
    ),
    "data with its gate": (
        S07,
        document(
            S07,
            *QUEUE,
            "metrics-data-source",
            "model-server-protocol-metrics",
            gates=["dataLayer"],
            data={"sources": [{"pluginRef": "metrics-data-source", "extractors": [{"pluginRef": "model-server-protocol-metrics"}]}]},
        ),
    ),
    "gate by value in 0.10": (R10, document(R10, *QUEUE, gates=["flowControl=true"], flowControl={"maxBytes": "1Gi"})),
    "undeclared parser in the router": (R09, document(R09, *QUEUE, requestHandler={"parsers": [{"pluginRef": "vertexai-parser"}]})),
    "context length as a filter": (S07, document(S07, {"type": "context-length-aware", "parameters": {"enableFiltering": True}}, "max-score-picker")),
    "detector as a filter": (
        GIE15,
        document(GIE15, *QUEUE, "utilization-detector", profile=["utilization-detector", {"pluginRef": "queue-scorer"}, "max-score-picker"]),
    ),
    "precise": (S07, document(S07, precise(), "max-score-picker")),
    "cold requests by precise": (
        S07,
        document(
            S07,
            precise(),
            {"type": "no-hit-lru-scorer", "parameters": {"prefixPluginName": "precise-prefix-cache-scorer", "prefixPluginType": "precise-prefix-cache-scorer"}},
            "max-score-picker",
        ),
    ),
    "old handler with its default decider": (S07, pd(handler={"type": "pd-profile-handler"})),
}
