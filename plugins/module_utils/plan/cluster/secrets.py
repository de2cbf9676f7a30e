# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets from values of the user's file: the token for the model repository, the API key of the servers, and credentials for registries. Pure.

The plan holds only their names. The values are only in what `definitions` returns.
"""

from __future__ import annotations

import base64
import json
import typing as t

from ...common.objects import Facts
from ..engines.api_keys import OWN_KEY, api_key_name
from ..engines.weights import model_uri
from ..parts.charts import charts
from ..parts.names import scheduler_namespace
from ..parts.pod_spec import labels_in

TOKEN_KEY = "HF_TOKEN"
PULL_KEY = ".dockerconfigjson"
PULL_TYPE = "kubernetes.io/dockerconfigjson"


def token_name(user: Facts) -> str:
    """Name of the Secret with the token."""
    return f"{user['llm_d_instance']}-model-token"


def pull_name(user: Facts) -> str:
    """Name of the Secret with the credentials for registries."""
    return f"{user['llm_d_instance']}-image-pull"


def token_reference(service: Facts, user: Facts) -> Facts:
    """The model options token_secret and token_key for our own Secret; {} if the service needs no token, or names a Secret itself."""
    model = service["model"]
    needs_token = service["engine"]["type"] != "simulator" and model_uri(model).scheme == "hf"
    if not user["llm_d_model_token"] or model["token_secret"] or not needs_token:
        return {}
    return {"token_secret": token_name(user), "token_key": TOKEN_KEY}


def pull_names(user: Facts) -> list[str]:
    """Names of all image pull Secrets: the user's, and our own if the file has credentials."""
    names = list(user["llm_d_image_pull_secrets"])
    return [*names, pull_name(user)] if user["llm_d_image_pull_credentials"] and pull_name(user) not in names else names


def secrets(user: Facts, labels: Facts) -> Facts:
    """{present: the Secrets without their values, prune: those that the file does not request}.

    The image pull Secret is needed in every namespace with our pods: of the servers, of the endpoint pickers, and of each controller that we install. The
    token is for servers and for tokenizers beside endpoint pickers, the API key for servers.
    """
    home, token, pull, own = user["llm_d_namespace"], token_name(user), pull_name(user), api_key_name(user)
    wanted = {token: bool(user["llm_d_model_token"]), pull: bool(user["llm_d_image_pull_credentials"]), own: bool(user["llm_d_api_key"])}
    homes = [] if user["llm_d_scope"] == "prerequisites" else list(dict.fromkeys((home, scheduler_namespace(user))))
    places = [(name, room, labels_in(room, home, labels)) for room in homes for name in (token, pull, *([own] if room == home else []))]
    # Files that share a controller share its Secret.
    places += [(pull, room, labels) for room in dict.fromkeys(chart["namespace"] for chart in charts(user)) if room not in (home, *homes)]
    heads = [(wanted[name], _head(name, place, marks)) for name, place, marks in places]
    return {"present": [head for needed, head in heads if needed], "prune": [head for needed, head in heads if not needed]}


def definitions(user: Facts, planned: t.Sequence[Facts]) -> list[Facts]:
    """The planned Secrets with their values, which must not be logged."""
    manifests, opaque = [], {token_name(user): (TOKEN_KEY, "llm_d_model_token"), api_key_name(user): (OWN_KEY, "llm_d_api_key")}
    for head in planned:
        if head["metadata"]["name"] in opaque:
            key, option = opaque[head["metadata"]["name"]]
            manifests.append({**head, "type": "Opaque", "data": {key: _encoded(user[option])}})
        else:
            manifests.append({**head, "type": PULL_TYPE, "data": {PULL_KEY: _encoded(_docker_config(user["llm_d_image_pull_credentials"]))}})
    return manifests


def _head(name: str, namespace: str, labels: Facts) -> Facts:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)}}


def _docker_config(credentials: t.Sequence[Facts]) -> str:
    entries = {
        each["registry"]: {**{key: each[key] for key in ("username", "password")}, "auth": _encoded(f"{each['username']}:{each['password']}")}
        for each in credentials
    }
    return json.dumps({"auths": entries}, sort_keys=True)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
