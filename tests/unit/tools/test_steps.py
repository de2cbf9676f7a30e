"""The runner of `make test` and `make nightly`: a failed step is named in the table and in the report, and fails the run."""

from __future__ import annotations

import json
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import steps
import yaml
from steps import Step

HANGING = """
import pathlib, time
def stands_here():
    pathlib.Path({marker!r}).touch()
    time.sleep(600)
stands_here()
"""


GATE, NIGHTLY = runpy.run_path(str(steps.ROOT / "tests/gate")), runpy.run_path(str(steps.ROOT / "tests/nightly"))


def test_the_first_failure_ends_the_gate_but_for_what_always_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    listed = [Step("good", "echo it is well"), Step("bad, one", "echo 'FAILED: no server'; exit 3"), Step("later", "true"), Step("host", "true", always=True)]
    assert GATE["run"](listed, tmp_path) == 1
    report = json.loads((tmp_path / "gate.json").read_text(encoding="utf-8"))
    assert [(each["name"], each["state"]) for each in report["steps"]] == [("good", "ok"), ("bad, one", "FAILED"), ("later", "not run"), ("host", "ok")]
    bad = report["steps"][1]
    assert not report["ok"] and bad["line"] == "FAILED: no server" and len(report["commit"]) == 40
    assert (steps.ROOT / bad["log"]).read_text(encoding="utf-8") == "FAILED: no server\n"
    shown = capfd.readouterr().out
    assert "make test: RED" in shown and f"FAILED: no server\n          whole log: {bad['log']}\n" in shown and "it is well\n" in shown


def test_the_virtual_environment_comes_first_in_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment comes first even with a shim, which puts the commands of its own Python before them."""
    monkeypatch.setenv("PATH", f"/somewhere/versions/3.11/bin:{steps.ROOT}/.venv/bin:/usr/bin:/bin")
    steps.run(Step("path", "echo $PATH"), tmp_path / "log")
    assert (tmp_path / "log").read_text(encoding="utf-8").startswith(f"{steps.ROOT}/.venv/bin:/somewhere")


def test_a_step_that_reopens_its_output_overwrites_nothing_in_the_log(tmp_path: Path) -> None:
    steps.run(Step("twice", "echo first; echo second >>/proc/$$/fd/1; echo third"), tmp_path / "log")
    steps.run(Step("twice", "echo first; echo second >>/proc/$$/fd/1; echo third"), tmp_path / "log")
    assert (tmp_path / "log").read_text(encoding="utf-8") == "first\nsecond\nthird\n"


def test_a_gate_without_failure_is_green(tmp_path: Path) -> None:
    assert GATE["run"]([Step("good", "true")], tmp_path) == 0
    assert json.loads((tmp_path / "gate.json").read_text(encoding="utf-8"))["ok"] is True


def test_a_commit_that_was_changed_meanwhile_is_no_tested_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for before, after, dirty in ((("a", False), ("a", False), False), (("a", False), ("b", False), True), (("a", True), ("a", False), True)):
        monkeypatch.setattr(steps, "checkout", lambda after=after: after)
        steps.conclude("make test", tmp_path / "gate.json", [steps.Outcome("good", "ok")], before)
        report = json.loads((tmp_path / "gate.json").read_text(encoding="utf-8"))
        assert (report["commit"], report["dirty"]) == ("a", dirty)


def test_a_step_that_hangs_is_ended_with_its_stacks(tmp_path: Path) -> None:
    """The clock passes the limit once the step hangs."""
    (tmp_path / "hangs.py").write_text(HANGING.format(marker=str(tmp_path / "there")), encoding="utf-8")
    step = Step("hangs", f"{sys.executable} {tmp_path}/hangs.py; echo not reached", minutes=1)
    outcome = steps.run(step, tmp_path / "log", now=lambda: 61.0 if (tmp_path / "there").exists() else 0.0)
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert outcome.state == "HUNG" and "1 minutes" in outcome.line
    assert "stands_here" in log and "not reached" not in log


def test_ctrl_c_stops_the_gate_after_its_step_has_cleaned_up(tmp_path: Path) -> None:
    """Steps that always run, run then too."""
    program = f"""
import pathlib, runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts tests in the background makes them ignore it
sys.path.insert(0, {str(steps.ROOT / "tests")!r})
from steps import Step
long = "trap 'echo cleaned up; exit 130' INT; echo begun; while :; do sleep 0.1; done"
listed = [Step("long", long), Step("later", "true"), Step("host", "true", always=True)]
sys.exit(runpy.run_path({str(steps.ROOT / "tests/gate")!r})["run"](listed, pathlib.Path({str(tmp_path)!r})))
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert any(line == "begun\n" for line in process.stdout)
    process.send_signal(signal.SIGINT)
    shown = process.stdout.read()
    assert process.wait() == 1 and "cleaned up\n" in shown
    assert [each["state"] for each in json.loads((tmp_path / "gate.json").read_text(encoding="utf-8"))["steps"]] == ["stopped", "not run", "ok"]


def test_the_nightly_run_goes_on_after_failures_and_retries_each_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    listed = {
        "flaky": {"command": f"[ -e {tmp_path}/second ] || {{ touch {tmp_path}/second; exit 1; }}", "minutes": 1},
        "broken": {"command": "echo no; exit 1", "minutes": 1, "known": "upstream's defect"},
        "good": {"command": "true", "minutes": 1},
        "left": {"command": "touch /nowhere/at-all", "minutes": 1},
    }
    assert NIGHTLY["run"](listed, ["good", "broken", "flaky"], tmp_path) == 1
    states = {each["name"]: each for each in json.loads((tmp_path / "nightly.json").read_text(encoding="utf-8"))["steps"]}
    assert {name: each["state"] for name, each in states.items()} == {"flaky": "flaky", "broken": "broken", "good": "ok"}
    assert "known: upstream's defect" in states["broken"]["line"] and len(states["broken"]["log"].split(", ")) == 2
    assert NIGHTLY["run"](listed, ["god"], tmp_path) == 2 and "has no god; it has flaky, broken" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (
            "E   assert 1\nFAILED tests/unit/test_x.py::test_it - assert 1 == 2\n1 failed in 2 s\nmake: *** [unit] Error 1",
            "FAILED tests/unit/test_x.py::test_it - assert 1 == 2",
        ),
        (
            "  \x1b[2m│\x1b[0m TASK [Apply]\n  \x1b[2m│\x1b[0m [ERROR]: Task failed: the\n  \x1b[2m│\x1b[0m   pool of sim\n  \x1b[2m│\x1b[0m Origin: x.yml:2:3",
            "[ERROR]: Task failed: the pool of sim",
        ),
        ("[ERROR]: Task failed: the pool of sim\nOrigin: x.yml:2:3\n\n1 ---\n", "[ERROR]: Task failed: the pool of sim"),
        ("ok\nplugins/x.py:3: error: no such name\nmake: *** [lint] Error 1", "plugins/x.py:3: error: no such name"),
        ("F401 `os` imported but unused\n  --> plugins/x.py:1:8\n", "F401 `os` imported but unused --> plugins/x.py:1:8"),
        ("ERROR: plugins/x.py:1:1: bad\nERROR: The 1 sanity test(s) listed failed", "ERROR: plugins/x.py:1:1: bad"),
        (
            "Traceback:\n  x\nAssertionError: a stamp before the first\n==1== fuzz target exited\nstat::peak_rss_mb: 43\n",
            "AssertionError: a stamp before the first",
        ),
        ("something\nno word of an error\n", "no word of an error"),
        ("", "no output"),
    ],
)
def test_the_line_that_states_the_failure_is_extracted_from_the_log(log: str, line: str) -> None:
    assert steps.telling_line(log) == line


def test_the_gate_runs_every_phase_of_the_default_molecule_scenario() -> None:
    """The scenario `default` of molecule: a real stack, a second run that changes nothing, its verdict, its removal."""
    commands = [command.split() for each in GATE["STEPS"] for command in each.command.split(" && ")]
    done = [words[1] for words in commands if words[0] == "molecule"]
    assert done == ["reset", "prepare", "check", "converge", "idempotence", "verify", "cleanup", "reset"]


def test_gate_and_nightly_steps_name_existing_scripts_and_scenarios(root: Path) -> None:
    """Scripts of this checkout and scenarios of molecule exist, and each scenario is in one of the lists."""
    listed = yaml.safe_load((root / "tests/nightly.yml").read_text(encoding="utf-8"))
    commands = [each.command for each in GATE["STEPS"]] + [entry["command"] for entry in listed.values()]
    words = [word.strip("'\"") for command in commands for word in command.split()]
    assert [word for word in words if word.startswith(("tests/", "molecule/")) and not (root / word).exists()] == []
    scenarios = {file.parent.name for file in root.glob("molecule/*/molecule.yml")} - {"default"}
    assert scenarios == {command.split()[1] for command in commands if command.startswith("tests/run-molecule ")}
