# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The compare role: its defaults agree with each other, with the presets, and with docs/compare.md; its measurements and files.

molecule/providers/live has the real cluster.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import plays
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import comparison_run
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.presets import PRESETS
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen import schedule
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.workloads import PrefixedPrompts
from local_servers import SSE, chunk, closed_port, serve, stream

pytestmark = pytest.mark.rest

USAGE = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5}}}
PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - module_defaults:
        group/llm_d.inference.connection: "{{ __compare_facts.connection }}"
      block:
        - llm_d.inference.role_facts: {role: compare, derive: [targets]}
          register: __compare_facts
        - ansible.builtin.include_role:
            name: llm_d.inference.compare
            tasks_from: send
          loop: "{{ compare_presets | llm_d.inference.comparison_cases }}"
          loop_control: {loop_var: __compare_case}
        - ansible.builtin.include_role:
            name: llm_d.inference.compare
            tasks_from: report
"""


@pytest.fixture(name="defaults")
def role_defaults(root):
    return yaml.safe_load((root / "roles/compare/defaults/main.yml").read_text(encoding="utf-8"))


@pytest.fixture(name="sent")
def default_workload(defaults):
    return PrefixedPrompts(**defaults["compare_workload"])


def test_the_presets_are_there(defaults):
    assert set(defaults["compare_presets"]) <= set(PRESETS) and defaults["compare_presets"][0] == "round_robin"


def test_the_warm_up_sends_every_prompt_once(defaults, sent):
    assert defaults["compare_warmup"]["requests"] == sent.groups * sent.prompts_per_group == len({sent.prompt(number) for number in range(120)})


def test_default_rates_increase_and_each_stage_has_enough_requests_for_a_p90(defaults):
    ladder = schedule.steps(comparison_run.options({}, defaults["compare_stages"], None)["stages"])
    assert [stage.rate for stage in ladder] == sorted({stage.rate for stage in ladder}) and 8.0 in [stage.rate for stage in ladder]
    assert all(stage.requests >= 40 for stage in ladder)


def test_the_prefixes_fit_the_fleet_and_not_one_server(root, sent):
    service = yaml.safe_load((root / "inventories/local/group_vars/all/llm_d.yml").read_text(encoding="utf-8"))["llm_d_model_services"][0]
    one = service["engine"]["simulator"]["kv_cache_size"] * service["engine"]["block_size"]
    words = sum(
        len(sent.system(group).split()) + sum(len(sent.question(group, each).split()) for each in range(sent.prompts_per_group)) for group in range(sent.groups)
    )
    assert 1.5 * one < words < 0.75 * one * service["replicas"]
    match = re.search(r"of one server's cache \| 586 % \| (\d+) %", (root / "docs/compare.md").read_text(encoding="utf-8"))
    assert int(match.group(1)) == round(100 * words / one)


class Stack:
    """An API server with one Service, and that Service, on one port. Completions fail after the first `good` ones."""

    def __init__(self, good=10**6):
        self.good, self.requests = good, []

    def __call__(self, handler, method, path, body):
        if method == "GET":
            assert path == "/api/v1/namespaces/llm-d/services/sim", path
            return 200, {}, json.dumps({"kind": "Service", "spec": {"type": "ClusterIP", "clusterIP": "127.0.0.1"}, "status": {}})
        self.requests.append(json.loads(body))
        if len(self.requests) > self.good:
            return 503, {"Content-Type": "text/plain"}, "no healthy upstream"
        return 200, {"Content-Type": SSE, "x-inference-pod": "pod-a"}, stream(chunk("To", "length"), USAGE)


@pytest.fixture(name="compare")
def measure_and_report(root, tmp_path):
    def run(url, play=PLAY, **variables):
        user = {"name": "a", "cluster": {"server": url}, "user": {"token": "t"}, "context": {"cluster": "a", "user": "a"}}
        kubeconfig = {"apiVersion": "v1", "kind": "Config", "current-context": "a"}
        for key, value in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
            kubeconfig[key] = [{"name": "a", value: user[value]}]
        (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig), encoding="utf-8")
        given = {
            "llm_d_kubeconfig": str(tmp_path / "kubeconfig"),
            "llm_d_artifacts_dir": str(tmp_path / "artifacts"),
            "llm_d_gateway": {"provider": "standalone"},
            "llm_d_model_services": [{"name": "sim", "model": {"served_name": "acme/sim"}, "engine": {"type": "simulator"}}],
            # the address of the test server, instead of the planned one
            "__compare_target": {
                "name": "sim",
                "model": "acme/sim",
                "replicas": 1,
                "address": {"namespace": "llm-d", "name": "sim", "port": int(url.rsplit(":", 1)[1])},
                "headers": {},
            },
            "compare_presets": ["round_robin", {"name": "mine", "preset": "queue"}],
            "compare_workload": {"groups": 2, "prompts_per_group": 2, "system_prompt_len": 8, "question_len": 4, "output_len": 1, "seed": 7},
            "compare_warmup": {"rate": 50, "requests": 4},
            "compare_stages": [{"rate": 50, "requests": 5}, {"rate": 100, "seconds": 0.1}],
            "ansible_python_interpreter": sys.executable,
            **variables,
        }
        (tmp_path / "vars.json").write_text(json.dumps(given), encoding="utf-8")
        (tmp_path / "play.yml").write_text(play, encoding="utf-8")
        command = [*plays.command(), "-i", "localhost,", "-c", "local", "play.yml", "-e", "@vars.json"]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
            "no_proxy": "*",
            "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"),
        }
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
        return done, tmp_path / "artifacts/compare"

    return run


def test_a_repeated_rate_in_compare_stages_is_refused(compare):
    """Presets are compared by rate: two stages of one rate would share a line, with the figures of one and the ratio of the other."""
    play = "[{hosts: localhost, gather_facts: false, roles: [llm_d.inference.compare]}]"
    done, _folder = compare(f"http://127.0.0.1:{closed_port()}", play, compare_stages=[{"rate": rate, "requests": 2} for rate in (4, 8, 4.0)])
    text = " ".join(done.stdout.split())
    assert done.returncode and "the rates in compare_stages must be different, since presets are compared by rate, they are 4.0, 8.0, 4.0" in text, done.stdout


def test_each_preset_receives_the_same_prompts_and_its_results_are_saved(compare):
    stack = Stack()
    with serve(stack) as url:
        done, folder = compare(url)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "changed=0" in done.stdout and "round_robin" in done.stdout
    runs = [json.loads((folder / f"runs/{name}.json").read_text()) for name in ("round_robin", "mine")]
    assert [(each["preset"], [stage["requests"] for stage in each["stages"]], each["total"]["ok"]) for each in runs] == [
        ("round_robin", [5, 10], 15),
        ("mine", [5, 10], 15),
    ]
    assert runs[0]["total"]["hit_ratio"] == 0.25 and runs[0]["total"]["servers"] == {"pod-a": 15} and runs[0]["stages"][0]["largest_share"] == 1.0
    # 4 of the warm-up, 15 of the stages, and one before that checks for an answer; each preset has a different first word of the prompts
    prompts = [each["prompt"] for each in stack.requests if each["prompt"] != "Hello"]
    first, second = ([prompt.split(" ", 1)[1] for prompt in prompts[start : start + 19]] for start in (0, 19))
    assert len(prompts) == 38 and len(stack.requests) == 40 and sorted(first) == sorted(second) and len(set(first)) == 4
    assert len({prompt.split()[0] for prompt in prompts}) == 2 and runs[0]["workload"]["seed"] == 7
    assert {file.name for file in (folder / "runs/mine").iterdir()} >= {"result.json", "requests.csv", "report.html"}
    assert len(json.loads((folder / "results.json").read_text())["runs"]) == 2 and (folder / "table.md").is_file() and (folder / "index.html").is_file()


def test_a_workload_that_exceeds_the_caches_is_warned_about(compare):
    """The workload has 2 prefixes; by the servers' metrics before the run, their caches hold one block of 16 tokens."""
    small = [{"server": "Pod llm-d/a", "metrics": {"blocks": {"value": 1}, "block_size": {"value": 16}}}]
    with serve(Stack()) as url:
        done, folder = compare(url, __compare_health={"servers": small})
    assert done.returncode == 0 and "The workload does not fit into the caches" in done.stdout
    caches = json.loads((folder / "results.json").read_text())["caches"]
    assert (caches["groups"], caches["together"], caches["fit"]) == (2, 16, False)


def test_failed_requests_are_counted_and_a_preset_without_any_success_fails(compare):
    with serve(Stack(good=30)) as url:
        done, folder = compare(url, compare_presets=["round_robin", "queue", "balanced"])
    line = next(line for line in (done.stdout + done.stderr).splitlines() if line.startswith("[ERROR]: "))
    assert done.returncode != 0 and "none of 15 requests succeeded" in line and "no healthy upstream" in line, done.stdout + done.stderr
    queue = json.loads((folder / "runs/queue.json").read_text())
    assert queue["total"]["failed"] == 10 and queue["stages"][1]["errors"] == {"http_503": 10} and not (folder / "runs/balanced.json").exists()
