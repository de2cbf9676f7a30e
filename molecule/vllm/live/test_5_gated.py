"""A model whose licence is not accepted: the run and the diagnosis report the real engine's failure with its cause."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import typing as t
from pathlib import Path

import plays
from kubernetes import client
from live_stack import Stack
from real import INVENTORY, deploy, inventory_service

REPOSITORY = "acme/gated-1b"
REFUSAL = f"Access to model {REPOSITORY} is restricted. You must have access to it and be authenticated to access it. Please log in."


class GatedHub(http.server.BaseHTTPRequestHandler):
    """Refuses every file as huggingface.co refuses files of a gated repository."""

    def do_GET(self) -> None:
        body = json.dumps({"error": REFUSAL}).encode()
        self.send_response(403)
        self.send_header("X-Error-Code", "GatedRepo")
        self.send_header("X-Error-Message", REFUSAL)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_arguments: t.Any) -> None:
        """Suppress request logging."""


@contextlib.contextmanager
def hub() -> t.Iterator[str]:
    """Serve GatedHub; yields its URL. It listens on the address of the API server, which pods can reach."""
    host = client.Configuration.get_default_copy().host.split("//")[1].split(":")[0]
    server = http.server.ThreadingHTTPServer((host, 0), GatedHub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{host}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_a_gated_model_is_named(stack: Stack, tmp_path: Path) -> None:
    chat = inventory_service()
    with hub() as endpoint:
        gated_service = {
            **chat,
            "name": "gated",
            "model": {"uri": f"hf://{REPOSITORY}", "served_name": "gated"},
            "replicas": 1,
            "engine": {**chat["engine"], "env": {**chat["engine"]["env"], "HF_ENDPOINT": endpoint}},
            "route": {"path": "/gated"},
        }
        variables = {"llm_d_artifacts_dir": str(tmp_path), "llm_d_model_services": [chat, gated_service], "llm_d_wait_timeout": 120}
        try:
            done = plays.run("-i", INVENTORY, "site.yml", "-e", json.dumps(variables))
            diagnosis = plays.run("-i", INVENTORY, "playbooks/diagnose.yml", "-e", json.dumps(variables))
        finally:
            deploy(tmp_path)  # removes the model service `gated`
    output = done.stdout[-4000:]
    assert done.returncode != 0 and "licence was accepted" in output and "gated-decode" in output, output
    assert diagnosis.returncode == 0, diagnosis.stdout[-4000:]
    findings = json.loads((tmp_path / "diagnosis.json").read_text(encoding="utf-8"))["findings"]
    first = findings[0]
    assert first["code"] == "F16" and "gated-decode" in first["where"], findings
    assert REPOSITORY in json.dumps(first["evidence"]), "the evidence is the engine's log line"
    assert len(stack.servers("chat")) == 2, "the other model service is unchanged"
