# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/preflight.yml hands on how long the user's file has it wait for what is missing.

What is waited for: tests/unit/plugins/modules/test_cluster_preflight.py.
"""

from __future__ import annotations

import json
import re
import sys

import plays
import pytest
from local_servers import closed_port


@pytest.mark.parametrize("wait", [0, 1])
def test_it_waits_as_long_as_the_file_says(tmp_path, wait):
    plays.kubeconfig(tmp_path / "config", f"http://127.0.0.1:{closed_port()}")
    here = {"llm_d_kubeconfig": str(tmp_path / "config"), "llm_d_artifacts_dir": str(tmp_path), "ansible_python_interpreter": sys.executable}
    user = {**here, "llm_d_preflight": {"wait": wait}}
    done = plays.run("-i", "localhost,", "-c", "local", "playbooks/preflight.yml", "-vvv", "-e", json.dumps(user), no_proxy="*")
    assert done.returncode == 2 and "connection refused" in done.stdout, done.stdout + done.stderr
    assert re.findall(r"^ +timeout: (\d+)$", done.stdout.partition("invocation:")[2], re.MULTILINE) == [str(wait)], done.stdout
