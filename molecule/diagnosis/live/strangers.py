"""Foreign objects that disturb the running stack, and foreign objects that do not."""

from __future__ import annotations

from stack import NAMESPACE, Object, Stack, Undo

GATEWAY = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "llm-d-gateway"}
ROUTE = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "sim"}
ENVOY = "gateway.envoyproxy.io/v1alpha1"


def route(name: str, kind: str, value: str, *hostnames: str) -> Object:
    """A foreign route on the stack's Gateway to a Service that does not exist."""
    rules = [{"matches": [{"path": {"type": kind, "value": value}}], "backendRefs": [{"name": "nobody", "port": 80}]}]
    spec = {"parentRefs": [GATEWAY], "hostnames": list(hostnames), "rules": rules}
    return {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": name}, "spec": spec}


def longer_prefix(stack: Stack) -> Undo:
    return stack.create("httproutes", route("someone-else", "PathPrefix", "/v1"))


def exact_path(stack: Stack) -> Undo:
    return stack.create("httproutes", route("someone-else", "Exact", "/v1/completions"))


def refusing_policy(stack: Stack) -> Undo:
    """Deny all requests to the stack's route."""
    spec = {"targetRefs": [ROUTE], "authorization": {"defaultAction": "Deny"}}
    return stack.create("securitypolicies", {"apiVersion": ENVOY, "kind": "SecurityPolicy", "metadata": {"name": "someone-else"}, "spec": spec})


def silent_webhook(stack: Stack) -> Undo:
    """A webhook for the pods of the stack's namespace, with a Service that does not exist."""
    hook = {
        "name": "check.someone-else.example.com",
        "clientConfig": {"service": {"namespace": NAMESPACE, "name": "nobody", "path": "/"}},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    made = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "someone-else"},
        "webhooks": [hook],
    }
    return stack.create("validatingwebhookconfigurations", made, "")


def no_egress(stack: Stack) -> Undo:
    """Allow the pods of the stack's namespace nothing but DNS queries."""
    names = {"ports": [{"protocol": "UDP", "port": 53}]}
    spec = {"podSelector": {}, "policyTypes": ["Egress"], "egress": [names]}
    return stack.create("networkpolicies", {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "someone-else"}, "spec": spec})


def neighbours(stack: Stack) -> list[Undo]:
    """Foreign routes and policies that do not affect the stack's requests."""
    spec = {"targetRefs": [{**ROUTE, "name": "shop"}], "cors": {"allowOrigins": ["https://shop.example.com"]}}
    made = [
        ("httproutes", route("shop", "PathPrefix", "/shop")),
        ("httproutes", route("shop-by-name", "PathPrefix", "/", "shop.example.com")),
        ("securitypolicies", {"apiVersion": ENVOY, "kind": "SecurityPolicy", "metadata": {"name": "shop"}, "spec": spec}),
    ]
    return [stack.create(kind, obj) for kind, obj in made]
