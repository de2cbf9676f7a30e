# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Lease (coordination.k8s.io/v1) that one run at a time holds for an instance. All times are those of the API server's clock."""

from __future__ import annotations

import time

from ..common.objects import Facts, get_path, moment, number, text
from ..common.text import one_line
from .client import Cluster
from .errors import ApiError

DURATION = 30  # seconds after its last renewal after which a Lease has expired
EVERY = 10.0  # seconds between two renewals
API_VERSION = "coordination.k8s.io/v1"


class Lease:
    """The Lease of a name. holder: the holder to write into it, as others read it."""

    def __init__(self, cluster: Cluster, namespace: str, name: str, holder: str) -> None:
        self._cluster, self._name, self._holder = cluster, name, holder
        self._list = f"/apis/{API_VERSION}/namespaces/{namespace}/leases"
        self._path = f"{self._list}/{name}"

    def take(self) -> str:
        """Acquire it, where it is free or expired: empty once this holder has it, else who has it and since when. Raises ClusterError."""
        while True:
            lease = self._cluster.find(self._path)
            try:
                if lease is None:
                    self._cluster.request("POST", self._list, body=self._body({}), again=True)
                elif self._is_own(lease):
                    self._renew(lease)
                elif self._is_free(lease):
                    self._write(lease, self._body(lease))
                else:
                    return _holder(lease)
                return ""
            except ApiError as exc:
                if exc.status != 409:  # another run was faster
                    raise

    def renew(self) -> bool:
        """Renew it, where this holder has it. Whether it has. Raises ClusterError."""
        lease = self._cluster.find(self._path)
        if lease is None or not self._is_own(lease):
            return False
        self._renew(lease)
        return True

    def release(self) -> bool:
        """Delete it, where this holder has it. Whether it had. Raises ClusterError."""
        lease = self._cluster.find(self._path)
        if lease is None or not self._is_own(lease):
            return False
        self._cluster.delete(self._path, body={"preconditions": {"resourceVersion": lease["metadata"]["resourceVersion"]}})
        return True

    def _renew(self, lease: Facts) -> None:
        self._write(lease, {"spec": {"renewTime": self._now()}})

    def _write(self, lease: Facts, change: Facts) -> None:
        metadata = {**(change.get("metadata") or {}), "resourceVersion": lease["metadata"]["resourceVersion"]}
        self._cluster.request("PATCH", self._path, body={**change, "metadata": metadata}, content_type="application/merge-patch+json")

    def _body(self, lease: Facts) -> Facts:
        now, times = self._now(), number(get_path(lease, "spec", "leaseTransitions"))
        spec = {"holderIdentity": self._holder, "leaseDurationSeconds": DURATION, "acquireTime": now, "renewTime": now}
        return {
            "apiVersion": API_VERSION,
            "kind": "Lease",
            "metadata": {"name": self._name, "labels": {"app.kubernetes.io/managed-by": "llm_d.inference"}},
            "spec": {**spec, "leaseTransitions": times + bool(lease)},
        }

    def _is_own(self, lease: Facts) -> bool:
        return text(get_path(lease, "spec", "holderIdentity")) == self._holder

    def _is_free(self, lease: Facts) -> bool:
        renewed, duration = moment(get_path(lease, "spec", "renewTime")), number(get_path(lease, "spec", "leaseDurationSeconds"))
        late = renewed is None or self._cluster.server_time() - renewed.timestamp() > (duration or DURATION)
        return late or not get_path(lease, "spec", "holderIdentity")

    def _now(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(self._cluster.server_time()))


def _holder(lease: Facts) -> str:
    return f"{one_line(text(get_path(lease, 'spec', 'holderIdentity')), 160)}, since {text(get_path(lease, 'spec', 'acquireTime'))[:19]}Z"
