# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The argument spec of `vllm_perf`, and the same for options that come from elsewhere, such as the user's file."""

from __future__ import annotations

import collections.abc as c
import contextlib
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..common.masking import REGISTERS
from ..http import tls
from ..inference import api_keys

STAGE = {"concurrency": {"type": "int"}, "rate": {"type": "float"}, "to_rate": {"type": "float"}, "seconds": {"type": "float"}, "requests": {"type": "int"}}
LADDER = {
    "rate": {"type": "float", "default": 1},
    "factor": {"type": "float", "default": 2},
    "rate_max": {"type": "float"},
    "seconds": {"type": "float", "default": 30},
    "most": {"type": "int", "default": 12},
}
WORKLOAD = {
    "kind": {"type": "str", "choices": ["random", "shared_prefix", "chats", "trace", "prompts"], "default": "random"},
    "input_len": {"type": "int", "default": 64},
    "input_len_max": {"type": "int"},
    "output_len": {"type": "int", "default": 16},
    "output_len_max": {"type": "int"},
    "groups": {"type": "int", "default": 24},
    "prompts_per_group": {"type": "int", "default": 5},
    "system_prompt_len": {"type": "int", "default": 1500},
    "question_len": {"type": "int", "default": 40},
    "turns": {"type": "int", "default": 5},
    "turns_max": {"type": "int"},
    "think_seconds": {"type": "float", "default": 0},
    "path": {"type": "path"},
    "format": {"type": "str", "choices": ["mooncake", "burstgpt"], "default": "mooncake"},
    "block_len": {"type": "int", "default": 512},
    "speed": {"type": "float", "default": 1},
    "requests": {"type": "int"},
}
JOB = {
    "namespace": {"type": "str", "required": True},
    "image": {"type": "str", "required": True},
    "name": {"type": "str", "default": "perf"},
    "labels": {"type": "dict", "default": {}},
    "timeout": {"type": "float", "default": 3600},
    "start_timeout": {"type": "float", "default": 300},
    "resources": {"type": "dict"},
    "image_pull_secrets": {"type": "list", "elements": "str", "default": [], "no_log": False},
    "run_as_user": {"type": "int", "default": 65532},
}
SPEC = {
    "url": {"type": "str"},
    "gateway": {
        "type": "dict",
        "options": {"namespace": {"type": "str", "required": True}, "name": {"type": "str", "required": True}, "listener": {"type": "str"}},
    },
    "service": {
        "type": "dict",
        "options": {"namespace": {"type": "str", "required": True}, "name": {"type": "str", "required": True}, "port": {"type": "int", "required": True}},
    },
    "path": {"type": "str", "default": ""},
    "wait": {"type": "float", "default": 30},
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
    "job": {"type": "dict", "options": JOB},
    "model": {"type": "str"},
    "models": {"type": "list", "elements": "dict", "options": {"name": {"type": "str", "required": True}, "weight": {"type": "float", "default": 1}}},
    "api": {"type": "str", "choices": ["completions", "chat_completions"], "default": "completions"},
    "stream": {"type": "bool", "default": True},
    "ignore_eos": {"type": "bool", "default": True},
    "temperature": {"type": "float", "default": 0},
    "extra_body": {"type": "dict", "default": {}},
    # The module hides the credentials among them; the log of an older ansible-core is written before it can.
    "headers": {"type": "dict", "default": {}, "no_log": not REGISTERS},
    "host_header": {"type": "str"},
    "api_key": {"type": "str", "no_log": True},
    "api_key_secret": api_keys.SECRET,
    **tls.SPEC,
    "workload": {"type": "dict", "default": {}, "options": WORKLOAD},
    "stages": {"type": "list", "elements": "dict", "default": [], "options": STAGE},
    "warmup": {"type": "dict", "options": STAGE},
    "sweep": {"type": "dict", "options": LADDER},
    "search": {"type": "dict", "options": {**LADDER, "tolerance": {"type": "float", "default": 0.05}}},
    "arrivals": {"type": "str", "choices": ["poisson", "constant"], "default": "poisson"},
    "seed": {"type": "int", "default": 42},
    "nonce": {"type": "str"},
    "request_timeout": {"type": "float", "default": 300},
    "in_flight": {"type": "int", "default": 10000},
    "pause": {"type": "float", "default": 1},
    "processes": {"type": "int"},
    "max_lag": {"type": "float", "default": 0.1},
    "max_lag_share": {"type": "float", "default": 0.1},
    "slo": {"type": "dict", "default": {}},
    "goodput": {"type": "dict", "default": {}},
    "baseline": {"type": "path"},
    "baseline_max_ratio": {"type": "float"},
    "about": {"type": "dict", "default": {}},
    "artifacts": {"type": "path"},
    "progress_path": {"type": "path"},
}
EXCLUSIVE = [("url", "gateway", "service"), ("api_key", "api_key_secret"), ("model", "models"), ("stages", "sweep", "search")]
ONE_OF = [("url", "gateway", "service"), ("model", "models")]
REQUIRED_BY = {"baseline_max_ratio": ["baseline"], **tls.REQUIRED_BY}


def complete(options: c.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The options with every default, as the module gets them. Raises ValueError with all problems."""
    found = ArgumentSpecValidator(SPEC, mutually_exclusive=EXCLUSIVE, required_one_of=ONE_OF, required_by=REQUIRED_BY).validate(dict(options))
    if found.error_messages:
        raise ValueError("; ".join(found.error_messages))
    params: dict[str, t.Any] = found.validated_parameters
    numbers(params)
    return params


def numbers(params: dict[str, t.Any]) -> None:
    """Make numbers of the values of `slo` and `goodput` in place where they are texts, as values from templates are. All else stays."""
    for name in ("slo", "goodput"):
        for key, value in params[name].items():
            if not isinstance(value, str):
                continue  # true is no number, whatever float makes of it
            with contextlib.suppress(TypeError, ValueError):
                params[name][key] = float(value)
