# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: stack_validation
short_description: Validate a running stack, and how its requests are scheduled
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Checks model services, and returns a verdict. It has one claim for each statement that was checked, with the evidence, and a remedy where the claim does
    not hold. An unhealthy stack does not fail the task. The field C(ok) of the verdict is V(false) then.
  - With O(services), sends a few short requests to each service, in parallel to many services. The claims of a service are that completions succeed, both
    streamed and not; that every answer passed the endpoint picker; that the picker's counters increased by exactly the number of requests sent; that it
    knows all servers; that the planned plugins ran; that the servers that answered are those it picked; and what its scheduling policy promises, see
    O(services[].promises).
  - With O(plan), does the same for all its services, and checks the rest of the stack, see O(checks). Checks that cannot disturb each other run in
    parallel. While requests are sent through the gateway, nothing else is sent to the servers.
  - With O(verdict), checks nothing. Adds the claims about O(performance) to that verdict.
  - Where this host has no route to the address of a gateway or Service, as with a cluster that runs in containers (kind, minikube, k3d), a port of one of
    its pods is forwarded instead.
  - Prefixes are new in each run, so that no run depends on the caches of an earlier one. The number of requests and the time are bounded.
  - With other traffic at the same time, the claims with exact counts fail, and the claim C(sticky) can fail.
  - Fails for invalid options, and where the API server does not answer or does not accept the credentials.
attributes:
  check_mode:
    description: Sends nothing, and returns no verdict.
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1, unless every address is given
extends_documentation_fragment:
  - llm_d.inference.options.stack_validation
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
"""

EXAMPLES = r"""
- name: Validate the routing of two services behind one gateway
  llm_d.inference.stack_validation:
    kubeconfig: /var/lib/llm-d-local/admin.kubeconfig
    gateway:
      namespace: llm-d
      name: llm-d-gateway
    services:
      - name: llama-8b
        model: meta-llama/Llama-3.1-8B-Instruct
        host_header: llama.example.com
        replicas: 2
        metrics:
          namespace: llm-d
          labels: {app.kubernetes.io/instance: llama-8b-epp}
          names: &names
            requests: inference_objective_request_total
            scheduler_attempts: inference_extension_scheduler_attempts_total
      - name: qwen
        model: Qwen/Qwen3-0.6B
        host_header: qwen.example.com
        promises: [spread]
        replicas: 1
        metrics:
          namespace: llm-d
          labels: {app.kubernetes.io/instance: qwen-epp}
          names: *names
  register: validated

- name: Show the claims
  ansible.builtin.debug:
    msg: "{{ validated.verdict | llm_d.inference.verdict_table }}"

- name: Fail when a claim does not hold
  ansible.builtin.assert:
    that: validated.verdict.ok

- name: Validate everything that the llm_d_* variables of the host describe
  llm_d.inference.stack_validation:
    plan: "{{ lookup('llm_d.inference.plan') }}"
    patient: false
"""

RETURN = r"""
verdict:
  description: The verdict. Some fields are returned only with O(plan).
  returned: success, when not in check mode
  type: dict
  sample:
    ok: false
    time: "2026-11-21T08:00:00Z"
    instance: llm-d
    namespace: llm-d
    cluster: https://10.215.0.1:6443
    release: scheduler-0.7
    endpoint: http://10.96.0.20
    endpoints: [{name: llama-8b, url: "http://10.96.0.20", model: meta-llama/Llama-3.1-8B-Instruct, host_header: null, headers: {}, through: null}]
    claims:
      - id: llama-8b/counted
        group: scheduler
        ok: false
        evidence: "14 requests sent, the endpoint picker's counters moved: requests by 17, scheduler_attempts by 17"
        remedy: check whether other clients sent requests at the same time, and validate without them
        seconds: 0.05
    not_checked: [{id: qwen/sticky, why: there is one replica}]
    versions: {collection: 0.1.0, release: scheduler-0.7, kubernetes: v1.34.4}
  contains:
    ok:
      description: V(true) where there is at least one claim and all claims hold.
      type: bool
    time:
      description: When the validation started, UTC.
      type: str
    endpoint:
      description: Address of the first of C(endpoints).
      type: str
    endpoints:
      description:
        - Where the services answer, with what a request needs. C(through) is the Service whose pod's port was forwarded, since this host has no route to the
          address, else null.
      type: list
      elements: dict
    claims:
      description:
        - The claims, each with C(id), C(group), whether it holds (C(ok)), what was observed (C(evidence)), what to do where it does not hold (C(remedy)), and
          the C(seconds) that it took. C(docs/claims.md) lists all claims.
      type: list
      elements: dict
    not_checked:
      description: What was not checked (C(id)), and C(why).
      type: list
      elements: dict
    versions:
      description: Versions of the collection and of Kubernetes, and the planned versions and images.
      type: dict
reached:
  description: V(false) where the API server did not answer, or did not accept the credentials. V(true) where it answered one request with another error.
  returned: on failure to reach the API server with O(plan)
  type: bool
  sample: false
schedulers:
  description:
    - The evidence that each pod of the endpoint picker of each service runs its configuration. C(by) is V(log), where C(line) is the line of the log, or
      V(readiness), where the log is no longer available.
  returned: when O(checks) has V(schedulers), and all endpoint pickers run their configuration
  type: list
  elements: dict
  sample:
    - name: sim-epp
      pods: [{pod: sim-epp-5d9c7, by: log, line: '{"msg":"loaded configuration from file/text successfully"}'}]
msg:
  description: Why nothing could be validated, or in check mode that nothing was sent.
  returned: on failure and in check mode
  type: str
  sample: "check mode: nothing was sent, nothing is validated"
"""

import datetime
import functools
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common import credentials, masking
from ..module_utils.common.module_options import argument_spec, defaults
from ..module_utils.http import headers, tls
from ..module_utils.http.transport import UrlTransport
from ..module_utils.k8s import client
from ..module_utils.k8s.access import reach
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.validation import options, targets, verdict
from ..module_utils.validation.probe_traffic import ProbeLimits
from ..module_utils.validation.routing_proof import Proof, needs_cluster
from ..module_utils.validation.stack import Checks, Waits

SUBJECTS = ("plan", "services", "verdict")  # exactly one of these options is given


def problems(params: dict[str, t.Any], plan: dict[str, t.Any] | None) -> list[str]:
    """The errors in the options."""
    errors = [] if plan is None else list(filter(None, [targets.plan_error(plan)]))
    positive = {name: params[name] for name in ("request_timeout", "prefix_words") if params[name] is not None}
    errors += [f"{name}: {value} must be more than 0" for name, value in positive.items() if value <= 0]
    errors += [f"{name}: {params[name]} must be 2 or more" for name in ("sticky_requests", "spread_requests") if params[name] < 2]
    for index, service in enumerate(params["services"] or []):
        metrics = service["metrics"] or {}
        for path, url in ((f"services[{index}].url", service["url"] or "https://default"), (f"services[{index}].metrics.url", metrics.get("url"))):
            try:
                # Raises for an invalid address and for invalid TLS options, which a service without an address may have too.
                _unused = url and UrlTransport(url, **tls.chosen(service))
            except ValueError as error:
                errors.append(f"{path}: {error}")
        header_errors = headers.problems(service["headers"] or {}, service["host_header"], service["api_key"])
        errors += [f"services[{index}].{each}" for each in header_errors]
        if not service["url"] and not service["address"] and not params["gateway"]:
            errors.append(f"services[{index}]: give url, address (the Service to send requests to), or the option gateway")
    return errors


def waits_of(params: dict[str, t.Any], timeout: float = 0.0) -> Waits:
    """How long checks wait. timeout: seconds to wait for objects, if the option is omitted."""
    return Waits(params["wait"], timeout if params["timeout"] is None else params["timeout"], params["patient"], params["request_timeout"])


def limits(params: dict[str, t.Any], waits: Waits) -> ProbeLimits:
    """The limits of the probe traffic to each service, as the options set them."""
    return ProbeLimits(
        sticky=params["sticky_requests"],
        spread_min=min(4, params["spread_requests"]),
        spread_max=params["spread_requests"],
        prefix_words=params["prefix_words"],
        settle=params["settle"],
        request_timeout=waits.request,
        wait=waits.answer({}),  # for a plan, Checks sets it again after it has waited for the objects
    )


def of_plan(module: AnsibleModule, plan: dict[str, t.Any], now: str) -> dict[str, t.Any]:
    """The returned values for a plan. Fails where the API server does not answer or does not accept the credentials. now: when the validation started."""
    params = module.params
    assemble = functools.partial(verdict.assemble, plan, collection=plan.get("collection", "unknown"), checks=params["checks"])
    if params["unreached"]:
        return {"verdict": assemble(results={"access": {"failed": True, "msg": params["unreached"]}, "time": now})}
    try:
        cluster = client.connect(module)
        reach(cluster)
    except ClusterError as error:
        # An error without an HTTP status: the API server did not answer, or received no credentials.
        module.fail_json(msg=str(error), reached=getattr(error, "status", None) not in (None, 401))
    services = [
        {**defaults(options.SERVICE), **each, "metrics": {**defaults(options.METRICS), **each["metrics"]}} for each in targets.services_with_promises(plan)
    ]
    waits = waits_of(params, plan["wait_timeout"])
    results = Checks(cluster, plan, services, waits, limits(params, waits), params["progress_path"] or "", params["checks"]).run()
    schedulers = results.get("schedulers", {}).get("schedulers")
    return {
        "verdict": assemble(results={**results, "access": {"server": cluster.server}, "time": now}),
        **({} if schedulers is None else {"schedulers": schedulers}),
    }


def of_services(module: AnsibleModule, now: str) -> dict[str, t.Any]:
    """The returned values for services, whoever has deployed them. now: when the validation started."""
    try:
        connection = client.connect(module) if needs_cluster(module.params) else None
        result = Proof(module.params, connection, limits(module.params, waits_of(module.params))).run()
    except (ValueError, ClusterError) as error:  # such as a Secret without the API key of a service, which would refuse every request
        module.fail_json(msg=str(error))
    return {"verdict": verdict.verdict(result["claims"], result["not_checked"], result["endpoints"], {"kubernetes": result["kubernetes"]}, now)}


def main() -> None:
    """Entry point."""
    module = AnsibleModule(
        {**client.auth_spec(), **argument_spec(options.STACK)},
        supports_check_mode=True,
        mutually_exclusive=[SUBJECTS],
        required_one_of=[SUBJECTS],
        required_together=[("verdict", "performance")],
    )
    params = module.params
    # Ansible displays the options with -vvv: those that contain prompts, keys and headers of the file are taken out, headers of services are hidden.
    plan, before, load = (params.pop(name) for name in ("plan", "verdict", "performance"))
    for service in params["services"] or ():
        masking.hide(module, credentials.texts({**(service["headers"] or {}), **(service["shared_headers"] or {})}))
    if errors := problems(params, plan):
        module.fail_json(msg="; ".join(errors))
    if module.check_mode:
        module.exit_json(changed=False, msg="check mode: nothing was sent, nothing is validated")
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if plan is not None:
        module.exit_json(changed=False, **of_plan(module, plan, now))
    returned = {"verdict": verdict.with_performance(before, load)} if before is not None else of_services(module, now)
    module.exit_json(changed=False, **returned)


if __name__ == "__main__":
    main()
