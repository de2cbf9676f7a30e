# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_inventory
short_description: Write a first inventory for a cluster
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Reads, without changing anything in the cluster, the platform, the Gateway API with its GatewayClasses and controllers, accelerators, StorageClasses, and
    the CRDs of the Prometheus operator and of LeaderWorkerSet.
  - Writes C(hosts) and C(group_vars/all/llm_d.yml) of an inventory that suits the cluster, with comments that say why each value is there.
  - The namespace in the file is that of the kubeconfig's context, unless that is V(default).
  - If deployments of this collection run in the cluster, returns them, and writes the file for a second deployment, with an instance and a namespace that are
    free. An account with permissions in one namespace only gets a free name suffix in that namespace instead.
  - Resources that the account may not list are named in a comment of the file, and do not fail the task.
  - Fails if the folder of the inventory exists. Creates it complete, or not at all.
options:
  name:
    description: Name of the inventory, of letters, digits, C(-) and C(_).
    type: str
    required: true
  folder:
    description: Folder in which the folder of this inventory is created.
    type: path
    default: inventories
attributes:
  check_mode:
    description: Reads the cluster and writes nothing.
  diff_mode:
    description: Shows the files. The path of a kubeconfig that was given as an option is masked there, not in the file.
extends_documentation_fragment:
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - python >= 3.11
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
"""

EXAMPLES = r"""
- name: Write inventories/mine for the cluster of the current context
  llm_d.inference.cluster_inventory:
    name: mine

- name: See what would be written
  llm_d.inference.cluster_inventory:
    name: mine
    context: kind-kind
  check_mode: true
  diff: true
"""

RETURN = r"""
path:
  description: Folder of the inventory.
  returned: success
  type: str
  sample: inventories/mine
lines:
  description: The observed facts of the cluster, as lines of text.
  returned: success
  type: list
  elements: str
  sample: ["platform:        kubernetes, kind, v1.34.0, 1 node", "accelerators:    none"]
running:
  description: The deployments of this collection that run in the cluster, each with the number of servers of its services.
  returned: success
  type: list
  elements: dict
  sample: [{instance: llm-d, namespace: llm-d, release: router-0.10, services: {sim: 3}}]
next:
  description: The playbook to run next, V(site), or V(preflight) where deployments of this collection run, or where Deployments cannot be listed.
  returned: success
  type: str
  sample: site
msg:
  description: Why no inventory was written.
  returned: on failure
  type: str
  sample: "Cannot write inventories/mine: Permission denied. Check that inventories is a folder, and who owns it."
"""

import os
import re
import shutil
import tempfile
import typing as t
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.commands import spelled
from ..module_utils.inventory.file import HOSTS, observed, starting_file
from ..module_utils.inventory.place import starting_place
from ..module_utils.k8s.client import auth_spec, connect, context_namespace, current_context
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.preflight.facts import survey
from ..module_utils.preflight.running import servers_of

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")


def problem(name: str, path: Path) -> str:
    """Why the inventory cannot be written; empty where it can."""
    if not NAME.fullmatch(name):
        return f"{name!r} is no name for an inventory: write 1 to 63 letters, digits, - and _, beginning with a letter or digit (make inventory NAME=mine)."
    if path.is_symlink() or path.exists():
        return f"{path} already exists and is not changed. Choose another name (make inventory NAME=other), or remove the folder first."
    return ""


def kubeconfig(option: t.Any) -> str | None:
    """The path of the kubeconfig to write to the file, from the option or from KUBECONFIG.

    None for the default ~/.kube/config, for an inline kubeconfig, for several paths, and for K8S_AUTH_KUBECONFIG, which later runs read themselves.
    """
    chosen = option or (os.environ.get("KUBECONFIG") if not os.environ.get("K8S_AUTH_KUBECONFIG") else None)
    return chosen if isinstance(chosen, str) and os.pathsep not in chosen else None


def write(path: Path, files: dict[str, str]) -> None:
    """Create a folder with these files, complete or not at all. files: {path in the folder: content}."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        for name, content in files.items():
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).write_text(content, encoding="utf-8")
        partial.chmod(0o755)
        partial.rename(path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def main() -> None:
    """Entry of the module."""
    options = {"name": {"type": "str", "required": True}, "folder": {"type": "path", "default": "inventories"}}
    module = AnsibleModule(argument_spec={**auth_spec(), **options}, supports_check_mode=True)
    path = Path(module.params["folder"], module.params["name"])
    reason = problem(module.params["name"], path)
    if reason:
        module.fail_json(msg=reason)
    try:
        cluster = connect(module)
        namespace = context_namespace(module)
        facts = survey(cluster, namespace)
        by_host = bool(module.params["host"] or os.environ.get("K8S_AUTH_HOST"))
        reached = {
            "server": cluster.server,
            "kubeconfig": None if by_host else kubeconfig(module.params["kubeconfig"]),
            "context": current_context(module),
            "namespace": namespace,
        }
    except ClusterError as exc:
        module.fail_json(msg=re.sub(r"\bllm_d_(kubeconfig|context)\b", r"inventory_\1", str(exc)))  # the user has no llm_d.yml yet
    files = {"hosts": HOSTS, "group_vars/all/llm_d.yml": spelled(starting_file(facts, str(path), reached))}
    diff = [{"before": "", "after": content, "before_header": str(path / name), "after_header": str(path / name)} for name, content in files.items()]
    try:
        if not module.check_mode:
            write(path, files)
    except OSError as error:
        module.fail_json(msg=f"Cannot write {path}: {error.strerror}. Check that {path.parent} is a folder, and who owns it.")
    place = starting_place(facts, reached)
    module.exit_json(
        changed=True,
        path=str(path),
        lines=observed(facts, place),
        running=[{**each, "services": {name: servers_of(service) for name, service in each["services"].items()}} for each in place.deployments],
        next="preflight" if place.deployments or not place.known else "site",
        diff=diff,
    )


if __name__ == "__main__":
    main()
