# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repeats requests to an API server that fail for a reason that may pass. The same rule holds for this collection's requests and for those of kubernetes.core.

An API server that is replaced, sheds load or is cut off by a proxy is back after some seconds. Where it has accepted a request earlier in the same run, its
address is right, and requests wait for it. Where it has not, an address at which nothing answers is a mistake, which is reported at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import typing as t
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from ansible.module_utils.common.warnings import warn

from ..common.clock import SYSTEM, Clock
from .errors import ApiError, ClusterError, CutError, LateError, may_pass

Result = t.TypeVar("Result")
Meaning = Callable[[Exception], "ClusterError | None"]

CONNECT_TIMEOUT, READ_TIMEOUT = 10.0, 60.0  # seconds: to connect; between two bytes of a response
PAUSE, LONGEST_PAUSE = 0.5, 10.0  # seconds between two tries: the first, or what Retry-After requests, up to the second
PATIENCE = 30.0  # seconds for which a request is repeated
WAITING_PATIENCE = 60.0  # the same in a module that waits, see Patience.be_patient
WARN_AFTER = 5.0  # seconds of failures after which a warning explains the delay
FOLDER_VARIABLE = "LLM_D_RUN_FOLDER"  # environment variable: the path of the run's folder, in which its modules mark the API servers that accept them
# Paths under which a POST changes nothing: reviews of permissions and tokens.
_REVIEWS = ("/apis/authorization.k8s.io/", "/apis/authentication.k8s.io/")


def _itself(exc: Exception) -> ClusterError | None:
    return exc if isinstance(exc, ClusterError) else None


class Patience:
    """Repeats requests to one API server. Thread-safe. url: of the server, or of a request to it; credentials: as `credentials_of` returns them."""

    def __init__(self, url: str, clock: Clock = SYSTEM, credentials: str = "") -> None:
        self._server = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        self._clock = clock
        self._until = 0.0
        self._gave_up = False
        self._server_mark, self._credentials_mark = _Mark(self._server), _Mark(self._server, credentials)
        self.reached = self.accepted  # whether the API server has answered, if only with an error; Cluster sets it too

    @property
    def accepted(self) -> bool:
        """Whether the API server has accepted a request in this run, with any credentials."""
        return self._server_mark.made

    @property
    def credentials_accepted(self) -> bool:
        """Whether it has accepted a request with these credentials in this run."""
        return self._credentials_mark.made

    def be_patient(self, seconds: float) -> None:
        """For modules that wait: within the next `seconds`, repeat a request for up to WAITING_PATIENCE, even where the API server has accepted none before."""
        self._until = self._clock.now() + seconds

    @property
    def left(self) -> float:
        """Seconds that remain of those given to `be_patient`; negative when they are over."""
        return self._until - self._clock.now()

    def repeated(self, repeatable: bool, once: Callable[[], Result], meaning: Meaning = _itself) -> Result:
        """The result of `once`, which is called again after a failure that may pass. Raises the exception of its last call.

        repeatable: whether the request may be done twice; any other is repeated only where the API server has not processed it.
        meaning: returns the ClusterError that an exception stands for; None for an exception that is not about the API server.
        """
        begin = self._clock.now()
        failure: ClusterError | None = None
        while True:
            try:
                result = once()
            except Exception as exc:
                first, failure = failure is None, meaning(exc)
                if isinstance(failure, ApiError) and failure.reason and failure.status < 500 and failure.status not in (401, 429):
                    self._accept()  # the API server refused the request, but processed it
                if failure is None or not self._may_repeat(failure, repeatable, begin, first):
                    raise
                requested = failure.retry_after if isinstance(failure, ApiError) else 0.0
                self._clock.sleep(min(max(PAUSE, requested), LONGEST_PAUSE))
            else:
                self._accept()
                if failure is not None and self._clock.now() - begin > WARN_AFTER:
                    warn(f"a request was repeated for more than {WARN_AFTER:g} s, until this failure passed: {failure}")
                return result

    def _may_repeat(self, failure: ClusterError, repeatable: bool, begin: float, first: bool) -> bool:
        """Whether a request is sent again after a failure. begin: time of its first call, by the clock; first: whether this is its first failure."""
        if not may_pass(failure, self.reached):
            return False
        status = getattr(failure, "status", 0)
        unprocessed = status == 429 or not isinstance(failure, (ApiError, CutError, LateError))
        if not repeatable and not unprocessed:
            return False
        if begin < self._until:  # be_patient holds
            return self._clock.now() + PAUSE <= min(begin + WAITING_PATIENCE, self._until)
        # A 500 is most often that of a webhook, and waiting does not help; one of etcd passes when it has elected its next leader.
        if self._gave_up or not (self.accepted or status == 429) or status == 500 and "etcdserver" not in str(failure):
            return False
        # A read that timed out took longer than PATIENCE, and is repeated once.
        if self._clock.now() + PAUSE <= begin + PATIENCE or first and isinstance(failure, LateError):
            return True
        self._give_up()
        return False

    def _accept(self) -> None:
        self.reached = True
        self._server_mark.make()
        self._credentials_mark.make()

    def _give_up(self) -> None:
        """Let later requests fail at once, such as those that look for the cause. In a later module this ends with the first request that is accepted."""
        self._gave_up = True
        self._server_mark.take_back()


def is_repeatable(method: str, path: str, query: t.Mapping[str, object] | None) -> bool:
    """Whether a request may be done twice. A creation may not: the second one fails, since the object exists."""
    return method != "POST" or path.startswith(_REVIEWS) or "dryRun" in (query or {})


def credentials_of(configuration: t.Any) -> str:
    """A text that identifies the credentials of a client's configuration, and contains them: it is secret."""
    certificate = b""
    with contextlib.suppress(OSError, TypeError):
        certificate = Path(configuration.cert_file).read_bytes()  # the client writes it to another file in each process
    return repr((configuration.api_key, configuration.username, configuration.password, certificate))


class _Mark:
    """A mark that modules leave for later modules of the run: an empty file in the run's folder. Without a folder, only this module knows it.

    subject: what the mark is about; made: whether this module or an earlier one has made it. The name of the file is a hash with the path of the folder, which
    is new in each run, so that it discloses nothing to those who do not know the path.
    """

    def __init__(self, *subject: str) -> None:
        folder = os.environ.get(FOLDER_VARIABLE)
        self._path = Path(folder) / f"llm_d-accepted-{hashlib.sha256(repr((folder, subject)).encode()).hexdigest()[:16]}" if folder else None
        self.made = bool(self._path and self._path.exists())

    def make(self) -> None:
        """Make it once."""
        if self._path and not self.made:
            with contextlib.suppress(OSError):
                self._path.touch(mode=0o600)
        self.made = True

    def take_back(self) -> None:
        """Remove the file, for later modules; in this one the mark stays made."""
        if self._path:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
