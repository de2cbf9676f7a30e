#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: monitoring_proof
short_description: Validate that a Prometheus has data for alerts and dashboards
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Asks a Prometheus every query of the alerts and dashboards of the model services, and whether it has loaded the alerts.
  - Asks again until O(timeout), since a Prometheus learns of new monitors and alerts only after a while. Read-only.
options:
  url:
    description: URL of the Prometheus. Without it, the Service O(service) is asked through the API server.
    type: str
  namespace:
    description: Namespace of the Service O(service).
    type: str
  service:
    description: Service of the Prometheus.
    type: str
  port:
    description: Port of that Service.
    type: int
  timeout:
    description: Seconds until each query has to return data.
    type: int
    default: 180
  services_namespace:
    description: Namespace of the model services.
    type: str
    required: true
  services:
    description: The model services.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the service, the start of the claim ids.
        type: str
        required: true
      queried:
        description: By C(alerts) and C(dashboards), each alert or panel by its title, with its queries.
        type: dict
        required: true
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
attributes:
  check_mode:
    description: Asks nothing, since nothing was applied.
"""

EXAMPLES = r"""
- name: Check that the queue of a service can be seen
  llm_d.inference.monitoring_proof:
    url: http://prometheus.monitoring:9090
    services_namespace: llm-d
    services:
      - name: llama-8b
        queried:
          alerts: []
          dashboards:
            - title: Waiting requests
              queries:
                - {expr: 'vllm:num_requests_waiting{namespace="llm-d"}', metrics: ["vllm:num_requests_waiting"], until: ""}
"""

RETURN = r"""
claims:
  description: The claims C(alerts) and C(dashboards) of each service that has them.
  returned: success, when not in check mode
  type: list
  elements: dict
  sample:
    - {id: llama-8b/dashboards, ok: true, evidence: "19 panels; 24 of 24 queries return data", remedy: "", seconds: 0.3}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.http.transport import Transport, UrlTransport
from ..module_utils.k8s.client import auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.k8s.service_proxy import ServiceTransport
from ..module_utils.validation.monitoring_claims import MonitoringCheck


def main() -> None:
    """Entry point."""
    service = {"name": {"type": "str", "required": True}, "queried": {"type": "dict", "required": True}}
    module = AnsibleModule(
        {
            **auth_spec(),
            "url": {"type": "str"},
            "namespace": {"type": "str"},
            "service": {"type": "str"},
            "port": {"type": "int"},
            "timeout": {"type": "int", "default": 180},
            "services_namespace": {"type": "str", "required": True},
            "services": {"type": "list", "elements": "dict", "required": True, "options": service},
        },
        supports_check_mode=True,
        required_one_of=[("url", "service")],
        mutually_exclusive=[("url", "service")],
        required_by={"service": ("namespace", "port")},
    )
    if module.check_mode:
        module.exit_json(changed=False)
    options = module.params
    try:
        check = MonitoringCheck(_transport(module), options["services_namespace"], options["timeout"])
    except (ClusterError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, claims=[found for each in options["services"] for found in check.service(each)], not_checked=[])


def _transport(module: AnsibleModule) -> Transport:
    options = module.params
    if options["url"]:
        return UrlTransport(options["url"])
    return ServiceTransport(connect(module), options["namespace"], options["service"], options["port"])


if __name__ == "__main__":
    main()
