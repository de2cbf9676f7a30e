#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: crd_bundles
short_description: Install bundles of CustomResourceDefinitions, never an older one over a newer one
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Finds the installed bundles with one request, and keeps each that has the same or a newer version.
  - Applies the others server-side, several CRDs at a time, and waits until the API server serves them.
  - Never removes a CRD, since that would delete every object of its kind.
options:
  bundles:
    description: The bundles, in order of application.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the bundle, for messages.
        type: str
        required: true
      version:
        description: Version of the bundle. A leading C(v) is ignored.
        type: str
        required: true
      annotation:
        description:
          - Annotation of the CRDs that holds the version of the bundle.
          - Without it the module writes, and later compares, an annotation of its own (V(llm-d.ai/bundle-version)).
        type: str
      probe:
        description:
          - Name of the CRD whose presence means that the bundle is installed. It is applied last, so that an interrupted
            installation counts as absent.
        type: str
        required: true
      sources:
        description:
          - Files, folders (searched for C(*.yaml) and C(*.yml), without C(kustomization.yaml)) or C(https) URLs.
          - A mapping of C(url), C(sha256) (of the file, optional) and C(insecure) (allow plain C(http), default V(false)) is a URL, too.
          - Redirects are followed to C(https) only, and a download has at most 32 MiB.
          - With an empty list, the cluster must have the CRDs already.
        type: list
        elements: raw
        required: true
  timeout:
    description: Seconds to wait until the API server serves the CRDs.
    type: int
    default: 60
  download_timeout:
    description: Seconds to wait for one URL of O(bundles[].sources).
    type: int
    default: 60
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Returns what would be installed.
  diff_mode:
    description: Shows bundles, versions and names, not the CRDs.
"""

EXAMPLES = r"""
- name: Install the Gateway API from a file
  llm_d.inference.crd_bundles:
    bundles:
      - name: gateway-api
        version: 1.6.1
        annotation: gateway.networking.k8s.io/bundle-version
        probe: gateways.gateway.networking.k8s.io
        sources:
          - /srv/mirror/gateway-api/standard-install.yaml

- name: Install the inference extension from its release
  llm_d.inference.crd_bundles:
    bundles:
      - name: inference-extension
        version: 1.4.0
        annotation: inference.networking.k8s.io/bundle-version
        probe: inferencepools.inference.networking.k8s.io
        sources:
          - https://github.com/kubernetes-sigs/gateway-api-inference-extension/releases/download/v1.4.0/manifests.yaml

- name: Install it from a mirror without TLS, and only this very file
  llm_d.inference.crd_bundles:
    bundles:
      - name: inference-extension
        version: 1.4.0
        annotation: inference.networking.k8s.io/bundle-version
        probe: inferencepools.inference.networking.k8s.io
        sources:
          - url: http://mirror.example.com/inference-extension/v1.4.0/manifests.yaml
            sha256: 5c6f4d7b8a9e0f1c2d3b4a5968778695a4b3c2d1e0f9e8d7c6b5a49382716054
            insecure: true
"""

RETURN = r"""
bundles:
  description: The outcome for each bundle.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the bundle.
      returned: always
      type: str
      sample: gateway-api
    version:
      description: The requested version.
      returned: always
      type: str
      sample: 1.6.1
    installed:
      description: The version before. Empty when the bundle was absent or its version is not known.
      returned: always
      type: str
      sample: 1.5.0
    action:
      description:
        - V(install), V(upgrade), V(repair) (some CRDs were missing), V(adopt) (installed by someone else, version not
          known), V(keep) (the same or a newer version is installed) or V(sealed) (the platform owns these CRDs and refuses changes).
      returned: always
      type: str
      sample: upgrade
    crds:
      description: Names of the CRDs that were applied.
      returned: always
      type: list
      elements: str
      sample: [gateways.gateway.networking.k8s.io]
    ignored:
      description: Kinds of the documents in the sources that are not CRDs. They are not applied.
      returned: always
      type: list
      elements: str
      sample: [ValidatingAdmissionPolicy]
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.text import one_line
from ..module_utils.http.download import download, is_url
from ..module_utils.http.errors import ExchangeError
from ..module_utils.k8s import crds
from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ApiError, ClusterError

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
# Words in the refusals of platforms that own the Gateway API CRDs.
SEALED = ("Ingress Operator", "ingress-operator", "managed by GKE")


def read_sources(bundle: dict, timeout: int) -> tuple[list[crds.Document], list[str]]:
    """(the CRDs of a bundle, the probe last, each name once; the kinds of other documents). Raises ClusterError."""
    definitions: dict[str, crds.Document] = {}
    ignored: list[str] = []
    for source in bundle["sources"]:
        for place, text in read_source(source, bundle["name"], timeout):
            try:
                documents, others = crds.documents(text, place)
            except ValueError as exc:
                raise ClusterError(f"bundle {bundle['name']}: {exc}") from exc
            definitions.update({document.name: document for document in documents})
            ignored += others
    if bundle["probe"] not in definitions:
        places = ", ".join(crds.address(source) for source in bundle["sources"])
        raise ClusterError(f"bundle {bundle['name']}: its sources ({places}) do not have the CRD {bundle['probe']}; correct the sources or the probe")
    probe = definitions.pop(bundle["probe"])
    return [*definitions.values(), probe], ignored


def read_source(source: str | dict, name: str, timeout: int) -> list[tuple[str, str]]:
    """(path or URL, text) of each file of one source. Raises ClusterError."""
    place = crds.address(source)
    options = source if isinstance(source, dict) else {}
    try:
        if is_url(place):
            return [(place, download(place, timeout, options.get("sha256"), bool(options.get("insecure"))))]
        path = Path(place)
        files = sorted(file for file in path.rglob("*.y*ml") if file.suffix in (".yaml", ".yml") and file.stem != "kustomization") if path.is_dir() else [path]
        if not files:
            raise ClusterError(f"bundle {name}: the folder {place} holds no .yaml file; correct the path")
        return [(str(file), file.read_text(encoding="utf-8")) for file in files]
    except ExchangeError as exc:
        raise ClusterError(f"bundle {name}: {place} cannot be read: {exc}; {exc.remedy}, or name a mirror (llm_d_crd_sources)") from exc
    except (OSError, ValueError) as exc:
        hint = "check the address, proxy and network, or name a mirror (llm_d_crd_sources)" if is_url(place) else "correct the path"
        raise ClusterError(f"bundle {name}: {place} cannot be read: {one_line(exc)}; {hint}") from exc


def installed_annotations(cluster: Cluster) -> dict[str, dict]:
    """The annotations of each CRD in the cluster, by name."""
    listing = cluster.get(PATH, accept=METADATA_LIST)
    return {item["metadata"]["name"]: item["metadata"].get("annotations") or {} for item in listing.get("items") or []}


def install(cluster: Cluster, bundle: dict, documents: list[crds.Document]) -> None:
    """Apply the documents, the last one after all others. Raises ApiError when the platform refuses them as its own, else ClusterError."""
    if not bundle.get("annotation"):
        marks = {crds.BUNDLE: bundle["name"], crds.BUNDLE_VERSION: bundle["version"]}
        documents = [crds.annotate(document, marks) for document in documents]

    def apply(document: crds.Document) -> None:
        try:
            cluster.apply(f"{PATH}/{document.name}", document.text.encode(), accept=METADATA)
        except ApiError as exc:
            if exc.status in (403, 422) and any(word in exc.message for word in SEALED):
                raise
            raise ClusterError(f"bundle {bundle['name']}, {document.name}: {exc}") from exc

    cluster.parallel(apply, documents[:-1])
    apply(documents[-1])


def wait_served(cluster: Cluster, names: list[str], timeout: int) -> None:
    """Wait until discovery lists every CRD. Raises ClusterError with the conditions of those that are not served."""
    end = cluster.clock.now() + timeout
    cluster.be_patient(timeout)
    waiting = set(names)
    while True:
        for group in sorted({name.partition(".")[2] for name in waiting}):
            versions = (cluster.find(f"/apis/{group}") or {}).get("versions") or []
            served: set[str] = set()
            for version in versions:
                resources = cluster.find(f"/apis/{version['groupVersion']}") or {}
                served |= {resource["name"] + "." + group for resource in resources.get("resources") or []}
            waiting -= served
        if not waiting:
            return
        if cluster.clock.now() > end:
            raise ClusterError(f"after {timeout} s the API server does not serve " + "; ".join(why(cluster, name) for name in sorted(waiting)))
        cluster.clock.sleep(0.2)


def why(cluster: Cluster, name: str) -> str:
    """The name of a CRD, with the messages of its conditions."""
    crd = cluster.find(f"{PATH}/{name}") or {}
    conditions = (crd.get("status") or {}).get("conditions") or []
    bad = [
        one_line(entry.get("message") or entry.get("reason"))
        for entry in conditions
        if (entry.get("status") == "True") == (entry.get("type") == "NonStructuralSchema")
    ]
    return f"{name} ({'; '.join(bad) or 'no condition says why'})"


def handle(cluster: Cluster, bundle: dict, installed: dict[str, dict], module: AnsibleModule) -> dict:
    """Install one bundle if needed; returns its entry of the result."""
    if not bundle["sources"] and bundle["probe"] not in installed:
        raise ClusterError(
            f"bundle {bundle['name']}: the cluster has no {bundle['probe']}, and no sources are given to install it from; give some (llm_d_crd_sources)"
        )
    # Local files are read to find missing CRDs; a URL only when the bundle is going to be applied.
    local = bool(bundle["sources"]) and not any(is_url(crds.address(source)) for source in bundle["sources"])
    documents, ignored = read_sources(bundle, module.params["download_timeout"]) if local else ([], [])
    decision = crds.decide(bundle, installed, [document.name for document in documents] if local else None)
    entry = {
        "name": bundle["name"],
        "version": bundle["version"].removeprefix("v"),
        "installed": decision["installed"],
        "action": decision["action"],
        "crds": [],
        "ignored": sorted(set(ignored)),
    }
    if not bundle["sources"]:
        entry["action"] = "keep"
    if entry["action"] == "keep":
        return entry
    if not local:
        documents, ignored = read_sources(bundle, module.params["download_timeout"])
        entry["ignored"] = sorted(set(ignored))
    if decision["action"] == "adopt":
        module.warn(
            f"the CRDs of bundle {bundle['name']} were installed by someone else and do not have their version; they are replaced by version {entry['version']}"
        )
    entry["crds"] = [document.name for document in documents]
    if not module.check_mode:
        try:
            install(cluster, bundle, documents)
        except ApiError as exc:
            version = decision["installed"] or "version not known"
            module.warn(f"the platform owns the CRDs of bundle {bundle['name']} ({version}) and they are left as they are: {exc.message}")
            entry.update(action="sealed", crds=[])
    return entry


def main() -> None:
    """Run the module."""
    spec = {
        "name": {"type": "str", "required": True},
        "version": {"type": "str", "required": True},
        "annotation": {"type": "str"},
        "probe": {"type": "str", "required": True},
        "sources": {"type": "list", "elements": "raw", "required": True},
    }
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "bundles": {"type": "list", "elements": "dict", "required": True, "options": spec},
            "timeout": {"type": "int", "default": 60},
            "download_timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    try:
        cluster = connect(module)
        installed = installed_annotations(cluster)
        entries = [handle(cluster, bundle, installed, module) for bundle in module.params["bundles"]]
        applied = [name for entry in entries for name in entry["crds"]]
        if applied and not module.check_mode:
            wait_served(cluster, applied, module.params["timeout"])
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    result = {"changed": bool(applied), "bundles": entries}
    if module._diff:
        result["diff"] = {
            "before": "".join(f"{entry['name']} {entry['installed'] or 'absent'}\n" for entry in entries),
            "after": "".join(describe(entry) for entry in entries),
        }
    module.exit_json(**result)


def describe(entry: dict) -> str:
    """Lines of the diff's after side for one bundle."""
    if not entry["crds"]:
        return f"{entry['name']} {entry['installed'] or 'absent'}\n"
    return f"{entry['name']} {entry['version']}\n" + "".join(f"  {name}\n" for name in entry["crds"])


if __name__ == "__main__":
    main()
