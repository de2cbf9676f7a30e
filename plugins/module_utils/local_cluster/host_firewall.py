# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""iptables rules that let pods on a bridge reach each other and their host. Pure.

Docker makes iptables drop forwarded packets, ufw incoming ones. Packets between pods of one bridge pass iptables too, as kube-proxy requires.
"""

from __future__ import annotations


def rules(bridge: str) -> dict[str, list[str]]:
    """{chain: rule}. The rules do not accept packets from other interfaces."""
    return {"FORWARD": ["-i", bridge, "-o", bridge, "-j", "ACCEPT"], "INPUT": ["-i", bridge, "-j", "ACCEPT"]}


def lacking(listed: str, chain: str, rule: list[str]) -> bool:
    """Whether a chain may drop packets and lacks the rule. listed: the output of `iptables -S CHAIN`, empty without iptables."""
    lines = listed.split("\n")
    return not set(filter(None, lines)) <= {f"-P {chain} ACCEPT"} and not present(listed, chain, rule)


def present(listed: str, chain: str, rule: list[str]) -> bool:
    """Whether the chain has the rule. listed: as for lacking."""
    return " ".join(["-A", chain, *rule]) in listed.split("\n")
