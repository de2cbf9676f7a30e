"""Generated files are not stale, and agree with the schema."""

from __future__ import annotations

import importlib.util
import json
import shutil
import typing as t
from pathlib import Path

import jsonschema
import pytest
import yaml

SIM: dict[str, t.Any] = {"name": "sim", "model": {"served_name": "llm-d/simulated-8b"}, "engine": {"type": "simulator"}}


def load(root: Path) -> t.Any:
    """tools/generate.py of a checkout, as a module."""
    spec = importlib.util.spec_from_file_location("generate", root / "tools/generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_generated_file_is_stale(root: Path) -> None:
    stale = [str(path.relative_to(root)) for path in load(root).stale()]
    assert not stale, f"run `make generate`: {stale}"


@pytest.mark.rest
def test_a_changed_spec_makes_its_readme_stale(root: Path, tmp_path: Path) -> None:
    for part in ("tools", "plugins", "docs", "inventories", "playbooks", "roles", "tests/golden"):
        shutil.copytree(root / part, tmp_path / part)
    assert load(tmp_path).stale() == []
    spec = tmp_path / "roles/gaie_scheduler/meta/argument_specs.yml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("for each model service its InferencePool", "for each model its InferencePool"), encoding="utf-8")
    assert [path.name for path in load(tmp_path).stale()] == ["README.md"]


def test_an_inventory_of_the_user_is_not_among_those_that_are_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise `make inventory` would make the golden files stale."""
    from plugins.module_utils.inventory.file import HOSTS
    from tools import manifests

    for name, hosts in (("shipped", "localhost\n"), ("mine", HOSTS), (".mine.partial", "")):
        (tmp_path / "inventories" / name).mkdir(parents=True)
        if hosts:
            (tmp_path / "inventories" / name / "hosts").write_text(hosts, encoding="utf-8")
    monkeypatch.setattr(manifests, "ROOT", tmp_path)
    assert manifests.names() == ["shipped"]


def test_the_endpoint_picker_page_describes_every_plugin() -> None:
    from plugins.module_utils.epp.catalog.plugins import PLUGINS
    from tools.endpoint_picker import MEANING, page, parameters

    assert set(MEANING) == {plugin.type for plugin in PLUGINS}
    assert [kind for kind in MEANING if f"| `{kind}` |" not in page()] == []
    assert [plugin.type for plugin in PLUGINS if plugin.params and f"### `{plugin.type}`" not in parameters()] == []


@pytest.fixture(name="schema")
def _schema(root: Path) -> jsonschema.Draft202012Validator:
    schema = json.loads((root / "docs/user-file.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_editors_take_our_own_files(root: Path, schema: jsonschema.Draft202012Validator) -> None:
    files = list(root.glob("inventories/*/group_vars/all/llm_d.yml"))
    assert files
    for path in files:
        schema.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "service",
    [
        {**SIM, "replicas": -1},
        {**SIM, "replcas": 1},
        {**SIM, "scheduler": {"preset": "balancd"}},
        {**SIM, "name": "Sim_1"},
        {"name": "sim"},
        {**SIM, "replicas": "four"},
        {**SIM, "engine": {"type": "simulator", "simulator": {"seed": "x"}}},
        {**SIM, "pod": {"runtimeClass": "nvidia"}},
        {**SIM, "pod": {"volumes": [{"name": "a", "secret": {"name": "b"}}]}},
        {**SIM, "container": {"name": "server"}},
        {**SIM, "tolerations": [{"key": "a", "effect": "NoShedule"}]},
    ],
)
def test_editors_refuse_what_the_plan_refuses(schema: jsonschema.Draft202012Validator, service: dict[str, t.Any]) -> None:
    assert not schema.is_valid({"llm_d_model_services": [service]})


@pytest.mark.parametrize(
    "variables",
    [
        {"llm_d_model_services": [{**SIM, "replicas": "{{ wanted }}"}]},
        {"llm_d_model_services": "{{ services }}"},
        {"llm_d_model_services": [{**SIM, "scheduler": None}]},
        {"my_own": 1, "llm_d_wait_timeout": 60},
        {"llm_d_model_services": [{**SIM, "pod": {"volumes": [{"name": "a", "$patch": "delete"}], "hostname": None}, "tolerations": [{"operator": "Exists"}]}]},
    ],
)
def test_editors_take_templates_empty_options_and_other_variables(schema: jsonschema.Draft202012Validator, variables: dict[str, t.Any]) -> None:
    schema.validate(variables)


def test_editors_refuse_a_misspelt_variable(schema: jsonschema.Draft202012Validator) -> None:
    assert not schema.is_valid({"llm_d_gatway": {}})


def test_the_argument_spec_holds_every_option(root: Path) -> None:
    from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import SERVICE

    spec = yaml.safe_load((root / "roles/model_service/meta/argument_specs.yml").read_text(encoding="utf-8"))
    options = spec["argument_specs"]["main"]["options"]["llm_d_model_services"]["options"]
    assert list(options) == list(SERVICE.options or {})
    assert options["engine"]["options"]["simulator"]["options"]["kv_cache_size"]["type"] == "raw", "Ansible refuses an empty text"
    assert options["scheduler"]["options"]["preset"]["choices"]
