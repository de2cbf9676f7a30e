# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures that run a module in the process of its test."""

from __future__ import annotations

import json

import kubernetes.client
import pytest
from ansible.module_utils import _internal
from ansible.module_utils.common import warnings
from ansible.module_utils.common.parameters import PASS_VARS
from ansible.module_utils.testing import patch_module_args
from ansible_collections.llm_d.inference.plugins.module_utils.common.clock import SYSTEM
from ansible_collections.llm_d.inference.plugins.module_utils.inference import health
from fake_clock import FakeClock

try:
    from ansible.module_utils import secrets
    from ansible.module_utils._internal._secrets import SecretMasker
except ImportError:  # before ansible-core 2.22, whose modules mask secrets themselves
    secrets = SecretMasker = None

NEW_SECRETS = "_ansible_new_secrets"  # key of the secrets that a module of 2.22 adds for Ansible to mask; Ansible removes it from the result


def user_output(*results: object) -> str:
    """Results of modules as displayed to a user, as JSON: Ansible masks the secrets that modules register, from 2.22 on when it displays the results."""
    text = json.dumps([{**each, NEW_SECRETS: None} if isinstance(each, dict) else each for each in results])
    return str(secrets.mask_secrets(text)) if secrets else text


@pytest.fixture(name="clock")
def clock_of_the_system(monkeypatch):
    """The clock of this process, which advances only by sleeps. A last check may take as long as any other."""
    clock = FakeClock()
    for each in ("now", "sleep"):
        monkeypatch.setattr(SYSTEM, each, getattr(clock, each))
    monkeypatch.setattr(health, "LAST_CHECK", 60.0)
    return clock


@pytest.fixture(name="call")
def call_module(capsys, monkeypatch):
    """A function that runs a module as Ansible does, and returns its result."""
    # If other tests have loaded the controller's side, a warning would go to the display instead of the result.
    monkeypatch.setattr(_internal, "is_controller", False)
    monkeypatch.setattr(warnings, "_global_warnings", {})
    if secrets:
        # The process of a module starts without secrets; those of another test would mask text that this one searches for.
        for name, value in vars(SecretMasker()).items():
            monkeypatch.setattr(secrets._secret_masker, name, value)
    # The token of a kubeconfig that another test loaded would be used for a connection by host and key.
    kubernetes.client.Configuration.set_default(None)

    # The invocation is in each result of ansible-core before 2.21, and in that of later ones on request.
    invocation = {"_ansible_inject_invocation": True} if "inject_invocation" in PASS_VARS else {}

    def call(module, check=False, **options):
        with patch_module_args({**options, **invocation, "_ansible_check_mode": check}), pytest.raises(SystemExit):
            module.main()
        result = json.loads(capsys.readouterr().out)
        result.pop(NEW_SECRETS, None)
        return result

    return call
