# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_perf
short_description: Measure how fast an OpenAI-compatible server answers, and judge it
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Sends a workload to an OpenAI-compatible server (vLLM, SGLang, TensorRT-LLM, the llm-d simulator, or a gateway in front of them) and measures
    time to first token, time per output token, throughput and goodput. C(docs/performance.md) defines every number.
  - Load is closed (a number of requests in flight) or open (a number of requests per second, whatever the server does), in one stage or several, as a
    ramp, as a sweep up to saturation, or as a search for the highest rate that meets the objectives.
  - Latencies count from the moment a request was due as well as from when it was sent. A run in which this client itself was late is C(invalid),
    which says nothing about the server.
  - Every failed request counts, and so does an error inside a stream that began with status 200, an empty answer, and one shorter than requested.
    Failed requests count against O(slo) with an infinite latency.
  - Needs no tokenizer, since the server counts the tokens. Memory does not grow with the number of requests.
attributes:
  check_mode:
    description: Checks the options, sends nothing and measures nothing.
seealso:
  - module: llm_d.inference.vllm_health
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1, for O(gateway), O(service) and O(job)
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - llm_d.inference.options.vllm_perf
"""

EXAMPLES = r"""
- name: Measure a gateway that only the cluster reaches
  llm_d.inference.vllm_perf:
    gateway: {namespace: llm-d, name: llm-d-gateway}
    model: llama-8b
    stages:
      - {concurrency: 64, seconds: 60}
    job: {namespace: llm-d, image: "python:3.12-slim"}
    artifacts: artifacts/perf

- name: Measure with 64 requests in flight, and fail when first tokens come late
  llm_d.inference.vllm_perf:
    url: http://10.96.0.20
    model: meta-llama/Llama-3.1-8B-Instruct
    workload:
      input_len: 512
      output_len: 128
    warmup:
      concurrency: 64
      requests: 128
    stages:
      - concurrency: 64
        seconds: 120
    slo:
      ttft_from_schedule_p90_ms: 500
      tpot_p90_ms: 40
      error_rate_max: 0.001
    artifacts: artifacts/perf

- name: Find the highest rate at which 99 % of the requests meet their objectives
  llm_d.inference.vllm_perf:
    url: https://models.example.com
    api_key: "{{ vault_model_key }}"
    model: llama-8b
    api: chat_completions
    workload:
      kind: shared_prefix
      groups: 150
      system_prompt_len: 6000
      question_len: 1200
      output_len: 1000
    goodput:
      ttft_ms: 500
      tpot_ms: 40
    slo:
      goodput_share_min: 0.99
    search:
      rate: 2
      seconds: 60

- name: Send a recorded trace twice as fast to a base model and its adapters, and compare with the last release
  llm_d.inference.vllm_perf:
    url: http://10.96.0.20
    models:
      - name: llama-8b
        weight: 8
      - name: sql-adapter
      - name: support-adapter
    workload:
      kind: trace
      path: traces/conversation.jsonl
      speed: 2
    baseline: artifacts/perf-last-release/result.json
    baseline_max_ratio: 1.1
    artifacts: artifacts/perf
"""

RETURN = r"""
verdict:
  description:
    - V(passed), V(failed), V(invalid) where this client was late, or V(inconclusive) where there were too few requests for a requested percentile, or for
      any comparison that O(baseline_max_ratio) requires.
    - Without O(slo) a run with any success has V(passed) when the client was not late in any stage.
    - A sweep or search with O(slo) has V(passed) when one rate met every objective while the client was in time. When none did, it has V(invalid) where the
      client was late in a stage, unless each stage missed an objective by more than the client was late.
  returned: always, except in check mode
  type: str
  sample: passed
why:
  description: Reasons for the verdict, one line each; empty for RV(verdict=passed).
  returned: always, except in check mode
  type: list
  elements: str
  sample: ["rate 16: ttft_p90_ms: 812.4 misses the objective of at most 500"]
best_rate:
  description: The highest rate whose stage met every objective, without objectives at which the server kept up, in requests per second; null where there is
    none.
  returned: always, except in check mode
  type: float
  sample: 14.0
limited:
  description: Why a sweep or search ended before it was done; null where it did not.
  returned: always, except in check mode
  type: str
  sample: the SLO is met at 64 requests/s, the highest rate that was allowed
warmup:
  description: The warm-up, with C(requests), C(failed) and C(error_example); null without one. Where some of it failed, there is a warning.
  returned: always, except in check mode
  type: dict
  sample: {requests: 40, failed: 0, error_example: null}
url:
  description: Where the requests were sent.
  returned: always, except in check mode
  type: str
  sample: http://10.96.0.20
started:
  description: When the run began, in UTC.
  returned: always, except in check mode
  type: str
  sample: '2026-11-21T12:00:00Z'
seconds:
  description: How long it took in all.
  returned: always, except in check mode
  type: float
  sample: 64.1
nonce:
  description: O(nonce), given or generated.
  returned: always, except in check mode
  type: str
  sample: 4fd1a0c2
client:
  description:
    - This client, with C(cpu) (processor cores it took on average), C(memory_mib) at its peak, C(python), C(cores) of the host, and C(processes), how many sent
      at once at most.
  returned: always, except in check mode
  type: dict
  sample: {cpu: 0.43, memory_mib: 61.2, python: 3.12.4, cores: 8, processes: 1}
comparison:
  description:
    - The same stages of the baseline and of this run. Each has C(label), C(name), C(baseline), C(measured), C(ratio), C(low), C(high), C(verdict) and C(why).
    - C(low) to C(high) is the interval of 95 % confidence of the ratio, of which failed requests may leave one end open, null. C(verdict) is V(better),
      V(worse), V(same) where the interval holds 1, or V(unknown) where neither is certain. C(why) is the reason then, such as
      C(this run, not enough requests (40 of 368 needed)); else it is null.
  returned: with O(baseline)
  type: list
  elements: dict
  sample:
    - {label: concurrency 64, name: tpot_p90_ms, baseline: 31.2, measured: 30.8, ratio: 0.987, low: 0.961, high: 1.014, verdict: same, why: null}
baseline_differs:
  description: Differences of the baseline other than the load, such as its address or model.
  returned: where it does
  type: str
  sample: "the baseline differs in more than its time: models ['llama-8b'] there and ['llama-70b'] here"
artifacts:
  description: Files that were written.
  returned: with O(artifacts)
  type: dict
  sample:
    result: artifacts/perf/result.json
    requests: artifacts/perf/requests.csv
    page: artifacts/perf/report.html
    reports: [artifacts/perf/benchmark_report_0.json]
stages:
  description: One element for each stage, or rate that was tried. Latencies are those of successful requests; failed ones are counted beside them.
  returned: always, except in check mode
  type: list
  elements: dict
  sample:
    - label: concurrency 64
      concurrency: 64
      requests: 5120
      ok: 5120
      failed: 0
      ttft_ms: {n: 5120, mean: 201.4, min: 180.2, p50: 200.3, p90: 214.0, p95: 219.5, p99: 240.2, max: 260.9}
      output_tokens_per_s: 5461.3
      valid: true
  contains:
    label:
      description: The stage in words.
      type: str
    rate:
      description: Wanted mean of requests per second.
      type: float
    to_rate:
      description: The rate at the end of a ramp.
      type: float
    concurrency:
      description: Requests in flight at once.
      type: int
    requests:
      description: Requests that were due.
      type: int
    ok:
      description: Successful requests.
      type: int
    failed:
      description: All others.
      type: int
    error_rate:
      description: Their share.
      type: float
    errors:
      description: Failures by kind, such as C(http_503), C(timeout), C(error_in_stream), C(truncated), C(empty), C(short), C(in_flight).
      type: dict
    error_example:
      description: The first failure in words.
      type: str
    seconds:
      description: From the start of the stage to the end of its last request.
      type: float
    sent_per_s:
      description: Requests per second as they were sent.
      type: float
    requests_per_s:
      description: Successful requests per second while the load lasted, without the drain behind its last request. So are all rates.
      type: float
    output_tokens_per_s:
      description: Output tokens of successful requests per second. Null, as other rates of tokens, where nobody counted them.
      type: float
    prompt_tokens_per_s:
      description: Prompt tokens of successful requests per second.
      type: float
    total_tokens_per_s:
      description: Both.
      type: float
    goodput_per_s:
      description: Good requests per second, as O(goodput) says.
      type: float
    goodput_share:
      description: Good requests of all that were due.
      type: float
    goodput_tokens_per_s:
      description: Output tokens of good requests per second.
      type: float
    ttft_ms:
      description: Time to first token from the actual send.
      type: dict
    ttft_from_schedule_ms:
      description: Time to first token from when the request was due.
      type: dict
    e2e_ms:
      description: Time to last token from the actual send.
      type: dict
    e2e_from_schedule_ms:
      description: Time to last token from when the request was due.
      type: dict
    tpot_ms:
      description: Time per output token after the first, per request; of answers that came in several pieces.
      type: dict
    itl_ms:
      description: Time between pieces of an answer, over all requests.
      type: dict
    ntpot_ms:
      description: Time to last token by the number of output tokens.
      type: dict
    queue_ms:
      description: Time in the server's queue, where it says so.
      type: dict
    send_lag_ms:
      description: How late the client sent.
      type: dict
    client_lag_ms:
      description: How late the client's event loop ran.
      type: dict
    client_share:
      description: The share of the time to first token that may come from the client, at the percentile where it is largest.
      type: float
    client_cpu:
      description: Processor cores that the client took on average.
      type: float
    prompt_tokens:
      description: Prompt tokens.
      type: int
    output_tokens:
      description: Output tokens.
      type: int
    cached_tokens:
      description: Prompt tokens that were in the server's prefix cache, where it says so.
      type: int
    hit_ratio:
      description: Cached tokens of prompt tokens.
      type: float
    chunks:
      description: Events with content.
      type: int
    token_source:
      description: Requests by the source of their token counts, C(usage) (the server's answer), C(tokenize) (its tokenizer), C(chunks) (number of events),
        C(none) (answers that are not streamed, and that nobody counted).
      type: dict
    servers:
      description: Requests per server, where the answers name it in the header C(x-inference-pod).
      type: dict
    models:
      description: Requests per model.
      type: dict
    slo:
      description:
        - Each objective with C(name), C(wanted), C(measured), C(met), C(enough), whether there were enough requests for that percentile, C(clear), whether
          C(met) is the same with the client's lateness counted in, C(late), the milliseconds of it that count, C(in_doubt), whether these could decide C(met),
          and C(why), the reason where C(measured) is null.
      type: list
      elements: dict
    late:
      description: Why latencies may be the client's own doing; null where it was in time.
      type: str
    valid:
      description: Whether the client could send, and its lateness could not change the answer.
      type: bool
    why_invalid:
      description: Why not.
      type: str
    saturated:
      description: Whether requests came faster than they were answered, or 5 % of them failed.
      type: bool
    keeps_up:
      description: Whether the server is known to answer at 95 % at least of the pace at which requests come; false also where fewer than 3 were answered.
      type: bool
msg:
  description: Why the run failed or is invalid, or in check mode that nothing was sent.
  returned: on failure and in check mode
  type: str
  sample: "the run is failed: rate 8: ttft_p90_ms is 2140, at most 2000 wanted"
"""

import secrets
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.benchmark import bundle, execute, input_files, k8s_job, k8s_job_objects, options, target
from ..module_utils.benchmark.argument_spec import EXCLUSIVE, ONE_OF, OPTIONS, REQUIRED_BY, numbers
from ..module_utils.benchmark.runner import Unusable
from ..module_utils.common import masking
from ..module_utils.common.module_options import argument_spec
from ..module_utils.http import tls
from ..module_utils.inference import api_keys
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.loadgen.destination import hidden_values

NOWHERE = "http://address-that-the-cluster-knows.invalid"


def measure(params: dict[str, t.Any], files: input_files.Files, nonce: str) -> tuple[dict[str, t.Any], list[str]]:
    """(result, warnings), measured from here or by a Job. Raises ValueError, ClusterError and Unusable."""
    made: list[t.Any] = []

    def cluster() -> t.Any:
        if not made:
            made.append(target.connect(params))
        return made[0]

    url = target.address(params, cluster)
    if params["api_key_secret"]:
        params = {**params, "api_key": api_keys.read(cluster(), params["api_key_secret"]), "api_key_secret": None}
    if params["job"]:
        return by_job({**params, "nonce": nonce}, url, files, cluster())
    plan = options.plan({**params, "url": url}, files.workload, nonce)
    return execute.brief(execute.perform(plan, params, files, nonce))


def by_job(params: dict[str, t.Any], url: str, files: input_files.Files, cluster: t.Any) -> tuple[dict[str, t.Any], list[str]]:
    """(result, warnings), measured by a Job of the cluster. Raises the same errors."""
    texts = {"workload": files.workload} if files.workload is not None else {}
    texts |= {name: input_files.text(name, params[name]) for name in tls.FILES if params[name]}
    name = f"{params['job']['name']}-{secrets.token_hex(4)}"
    job, others = k8s_job_objects.definitions(params, url, name, bundle.bundle(), texts)
    outcome = k8s_job.JobRun(cluster, job, others, params["job"]["start_timeout"], execute.progress_writer(params["progress_path"])).run()
    result, warnings = execute.brief(execute.settle(outcome.whole, params, files, outcome.rows))
    if outcome.left_out:
        warnings.append(f"requests.csv lacks {outcome.left_out} requests, since a Job's log holds no more; measure without job to have all")
    return result, warnings


def main() -> None:
    """Entry point."""
    module = AnsibleModule(argument_spec(OPTIONS), supports_check_mode=True, mutually_exclusive=EXCLUSIVE, required_one_of=ONE_OF, required_by=REQUIRED_BY)
    masking.hide(module, hidden_values(module.params["api_key"], (module.params["headers"] or {}).items()), instead=True)
    numbers(module.params)
    nonce = module.params["nonce"] or secrets.token_hex(4)
    try:
        files = input_files.read(module.params)
        tls.context(module.params)  # refuses files of certificates before anything is sent
        options.plan({**module.params, "url": (module.params["url"] or NOWHERE) + module.params["path"]}, files.workload, nonce)
        if module.check_mode:
            module.exit_json(changed=False, msg="check mode: nothing was sent, nothing was measured")
        result, warnings = measure(module.params, files, nonce)
    except (ValueError, ClusterError, Unusable) as error:
        module.fail_json(msg=str(error))
    for line in warnings:
        module.warn(line)
    if result["verdict"] in ("failed", "invalid"):
        module.fail_json(msg=f"the run is {result['verdict']}: " + "; ".join(result["why"]), changed=False, **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
