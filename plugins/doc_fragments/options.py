# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of modules whose argument spec is made of the same tables."""

from __future__ import annotations

import json

from ..module_utils.benchmark import argument_spec
from ..module_utils.common.module_options import documentation
from ..module_utils.inference import options as inference
from ..module_utils.local_cluster import options as local_cluster
from ..module_utils.schema.fields import argument_type
from ..module_utils.schema.scheduler import DECIDING
from ..module_utils.validation import options as validation


class ModuleDocFragment:
    """extends_documentation_fragment: llm_d.inference.options.NAME"""

    # with a type, since ansible-test requires literal texts where there is none
    CONFORMANCE_SUITE: str = documentation(validation.CONFORMANCE_SUITE)
    HOST_PREFLIGHT: str = documentation(local_cluster.HOST_PREFLIGHT)
    HOST_RESIDUE: str = documentation(local_cluster.HOST_RESIDUE)
    LOCAL_NETWORK: str = documentation(local_cluster.LOCAL_NETWORK)
    LOCAL_PKI: str = documentation(local_cluster.LOCAL_PKI)
    OCI_IMAGES: str = documentation(local_cluster.OCI_IMAGES)
    PICKER_CONFORMANCE: str = documentation(validation.PICKER)
    SCORER_CONFIG: str = json.dumps({"options": {name: {"description": field.description, **argument_type(field)} for name, field in DECIDING.items()}})
    STACK_VALIDATION: str = documentation(validation.STACK)
    VLLM_ADAPTERS: str = documentation(inference.ADAPTERS)
    VLLM_HEALTH: str = documentation(inference.HEALTH)
    VLLM_HEALTH_INFO: str = documentation(inference.HEALTH_INFO)
    VLLM_PERF: str = documentation(argument_spec.OPTIONS)
    VLLM_WARMUP: str = documentation(inference.WARMUP)
