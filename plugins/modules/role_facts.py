# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: role_facts
author:
  - llm_d.inference contributors (@llm-d)
short_description: Compute the plan, the state and the object definitions of a role once
version_added: 1.0.0
description:
  - The first task of each role calls it and registers the result, which all later tasks read.
  - A variable is evaluated again at every use, and a large value passes through Ansible's templating each time. A registered result is neither.
  - Runs on the controller, connects to nothing and changes nothing.
  - Callbacks do not show the result, since the plan may hold the key of an API.
options:
  role:
    description:
      - Short name of the role, the prefix of its variables.
      - The plan is the value of the role variable C(<role>_plan). Where that is empty, it is derived from the C(llm_d_*) variables.
    type: str
    required: true
  definitions:
    description:
      - Names of results, each with a template of the role or a list of them. Each result is the list of the object definitions that they render.
      - Templates are plain Jinja. They see the C(plan) and the filter C(to_json), which has to be the whole value of a key or list item.
        A reference to anything that the plan does not have is an error.
    type: dict
    default: {}
  variables:
    description:
      - C(llm_d_*) variables that replace those of the host, including extra variables, which C(vars) of a task do not replace.
      - With any of these, C(<role>_plan) is ignored.
    type: dict
    default: {}
  derive:
    description:
      - V(targets) adds the objects that have to be ready, and the services, the gateway and the servers to send requests to.
      - V(runs) adds the result of P(llm_d.inference.benchmark_runs#filter).
      - V(everything) adds the definitions of every object that the roles of C(site.yml) apply, without Secrets and what charts bring.
      - V(shown) adds these, and the pods of GPU tests and the Job of a benchmark, which runs create and delete. V(ours) adds the same without the additions of
        the user's file to pods.
      - V(wanted) adds what the record keeps of these objects and of Secrets, V(owned) references to the namespaced ones that have the labels of the
        deployment, Secrets included.
      - V(running) adds the deployment in short, to compare with the existing one; null where another file has the services.
      - V(digest) adds a hash of what the plan deploys, which is equal in all jobs of a workflow unless the file or the collection changes.
      - V(collections) adds the versions of collections that the roles use, V(started_at) the name of the task that the play starts at, null for the first one.
    type: list
    elements: str
    choices: [collections, digest, everything, ours, owned, running, runs, shown, started_at, targets, wanted]
    default: []
notes:
  - Works as an action plugin, since only the controller knows the variables and the templates.
seealso:
  - plugin: llm_d.inference.plan
    plugin_type: lookup
    description: The plan alone.
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
"""

EXAMPLES = r"""
- name: Compute what to deploy
  llm_d.inference.role_facts:
    role: gateway_provider
    definitions:
      objects: gateway.yml.j2
  register: __gateway_provider_facts
"""

RETURN = r"""
plan:
  description: The plan.
  returned: success
  type: dict
  sample:
    instance: llm-d
    namespace: llm-d
    state: present
state:
  description: The value of the role variable C(<role>_state), or the state of the plan.
  returned: success
  type: str
  sample: present
options:
  description:
    - The options of the role by their names without its prefix, with their types; a text such as C("true") or C("4") becomes a boolean or a number.
    - Values that roles pass to each other, such as C(<role>_plan), are not among them.
  returned: success
  type: dict
  sample: {fail: false, request_timeout: 5}
everything:
  description: The definitions of all objects.
  returned: with O(derive=everything)
  type: list
  elements: dict
  sample: [{apiVersion: v1, kind: Namespace, metadata: {name: llm-d}}]
ours:
  description: The definitions of all objects without what the user's file adds to pods.
  returned: with O(derive=ours)
  type: list
  elements: dict
  sample: [{apiVersion: v1, kind: Namespace, metadata: {name: llm-d}}]
wanted:
  description: Group, kind, namespace and name of each member of the record.
  returned: with O(derive=wanted)
  type: list
  elements: list
  sample: [["", Service, llm-d, llama-8b]]
digest:
  description: A hash of what the plan deploys.
  returned: with O(derive=digest)
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
collections:
  description: Versions of the collections that the roles use.
  returned: with O(derive=collections)
  type: dict
  sample: {kubernetes.core: 6.2.0}
started_at:
  description: The task that the play starts at; null for the first one.
  returned: with O(derive=started_at)
  type: str
  sample: null
owned:
  description: References to the namespaced objects that have the labels of the deployment.
  returned: with O(derive=owned)
  type: list
  elements: dict
  sample: [{apiVersion: v1, kind: Service, metadata: {name: llama-8b, namespace: llm-d}}]
running:
  description: The deployment in short.
  returned: with O(derive=running)
  type: dict
  sample: {instance: llm-d, namespace: llm-d, release: router-0.10, services: {}, gateways: {llm-d/llm-d-gateway: envoy-gateway}}
host_folder:
  description: Suffix for the path of a folder that is given for all hosts, so that each has its own. Empty with one host in the inventory.
  returned: success
  type: str
  sample: /berlin
connection:
  description: The connection options of the plan that are set, for C(module_defaults).
  returned: success
  type: dict
  sample:
    kubeconfig: /home/me/.kube/config
"""
