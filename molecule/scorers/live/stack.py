"""The stack of this scenario: one gateway with the model services `sim` and `table`."""

from __future__ import annotations

from live_stack import NAMESPACE, SERIES, Stack, call, until

__all__ = ["MODELS", "NAMESPACE", "SERIES", "Stack", "call", "of_this_scenario", "until"]

MODELS = {"sim": "llm-d/simulated-8b", "table": "llm-d/simulated-table"}


def of_this_scenario() -> Stack:
    """The running stack."""
    return Stack("molecule/scorers/inventory", MODELS, {"table": "/table"})
