# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of modules that go to each server of model services, besides the option services itself, whose elements differ."""

from __future__ import annotations


class ModuleDocFragment:
    """Such modules also need llm_d.inference.server."""

    DOCUMENTATION = r"""
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1, for all but O(services[].urls)
options:
  through:
    description:
      - How to reach O(services[].replicas).
      - V(proxy) is the API server's HTTP proxy, which does not pass on O(api_key) and O(host_header) and verifies no certificate.
      - V(port_forward) forwards a port of the Pod for each request. It requires permission to C(get) and C(create) C(pods/portforward).
    type: str
    choices: [proxy, port_forward]
    default: proxy
  use_proxy:
    description: Whether to use the proxies of the environment for O(services[].urls).
    type: bool
    default: true
"""
