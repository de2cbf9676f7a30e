"""A job is cancelled as AWX cancels one: its processes are killed, at any task. The next job does not wait, and converges."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import typing as t

import plays
from stack import INVENTORY, Stack, sim

APPLY, WAIT = "objects : apply | Apply the objects]", "objects : apply | Wait until they are ready]"
# Another number of servers, block size and scheduler: each role has something to apply.
BEFORE = sim()
AFTER = sim(replicas=1, engine={"block_size": 32}, scheduler={"preset": "queue"})


def cancelled(stack: Stack, task: str, number: int, **file: t.Any) -> list[str]:
    """Start site.yml, kill it when this task begins for the `number`-th time; returns the tasks that began."""
    variables = {"llm_d_artifacts_dir": str(stack.artifacts), **file}
    command = plays.command("-i", INVENTORY, "site.yml", "-e", json.dumps(variables))
    tasks: list[str] = []
    with subprocess.Popen(command, cwd=plays.ROOT, env=plays.environment(), start_new_session=True, stdout=subprocess.PIPE, text=True) as play:
        assert play.stdout
        for line in play.stdout:
            tasks += [line] if line.startswith("TASK [") else []
            if sum(task in each for each in tasks) == number:
                break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(play.pid, signal.SIGKILL)
    return tasks


def test_the_next_job_converges_wherever_the_one_before_was_cancelled(stack: Stack) -> None:
    stack.serves(BEFORE)
    file, other = AFTER, BEFORE
    for task, number in ((APPLY, 1), (APPLY, 4), (APPLY, 5), (WAIT, 2)):
        tasks = cancelled(stack, task, number, llm_d_model_services=[file])
        assert task in tasks[-1] and sum(task in each for each in tasks) == number, "the job reached the task"
        stack.serves(file)
        file, other = other, file
    assert "changed=0 " in stack.serves(other)
