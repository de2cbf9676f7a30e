#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_evidence
short_description: Write objects, events, logs and metrics into files
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Writes the objects, the pods of workloads and gateways, their events, the ends of their logs and their metrics into one folder.
  - Metrics are read through the API server, from the ports named C(metrics), C(http) and C(engine) of running pods.
    A port that does not answer within 3 seconds is one line in the file.
  - Also writes all Services, NetworkPolicies and ResourceQuotas in the namespaces of the objects, and the ConfigMaps of this collection.
  - A summary says which objects are not ready, and why.
  - The values of Secrets, and what looks like a secret in objects, events, logs and metrics, are removed.
  - What the account may not read is left out, and the summary says so. Fails only when the API server cannot be reached.
options:
  resources:
    description: Definitions, objects or references, as in M(llm_d.inference.resource_ready).
    type: list
    elements: dict
    required: true
  path:
    description:
      - Folder on the target. It is created. The files of the previous capture, which C(files.txt) in it lists, are removed; other files stay.
      - Where the API server is not reached, the previous capture stays.
    type: path
    required: true
  log_lines:
    description: Lines of each log.
    type: int
    default: 200
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.no_diff
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Writes nothing.
notes:
  - Never reports a change, since it changes no object.
"""

EXAMPLES = r"""
- name: Write evidence of the model servers
  llm_d.inference.cluster_evidence:
    resources: "{{ definitions }}"
    path: artifacts/evidence
"""

RETURN = r"""
path:
  description: The folder.
  returned: always
  type: str
  sample: /srv/artifacts/evidence
files:
  description: Names of the files that were written.
  returned: always
  type: list
  elements: str
  sample:
    - deployment-llm-d-sim-decode-events.txt
    - deployment-llm-d-sim-decode.yml
    - files.txt
    - pod-llm-d-sim-decode-744dfd47c8-4bn0t-events.txt
    - pod-llm-d-sim-decode-744dfd47c8-4bn0t-metrics.txt
    - pod-llm-d-sim-decode-744dfd47c8-4bn0t-server.log
    - pod-llm-d-sim-decode-744dfd47c8-4bn0t.yml
    - services-llm-d.yml
    - summary.txt
"""

import threading
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.objects import Context, dicts, get_path, text
from ..module_utils.common.text import redact
from ..module_utils.http.errors import ExchangeError
from ..module_utils.k8s.client import FIELD_MANAGER, auth_spec, connect
from ..module_utils.k8s.errors import ApiError, ClusterError
from ..module_utils.k8s.pod_failures import containers
from ..module_utils.k8s.readiness.judge import judge
from ..module_utils.k8s.related_objects import Observer, references
from ..module_utils.k8s.sanitize import event_table, file_name, redact_object
from ..module_utils.k8s.service_proxy import ServiceTransport

try:
    import yaml
except ImportError:
    # The kubernetes library requires it too, so connect() fails first.
    yaml = None

# Also captured in each namespace of workloads and Gateways: API version, kind, labels.
NAMESPACE_KINDS = (
    ("v1", "Service", ""),
    ("networking.k8s.io/v1", "NetworkPolicy", ""),
    ("v1", "ResourceQuota", ""),
    ("v1", "ConfigMap", f"app.kubernetes.io/managed-by={FIELD_MANAGER}"),
)
ROUTES = ("HTTPRoute", "GRPCRoute", "ReferenceGrant")  # no pods run for them, so their namespaces are not captured
LISTING = "files.txt"  # names of all files of a capture
METRICS_PORTS = ("metrics", "http", "engine")
METRICS_PAGES = ("/metrics", "/stats/prometheus")  # the second is Envoy's
METRICS_SECONDS = 3.0  # for one page
METRICS_SIZE = 1_000_000  # characters of one page


class Folder:
    """A folder of text files. files: the names of those written.

    A file is listed before it is written, so that the next capture removes the files of an interrupted one, and no file of anybody else.
    """

    def __init__(self, path: str):
        self.path = Path(path)
        self.files: list[str] = []
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Remove the files of the previous capture."""
        self.path.mkdir(parents=True, exist_ok=True)
        listing = self.path / LISTING
        for name in listing.read_text(encoding="utf-8").splitlines() if listing.is_file() else []:
            if name and Path(name).name == name:
                (self.path / name).unlink(missing_ok=True)
        self.write(LISTING, f"{LISTING}\n")

    def write(self, name: str, content: str) -> None:
        """Write one file, unless its content is empty."""
        if not content:
            return
        with self._lock:
            self.files.append(name)
            if name != LISTING:
                with (self.path / LISTING).open("a", encoding="utf-8") as listing:
                    listing.write(f"{name}\n")
        (self.path / name).write_text(content, encoding="utf-8")


def dump(obj: dict) -> str:
    """An object as YAML."""
    return yaml.dump(obj, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), default_flow_style=False, sort_keys=False)


def capture(observer: Observer, folder: Folder, lines: int) -> None:
    """Write the objects of an observer and everything related to them."""
    summary, pods = [], []
    fetched = observer.fetch()
    folder.begin()
    for ref, objects in fetched.items():
        if not objects:
            summary.append(f"{ref}: {observer.forbidden.get(ref, 'does not exist')}")
        for obj in objects:
            name = file_name(ref.kind, ref.namespace, text(get_path(obj, "metadata", "name")))
            own_pods = observer.pods(obj)
            verdict = judge(obj, Context(own_pods))
            summary.append(f"{ref}: {'ready' if verdict.ready else 'NOT READY'}, {verdict.reason}" + (f"; {verdict.remedy}" if verdict.remedy else ""))
            folder.write(f"{name}.yml", dump(redact_object(obj)))
            folder.write(f"{name}-events.txt", event_table(observer.events(obj)))
            pods += [] if ref.kind == "Pod" else own_pods
    folder.write("summary.txt", "".join(redact(line) + "\n" for line in summary))
    # In parallel: each pod has several logs to read, and may return its metrics slowly.
    observer.cluster.parallel(lambda pod: capture_pod(observer, folder, pod, lines), pods)
    for namespace in sorted({ref.namespace for ref in observer.refs if ref.namespace and ref.kind not in ROUTES}):
        observer.cluster.parallel(lambda kind, namespace=namespace: capture_kind(observer, folder, namespace, *kind), list(NAMESPACE_KINDS))


def capture_kind(observer: Observer, folder: Folder, namespace: str, api_version: str, kind: str, labels: str) -> None:
    """Write the objects of a kind with these labels in a namespace into one file; none when they cannot be read."""
    try:
        path = observer.cluster.path(api_version, kind, namespace) or ""
        objects = observer.cluster.listed(path, kind, {"labelSelector": labels} if labels else None) if path else []
    except ApiError:
        return
    folder.write(
        f"{file_name(path.rpartition('/')[2], namespace)}.yml", "---\n".join(dump(redact_object({"apiVersion": api_version, **obj})) for obj in objects)
    )


def capture_pod(observer: Observer, folder: Folder, pod: dict, lines: int) -> None:
    """Write a pod, its events, its metrics and the logs of its containers, also of the previous run of one that restarted."""
    name = file_name("pod", text(get_path(pod, "metadata", "namespace")), text(get_path(pod, "metadata", "name")))
    folder.write(f"{name}.yml", dump(redact_object({"apiVersion": "v1", "kind": "Pod", **pod})))
    folder.write(f"{name}-events.txt", event_table(observer.events(pod)))
    folder.write(f"{name}-metrics.txt", metrics(observer, pod))
    for entry in containers(pod):
        container = text(entry.get("name"))
        folder.write(f"{name}-{container}.log", redact(observer.log(pod, container, lines)))
        if entry.get("restartCount"):
            folder.write(f"{name}-{container}-before.log", redact(observer.log(pod, container, lines, previous=True)))


def metrics(observer: Observer, pod: dict) -> str:
    """The metrics pages of the ports of a running pod, each after a comment line that names it."""
    parts = [part for key in ("initContainers", "containers") for part in dicts(get_path(pod, "spec", key))]
    ports = [port["containerPort"] for part in parts for port in dicts(part.get("ports")) if port.get("name") in METRICS_PORTS]
    return "".join(page(observer, pod, port) for port in ports) if get_path(pod, "status", "phase") == "Running" else ""


def page(observer: Observer, pod: dict, port: int) -> str:
    """The metrics page of one port without secrets, or a comment line that says why there is none."""
    transport = ServiceTransport(observer.cluster, text(get_path(pod, "metadata", "namespace")), text(get_path(pod, "metadata", "name")), port, kind="Pod")
    comments = ""
    for path in METRICS_PAGES:
        try:
            answer = transport.request("GET", path, timeout=METRICS_SECONDS)
        except ExchangeError as failure:
            return f"# {redact(str(failure))}\n"
        comments += f"# {answer.request}: {answer.status}\n"
        if answer.status == 200:
            content = answer.text.rstrip("\n") + "\n"
            if len(content) > METRICS_SIZE:
                # Cut at a line: redact does not recognize half a secret.
                content = content[:METRICS_SIZE].rpartition("\n")[0] + f"\n# cut: the page has {len(content)} characters\n"
            return comments + redact(content)
    return comments


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "resources": {"type": "list", "elements": "dict", "required": True},
            "path": {"type": "path", "required": True},
            "log_lines": {"type": "int", "default": 200},
        },
        supports_check_mode=True,
    )
    try:
        refs = references(module.params["resources"])
        if module.check_mode:
            module.exit_json(changed=False, path=module.params["path"], files=[])
        folder = Folder(module.params["path"])
        capture(Observer(connect(module), refs, skip_forbidden=True), folder, module.params["log_lines"])
    except (ClusterError, OSError) as exc:
        module.fail_json(msg=f"evidence cannot be written: {exc}")
    module.exit_json(changed=False, path=str(folder.path), files=sorted(folder.files))


if __name__ == "__main__":
    main()
