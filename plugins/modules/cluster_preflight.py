# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_preflight
short_description: Check whether a cluster meets the needs of a deployment
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Checks, without changing anything, the platform and versions, CRDs, GatewayClasses, controllers, permissions, namespaces, quotas, load balancers and
    Secrets, whether nodes take the pods or can come for them, and Helm, charts and Python libraries of this host. Checks that registries have the images.
  - Reports all findings at once, each with the problem, the observed state, the required state, and the remedy.
  - With O(planned), reports what a run would change of an existing deployment.
  - Sends access reviews to the API server, which does not store them. Only the names of the keys of Secrets are kept.
  - Reads the pull Secrets to check the images.
options:
  needs:
    description: What the deployment needs, the part C(preflight) of the plan.
    type: dict
    required: true
  objects:
    description: References to the objects that the deployment creates. One that exists without the labels of the deployment belongs to someone else.
    type: list
    elements: dict
    default: []
  planned:
    description:
      - The planned deployment in short, as the role P(llm_d.inference.prerequisites#role) computes it, to compare with the existing one of this instance.
      - Without it nothing is compared.
    type: dict
  credentials:
    description: Credentials of image registries, in addition to those in the pull Secrets.
    type: list
    elements: dict
    default: []
    suboptions:
      registry:
        description: The registry.
        type: str
        required: true
      username:
        description: User name.
        type: str
        required: true
      password:
        description: Password or token.
        type: str
        required: true
  collections:
    description: Versions of collections on the controller by name. One that is known to be broken, alone or with the version of Helm, is reported.
    type: dict
    default: {}
  refuse:
    description: Whether the task fails for what is missing. It fails in any case where the API server is not reached.
    type: bool
    default: true
  timeout:
    description: Seconds to wait for missing prerequisites, which are checked repeatedly. V(0) reports them at once.
    type: int
    default: 0
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.progress
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - python >= 3.11
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
"""

EXAMPLES = r"""
- name: Check the cluster before anything is changed
  llm_d.inference.cluster_preflight:
    kubeconfig: ~/.kube/config
    needs: "{{ lookup('llm_d.inference.plan').preflight }}"
"""

RETURN = r"""
reached:
  description: V(false) where the API server did not answer, or refused the account.
  returned: failure
  type: bool
  sample: false
findings:
  description: What is missing or unusual, errors first.
  returned: always
  type: list
  elements: dict
  sample:
    - id: accelerators/taken
      severity: error
      what: There is room for 1 of 4 replicas of llama-8b.
      found: "free: gpu-1 1 of 8"
      needed: 1 of nvidia.com/gpu on one node, 4 times
      how: Lower replicas, free accelerators, or add nodes.
  contains:
    id:
      description: Subject and kind of the finding.
      type: str
    severity:
      description: C(error) stops the play, C(warning) does not.
      type: str
    what:
      description: What is missing.
      type: str
    found:
      description: The observed state.
      type: str
    needed:
      description: The required state.
      type: str
    how:
      description: What to do.
      type: str
lines:
  description: The findings as lines of text.
  returned: always
  type: list
  elements: str
  sample: ["error  kubernetes/version: Kubernetes is too old. Found: v1.28.4. Needed: 1.29 or newer. Upgrade the cluster: pods need native sidecars."]
changes:
  description: What a run would change of the existing deployment of this instance; empty where there is none, or where it is as planned.
  returned: always
  type: list
  elements: str
  sample: ["release line: from scheduler-0.7 to router-0.10", "sim: servers sim-decode: from 4 to 2"]
shown:
  description: The findings and the changes as short lines for people, the most important first.
  returned: always
  type: list
  elements: str
  sample:
    - "preflight: 0 errors, 1 warning"
    - "warning namespace/pod_security: The namespace enforces the restricted"
    - "  profile, and our containers have no user id."
platform:
  description: The platform.
  returned: always
  type: dict
  sample: {name: openshift, flavour: openshift, version: 4.21.3}
kubernetes:
  description: Version of the API server.
  returned: always
  type: str
  sample: v1.34.4
facts:
  description: The facts in short, without objects.
  returned: always
  type: dict
  sample: {user: system:admin, nodes: 3, accelerators: {NVIDIA-L40S: 3 of 8}, groups: {inference.networking.k8s.io: [v1]},
    crds: {gateways.gateway.networking.k8s.io: {version: 1.6.1, owner: llm_d.inference}}, gateway_classes: [istio],
    controllers: {istio-system/istiod: 1.29.2}, default_storage_class: standard, load_balancer: true}
"""

import contextlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import typing as t
import urllib.error
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import open_url

from ..module_utils.benchmark.execute import progress_writer
from ..module_utils.common import programs
from ..module_utils.common.clock import SYSTEM
from ..module_utils.common.text import redact
from ..module_utils.http import pull
from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.crds import BUNDLE_VERSION, decide
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.k8s.platform import detect
from ..module_utils.preflight.changes import changes
from ..module_utils.preflight.cluster import proxy_of
from ..module_utils.preflight.facts import collect
from ..module_utils.preflight.finding import PreflightFinding
from ..module_utils.preflight.report import judge, plain, report, shown, summary

REGISTRY_TIMEOUT = 2.0
PACKAGES = {"yaml": "PyYAML"}  # of libraries whose package has another name
POLL = 5.0  # seconds between two checks of the cluster


def host_facts(
    needs: dict[str, t.Any], cluster: Cluster, facts: dict[str, t.Any], credentials: list[dict[str, str]], collections: dict[str, str]
) -> dict[str, t.Any]:
    """Facts about this host: Helm, libraries, missing charts, images that a registry lacks, registries and sources that do not answer, proxies.

    collections: versions of collections, which a module cannot read.
    """
    name = urllib.parse.urlsplit(cluster.server).hostname or cluster.server
    silent = silent_sources([*wanted_sources(needs, facts), *(f"oci://{host}" for host in needs["registries"] if needs["images"]["severity"] != "ignore")])
    local = [chart["ref"] for chart in needs["charts"] if chart["ref"] and not re.match(r"(oci|https?)://", chart["ref"])]
    return {
        "helm": helm_version(needs.get("helm")) if needs["charts"] else None,
        "libraries": {
            **{library: version_of(library) for library in (*needs["minimum"]["libraries"], "urllib3", "requests", "websocket")},
            **collections,
            "python": platform.python_version(),
        },
        # a name without a slash is a chart of a repository that is configured in Helm
        "charts_missing": [ref for ref in local if ("/" in ref and ref.startswith(("/", "."))) and not Path(ref).exists()],
        "silent_registries": {host: why for host, why in silent.items() if host in needs["registries"]},
        "missing_images": image_problems(needs, silent, cluster, credentials),
        "silent_sources": {host: why for host, why in silent.items() if host not in needs["registries"]},
        "proxy": redact(cluster.proxy),
        "helm_proxy": redact(cluster.named_proxy or proxy_of(cluster.server, os.environ)) if needs["charts"] else "",
        "named_proxy": redact(cluster.named_proxy),
        "no_proxy": bool(os.environ.get("NO_PROXY") or os.environ.get("no_proxy")),
        "server_name": name,
    }


def image_problems(needs: dict[str, t.Any], silent: t.Container[str], cluster: Cluster, given: list[dict[str, str]]) -> dict[str, str]:
    """{image that its registry does not have: the reply of the registry}, of the registries that answer."""
    images = needs["images"]
    if images["severity"] == "ignore":
        return {}
    accounts = {pull.account_host(each["registry"]): (each["username"], each["password"]) for each in given}
    for name in images["pull_secrets"]:
        with contextlib.suppress(ClusterError):
            secret = cluster.get(f"/api/v1/namespaces/{needs['namespace']}/secrets/{urllib.parse.quote(name)}", {})
            accounts = {**pull.accounts_of(secret), **accounts}
    return pull.problems([name for name in images["names"] if pull.host_of(name) not in silent], accounts)


def helm_version(path: str | None) -> str | None:
    """The version of Helm; None where there is no working command."""
    command = path or shutil.which("helm")
    if not command or not os.access(command, os.X_OK):
        return None
    try:
        done = programs.run([command, "version", "--short"], timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"v(\d+\.\d+\.\d+)", done.stdout)
    return match.group(1) if match else None


def version_of(library: str) -> str | None:
    """The installed version of a Python library; None where it is missing."""
    try:
        return importlib.metadata.version(PACKAGES.get(library, library))
    except importlib.metadata.PackageNotFoundError:
        return None


def registry_problem(host: str) -> str | None:
    """Why a registry does not answer; None where it does, even if only with a request for credentials."""
    return silence(host, [f"{scheme}://{host}/v2/" for scheme in ("https", "http")])


def silence(host: str, urls: list[str]) -> str | None:
    """Why none of the URLs of a host answers; None where one does, with any status."""
    reason = ""
    for url in urls:
        try:
            open_url(url, timeout=REGISTRY_TIMEOUT, validate_certs=False, follow_redirects="none")
            return None
        except urllib.error.HTTPError:
            return None
        except (OSError, ValueError) as error:
            reason = reason or f"{host}: {getattr(error, 'reason', error)}"
    return reason


def wanted_sources(needs: dict[str, t.Any], facts: dict[str, t.Any]) -> list[str]:
    """URLs of charts and CRDs that the cluster lacks, or has in an older version."""
    installed = {name: {BUNDLE_VERSION: entry["version"]} for name, entry in facts.get("crds", {}).items()}
    lacking = [bundle for bundle in needs["definitions"] if "crds" in facts and decide(bundle, installed, None)["action"] != "keep"]
    charts = [chart for chart in needs["charts"] if lacks(facts, chart["brings"])]
    sources = [source for bundle in lacking for source in bundle["sources"]] + [chart["ref"] for chart in charts if chart["ref"]]
    return [ref for ref in sources if re.match(r"(oci|https?)://", ref)]


def lacks(facts: dict[str, t.Any], part: str) -> bool:
    """Whether the cluster lacks what a chart installs; False where that is not readable."""
    state = facts.get(part) or {}
    if part == "controllers":
        return None in state.values()
    return state.get("policies" if part == "gpu_operator" else "controller", True) in (None, [])


def silent_sources(refs: list[str]) -> dict[str, str]:
    """{host that does not answer: why}. One request for each host, in parallel."""
    hosts = {urllib.parse.urlsplit(ref).netloc: ref for ref in refs}
    with ThreadPoolExecutor(max_workers=max(1, len(hosts))) as pool:
        reasons = pool.map(lambda entry: registry_problem(entry[0]) if entry[1].startswith("oci://") else silence(entry[0], [entry[1]]), hosts.items())
    return {host: why for host, why in zip(hosts, reasons, strict=True) if why}


def needs_of(module: AnsibleModule) -> dict[str, t.Any]:
    """The needs, with the objects and the planned deployment."""
    return {**module.params["needs"], "objects": module.params["objects"], "planned": module.params["planned"]}


def observed(module: AnsibleModule) -> tuple[dict[str, t.Any], list[PreflightFinding]]:
    """(facts, findings). With a timeout it checks again until no finding is an error, and logs the ids of the errors. Raises ClusterError."""
    params = {**module.params, "needs": needs_of(module)}
    say = progress_writer(params["progress_path"]) or (lambda line: None)
    end = SYSTEM.now() + params["timeout"]
    while True:
        cluster = connect(module)  # a new one each time, since it caches the kinds that exist
        cluster.be_patient(max(0.0, end - SYSTEM.now()))
        facts = collect(cluster, params["needs"])
        facts["host"] = host_facts(params["needs"], cluster, facts, params["credentials"], params["collections"])
        findings = judge(facts, params["needs"])
        missing = [finding.id for finding in findings if finding.severity == "error"]
        left = end - SYSTEM.now()
        if not missing or left <= 0:
            return facts, findings
        say(f"waiting {left:.0f} s more for {', '.join(missing)}")
        SYSTEM.sleep(min(POLL, left))


def main() -> None:
    """Entry of the module."""
    account = {name: {"type": "str", "required": True, "no_log": name == "password"} for name in ("registry", "username", "password")}
    spec = {
        **auth_spec(),
        "needs": {"type": "dict", "required": True},
        "objects": {"type": "list", "elements": "dict", "default": []},
        "planned": {"type": "dict"},
        "credentials": {"type": "list", "elements": "dict", "options": account, "default": []},
        "collections": {"type": "dict", "default": {}},
        "refuse": {"type": "bool", "default": True},
        "timeout": {"type": "int", "default": 0},
        "progress_path": {"type": "path"},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    needs = needs_of(module)
    try:
        facts, findings = observed(module)
    except ClusterError as exc:
        module.fail_json(msg=str(exc), reached=False)
    errors = [finding for finding in findings if finding.severity == "error"]
    detected = detect(facts)
    changed = changes(facts, needs)
    result = {
        "facts": summary(facts, needs, detected),
        "findings": plain(findings),
        "lines": report(findings),
        "changes": changed,
        "shown": shown(findings, changed, needs),
        "platform": detected,
        "kubernetes": facts["version"],
    }
    missing = ""
    if errors:
        count = "1 prerequisite is" if len(errors) == 1 else f"{len(errors)} prerequisites are"
        listing = "\n".join(f"  - {line}" for line in report(errors))
        missing = f"{count} missing. Nothing has been touched.\n{listing}"
    if missing and module.params["refuse"]:
        module.fail_json(msg=missing, **result)
    module.exit_json(changed=False, **({"msg": missing} if missing else {}), **result)


if __name__ == "__main__":
    main()
