"""tests/run-rest: which tiers are due, which fit into the time, and what is noted of those that passed; tests/tiers.yml names what there is."""

from __future__ import annotations

import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml

TABLE = {
    "shared": ["site/**"],
    "tiers": {
        "long": {"command": "echo ran long", "minutes": 50, "paths": ["roles/a/**", "README.md"]},
        "bad": {"command": "echo ran bad; false; echo 'not' here", "minutes": 1, "paths": ["roles/b/*.yml"]},
        "own": {"command": "echo ran own", "minutes": 1, "paths": ["roles/c/**"], "shared": False},
    },
}


class Checkout:
    """A repository with the script and a table of its own."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        (folder / "tests").mkdir()
        for name in ("run-rest", "what-failed"):
            shutil.copy(root / "tests" / name, folder / "tests")
        self.write("tests/tiers.yml", yaml.safe_dump(TABLE, sort_keys=False))
        self.write("tests/green.yml", "---\n# What passed.\n")
        self.git("init", "--quiet")
        self.commit()

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
        return subprocess.run(["git", "-C", self.folder, *identity, *arguments], check=True, capture_output=True, text=True).stdout.strip()

    def write(self, path: str, text: str = "x\n") -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "x")
        return self.git("rev-parse", "HEAD")

    def passed(self, **commits: str) -> str:
        """A commit that notes at which commits tiers passed."""
        self.write("tests/green.yml", "---\n# What passed.\n" + yaml.safe_dump(commits))
        return self.commit()

    def run(self, *arguments: str) -> tuple[int, str, list[str]]:
        """(exit status, output, the lines of the summary)."""
        done = subprocess.run([sys.executable, self.folder / "tests/run-rest", *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr, done.stdout.rpartition("(tests/tiers.yml)\n")[2].splitlines()


@pytest.fixture(name="checkout")
def make_checkout(root: Path, tmp_path: Path) -> Checkout:
    return Checkout(root, tmp_path)


def names(summary: list[str], word: str) -> list[str]:
    return [line.split(word)[1].split(":")[0].strip() for line in summary if line.startswith(word)]


def test_all_run_in_order_and_one_that_fails_does_not_stop_the_next(checkout: Checkout) -> None:
    code, said, summary = checkout.run()
    assert code == 1 and said.index("ran long") < said.index("ran bad") < said.index("ran own") and "not here" not in said, said
    assert names(summary, "passed") == ["long", "own"] and names(summary, "FAILED") == ["bad"] and "What failed" in said


def test_without_a_commit_that_passed_a_tier_is_due(checkout: Checkout) -> None:
    here = checkout.git("rev-parse", "HEAD")
    checkout.passed(long=here, bad="0123456789012345678901234567890123456789")
    _code, said, summary = checkout.run("--due")
    assert names(summary, "not due") == ["long"] and names(summary, "FAILED") == ["bad"] and names(summary, "passed") == ["own"], said
    assert "0123456789, at which it passed, is not in this clone" in said and "has no commit at which it passed" in said


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("roles/a/tasks/main.yml", ["long"]),
        ("README.md", ["long"]),
        ("roles/b/x.yml", ["bad"]),
        ("roles/b/tasks/x.yml", []),
        ("site/x", ["long", "bad"]),
        ("roles/c/x", ["own"]),
        ("roles/d/x", []),
    ],
)
@pytest.mark.parametrize("committed", [True, False])
def test_a_tier_is_due_when_what_it_tests_has_changed(checkout: Checkout, path: str, expected: list[str], committed: bool) -> None:
    here = checkout.git("rev-parse", "HEAD")
    checkout.passed(long=here, bad=here, own=here)
    checkout.write(path)
    if committed:
        checkout.commit()
    _code, said, summary = checkout.run("--due")
    assert sorted(names(summary, "passed") + names(summary, "FAILED")) == sorted(expected), said
    assert all(f"1 of its paths changed since {here[:10]}, such as {path}" in said for _name in expected)


def test_what_does_not_fit_is_named_and_the_next_tried(checkout: Checkout) -> None:
    code, said, summary = checkout.run("--minutes", "60")
    assert code == 1 and "ran long" not in said and "ran own" in said
    assert [line for line in summary if line.startswith("NOT RUN")] == [
        "NOT RUN  long: asked for; it takes 50 minutes, and 60 are left: tests/run-rest long"
    ], "a busy host takes longer than the table says"
    assert checkout.run("--minutes", "66", "long")[0] == 0
    assert checkout.run("--minutes", "0", "long")[0] == 0, "nothing was found wrong"


@pytest.mark.parametrize(("expected", "status"), [(0.03, 0), (0.0001, 1)])
def test_one_that_does_not_end_in_time_is_interrupted_and_cleans_up(checkout: Checkout, expected: float, status: int) -> None:
    """It is a failure only if it took much longer than it takes."""
    table = {"shared": [], "tiers": {"slow": {"command": "trap 'echo cleaned up' EXIT; sleep 60 & wait", "minutes": expected, "paths": ["x"]}}}
    checkout.write("tests/tiers.yml", yaml.safe_dump(table))
    code, said, summary = checkout.run("--minutes", "0.05")
    assert code == status and names(summary, "CUT OFF") == ["slow"] and "cleaned up" in said, said
    assert "slow" not in (checkout.folder / "tests/green.yml").read_text(encoding="utf-8")


def test_what_passed_is_noted_with_the_commit_that_it_passed_at(checkout: Checkout) -> None:
    first = checkout.git("rev-parse", "HEAD")
    checkout.run("own", "bad")
    file = checkout.folder / "tests/green.yml"
    assert file.read_text(encoding="utf-8") == f"---\n# What passed.\nown: {first}\n"
    checkout.run("long")
    assert yaml.safe_load(file.read_text(encoding="utf-8")) == {"long": first, "own": first}, "the note itself is no change"
    checkout.commit()
    checkout.write("README.md")
    checkout.run("long")
    assert yaml.safe_load(file.read_text(encoding="utf-8"))["long"] == first, "what is not committed has no name"


def test_a_tier_that_is_not_there_is_told(checkout: Checkout) -> None:
    code, said, _summary = checkout.run("lang")
    assert code == 2 and "no such tier: lang; there are long, bad, own" in said


def table(root: Path) -> dict[str, t.Any]:
    return yaml.safe_load((root / "tests/tiers.yml").read_text(encoding="utf-8"))


def test_every_path_of_the_table_is_there(root: Path) -> None:
    known = table(root)
    paths = {*known["shared"], *(path for tier in known["tiers"].values() for path in tier["paths"])}
    missing = [
        path for path in sorted(paths) if not subprocess.run(["git", "-C", root, "ls-files", "--", f":(glob){path}"], check=True, capture_output=True).stdout
    ]
    assert missing == []


def test_every_scenario_runs_somewhere(root: Path) -> None:
    commands = "\n".join([(root / "tests/run-all").read_text(encoding="utf-8"), *(tier["command"] for tier in table(root)["tiers"].values())])
    scenarios = {file.parent.name for file in root.glob("molecule/*/molecule.yml")}
    assert {name for name in scenarios if f" {name}" not in commands} == set()
