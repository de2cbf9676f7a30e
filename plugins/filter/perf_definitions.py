# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: perf_definitions
author:
  - llm_d.inference contributors (@llm-d)
short_description: Make a measurement of vllm_perf into a Job
version_added: 0.1.0
description:
  - For servers and gateways that only the cluster reaches. Takes the options of M(llm_d.inference.vllm_perf) and returns a ConfigMap with the load client,
    which is one file, a Secret with the options, and a Job that runs it.
  - The Job prints the progress on standard error and the result, one line of JSON, on standard output. What it prints last is the result.
  - The names of the objects end with a hash of the measurement, since a Job cannot be changed.
options:
  _input:
    description: Options of M(llm_d.inference.vllm_perf), without O(baseline), O(artifacts) and O(ca_path), which name files.
    type: dict
    required: true
  name:
    description: What the names of the objects begin with.
    type: str
    required: true
  namespace:
    description: Where they come.
    type: str
    required: true
  image:
    description: Any image with C(python3), from 3.11 on.
    type: str
    required: true
  labels:
    description: Labels of all of them.
    type: dict
    default: {}
  timeout:
    description: Seconds after which the Job is ended.
    type: float
    default: 3600
  resources:
    description: Resources of its container.
    type: dict
  image_pull_secrets:
    description: Names of Secrets for the image.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Measure the gateway from inside the cluster
  kubernetes.core.k8s:
    definition: "{{ options | llm_d.inference.perf_definitions(name='perf', namespace='llm-d', image='python:3.12-slim') }}"
    wait: true
  vars:
    options:
      url: http://llm-d-gateway.llm-d.svc
      model: llama-8b
      stages:
        - {concurrency: 64, seconds: 60}
"""

RETURN = r"""
_value:
  description: A ConfigMap, a Secret and a Job.
  type: list
  elements: dict
  sample:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: perf-1f0c22ab, namespace: llm-d}}
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.llm_d.inference.plugins.module_utils import perf_bundle, perf_job, perf_spec
from ansible_collections.llm_d.inference.plugins.module_utils.perf_definitions import definitions
from ansible_collections.llm_d.inference.plugins.plugin_utils.user_file import plain


def perf_definitions(options: t.Any, name: str, namespace: str, image: str, **more: t.Any) -> list[dict[str, t.Any]]:
    """The objects of one measurement."""
    try:
        params = perf_spec.complete(plain(options))
        text = perf_job.read(params).workload
        return definitions(params, perf_bundle.bundle(), {"name": str(name), "namespace": str(namespace), "image": str(image), **plain(more)}, text)
    except (ValueError, TypeError) as error:
        raise AnsibleFilterError(f"perf_definitions: {error}") from error


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"perf_definitions": perf_definitions}
