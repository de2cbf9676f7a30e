"""A model server whose streams begin normally and then carry an error, as vLLM's do when its engine dies."""

from __future__ import annotations

import http.server
import json
import sys

MODEL = sys.argv[1]
METRICS = """# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="m"} 0
vllm:num_requests_running{model_name="m"} 0
vllm:kv_cache_usage_perc{model_name="m"} 0
vllm:cache_config_info{block_size="16",num_gpu_blocks="1400"} 1
"""
BEGIN = {"id": "1", "object": "text_completion", "model": MODEL, "choices": [{"index": 0, "text": "To ", "finish_reason": None}]}
ERROR = {"error": {"message": "EngineCore encountered an issue.", "type": "InternalServerError", "code": 500}}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
WHOLE = {**BEGIN, "choices": [{"index": 0, "text": "To be.", "finish_reason": "stop"}], "usage": USAGE}


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers the requests of the diagnosis and the endpoint picker."""

    def do_GET(self) -> None:
        models = {"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": 32768}]}
        pages = {"/metrics": ("text/plain", METRICS), "/v1/models": ("application/json", json.dumps(models)), "/health": ("text/plain", "")}
        kind, text = pages.get(self.path, ("text/plain", ""))
        self.answer(kind, text)

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stream = "".join(f"data: {json.dumps(event)}\n\n" for event in (BEGIN, ERROR)) + "data: [DONE]\n\n"
        self.answer(*(("text/event-stream", stream) if request.get("stream") else ("application/json", json.dumps(WHOLE))))

    def answer(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


http.server.ThreadingHTTPServer(("", 8000), Handler).serve_forever()
