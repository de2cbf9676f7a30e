# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: picker_conformance
short_description: Check whether a running endpoint picker keeps the Endpoint Picker Protocol
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Sends requests to the endpoint picker of one InferencePool as a gateway does, by Envoy's external processing, and compares its answers with the Endpoint
    Picker Protocol of the Gateway API inference extension. Also checks what gateways, autoscalers and operators need beyond the protocol. The endpoint picker
    may be of any implementation.
  - Writes C(endpoint_picker.md) into a folder.
  - No request reaches a model server, except those through the gateway.
  - Certificates of endpoint pickers are not verified, as gateways do not verify them.
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.options.picker_conformance
  - llm_d.inference.attributes.no_diff
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Finds the pool, and sends no request.
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
  - h2 >= 4.1
"""

EXAMPLES = r"""
- name: Check the endpoint picker of a pool
  llm_d.inference.picker_conformance:
    path: artifacts/conformance
    namespace: llm-d
    pool: llama-8b
    model: meta-llama/Llama-3.1-8B-Instruct
"""

RETURN = r"""
ok:
  description: Whether no check failed.
  returned: when the endpoint picker was checked
  type: bool
  sample: true
summary:
  description: How many checks passed, failed and were skipped.
  returned: when the endpoint picker was checked
  type: str
  sample: "26 tests: 22 passed, 0 failed, 4 skipped"
tests:
  description: Each check with its C(name), C(result), C(seconds), C(why), C(title), and as C(section) the part of the protocol that requires it.
  returned: when the endpoint picker was checked
  type: list
  elements: dict
  sample:
    - {name: offered, result: passed, seconds: 0.3, why: "24 picks, 3 of 3 endpoints", section: Endpoint Subset, title: "Without a subset, ..."}
pool:
  description: Namespace and name of the InferencePool.
  returned: when the endpoint picker was checked
  type: str
  sample: llm-d/llama-8b
seconds:
  description: How long it took.
  returned: when the endpoint picker was checked
  type: float
  sample: 6.2
"""

import time
import typing as t
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.benchmark.execute import progress_writer
from ..module_utils.common import module_options
from ..module_utils.common.interrupts import signals
from ..module_utils.common.objects import Facts
from ..module_utils.conformance.picker_bench import PickerBench
from ..module_utils.conformance.picker_checks import CHECKS, run
from ..module_utils.conformance.report import page, summary
from ..module_utils.http.grpc import GrpcError
from ..module_utils.inference import api_keys
from ..module_utils.inference.endpoints import wait_for_gateway
from ..module_utils.inference.targets import route_headers
from ..module_utils.k8s.client import auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.releases.gateways import POOL_GROUPS
from ..module_utils.validation.options import PICKER

GROUPS = tuple(f"{group}/{version}" for version, group in POOL_GROUPS.items())
GATEWAY_WAIT = 10.0  # seconds


def pool_of(cluster: t.Any, namespace: str, name: str) -> Facts:
    """The InferencePool, with its kind. Raises ClusterError."""
    for api in GROUPS:
        pool = cluster.find(f"/apis/{api}/namespaces/{namespace}/inferencepools/{name}")
        if pool:
            return {**pool, "apiVersion": api, "kind": "InferencePool"}
    raise ClusterError(f"there is no InferencePool {namespace}/{name}: deploy it, or name another (conformance_pool, conformance_pool_namespace)")


def url_of(cluster: t.Any, options: Facts) -> str:
    """The address of the gateway; empty where it has none. Raises ClusterError."""
    if options["url"] or not options["gateway"]:
        return str(options["url"])
    gateway_url = wait_for_gateway(cluster, options["gateway"], GATEWAY_WAIT)["url"]
    return f"{gateway_url}{options['url_path'].rstrip('/')}" if gateway_url else ""


def with_key(cluster: t.Any, options: Facts) -> Facts:
    """The options with the API key that the Secret holds. Raises ValueError and ClusterError."""
    secret = options["model_api_key_secret"]
    return {**options, "model_api_key": api_keys.read(cluster, secret)} if secret and not options["remove"] else options


def bench_options(options: Facts, url: str) -> Facts:
    """The options of a PickerBench. Raises ValueError for an invalid address or header."""
    addresses = {name: options[name] for name in ("picker_address", "health_address", "metrics_address")}
    for name, value in addresses.items():
        if value and not value.rpartition(":")[2].isdecimal():
            raise ValueError(f"conformance_{name.replace('health', 'picker_health').replace('metrics', 'picker_metrics')}: {value!r} is no HOST:PORT")
    headers = route_headers({**options, "api_key": options["model_api_key"]})
    return {
        "model": options["model"],
        "bound": options["bound"],
        "address": addresses["picker_address"],
        "health_address": addresses["health_address"],
        "metrics_address": addresses["metrics_address"],
        "probe_image": options["probe_image"],
        "stop": options["stop_picker"],
        "url": url,
        "headers": {**headers, **({"Authorization": f"Bearer {options['model_api_key']}"} if options["model_api_key"] else {})},
        "validate_certs": options["url_validate_certs"],
        "ca_path": options["url_ca_path"],
    }


def chosen(options: Facts) -> list[t.Any]:
    """The requested checks. Raises ValueError for an unknown name."""
    names = [check.name for check in CHECKS]
    unknown = [name for name in [*options["skip"], options["only"]] if name and name not in names]
    if unknown:
        raise ValueError(f"conformance_skip, conformance_only: there is no check {unknown[0]}; there are {', '.join(names)}")
    return [check for check in CHECKS if check.name not in options["skip"] and options["only"] in ("", check.name)]


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={**auth_spec(), **module_options.argument_spec(PICKER)}, supports_check_mode=True)
    options = module.params
    say = progress_writer(options["progress_path"]) or (lambda line: None)
    try:
        checks, cluster = chosen(options), connect(module)
        pool = pool_of(cluster, options["namespace"], options["pool"])
        if module.check_mode:
            module.exit_json(changed=False, msg="check mode: no request was sent")
        options = with_key(cluster, options)
        bench = PickerBench(cluster, pool, bench_options(options, "" if options["remove"] else url_of(cluster, options)))
        bench.remove_probes()  # of a run that was killed
        if options["remove"]:
            module.exit_json(changed=False)
        encrypted, began = bench.encrypted(), time.monotonic()
        with signals() as guard:
            try:
                tests = run(bench, checks, time.monotonic, say)
            finally:
                guard["closing"] = True
                bench.remove_probes()
                bench.close()
        about = {"pool": f"{options['namespace']}/{options['pool']}"}
        result = summary(tests, "", about, time.monotonic() - began)
        folder = Path(options["path"])
        folder.mkdir(parents=True, exist_ok=True)
        subject = f"The endpoint picker of InferencePool `{about['pool']}`, reached {'by TLS' if encrypted else 'without TLS'}"
        (folder / "endpoint_picker.md").write_text(page(result, "Conformance of the endpoint picker", subject), encoding="utf-8")
    except (ClusterError, GrpcError, OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
