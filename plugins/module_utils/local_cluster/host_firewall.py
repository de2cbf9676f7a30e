# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host's own firewall must let through for pods on a bridge. Pure: `iptables -S` in, rules out.

Docker has iptables drop whatever is forwarded, ufw what comes in. Packets between pods of one bridge pass iptables too, as kube-proxy needs them to.
"""

from __future__ import annotations


def rules(bridge: str) -> dict[str, list[str]]:
    """By chain, what lets pods reach each other and this host; nothing that comes from elsewhere."""
    return {"FORWARD": ["-i", bridge, "-o", bridge, "-j", "ACCEPT"], "INPUT": ["-i", bridge, "-j", "ACCEPT"]}


def lacking(listed: str, chain: str, rule: list[str]) -> bool:
    """Whether a chain may drop packets and does not have the rule. `listed`: what `iptables -S CHAIN` says; nothing where there is no iptables."""
    lines = listed.split("\n")
    return not set(filter(None, lines)) <= {f"-P {chain} ACCEPT"} and not present(listed, chain, rule)


def present(listed: str, chain: str, rule: list[str]) -> bool:
    """Whether the rule is there."""
    return " ".join(["-A", chain, *rule]) in listed.split("\n")
