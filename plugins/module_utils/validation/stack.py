# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of a plan over one connection: those that cannot disturb each other run side by side, requests through the gateway run alone."""

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

INTERVAL = 0.5  # seconds between two looks at objects that are not ready
PROMPT_TIMEOUT = 10.0  # seconds that a warm-up prompt may take: a long one that is in no cache takes its time
REQUEST_TIMEOUT, IMPATIENT_TIMEOUT = 10.0, 5.0
# Seconds for which a verdict alone waits for an answer, since a gateway hears within a few seconds of objects that are ready; and for the log of an endpoint
# picker that is ready, since that of one that has just become so may be late.
IMPATIENT_WAIT, IMPATIENT_LOG_WAIT = 5.0, 12.0


@dataclasses.dataclass(frozen=True)
class Waits:
    """How long checks wait. `wait`: seconds for answers, logs and autoscalers; `timeout`: for objects; `request_timeout`: of one request, or None.

    patient: whether what is not there may still come, as after a change; else only what is under way is waited for.
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
        """Seconds to wait for the gateway and each service. objects: what the wait for objects returned; those that will not be ready end all waiting."""
        return self.wait if self.patient else 0.0 if "failures" in objects else min(self.wait, IMPATIENT_WAIT)

    def metrics(self, arrival: float) -> float:
        """Seconds to wait for autoscalers. arrival: seconds that their metrics may take after a change, which is more than an answer takes."""
        return max(self.wait, arrival) if self.patient and self.wait else self.wait

    def scrape(self, routing: Facts, longest: float) -> float:
        """Seconds to wait for what Prometheus has scraped: what does not serve has nothing to scrape. routing: what the requests have shown."""
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
        """What each check has found, as verdict.assemble takes it; {msg} of one that failed as a whole."""
        with concurrent.futures.ThreadPoolExecutor(max_workers=len(CHECKS)) as pool:
            beside = pool.submit
            beside(self._check, "platform")
            self._check("objects")
            # Neither sends anything to a server.
            beside(self._check, "schedulers")
            beside(self._check, "security")
            # Before requests through the gateway, which may evict these prompts from a small cache.
            self._check("warmup")
            self._check("routing")
            # After them: a server that is its own gateway would count requests to it, and without requests counters and histograms have no series yet.
            beside(self._check, "servers")
            beside(self._check, "monitoring")
        return self._results

    def _check(self, name: str) -> None:
        if name not in self._names:
            return
        try:
            # Over the same connections, with a patience of its own.
            found: Facts = getattr(self, f"_{name}")(copy.copy(self._cluster))
        except Exception as error:  # pylint: disable=broad-except  # what fails is a claim, and the others are still made
            found = {"msg": str(error)}
        self._results[name] = found

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
        found = Warmup({"services": services, "request_timeout": self._waits.request_timeout or PROMPT_TIMEOUT}, cluster).run()
        return {"services": found, "seconds": round(cluster.clock.now() - start, 3)}

    def _routing(self, cluster: Cluster) -> Facts:
        limits = dataclasses.replace(self._limits, wait=self._waits.answer(self._results.get("objects", {})))
        return Proof({"gateway": targets.gateway(self._plan), "services": self._services}, cluster, limits).run()

    def _schedulers(self, cluster: Cluster) -> Facts:
        return schedulers(cluster, [service["scheduler"] for service in self._plan["services"]], self._waits.log, self._waits.patient)

    def _servers(self, cluster: Cluster) -> Facts:
        asked = {**defaults(HEALTH_INFO), "level": "metrics", "request_timeout": self._waits.request}
        return report.check_sets([{**asked, **group} for group in targets.of(self._plan)["servers"]], True, cluster)

    def _monitoring(self, cluster: Cluster) -> Facts:
        wanted = targets.monitoring(self._plan) or {}
        transport = UrlTransport(wanted["url"]) if wanted.get("url") else ServiceTransport(cluster, wanted["namespace"], wanted["service"], wanted["port"])
        seconds = self._waits.scrape(self._results.get("routing", {}), wanted["timeout"])
        check = MonitoringCheck(transport, wanted["services_namespace"], seconds, cluster.clock)
        return {"claims": [claim for found in cluster.parallel(check.service, wanted["services"]) for claim in found], "not_checked": []}

    def _security(self, cluster: Cluster) -> Facts:
        check = SecurityCheck(cluster, self._plan["namespace"], self._plan["scheduler_namespace"])
        judged = cluster.parallel(check.service, targets.security_services(self._plan))
        return {"claims": [entry for found, _skipped in judged for entry in found], "not_checked": [entry for _found, skipped in judged for entry in skipped]}


def schedulers(cluster: Cluster, pickers: c.Sequence[Facts], timeout: float, patient: bool) -> Facts:
    """What stack_claims.judge_schedulers takes: {schedulers: [{name, pods}] or failures: [{name, error}], seconds}. `pickers`: {namespace, name, config}.

    `timeout`: seconds; patient: whether a Deployment that is not ready is waited for. Raises ClusterError.
    """
    start = cluster.clock.now()
    places = [RolloutTarget(each["namespace"], each["name"], each["name"], "") for each in pickers]
    wanted = [(place, checksum(each["config"]), targets.parsed(each["config"])) for place, each in zip(places, pickers, strict=True)]
    outcomes = list(zip(places, settle(cluster, wanted, timeout, patient), strict=True))
    wrong = [{"name": place.name, "error": found.error if place.name in found.error else f"{place}: {found.error}"} for place, found in outcomes if found.error]
    kept = {"failures": wrong} if wrong else {"schedulers": [{"name": place.name, "pods": found.pods} for place, found in outcomes]}
    return {**kept, "seconds": round(cluster.clock.now() - start, 3)}


def platform(cluster: Cluster, needs: Facts, services: c.Sequence[Facts], wait: float, patient: bool, progress: str = "") -> Facts:
    """{claims, not_checked} about the cluster and the autoscalers of `services`, see platform_claims.judge and autoscaler_claims.judge.

    `wait`: seconds until autoscalers of the plan must work; patient: whether all of them are waited for, or only those younger than `wait`; progress: the
    file for progress lines, or empty. Raises ClusterError.
    """
    start = cluster.clock.now()
    facts = collect(cluster, needs, platform_claims.FACTS)
    claims, skipped = platform_claims.judge(facts, needs, cluster.clock.now() - start)
    more, left = _autoscalers(cluster, needs["namespace"], services, wait, patient, Progress(progress))
    return {"claims": claims + more, "not_checked": skipped + left}


def _autoscalers(
    cluster: Cluster, namespace: str, services: c.Sequence[Facts], wait: float, patient: bool, progress: Progress
) -> tuple[list[Facts], list[dict[str, str]]]:
    start = cluster.clock.now()
    cluster.be_patient(wait)
    ours = {f"{service['name']}/scaling" for service in services if service["autoscaled"]}
    while True:
        try:
            found = dicts((cluster.find(autoscaler_claims.PATH.format(namespace)) or {}).get("items"))
        except ApiError as error:
            if error.status != 403:
                raise
            return [], [{"id": f"{service['name']}/scaling", "why": "this account has no permission to list autoscalers"} for service in services]
        claims = autoscaler_claims.judge(found, services, cluster.clock.now() - start)
        # A new autoscaler reports no conditions until it has read its metrics.
        under_way = patient or autoscaler_claims.young(found, services, cluster.server_time(), wait)
        lacking = {f"{entry['id']}:": entry["evidence"] for entry in claims if entry["id"] in ours and not entry["ok"]}
        if not lacking or not under_way or cluster.clock.now() - start >= wait:
            break
        progress.report(cluster.clock.now() - start, lacking)
        cluster.clock.sleep(min(1.0, max(0.0, start + wait - cluster.clock.now())))
    if not all(entry["ok"] for entry in claims):
        claims = autoscaler_claims.judge(found, services, cluster.clock.now() - start, autoscaler_claims.told(_events(cluster, namespace)))
    return claims, []


def _events(cluster: Cluster, namespace: str) -> list[t.Any]:
    """Warnings of KEDA; none where this account may not read events. Raises ClusterError."""
    try:
        return dicts((cluster.find(autoscaler_claims.EVENTS.format(namespace), autoscaler_claims.OF_KEDA) or {}).get("items"))
    except ApiError as error:
        if error.status != 403:
            raise
        return []
