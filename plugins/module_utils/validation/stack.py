# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of a plan over one connection: those that cannot disturb each other run in parallel, requests through the gateway run alone."""

from __future__ import annotations

import collections.abc as c
import concurrent.futures
import copy
import dataclasses
import typing as t

from ..common.module_options import defaults
from ..common.objects import Facts, dicts
from ..http.transport import UrlTransport
from ..inference import report
from ..inference.options import HEALTH_INFO
from ..inference.warmup import Warmup
from ..k8s.client import Cluster
from ..k8s.errors import ApiError
from ..k8s.related_objects import references
from ..k8s.service_proxy import ServiceTransport
from ..k8s.wait import Progress, Wait
from ..preflight.facts import collect
from ..schedulers.rollout import RolloutTarget, checksum, settle
from . import autoscaler_claims, platform_claims, targets
from .monitoring_claims import MonitoringCheck
from .probe_traffic import ProbeLimits
from .routing_proof import Proof
from .security_claims import SecurityCheck
from .verdict import CHECKS

INTERVAL = 0.5  # seconds between two checks of objects that are not ready
PROMPT_TIMEOUT = 10.0  # seconds that a warm-up prompt may take: a long one without a cached prefix is slow
REQUEST_TIMEOUT, IMPATIENT_TIMEOUT = 10.0, 5.0
# Seconds that a validation without a preceding change waits for an answer, since a gateway observes ready objects within a few seconds; and for the log of a
# ready endpoint picker, since the log of one that has just become ready may be late.
IMPATIENT_WAIT, IMPATIENT_LOG_WAIT = 5.0, 12.0


@dataclasses.dataclass(frozen=True)
class Waits:
    """How long checks wait. `wait`: seconds for answers, logs and autoscalers; `timeout`: for objects; `request_timeout`: of one request, or None.

    patient: whether missing objects may still appear, as after a change; otherwise only changes in progress are waited for.
    """

    wait: float
    timeout: float
    patient: bool
    request_timeout: float | None = None

    @property
    def request(self) -> float:
        """Seconds that one request may take."""
        return self.request_timeout or (REQUEST_TIMEOUT if self.patient else IMPATIENT_TIMEOUT)

    @property
    def log(self) -> float:
        """Seconds to wait for the logs of endpoint pickers."""
        return self.wait if self.patient else min(self.wait, IMPATIENT_LOG_WAIT)

    def answer(self, objects: Facts) -> float:
        """Seconds to wait for the gateway and each service. objects: the result of the wait for objects; a failure there ends all waiting."""
        return self.wait if self.patient else 0.0 if "failures" in objects else min(self.wait, IMPATIENT_WAIT)

    def metrics(self, arrival: float) -> float:
        """Seconds to wait for autoscalers. arrival: seconds that their metrics may take after a change, which is more than an answer takes."""
        return max(self.wait, arrival) if self.patient and self.wait else self.wait

    def scrape(self, routing: Facts, longest: float) -> float:
        """Seconds to wait for series in Prometheus; 0 where services do not serve, since they export none then. routing: the result of the routing check."""
        return longest if self.patient or routing.get("ok") else 0.0


class Checks:
    """The checks `names` of a plan. `services`: of the plan, as Proof takes them; limits: of requests; progress: the file for progress lines, or empty."""

    def __init__(
        self, cluster: Cluster, plan: Facts, services: list[Facts], waits: Waits, limits: ProbeLimits, progress: str = "", names: c.Collection[str] = CHECKS
    ) -> None:
        self._cluster, self._plan, self._services, self._waits, self._limits, self._progress = cluster, plan, services, waits, limits, progress
        left_out = {"warmup": not plan["warmups"], "monitoring": not targets.monitoring(plan)}
        self._names = [name for name in names if not left_out.get(name)]
        self._results: dict[str, Facts] = {}

    def run(self) -> dict[str, Facts]:
        """The result of each check, as verdict.assemble takes it; {msg} where a check failed as a whole."""
        with concurrent.futures.ThreadPoolExecutor(max_workers=len(CHECKS)) as pool:
            submit = pool.submit
            submit(self._check, "platform")
            self._check("objects")
            # Neither of them sends requests to a server.
            submit(self._check, "schedulers")
            submit(self._check, "security")
            # Before requests through the gateway, which may evict these prompts from a small cache.
            self._check("warmup")
            self._check("routing")
            # After the requests: a server that is its own gateway would count requests to it, and without requests counters and histograms have no series yet.
            submit(self._check, "servers")
            submit(self._check, "monitoring")
        return self._results

    def _check(self, name: str) -> None:
        if name not in self._names:
            return
        try:
            # The copy shares the connections, and has a patience of its own.
            result: Facts = getattr(self, f"_{name}")(copy.copy(self._cluster))
        except Exception as error:  # pylint: disable=broad-except  # the failure becomes a claim, and the other checks still run
            result = {"msg": str(error)}
        self._results[name] = result

    def _platform(self, cluster: Cluster) -> Facts:
        services = targets.autoscaled_services(self._plan)
        wait = self._waits.metrics(max((service["arrival"] for service in services), default=0))
        return platform(cluster, targets.platform_needs(self._plan), services, wait, self._waits.patient, self._progress)

    def _objects(self, cluster: Cluster) -> Facts:
        waiting = Wait(cluster, references(targets.required_objects(self._plan)), "ready", self._progress, self._waits.patient)
        return waiting.outcome(waiting.run(self._waits.timeout, INTERVAL))

    def _warmup(self, cluster: Cluster) -> Facts:
        start = cluster.clock.now()
        services = [{"urls": None, **service} for service in self._plan["warmups"]]
        results = Warmup({"services": services, "request_timeout": self._waits.request_timeout or PROMPT_TIMEOUT}, cluster).run()
        return {"services": results, "seconds": round(cluster.clock.now() - start, 3)}

    def _routing(self, cluster: Cluster) -> Facts:
        limits = dataclasses.replace(self._limits, wait=self._waits.answer(self._results.get("objects", {})))
        return Proof({"gateway": targets.gateway(self._plan), "services": self._services}, cluster, limits).run()

    def _schedulers(self, cluster: Cluster) -> Facts:
        return schedulers(cluster, [service["scheduler"] for service in self._plan["services"]], self._waits.log, self._waits.patient)

    def _servers(self, cluster: Cluster) -> Facts:
        options = {**defaults(HEALTH_INFO), "level": "metrics", "request_timeout": self._waits.request}
        return report.check_sets([{**options, **group} for group in targets.of(self._plan)["servers"]], True, cluster)

    def _monitoring(self, cluster: Cluster) -> Facts:
        wanted = targets.monitoring(self._plan) or {}
        transport = UrlTransport(wanted["url"]) if wanted.get("url") else ServiceTransport(cluster, wanted["namespace"], wanted["service"], wanted["port"])
        seconds = self._waits.scrape(self._results.get("routing", {}), wanted["timeout"])
        check = MonitoringCheck(transport, wanted["services_namespace"], seconds, cluster.clock)
        return {"claims": [claim for claims in cluster.parallel(check.service, wanted["services"]) for claim in claims], "not_checked": []}

    def _security(self, cluster: Cluster) -> Facts:
        check = SecurityCheck(cluster, self._plan["namespace"], self._plan["scheduler_namespace"])
        judged = cluster.parallel(check.service, targets.security_services(self._plan))
        return {
            "claims": [entry for claims, _skipped in judged for entry in claims],
            "not_checked": [entry for _claims, skipped in judged for entry in skipped],
        }


def schedulers(cluster: Cluster, pickers: c.Sequence[Facts], timeout: float, patient: bool) -> Facts:
    """The input of stack_claims.judge_schedulers: {schedulers: [{name, pods}] or failures: [{name, error}], seconds}. `pickers`: {namespace, name, config}.

    `timeout`: seconds; patient: whether a Deployment that is not ready is waited for. Raises ClusterError.
    """
    start = cluster.clock.now()
    deployments = [RolloutTarget(each["namespace"], each["name"], each["name"], "") for each in pickers]
    wanted = [(deployment, checksum(each["config"]), targets.parsed(each["config"])) for deployment, each in zip(deployments, pickers, strict=True)]
    outcomes = list(zip(deployments, settle(cluster, wanted, timeout, patient), strict=True))
    failures = [
        {"name": deployment.name, "error": outcome.error if deployment.name in outcome.error else f"{deployment}: {outcome.error}"}
        for deployment, outcome in outcomes
        if outcome.error
    ]
    result = {"failures": failures} if failures else {"schedulers": [{"name": deployment.name, "pods": outcome.pods} for deployment, outcome in outcomes]}
    return {**result, "seconds": round(cluster.clock.now() - start, 3)}


def platform(cluster: Cluster, needs: Facts, services: c.Sequence[Facts], wait: float, patient: bool, progress: str = "") -> Facts:
    """{claims, not_checked} about the cluster and the autoscalers of `services`, see platform_claims.judge and autoscaler_claims.judge.

    `wait`: seconds until autoscalers of the plan must work; patient: whether all of them are waited for, or only those younger than `wait`; progress: the
    file for progress lines, or empty. Raises ClusterError.
    """
    start = cluster.clock.now()
    facts = collect(cluster, needs, platform_claims.FACTS)
    claims, skipped = platform_claims.judge(facts, needs, cluster.clock.now() - start)
    scaling, unknown = _autoscalers(cluster, needs["namespace"], services, wait, patient, Progress(progress))
    return {"claims": claims + scaling, "not_checked": skipped + unknown}


def _autoscalers(
    cluster: Cluster, namespace: str, services: c.Sequence[Facts], wait: float, patient: bool, progress: Progress
) -> tuple[list[Facts], list[dict[str, str]]]:
    start = cluster.clock.now()
    cluster.be_patient(wait)
    planned = {f"{service['name']}/scaling" for service in services if service["autoscaled"]}
    while True:
        try:
            autoscalers = dicts((cluster.find(autoscaler_claims.HPA_PATH.format(namespace)) or {}).get("items"))
        except ApiError as error:
            if error.status != 403:
                raise
            return [], [{"id": f"{service['name']}/scaling", "why": "this account has no permission to list autoscalers"} for service in services]
        claims = autoscaler_claims.judge(autoscalers, services, cluster.clock.now() - start)
        # A new autoscaler reports no conditions until it has read its metrics.
        in_progress = patient or autoscaler_claims.recently_created(autoscalers, services, cluster.server_time(), wait)
        lacking = {f"{entry['id']}:": entry["evidence"] for entry in claims if entry["id"] in planned and not entry["ok"]}
        if not lacking or not in_progress or cluster.clock.now() - start >= wait:
            break
        progress.report(cluster.clock.now() - start, lacking)
        cluster.clock.sleep(min(1.0, max(0.0, start + wait - cluster.clock.now())))
    if not all(entry["ok"] for entry in claims):
        claims = autoscaler_claims.judge(autoscalers, services, cluster.clock.now() - start, autoscaler_claims.keda_messages(_events(cluster, namespace)))
    return claims, []


def _events(cluster: Cluster, namespace: str) -> list[t.Any]:
    """Warnings of KEDA; none where this account may not read events. Raises ClusterError."""
    try:
        return dicts((cluster.find(autoscaler_claims.EVENTS_PATH.format(namespace), autoscaler_claims.KEDA_WARNINGS) or {}).get("items"))
    except ApiError as error:
        if error.status != 403:
            raise
        return []
