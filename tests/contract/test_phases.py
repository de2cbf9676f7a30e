"""docs/platforms.md gives the duration of each phase of site.yml, and its time limits are the real ones."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.releases.deployed import ENGINE_DEFAULTS
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES

# The role of each row, in the order of site.yml.
PHASES = {
    "your file is checked": "inputs",
    "the local cluster is started": "local_cluster",
    "other runs on the instance wait": "record",
    "prerequisites": "prerequisites",
    "the record is written": "record",
    "GPU operator": "gpu_operator",
    "gateway": "gateway_provider",
    "endpoint pickers": "gaie_scheduler",
    "model servers": "model_service",
    "what the file no longer requests is pruned": "record",
    "validation": "validation",
}


def table(root: Path) -> tuple[str, list[list[str]]]:
    """(the text above the table, its rows)."""
    text = (root / "docs/platforms.md").read_text(encoding="utf-8").split("## How long each phase takes")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return text.split("|", maxsplit=1)[0], [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_phase_of_the_play_is_there_in_its_order(root: Path) -> None:
    _above, rows = table(root)
    (play,) = yaml.safe_load((root / "playbooks/site.yml").read_text(encoding="utf-8"))
    roles = [entry["role"].rsplit(".", maxsplit=1)[1] for entry in play["roles"]]
    assert [next(role for words, role in PHASES.items() if row[0].startswith(words)) for row in rows] == roles


def test_each_phase_has_its_duration_and_time_limit_and_the_sum_is_correct(root: Path) -> None:
    above, rows = table(root)
    took = [int(match.group(1)) if (match := re.fullmatch(r"(\d+) s", row[1])) else 0 for row in rows]
    assert [row[0] for row, seconds in zip(rows, took, strict=True) if not seconds] == ["GPU operator (where the file has one)"]
    assert all(row[2] for row in rows)
    (total,) = re.findall(r"from nothing to the verdict in (\d+) s", " ".join(above.split()))
    assert 0.9 * int(total) <= sum(took) <= int(total)


def test_the_bounds_are_those_that_hold(root: Path) -> None:
    bounds = {next(role for words, role in PHASES.items() if row[0].startswith(words)): row[3] for row in reversed(table(root)[1])}

    def default(role: str) -> str:
        return f"{yaml.safe_load((root / 'roles' / role / 'defaults/main.yml').read_text(encoding='utf-8'))[f'{role}_timeout']} s"

    assert bounds["gpu_operator"] == default("gpu_operator") and default("local_cluster") in bounds["local_cluster"]
    assert bounds["prerequisites"] == f"`llm_d_wait_timeout`, {VARIABLES['llm_d_wait_timeout'].default} s"
    assert bounds["model_service"] == f"`engine.startup_timeout`, {ENGINE_DEFAULTS['vllm']['startup_timeout']} s for vLLM"
    assert {bounds[role] for role in ("gateway_provider", "gaie_scheduler")} == {"`llm_d_wait_timeout`"}
