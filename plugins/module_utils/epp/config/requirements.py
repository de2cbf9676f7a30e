# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements of a configuration on the rest of the deployment: flags, environment, ports, sidecars, labels. Pure."""

from __future__ import annotations

import json
import typing as t

from ...common.objects import get_path
from ..catalog import presets
from ..document import Declared, ParsedConfig
from ..rules.check import EXPERIMENTAL, experimental
from ..rules.disaggregation import pd_settings

Requires = dict[str, t.Any]
POD_IP = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


def nothing() -> Requires:
    """The requirements of a document that requires nothing."""
    return {
        "vllm": {"args": [], "env": [], "ports": []},
        "epp": {"args": [], "env": [], "ports": [], "publish_not_ready": False},
        "sidecars": [],
        "pod_labels": {},
        "roles": [],
        "feature_gates": [],
    }


def requirements(config: ParsedConfig, context: t.Mapping[str, t.Any], requested: t.Mapping[str, t.Any]) -> Requires:
    """The requirements of a document on the rest of the deployment.

    vllm: args, env and ports of the model server (of the context's engine); an env entry replaces one of the same name.
    epp: args, env, ports, publish_not_ready (of its Service). sidecars: name, on ("epp" or a role), and what to run.
    pod_labels: of every server; roles: the roles that need servers.
    """
    needs = {**nothing(), "feature_gates": list(config.document.get("featureGates") or [])}
    if experimental(config):
        needs["epp"]["args"].append(f"{EXPERIMENTAL}=true")
    for item in config.makes("precise"):
        _precise(needs, item, config, context)
    _roles(needs, config, context, requested)
    return needs


def _precise(needs: Requires, item: Declared, config: ParsedConfig, context: t.Mapping[str, t.Any]) -> None:
    sizes = get_path(item.parameters, "tokenProcessorConfig") or {}
    events = get_path(item.parameters, "kvEventsConfig") or {}
    model = get_path(item.parameters, "indexerConfig", "tokenizersPoolConfig", "modelName") or next(
        (producer.parameters.get("modelName") for producer in config.of_type("token-producer", "tokenizer")), None
    )
    size, seed, port = sizes.get("blockSizeTokens") or sizes.get("blockSize") or 16, str(sizes.get("hashSeed", "")), context.get("port") or 8000
    bind = str(events.get("zmqEndpoint") or "")
    if bind:
        number = int(bind.rpartition(":")[2]) if bind.rpartition(":")[2].isdigit() else presets.PRECISE_EVENTS["kv_events_port"]
        needs["epp"]["ports"].append({"name": "kv-events", "port": number})
        needs["epp"]["publish_not_ready"] = True  # servers resolve and connect to it before the endpoint picker is ready
    else:
        number = get_path(events, "podDiscoveryConfig", "socketPort") or presets.PRECISE_EVENTS["kv_events_port"]
        needs["vllm"]["ports"].append({"name": "kv-events", "port": number})
        needs["pod_labels"][presets.SERVING_LABEL] = "true"
    target = f"tcp://{context.get('epp_service') or '$(EPP_SERVICE)'}:{number}" if bind else f"tcp://*:{number}"
    server = needs["vllm"]
    if context.get("block_size") is None:
        server["args"].append(f"--block-size={size}")
    if context.get("engine") == "simulator":
        server["args"] += ["--enable-kvcache=true", f"--hash-seed={seed}", f"--zmq-endpoint={target}", "--event-batch-size=1"]
        # The simulator identifies itself in its events by POD_IP; the endpoint picker looks scores up by address:port.
        server["env"] += [{"name": "SERVER_IP", "valueFrom": POD_IP["valueFrom"]}, {"name": "POD_IP", "value": f"$(SERVER_IP):{port}"}]
    else:
        publisher = {"enable_kv_cache_events": True, "publisher": "zmq", "endpoint": target, "topic": f"kv@$(POD_IP):{port}@{context.get('model') or model}"}
        server["args"].append(f"--kv-events-config={json.dumps(publisher, separators=(',', ':'))}")
        server["env"] += [*([] if config.line.own_keys and not seed.isdigit() else [{"name": "PYTHONHASHSEED", "value": seed}]), dict(POD_IP)]
    needs["sidecars"].append(_tokenizer(item, config, model))


def _tokenizer(item: Declared, config: ParsedConfig, model: t.Any) -> Requires:
    """The tokenizer sidecar: a socket service in scheduler-0.7, a render service for the router."""
    if not config.line.strict:
        socket = get_path(item.parameters, "indexerConfig", "tokenizersPoolConfig", "uds", "socketFile")
        return {"name": "tokenizer", "on": "epp", "kind": "uds", "model": model, "socket": socket, "shared_dir": str(socket or "").rpartition("/")[0]}
    url = next((get_path(producer.parameters, "vllm", "url") for producer in config.of_type("token-producer")), None) or presets.PRECISE_EVENTS["render_url"]
    number = str(url).rpartition(":")[2].partition("/")[0]
    return {
        "name": "vllm-render",
        "on": "epp",
        "kind": "render",
        "model": model,
        "url": url,
        "command": ["vllm", "launch", "render"],
        "args": [str(model), f"--port={number}"],
        "port": int(number) if number.isdigit() else None,
    }


def _roles(needs: Requires, config: ParsedConfig, context: t.Mapping[str, t.Any], requested: t.Mapping[str, t.Any]) -> None:
    settings = pd_settings(config)
    if settings is None:
        return
    stages = [stage for stage in ("encode", "prefill") if stage in settings[2]]
    needs["roles"] = [*stages, "decode"] if stages else []
    if not stages:
        return
    line, port = config.line.name, context.get("port") or 8000
    connector = get_path(dict(requested), "disaggregation", "connector") or presets.CONNECTORS[line][0]
    needs["sidecars"].append(
        {
            "name": "routing-proxy",
            "on": "decode",
            "kind": "disaggregation",
            "port": port,
            "server_port": presets.SIDECAR_SERVER_PORT,
            "args": [
                f"--port={port}",
                f"{presets.SIDECAR_SERVER_FLAG[line]}={presets.SIDECAR_SERVER_PORT}",
                f"--kv-connector={connector}",
                "--secure-proxy=false",
            ],
        }
    )
    if context.get("engine") != "simulator":
        transfer = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
        needs["vllm"]["args"].append(f"--kv-transfer-config={json.dumps(transfer, separators=(',', ':'))}")
        needs["vllm"]["env"] += [
            {"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": POD_IP["valueFrom"]},
            {"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": str(presets.SIDE_CHANNEL_PORT)},
        ]
