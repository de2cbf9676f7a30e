# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controllers and classes, which exist once per cluster, stay while anybody else needs them."""

from __future__ import annotations

import json
import urllib.parse

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.modules import cluster_record
from local_servers import serve
from survey_cases import CHARTS

MANAGED, PART = "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of"
OURS, THEIRS = ({MANAGED: "llm_d.inference", PART: name} for name in ("a", "b"))
ROW = {"class_name": None, "classes": {}, "mesh": {}, "mesh_pods": [], "kinds": [], "hook_objects": []}
ENVOY = {**ROW, "name": "gateway.envoyproxy.io/gatewayclass-controller", "namespace": "envoy-gateway-system", "class_name": "envoy-gateway"}
ISTIO = {
    **ROW,
    "name": "istio.io/gateway-controller",
    "namespace": "istio-system",
    "class_name": "istio",
    "classes": {"istio": "istio.io/gateway-controller", "istio-remote": "istio.io/unmanaged-gateway"},
}
API = "/apis/gateway.networking.k8s.io/v1"
GATEWAYS, CLASSES, SPACES = f"{API}/gateways", f"{API}/gatewayclasses", "/api/v1/namespaces"
PODS, KEPT_IN = "/api/v1/pods", "applyset.kubernetes.io/additional-namespaces"
RECORDS, ID, MEMBER = "/api/v1/configmaps", "applyset.kubernetes.io/id", "applyset.kubernetes.io/part-of"
RECORD = f"{SPACES}/a/configmaps/a-record"
RULES = {"name": "a-record", "namespace": "a", "id": "applyset-x-v1", "labels": OURS, "home": "a", "kinds": [[API.removeprefix("/apis/"), "GatewayClass"]]}
RULES |= {
    "namespaces": ["a"],
    "secrets": [],
    "service_label": "s",
    "services": None,
    "claims": False,
    "mounted": [],
    "made": [],
    "pull_secret": "a-image-pull",
    "given_up": [],
    "operator": {"name": "none", "namespaces": [], "pools": []},
    "alone": False,
    "releases": [],
    "needed": [],
    "crds": ["it"],
}


def gateway(namespace, name, class_name, labels=None):
    return {"metadata": {"namespace": namespace, "name": name, "labels": labels or {}}, "spec": {"gatewayClassName": class_name}}


def of(controller, name, labels=None):
    return {"metadata": {"name": name, **({"labels": labels} if labels else {})}, "spec": {"controllerName": controller["name"]}}


class Api:
    """An API server with lists of objects, filtered by the labels that a query names. kinds: by API version; answers: a status by its path; groups: those
    that it names, each with one version."""

    def __init__(self):
        self.kinds, self.answers, self.groups = {API: [{"name": "gatewayclasses", "kind": "GatewayClass", "namespaced": False}]}, {}, []
        self.lists = {
            GATEWAYS: [gateway("a", "llm-d-gateway", "envoy-gateway", OURS)],
            CLASSES: [of(ENVOY, "envoy-gateway", OURS)],
            "/api/v1/namespaces": [{"metadata": {"name": "envoy-gateway-system", "labels": OURS}}],
        }

    def answer(self, _handler, _method, path, _body):
        plain, _mark, query = path.partition("?")
        wanted = urllib.parse.parse_qs(query).get("labelSelector", [""])[0]
        if plain in self.answers:
            return self.answers[plain], {}, json.dumps({"kind": "Status", "code": self.answers[plain], "message": "not now"})
        if plain == "/apis":
            groups = [{"name": name, "preferredVersion": {"groupVersion": f"{name}/v1"}, "versions": [{"groupVersion": f"{name}/v1"}]} for name in self.groups]
            return 200, {}, json.dumps({"groups": groups})
        if plain in self.kinds:
            return 200, {}, json.dumps({"resources": self.kinds[plain]})
        named = [item for item in self.lists.get(plain.rpartition("/")[0], []) if item["metadata"]["name"] == plain.rpartition("/")[2]]
        if named and plain not in self.lists:
            return 200, {}, json.dumps(named[0])
        if plain not in self.lists:
            return 404, {}, json.dumps({"kind": "Status", "reason": "NotFound", "code": 404, "message": "not found"})
        return 200, {}, json.dumps({"items": [item for item in self.lists.get(plain, []) if chosen(item, wanted)]})


def chosen(item, selector):
    labels = item["metadata"].get("labels", {})

    def meets(part):
        if part.startswith("!"):
            return part[1:] not in labels
        name, mark, value = part.partition("!=" if "!=" in part else "=")
        return name in labels if not mark else (labels.get(name) == value) == (mark == "=")

    return all(map(meets, filter(None, selector.split(","))))


@pytest.fixture(name="look")
def _look(call):
    api = Api()

    def look(controller, *others, recorded=True, everything=False, noted=None, places="", **rules):
        """places: namespaces of the record."""
        rows = [{"release_name": "it", **each} for each in (controller, *others)]
        releases = "\n".join(f"{each['namespace']}/{each['release_name']}" for each in rows)
        notes = {KEPT_IN: places}
        metadata = {"name": "a-record", "labels": {**OURS, "applyset.kubernetes.io/id": "applyset-x-v1"}, "annotations": notes}
        config_map = {"metadata": metadata, "data": {"releases": releases, **(noted or {})}}
        api.lists[RECORD.rpartition("/")[0]] = [*([config_map] if recorded else []), *look.shared]
        record = {**RULES, "controllers": rows, **rules}
        return call(cluster_record, host=api.url, api_key="sesame-open", record=record, wanted=[], everything=everything)

    look.lists, look.kinds, look.answers, look.groups = api.lists, api.kinds, api.answers, api.groups
    look.shared = []  # ConfigMaps beside the record
    with serve(api.answer) as api.url:
        yield look


def gone(result):
    """Names of the releases that are removed, in their order."""
    return [chart["release_name"] for each in result["controllers"] for chart in each["charts"]]


def made(result):
    return [item["metadata"]["name"] for each in result["controllers"] for item in each["made"]]


def classes(result):
    return [item["metadata"]["name"] for item in result["surplus"]]


def test_the_own_gateway_does_not_keep_its_controller(look):
    result = look(ENVOY)
    assert not result["changed"] and (gone(result), classes(result), result["lines"]) == (["it"], ["envoy-gateway"], [])
    assert made(result) == [], "a class that we apply goes by its labels"
    assert result["after"]["data"]["releases"] == "" and result["before"]["data"]["releases"] == "envoy-gateway-system/it"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({GATEWAYS: gateway("b", "llm-d-gateway", "envoy-gateway", THEIRS)}, "Gateway b/llm-d-gateway of instance b is of class envoy-gateway"),
        ({GATEWAYS: gateway("shop", "front", "envoy-gateway")}, "Gateway shop/front is of class envoy-gateway"),
        ({GATEWAYS: gateway("elsewhere", "llm-d-gateway", "envoy-gateway", OURS)}, "Gateway elsewhere/llm-d-gateway of instance a is of class envoy-gateway"),
        ({GATEWAYS: gateway("shop", "front", "fast"), CLASSES: of(ENVOY, "fast")}, "Gateway shop/front is of class fast"),
        ({CLASSES: of(ENVOY, "theirs", THEIRS)}, "GatewayClass theirs of instance b is another's"),
        ({CLASSES: of(ENVOY, "by-hand")}, "GatewayClass by-hand is another's"),
    ],
)
def test_foreign_gateways_and_classes_keep_the_controller(look, change, message):
    for path, item in change.items():
        look.lists[path].append(item)
    result = look(ENVOY)
    assert gone(result) == [] and result["after"]["data"]["releases"] == "envoy-gateway-system/it", "the next run checks again"
    assert len(result["lines"]) == 1 and message in result["lines"][0]
    used = {item["spec"]["gatewayClassName"] for item in look.lists[GATEWAYS][1:]}
    assert classes(result) == [name for name in ["envoy-gateway"] if name not in used]


def test_a_foreign_gateway_keeps_the_controller_even_without_its_class(look):
    look.lists[GATEWAYS].append(gateway("b", "g", "envoy-gateway", THEIRS))
    look.lists[CLASSES].clear()
    assert gone(look(ENVOY)) == []


def test_scope_prerequisites_keeps_the_controller_while_a_gateway_uses_it(look):
    """With scope prerequisites, another file has the Gateway."""
    result = look(ENVOY, home="")
    assert gone(result) == classes(result) == []


def test_a_controller_in_a_namespace_of_another_instance_stays(look):
    look.lists[SPACES][0]["metadata"]["labels"] = THEIRS
    result = look(ENVOY)
    assert gone(result) == [] and "Namespace envoy-gateway-system of instance b was made by another instance" in result["lines"][0]


def test_gateways_of_other_controllers_do_not_keep_the_controller(look):
    look.lists[GATEWAYS].append(gateway("shop", "front", "nginx"))
    look.lists[CLASSES].append({"metadata": {"name": "nginx"}, "spec": {"controllerName": "nginx.org/gateway"}})
    result = look(ENVOY)
    assert gone(result) == ["it"] and classes(result) == ["envoy-gateway"]


def test_classes_that_istio_creates_itself_are_removed_with_it(look):
    look.lists[CLASSES] += [of(ISTIO, "istio"), {"metadata": {"name": "istio-remote"}, "spec": {"controllerName": "istio.io/unmanaged-gateway"}}]
    look.lists[SPACES][0]["metadata"]["name"] = "istio-system"
    result = look(ISTIO)
    assert gone(result) == ["it"] and made(result) == ["istio", "istio-remote"]
    look.lists[CLASSES][-1]["spec"]["controllerName"] = "someone.else/controller"
    assert made(look(ISTIO)) == ["istio"]
    for class_name in ("istio", "istio-remote"):
        look.lists[CLASSES][-1]["spec"]["controllerName"] = "istio.io/unmanaged-gateway"
        look.lists[GATEWAYS][1:] = [gateway("b", "g", class_name, THEIRS)]
        assert gone(look(ISTIO)) == []


def test_a_release_in_a_namespace_without_our_labels_may_be_anothers(look):
    look.lists[SPACES][0]["metadata"]["labels"] = {"team": "mesh"}
    result = look(ENVOY)
    message = "Namespace envoy-gateway-system is not ours, so that the release in it may be of others (helm list -n envoy-gateway-system)"
    assert gone(result) == [] and message in result["lines"][0]


def test_releases_in_own_namespaces_are_removed_without_a_record(look):
    """Older versions of the collection wrote no record."""
    assert gone(look(ENVOY, ISTIO, recorded=False)) == ["it"] and look(ENVOY, ISTIO, recorded=False)["lines"] == []
    look.lists[SPACES][0]["metadata"]["labels"] = THEIRS
    result = look(ENVOY, recorded=False)
    assert gone(result) == [] and result["lines"] == []


def test_a_release_that_the_file_plans_stays_until_everything_is_removed(look):
    planned = [["envoy-gateway-system", "it"]]
    result = look(ENVOY, releases=planned)
    assert gone(result) == [] and result["after"]["data"]["releases"] == "envoy-gateway-system/it"
    result = look(ENVOY, releases=planned, everything=True)
    assert gone(result) == ["it"] and result["after"]["data"]["releases"] == ""


def test_a_run_for_some_services_removes_no_controller(look):
    """The Gateway that it serves stays."""
    result = look(ENVOY, alone=True)
    assert gone(result) == [] == classes(result) and result["after"]["data"]["releases"] == "envoy-gateway-system/it"


def test_a_controller_that_the_file_needs_but_no_longer_installs_stays(look):
    result = look(ENVOY, needed=["envoy-gateway-system"])
    assert gone(result) == [] and result["after"]["data"]["releases"] == "envoy-gateway-system/it"
    assert gone(look(ENVOY, needed=["envoy-gateway-system"], everything=True)) == ["it"]


def test_an_unrecorded_release_is_removed_only_with_the_whole_instance(look):
    """Its run ended before the record was written. A partial removal keeps it: another file of the instance may have installed it."""
    look.lists[SPACES].append({"metadata": {"name": "lws-system", "labels": OURS}})
    groups, noted = {**GROUPS, "release_name": "lws"}, {"releases": "envoy-gateway-system/it"}
    assert gone(look(ENVOY, groups, noted=noted, everything=True)) == ["lws", "it"]
    assert gone(look(ENVOY, groups, noted=noted)) == ["it"]


def test_the_secrets_that_a_controller_pulls_its_images_with_stay_with_it(look):
    room = f"{SPACES}/envoy-gateway-system/secrets"
    look.lists[room] = [{"metadata": {"namespace": "envoy-gateway-system", "name": "a-image-pull", "labels": OURS}}]
    given = {"noted": {"secrets": "envoy-gateway-system/a-image-pull"}, "kinds": [["v1", "Secret"]], "everything": True}
    assert [item["kind"] for item in look(ENVOY, **given)["surplus"]] == ["Secret"]
    look.lists[GATEWAYS].append(gateway("shop", "front", "envoy-gateway"))
    result = look(ENVOY, **given)
    assert gone(result) == [] == result["surplus"] and result["after"]["data"]["secrets"] == "envoy-gateway-system/a-image-pull"


def test_an_unreadable_secret_stays_in_the_record(look):
    look.answers[f"{SPACES}/old/secrets/a-image-pull"] = 403
    result = look(ENVOY, noted={"secrets": "old/a-image-pull"}, kinds=[["v1", "Secret"]])
    assert result["after"]["data"]["secrets"] == "old/a-image-pull" and result["unseen"] == ["Secret old/a-image-pull"]
    assert look(ENVOY, noted={"secrets": "old/other"}, kinds=[["v1", "Secret"]])["after"]["data"]["secrets"] == "", "what is gone leaves it"


def test_unlistable_recorded_kinds_are_reported_and_stay_in_the_record(look):
    """Classes are in no namespace; the group of widgets does not answer. Kinds that the record does not have are not named."""
    look.groups.append("example.com")
    look.answers |= {"/apis/example.com/v1": 503, CLASSES: 403, f"{SPACES}/a/configmaps": 403}
    look.kinds["/api/v1"] = [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}]
    kept = "/GatewayClass.gateway.networking.k8s.io\na/Widget.example.com"
    result = look(ENVOY, noted={"kinds": kept}, kinds=[*RULES["kinds"], ["v1", "ConfigMap"]])
    assert result["unseen"] == ["Widget.example.com in namespace a", "GatewayClass.gateway.networking.k8s.io"]
    assert result["after"]["data"]["kinds"] == kept


def test_the_gpu_operator_release_stays_and_is_reported(look):
    """Pods of others reach their devices through it. The file that installed it removes it."""
    noted = {"releases": "envoy-gateway-system/it\ngpu-operator/gpu-operator"}
    result = look(ENVOY, noted=noted, needed=["envoy-gateway-system"])
    assert result["after"]["data"]["releases"] == "envoy-gateway-system/it\ngpu-operator/gpu-operator"
    assert result["lines"] == ["the GPU operator gpu-operator/gpu-operator stays: playbooks/teardown.yml removes it by the llm_d_gpus that installed it"]
    assert look(ENVOY, noted=noted, needed=["envoy-gateway-system"], releases=[["gpu-operator", "gpu-operator"]])["lines"] == []


def test_only_own_namespaces_that_left_the_file_are_removed(look):
    look.kinds["/api/v1"] = [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}]
    look.lists[SPACES] += [{"metadata": {"name": "pickers", "labels": OURS}}, {"metadata": {"name": "routes", "labels": THEIRS}}]
    home = {**OURS, "llm-d.ai/namespace": "a"}
    look.lists[f"{SPACES}/pickers/configmaps"] = [{"metadata": {"namespace": "pickers", "name": "epp", "labels": home}}]
    places = {"kinds": [["v1", "ConfigMap"]], "places": "pickers,routes,a", "needed": ["envoy-gateway-system"]}
    surplus = [(item["kind"], item["metadata"]["name"]) for item in look(ENVOY, **places)["surplus"]]
    assert surplus == [("Namespace", "pickers"), ("ConfigMap", "epp")]
    assert look(ENVOY, **places)["after"]["metadata"]["annotations"][KEPT_IN] == "pickers", "where something else keeps it, the next run names it again"
    none = {**places, "places": "", "namespaces": ["a", "pickers"]}
    assert look(ENVOY, **none, made=["pickers"])["after"]["metadata"]["annotations"][KEPT_IN] == "pickers", "also where no member is in it"
    left = look.lists[SPACES].pop(1)
    assert look(ENVOY, **places)["after"]["metadata"]["annotations"][KEPT_IN] == ""
    look.lists[SPACES].append(left)
    for stays in ({"namespaces": ["a", "pickers"]}, {"alone": True}, {"home": ""}):
        assert "Namespace" not in [item["kind"] for item in look(ENVOY, **{**places, **stays})["surplus"]]


def test_a_teardown_names_the_namespaces_of_the_file_and_the_operator_of_gpus(look):
    look.lists[SPACES] += [{"metadata": {"name": name, "labels": OURS}} for name in ("a", "gpu-operator")]
    operator = {"name": "nvidia_helm", "namespaces": ["gpu-operator"], "pools": ["a100", "h100"]}
    lines = ["GPU operator nvidia_helm in gpu-operator, and our labels of the nodes of a100, h100", "Namespace (1), if nothing else is in it: a"]
    assert look(ENVOY, everything=True, operator=operator)["summary"][-2:] == lines
    assert look(ENVOY, everything=True, operator={**operator, "pools": []})["summary"][-2] == "GPU operator nvidia_helm in gpu-operator"
    assert not {*lines} & {*look(ENVOY, operator=operator)["summary"]}
    look.lists[SPACES].pop()
    assert look(ENVOY, everything=True, operator=operator)["summary"][-1] == lines[-1] and lines[0] not in look(ENVOY, everything=True)["summary"]


def twin(name="b", **parts):
    """The record of a file with the same instance in another namespace."""
    metadata = {"namespace": name, "name": "a-record", "labels": {**OURS, ID: f"applyset-{name}-v1"}, "annotations": {KEPT_IN: parts.pop("places", "")}}
    return {"metadata": metadata, "data": {"kinds": "", **parts}}


@pytest.mark.parametrize("everything", [True, False])
def test_a_controller_that_another_record_needs_stays(look, everything):
    """Its Gateway is not there yet, or in a namespace that only its own account sees. It stays in the record, as the files may give it up in either order."""
    for needs in ({"needed": "envoy-gateway-system"}, {"releases": "envoy-gateway-system/it"}):
        look.lists[RECORDS] = [twin(**needs)]
        result = look(ENVOY, everything=everything)
        assert gone(result) == classes(result) == [] and result["after"]["data"]["releases"] == "envoy-gateway-system/it"
        name = "the controller gateway.envoyproxy.io/gatewayclass-controller stays, and with it what it needs"
        assert result["lines"] == [f"{name}: the file of the record b/a-record needs it"]
    look.lists[RECORDS] = [twin("a", needed="envoy-gateway-system"), twin(releases="envoy-gateway-system/it", needed="istio-system")]
    assert gone(look(ENVOY, everything=everything)) == ["it"], "one in the namespace of the file is of the same file, and the other has given it up"


def test_the_record_lists_the_controllers_that_its_file_needs(look):
    result = look(ENVOY, needed=["istio-system", "envoy-gateway-system", "istio-system"])
    assert result["before"]["data"]["needed"] == result["after"]["data"]["needed"] == "envoy-gateway-system\nistio-system"
    assert look(ENVOY, needed=["istio-system"], everything=True)["before"]["data"]["needed"] == ""


def test_a_file_without_a_record_has_no_controller_that_another_record_has(look):
    for has in ({"releases": "envoy-gateway-system/it", "needed": ""}, {"needed": "envoy-gateway-system"}):
        look.lists[RECORDS] = [twin(**has)]
        for everything in (True, False):
            result = look(ENVOY, recorded=False, everything=everything)
            assert gone(result) == [] and result["before"]["data"]["releases"] == ""


def test_a_gateway_class_in_another_record_stays(look):
    """Neither record has installed the controller of the class."""
    look.lists[CLASSES][0]["metadata"]["labels"] = {**OURS, MEMBER: "applyset-b-v1"}
    needed = {"needed": ["envoy-gateway-system"]}
    assert classes(look(ENVOY, **needed)) == ["envoy-gateway"], "that record is gone"
    look.lists[RECORDS] = [twin()]
    assert classes(look(ENVOY, **needed)) == []
    assert classes(look(ENVOY)) == ["envoy-gateway"], "with its controller, which the other one does not have"
    look.answers[RECORDS] = 403
    assert classes(look(ENVOY, **needed)) == []
    look.lists[CLASSES][0]["metadata"]["labels"][MEMBER] = "applyset-x-v1"
    assert classes(look(ENVOY, **needed)) == ["envoy-gateway"]


def test_controllers_stay_where_the_records_of_others_cannot_be_read(look):
    look.answers[RECORDS] = 403
    result = look(ENVOY)
    assert gone(result) == [] and result["after"]["data"]["releases"] == "envoy-gateway-system/it"
    assert result["lines"][0].endswith(": it is not known who else uses it, since this account may not list configmaps")
    assert look(ENVOY, controllers=[])["lines"] == [], "in one namespace, nothing is shared"
    look.lists[SPACES].append({"metadata": {"name": "pickers", "labels": OURS}})
    look.lists[f"{SPACES}/envoy-gateway-system/secrets"] = [{"metadata": {"namespace": "envoy-gateway-system", "name": "a-image-pull", "labels": OURS}}]
    assert look(ENVOY, kinds=[["v1", "Secret"]], places="pickers")["surplus"] == [], "nor does what another record may have"


def test_a_file_of_one_namespace_leaves_the_class_to_that_of_prerequisites(look):
    """Its record may list a GatewayClass, since the file may have had the scope of the whole cluster before."""
    result = look(ENVOY, controllers=[], noted={"kinds": "/GatewayClass.gateway.networking.k8s.io"}, kinds=[])
    assert classes(result) == [] == result["unseen"] and result["after"]["data"]["kinds"] == ""


def test_an_unrecorded_image_pull_secret_is_removed_with_its_controller(look):
    """There is no record any more that lists the Secret."""
    look.lists[f"{SPACES}/envoy-gateway-system/secrets"] = [{"metadata": {"namespace": "envoy-gateway-system", "name": "a-image-pull", "labels": OURS}}]
    result = look(ENVOY, kinds=[["v1", "Secret"]], recorded=False, everything=True)
    assert gone(result) == ["it"] and [item["metadata"]["name"] for item in result["surplus"]] == ["a-image-pull"]


def test_secrets_and_namespaces_in_another_record_are_not_removed(look):
    room, place = f"{SPACES}/envoy-gateway-system/secrets", {"needed": ["envoy-gateway-system"], "places": "pickers"}
    look.lists[SPACES].append({"metadata": {"name": "pickers", "labels": OURS}})
    look.lists[room] = [{"metadata": {"namespace": "envoy-gateway-system", "name": "a-image-pull", "labels": OURS}}]
    given = {"secrets": [["envoy-gateway-system", "a-image-pull"]], "kinds": [["v1", "Secret"]], "releases": [["envoy-gateway-system", "it"]], **place}
    assert [item["kind"] for item in look(ENVOY, **given)["surplus"]] == ["Namespace", "Secret"]
    look.lists[RECORDS] = [twin(secrets="envoy-gateway-system/a-image-pull", places="pickers")]
    result = look(ENVOY, **given)
    assert result["surplus"] == [] and result["after"]["data"]["secrets"] == "" and result["after"]["metadata"]["annotations"][KEPT_IN] == ""


def test_shared_objects_stay_while_a_service_missing_from_the_file_stays(look):
    """The service stays by `llm_d_prune: {services: false}` or a file without services: it may need the controller, the Gateway, and a Secret."""
    look.kinds |= {
        "/api/v1": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}],
        "/apis/leaderworkerset.x-k8s.io/v1": [{"name": "leaderworkersets", "kind": "LeaderWorkerSet", "namespaced": True}],
    }
    look.lists[SPACES].append({"metadata": {"name": "lws-system", "labels": OURS}})
    look.lists["/apis/leaderworkerset.x-k8s.io/v1/namespaces/a/leaderworkersets"] = look.lists[SETS] = [
        {"metadata": {"namespace": "a", "name": "llama", "labels": {**OURS, "s": "llama"}}}
    ]
    rules = {"kinds": [["v1", "ConfigMap"], ["leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"]], "noted": {"releases": "lws-system/it"}}
    look.shared = [{"metadata": {"namespace": "a", "name": "shared", "labels": OURS}}]
    result = look(GROUPS, services=[], **rules)
    assert gone(result) == [] == result["surplus"] and result["after"]["data"]["releases"] == "lws-system/it"
    assert result["lines"] == ["objects that belong to no service stay, since llama, which the file does not have, may need them"]
    assert gone(look(GROUPS, services=["llama"], **rules)) == ["it"]
    everything = look(GROUPS, services=[], everything=True, **rules)
    assert [item["metadata"]["name"] for item in everything["surplus"]] == ["shared", "llama"] and gone(everything) == ["it"]


def test_a_run_for_some_services_prunes_only_their_objects(look):
    """The file still has both services."""
    look.kinds["/api/v1"] = [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}]
    look.shared = [{"metadata": {"namespace": "a", "name": name, "labels": {**OURS, "s": name}}} for name in ("chat", "sim")]
    for everything in (False, True):
        result = look(ENVOY, services=["chat"], alone=True, everything=everything, kinds=[["v1", "ConfigMap"]])
        assert [item["metadata"]["name"] for item in result["surplus"]] == ["chat"] and result["lines"] == []


def test_bundles_of_crds_stay_in_the_record(look):
    """The CRDs stay in the cluster too, also when the file requests other bundles."""
    result = look(ENVOY)
    assert result["before"]["data"]["crds"] == result["after"]["data"]["crds"] == "it"
    assert look(ENVOY, crds=["other"], recorded=False)["after"]["data"]["crds"] == "other"
    assert look(ENVOY, crds=["other"], noted={"crds": "it"})["after"]["data"]["crds"] == "it\nother"


def test_the_release_installed_last_is_removed_first(look):
    look.lists[SPACES][0]["metadata"]["name"] = "istio-system"
    result = look({**ISTIO, "release_name": "istio-base"}, {**ISTIO, "release_name": "istiod"})
    assert gone(result) == ["istiod", "istio-base"] and [each["namespace"] for each in result["controllers"]] == ["istio-system"]


def test_a_mesh_of_others_keeps_its_control_plane(look):
    """Their sidecars get certificates and configuration from the istiod that we have installed, without any Gateway."""
    look.lists[SPACES][0]["metadata"]["name"] = "istio-system"
    mesh = {**ISTIO, "mesh": {"istio-injection": "enabled", "istio.io/rev": "default"}}
    ours, theirs = ({"metadata": {"name": name, "labels": {**extra, "istio-injection": "enabled"}}} for name, extra in (("a", OURS), ("shop", {})))
    other = {"metadata": {"name": "other", "labels": {"istio-injection": "disabled", "istio.io/rev": "stable"}}}
    look.lists[SPACES] += [ours, other]
    assert gone(look(mesh)) == ["it"]
    look.lists[SPACES].append(theirs)
    result = look(mesh)
    assert gone(result) == [] and result["lines"] == [
        "the controller istio.io/gateway-controller stays, and with it what it needs: Namespace shop has its pods served (istio-injection=enabled)"
    ]


def test_foreign_pods_that_join_a_mesh_keep_its_control_plane(look):
    """Pods of Istio's chart `gateway` join it, even in its namespace. Its own pods have the revision's label too; a proxy counts by its Gateway."""
    look.lists[SPACES][0]["metadata"]["name"] = "istio-system"
    mesh = {**ISTIO, "mesh_pods": ["sidecar.istio.io/inject=true", "istio.io/rev=default,sidecar.istio.io/inject!=false"]}
    revision = {"istio.io/rev": "default"}
    own = {"metadata": {"namespace": "istio-system", "name": "istiod-1", "labels": {**revision, "sidecar.istio.io/inject": "false"}}}
    proxy = {"metadata": {"namespace": "a", "name": "proxy", "labels": {**revision, "gateway.networking.k8s.io/gateway-name": "llm-d-gateway"}}}
    look.lists[PODS] = [own, proxy]
    assert gone(look(mesh)) == ["it"]
    for labels in ({"sidecar.istio.io/inject": "true"}, revision, {**revision, "sidecar.istio.io/inject": "true"}):
        look.lists[PODS] = [own, {"metadata": {"namespace": "istio-system", "name": "ingress-1", "labels": labels}}]
        result = look(mesh)
        assert gone(result) == [] and result["lines"] == [
            "the controller istio.io/gateway-controller stays, and with it what it needs: Pod istio-system/ingress-1"
        ]
    look.answers[PODS] = 403
    assert gone(result := look(mesh)) == [] and result["lines"][0].endswith("it is not known who else uses it, since this account may not list pods")


def test_the_plan_has_the_namespace_and_pod_labels_of_the_istio_mesh():
    """The plan has those of Istio even if the file has another provider, since an earlier version of the file may have had Istio."""
    for provider in ("istio", "standalone"):
        rows = plan({"llm_d_charts": CHARTS, "llm_d_gateway": {"provider": provider}})["record"]["controllers"]
        meshes = [(each["mesh"]["istio-injection"], each["mesh_pods"][0]) for each in rows if each["name"] == ISTIO["name"]]
        assert meshes == [("enabled", "sidecar.istio.io/inject=true")] * 2


def test_a_gateway_of_another_file_with_our_instance_counts(look):
    shared = {**OURS, "llm-d.ai/namespace": "other"}
    look.lists[GATEWAYS].append(gateway("a", "second", "envoy-gateway", shared))
    result = look(ENVOY)
    assert gone(result) == [] and "Gateway a/second of instance a in namespace other is of class envoy-gateway" in result["lines"][0]


GROUPS = {
    **ROW,
    "name": "leaderworkerset.x-k8s.io",
    "namespace": "lws-system",
    "kinds": [{"api_version": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}],
}
SETS = "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets"


def test_foreign_leader_worker_sets_keep_their_controller(look):
    look.lists[SPACES].append({"metadata": {"name": "lws-system", "labels": OURS}})
    assert gone(look(GROUPS)) == ["it"], "the API server does not know the kind"
    look.kinds["/apis/leaderworkerset.x-k8s.io/v1"] = [{"name": "leaderworkersets", "kind": "LeaderWorkerSet", "namespaced": True}]
    look.lists[SETS] = [{"metadata": {"namespace": "a", "name": "llama", "labels": OURS}}]
    assert gone(look(GROUPS)) == ["it"] and gone(look(GROUPS, home="")) == [], "ours counts where it is not about to go"
    look.lists[SETS].append({"metadata": {"namespace": "shop", "name": "bert"}})
    result = look(GROUPS)
    assert gone(result) == []
    assert result["lines"] == ["the controller leaderworkerset.x-k8s.io stays, and with it what it needs: LeaderWorkerSet shop/bert"]


@pytest.mark.parametrize(("status", "why"), [(403, "this account may not list gateways"), (503, "gateways cannot be listed: 503 not now")])
def test_a_controller_with_unlistable_gateways_stays_without_a_failure(look, status, why):
    look.answers[GATEWAYS] = status
    result = look(ENVOY)
    assert not result.get("failed") and gone(result) == classes(result) == []
    assert result["lines"] == [f"the controller {ENVOY['name']} stays, and with it what it needs: it is not known who else uses it, since {why}"]


def test_a_cluster_without_the_gateway_api_has_no_users(look):
    del look.lists[GATEWAYS], look.lists[CLASSES], look.kinds[API]
    assert gone(look(ENVOY)) == ["it"]
