# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the API server from a pod, by the account of the pod. It needs neither the Kubernetes client nor Ansible: programs of ours run without them."""

from __future__ import annotations

import json
import os
import ssl
import urllib.parse
import urllib.request
from pathlib import Path

from ..common.objects import Facts
from ..http.errors import ExchangeError
from ..http.exchange import exchange
from ..http.urls import AGENT
from .errors import ClusterError, UnreachableError, not_an_api_server, refusal

TIMEOUT = 30.0  # seconds of a whole response


class InCluster:
    """The part of k8s.client.Cluster that reads. `folder` holds `token` and `ca.crt`, as the kubelet mounts them.

    Raises ClusterError, as the methods do, where this is no pod.
    """

    def __init__(self, folder: str) -> None:
        self._token = Path(folder) / "token"
        try:
            host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
            context = ssl.create_default_context(cafile=str(Path(folder) / "ca.crt"))
        except (KeyError, OSError, ssl.SSLError) as error:
            raise ClusterError(
                f"this is no pod with a service account in {folder} ({error!r}): run it in a pod that mounts the token of its account"
            ) from error
        self.server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))

    def get(self, path: str, query: Facts | None = None) -> Facts:
        """GET one object or list."""
        what = f"GET {path}"
        url = self.server + path + ("?" + urllib.parse.urlencode(query) if query else "")
        # read for each request, since the kubelet renews it
        headers = {"Authorization": f"Bearer {self._token.read_text(encoding='utf-8').strip()}", "Accept": "application/json", "User-Agent": AGENT}
        try:
            answer = exchange(what, self._opener, urllib.request.Request(url, headers=headers), TIMEOUT)
        except ExchangeError as error:
            raise UnreachableError(f"the Kubernetes API server {self.server}: {error}: {error.remedy}") from error
        if answer.status != 200:
            raise refusal(answer.status, answer.body, self.server, what)
        try:
            decoded = json.loads(answer.body)
        except ValueError:
            decoded = None
        if not isinstance(decoded, dict):
            raise not_an_api_server(self.server, answer.body)
        return decoded

    def find(self, path: str, query: Facts | None = None) -> Facts | None:
        """GET one object or list; None when it does not exist."""
        try:
            return self.get(path, query)
        except ClusterError as error:
            if getattr(error, "status", 0) == 404:
                return None
            raise
