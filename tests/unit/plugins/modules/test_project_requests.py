# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Projects are requested once. OpenShift answers 403, not 404, for a project that does not exist."""

from __future__ import annotations

import json

import pytest
from ansible_collections.llm_d.inference.plugins.modules import project_requests
from local_servers import serve


@pytest.fixture(name="openshift")
def running():
    """An OpenShift with the project `mine` of ours and `theirs` of someone else; gives its URL and what was requested."""
    requested = []

    def status(code, message):
        return code, {}, json.dumps({"kind": "Status", "code": code, "message": message, "reason": "x"})

    def answer(_handler, method, path, body):
        name = path.rsplit("/", 1)[1]
        if method == "POST":
            name = json.loads(body)["metadata"]["name"]
            if name == "theirs":
                return status(409, 'project.project.openshift.io "theirs" already exists')
            requested.append(name)
            return 201, {}, json.dumps({"kind": "Project", "metadata": {"name": name}})
        if name in ("mine", *requested):
            return 200, {}, json.dumps({"kind": "Project", "metadata": {"name": name}})
        return status(403, f'projects.project.openshift.io "{name}" is forbidden')

    with serve(answer) as url:
        yield url, requested


def ask(call, openshift, *names, **more):
    return call(project_requests, host=openshift[0], api_key="sesame-open", names=list(names), **more)


def test_a_missing_project_is_requested_once(call, openshift):
    assert ask(call, openshift, "mine", "new")["requested"] == ["new"]
    again = ask(call, openshift, "mine", "new")
    assert not again["changed"] and openshift[1] == ["new"]


def test_check_mode_requests_no_project(call, openshift):
    result = ask(call, openshift, "new", check=True)
    assert result["changed"] and result["requested"] == ["new"] and not openshift[1]


def test_a_project_of_another_owner_is_reported(call, openshift):
    result = ask(call, openshift, "theirs")
    assert result["failed"] and "already exists" in result["msg"]
