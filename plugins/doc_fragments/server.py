# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of modules that send requests to a model server: API key, TLS, and the cluster it runs in."""

from __future__ import annotations


class ModuleDocFragment:
    """extends_documentation_fragment: llm_d.inference.server"""

    DOCUMENTATION = r"""
options:
  host_header:
    description: Host header of requests, where a gateway routes by host name.
    type: str
  api_key:
    description: API key of the server. It is never shown.
    type: str
  validate_certs:
    description: Whether the server's certificate must be trusted.
    type: bool
    default: true
  ca_path:
    description: PEM file with the certificates of the authorities to trust.
    type: path
  client_cert:
    description: PEM file with the client certificate, and with its key unless O(client_key) is set.
    type: path
  client_key:
    description: PEM file with the key of O(client_cert), without a password.
    type: path
  kubeconfig:
    description:
      - Kubeconfig of the cluster.
      - All other settings of the connection come from the C(K8S_AUTH_*) environment variables, as for C(kubernetes.core).
    type: path
  context:
    description: Context in the kubeconfig.
    type: str
"""
