"""The steps of `make test` and `make nightly`, one after the other: a log of each, and at the end a table and the same as JSON.

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
# Several times what a step takes on a slow machine, and yet, with all other steps, less than the 90 minutes after which CI ends a run.
MINUTES = 30.0
# For what is interrupted to clean up, and for what is aborted to write its stacks.
INTERRUPT_SECONDS, ABORT_SECONDS = 120.0, 10.0
WIDTH = 240
# Lines that name a failure, the most telling kind first; of the first kind that a log has, the first line is shown.
TELLING = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:FAILED|ERROR) \S+\.py\b.*",  # pytest's summary
        r"^\[ERROR\]: .*(?:\n(?!Origin:|\n).*){0,5}",  # Ansible, which wraps what molecule runs, and says on the next lines which object it is
        r"^CRITICAL .*(?:\n.*){1,3}",  # molecule, which names the tasks on the lines after
        r"^(?:FAILED|ERROR|fatal): .*",  # our own scripts, ansible-test
        r"^[A-Z]{1,4}\d{2,4} .*\n *--> .*",  # ruff
        r"^\S+:\d+(?::\d+)?: .*",  # mypy, ansible-lint
        r"^\S+\.ya?ml\n +\d+:\d+ .*",  # yamllint
        r"^[A-Za-z][\w.]*(?:Error|Exception): .*",  # Python, of what is no test
        r"^make(?:\[\d\])?: \*\*\* .*",
        r".*\S.*\Z",  # the last line
    )
)
COLOUR, FRAME = re.compile(r"\x1b\[[0-9;]*m"), re.compile(r"^ *│ ?", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Step:
    """One entry of a list. minutes: after these it is ended as hanging; always: it runs after a failure too; live: when it fails, the cluster is described."""

    name: str
    command: str
    minutes: float = MINUTES
    always: bool = False
    live: bool = False


@dataclasses.dataclass
class Outcome:
    """What became of a step. state: ok, FAILED, HUNG, stopped, flaky, broken or not run; line: the one that says why; log: where its whole output lies."""

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
            # A file and no pipe, which whatever the step leaves running would hold open.
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
    """An empty log, to which everybody appends who has it open: what a step runs may open its standard output by another name."""
    log.write_bytes(b"")
    return log.open("ab")


def environment() -> dict[str, str]:
    """Of each step. The commands of the virtual environment come first, also where a shim (pyenv) has put those of its Python before them."""
    # Python prints the stacks of all its threads when it is aborted.
    return {**os.environ, "PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}", "PYTHONFAULTHANDLER": "1"}


def show(written: t.BinaryIO) -> None:
    """Print what has been written since the last look."""
    sys.stdout.buffer.write(written.read())
    sys.stdout.buffer.flush()


def follow(process: subprocess.Popen[bytes], written: t.BinaryIO, end: float, now: t.Callable[[], float]) -> bool:
    """Show what a process writes until it ends; whether it did before the clock says `end`."""
    while process.poll() is None:
        show(written)
        if now() > end:
            return False
        time.sleep(0.1)
    return True


def abort(process: subprocess.Popen[bytes]) -> None:
    """End a process and its descendants, after those that are Python have printed their stacks."""
    found = [process.pid, *descendants(process.pid)]
    aborted = [pid for pid in found if program(pid).startswith("python")]
    for pid in aborted:
        send(pid, signal.SIGABRT)
    end = time.monotonic() + ABORT_SECONDS
    while time.monotonic() < end and any(program(pid) for pid in aborted):
        time.sleep(0.1)
    for pid in found:
        send(pid, signal.SIGKILL)
    process.wait()


def send(pid: int, number: int) -> None:
    """A signal to a process, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def program(pid: int) -> str:
    """The name of the file that a process runs; empty if it has ended."""
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def descendants(pid: int) -> list[int]:
    """All processes that this one has started, directly or not, as far as their parents still run."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name stands in brackets, and may hold anything.
            children.setdefault(int(entry.read_text(errors="replace").rpartition(")")[2].split()[1]), []).append(int(entry.parent.name))
    found = list(children.get(pid, []))
    for each in found:
        found += children.get(each, [])
    return found


def telling_line(log: str) -> str:
    """What of a failed step's log says best what failed, on one line; without colours and molecule's frame."""
    plain = FRAME.sub("", COLOUR.sub("", log)).rstrip()
    found = next((match for each in TELLING if (match := each.search(plain))), None)
    return " ".join(found.group().split())[:WIDTH] if found else "no output"


def table(title: str, outcomes: t.Sequence[Outcome]) -> str:
    """All steps, a line each; of those that failed, the line that says why and where the log lies."""
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
    """What git says of the checkout; empty outside one."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def checkout() -> tuple[str, bool]:
    """(the commit that is checked out, whether the work tree differs from it)."""
    return git("rev-parse", "HEAD"), bool(git("status", "--porcelain"))


def conclude(title: str, file: Path, outcomes: t.Sequence[Outcome], begun: tuple[str, bool]) -> int:
    """Print the table, write it to `file` as JSON ({commit, dirty, ok, seconds, steps}), return the exit status.

    begun: the checkout before the first step. Where it has changed since, no commit was tested: it counts as dirty.
    """
    commit, dirty = begun[0], begun[1] or checkout() != begun
    ok, seconds = all(each.ok for each in outcomes), sum(each.seconds for each in outcomes)
    at = f"{commit[:10]}{' with changes' if dirty else ''}"
    print(table(f"{title}: {'green' if ok else 'RED'} after{clock(seconds)} at {at}", outcomes), flush=True)
    file.parent.mkdir(exist_ok=True)
    report = {"commit": commit, "dirty": dirty, "ok": ok, "seconds": round(seconds), "steps": [dataclasses.asdict(each) for each in outcomes]}
    file.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0 if ok else 1
