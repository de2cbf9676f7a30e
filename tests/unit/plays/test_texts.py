# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every playbook with all options of all roles, and the whole file, as strings, as surveys and -e pass them."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import plays
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.schema.fields import Field
from ansible_collections.llm_d.inference.plugins.plugin_utils.role_options import PLAYBOOKS, options_of
from keeping_api_server import PREPARED, KeepingApi
from local_servers import closed_port, serve
from plays import ROOT

Facts = dict[str, t.Any]
NAMES = sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml"))
# In check mode on an empty cluster, these fail with the missing thing; the others succeed.
LACKING = {
    "configure_awx": "CONTROLLER_HOST is not set",
    "conformance": "conformance_program is missing",
    "end_failed_change": "the change failed",
    "pin_images": "The digests of some images are not known",
    **dict.fromkeys(("ask_approval", "preflight", "prerequisites", "site", "watch"), "prerequisites are missing"),
}
# It runs on this host, which a unit test does not use.
LEFT_OUT = {"local_cluster"}
TYPES = ("derived from value of type", "Validation of arguments failed", "unable to convert", "is a string, not", "Traceback", "Unexpected templating type")
SERVICE = {"name": "sim", "model": {"served_name": "acme/sim"}, "engine": {"type": "simulator"}, "replicas": "2"}
SHARED = {**SERVICE, "route": {"weights": {"sim": "100", "next": "0"}}}
FILE = {
    "llm_d_model_services": [SHARED, {**SERVICE, "name": "next", "route": {"headers": {"x-next": "1"}}}],
    "llm_d_charts": {"envoy_gateway": "/charts"},
    "llm_d_adopt": "false",
    "llm_d_events": "",
    "llm_d_wait_timeout": "1",
    "llm_d_preflight": {"wait": "0", "images": "ignore"},
    "llm_d_benchmark": {"quick": "false", "rates": "1,2", "seconds": "1.5", "validate_certs": "True"},
}


def text(field: Field, value: t.Any) -> t.Any:
    """A value of an option as one string; for a list of mappings, which Ansible itself does not convert, a list with strings in it."""
    if field.type == "bool":
        return str(bool(value)).lower()
    if field.type in ("int", "float"):
        return str(1 if value is None else value)
    if field.type == "list" and field.elements and field.elements.type != "dict":
        return ",".join(value or [])
    return texts(value) if field.type == "list" else json.dumps(texts(value))


def texts(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {key: texts(item) for key, item in value.items()}
    return [texts(item) for item in value] if isinstance(value, list) else str(value)


def given() -> Facts:
    """{option: string} of all options that are not strings, by the argument specs, so that new ones are tested too."""
    options = {name: field for role in ROOT.glob("roles/*") if role.name != "objects" for name, field in options_of(role.name).items()}
    options |= {name: field for of in PLAYBOOKS.values() for name, field in of.items()}
    own = [name for name, field in options.items() if field.type in ("bool", "int", "float", "list", "dict") and not name.endswith(("_plan", "_runs"))]
    defaults = {name: text(options[name], options[name].default) for name in own}
    return {
        **defaults,
        "canary_steps": "10, 50",
        "canary_pause": "0",
        "teardown_confirmed": "true",
        "conformance_create_namespaces": "true",
        "watch_restore": "false",
        "validation_wait": "0",
    }


@pytest.fixture(name="play")
def run_playbook(tmp_path: Path) -> t.Callable[..., t.Any]:
    """A function that runs a playbook on an empty cluster and returns the process."""

    def run(name: str, *arguments: str, **variables: t.Any) -> t.Any:
        cluster = KeepingApi(ready=True)
        cluster.kept.update(PREPARED)
        with serve(cluster.answer) as api:
            plays.kubeconfig(tmp_path / "kubeconfig", api)
            here = {"llm_d_kubeconfig": str(tmp_path / "kubeconfig"), "llm_d_artifacts_dir": str(tmp_path / "artifacts")}
            there = {"export_path": str(tmp_path / "export"), "pin_images_file": str(tmp_path / "lock.yml"), "inventory_folder": str(tmp_path)}
            there |= {"inventory_kubeconfig": here["llm_d_kubeconfig"], "configure_awx_inventory_url": "https://git.example.com/stack.git"}
            everything = {**FILE, **here, **there, **given(), **variables}
            (tmp_path / "vars.json").write_text(json.dumps(everything), encoding="utf-8")
            return plays.run("-i", "localhost,", "-c", "local", f"playbooks/{name}.yml", "-e", f"@{tmp_path / 'vars.json'}", *arguments, HOME=str(tmp_path))

    return run


# Playbooks whose roles have options of these types; the others convert strings only in the file, which is tested without plays too.
TYPED = {"benchmark", "calibrate", "canary", "compare_scorers", "conformance", "diagnose", "diff", "export", "site", "validate", "watch"}


@pytest.mark.rest
@pytest.mark.parametrize("name", [name if name in TYPED else pytest.param(name, marks=pytest.mark.rest) for name in sorted({*NAMES} - LEFT_OUT)])
def test_every_playbook_accepts_all_options_as_strings(play: t.Callable[..., t.Any], name: str) -> None:
    done = play(name, "--check", llm_d_image_registry=f"127.0.0.1:{closed_port()}")
    output = done.stdout + done.stderr
    assert not [words for words in TYPES if words in output] and "mistake" not in output, output
    assert done.returncode == 0 or (name in LACKING and LACKING[name] in output), output


def test_every_option_is_a_text() -> None:
    assert len(given()) >= 40 and {name for name, value in given().items() if not isinstance(value, str)} == {"compare_stages"}


@pytest.mark.rest
def test_false_is_false(play: t.Callable[..., t.Any]) -> None:
    """A non-empty string is true for Jinja, and not a valid condition for ansible-core."""
    done = play("diagnose", diagnose_fail="false", diagnose_evidence="false", diagnose_requests="false")
    assert done.returncode == 0 and "most probable cause" in done.stdout, done.stdout + done.stderr


def test_true_is_true(play: t.Callable[..., t.Any]) -> None:
    done = play("diagnose", diagnose_fail="True", diagnose_requests="no")
    assert done.returncode == 2 and "Fail when there is a finding" in done.stdout and "[ERROR]: Task failed: Action failed: most probable" in done.stdout


@pytest.mark.rest
def test_a_validation_accepts_its_options_as_strings(play: t.Callable[..., t.Any]) -> None:
    done = play("validate", validation_timeout="1", validation_request_timeout="1", validation_performance="no", validation_report="yes")
    output = done.stdout + done.stderr
    assert done.returncode == 2 and "claims hold" in output and "sim/servers" in output and not [words for words in TYPES if words in output], output
