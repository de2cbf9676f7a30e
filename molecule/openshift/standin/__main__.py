"""Stand-ins for the parts of OpenShift that the local cluster lacks.

shape: CRDs and objects. run: controllers and servers, until stopped. seal: the rules, after which only the ingress operator writes the Gateway API.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
import traceback
import typing as t
from pathlib import Path

from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder

ROOT = Path(__file__).resolve().parents[3]
_AnsibleCollectionFinder(paths=[str(ROOT / "collections")])._install()  # the checkout is the collection
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "tests")]

import gateways  # noqa: E402
import gpus  # noqa: E402
import namespaces  # noqa: E402
import olm  # noqa: E402
import shape  # noqa: E402
from api import Api  # noqa: E402

PAUSE = 0.5


def run(kubeconfig: Path, folder: Path) -> None:
    """Run each controller in its own thread, until a signal arrives or the cluster's kubeconfig is removed."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_given: stopped.set())
    namespaces.serve(Api(str(kubeconfig)), folder)
    gpus.serve_metrics()
    for step in (namespaces.step, gateways.step, olm.step, gpus.step):
        threading.Thread(target=loop, args=(step, Api(str(kubeconfig)), stopped), daemon=True).start()
    while not stopped.wait(2) and kubeconfig.exists():
        pass


def loop(step: t.Callable[[Api], None], api: Api, stopped: threading.Event) -> None:
    """Repeat a step; an error is printed and the step repeated, as controllers do."""
    while not stopped.wait(PAUSE):
        try:
            step(api)
        except Exception:
            print(time.strftime("%X"), traceback.format_exc(limit=3), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("what", choices=("shape", "run", "seal"))
    given = parser.parse_args()
    if given.what == "run":
        run(given.kubeconfig, given.folder)
    elif given.what == "shape":
        shape.shape(Api(str(given.kubeconfig)), given.folder)
    else:
        shape.seal(Api(str(given.kubeconfig)), given.folder)


if __name__ == "__main__":
    main()
