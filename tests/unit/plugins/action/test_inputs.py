"""The inputs role in a real play: what the user sees, and that nothing runs after a mistake."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
from pathlib import Path

import plays
import pytest
import yaml

SIM: dict[str, t.Any] = {"name": "sim", "model": {"served_name": "llm-d/simulated-8b"}, "engine": {"type": "simulator"}}
CHARTS = {"llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"}}
TOUCHED = "the cluster has been touched"


class Play:
    """Runs a play of the inputs role and one task after it."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder

    def run(self, variables: dict[str, t.Any], *arguments: str, roles: t.Sequence[str] = ("llm_d.inference.inputs",)) -> subprocess.CompletedProcess[str]:
        """ansible-playbook with these play variables."""
        play = {
            "hosts": "localhost",
            "gather_facts": False,
            "vars": variables,
            "roles": list(roles),
            "tasks": [
                {"name": "Touch", "ansible.builtin.debug": {"msg": TOUCHED}},
                {"name": "Show", "ansible.builtin.debug": {"msg": "shown={{ shown | default() }}"}},
                {"name": "Plan", "ansible.builtin.debug": {"msg": "artifacts={{ lookup('llm_d.inference.plan').artifacts_dir }}"}},
            ],
        }
        (self.folder / "play.yml").write_text(yaml.safe_dump([play]), encoding="utf-8")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_COLLECTIONS_PATH": str(self.root / "collections"),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
        }
        command = [*plays.command(), "-i", "localhost,", "-c", "local", "play.yml", *arguments]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(name="play")
def _play(root: Path, tmp_path: Path) -> Play:
    return Play(root, tmp_path)


def test_all_mistakes_are_reported_together_before_any_change(play: Play) -> None:
    services = [
        {**SIM, "replicas": -1, "scheduler": {"preset": "balancd"}, "modle": {}},
        {**SIM, "name": "Sim_1"},
        {**SIM, "name": "c", "model": {"served_name": "{{ nowhere }}"}, "replicas": "four", "route": {"path": "/c"}},
    ]
    done = play.run({"llm_d_gatway": {"provider": "istio"}, "llm_d_gateway": {"provider": "envoy"}, "llm_d_model_services": services})
    shown = done.stdout + done.stderr
    assert done.returncode != 0
    assert TOUCHED not in shown and "Traceback" not in shown
    assert "8 mistakes in your llm_d_* variables. Nothing has been touched." in shown
    for line in (
        "  - llm_d_gateway.provider: 'envoy' is not known here. Did you mean 'envoy_gateway'? Write one of: envoy_gateway,",
        "  - llm_d_gatway: there is no such option. Did you mean 'llm_d_gateway'?",
        "  - llm_d_model_services[0].modle: there is no such option. Did you mean 'model'?",
        "  - llm_d_model_services[0].replicas: -1 is less than 0. Write a whole number, at least 0.",
        "  - llm_d_model_services[0].scheduler.preset: 'balancd' is not known here. Did you mean 'balanced'?",
        "  - llm_d_model_services[1].name: 'Sim_1' is not lower-case letters",
        "  - llm_d_model_services[2].model.served_name: '{{ nowhere }}' cannot be evaluated: 'nowhere' is undefined.",
        "  - llm_d_model_services[2].replicas: 'four' is a string, not a whole number. Write a whole number, at least 0.",
    ):
        assert line in shown, line


@pytest.mark.rest
def test_a_mapping_in_place_of_a_list_is_refused_in_one_line(play: Play) -> None:
    shown = play.run({**CHARTS, "llm_d_model_services": {"sim": SIM}}).stdout
    # It may hold secrets, in engine.env.
    assert "llm_d_model_services: (not shown) is a mapping" in shown and "is a mapping (key: value), not a list. Put '- ' in front of each element." in shown


@pytest.mark.rest
def test_an_undefined_variable_is_reported_once(play: Play) -> None:
    shown = play.run({**CHARTS, "llm_d_model_services": [{**SIM, "name": "{{ nowhere }}"}]}).stdout
    assert "1 mistake in your llm_d_* variables" in shown


@pytest.mark.rest
def test_a_variable_that_only_names_an_undefined_one(play: Play) -> None:
    shown = play.run({**CHARTS, "llm_d_model_services": "{{ nowhere }}"}).stdout
    assert "llm_d_model_services: '{{ nowhere }}' cannot be evaluated" in shown


def test_a_secret_is_not_shown(play: Play) -> None:
    done = play.run({**CHARTS, "llm_d_model_services": [{**SIM, "engine": {"type": "simulator", "env": {"HF_TOKEN": 31337, "OTHER": "half{{ nowhere }}"}}}]})
    assert "llm_d_model_services[0].engine.env.HF_TOKEN" in done.stdout
    assert "31337" not in done.stdout + done.stderr and "half{" not in done.stdout
    done = play.run({**CHARTS, "llm_d_model_services": [{**SIM, "engine": {"type": "simulator", "args": "--api-key=planted"}}]})
    assert "'--api-key=(removed)' is a string" in done.stdout and "planted" not in done.stdout + done.stderr, done.stdout


@pytest.mark.parametrize(
    "arguments", [(), ("--check", "--diff"), pytest.param(("--tags", "gaie_scheduler"), marks=pytest.mark.rest)], ids=["run", "check", "other_tags"]
)
def test_a_right_file_passes_and_the_check_is_never_left_out(play: Play, arguments: tuple[str, ...]) -> None:
    variables = {**CHARTS, "wanted": 4, "llm_d_model_services": [{**SIM, "replicas": "{{ wanted }}"}]}
    done = play.run(variables, *arguments, "-v")
    assert done.returncode == 0, done.stdout
    assert "changed=0" in done.stdout
    for fact in ("namespace: llm-d", "provider: envoy_gateway", "release: router-0.11", "- sim"):
        assert fact in done.stdout
    if not arguments or arguments[0] == "--check":
        assert TOUCHED in done.stdout


@pytest.mark.rest
def test_artifacts_lie_where_the_play_was_started(play: Play) -> None:
    assert f"artifacts={play.folder}/artifacts" in play.run({**CHARTS, "llm_d_model_services": [SIM]}).stdout


def test_braces_in_a_value_are_not_worked_out_twice(play: Play) -> None:
    service = {**SIM, "engine": {"type": "simulator", "args": ["{% raw %}--chat-template={{ x }}{% endraw %}"]}}
    done = play.run({**CHARTS, "llm_d_model_services": [service], "shown": "{{ lookup('llm_d.inference.plan').services[0].server.args[-1] }}"})
    assert "shown=--chat-template={{ x }}" in done.stdout, done.stdout


FILE = {**CHARTS, "llm_d_model_services": [SIM]}


MISTAKES = [
    ("diagnose_fial=true", "diagnose_fial: there is no such option. Did you mean 'diagnose_fail'?"),
    ("validation_quickly=true", "validation_quickly: there is no such option. Allowed here: validation_patient, validation_performance,"),
    ("diagnos_fail=true", "diagnos_fail: there is no such option. Did you mean 'diagnose_fail'?"),
    ("lm_d_scope=namespace", "lm_d_scope: there is no such option. Did you mean 'llm_d_scope'?"),
    ("watch_restor=false", "watch_restor: there is no such option. Did you mean 'watch_restore'?"),
    ("watch_restore=perhaps", "watch_restore: 'perhaps' is a string, not true or false. Write true or false."),
    ("validation_wait=four", "validation_wait: 'four' is a string, not a whole number. Write a whole number."),
    ("diagnose_request_timeout=5,5", "diagnose_request_timeout: '5,5' is a string, not a number."),
    ("diagnose_state=drfit", "diagnose_state: 'drfit' is not known here. Did you mean 'drift'? Write one of: present, drift."),
    ("local_cluster_extras=vllm,kwock", "local_cluster_extras[1]: 'kwock' is not known here. Did you mean 'kwok'?"),
    ('compare_warmup={"rate": "fast"}', "compare_warmup.rate: 'fast' is a string, not a number."),
]


def test_invalid_role_options_are_refused_together_before_any_change(play: Play) -> None:
    pairs = [extra.partition("=")[::2] for extra, _line in MISTAKES]
    done = play.run(FILE, *(part for name, value in pairs for part in ("-e", json.dumps({name: value}))))
    assert done.returncode != 0 and TOUCHED not in done.stdout
    assert f"{len(MISTAKES)} mistakes in your variables. Nothing has been touched." in done.stdout, done.stdout
    assert [line for _extra, line in MISTAKES if f"  - {line}" not in done.stdout] == [], done.stdout


def test_options_as_texts_and_variables_of_your_own_pass(play: Play) -> None:
    texts = {"diagnose_fail": "True", "validation_wait": "60", "compare_presets": "queue,prefix_aware", "compare_stages": '[{"rate": "2", "seconds": "5"}]'}
    own = {"replicas_of_mine": 3, "benchmark_owner": "me", "model_service_size": "large"}
    done = play.run({**FILE, **own}, "-e", json.dumps({**texts, "diagnose_request_timeout": "", "image_tag": "1"}))
    assert done.returncode == 0 and TOUCHED in done.stdout, done.stdout


@pytest.mark.rest
def test_a_misspelled_option_of_the_inventory_is_refused_too(play: Play) -> None:
    done = play.run({**FILE, "validation_wiat": 5, "diagnose_drift": {}, "validation_verdict": {}})
    assert done.returncode != 0 and "  - validation_wiat: there is no such option. Did you mean 'validation_wait'?" in done.stdout
    assert "1 mistake" in done.stdout


@pytest.mark.rest
def test_an_empty_text_that_ansible_refuses_is_refused_at_once(play: Play) -> None:
    """The role is in the play; Ansible itself would check its options only when the role begins."""
    done = play.run({**FILE}, "-e", "validation_wait=", roles=["llm_d.inference.inputs", "llm_d.inference.validation"])
    assert done.returncode != 0 and "  - validation_wait: is empty, and Ansible refuses an empty text for this option of a role" in done.stdout, done.stdout
    assert play.run({**FILE}, "-e", "validation_wait=").returncode == 0


def test_null_and_nested_empty_values_are_refused_before_a_role_begins(play: Play) -> None:
    given = {
        "validation_wait": None,
        "validation_timeout": None,
        "compare_workload": {"groups": "", "seed": None},
        "compare_stages": [{"rate": "2", "requests": " "}],
        "compare_warmup": '{"rate": ""}',
    }
    roles = ["llm_d.inference.inputs", "llm_d.inference.validation", "llm_d.inference.compare"]
    done = play.run({**FILE}, "-e", json.dumps(given), roles=roles)
    empty = [("validation_wait", "value"), *((path, "text") for path in ("compare_workload.groups", "compare_stages[0].requests", "compare_warmup.rate"))]
    lines = [f"  - {path}: is empty, and Ansible refuses an empty {word} for this option of a role" for path, word in empty]
    assert "4 mistakes in your variables" in done.stdout and [line for line in lines if line not in done.stdout] == [], done.stdout


def test_a_mistake_that_affects_options_of_several_roles_is_reported_once(play: Play) -> None:
    done = play.run({**FILE, "llm_d_state": "gone"}, roles=["llm_d.inference.inputs", "llm_d.inference.gaie_scheduler", "llm_d.inference.model_service"])
    assert "1 mistake in your llm_d_* variables" in done.stdout, done.stdout


@pytest.mark.parametrize("playbook", ["site", *(pytest.param(name, marks=pytest.mark.rest) for name in ("prerequisites", "scorers"))])
def test_a_play_that_creates_does_not_remove(playbook: str, tmp_path: Path) -> None:
    """With `llm_d_state: absent`, a creating play would delete the namespaces first, with all foreign objects in them, without confirmation."""
    nowhere = json.dumps({**FILE, "llm_d_state": "absent", "llm_d_kubeconfig": str(tmp_path / "config")})
    done = plays.run("-i", "localhost,", "-c", "local", f"playbooks/{playbook}.yml", "-e", nowhere)
    shown = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0 and "changed=0" in shown and "1 mistake in your llm_d_* variables. Nothing has been touched." in shown, shown
    assert "llm_d_state: 'absent': this play runs in the order of creation" in shown and "run playbooks/teardown.yml" in shown, shown


@pytest.mark.parametrize(("roles", "refused"), [
    (["model_service", "gateway_provider", "record", "prerequisites"], False),
    pytest.param(["model_service"], False, marks=pytest.mark.rest),
    pytest.param([("prerequisites", "preflight"), "model_service"], False, marks=pytest.mark.rest),
    (["prerequisites", "model_service"], True),
    pytest.param(["record", "model_service"], True, marks=pytest.mark.rest),
])  # fmt: skip
def test_a_play_of_the_users_removes_in_reverse_order(play: Play, roles: list[t.Any], refused: bool) -> None:
    """A role with a state of its own does not count."""
    named = [each if isinstance(each, str) else {"role": f"llm_d.inference.{each[0]}", f"{each[0]}_state": each[1]} for each in roles]
    full = [f"llm_d.inference.{each}" if isinstance(each, str) else each for each in named]
    done = play.run({**FILE, "llm_d_state": "absent"}, "--tags", "none-of-them", roles=["llm_d.inference.inputs", *full])
    assert bool(done.returncode) is refused and ("in the order of creation" in done.stdout) is refused, done.stdout


@pytest.mark.rest
@pytest.mark.parametrize(
    ("playbook", "misspelled", "right"),
    [
        ("inventory", "inventory_nmae", "inventory_name"),
        ("local_cluster", "local_cluster_stte", "local_cluster_state"),
        ("configure_awx", "configure_awx_inventory_path_", "configure_awx_inventory_path"),
    ],
)
def test_a_play_without_a_file_refuses_unknown_options(playbook: str, misspelled: str, right: str) -> None:
    required = ["-e", "configure_awx_inventory_url=https://git.example.com/stack.git"]
    done = plays.run("-i", "inventories/local", f"playbooks/{playbook}.yml", "-e", f"{misspelled}=absent", "-e", "llm_d_anything=1", *required)
    shown = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0 and "changed=0" in shown
    assert f"1 mistake in your variables. Nothing has been touched. - {misspelled}: there is no such option. Did you mean '{right}'?" in shown
