# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_adapters
short_description: Load and unload the LoRA adapters of running model servers
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Brings every server of model services to the LoRA adapters in O(services[].adapters). Lists the adapters of the server (C(/v1/models)), unloads those that
    are not in the option (C(/v1/unload_lora_adapter)), and loads those that are missing (C(/v1/load_lora_adapter)). An adapter with another source is
    unloaded and loaded again. Requests bypass gateway and endpoint picker.
  - No server is restarted. A server that restarts by itself loses its adapters; run this again.
  - vLLM serves this API only with C(--enable-lora) and C(VLLM_ALLOW_RUNTIME_LORA_UPDATING=True), the simulator always. The task fails for a server without it.
  - Requests are sent to up to sixteen servers in parallel. A server that is not ready gets no adapters, and the task warns about it.
attributes:
  check_mode:
    description: Reads the lists of the servers, and returns what would be loaded and unloaded.
  diff_mode:
    description: Shows the adapters of each server before and after.
extends_documentation_fragment:
  - llm_d.inference.attributes
  - llm_d.inference.options.vllm_adapters
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1, for all but O(services[].urls)
seealso:
  - module: llm_d.inference.vllm_warmup
"""

EXAMPLES = r"""
- name: Give each server of a model service one adapter
  llm_d.inference.vllm_adapters:
    services:
      - name: llama-8b
        adapters:
          - {name: sql, source: /models/sql}
        replicas:
          - namespace: llm-d
            label_selector: llm-d.ai/model-service=llama-8b
"""

RETURN = r"""
services:
  description: The result for each service.
  returned: always
  type: list
  elements: dict
  sample:
    - name: llama-8b
      problem: ""
      servers:
        - server: Pod llm-d/llama-8b-decode-5d6c7f-abcde
          before: {}
          after: {sql: /models/sql}
          adapters:
            - {adapter: sql, state: loaded, evidence: "", remedy: ""}
  contains:
    name:
      description: Name of the service.
      type: str
    problem:
      description: An error about the service as a whole, else empty.
      type: str
    servers:
      description: The result for each server.
      type: list
      elements: dict
      contains:
        server:
          description: Address of the server, or the Pod.
          type: str
        before:
          description: Source of each adapter that it had, by name.
          type: dict
        after:
          description: The same afterwards; in check mode, what would be.
          type: dict
        adapters:
          description: The result for each adapter.
          type: list
          elements: dict
          contains:
            adapter:
              description: Its name, or V(all) where the server did not answer or was not ready.
              type: str
            state:
              description:
                - V(has), the server already had it; V(loaded) and V(unloaded), which are changes; V(failed), the server refused, or did not answer;
                  V(not_ready), the pod was not ready.
              type: str
            evidence:
              description: What was observed, for V(failed) and V(not_ready). Else empty.
              type: str
            remedy:
              description: What to do about it. Else empty.
              type: str
msg:
  description: Each adapter that could not be loaded or unloaded, with the reason.
  returned: on failure
  type: str
  sample: "services[0] names no server: write urls or replicas"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.module_options import argument_spec
from ..module_utils.http import tls
from ..module_utils.inference import adapters, options, report


def service_error(place: str, service: dict[str, t.Any]) -> str:
    """The error where a service lists an adapter twice; empty without one. place: of the service in the options, such as services[0]."""
    names = [adapter["name"] for adapter in service["adapters"]]
    for name in names:
        if names.count(name) > 1:
            return f"{place}.adapters has {name} {names.count(name)} times: write each name once"
    return ""


def main() -> None:
    """Entry point."""
    module = AnsibleModule(argument_spec(options.ADAPTERS), supports_check_mode=True, required_by=tls.REQUIRED_BY)
    if reason := report.services_error(module.params, service_error):
        module.fail_json(msg=reason)
    try:
        entries = adapters.Adapters(module.params).run(module.check_mode)
    except ValueError as error:  # options that contradict each other
        module.fail_json(msg=str(error))
    failed = [f"{entry['name']}: {entry['problem']}" for entry in entries if entry["problem"]]
    for entry in entries:
        for _server, row in adapters.rows(entry, adapters.WAITING):
            module.warn(f"{entry['name']}: {row['evidence']} and got no adapters: {row['remedy']}")
        failed += [f"{entry['name']}: {server}: {row['adapter']}: {row['evidence']}: {row['remedy']}" for server, row in adapters.rows(entry, adapters.FAILED)]
    result = {
        "changed": any(adapters.rows(entry, adapters.LOADED, adapters.UNLOADED) for entry in entries),
        "services": entries,
        "diff": {"before": adapters.shown(entries, "before"), "after": adapters.shown(entries, "after")},
    }
    if failed:
        module.fail_json(msg="\n".join(failed), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
