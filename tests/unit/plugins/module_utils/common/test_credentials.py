"""Which headers carry a credential."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common import credentials

HIDDEN = [
    ("Authorization", "Bearer s3cret-of-mine", {"Bearer s3cret-of-mine", "s3cret-of-mine"}),
    ("proxy-authorization", "Basic dXNlcjpwYXNz", {"Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"}),
    ("x-api-key", "sesame", {"sesame"}),
    ("apikey", "sesame", {"sesame"}),
    ("X-Goog-Api-Key", "sesame", {"sesame"}),
    ("Ocp-Apim-Subscription-Key", "sesame", {"sesame"}),
    ("X-Amz-Security-Token", "sesame", {"sesame"}),
    ("x-auth-token", "sesame", {"sesame"}),
    ("X-AccessToken", "sesame", {"sesame"}),
    ("x_secret", "sesame", {"sesame"}),
    ("X-Password", "sesame", {"sesame"}),
    ("x-hub-signature", "sesame", {"sesame"}),
    ("Cookie", "theme=dark; sid=0123456789", {"theme=dark; sid=0123456789", "theme=dark", "sid=0123456789", "0123456789"}),
    ("Set-Cookie", "sid=0123456789", {"sid=0123456789", "0123456789"}),
    ("API_TOKENS", "sesame", {"sesame"}),
    ("HF_TOKEN_2", "sesame", {"sesame"}),
    ("hfToken2", "sesame", {"sesame"}),
    ("x-secrets", "sesame", {"sesame"}),
    ("DbPasswords", "sesame", {"sesame"}),
    ("x-passwordfield", "sesame", {"sesame"}),
    ("x-private", "sesame", {"sesame"}),
    ("x-cache-token", "sesame", {"sesame"}),
    # By their value alone.
    ("x-mine", "hf_abcdefghijklmnopqrstuvwxyz", {"hf_abcdefghijklmnopqrstuvwxyz"}),
    ("x-mine", "Bearer abcdefghijklmnop", {"Bearer abcdefghijklmnop", "abcdefghijklmnop"}),
]
SHOWN = [
    ("x-team", "tiny"),
    ("x-priority", "1"),
    ("x-trace", "0af7651916cd43dd8448eb211c80319c"),
    ("x-author", "someone"),
    ("x-keyword", "something"),
    ("x-monkeys", "twelve"),
    ("x-max-tokens", "100000"),
    ("x-token-count", "100000"),
    ("TOKENIZER_MODE", "slow"),
    ("MAX_PROMPT_TOKENS", "100000"),
    ("SECRET_NAME", "hub-of-models"),
    ("x-cache-key", "prompts-of-monday"),
    ("Idempotency-Key", "prompts-of-monday"),
    ("User-Agent", "benchmark/1.0"),
    ("x-gateway-inference-objective", "batch"),
    ("x-api-key", "abc"),  # three letters stand in any text
]


@pytest.mark.parametrize(("name", "value", "texts"), HIDDEN)
def test_the_credentials_in_a_header_are_hidden(name: str, value: str, texts: set[str]) -> None:
    assert credentials.texts({name: value, "x-team": "tiny"}) == texts


@pytest.mark.parametrize(("name", "value"), SHOWN)
def test_headers_without_a_credential_are_not_hidden(name: str, value: str) -> None:
    assert credentials.texts({name: value}) == set()


def test_the_tokens_keys_and_passwords_of_a_kubeconfig_are_hidden() -> None:
    """Its tokens, keys and passwords; not its names, addresses, certificates and paths, which would be hidden wherever a play shows them."""
    user = {
        "token": "planted-token",
        "client-key-data": "cGxhbnRlZC1rZXk=",
        "client-certificate-data": "Y2VydGlmaWNhdGU=",
        "client-key": "/etc/kubernetes/admin.key",
        "tokenFile": "/var/run/token",
        "username": "admin",
        "password": "planted-password",
        "auth-provider": {"name": "oidc", "config": {"id-token": "planted-id", "client-secret": "planted-client", "idp-issuer-url": "https://issuer"}},
        "exec": {"command": "aws", "env": [{"name": "AWS_SECRET_ACCESS_KEY", "value": "planted-in-the-environment"}, {"name": "AWS_PROFILE", "value": "dev"}]},
    }
    data = {
        "apiVersion": "v1",
        "kind": "Config",
        "users": [{"name": "me", "user": user}],
        "clusters": [{"name": "c", "cluster": {"server": "https://api:6443"}}],
    }
    planted = {"planted-token", "planted-password", "planted-id", "planted-client", "planted-in-the-environment", "cGxhbnRlZC1rZXk="}
    assert credentials.nested(data) == planted
    assert credentials.nested("/root/.kube/config") == credentials.nested(None) == set()
