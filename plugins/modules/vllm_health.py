# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_health
short_description: Wait for a healthy OpenAI-compatible server
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Waits until an OpenAI-compatible server (vLLM, SGLang, TensorRT-LLM, the llm-d simulator, or a gateway in front of them) is healthy, and
    fails when it is not in time.
  - Climbs a ladder. V(alive) asks C(/health), V(ready) asks whether C(/v1/models) lists the model, V(serving) asks for real
    completions, one whole and one streamed, and looks inside the stream, where errors come after status 200.
  - A green C(/health) alone proves little, since a hung or sleeping engine still answers it.
options:
  url:
    description:
      - Address of the server or of the gateway in front of it, without C(/v1).
      - Proxies of the environment are honoured.
    type: str
  service:
    description:
      - A Service in the cluster, reached through the API server's proxy.
      - The API server does not pass on O(api_key), so a server that asks for a key needs O(url).
    type: dict
    suboptions:
      namespace:
        description: Namespace of the Service.
        type: str
        required: true
      name:
        description: Name of the Service.
        type: str
        required: true
      port:
        description: Number or name of the Service's port.
        type: str
        required: true
      scheme:
        description: What the server speaks.
        type: str
        choices: [http, https]
        default: http
  model:
    description:
      - Name under which the model must be served.
      - Without it any model will do.
    type: str
  min_model_len:
    description: The model must take at least this many tokens, where the server says how many it takes.
    type: int
  level:
    description: How far up the ladder the server must be.
    type: str
    choices: [alive, ready, serving]
    default: serving
  apis:
    description: Which completions O(level=serving) asks for.
    type: list
    elements: str
    choices: [completions, chat_completions]
    default: [completions]
  timeout:
    description: Seconds to wait in all.
    type: float
    default: 300
  request_timeout:
    description: Seconds that one request may take.
    type: float
    default: 10
  interval:
    description: Seconds between two looks.
    type: float
    default: 2
  api_key:
    description: Key that the server asks for. It is never shown.
    type: str
  host_header:
    description: Host name to ask for, where a gateway routes by host name.
    type: str
  validate_certs:
    description: Whether the server's certificate must be trusted.
    type: bool
    default: true
  ca_path:
    description: PEM file with the certificates of the authorities to trust.
    type: path
  kubeconfig:
    description:
      - Kubeconfig for O(service).
      - All other settings of the connection come from the C(K8S_AUTH_*) variables of the environment, as for C(kubernetes.core).
    type: path
  context:
    description: Context in the kubeconfig, for O(service).
    type: str
requirements:
  - kubernetes >= 24.2.0, for O(service)
attributes:
  check_mode:
    description: Looks once, does not wait, asks for no completion, and does not fail.
    support: full
  diff_mode:
    description: It changes nothing.
    support: none
  platform:
    description: Works on hosts of these systems.
    support: full
    platforms: posix
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
"""

EXAMPLES = r"""
- name: Wait until the model answers through the gateway
  llm_d.inference.vllm_health:
    url: http://10.96.0.20
    model: meta-llama/Llama-3.1-8B-Instruct
    timeout: 600

- name: Ask the model's Service, through the API server, whether the model is loaded
  llm_d.inference.vllm_health:
    service:
      namespace: llm-d
      name: llama-8b
      port: 8000
    model: meta-llama/Llama-3.1-8B-Instruct
    level: ready

- name: A server with a key and a private certificate authority
  llm_d.inference.vllm_health:
    url: https://models.example.com
    api_key: "{{ vault_model_key }}"
    ca_path: /etc/ssl/example-ca.pem
    apis: [completions, chat_completions]
"""

RETURN = r"""
healthy:
  description: Whether the server is at the wanted level.
  returned: always
  type: bool
  sample: true
level:
  description: The highest level that held, empty when none did.
  returned: always
  type: str
  sample: serving
checks:
  description: The rungs of the last look, in order; the last one is the one that failed, if any did.
  returned: always
  type: list
  elements: dict
  sample:
    - {name: health, ok: true, evidence: "GET http://10.96.0.20/health: 200", ms: 2.1, remedy: "", kind: ""}
    - name: models
      ok: false
      evidence: /v1/models lists acme/tiny, not acme/small
      ms: 3.4
      remedy: serve 'acme/small' under that name, or ask for one of those
      kind: model
  contains:
    name:
      description: What was looked at.
      type: str
    ok:
      description: Whether it held.
      type: bool
    evidence:
      description: What was seen.
      type: str
    ms:
      description: Milliseconds it took.
      type: float
    remedy:
      description: What to do, when it did not hold.
      type: str
    kind:
      description: Short name of the trouble, for programs.
      type: str
models:
  description: The models that the server lists.
  returned: always
  type: list
  elements: dict
  sample: [{id: acme/tiny, max_model_len: 1024}]
  contains:
    id:
      description: Name of the model.
      type: str
    max_model_len:
      description: Tokens it takes, null when the server does not say.
      type: int
version:
  description: Version of the server, null when it does not say.
  returned: always
  type: str
  sample: 0.11.0
waited:
  description: Seconds until the outcome.
  returned: always
  type: float
  sample: 12.3
looks:
  description: How many times the server was looked at.
  returned: always
  type: int
  sample: 7
"""

import dataclasses
import types

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llm_d.inference.plugins.module_utils import health
from ansible_collections.llm_d.inference.plugins.module_utils.http_transport import ServiceTransport, Transport, UrlTransport
from ansible_collections.llm_d.inference.plugins.module_utils.openai_api import Client

SPEC = {
    "url": {"type": "str"},
    "service": {"type": "dict", "options": {
        "namespace": {"type": "str", "required": True},
        "name": {"type": "str", "required": True},
        "port": {"type": "str", "required": True},
        "scheme": {"type": "str", "choices": ["http", "https"], "default": "http"},
    }},
    "model": {"type": "str"},
    "min_model_len": {"type": "int"},
    "level": {"type": "str", "choices": list(health.LEVELS), "default": "serving"},
    "apis": {"type": "list", "elements": "str", "choices": ["completions", "chat_completions"], "default": ["completions"]},
    "timeout": {"type": "float", "default": 300},
    "request_timeout": {"type": "float", "default": 10},
    "interval": {"type": "float", "default": 2},
    "api_key": {"type": "str", "no_log": True},
    "host_header": {"type": "str"},
    "validate_certs": {"type": "bool", "default": True},
    "ca_path": {"type": "path"},
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
}


def transport(params: dict) -> Transport:
    """Raises ValueError for options that do not fit, and the cluster's own error when it cannot be reached."""
    if params["url"]:
        return UrlTransport(params["url"], validate_certs=params["validate_certs"], ca_path=params["ca_path"])
    if params["api_key"]:
        raise ValueError("api_key cannot be sent to a Service: the API server's proxy keeps that header for itself; give url instead of service")
    # here, because the kubernetes library takes half a second to load and a URL does not need it
    from ansible_collections.llm_d.inference.plugins.module_utils import cluster
    connection = cluster.connect(types.SimpleNamespace(params={"kubeconfig": params["kubeconfig"], "context": params["context"]}))
    service = params["service"]
    return ServiceTransport(connection, service["namespace"], service["name"], service["port"], "https" if service["scheme"] == "https" else "")


def result(found: health.Health) -> dict:
    """What the module returns."""
    return {
        "changed": False, "healthy": found.healthy, "level": found.reached, "version": found.version, "waited": found.waited, "looks": found.looks,
        "checks": [dataclasses.asdict(check) for check in found.checks],
        "models": [dataclasses.asdict(model) for model in found.models],
    }


def main() -> None:
    """Entry point."""
    module = AnsibleModule(SPEC, mutually_exclusive=[("url", "service")], required_one_of=[("url", "service")], supports_check_mode=True)
    params = module.params
    if min(params["timeout"], params["request_timeout"], params["interval"]) <= 0:
        module.fail_json(msg="timeout, request_timeout and interval are seconds and must be more than 0")
    try:
        client = Client(transport(params), params["api_key"], {"Host": params["host_header"]} if params["host_header"] else None)
    except Exception as error:  # pylint: disable=broad-except  # a mistake in the options or an unreachable cluster, each one clear line
        module.fail_json(msg=str(error))
    wanted = health.Wanted(params["level"], params["model"], params["min_model_len"], tuple(params["apis"]), params["request_timeout"])
    if module.check_mode:
        level = "ready" if params["level"] == "serving" else params["level"]
        module.exit_json(**result(health.look(client, wanted, level)), msg="check mode: looked once, sent no completion")
    found = health.wait(client, wanted, params["timeout"], params["interval"])
    if found.healthy:
        module.exit_json(**result(found))
    failed = found.failed
    module.fail_json(msg=f"not {params['level']} after {found.waited:g} s: {failed.evidence}. Remedy: {failed.remedy}", **result(found))


if __name__ == "__main__":
    main()
