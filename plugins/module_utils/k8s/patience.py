# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a request to an API server is repeated that fails for a reason that may pass: one rule for this collection's requests and kubernetes.core's.

An API server is replaced, sheds load or is cut off by a proxy for some seconds in the middle of a run. One that has accepted a request in the same run is
the right one, so these seconds are waited for. Where none has been accepted, an address at which nothing answers is a mistake, which is reported at once.
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

CONNECT_TIMEOUT, READ_TIMEOUT = 10.0, 60.0  # seconds: to connect, between two bytes
PAUSE, LONGEST_PAUSE = 0.5, 10.0  # seconds between two tries; as long as Retry-After requests, up to the longer one
PATIENCE = 30.0  # seconds for which every module repeats a request
SILENCE = 60.0  # seconds for which a module that waits does so
WARN_AFTER = 5.0  # seconds of failures after which a warning explains the delay
FOLDER = "LLM_D_RUN_FOLDER"  # the environment variable with the path of a folder of the run, in which its modules mark the API servers that accept them
# Paths of requests that change nothing, whatever their method.
_REVIEWS = ("/apis/authorization.k8s.io/", "/apis/authentication.k8s.io/")


def _itself(exc: Exception) -> ClusterError | None:
    return exc if isinstance(exc, ClusterError) else None


class Patience:
    """The patience with one API server. Thread-safe. url: its own, or that of a request to it; credentials: see `credentials_of`."""

    def __init__(self, url: str, clock: Clock = SYSTEM, credentials: str = "") -> None:
        self._server = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        self._clock = clock
        self._until = 0.0
        self._spent = False
        self._server_mark, self._credentials_mark = _Mark(self._server), _Mark(self._server, credentials)
        self.reached = self.accepted

    @property
    def accepted(self) -> bool:
        """Whether the API server has accepted a request in this run."""
        return self._server_mark.made

    @property
    def credentials_accepted(self) -> bool:
        """Whether it has accepted a request with these credentials in this run."""
        return self._credentials_mark.made

    def be_patient(self, seconds: float) -> None:
        """From now on, for so long, a request is repeated for up to SILENCE seconds, though none was accepted before, and not beyond. For modules that wait."""
        self._until = self._clock.now() + seconds

    @property
    def left(self) -> float:
        """Seconds that `be_patient` still gives."""
        return self._until - self._clock.now()

    def repeated(self, repeatable: bool, once: Callable[[], Result], meaning: Meaning = _itself) -> Result:
        """The result of `once`, which is called again after a failure that may pass. Raises what it raises.

        repeatable: the request changes nothing, or the same when it is done twice; another one is repeated only where it has not been done.
        meaning: an exception as the ClusterError that it stands for; None for one that is not about the API server.
        """
        begin = self._clock.now()
        failure: ClusterError | None = None
        while True:
            try:
                result = once()
            except Exception as exc:
                first, failure = failure is None, meaning(exc)
                if isinstance(failure, ApiError) and failure.reason and failure.status < 500 and failure.status not in (401, 429):
                    self._accept()  # it processed the request
                if failure is None or not self._goes_on(failure, repeatable, begin, first):
                    raise
                requested = failure.retry_after if isinstance(failure, ApiError) else 0.0
                self._clock.sleep(min(max(PAUSE, requested), LONGEST_PAUSE))
            else:
                self._accept()
                if failure is not None and self._clock.now() - begin > WARN_AFTER:
                    warn(f"requests were repeated for {WARN_AFTER:g} s or longer, until this passed: {failure}")
                return result

    def _goes_on(self, failure: ClusterError, repeatable: bool, begin: float, first: bool) -> bool:
        if not may_pass(failure, self.reached):
            return False
        status = getattr(failure, "status", 0)
        undone = status == 429 or not isinstance(failure, (ApiError, CutError, LateError))
        if not repeatable and not undone:
            return False
        if begin < self._until:
            return self._clock.now() + PAUSE <= min(begin + SILENCE, self._until)
        # A 500 is most often that of a webhook, which only its owner mends; one of etcd passes with the choice of its next leader.
        if self._spent or not (self.accepted or status == 429) or status == 500 and "etcdserver" not in str(failure):
            return False
        if self._clock.now() + PAUSE <= begin + PATIENCE or first and isinstance(failure, LateError):
            return True
        self._give_up()
        return False

    def _accept(self) -> None:
        self.reached = True
        self._server_mark.make()
        self._credentials_mark.make()

    def _give_up(self) -> None:
        """Let later requests, such as those for the cause, fail without waiting."""
        self._spent = True
        self._server_mark.take_back()


def is_repeatable(method: str, path: str, query: t.Mapping[str, object] | None) -> bool:
    """Whether a request may be done twice. A creation may not: the second one fails for the object of the first."""
    return method != "POST" or path.startswith(_REVIEWS) or "dryRun" in (query or {})


def credentials_of(configuration: t.Any) -> str:
    """A text that identifies the credentials of a client's configuration. Secret."""
    certificate = b""
    with contextlib.suppress(OSError, TypeError):
        certificate = Path(configuration.cert_file).read_bytes()  # the client writes it to another file in each process
    return repr((configuration.api_key, configuration.username, configuration.password, certificate))


class _Mark:
    """A mark of a module for later modules of the run: an empty file, where the run has a folder. made: by this module, or by an earlier one.

    Its name discloses nothing to those who do not know the folder of the run, which is new in each.
    """

    def __init__(self, *of: str) -> None:
        folder = os.environ.get(FOLDER)
        self._path = Path(folder) / f"llm_d-accepted-{hashlib.sha256(repr((folder, of)).encode()).hexdigest()[:16]}" if folder else None
        self.made = bool(self._path and self._path.exists())

    def make(self) -> None:
        """Make it once."""
        if self._path and not self.made:
            with contextlib.suppress(OSError):
                self._path.touch(mode=0o600)
        self.made = True

    def take_back(self) -> None:
        """Remove it for later modules; for this one it stays made."""
        if self._path:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
