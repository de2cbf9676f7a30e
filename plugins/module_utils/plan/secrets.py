# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets that we make of the user's values: the token of the model repository, and what opens the image registry. Pure.

The plan holds their names only. Values are in what `definitions` returns and nowhere else.
"""

from __future__ import annotations

import base64
import json
import typing as t

from .charts import charts

Facts = dict[str, t.Any]

TOKEN_KEY = "HF_TOKEN"
PULL_KEY = ".dockerconfigjson"
PULL_TYPE = "kubernetes.io/dockerconfigjson"


def token_name(user: Facts) -> str:
    """Name of the Secret with the token."""
    return f"{user['llm_d_instance']}-model-token"


def pull_name(user: Facts) -> str:
    """Name of the Secret with the registries' credentials."""
    return f"{user['llm_d_instance']}-image-pull"


def named(user: Facts) -> Facts:
    """The user's variables with the names of our Secrets where none of the user's own stands."""
    services = user["llm_d_model_services"]
    if user["llm_d_model_token"]:
        services = [_with_token(service, token_name(user)) for service in services]
    pull = list(user["llm_d_image_pull_secrets"])
    if user["llm_d_image_pull_credentials"] and pull_name(user) not in pull:
        pull.append(pull_name(user))
    return {**user, "llm_d_model_services": services, "llm_d_image_pull_secrets": pull}


def _with_token(service: Facts, name: str) -> Facts:
    model = service["model"]
    if model["token_secret"] or service["engine"]["type"] == "simulator" or not (model["uri"] or "").startswith("hf://"):
        return service
    return {**service, "model": {**model, "token_secret": name, "token_key": TOKEN_KEY}}


def secrets(user: Facts, labels: Facts) -> Facts:
    """{present: definitions without their values, unwanted: those of a file that asks for less}.

    What opens the registry is wanted wherever pods of ours are: beside the servers, and beside a controller that we install.
    """
    home, token, pull = user["llm_d_namespace"], token_name(user), pull_name(user)
    wanted = {token: bool(user["llm_d_model_token"]), pull: bool(user["llm_d_image_pull_credentials"])}
    places = [] if user["llm_d_scope"] == "prerequisites" else [(token, home), (pull, home)]
    places += [(pull, room) for room in dict.fromkeys(chart["namespace"] for chart in charts(user)) if room != home]
    heads = [(wanted[name], _head(name, place, labels)) for name, place in places]
    return {"present": [head for asked, head in heads if asked], "unwanted": [head for asked, head in heads if not asked]}


def definitions(user: Facts, planned: t.Sequence[Facts]) -> list[Facts]:
    """The planned Secrets with their values, which must not be shown."""
    found = []
    for head in planned:
        if head["metadata"]["name"] == token_name(user):
            found.append({**head, "type": "Opaque", "data": {TOKEN_KEY: _encoded(user["llm_d_model_token"])}})
        else:
            found.append({**head, "type": PULL_TYPE, "data": {PULL_KEY: _encoded(_docker_config(user["llm_d_image_pull_credentials"]))}})
    return found


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
