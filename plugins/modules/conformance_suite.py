# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: conformance_suite
short_description: Run the conformance suite of the Gateway API inference extension
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Checks that the cluster has what the suite needs, runs the suite's program, and writes C(report.yaml), which is the suite's own report, C(output.log)
    and C(conformance.md) into a folder.
  - The suite creates two namespaces, C(inference-conformance-infra) and C(inference-conformance-app-backend), with two Gateways, five endpoint pickers and
    servers. They are deleted at the end, also when the run is interrupted, and before a run when one that was killed has left them.
  - A namespace that holds any object other than those of the suite, which its program lists, and ours stays, and the reason is returned.
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.options.conformance_suite
  - llm_d.inference.attributes.no_diff
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Checks what the suite needs, or with O(remove) what keeps its namespaces. Runs and deletes nothing.
notes:
  - Needs a kubeconfig, which it passes to the program, with O(context) as its current context.
"""

EXAMPLES = r"""
- name: Run the suite
  llm_d.inference.conformance_suite:
    path: artifacts/conformance
    program: /usr/local/bin/conformance
    gateway_class: envoy-gateway
"""

RETURN = r"""
ok:
  description: Whether the suite ran to its end and no test failed.
  returned: when the suite ran
  type: bool
  sample: true
summary:
  description: How many tests passed, failed and were skipped.
  returned: when the suite ran
  type: str
  sample: "15 tests: 15 passed, 0 failed, 0 skipped"
tests:
  description:
    - Each test with its C(name), C(result), C(seconds), C(why) it failed or was skipped, and the cause where the provider is C(known) to fail it.
  returned: when the suite ran
  type: list
  elements: dict
  sample:
    - {name: InferencePoolAccepted, result: passed, seconds: 1.2, why: "", known: ""}
gateway_class:
  description: The GatewayClass.
  returned: when the suite ran
  type: str
  sample: envoy-gateway
seconds:
  description: How long it took.
  returned: when the suite ran
  type: float
  sample: 94.1
suite:
  description: Version of the suite; empty where its program does not say.
  returned: when the suite ran
  type: str
  sample: v1.6.0
crds:
  description: Version of the CRD of InferencePools.
  returned: when the suite ran
  type: str
  sample: v1.6.0
mismatches:
  description: How the versions of CRDs differ from that of the suite, and from each other.
  returned: when the suite ran
  type: list
  elements: str
  sample: []
kept:
  description: Why namespaces of the suite stay, for people.
  returned: when the suite ran, and with O(remove)
  type: list
  elements: str
  sample: []
lacking:
  description: What the cluster lacks.
  returned: when it lacks something
  type: list
  elements: str
  sample: [there is no GatewayClass envoy-gateway]
"""

import json
import os
import tempfile
import typing as t
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.benchmark.execute import progress_writer
from ..module_utils.common.module_options import argument_spec
from ..module_utils.conformance.report import known_failures, notes, page
from ..module_utils.conformance.suite import Conformance
from ..module_utils.k8s.client import auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.validation.options import CONFORMANCE_SUITE


def kubeconfig_of(module: t.Any, folder: str) -> str:
    """The program's KUBECONFIG: the given file, behind one in `folder` that names the given context. Raises ValueError."""
    usual = os.path.join(os.environ.get("HOME", ""), ".kube/config")
    given = module.params["kubeconfig"] or os.environ.get("K8S_AUTH_KUBECONFIG") or os.environ.get("KUBECONFIG") or usual
    path = Path(given) if isinstance(given, str) else None
    if module.params["host"] or not path or not path.is_file():
        raise ValueError("the suite connects by a kubeconfig in a file: write its path in llm_d_kubeconfig")
    if not module.params["context"]:
        return str(path.absolute())
    first = Path(folder) / "context"
    first.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": module.params["context"]}), encoding="utf-8")
    return f"{first}:{path.absolute()}"  # of several files the first that names a context decides


def flags(options: t.Mapping[str, t.Any], folder: str) -> list[str]:
    """The suite's arguments. Writes a file of options into `folder` where it has to wait for other times than its own."""
    arguments = ["-test.v", f"-gateway-class={options['gateway_class']}", f"-report-output={Path(options['path']) / 'report.yaml'}"]
    if options["other_crds"]:
        arguments.append("-allow-crds-mismatch")
    if options["wait"]:
        options_file = Path(folder) / "options.yaml"
        nanoseconds = options["wait"] * 10**9
        times = dict.fromkeys(["maxTimeToConsistency", "httpRouteMustHaveCondition", "routeMustHaveParents"], nanoseconds)
        options_file.write_text(json.dumps({"timeoutConfig": times}), encoding="utf-8")
        arguments.append(f"-conformance-options-file={options_file}")
    return [*arguments, *options["arguments"]]


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={**auth_spec(), **argument_spec(CONFORMANCE_SUITE)}, supports_check_mode=True)
    options = module.params
    folder = Path(options["path"])
    try:
        with tempfile.TemporaryDirectory() as private:
            environment = {**os.environ, "KUBECONFIG": kubeconfig_of(module, private)}
            command, say = [options["program"], *flags(options, private)], progress_writer(options["progress_path"]) or (lambda line: None)
            suite = Conformance(connect(module), command, environment, folder / "output.log", say, options["placeholder"])
            if options["remove"]:
                kept = suite.remove(wait=True, dry_run=module.check_mode)
                module.exit_json(changed=False, kept=[line for place in kept for line in place.lines])
            state = suite.check(options["gateway_class"])
            missing = [*state["lacking"], *([] if options["other_crds"] else state["mismatches"])]
            if missing:
                module.fail_json(msg="The suite cannot run here:\n" + "\n".join(f"  - {line}" for line in missing), lacking=missing)
            if module.check_mode:
                module.exit_json(changed=False, msg="check mode: the suite was not run")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "report.yaml").unlink(missing_ok=True)  # of an earlier run
            known = known_failures(options["provider"], options["provider_version"]) if state["controller"] == options["provider_controller"] else {}
            result = {**suite.run(options["gateway_class"], options["timeout"], known), **{key: state[key] for key in ("suite", "crds", "mismatches")}}
        subject = f"The suite of the Gateway API inference extension against GatewayClass `{result['gateway_class']}`"
        (folder / "conformance.md").write_text(page(result, "Conformance of the gateway", subject, notes(result)), encoding="utf-8")
    except (ClusterError, OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
