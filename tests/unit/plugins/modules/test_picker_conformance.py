# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the module. Its results are tested with real endpoint pickers: tests/contract/test_picker_conformance.py."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.module_options import defaults
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.picker_checks import CHECKS
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ClusterError
from ansible_collections.llm_d.inference.plugins.module_utils.validation.options import PICKER
from ansible_collections.llm_d.inference.plugins.modules import picker_conformance as module
from engine_servers import SECRET, SECRETS
from fake_clock import FakeClock

Facts = dict[str, t.Any]
NAMES = [check.name for check in CHECKS]
USUAL: Facts = defaults(PICKER)


class OnePool:
    """Serves one InferencePool, by the path of its version."""

    def __init__(self, path: str) -> None:
        self.path = path

    def find(self, path: str) -> Facts | None:
        return {"metadata": {"name": "p"}} if path == self.path else None


def test_checks_are_chosen_by_name() -> None:
    assert [check.name for check in module.chosen(USUAL)] == NAMES and len(set(NAMES)) == len(NAMES)
    assert [check.name for check in module.chosen({**USUAL, "skip": NAMES[1:]})] == NAMES[:1]
    assert [check.name for check in module.chosen({**USUAL, "only": "subset"})] == ["subset"]
    for invalid in ({"only": "subsets"}, {"skip": ["offered", "subsets"]}):
        with pytest.raises(ValueError, match="there is no check subsets; there are offered, "):
            module.chosen({**USUAL, **invalid})


@pytest.mark.parametrize("version", module.GROUPS)
def test_an_inference_pool_of_each_api_version_is_read(version: str) -> None:
    pool = module.pool_of(OnePool(f"/apis/{version}/namespaces/n/inferencepools/p"), "n", "p")
    assert pool["apiVersion"] == version and pool["kind"] == "InferencePool"
    with pytest.raises(ClusterError, match=r"no InferencePool n/q.*conformance_pool"):
        module.pool_of(OnePool(""), "n", "q")


def test_addresses_have_a_port() -> None:
    good = {**USUAL, "picker_address": "a:1", "health_address": "[fd00::1]:2", "host_header": "h", "model_api_key": "k"}
    options = module.bench_options(good, "http://gateway")
    assert (options["address"], options["health_address"], options["metrics_address"], options["url"]) == ("a:1", "[fd00::1]:2", "", "http://gateway")
    assert options["headers"] == {"Host": "h", "Authorization": "Bearer k"} and module.bench_options(USUAL, "")["headers"] == {}
    for name, option in (("picker_address", "picker_address"), ("health_address", "picker_health_address"), ("metrics_address", "picker_metrics_address")):
        with pytest.raises(ValueError, match=f"conformance_{option}: 'host' is no HOST:PORT"):
            module.bench_options({**USUAL, name: "host"}, "")


def test_the_key_of_the_servers_is_read_from_their_secret() -> None:
    class Keys:
        def find(self, path: str) -> Facts | None:
            return SECRETS.get(path)

    options = module.with_key(Keys(), {**USUAL, "model_api_key_secret": SECRET, "remove": False})
    assert module.bench_options(options, "")["headers"] == {"Authorization": "Bearer sk-model"}
    for other in ({**USUAL, "model_api_key_secret": SECRET, "remove": True}, {**USUAL, "model_api_key_secret": None, "remove": False}):
        assert module.with_key(None, other) is other


def test_the_address_of_the_gateway() -> None:
    paths: list[str] = []

    class Gateway:
        clock = FakeClock()

        def get(self, path: str) -> Facts:
            paths.append(path)
            status = {
                "addresses": [{"type": "IPAddress", "value": "10.0.0.1"}],
                "conditions": [{"type": "Programmed", "status": "True", "observedGeneration": 1}],
            }
            return {"metadata": {"generation": 1}, "spec": {"listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}, "status": status}

    named = {"namespace": "n", "name": "g", "listener": None}
    assert module.url_of(Gateway(), {**USUAL, "gateway": named, "url_path": "/sim/"}) == "http://10.0.0.1/sim"
    assert paths and module.url_of(None, {**USUAL, "url": "http://x", "gateway": named}) == "http://x" and module.url_of(None, USUAL) == ""
