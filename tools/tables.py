# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Generated pages: coverage, versions, presets, troubleshooting. Data in, Markdown out."""

from __future__ import annotations

import json
import typing as t
import urllib.parse

from plugins.module_utils.diagnosis.catalog import CATALOG, LAYERS
from plugins.module_utils.epp.catalog.presets import PRESETS, ROUND_ROBIN_NOTE
from plugins.module_utils.plan.observability.alerts import TEXTS as ALERTS
from plugins.module_utils.releases.deployed import ENGINE_DEFAULTS, FILE_VARIABLE, FULL_SUPPORT, OPTIONS, picker_signals
from plugins.module_utils.releases.gateways import GATEWAY_API, GATEWAY_PROVIDERS, INFERENCE_EXTENSION_MINIMUM
from plugins.module_utils.releases.lines import ACCELERATORS, LEADER_WORKER_SET, MINIMUM, RELEASES
from plugins.module_utils.releases.pairs import PAIRS
from plugins.module_utils.releases.profiles import PROFILES
from plugins.module_utils.releases.sglang_flags import OPTIONS as SGLANG
from plugins.module_utils.releases.sources import CHARTS
from plugins.module_utils.releases.tools import BROKEN
from plugins.module_utils.releases.vllm_flags import VERSIONS as VLLM_VERSIONS
from plugins.module_utils.schema.variables import VARIABLES

AREAS = {
    "A": "Input, state, lifecycle",
    "B": "Prerequisites",
    "C": "Gateway and routing",
    "D": "Scheduler",
    "E": "Model service",
    "F": "Storage, caches, GPUs, scaling",
    "G": "Observation, proof, operation",
}


# Read in llm-d-router 0.9.0, 0.10.0 and its tree of 2026-08-22: cmd/epp/runner/health.go, pkg/epp/server/controller_config.go and controller_manager.go,
# the pages on its charts and on operations.
_LEADERS = """\
With `scheduler.replicas` above 1, all endpoint pickers are active, in every line. Each knows only the requests that went through it: upstream advises
against several with approximate prefix matching, and counts of requests or tokens in flight and the limits of flow control are per replica. What
reads the metrics or KV events of servers is not affected.

The collection never enables leader election, as upstream's charts do with more than one replica, and refuses the flag. In every line, router 0.10 and
0.11 included, only the leader is ready: a rollout could not complete without an interruption (the new endpoint picker waits for the old one to stop,
the old one for the new one to be ready), and after the leader fails, gateways have no ready endpoint picker until its lease expires; one that stops
in order gives its lease back. Since router 0.10 the others keep their data up to date (`haPopulateNonLeaderDatastore`, on by default), so that a
request that reaches one all the same is routed, where it got a 503 before; they are still not ready. The standalone chart of router 0.11 is said to
reach them by Envoy's priorities ([#2228](https://github.com/llm-d/llm-d-router/pull/2228), not in the tree that was read); here each endpoint picker
of `standalone` has an Envoy of its own.
"""


def table(head: t.Sequence[str], rows: t.Iterable[t.Sequence[str]]) -> list[str]:
    """A Markdown table and an empty line after it."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines] + [""]


def code(text: str | None) -> str:
    return f"`{text}`" if text else ""


# What ran, by the folder of a proof of docs/coverage.yml. Every other proof is a test without a cluster.
RAN = {
    "molecule/default": "local cluster",
    "molecule/vllm": "real vLLM",
    "molecule/monitoring": "real Prometheus",
    "molecule/tracing": "real OpenTelemetry collector",
    "molecule/autoscaling": "real KEDA",
    "molecule/openshift": "local cluster with imitated OpenShift API",
    "molecule": "local cluster",
}
_COVERAGE = """\
Features of the five systems that this collection replaces: the Inference Scheduler Operator (`aneeshkp/llm-d-inference-scheduler-operator`), the LLM-D
Scheduler-Sim Operator (`junzzhu/llm-d-scheduler-sim-operator`), the Inference Operator (`sangmeshcp/inference-operator`), the llmd-operator
(`d0w/llm-d-operator`) and the well-lit path for inference scheduling (`ccamacho/inference-scheduler-wlp`). *Runs on* says where a feature has run: on the
local cluster (a real API server, scheduler, kubelet and gateway, with simulated or real engines), or in tests alone, without a cluster. None has run on a GPU.
"""


def coverage(rows: t.Sequence[dict[str, t.Any]]) -> str:
    """docs/coverage.md from the rows of docs/coverage.yml."""
    lines = ["# What it can do, and what has run where", "", _COVERAGE, f"**{_sum(rows)}.**", ""]
    for area, title in AREAS.items():
        mine = [row for row in rows if row["id"].startswith(area)]
        cells = [[row["id"], row["feature"], row["state"], ran(row.get("shown_by", [])), row.get("note", "")] for row in mine]
        lines += [f"## {area}: {title}", "", f"{_sum(mine)}.", "", *table(["id", "feature", "state", "runs on", "missing"], cells)]
    return text_of(lines)


def ran(proofs: t.Sequence[str]) -> str:
    """Where a feature has run."""
    places = [next((where for start, where in RAN.items() if proof.startswith(f"{start}/")), "") for proof in proofs]
    return ", ".join(dict.fromkeys(filter(None, places))) or ("tests" if proofs else "")


def _sum(rows: t.Sequence[dict[str, t.Any]]) -> str:
    states = [row["state"] for row in rows]
    return f"{states.count('done')} of {len(rows)} done, {states.count('partly')} partly, {states.count('open')} open"


# Release line: where its endpoint picker has run (by hand, or in which test), and the result.
_LOCAL = "on the local cluster, compiled from its Go module"
_BY_HAND = "on the local cluster, built from upstream's tag, by hand on 2026-11-22"
_SIX = "balanced, round_robin, queue, prefix_aware, default and disaggregated behind Envoy Gateway, balanced with standalone: all claims held"
RUNS = {
    "gie-1.5": (f"in `make nightly`, {_LOCAL}", "with each preset that it has, exactly the planned plugins ran; all claims held"),
    "scheduler-0.7": (f"in `make test` and `make nightly`, {_LOCAL}", "with each preset, exactly the planned plugins ran; all claims held"),
    "router-0.9": (_BY_HAND, _SIX),
    "router-0.10": (_BY_HAND, f"{_SIX}; sticky behind Envoy Gateway, on 2026-11-27: all claims held"),
    "router-0.11": (
        "on the local cluster, built from upstream's tree of 2026-08-22, by hand on 2026-11-27",
        f"{_SIX}; sticky behind Envoy Gateway: all claims held",
    ),
}
_LEFT_OUT = """\
The rules of `router-0.11` are from upstream's tree of 2026-08-22 (16 release notes, the READMEs of the plugins, docs/metrics), a month before the release of
2026-09-19. The endpoint picker and the routing sidecar that ran here were built from that tree, 62 commits after the fork of router 0.10. Users of the release
report that `precise-prefix-cache-scorer`, `disagg-headers-handler`, `prefill-header-handler`, `pd-profile-handler`, `by-label`, `by-label-selector` and
`tokenizer` are gone: this line refuses them, and names what replaces them. `dataLayer.discovery` was regrouped; the release still reads the old spelling, so
nothing in it is checked.
"""


# Why these versions of the providers, and what an upgrade breaks.
_PROVIDERS = """\
- Envoy Gateway 1.9.3 mends CVE-2026-35189. Its own default is Envoy 1.39.5, which still trusts compromised certificate authorities (CVE-2026-111943),
  so the proxies get 1.39.6. Since 1.9 its chart has the safe-upgrades policy of the Gateway API in its subchart `crds`, and Helm refuses one that
  someone else installed; the collection leaves that subchart out. Where another release of the chart installs it, that policy needs Helm's ownership
  labels. A `ClientTrafficPolicy` of your own with `clientIPDetection` has to name exactly one method.
- Envoy AI Gateway is called Agent Router since September 2026
  ([theagentrouter.ai](https://theagentrouter.ai/blog/envoy-ai-gateway-is-now-agent-router/)). Name, site and source repository moved; images, charts,
  the API group `aigateway.envoyproxy.io` and the namespace did not, and neither does `provider: envoy_ai_gateway`. Since 1.1 its chart sets user and
  group 65532; `llm_d_run_as_user` replaces both, and `0` leaves them to the cluster.
- Istio 1.30 is installed: 1.29 ended on 2026-10-15 with 1.29.9. llm-d tested its 0.10 with 1.29, which `version: 1.29.9` installs. Older than 1.29.7
  or 1.30.4 have the holes of ISTIO-SECURITY-2026-006, among them a way around path rules and RBAC.
- GPU operator 26.7: 26.7.0 is installed, the newest of which every image is known here; `llm_d_gpus.version` takes a newer one. Its driver manager
  evicts pods that hold a GPU when it changes the driver, and `DEVICE_LIST_STRATEGY` in the device plugin's environment fails with CDI, which is on by
  default.
"""


_PAIRS = """\
What upstream tested a release line with. Without an image of your own, servers get this vLLM (TPUs and Gaudi the one of their images), and the CRDs
are of one of these minor releases. Another pair works as far as anybody knows: a note in the plan and a line of the verdict name it. Lines without a
row have no pair that upstream names here; their servers get the newest vLLM that was tried. llm-d 0.10 with router 0.11 is inferred: the table of
artifacts names no router.
"""


def _gateway_api() -> str:
    return (
        f"All of them use Gateway API {GATEWAY_API['version']}, which Envoy Gateway 1.9 is built with. llm-d's own guides install 1.5.1:"
        f" `llm_d_crd_sources.gateway_api` takes it, and {GATEWAY_API['minimum']} is the oldest."
    )


def versions() -> str:
    """docs/versions.md from module_utils/releases."""
    default = VARIABLES["llm_d_release"].default
    releases = [
        [
            code(name) + (" (default)" if name == default else ""),
            code(facts["epp_image"]),
            code(facts["sidecar_image"]),
            facts["crds_version"],
            code(facts["config_api_version"]),
            code(facts["pool_api_version"]),
        ]
        for name, facts in RELEASES.items()
    ]
    lines = [
        "# Versions",
        "",
        "Images and charts are upstream's. `llm_d_image_registry` replaces the registry of an image by a mirror; `llm_d_charts` names another chart.",
        "",
        "## Release lines (`llm_d_release`)",
        "",
    ]
    lines += table(["release", "endpoint picker", "routing sidecar", "inference extension", "API of its configuration", "API of the pool"], releases)
    lines += table(["release", "has run", "result"], [[code(name), *RUNS[name]] for name in RELEASES])
    lines += [
        "precise_prefix of a router line needs vLLM for its rendering, and has run with no real endpoint picker of these lines.",
        "",
        *_LEFT_OUT.splitlines(),
        "",
    ]
    lines += [*_LEADERS.splitlines(), ""]
    lines += ["## Pairs", "", *_PAIRS.splitlines(), ""]
    rows = [
        [code(line), pair.llm_d, pair.vllm, " and ".join(pair.gie), f"[{urllib.parse.urlsplit(pair.page).netloc}]({pair.page})"] for line, pair in PAIRS.items()
    ]
    lines += table(["release", "llm-d", "vLLM", "inference extension", "named by"], rows)
    lines += ["## Gateway providers (`llm_d_gateway.provider`)", "", _gateway_api(), ""]
    lines += table(
        ["provider", "version", "oldest", "class", "controller", "proxy", "routes to", "TLS to the endpoint picker", "failure modes"],
        [
            [
                code(name),
                facts["version"] or "",
                facts["minimum"] or "",
                code(facts["class_name"]),
                ", ".join(code(name) for name in (facts["controller_image"], (facts["extension"] or {}).get("image")) if name),
                code(facts["proxy_image"]),
                ", ".join(facts["backends"]),
                "yes" if facts["secure_ext_proc"] else "no",
                ", ".join(facts["failure_modes"]),
            ]
            for name, facts in GATEWAY_PROVIDERS.items()
        ],
    )
    lines += [*_PROVIDERS.splitlines(), ""]
    groups = LEADER_WORKER_SET
    lines += [
        f"Model servers that span several nodes require LeaderWorkerSet; version {groups['version']} is installed, {groups['minimum']} is the minimum.",
        "",
    ]
    libraries = ", ".join(f"{code(name)} {oldest}" for name, oldest in MINIMUM["libraries"].items())
    lines += ["## Minimum versions", ""]
    lines += [
        f"Kubernetes {MINIMUM['kubernetes']}, Gateway API {GATEWAY_API['minimum']}, inference extension {INFERENCE_EXTENSION_MINIMUM}; on the control host Helm"
        f" {MINIMUM['helm']} and the Python libraries {libraries}. `llm_d.inference.preflight` reports older versions.",
        "",
        "Known to be broken, and reported by preflight and by the error, too:",
        "",
    ]
    lines += table(
        ["library or tool", "versions", "beside", "what it does", "what to do"],
        [
            [
                code(row.name),
                code(row.versions),
                ", ".join(f"{code(name)} {code(wanted)}" for name, wanted in row.beside.items()),
                f"{row.what} ([source]({row.source}))",
                row.fix,
            ]
            for row in BROKEN
        ],
    )
    lines += ["## Charts (`llm_d_charts`)", ""]
    lines += table(
        ["option", "chart", "reference", "tag of a version", "named by"],
        [
            [
                code(key),
                code(name),
                code(chart.reference),
                code(chart.version.format(version="1.2.3")),
                f"[{urllib.parse.urlsplit(chart.page).netloc}]({chart.page})",
            ]
            for (key, name), chart in CHARTS.items()
        ],
    )
    lines += ["## Engines (`engine.type`)", ""]
    lines += table(
        ["engine", "image", "accelerator"],
        [
            [code(name), code(image), code(vendor)]
            for name, facts in ENGINE_DEFAULTS.items()
            for vendor, image in {facts["vendor"]: facts["image"], **facts["images"]}.items()
        ],
    )
    recorded = ", ".join(version.removesuffix(".0") for version in VLLM_VERSIONS)
    lines += [
        "Arguments of vLLM are checked against the options of the version in its image. Of a version between two recorded ones, only what neither knows is",
        "refused, and nothing of a version that is older or newer than all. Recorded are",
        f"{recorded}.",
        "",
    ]
    lines += ["## Accelerators (`accelerator.vendor`)", ""]
    lines += table(
        ["vendor", "resource", "node label for the product"],
        [[code(name), code(facts["resource"]), code(facts["product_label"])] for name, facts in ACCELERATORS.items()],
    )
    return text_of(lines)


# Names of metrics in docs/engines.md.
_READ = {"waiting": "waiting", "running": "running", "kv_cache": "KV-cache use", "block_size": "block size", "blocks": "blocks", "lora": "adapters"}


def engines() -> str:
    """docs/engines.md from releases/deployed.py."""
    names = list(ENGINE_DEFAULTS)
    lines = ["# Engines (`engine.type`)", ""]
    lines += [
        "What the collection can deploy as model servers, how each engine spells the options of [your file](user-file.md), and what the endpoint picker reads",
        "of it. An option that an engine does not have is refused before anything is changed, with the engines that have it. `engine.args` go to the engine as",
        "they are written, after all others.",
        "",
        "`vllm` and `simulator` have run here. The rows of `sglang`, `trtllm`, `triton` and `tgi` follow what upstream declares and documents; no such",
        "server has run here, since all of them need GPUs. Every argument that is written for SGLang is checked against the options of",
        f"{' and '.join(version for version in SGLANG if version)}, and so are yours where the tag of the image says one of these versions.",
        "",
        "## Options",
        "",
    ]
    rows = [[code(place), *(_spelled(name, option) for name in names)] for option, place in OPTIONS.items()]
    rows.append(["`engine.log_level`", *(code(facts["level"][0]) for facts in ENGINE_DEFAULTS.values())])
    lines += table(["option", *map(code, names)], rows)
    files = " and ".join(code(name) for name, facts in ENGINE_DEFAULTS.items() if facts["file"])
    lines += [
        f"Without dashes: a key of the configuration file that the container of {files} writes at its start, from its variable `{FILE_VARIABLE}`.",
        '"refused": the engine has no such option.',
        "",
        "## What else differs",
        "",
    ]
    facts = ENGINE_DEFAULTS.values()
    lines += table(
        ["", *map(code, names)],
        [
            ["image", *(code(row["image"]) for row in facts)],
            ["`model.uri`", *(", ".join(code(f"{kind}://") for kind in row["sources"]) or "not needed" for row in facts)],
            ["always written", *(" ".join(map(code, row["always"])) for row in facts)],
            ["in its file", *(", ".join(code(f"{key}: {str(value).lower()}") for key, value in row["settings"].items()) for row in facts)],
            ["health", *(code(row["health"]) for row in facts)],
            ["metrics", *(code(row["metrics"]) for row in facts)],
            *([f"endpoint picker: {title}", *(code(picker_signals(name).get(signal)) for name in names)] for signal, title in _READ.items()),
            ["cached tokens in answers", *("yes" if row["cached_tokens"] else "no" for row in facts)],
            ["separate prefill, KV events, several nodes", *("yes" if name in FULL_SUPPORT else "refused" for name in names)],
        ],
    )
    warnings = [f"- `{name}`: {row['warning']}." for name, row in ENGINE_DEFAULTS.items() if row["warning"]]
    lines += [
        "A scorer that reads a metric which the engine does not export is refused, with a preset that fits. The configuration names the metrics of the engine",
        "(`defaultEngine` and `engineConfigs`) in every release line; in a complete `scheduler.document` you write them yourself:",
        "each is a name with labels and their values. An offset, or a label with `!=`, is refused, since the endpoint picker would leave it out.",
        "",
        *warnings,
        "- `trtllm`: the PyTorch back end; `engine.args: [--backend=tensorrt]` builds a TensorRT engine at each start, where the image has that back end. Its",
        "  metrics need TensorRT-LLM 1.3.0rc12 or newer. `gpu_memory_utilization` is the part of what the weights leave free. `--config` is refused: it",
        "  would take the place of the file that the plan writes, with the metrics in it.",
        "- `triton`: clients ask for `model.served_name`, which is the name of a folder and has no slash; `engine.args` are those of its OpenAI front end.",
        "- `tgi`: clients ask for the model by the name that it was loaded by. Its variables, such as `NUM_SHARD`, are checked like its arguments.",
        "",
    ]
    return text_of(lines)


def _spelled(engine: str, option: str) -> str:
    """How an engine spells an option."""
    flags, key = ENGINE_DEFAULTS[engine]["flags"].get(option), ENGINE_DEFAULTS[engine]["file"].get(option)
    written = [] if flags is None else [code(f"--{name.rstrip('=')}") if name else "the first argument" for name in flags[:1] if name or option == "model"]
    if option == "prefix_caching" and flags:
        written = [code(f"--{name}") for name in flags if name]
    if option == "served_name" and not written:
        return "its folder's name" if ENGINE_DEFAULTS[engine]["file"] else "as in `model.uri`"
    return " and ".join([*written, *([code(key)] if key else [])]) or "refused"


_STICKY = """\
## `sticky`

Prefix affinity until saturated: what llm-d recommends since June 2026 (its *optimized baseline*). A request goes to the servers that have at
least 80 % of its prompt, unless what they have in flight keeps it waiting for more than 18 s longer than another server would. Of those that are
left, the one with the fewest tokens in flight gets it (`token_load`, where prompts take most of the time), or the one with the fewest requests
(`active_requests`, where answers do):

```yaml
scheduler:
  preset: sticky
  peak_prefill_throughput: 22000 # llm_d.inference.calibrate measures it
```

```yaml
scheduler:
  preset: sticky
  peak_prefill_throughput: 22000
  scorers: {token_load: 0, active_requests: 1}
  filters:
    - prefix_affinity: {affinity_threshold: 0.9, max_ttft_penalty_ms: 5000} # where upstream's 0.8 and 18000 do not fit
```

- `peak_prefill_throughput` is a property of the servers, model and accelerators: without it waiting times are those of upstream's servers, two
  H100 with Qwen3-32B. Other presets do not read it, so it can stand beside any, and `llm_d.inference.compare_scorers` compares
  `sticky` with it.
- Tokens and requests in flight are counted by each endpoint picker for itself: `scheduler.replicas` above 1 is warned of.
- Only what is in no cache counts as in flight. Where one prefix is everybody's, 18 s of new tokens seldom come together, and one server keeps all of
  them: lower `max_ttft_penalty_ms` there.
- No scorer of prefixes beside it (`prefix`, `precise_prefix`): it pulls requests back to the servers that the filter has found saturated. It is warned of.
- With `disaggregation` it is llm-d's guide *pd-disaggregation*: only prefill servers keep a prefix and are chosen by tokens in flight, and a decode server
  is the one with the fewest requests, whatever is in its cache. Upstream has `decider: always` there. `disaggregation.decode.scorers` chooses otherwise.
- Prefixes are matched up to `engine.max_model_len`, where the file has it.

Compared with the presets around it on 2026-11-27: the endpoint picker of router 0.10 (built by hand), four simulators with four seats each, 500 µs for a token
of the prompt, 20 ms for one of the answer, 2 cores; each workload takes `llm_d.inference.compare_scorers` ten minutes. Time to the first token, p50 and p90:

| workload | requests/s | `round_robin` | `balanced` | `prefix_aware` | `sticky` |
|---|---:|---:|---:|---:|---:|
| many sessions | 4 | 530, 540 ms | 9, 16 ms | 9, 16 ms | 9, 18 ms |
| | 8 | 530, 542 ms | 8, 15 ms | 10, 21 ms | 8, 14 ms |
| | 16 | 532, 698 ms | 9, 23 ms | 9, 20 ms | 9, 20 ms |
| one long prefix for all | 4 | 28, 37 ms | 15, 34 ms | 16, 30 ms | 16, 34 ms |
| | 8 | 24, 36 ms | 19, 178 ms | 16, 173 ms | 14, 175 ms |
| | 16 | 16, 36 ms | 4829, 7798 ms | 4824, 7710 ms | 4568, 7438 ms |

With many sessions the three that know prefixes are level, 26 to 40 times sooner than chance at p90 (no difference among them is shown). With one prefix for
all, chance is better as soon as one server cannot answer everything: the three send every request to the server that had the prefix first, and at 16/s
its queue grows. For `sticky` that is the gate's default: 18 s at 2,000 tokens a second are 36,000 tokens in flight.
"""


def presets() -> str:
    """docs/presets.md from module_utils/epp/catalog/presets.py and releases/profiles.py."""
    rows = []
    for name, facts in PRESETS.items():
        filters = "".join(f"filter {code(name)}; " for name in facts.get("filters", ()))
        weights = filters + (", ".join(f"{code(scorer)} {weight:g}" for scorer, weight in facts["scorers"].items()) or "none")
        here = ["yes" if line in facts["lines"] else f"no: {code(facts.get('like'))}" for line in RELEASES]
        rows.append([code(name), weights, code(facts["picker"]), *here])
    lines = ["# Presets (`scheduler.preset`)", "", "Filters, scorers with their weights, and the picker."]
    lines += ["`disaggregated` uses the same scorers for prefill and decode servers.", ""]
    lines += table(["preset", "scorers", "picker", *map(code, RELEASES)], rows)
    lines += ["Where a release line lacks a preset, the table names the one to use instead.", "", ROUND_ROBIN_NOTE, ""]
    lines += ["The plugins behind the aliases: [endpoint-picker.md](endpoint-picker.md).", "", *_STICKY.splitlines(), "", "## Profiles (`profile`)", ""]
    lines += ["Options of a whole model service by name, for a service that names the profile. What the service says itself comes first."]
    lines += ["`llm_d_profiles` defines profiles of your own, which look the same.", ""]
    lines += table(["profile", "options"], [[code(name), code(json.dumps(part).replace('"', ""))] for name, part in PROFILES.items()])
    return text_of(lines)


_DIAGNOSE = """\
If something does not work, start with:

    ansible-playbook -i inventories/mine llm_d.inference.diagnose

It inspects every object of the deployment, changes nothing, and prints findings, the most probable cause first, each with what is wrong, where,
the evidence and the remedy. In the [folder of results](second-deployment.md#results), `diagnosis.json` and `diagnosis.md` contain the same, `diagnose/` the
evidence of this run alone, without secrets: objects (`*.yml`), events (`*-events.txt`), the ends of logs (`*.log`), metrics (`*-metrics.txt`), and which
objects are not ready (`summary.txt`).
Failed waits and `vllm_health` of a pod use the same catalog.

Measured on the local cluster (`tests/run-molecule diagnosis`): a running stack was broken in 40 ways, one at a time, from a picker without permissions to
errors within a stream. The cause was the first finding 38 times and the second otherwise, within 13 seconds; the whole playbook, including evidence files,
took 13 seconds in the median and 27 at most, on 2 cores with other load (load average 8). Each finding was gone after the repair; a stack under full
load had none.

- *cause*: very probably why requests fail; *suspect*: may be; *symptom*: follows from another finding; *note*: unusual, but not a failure by itself.
- A single server: `llm_d.inference.vllm_health_info` with `pod`, or all of them with `replicas`; `level: metrics` shows what the scheduler reads.
- The scheduler's decisions: `llm_d.inference.scorer_config` and [compare.md](compare.md)."""


def troubleshooting() -> str:
    """docs/troubleshooting.md from module_utils/diagnosis/catalog.py and the texts of plan/observability/alerts.py."""
    lines = ["# Troubleshooting", "", *_DIAGNOSE.splitlines(), ""]
    for layer, title in LAYERS.items():
        rows = [[code(entry.code), entry.title, entry.shows, entry.remedy] for entry in CATALOG.values() if entry.layer == layer]
        lines += [f"## {title}", "", *table(["code", "what", "how it shows", "what to do"], rows)]
    lines += ["## Alerts", "", *_ALERTS.splitlines(), ""]
    for name, text in ALERTS.items():
        lines += [f"### {name}", "", f"*{text.severity}*: {text.meaning}", "", text.remedy, ""]
    return text_of(lines)


_ALERTS = """\
`llm_d_monitoring.alerts` creates these for each model service ([monitoring](monitoring.md#metrics)). Labels: `severity`, `namespace`, `model_service`, and
`servers` or `pod` where an alert is about some of the pods. Each fires when it has been true for `llm_d_monitoring.alerts.seconds`."""


def text_of(lines: t.Sequence[str]) -> str:
    """The text of a page."""
    return "\n".join(lines).rstrip() + "\n"
