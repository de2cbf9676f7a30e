#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_evidence
short_description: Write what can be seen of objects into files
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Writes the objects, the pods of workloads and gateways, their events and the ends of their logs into one folder.
  - A summary says which are not ready, and why.
  - The values of Secrets, and what looks like a secret in objects, events and logs, are removed.
  - What cannot be read is left out. Only an API server that cannot be reached at all is a failure.
options:
  resources:
    description: Definitions, objects or references, as in M(llm_d.inference.resource_ready).
    type: list
    elements: dict
    required: true
  path:
    description: Folder on the target. It is created. Files of an earlier capture are replaced.
    type: path
    required: true
  log_lines:
    description: Lines of each log.
    type: int
    default: 200
extends_documentation_fragment:
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - kubernetes >= 24.2.0
attributes:
  check_mode:
    description: Writes nothing.
  diff_mode:
    description: Evidence is no state.
    support: none
notes:
  - Never reports a change, since nothing that is managed is changed.
"""

EXAMPLES = r"""
- name: Keep what can be seen of the model servers
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
  sample: [summary.txt, deployment-llm-d-sim.yml, deployment-llm-d-sim-events.txt]
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llm_d.inference.plugins.module_utils.cluster import auth_spec, connect
from ansible_collections.llm_d.inference.plugins.module_utils.cluster_errors import ClusterError
from ansible_collections.llm_d.inference.plugins.module_utils.conditions import Context, dig, text
from ansible_collections.llm_d.inference.plugins.module_utils.evidence import clean, event_table, file_name
from ansible_collections.llm_d.inference.plugins.module_utils.failures import containers, redact
from ansible_collections.llm_d.inference.plugins.module_utils.observer import Observer, references
from ansible_collections.llm_d.inference.plugins.module_utils.readiness import judge

try:
    import yaml
except ImportError:
    # the kubernetes library needs it too, so connect() has said so before it is used
    yaml = None


class Folder:
    """A folder of text files; remembers their names."""

    def __init__(self, path: str):
        self.path = Path(path)
        self.files: list[str] = []
        self.path.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, content: str) -> None:
        """Write one file, unless there is nothing to write."""
        if content:
            (self.path / name).write_text(content, encoding="utf-8")
            self.files.append(name)


def dump(obj: dict) -> str:
    """An object as YAML."""
    return yaml.dump(obj, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), default_flow_style=False, sort_keys=False)


def capture(observer: Observer, folder: Folder, lines: int) -> None:
    """Write everything about the objects of an observer."""
    summary = []
    for ref, found in observer.fetch().items():
        if not found:
            summary.append(f"{ref}: does not exist")
        for obj in found:
            name = file_name(ref.kind, ref.namespace, text(dig(obj, "metadata", "name")))
            pods = observer.pods(obj)
            verdict = judge(obj, Context(pods))
            summary.append(f"{ref}: {'ready' if verdict.ready else 'NOT READY'}, {verdict.reason}" + (f"; {verdict.remedy}" if verdict.remedy else ""))
            folder.write(f"{name}.yml", dump(clean(obj)))
            folder.write(f"{name}-events.txt", event_table(observer.events(obj)))
            for pod in [] if ref.kind == "Pod" else pods:
                capture_pod(observer, folder, pod, lines)
    folder.write("summary.txt", "".join(redact(line) + "\n" for line in summary))


def capture_pod(observer: Observer, folder: Folder, pod: dict, lines: int) -> None:
    """Write a pod, its events, and the logs of its containers, of the run before as well where one crashed."""
    name = file_name("pod", text(dig(pod, "metadata", "namespace")), text(dig(pod, "metadata", "name")))
    folder.write(f"{name}.yml", dump(clean({"apiVersion": "v1", "kind": "Pod", **pod})))
    folder.write(f"{name}-events.txt", event_table(observer.events(pod)))
    for entry in containers(pod):
        container = text(entry.get("name"))
        folder.write(f"{name}-{container}.log", redact(observer.log(pod, container, lines)))
        if entry.get("restartCount"):
            folder.write(f"{name}-{container}-before.log", redact(observer.log(pod, container, lines, previous=True)))


def main() -> None:
    """Entry of the module."""
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
        capture(Observer(connect(module), refs), folder, module.params["log_lines"])
    except (ClusterError, OSError) as exc:
        module.fail_json(msg=f"evidence could not be kept: {exc}")
    module.exit_json(changed=False, path=str(folder.path), files=folder.files)


if __name__ == "__main__":
    main()
