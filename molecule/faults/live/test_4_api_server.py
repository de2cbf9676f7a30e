"""A run tolerates a restart of the API server."""

from __future__ import annotations

import random
import subprocess
import time

from live_stack import until
from stack import CACHE, HOME, SIM, Stack

TIMES = 2


def restart() -> None:
    command = [str(CACHE / "python/bin/supervisorctl"), "-c", str(HOME / "config/supervisord.conf"), "restart", "kube-apiserver"]
    subprocess.run(command, check=True, capture_output=True)


def test_the_api_server_restarts_in_the_middle_of_a_run(stack: Stack) -> None:
    seed = random.randrange(10**6)
    moments = random.Random(seed)
    print(f"seed {seed}")
    for number in range(TIMES):
        seconds = moments.uniform(2, 14)
        wanted = {"llm_d_model_services": [{**SIM, "replicas": 2 + number}]}  # so that each run has something to change
        with stack.start(**wanted) as run:
            time.sleep(seconds)
            restart()
            out, _err = run.communicate()
        task = [line for line in out.splitlines() if line.startswith("TASK ")][-1]
        print(f"restarted after {seconds:.1f} s: the run ended with {run.returncode} in {task}", flush=True)
        assert run.returncode == 0, out[-6000:]
        until(stack.answers, 60, "the API server is ready")
        stack.converges(**wanted)
    stack.converges()
    stack.settled()
