"""Random changes of each object: the diagnosis names the object, and has no finding once all is restored. Longer runs: tests/benchmarks/random_breaks."""

from __future__ import annotations

import yaml
from plays import ROOT
from random_breaks import Stack as Broken
from stack import Stack

from tools.manifests import user_file


def test_random_breaks_are_named_with_the_object(stack: Stack) -> None:
    own = ROOT / "molecule/diagnosis/inventory/group_vars/all/small.yml"
    broken = Broken({**user_file("local"), **yaml.safe_load(own.read_text(encoding="utf-8"))}, stack.kubeconfig)
    assert broken.alarms() == []
    out = broken.breaks(20, 14)
    assert out.done == 20 and out.named >= 19, out.missed
    assert broken.alarms() == []
