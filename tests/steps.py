"""Runs the steps of `make test` and `make nightly` in order: a log of each, and at the end a table, also as JSON.

Nothing but the standard library: the first step installs the rest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Several times the duration of a step on a slow machine, and still, with all other steps, less than the 90 minutes after which CI ends a run.
MINUTES = 30.0
# The time that an interrupted step has to clean up, and an aborted one to write its stacks.
INTERRUPT_SECONDS, ABORT_SECONDS = 120.0, 10.0
WIDTH = 240
# Lines that name a failure, the most specific kind first; the first line of the first kind in a log is shown.
TELLING = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:FAILED|ERROR) \S+\.py\b.*",  # pytest's summary
        r"^\[ERROR\]: .*(?:\n(?!Origin:|\n).*){0,5}",  # Ansible, which wraps the output of molecule, and names the object on the next lines
        r"^CRITICAL .*(?:\n.*){1,3}",  # molecule, which names the tasks on the lines after
        r"^(?:FAILED|ERROR|fatal): .*",  # our own scripts, ansible-test
        r"^[A-Z]{1,4}\d{2,4} .*\n *--> .*",  # ruff
        r"^\S+:\d+(?::\d+)?: .*",  # mypy, ansible-lint
        r"^\S+\.ya?ml\n +\d+:\d+ .*",  # yamllint
        r"^[A-Za-z][\w.]*(?:Error|Exception): .*",  # Python, outside of tests
        r"^make(?:\[\d\])?: \*\*\* .*",
        r".*\S.*\Z",  # the last line
    )
)
COLOUR, FRAME = re.compile(r"\x1b\[[0-9;]*m"), re.compile(r"^ *│ ?", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Step:
    """One entry of a list. minutes: its time limit; always: it runs after a failure too; live: when it fails, the cluster is described."""

    name: str
    command: str
    minutes: float = MINUTES
    always: bool = False
    live: bool = False


@dataclasses.dataclass
class Outcome:
    """The result of a step. state: ok, FAILED, HUNG, stopped, flaky, broken or not run; line: the line that says why; log: the path of its whole output."""

    name: str
    state: str = "not run"
    seconds: float = 0.0
    line: str = ""
    log: str = ""

    @property
    def ok(self) -> bool:
        return self.state == "ok"


def run(step: Step, log: Path, now: t.Callable[[], float] = time.monotonic) -> Outcome:
    """Run one step; its output is shown and kept in `log`. now: the clock of its limit, in seconds."""
    log.parent.mkdir(parents=True, exist_ok=True)
    print(f"\n== {step.name} ({time.strftime('%H:%M:%S')}): {step.command}", flush=True)
    begin, state, line = now(), "ok", ""
    with fresh(log) as kept, log.open("rb") as written:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", step.command],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            # A file and no pipe: processes that the step leaves running would hold a pipe open.
            stdout=kept,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            if not follow(process, written, begin + step.minutes * 60, now):
                state, line = "HUNG", f"not done after {step.minutes:g} minutes; the stacks of its processes are in the log"
        except KeyboardInterrupt:
            state, line = "stopped", "by Ctrl-C"
            os.killpg(process.pid, signal.SIGINT)
            follow(process, written, now() + INTERRUPT_SECONDS, now)
        if process.poll() is None:
            abort(process)
        show(written)
        if process.returncode and state == "ok":
            state, line = "FAILED", telling_line(log.read_text(encoding="utf-8", errors="replace"))
        if step.live and state in ("FAILED", "HUNG"):
            subprocess.run([ROOT / "tests/describe-cluster"], stdout=kept, stderr=subprocess.STDOUT, check=False)
            show(written)
    return Outcome(step.name, state, round(now() - begin, 1), line, os.path.relpath(log, ROOT))


def fresh(log: Path) -> t.BinaryIO:
    """An empty log, opened for appending: a program of a step may open its standard output by another name."""
    log.write_bytes(b"")
    return log.open("ab")


def environment() -> dict[str, str]:
    """The environment of each step. The commands of the virtual environment come first, also before those of a shim (pyenv)."""
    # Python prints the stacks of all its threads when it is aborted.
    return {**os.environ, "PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}", "PYTHONFAULTHANDLER": "1"}


def show(written: t.BinaryIO) -> None:
    """Print the output since the last call."""
    sys.stdout.buffer.write(written.read())
    sys.stdout.buffer.flush()


def follow(process: subprocess.Popen[bytes], written: t.BinaryIO, end: float, now: t.Callable[[], float]) -> bool:
    """Show the output of a process until it ends. False if it has not ended when the clock reads `end`."""
    while process.poll() is None:
        show(written)
        if now() > end:
            return False
        time.sleep(0.1)
    return True


def abort(process: subprocess.Popen[bytes]) -> None:
    """End a process and its descendants, after those that are Python have printed their stacks."""
    pids = [process.pid, *descendants(process.pid)]
    aborted = [pid for pid in pids if program(pid).startswith("python")]
    for pid in aborted:
        send(pid, signal.SIGABRT)
    end = time.monotonic() + ABORT_SECONDS
    while time.monotonic() < end and any(program(pid) for pid in aborted):
        time.sleep(0.1)
    for pid in pids:
        send(pid, signal.SIGKILL)
    process.wait()


def send(pid: int, number: int) -> None:
    """Send a signal to a process, if it still exists."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def program(pid: int) -> str:
    """The name of the file that a process runs; empty if it has ended."""
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def descendants(pid: int) -> list[int]:
    """All processes that a process has started, directly or not, if their parents still run."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name stands in brackets, and may hold anything.
            children.setdefault(int(entry.read_text(errors="replace").rpartition(")")[2].split()[1]), []).append(int(entry.parent.name))
    pids = list(children.get(pid, []))
    for each in pids:
        pids += children.get(each, [])
    return pids


def telling_line(log: str) -> str:
    """The part of a failed step's log that names the failure best, on one line, without colours and molecule's frame."""
    plain = FRAME.sub("", COLOUR.sub("", log)).rstrip()
    first = next((match for each in TELLING if (match := each.search(plain))), None)
    return " ".join(first.group().split())[:WIDTH] if first else "no output"


def table(title: str, outcomes: t.Sequence[Outcome]) -> str:
    """All steps, a line each; for those that failed, also the reason and the path of the log."""
    width = max(len(each.name) for each in outcomes)
    lines = [f"\n== {title}"]
    for each in outcomes:
        lines.append(f"{each.name:{width}}  {each.state:7}  {clock(each.seconds) if each.log else ''}".rstrip())
        if each.line:
            lines.append(f"{'':{width}}  {each.line}\n{'':{width}}  whole log: {each.log}")
    return "\n".join(lines)


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds) // 60:3d}:{int(seconds) % 60:02d}"


def git(*arguments: str) -> str:
    """The output of git in the checkout; empty outside a checkout."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def checkout() -> tuple[str, bool]:
    """(the commit that is checked out, whether the work tree differs from it)."""
    return git("rev-parse", "HEAD"), bool(git("status", "--porcelain"))


def conclude(title: str, file: Path, outcomes: t.Sequence[Outcome], begun: tuple[str, bool]) -> int:
    """Print the table, write it to `file` as JSON ({commit, dirty, ok, seconds, steps}), return the exit status.

    begun: the checkout before the first step. If it has changed since, no commit was tested: it counts as dirty.
    """
    commit, dirty = begun[0], begun[1] or checkout() != begun
    ok, seconds = all(each.ok for each in outcomes), sum(each.seconds for each in outcomes)
    at = f"{commit[:10]}{' with changes' if dirty else ''}"
    print(table(f"{title}: {'green' if ok else 'RED'} after{clock(seconds)} at {at}", outcomes), flush=True)
    file.parent.mkdir(exist_ok=True)
    report = {"commit": commit, "dirty": dirty, "ok": ok, "seconds": round(seconds), "steps": [dataclasses.asdict(each) for each in outcomes]}
    file.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0 if ok else 1
