# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The URL that a measurement sends to: the user's, or the address of a Gateway or Service of the cluster."""

from __future__ import annotations

import collections.abc as c
import types
import typing as t

from ..inference.endpoints import wait_for_gateway, wait_for_service


def connect(params: c.Mapping[str, t.Any]) -> t.Any:
    """A client of the API server. Raises ClusterError."""
    # imported here: the kubernetes library takes half a second to load, and a URL does not need it
    from ..k8s import client

    return client.connect(types.SimpleNamespace(params={name: params.get(name) for name in ("kubeconfig", "context")}))


def address(params: c.Mapping[str, t.Any], cluster: t.Callable[[], t.Any]) -> str:
    """The URL. `cluster` returns a client of the API server, and is called only for a Gateway or Service. Raises ValueError and ClusterError."""
    path: str = params["path"]
    if params["url"]:
        return f"{params['url']}{path}"
    if params["service"]:
        wanted = params["service"]
        url = wait_for_service(cluster(), wanted, params["wait"])
        if not url:
            raise ValueError(f"Service {wanted['namespace']}/{wanted['name']} does not exist or has no address: correct service, or give its address in url")
        return f"{url}{path}"
    gateway = wait_for_gateway(cluster(), params["gateway"], params["wait"])
    if not gateway["url"]:
        raise ValueError(f"Gateway {gateway['name']} has no address to send to: {gateway['message']}; bring it up first (playbooks/site.yml)")
    return f"{gateway['url']}{path}"
