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
except ImportError:  # before ansible-core 2.22, whose modules mask their own results
    secrets = SecretMasker = None

TOLD = "_ansible_new_secrets"  # what a module of 2.22 asks Ansible to mask; it takes this out of the result


def seen(*results: object) -> str:
    """What a user sees of results of modules: Ansible masks what they registered as secrets, from 2.22 on where it shows them."""
    text = json.dumps([{**each, TOLD: None} if isinstance(each, dict) else each for each in results])
    return str(secrets.mask_secrets(text)) if secrets else text


@pytest.fixture(name="clock")
def clock_of_the_system(monkeypatch):
    """The clock of all that waits in this process stands still but for sleeps. A last look may take as long as any other."""
    clock = FakeClock()
    for each in ("now", "sleep"):
        monkeypatch.setattr(SYSTEM, each, getattr(clock, each))
    monkeypatch.setattr(health, "LAST_LOOK", 60.0)
    return clock


@pytest.fixture(name="call")
def call_module(capsys, monkeypatch):
    """Runs a module as Ansible does; gives its result."""
    # Other tests have loaded the controller's side, where a warning would go to the display instead of the result.
    monkeypatch.setattr(_internal, "is_controller", False)
    monkeypatch.setattr(warnings, "_global_warnings", {})
    if secrets:
        # A module's process has registered no secrets yet; those of another test would mask what this one looks for.
        for name, value in vars(SecretMasker()).items():
            monkeypatch.setattr(secrets._secret_masker, name, value)
    # A kubeconfig that another test loaded would lend its token to a connection by host and key.
    kubernetes.client.Configuration.set_default(None)

    # What it was called with is in each result of an ansible-core before 2.21.
    own = {"_ansible_inject_invocation": True} if "inject_invocation" in PASS_VARS else {}

    def call(module, check=False, **options):
        with patch_module_args({**options, **own, "_ansible_check_mode": check}), pytest.raises(SystemExit):
            module.main()
        result = json.loads(capsys.readouterr().out)
        result.pop(TOLD, None)
        return result

    return call
