"""All images, charts and CRDs of a deployment have an upstream source, and a unique name in a mirror."""

from __future__ import annotations

import json
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.common.images import repository_of, split_host
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.mirrors import mirror_files
from ansible_collections.llm_d.inference.plugins.module_utils.plan.parts.references import collisions, mirrored, registries, source_of
from ansible_collections.llm_d.inference.plugins.module_utils.releases.deployed import ENGINE_DEFAULTS
from ansible_collections.llm_d.inference.plugins.module_utils.releases.gateways import GATEWAY_API, GATEWAY_PROVIDERS, variants
from ansible_collections.llm_d.inference.plugins.module_utils.releases.gpus import OPERATORS
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import LEADER_WORKER_SET, RELEASES
from ansible_collections.llm_d.inference.plugins.module_utils.releases.sources import CHARTS, GAUDI_REGISTRY, IMAGES, REMOVED
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES

from tools.sbom import image_rows

Facts = dict[str, t.Any]
SIX_LINES: Facts = {"llm_d_model_services": [{"name": "llama-8b", "model": {"uri": "hf://meta-llama/Llama-3.1-8B-Instruct"}}]}
PLATFORM = {"openshift": "openshift", "gke": "gke"}
NEEDED = {"none": {"name": "of-someone-else"}}
MIRRORS: list[t.Any] = ["mirror.example.com:5000/m", {"ghcr.io": "mirror.example.com/ghcr", "docker.io": "mirror.example.com/hub"}]


@pytest.mark.parametrize("component, image", list(image_rows()))
def test_every_component_has_a_source(component: str, image: str) -> None:
    assert repository_of(image) in IMAGES, f"{component}: releases/sources.py lacks {repository_of(image)}"
    assert image != repository_of(image), f"{component}: {image} has no tag"


def test_every_source_is_used_and_names_its_page() -> None:
    assert {repository_of(image) for _component, image in image_rows()} == set(IMAGES)
    assert all(page.startswith("https://") for page in [*IMAGES.values(), *(chart.page for chart in CHARTS.values())])
    assert set(REMOVED) <= set(IMAGES) and set(REMOVED.values()) <= set(IMAGES)


def test_only_the_local_cluster_has_the_simulators_tokenizer(root: Path) -> None:
    tokenizers = {engine["tokenizer_image"] for engine in ENGINE_DEFAULTS.values() if engine.get("tokenizer_image")}
    variables = yaml.safe_load((root / "roles/local_cluster/vars/main.yml").read_text(encoding="utf-8"))
    assert tokenizers == {image["name"] for image in variables["__local_cluster_images"] if "/llm-d-local/" in image["name"]}
    assert not {repository_of(name) for name in tokenizers} & set(IMAGES)


def test_every_chart_has_a_source() -> None:
    used = {(chart["key"], chart["name"]) for row in GATEWAY_PROVIDERS.values() for facts in variants(row) for chart in facts["charts"]}
    used |= {(row["chart"]["key"], row["chart"]["name"]) for row in OPERATORS.values() if "chart" in row}
    assert used | {("leader_worker_set", LEADER_WORKER_SET["chart"])} == set(CHARTS)
    assert {key for key, _name in CHARTS} == set(VARIABLES["llm_d_charts"].options or {})


def test_every_bundle_of_crds_has_a_source() -> None:
    bundles = [GATEWAY_API["sources"], [source for source, _since in LEADER_WORKER_SET["sources"]], *(release["crds_sources"] for release in RELEASES.values())]
    bundles += [facts["crds_sources"] for row in GATEWAY_PROVIDERS.values() for facts in variants(row) if facts["crds_name"]]
    bundles += [row["extension"]["crds"]["sources"] for row in GATEWAY_PROVIDERS.values() if row["extension"]]
    assert all(bundle and all(source.startswith("https://github.com/") for source in bundle) for bundle in bundles)


def test_the_six_lines_of_the_readme_pull_only_what_upstream_names(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8").partition("## On your cluster")[2].partition("```yaml\n")[2].partition("```")[0]
    assert len(text.splitlines()) == 6
    listed = needed(plan(yaml.safe_load(text)))
    assert {repository_of(name) for name in listed["images"]} <= set(IMAGES) - set(REMOVED) and listed["images"] == listed["sources"]
    assert all(source.startswith("https://github.com/") for source in listed["definitions"])


@pytest.mark.parametrize("provider", sorted(GATEWAY_PROVIDERS))
def test_six_lines_are_enough_with_every_provider(provider: str) -> None:
    file = {**SIX_LINES, "llm_d_gateway": {"provider": provider, **NEEDED.get(provider, {})}, "llm_d_platform": PLATFORM.get(provider, "kubernetes")}
    assert problems(file) == []
    listed = needed(plan(file))
    assert listed["images"] == listed["sources"] and {repository_of(name) for name in listed["images"]} <= set(IMAGES)
    assert all(chart["ref"].startswith("oci://") or chart["repo"] for chart in listed["charts"]) and "None" not in json.dumps(listed)


def test_a_mirror_replaces_only_the_registry_and_keeps_the_image_path() -> None:
    plain = needed(plan(SIX_LINES))
    for mirror in MIRRORS:
        listed = needed(plan({**SIX_LINES, "llm_d_image_registry": mirror}))
        assert listed["sources"] == plain["sources"]
        assert listed["images"] == sorted(mirrored(name, mirror) for name in plain["sources"])
        assert all(split_host(name)[1].endswith(split_host(source)[1]) for source in plain["sources"] for name in [mirrored(source, mirror)])
    assert mirrored("ghcr.io/llm-d/x:1", "mirror.example.com/m") == "mirror.example.com/m/llm-d/x:1"
    assert mirrored("quay.io/x/y:1", MIRRORS[1]) == "quay.io/x/y:1"


@pytest.mark.parametrize("provider", ["agentgateway", "envoy_gateway", "envoy_ai_gateway", "istio", "kgateway", "standalone"])
def test_an_air_gapped_plan_needs_nothing_outside_the_mirror_and_local_files(provider: str) -> None:
    """The file sets a mirror for images, and local files for charts and CRDs."""
    folders: Facts = {name: [f"/srv/crds/{name}.yml"] for name in VARIABLES["llm_d_crd_sources"].options or {}}
    charts: Facts = {name: f"/srv/charts/{name}.tgz" for name in VARIABLES["llm_d_charts"].options or {}}
    own: Facts = {"llm_d_image_registry": "mirror.test/m", "llm_d_crd_sources": folders, "llm_d_charts": charts}
    spanning: Facts = {**SIX_LINES["llm_d_model_services"][0], "accelerator": {"nodes": 2, "per_replica": 2}}
    gateway = {"provider": provider, **({"class_name": "kgateway"} if provider == "kgateway" else {})}  # its proxy image is in the plan
    planned = plan({**own, "llm_d_gateway": gateway, "llm_d_gpus": {"operator": "nvidia_helm"}, "llm_d_model_services": [spanning]})
    listed = needed(planned)
    assert all(name.startswith("mirror.test/m/") for name in listed["images"])
    assert all(chart["ref"].startswith("/srv/charts/") and not chart["repo"] for chart in listed["charts"])
    assert all(source.startswith("/srv/crds/") for source in listed["definitions"])
    assert planned["preflight"]["registries"] == ["mirror.test"]


@pytest.mark.parametrize("mirror", [None, *MIRRORS])
def test_the_upstream_name_of_a_mirrored_image_is_recovered(mirror: t.Any) -> None:
    for _component, image in [*image_rows(), ("gaudi", f"{GAUDI_REGISTRY}/gaudi-metric-exporter/metric-exporter:1")]:
        assert source_of(mirrored(image, mirror), mirror) == image
    assert source_of("registry.test/mine:1", mirror) == "registry.test/mine:1"


def test_no_mirror_has_two_images_under_one_name() -> None:
    assert collisions(IMAGES, "mirror.example.com") == []
    assert collisions(["ghcr.io/a/b:1", "docker.io/a/b:1"], "m.test") == [("docker.io/a/b:1", "ghcr.io/a/b:1")]
    assert collisions(["ghcr.io/a/b:1", "docker.io/a/b:1"], {"ghcr.io": "m.test/g", "docker.io": "m.test/d"}) == []


@pytest.mark.parametrize(
    "mistake, path, word",
    [
        ({"llm_d_image_registry": "https://mirror.example.com"}, "llm_d_image_registry", "without 'https://'"),
        ({"llm_d_image_registry": "mirror.example.com/"}, "llm_d_image_registry", "trailing '/'"),
        ({"llm_d_image_registry": {"ghrc.io": "mirror.example.com"}}, "llm_d_image_registry.ghrc.io", "Did you mean 'ghcr.io'?"),
        ({"llm_d_image_registry": {"example.net": "mirror.example.com"}}, "llm_d_image_registry.example.net", "Write one of: cr.agentgateway.dev"),
        ({"llm_d_image_registry": {"ghcr.io": "http://m"}}, "llm_d_image_registry.ghcr.io", "without 'https://'"),
        ({"llm_d_charts": {"envoy_gateway": "gateway-helm"}}, "llm_d_charts.envoy_gateway", "oci://"),
        ({"llm_d_charts": {"envoy_gateway": "oci:/host/gateway-helm"}}, "llm_d_charts.envoy_gateway", "a folder, an archive"),
        ({"llm_d_charts": {"envoy_gateway": "oci://host/gateway-helm:1.9.1"}}, "llm_d_charts.envoy_gateway", "without a version"),
        ({"llm_d_preflight": {"images": "fatal"}}, "llm_d_preflight.images", "Write one of: error, warning, ignore."),
    ],
)
def test_a_mistake_is_refused_with_what_to_write(mistake: Facts, path: str, word: str) -> None:
    [problem] = problems({**SIX_LINES, **mistake})
    assert problem.path == path and word in str(problem), problem


@pytest.mark.parametrize(
    "given, ref, repo",
    [
        ("/charts/base", "/charts/base", None),
        ("./base-1.30.8.tgz", "./base-1.30.8.tgz", None),
        ("https://charts.example.com/base-1.30.8.tgz", "https://charts.example.com/base-1.30.8.tgz", None),
        ("https://charts.example.com/istio", "base", "https://charts.example.com/istio"),
        ("oci://registry.example.com/charts/base", "oci://registry.example.com/charts/base", None),
        ("istio/base", "istio/base", None),
    ],
)
def test_a_chart_of_the_users_own(given: str, ref: str, repo: str | None) -> None:
    chart = plan({**SIX_LINES, "llm_d_gateway": {"provider": "istio"}, "llm_d_charts": {"istio_base": given}})["gateway"]["charts"][0]
    assert (chart["ref"], chart["repo"], chart["version"]) == (ref, repo, "1.30.8")


def test_files_for_tools_that_mirror() -> None:
    sources = needed(plan(SIX_LINES))["sources"]
    files = mirror_files(sources, "mirror.example.com/m")
    assert files["images.txt"].split() == sources
    script = files["crane-copy.sh"].splitlines()[2:]
    assert script == [f"crane copy {source} {mirrored(source, 'mirror.example.com/m')}" for source in sources]
    synced = yaml.safe_load(files["skopeo-sync.yml"])
    assert sorted(f"{host}/{name}:{tag}" for host, registry in synced.items() for name, tags in registry["images"].items() for tag in tags) == sources
    assert [item["name"] for item in yaml.safe_load(files["oc-mirror.yml"])["mirror"]["additionalImages"]] == sources
    digests, tags = yaml.safe_load_all(files["openshift-mirrors.yml"])
    assert digests["spec"]["imageDigestMirrors"] == tags["spec"]["imageTagMirrors"]
    assert {entry["source"]: entry["mirrors"] for entry in tags["spec"]["imageTagMirrors"]} == {
        repository_of(source): [repository_of(mirrored(source, "mirror.example.com/m"))] for source in sources
    }
    done = subprocess.run(["sh", "-n"], input=files["crane-copy.sh"], text=True, check=False)
    assert done.returncode == 0


def test_the_local_cluster_has_every_registry(root: Path) -> None:
    variables = yaml.safe_load((root / "roles/local_cluster/vars/main.yml").read_text(encoding="utf-8"))
    own = [image["name"] for image in variables["__local_cluster_images"]]
    own += [image["name"] for extra in variables["__local_cluster_extra"].values() for image in extra.get("packages", extra)["images"]]
    assert sorted([*variables["__local_cluster_mirrored"], GAUDI_REGISTRY]) == sorted({*registries(), *(name.partition("/")[0] for name in own)})
    deployed = {image for _component, image in image_rows()}
    # Images that only tests use, such as Prometheus, are not part of a deployment.
    tests = {
        image["name"] for extra in ("autoscaling", "cert_manager", "conformance", "monitoring") for image in variables["__local_cluster_extra"][extra]["images"]
    }
    foreign = [name for name in own if name not in deployed | tests and not name.startswith(("registry.k8s.io/pause:", "docker.io/llm-d-local/"))]
    assert [name for name in foreign if repository_of(name) not in IMAGES] == []
