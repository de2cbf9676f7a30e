# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of modules that ask a model server: who asks, whom to trust, and by which cluster it is found."""

from __future__ import annotations


class ModuleDocFragment:
    """extends_documentation_fragment: llm_d.inference.server"""

    DOCUMENTATION = r"""
options:
  host_header:
    description: Host name to ask for, where a gateway routes by host name.
    type: str
  api_key:
    description: Key that the server asks for. It is never shown.
    type: str
  validate_certs:
    description: Whether the server's certificate must be trusted.
    type: bool
    default: true
  ca_path:
    description: PEM file with the certificates of the authorities to trust.
    type: path
  client_cert:
    description: PEM file with the certificate to show to the server, and with its key unless O(client_key) holds that.
    type: path
  client_key:
    description: PEM file with the key of O(client_cert), without a password.
    type: path
  kubeconfig:
    description:
      - Kubeconfig for everything that is reached through the API server.
      - All other settings of the connection come from the C(K8S_AUTH_*) variables of the environment, as for C(kubernetes.core).
    type: path
  context:
    description: Context in the kubeconfig.
    type: str
"""
