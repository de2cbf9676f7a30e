# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The private APIs of kubernetes.core and of the Kubernetes client library that this collection uses. No other module imports one.

kubernetes.core does not publish how its connection options become a configuration, and the library publishes no WebSocket but for whole exec sessions.
A release of either may rename these. tests/contract/test_private_apis.py compares the installed versions with TRIED.
"""

from __future__ import annotations

import typing as t

from ansible_collections.kubernetes.core.plugins.module_utils.k8s.client import (
    _create_auth_spec,
    _create_configuration,
    _create_headers,
)

# Versions that the tests of connections passed with; plugins/plugin_utils/compat.py has those of ansible-core.
TRIED = {
    "kubernetes.core": ("6.2.0", "6.4.0", "6.6.0"),
    "kubernetes": ("24.2.0", "37.0.2"),
}


def connection_options(module: t.Any) -> dict[str, t.Any]:
    """The connection options of a module's parameters, completed from K8S_AUTH_*."""
    options: dict[str, t.Any] = _create_auth_spec(module)
    return options


def configuration(options: dict[str, t.Any]) -> t.Any:
    """A kubernetes.client.Configuration from connection options. Reads the kubeconfig; raises whatever the library raises."""
    # Imported here, since the library may be missing.
    from kubernetes.client import Configuration

    # A kubeconfig that was loaded before is the default of the process: its server and its token would take the place of those in the options.
    Configuration.set_default(None)
    return _create_configuration(options)


def impersonation_headers(module: t.Any) -> dict[str, t.Any]:
    """The Impersonate-* headers that a module's parameters request; a value is a text or a list of texts."""
    headers: dict[str, t.Any] = _create_headers(module)
    return headers


def open_websocket(settings: t.Any, url: str, headers: dict[str, str]) -> t.Any:
    """An open WebSocket of websocket-client, with the TLS settings and proxy of a Configuration. Raises whatever the library raises."""
    # Imported here: few modules need it, and it imports a WebSocket library.
    from kubernetes.stream import ws_client

    return ws_client.create_websocket(settings, url, headers)
