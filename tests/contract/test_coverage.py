"""docs/coverage.yml agrees with the repository: every feature is listed once, and every proof exists."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml

Row = dict[str, t.Any]

ROOT = Path(__file__).resolve().parents[2]
FEATURES = {"A": 21, "B": 19, "C": 22, "D": 25, "E": 28, "F": 15, "G": 22}
ROWS: list[Row] = yaml.safe_load((ROOT / "docs/coverage.yml").read_text(encoding="utf-8"))
PROOFS = sorted({proof for row in ROWS for proof in row.get("shown_by", [])})


def trouble(root: Path, proof: str) -> str:
    """Why a proof is invalid; empty if it exists."""
    path, kind, what = re.fullmatch(r"([^:#]+)(?:(::|#)(.+))?", proof).groups()  # type: ignore[union-attr]
    if not (root / path).exists():
        return f"{path} does not exist"
    if not kind:
        return ""
    text = (root / path).read_text(encoding="utf-8")
    if kind == "#":
        return "" if what in text else f"'{what}' does not occur in {path}"
    place = rf"^def {re.escape(what)}\(" if path.endswith(".py") else rf"^ *- name: [\"']?{re.escape(what)}[\"']?$"
    return "" if re.search(place, text, re.MULTILINE) else f"{path} has no test, play or task '{what}'"


def test_every_feature_is_listed_once_and_in_order() -> None:
    assert [row["id"] for row in ROWS] == [f"{area}{number}" for area, count in FEATURES.items() for number in range(1, count + 1)]


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_each_row_has_the_fields_that_its_state_requires(row: Row) -> None:
    assert set(row) <= {"id", "feature", "state", "shown_by", "note", "broken_by"}
    assert row["feature"]
    assert row["state"] in ("open", "partly", "done")
    assert ("shown_by" in row) == (row["state"] != "open")
    assert row.get("shown_by", ["-"]), "an empty list shows nothing"
    assert len(set(row.get("shown_by", []))) == len(row.get("shown_by", []))
    assert row.get("note", "-"), "a note is not empty"
    if row["state"] == "partly":
        assert "note" in row, "say what is missing"
    if row["state"] == "done":
        assert "note" not in row, "a row that is done lacks nothing"


BREAKS = [(row["id"], change) for row in ROWS for change in row.get("broken_by", [])]


@pytest.mark.parametrize(("row", "change"), BREAKS, ids=[f"{row} {index}" for index, (row, _change) in enumerate(BREAKS)])
def test_the_text_that_a_break_replaces_occurs_once_in_its_file(row: str, change: dict[str, str]) -> None:
    """tests/run-breaks makes each break, which has to fail the tests of its row."""
    assert set(change) == {"file", "from", "to"} and change["from"] != change["to"], row
    assert (ROOT / change["file"]).read_text(encoding="utf-8").count(change["from"]) == 1, f"{row}: {change['file']} does not contain it exactly once"


@pytest.mark.parametrize("proof", PROOFS)
def test_every_proof_is_there(proof: str) -> None:
    assert not trouble(ROOT, proof)


@pytest.mark.parametrize(
    ("proof", "why"),
    [
        ("tests/nothing.py", "does not exist"),
        ("tests/contract/test_coverage.py::test_every", "has no test"),
        ("playbooks/site.yml::Sit", "has no test, play or task"),
        ("galaxy.yml#no such words", "does not occur"),
    ],
)
def test_a_missing_proof_is_reported(proof: str, why: str) -> None:
    assert why in trouble(ROOT, proof)
