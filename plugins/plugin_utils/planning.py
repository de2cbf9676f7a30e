# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a host's llm_d_* variables to object definitions: read the variables, plan the deployment, render templates from the plan.

Templates are rendered with plain Jinja: a template has the plan, the filter to_json, and the filter bundle
for programs of this collection that pods mount, and nothing else. Ansible's own templating checks every
value for templates and tags, and its YAML reader marks every scalar, which takes a minute for a thousand services.
"""

from __future__ import annotations

import base64
import functools
import os
import re
import typing as t
from pathlib import Path

import yaml
from ansible.errors import AnsibleLookupError
from jinja2 import FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ..module_utils.benchmark.bundle import bundle
from ..module_utils.common.commands import spelled
from ..module_utils.common.objects import Facts
from ..module_utils.common.scalars import blank
from ..module_utils.plan.build import PREFIX, Mistakes, explain, plan
from ..module_utils.plan.cluster.record import marked
from ..module_utils.schema.answers import AnswerError
from ..module_utils.schema.fields import Problem
from ..module_utils.schema.variables import VARIABLES
from . import cluster_server, collection
from .results import results_folder

Template = t.Callable[[t.Any], t.Any]
ROLES = Path(__file__).resolve().parents[2] / "roles"
# What site.yml applies, in the order of its roles.
TEMPLATES = (
    "prerequisites/templates/namespaces.yml.j2",
    "gpu_operator/templates/operator.yml.j2",
    "gpu_operator/templates/policy.yml.j2",
    "gateway_provider/templates/gateway.yml.j2",
    "gaie_scheduler/templates/scheduler.yml.j2",
    "model_service/templates/claims.yml.j2",
    "model_service/templates/servers.yml.j2",
)
PROMPTS = "model_service/templates/prompts.yml.j2"
# The variables that say where a host deploys; two hosts with equal values would deploy over each other.
_PLACE = ("llm_d_kubeconfig", "llm_d_context", "llm_d_namespace", "llm_d_instance", "llm_d_name_suffix", "llm_d_scope")
# Names of folders that runs write into the folder of artifacts, so that no host or instance can have them.
_RESERVED = (".", "..", "benchmark", "calibrate", "compare", "conformance", "diagnose", "export", "fleet", "mirror", "performance")
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_PATHS = ("llm_d_artifacts_dir", "llm_d_kubeconfig")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLACEHOLDER = "\u2063value "  # followed by an index of _Values.kept; the invisible U+2063 distinguishes it from the text of templates
_OBJECT_KEYS = ("apiVersion", "kind", "metadata")
_VALUES = " values"  # the variable with the _Values of a rendering; no template can read a name with a space


def read(variables: t.Mapping[str, t.Any], template: Template) -> tuple[Facts, list[Problem]]:
    """(the templated llm_d_* variables as plain data, a problem for each value whose template fails)."""
    user: Facts = {}
    problems: list[Problem] = []
    for name in sorted(variables):
        if str(name).startswith(PREFIX):
            value, failures = _templated(variables[name], template, str(name))
            user[str(name)] = None if _unanswered(str(name), value) else value
            problems += failures
    if _left_out(user.get("llm_d_artifacts_dir")):
        user["llm_d_artifacts_dir"] = VARIABLES["llm_d_artifacts_dir"].default
    if isinstance(user["llm_d_artifacts_dir"], str) and (folder := _folder(variables, user)):
        user["llm_d_artifacts_dir"] = os.path.join(user["llm_d_artifacts_dir"], folder)
    user = {name: _absolute(name, value) for name, value in user.items()}
    if isinstance(user["llm_d_artifacts_dir"], str):
        user["llm_d_artifacts_dir"] = results_folder(user["llm_d_artifacts_dir"])
    return user, problems


def _unanswered(name: str, value: t.Any) -> bool:
    """Whether an empty text means that the variable is not set: it is a string without a default. Other empty texts are values, or mistakes."""
    field = VARIABLES.get(name)
    return field is not None and field.type == "str" and field.default is None and blank(value)


def _left_out(value: t.Any) -> bool:
    """Whether the user gives no value; a survey gives an empty text for a question without an answer."""
    return value is None or blank(value)


def _folder(variables: t.Mapping[str, t.Any], user: Facts) -> str:
    """The subfolder of the folder of artifacts that separates the results of a cluster and an instance from others.

    Where the user sets llm_d_artifacts_dir, it is "" for a single host with the default instance. The default folder is shared by all inventories of a
    working directory, so there the subfolder also names the cluster.
    """
    default = VARIABLES["llm_d_instance"].default
    instance = f"{user.get('llm_d_instance') or default}{user.get('llm_d_name_suffix') or ''}"
    if _left_out(variables.get("llm_d_artifacts_dir")) and len(fleet(variables)) < 2 and (cluster := _cluster_folder(variables, user)):
        namespace = str(user.get("llm_d_namespace") or VARIABLES["llm_d_namespace"].default)
        return os.path.join(cluster, _file_name(instance if namespace == instance else f"{instance}@{namespace}"))
    return os.path.join(host_folder(variables), "" if instance == default else _file_name(instance)).rstrip(os.sep)


def _cluster_folder(variables: t.Mapping[str, t.Any], user: Facts) -> str:
    if _is_local(variables):
        return cluster_server.folder(_server(user))
    return _file_name(str(variables["inventory_hostname"]))


def _is_local(variables: t.Mapping[str, t.Any]) -> bool:
    """Whether the tasks of this host run on the control node, so that a kubeconfig there names the cluster."""
    return variables.get("ansible_connection") == "local" or variables.get("inventory_hostname", _LOCAL_HOSTS[0]) in _LOCAL_HOSTS


def _server(user: Facts) -> str:
    kubeconfig, context = (value if isinstance(value, str) else None for value in map(user.get, ("llm_d_kubeconfig", "llm_d_context")))
    return cluster_server.server(kubeconfig, context, os.environ)


def cluster_name(variables: t.Mapping[str, t.Any], user: Facts) -> str:
    """The name of the cluster in reports: the URL of its API server, the name of its host among several, or both; empty where neither is known."""
    server, host = _server(user) if _is_local(variables) else "", str(variables.get("inventory_hostname", ""))
    named = host if len(fleet(variables)) > 1 or not _is_local(variables) else ""
    return f"{named} ({server})" if named and server else named or server


def connection(variables: t.Mapping[str, t.Any], given: t.Mapping[str, t.Any]) -> Facts:
    """The connection options of all tasks. given: `kubeconfig` and `context` of the file, empty where it has none.

    Both do not count beside a whole account in the environment: our modules ignore them, but kubernetes.core.helm refuses a context beside a certificate
    authority.
    """
    ignored = _is_local(variables) and cluster_server.is_complete(os.environ)
    return {} if ignored else {name: value for name, value in given.items() if value}


def host_folder(variables: t.Mapping[str, t.Any]) -> str:
    """The name of the folder that separates the results of a host from those of others; "" with one host."""
    return _file_name(str(variables["inventory_hostname"])) if len(fleet(variables)) > 1 else ""


def fleet_folder(variables: t.Mapping[str, t.Any], user: Facts) -> str:
    """The folder of the report on all hosts, next to the folders of the hosts. user: as `read` returns it."""
    return os.path.join(str(user["llm_d_artifacts_dir"]).removesuffix(_folder(variables, user)), "fleet")


def _file_name(name: str) -> str:
    """A unique file name for each name, so that no two hosts or instances share a folder, and none has the name of a folder of results."""
    return name.replace("%", "%25").replace(os.sep, "%2F") + ("%" if name in _RESERVED else "")


def fleet(variables: t.Mapping[str, t.Any]) -> list[str]:
    """The hosts of the inventory, each a cluster; [] where the variables are not those of a host."""
    return [str(name) for name in variables["groups"]["all"]] if "groups" in variables and "inventory_hostname" in variables else []


def same_place(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """A problem where another host of the inventory has the same cluster, namespace and instance: both would deploy over each other."""
    others, own = variables.get("hostvars") or {}, _place(variables, str(variables.get("inventory_hostname", "")))
    duplicates = [name for name in fleet(variables) if own and name != variables["inventory_hostname"] and _place(variables, name) == own]
    if not others or not duplicates:
        return []
    why = f"{own[0]!r} of the same cluster is also the namespace of {', '.join(duplicates)} in the inventory, and both would deploy over each other."
    return [Problem("llm_d_namespace", own[0], why, "Write another llm_d_kubeconfig, llm_d_context, llm_d_namespace or llm_d_instance for each of them.")]


def _place(variables: t.Mapping[str, t.Any], host: str) -> tuple[str, ...]:
    """Where a host deploys, as far as its variables say it; () where they cannot be evaluated, or where tasks run on the host, with a kubeconfig that
    cannot be read here."""
    try:
        facts = variables["hostvars"][host]
        if facts.get("ansible_connection") != "local":
            return ()
        kubeconfig, context, namespace, instance, suffix, scope = (_absolute(name, plain(facts.get(name)) or VARIABLES[name].default) for name in _PLACE)
        # Kubeconfigs and contexts of any name may lead to one cluster.
        cluster = cluster_server.identity(kubeconfig, context, os.environ) or (kubeconfig, context)
        return tuple(map(str, (namespace, f"{instance}{suffix or ''}", scope, *cluster)))
    except Exception:  # a template of the user can raise anything; the check of that host reports it
        return ()


def planned(variables: t.Mapping[str, t.Any], template: Template) -> Facts:
    """The plan of the host's variables; raises AnsibleLookupError with every problem of the user's file."""
    user, problems = read(variables, template)
    if problems:
        raise AnsibleLookupError(spelled(explain(problems)))
    try:
        made = plan(user)
    except Mistakes as mistakes:
        raise AnsibleLookupError(spelled(str(mistakes))) from None
    return {**made, "collection": collection.version(), "deployment": {**made["deployment"], "cluster": cluster_name(variables, user)}}


def render(template: str | Path, plan: t.Mapping[str, t.Any]) -> list[Facts]:
    """The object definitions that a template file makes of a plan, in order. Raises jinja2.TemplateError, yaml.YAMLError or ValueError."""
    path, values = Path(template), _Values()
    text = _environment(path.parent).get_template(path.name).render({"plan": plan, _VALUES: values})
    objects = [values.place(document) for document in yaml.load_all(text, Loader=_Loader) if document]
    if values.placed != len(values.kept):
        raise ValueError(f"{path.name}: to_json has to be the whole value of a key or list item; {len(values.kept) - values.placed} of its uses are not.")
    for item in [each for each in objects if each.keys() >= set(_OBJECT_KEYS)]:
        item["metadata"] = marked({key: item[key] for key in _OBJECT_KEYS}, plan["record"])
    return objects


def definitions(plan: t.Mapping[str, t.Any]) -> list[Facts]:
    """Every object that site.yml applies for a plan, in order, without Secrets and what charts bring. Raises as `render` does."""
    return [item for template in TEMPLATES for item in render(ROLES / template, plan)]


def with_secrets(plan: t.Mapping[str, t.Any], made: list[Facts] | None = None) -> list[Facts]:
    """`definitions` of a plan, with all Secrets; those of the user's values are without the values. made: the definitions, if rendered already."""
    return [*(definitions(plan) if made is None else made), *plan["secrets"]["present"], *render(ROLES / PROMPTS, plan)]


def plain(value: t.Any) -> t.Any:
    """The value without Ansible's tags, so that nothing in it is templated again."""
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    for kind in (str, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    return value


@functools.cache
def _environment(folder: Path) -> ImmutableSandboxedEnvironment:
    """The environment of a folder, cached with its compiled templates: compiling one takes 20 times as long as rendering it."""
    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folder), undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True, autoescape=False
    )
    environment.filters = {"to_json": _to_json, "bundle": bundled}
    return environment


@functools.cache
def bundled(main: str) -> str:
    """The program with this main module, such as `inference/warmup_program`, in base64."""
    return base64.b64encode(bundle(main=main)).decode()


@pass_context
def _to_json(context: Context, value: t.Any) -> str:
    kept: str = context[_VALUES].keep(value)
    return kept


class _Values:
    """Values that a template prints with to_json. The rendered text has placeholders for them: to write and parse them as YAML would be most of the work."""

    def __init__(self) -> None:
        self.kept: list[t.Any] = []
        self.placed = 0

    def keep(self, value: t.Any) -> str:
        """A short placeholder for the value."""
        self.kept.append(value)
        return f'"{_PLACEHOLDER}{len(self.kept) - 1}"'

    def place(self, node: t.Any) -> t.Any:
        """The structure with each placeholder replaced by its value."""
        if isinstance(node, dict):
            return {key: self.place(item) for key, item in node.items()}
        if isinstance(node, list):
            return [self.place(item) for item in node]
        if isinstance(node, str) and node.startswith(_PLACEHOLDER):
            self.placed += 1
            return self.kept[int(node[len(_PLACEHOLDER) :])]
        return node


def _templated(value: t.Any, template: Template, path: str) -> tuple[t.Any, list[Problem]]:
    """(the value with its templates resolved, problems). What fails becomes None and a problem; the rest of a structure is kept."""
    try:
        return plain(template(value)), []
    except Exception as error:  # a template of the user can raise anything
        failed = [_failed(value, path, error)]
    if isinstance(value, dict):
        parts = {key: _templated(item, template, f"{path}.{key}") for key, item in value.items()}
        problems = [problem for part, failures in parts.values() for problem in failures]
        return {plain(key): part for key, (part, failures) in parts.items()}, problems or failed
    if isinstance(value, (list, tuple)):
        items = [_templated(item, template, f"{path}[{index}]") for index, item in enumerate(value)]
        return [item for item, failures in items], [problem for item, failures in items for problem in failures] or failed
    return None, failed


def _failed(value: t.Any, path: str, error: BaseException) -> Problem:
    causes = [error]
    while (cause := causes[-1].__cause__) and cause not in causes:
        causes.append(cause)
    for each in causes:
        if isinstance(each, AnswerError):  # of a survey, whose playbook has the template
            return Problem(f"{path}{'' if each.path.startswith('[') else '.'}{each.path}", None, each.reason, each.fix)
    # Only the expression is shown: the text around it may contain a secret.
    shown = " ".join(re.findall(r"{{.*?}}|{%.*?%}", str(value), re.DOTALL)) or "its template"
    reason = " ".join(str(error).split()).rstrip(".")
    return Problem(path, shown, f"'{shown}' cannot be evaluated: {reason}.", "Define the variable, or write the value itself.")


def _absolute(name: str, value: t.Any) -> t.Any:
    """The value with its path made absolute, where the variable holds one. Paths are relative to the working directory of ansible-playbook."""
    if name in _PATHS and isinstance(value, str) and value:
        return os.path.abspath(os.path.expanduser(value))
    if name == "llm_d_benchmark" and isinstance(value, dict) and isinstance(value.get("baseline"), str):
        return {**value, "baseline": _absolute(_PATHS[0], value["baseline"])}  # as for any variable that is a path
    return value
