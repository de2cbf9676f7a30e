"""Stand-ins for projects and the admission of pods of OpenShift's API server, on the loopback, behind the real API server."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
import typing as t
from pathlib import Path

from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError
from api import Api

Facts = dict[str, t.Any]
PORT = 24643
GROUP = "project.openshift.io"
RANGE, SIZE = "openshift.io/sa.scc.uid-range", 10000
FIRST = 1000660000
PLATFORM = ("kube-", "openshift-", "nvidia-", "default")  # the platform's own namespaces


def step(api: Api) -> None:
    """Give new namespaces their range of user ids and their pod security, as OpenShift does shortly after their creation."""
    spaces = api.items("/api/v1/namespaces")
    taken = {(item["metadata"].get("annotations") or {}).get(RANGE) for item in spaces}
    free = (each for number in range(1000) if (each := f"{FIRST + number * SIZE}/{SIZE}") not in taken)
    for item in spaces:
        metadata = item["metadata"]
        if metadata["name"].startswith(PLATFORM) or RANGE in (metadata.get("annotations") or {}) or metadata.get("deletionTimestamp"):
            continue
        labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
        api.merge(f"/api/v1/namespaces/{metadata['name']}", {"metadata": {"annotations": {RANGE: next(free)}, "labels": labels}})


def serve(api: Api, folder: Path) -> None:
    """Answer the API server in threads."""

    class Handler(http.server.BaseHTTPRequestHandler):
        """One request of the API server."""

        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(*project_api(api, self.path.split("?")[0], self.headers.get("X-Remote-User", "")))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path.startswith("/admit"):
                self._answer(200, admit(api, body))
            else:
                self._answer(*request(api, body, self.headers.get("X-Remote-User", "")))

        def _answer(self, code: int, content: Facts) -> None:
            data = json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_given: t.Any) -> None:
            """Suppress request logging; errors are in the response."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "standin.crt", folder / "standin.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def project_api(api: Api, path: str, user: str) -> tuple[int, Facts]:
    """Discovery, and the projects that the user may read."""
    version = {"groupVersion": f"{GROUP}/v1", "version": "v1"}
    words = path.strip("/").split("/")
    if words == ["apis", GROUP]:
        return 200, {"kind": "APIGroup", "apiVersion": "v1", "name": GROUP, "versions": [version], "preferredVersion": version}
    if words == ["apis", GROUP, "v1"]:
        kinds = [("projects", "Project", ["get", "list"]), ("projectrequests", "ProjectRequest", ["create"])]
        resources = [{"name": name, "singularName": "", "namespaced": False, "kind": kind, "verbs": verbs} for name, kind, verbs in kinds]
        return 200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/v1", "resources": resources}
    if words[:4] == ["apis", GROUP, "v1", "projects"]:
        visible = [item for item in api.items("/api/v1/namespaces") if may_see(api, user, item["metadata"]["name"])]
        if len(words) == 4:
            return 200, {"kind": "ProjectList", "apiVersion": f"{GROUP}/v1", "metadata": {}, "items": [project(item) for item in visible]}
        mine = next((item for item in visible if item["metadata"]["name"] == words[4]), None)
        return (200, project(mine)) if mine else status(403, f'projects.{GROUP} "{words[4]}" is forbidden: User "{user}" cannot get resource "projects"')
    return status(404, "the server could not find the requested resource")


def may_see(api: Api, user: str, namespace: str) -> bool:
    """Whether the user may get the namespace."""
    review = {
        "user": user,
        "groups": ["system:masters"] if user == "llm-d-local-admin" else [],
        "resourceAttributes": {"verb": "get", "resource": "namespaces", "namespace": namespace, "name": namespace},
    }
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": review}
    return bool(api.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)["status"]["allowed"])


def project(item: Facts) -> Facts:
    metadata = {key: item["metadata"].get(key) for key in ("name", "uid", "resourceVersion", "creationTimestamp", "labels", "annotations")}
    return {"kind": "Project", "apiVersion": f"{GROUP}/v1", "metadata": metadata, "status": item.get("status", {})}


def status(code: int, message: str) -> tuple[int, Facts]:
    reason = {403: "Forbidden", 404: "NotFound", 409: "AlreadyExists"}.get(code, "Invalid")
    return code, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code}


def request(api: Api, body: Facts, user: str) -> tuple[int, Facts]:
    """Serve a ProjectRequest: create the namespace, with its requester as its administrator."""
    name = body["metadata"]["name"]
    metadata = {"name": name, "annotations": {"openshift.io/requester": user}}
    try:
        made = api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    except ApiError as error:
        return status(error.status, f'project.{GROUP} "{name}" already exists' if error.status == 409 else error.message)
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "admin", "namespace": name},
        "subjects": [subject],
        "roleRef": role,
    }
    api.apply(binding)
    return 201, project(made)


def admit(api: Api, review: Facts) -> Facts:
    """The response to an AdmissionReview of a pod."""
    pod_request = review["request"]
    namespace = api.find(f"/api/v1/namespaces/{pod_request['namespace']}") or {"metadata": {"name": pod_request["namespace"]}}
    if pod_request["namespace"].startswith(PLATFORM):
        refused, patch = "", []
    else:
        refused, patch = restricted((namespace["metadata"].get("annotations") or {}).get(RANGE), pod_request["object"])
    answer: Facts = {"uid": pod_request["uid"], "allowed": not refused}
    if refused:
        answer["status"] = {"code": 403, "message": refused}
    elif patch:
        answer.update(patchType="JSONPatch", patch=base64.b64encode(json.dumps(patch).encode()).decode())
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}


def restricted(allowed: str | None, pod: Facts) -> tuple[str, list[Facts]]:
    """(reason to refuse a pod, changes): user ids of the range, and nothing that the pod must specify itself. Pure."""
    if not allowed:
        return "unable to find annotation openshift.io/sa.scc.uid-range", []
    first, size = (int(part) for part in allowed.split("/"))
    parts = [(f"/spec/{kind}/{index}", part) for kind in ("initContainers", "containers") for index, part in enumerate(pod["spec"].get(kind) or [])]
    whole = pod["spec"].get("securityContext") or {}
    for where, context in [("/spec", whole), *((where, part.get("securityContext") or {}) for where, part in parts)]:
        for field in ("runAsUser", "fsGroup"):
            value = context.get(field)
            if value is not None and not first <= value < first + size:
                place = where.strip("/").replace("/", ".")
                return (
                    f"unable to validate against any security context constraint: [provider restricted-v2: .{place}.securityContext.{field}: "
                    f"Invalid value: {value}: must be in the ranges: [{first}, {first + size - 1}]]"
                ), []
    changes: list[Facts] = [{"op": "add", "path": "/spec/securityContext", "value": {"fsGroup": first, **whole}}]
    for where, part in parts:
        changes.append({"op": "add", "path": f"{where}/securityContext", "value": {"runAsUser": first, **(part.get("securityContext") or {})}})
    notes = {**(pod["metadata"].get("annotations") or {}), "openshift.io/scc": "restricted-v2"}
    return "", [*changes, {"op": "add", "path": "/metadata/annotations", "value": notes}]
