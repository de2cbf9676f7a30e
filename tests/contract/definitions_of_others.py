"""The real definitions (CRDs) of the providers, from their Go modules, and the problems of an object by their schemas.

CRDs that are in no Go module are written by hand in `written_down/` from the reference, which they name.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import typing as t
from pathlib import Path

import go_compiler
import jsonschema
import pytest
import yaml

Facts = dict[str, t.Any]
WRITTEN_DOWN = Path(__file__).parent / "written_down"
_OPENSHIFT = "github.com/openshift/api@v0.0.0-20250124212313-a770960d61e0"
_CONFIG = "config/v1/zz_generated.crd-manifests"
_ISTIO = ("istio.io/api@v1.30.8", ["kubernetes/customresourcedefinitions.gen.yaml"])
MODULES: dict[str, tuple[str, list[str]]] = {
    "gateway.networking.k8s.io": ("sigs.k8s.io/gateway-api@v1.6.3", ["config/crd/standard/*.yaml"]),
    "inference.networking.k8s.io": ("sigs.k8s.io/gateway-api-inference-extension@v1.4.0", ["config/crd/bases/*.yaml"]),
    "inference.networking.x-k8s.io": ("sigs.k8s.io/gateway-api-inference-extension@v1.4.0", ["config/crd/bases/*.yaml"]),
    "networking.istio.io": _ISTIO,
    "agentgateway.dev": ("github.com/agentgateway/agentgateway@v1.4.1", ["controller/install/helm/agentgateway-crds/templates/*.yaml"]),
    "gateway.envoyproxy.io": ("github.com/envoyproxy/gateway@v1.9.1", ["charts/gateway-helm/charts/crds/crds/generated/*.yaml"]),
    "route.openshift.io": (_OPENSHIFT, ["route/v1/zz_generated.crd-manifests/routes-Default.crd.yaml"]),
    "config.openshift.io": (
        _OPENSHIFT,
        [f"{_CONFIG}/*_{name}.crd.yaml" for name in ("clusteroperators", "clusterversions-Default", "infrastructures-Default")],
    ),
    "leaderworkerset.x-k8s.io": ("sigs.k8s.io/lws@v0.9.0", ["config/crd/bases/*.yaml"]),
    "keda.sh": ("github.com/kedacore/keda/v2@v2.21.0", ["config/crd/bases/keda.sh_scaledobjects.yaml"]),
    "monitoring.coreos.com": (
        "github.com/prometheus-operator/prometheus-operator@v0.85.0",
        [f"example/prometheus-operator-crd/monitoring.coreos.com_{name}.yaml" for name in ("podmonitors", "prometheusrules")],
    ),
    "perses.dev": ("github.com/perses/perses-operator@v0.2.0", ["config/crd/bases/perses.dev_persesdashboards.yaml"]),
    "operators.coreos.com": ("github.com/operator-framework/api@v0.34.0", ["crds/*.yaml"]),
}


@functools.cache
def folder(module: str) -> Path:
    """The folder of a Go module, which is downloaded through the ordinary proxy if necessary."""
    go = go_compiler.find()
    if not go:
        pytest.skip("no Go, which fetches the definitions")
    env = {**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "on"}
    done = subprocess.run([go, "mod", "download", "-json", module], capture_output=True, text=True, check=False, env=env, cwd="/tmp", timeout=300)
    download = json.loads(done.stdout or "{}")
    assert download.get("Dir"), download.get("Error") or done.stderr
    return Path(download["Dir"])


@functools.cache
def definitions(group: str) -> tuple[Facts, ...]:
    """Every CustomResourceDefinition of a group."""
    if group not in MODULES:
        files = sorted(WRITTEN_DOWN.glob(f"*.{group}.yml"))
    else:
        module, patterns = MODULES[group]
        files = [path for pattern in patterns for path in sorted(folder(module).glob(pattern))]
    items = [item for path in files for item in yaml.load_all(path.read_text(encoding="utf-8").replace("{{", "").replace("}}", ""), Loader=yaml.CSafeLoader)]
    return tuple(item for item in items if item and item["kind"] == "CustomResourceDefinition" and item["spec"]["group"] == group)


def problems(item: Facts) -> list[str]:
    """The problems of an object by the schema of its CRD. An unknown field is a problem: the API server would drop it silently."""
    group, version = item["apiVersion"].rpartition("/")[::2]
    crd = next((each for each in definitions(group) if each["spec"]["names"]["kind"] == item["kind"]), None)
    if crd is None:
        return [f"{item['kind']}: no such kind in {group}"]
    served = next((each for each in crd["spec"]["versions"] if each["name"] == version and each["served"]), None)
    if served is None:
        return [f"{item['kind']}: {version} is not served by {group}"]
    namespaced = crd["spec"]["scope"] == "Namespaced"
    scope_problems = [] if bool(item["metadata"].get("namespace")) == namespaced else [f"{item['kind']}: scope {crd['spec']['scope']}"]
    return scope_problems + [f"{error.json_path}: {error.message}" for error in _validator(group, item["kind"], version).iter_errors(item)]


@functools.cache
def _validator(group: str, kind: str, version: str) -> jsonschema.Draft202012Validator:
    crd = next(each for each in definitions(group) if each["spec"]["names"]["kind"] == kind)
    schema = strict(next(each for each in crd["spec"]["versions"] if each["name"] == version)["schema"]["openAPIV3Schema"])
    schema["properties"] = {**schema["properties"], "metadata": {}, "apiVersion": {}, "kind": {}}
    return jsonschema.Draft202012Validator(schema)


def strict(schema: t.Any) -> t.Any:
    """An OpenAPI schema as a JSON Schema that refuses unknown fields."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        key: strict(value) for key, value in schema.items() if value is not None and key not in ("properties", "format", "example", "description", "default")
    }
    if isinstance(schema.get("properties"), dict):
        made["properties"] = {name: strict(value) for name, value in schema["properties"].items()}
        if "type" in schema and not schema.get("x-kubernetes-preserve-unknown-fields") and "additionalProperties" not in schema:
            made["additionalProperties"] = False
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
    if schema.get("nullable"):
        made = {"anyOf": [made, {"type": "null"}]}
    return made
