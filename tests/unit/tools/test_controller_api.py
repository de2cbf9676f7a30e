# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in of AWX's API refuses what AWX 24.6.1 refuses, with its messages, and stores objects as AWX does."""

from __future__ import annotations

import base64
import threading

import pytest
from controller_api.client import call
from controller_api.server import Controller
from waiting import until

URL = "https://git.example.com/llm-d.git"
RULE = "DTSTART;TZID=Europe/Berlin:20260101T030000 RRULE:FREQ=DAILY;INTERVAL=1"
QUESTIONS = [
    {"type": "text", "variable": "host", "question_name": "Host", "required": True, "min": 2, "max": 5},
    {"type": "integer", "variable": "replicas", "question_name": "Replicas", "required": False, "min": 1, "max": 9, "default": 3},
    {"type": "float", "variable": "rate", "question_name": "Rate", "required": False, "default": ""},
    {"type": "multiplechoice", "variable": "provider", "question_name": "Provider", "required": False, "choices": ["istio", "kgateway"], "default": "istio"},
    {"type": "multiselect", "variable": "checks", "question_name": "Checks", "required": False, "choices": "dns\ngpus\n", "default": "dns"},
    {"type": "password", "variable": "token", "question_name": "Token", "required": False, "default": "hidden"},
    {"type": "textarea", "variable": "notes", "question_name": "Notes", "required": False, "default": ""},
]
SURVEY = {"name": "", "description": "", "spec": QUESTIONS}
FIELDS = {"fields": [{"id": "hf_token", "label": "Token", "secret": True}, {"id": "mirror", "label": "Mirror", "format": "url"}], "required": ["hf_token"]}
WEBHOOK = {"url": "https://chat.example.com/", "headers": {}}


def make(api, resource, /, **body):
    """Create an object; the answer, which must be a success."""
    status, answer = call(api, "POST", f"/api/v2/{resource}/", body)
    assert status == 201, answer
    return answer


def filled(value, ids):
    """A value in which each @name is replaced by the id of that name."""
    if isinstance(value, dict):
        return {name: filled(one, ids) for name, one in value.items()}
    return ids[value[1:]] if isinstance(value, str) and value[:1] == "@" and value[1:] in ids else value


def checkout(tmp_path):
    """A project with one playbook, and other files."""
    play, tasks = "- name: Deploy\n  hosts: localhost\n", "- name: Say\n  ansible.builtin.debug:\n"
    for path, text in {
        "playbooks/site.yml": play,
        "roles/x/tests/test.yml": play,
        "tasks.yml": tasks,
        ".ci/x.yml": play,
        "inventory/hosts.yml": "all: {}\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture(name="api")
def make_api(tmp_path):
    with Controller(projects={URL: checkout(tmp_path)}) as api:
        yield api


@pytest.fixture(name="ids")
def make_ids(api):
    return configure(api)


@pytest.fixture(name="configured", scope="module")
def make_configured(tmp_path_factory):
    """(controller that refuses all requests of the tests, which can therefore share it; its ids)."""
    with Controller(projects={URL: checkout(tmp_path_factory.mktemp("checkout"))}) as api:
        yield api, configure(api)


def configure(api):
    """Create at least one object of each kind; ids by short names."""
    types = {row["namespace"]: row["id"] for row in api.objects("credential_types")}
    ids = {"org": 1, "kubernetes": types["kubernetes_bearer_token"], "scm": types["scm"], "machine": types["ssh"], "registry": types["registry"]}
    ids |= {"galaxy": types["galaxy_api_token"], "vaults": types["vault"], "github": types["github_token"]}

    def add(short, resource, /, **body):
        ids[short] = make(api, resource, **filled(body, ids))["id"]

    add("cluster", "credentials", name="cluster", organization="@org", credential_type="@kubernetes", inputs={"host": "https://k", "bearer_token": "t"})
    add("cluster2", "credentials", name="cluster 2", organization="@org", credential_type="@kubernetes", inputs={"host": "https://k", "bearer_token": "t"})
    add("git", "credentials", name="git", organization="@org", credential_type="@scm", inputs={"username": "u"})
    add("asking", "credentials", name="asking", organization="@org", credential_type="@machine", inputs={"password": "ASK"})
    add("custom", "credential_types", name="Models", kind="cloud", inputs=FIELDS, injectors={"env": {"HF_TOKEN": "{{ hf_token }}"}})
    add("models", "credentials", name="models", organization="@org", credential_type="@custom", inputs={"hf_token": "t"})
    add("vault", "credentials", name="vault", organization="@org", credential_type="@vaults", inputs={"vault_password": "p", "vault_id": "a"})
    add("pat", "credentials", name="pat", organization="@org", credential_type="@github", inputs={"token": "t"})
    add("org2", "organizations", name="other")
    add("ee", "execution_environments", name="llm-d", organization="@org", image="quay.io/org/llm-d:1.0")
    add("label", "labels", name="llm", organization="@org")
    add("webhook", "notification_templates", name="chat", organization="@org", notification_type="webhook", notification_configuration=WEBHOOK)
    add("project", "projects", name="llm-d", organization="@org", scm_type="git", scm_url=URL, credential="@git")
    add("branches", "projects", name="branches", organization="@org", scm_type="git", scm_url=URL, allow_override=True)
    add("manual", "projects", name="manual", organization="@org")
    add("inventory", "inventories", name="hub", organization="@org")
    add("smart", "inventories", name="smart", organization="@org", kind="smart", host_filter="name=x")
    add("host", "hosts", name="localhost", inventory="@inventory")
    add("file", "inventory_sources", name="file", inventory="@inventory", source="scm", source_project="@project", source_path="inventory/hosts.yml")
    add("plainfile", "inventory_sources", name="plain file", inventory="@inventory", source="file")
    add("plain", "job_templates", name="plain", project="@project", inventory="@inventory", playbook="playbooks/site.yml")
    asks = dict.fromkeys(("ask_limit_on_launch", "ask_credential_on_launch", "survey_enabled"), True)
    add("asks", "job_templates", name="asks", project="@project", inventory="@inventory", playbook="playbooks/site.yml", **asks)
    assert call(api, "POST", f"/api/v2/job_templates/{ids['asks']}/survey_spec/", SURVEY) == (200, None)
    add("branch", "job_templates", name="branch", project="@branches", inventory="@inventory", playbook="playbooks/site.yml", scm_branch="next")
    add("open", "job_templates", name="open", project="@project", ask_inventory_on_launch=True, playbook="playbooks/site.yml")
    add("flow", "workflow_job_templates", name="flow", organization="@org")
    add("flow2", "workflow_job_templates", name="flow 2", organization="@org")
    for name in ("first", "second", "third"):
        add(name, "workflow_job_template_nodes", workflow_job_template="@flow", identifier=name, unified_job_template="@plain")
    add("other", "workflow_job_template_nodes", workflow_job_template="@flow2", identifier="other", unified_job_template="@asks", extra_data={"host": "abc"})
    add("nested", "workflow_job_template_nodes", workflow_job_template="@flow2", identifier="nested", unified_job_template="@flow")
    add("empty", "workflow_job_template_nodes", workflow_job_template="@flow2", identifier="empty")
    add("nightly", "schedules", name="nightly", unified_job_template="@plain", rrule=RULE)
    links = [("workflow_job_template_nodes", "first/success_nodes", "second"), ("workflow_job_template_nodes", "second/success_nodes", "third")]
    credentials = [("job_templates", "asks/credentials", "models"), ("workflow_job_template_nodes", "other/credentials", "cluster")]
    for kind, path, row in [*links, *credentials]:
        parent, _slash, name = path.partition("/")
        assert call(api, "POST", f"/api/v2/{kind}/{ids[parent]}/{name}/", {"id": ids[row]}) == (204, None)
    return ids


def one(field, text):
    return {field: [text]}


def question(**keys):
    return {"name": "", "description": "", "spec": [{"type": "text", "variable": "x", "question_name": "X", "required": True, **keys}]}


def inputs(*fields):
    return {"name": "T", "kind": "cloud", "inputs": {"fields": list(fields)}}


def injectors(**kinds):
    return {**inputs({"id": "key", "label": "Key"}), "injectors": kinds}


JT = {"name": "new", "project": "@project", "inventory": "@inventory", "playbook": "playbooks/site.yml"}
NODE = {"workflow_job_template": "@flow", "unified_job_template": "@plain"}
SOURCE = {"name": "s", "inventory": "@inventory", "source": "scm", "source_project": "@project"}
CREDENTIAL = {"name": "c", "organization": "@org", "credential_type": "@kubernetes"}
TEMPLATE = {"name": "n", "organization": "@org", "notification_type": "webhook", "notification_configuration": WEBHOOK}
REQUIRED, BLANK, EMPTY = "This field is required.", "This field may not be blank.", "This field cannot be blank."
NOT_ALLOWED = "Check the Prompt on Launch setting on the Job Template to include Extra Variables."

REFUSED = {  # path: [(body, answer)] of POSTs with status 400
    "organizations": [
        ({}, one("name", REQUIRED)),
        ({"name": " "}, one("name", BLANK)),
        ({"name": None}, one("name", EMPTY)),
        ({"name": ["x"]}, one("name", "Not a valid string.")),
        ({"name": "x" * 513}, one("name", "Ensure this field has no more than 512 characters.")),
        ({"name": "Default"}, one("name", "Organization with this Name already exists.")),
        ({"name": "x", "max_hosts": -1}, one("max_hosts", "Ensure this value is greater than or equal to 0.")),
        ({"name": "x", "max_hosts": "many"}, one("max_hosts", "A valid integer is required.")),
        ({"name": "x", "default_environment": 99}, one("default_environment", 'Invalid pk "99" - object does not exist.')),
        ({"name": "x", "default_environment": "ee"}, one("default_environment", "Incorrect type. Expected pk value, received str.")),
        (["x"], {"detail": "JSON parse error - not a JSON object"}),
    ],
    "organizations/1/galaxy_credentials": [
        ({"id": "@git"}, {"msg": "Credential must be a Galaxy credential, not Source Control."}),
        ({"id": 99}, {"detail": "Credential matching query does not exist."}),
        ({"id": "x"}, {"msg": '"id" field must be an integer.'}),
        ({"disassociate": True}, {"msg": "Credential 'id' field is missing."}),
        ([], "invalid type for post data"),
    ],
    "labels": [
        ({"name": "llm", "organization": "@org"}, one("__all__", "Label with this Name and Organization already exists.")),
        ({"name": "x", "organization": None}, one("organization", "This field may not be null.")),
    ],
    "execution_environments": [
        ({"name": "e", "image": "Quay.io/Org/UPPER:1"}, one("image", "The container image name Quay.io/Org/UPPER:1 is not valid")),
        ({"name": "e", "image": "quay.io/x", "pull": "sometimes"}, one("pull", '"sometimes" is not a valid choice.')),
        (
            {"name": "e", "image": "quay.io/x", "credential": "@git"},
            one("credential", "Only Container Registry credentials can be associated with an Execution Environment"),
        ),
    ],
    "credential_types": [
        ({"name": "T", "kind": "ssh"}, one("kind", "Must be 'cloud' or 'net', not ssh")),
        ({"name": "Models", "kind": "cloud"}, one("__all__", "Credential type with this Name and Kind already exists.")),
        (inputs({"id": "a"}), one("inputs", "'label' is a required property")),
        (inputs({"id": "9x", "label": "a"}), one("inputs", "9x is an invalid variable name")),
        (inputs({"id": "tower", "label": "a"}), one("inputs", '"tower" is a reserved field name')),
        (inputs({"id": "a", "label": "a"}, {"id": "a", "label": "b"}), one("inputs", "field IDs must be unique (a)")),
        (inputs({"id": "a", "label": "a", "type": "integer"}), one("inputs", "'integer' is not one of ['string', 'boolean']")),
        (inputs({"id": "a", "label": "a", "default": 5}), one("inputs", "5 is not a string")),
        (inputs({"id": "a", "label": "a", "type": "boolean", "secret": True}), one("inputs", "secret not allowed for boolean type (a)")),
        (inputs({"id": "a", "label": "a", "ask_at_runtime": True}), one("inputs", "'ask_at_runtime' is not supported for custom credentials.")),
        *(
            (inputs({"id": "a", "label": "a", "type": "boolean", key: value}), one("inputs", f"{key} not allowed for boolean type (a)"))
            for key, value in (("choices", ["x"]), ("multiline", True), ("format", "url"))
        ),
        (
            inputs({"id": "a", "label": "a", "foo": 1}),
            one("inputs", "Schema validation error in relative path ['fields', 0] (Additional properties are not allowed ('foo' was unexpected))"),
        ),
        ({**inputs(), "inputs": {"fields": "x"}}, one("inputs", "str provided in relative path ['fields'], expected array")),
        (injectors(env={"PATH": "x"}), one("injectors", "Environment variable PATH is not allowed to be used in credentials.")),
        (
            injectors(env={"ANSIBLE_X": "x"}),
            one("injectors", "Environment variable ANSIBLE_X may affect Ansible configuration so its use is not allowed in credentials."),
        ),
        (injectors(env={"X": "{{ nothing }}"}), one("injectors", "X uses an undefined field ('nothing' is undefined)")),
        (
            injectors(env={"X": "{{ tower }}"}),
            one("injectors", "X uses an undefined field (Cannot directly reference reserved `tower` namespace container.)"),
        ),
        (
            injectors(env={"X": "{{ tower.filename }}"}),
            one("injectors", "X uses an undefined field (Must define unnamed file injector in order to reference `tower.filename`.)"),
        ),
        (injectors(file={"template": "a", "template.b": "b"}), one("injectors", "Must use multi-file syntax when injecting multiple files")),
        (injectors(extra_vars={"x": 5}), one("injectors", "5 is not valid under any of the given schemas")),
    ],
    "credentials": [
        ({"name": "c", "credential_type": "@kubernetes"}, one("detail", "Missing 'user', 'team', or 'organization'.")),
        (
            {**CREDENTIAL, "user": 1},
            one("detail", "Only one of 'user', 'team', or 'organization' should be provided, received organization, user fields."),
        ),
        (
            {"name": "c", "credential_type": "@galaxy", "user": 1},
            one("organization", "Galaxy credentials must be owned by an Organization."),
        ),
        ({**CREDENTIAL, "inputs": {"foo": "x"}}, one("inputs", "Additional properties are not allowed ('foo' was unexpected)")),
        ({**CREDENTIAL, "inputs": {"host": 5}}, {"inputs": {"host": ["5 is not of type 'string'"]}}),
        ({**CREDENTIAL, "inputs": {"verify_ssl": "true"}}, {"inputs": {"verify_ssl": ["'true' is not of type 'boolean'"]}}),
        (
            {**CREDENTIAL, "inputs": {"bearer_token": "$encrypted$"}},
            one("inputs", "$encrypted$ is a reserved keyword, and cannot be used for bearer_token."),
        ),
        (
            {**CREDENTIAL, "credential_type": "@custom", "inputs": {"mirror": "mirror"}},
            {"inputs": {"mirror": ["Invalid URL: Missing url scheme (http, https, etc.)"]}},
        ),
        ({**CREDENTIAL, "name": "cluster"}, one("__all__", "Credential with this Organization, Name and Credential type already exists.")),
    ],
    "notification_templates": [
        ({**TEMPLATE, "organization": None}, one("organization", EMPTY)),
        ({**TEMPLATE, "notification_type": "pigeon"}, one("notification_type", '"pigeon" is not a valid choice.')),
        (
            {**TEMPLATE, "notification_configuration": {}},
            one("__all__", "Missing required fields for Notification Configuration: ['url', 'headers']."),
        ),
        (
            {**TEMPLATE, "notification_configuration": {**WEBHOOK, "http_method": "GET"}},
            one("__all__", "HTTP method must be either 'POST' or 'PUT'."),
        ),
        (
            {**TEMPLATE, "notification_configuration": {**WEBHOOK, "disable_ssl_verification": "no"}},
            one("__all__", "Configuration field 'disable_ssl_verification' incorrect type, expected bool."),
        ),
        (
            {**TEMPLATE, "notification_type": "slack", "notification_configuration": {"token": "t", "channels": []}},
            one("__all__", "No values specified for field 'channels'"),
        ),
        (
            {**TEMPLATE, "messages": {"finished": {}}},
            one("messages", "Event 'finished' invalid, must be one of 'started', 'success', 'error', or 'workflow_approval'"),
        ),
        (
            {**TEMPLATE, "messages": {"error": {"title": "x"}}},
            one("messages", "Message type 'title' invalid, must be either 'message' or 'body'"),
        ),
        (
            {**TEMPLATE, "messages": {"error": {"message": "a\nb"}}},
            one("messages", "Messages cannot contain newlines (found newline in error event)"),
        ),
        ({**TEMPLATE, "messages": "x"}, one("messages", "Expected dict for 'messages' field, found <class 'str'>")),
        ({**TEMPLATE, "messages": {"error": "x"}}, one("messages", "Expected dict for event 'error', found <class 'str'>")),
        ({**TEMPLATE, "messages": {"error": {"body": 5}}}, one("messages", "Expected string for 'body', found <class 'int'>, ")),
        (
            {**TEMPLATE, "messages": {"workflow_approval": {"late": {}}}},
            one("messages", "Workflow Approval event 'late' invalid, must be one of 'running', 'approved', 'timed_out', or 'denied'"),
        ),
        (
            {**TEMPLATE, "messages": {"workflow_approval": {"denied": "x"}}},
            one("messages", "Expected dict for workflow approval event 'denied', found <class 'str'>"),
        ),
        ({**TEMPLATE, "messages": {"error": {"message": "{{ job.plan }}"}}}, one("messages", "Field 'plan' unavailable")),
    ],
    "projects": [
        ({"name": "p", "scm_type": "git"}, one("scm_url", "SCM URL is required.")),
        ({"name": "p", "scm_type": "git", "scm_url": "nonsense"}, one("scm_url", "Invalid git URL")),
        ({"name": "p", "scm_type": "git", "scm_url": "file://far/x"}, one("scm_url", 'Unsupported host "far" for file:// URL')),
        ({"name": "p", "local_path": "nowhere"}, one("local_path", "This path is already being used by another manual project.")),
        ({"name": "p", "scm_type": "archive", "scm_branch": "b"}, one("scm_branch", "SCM branch cannot be used with archive projects.")),
        (
            {"name": "p", "scm_type": "archive", "scm_track_submodules": True},
            one("scm_track_submodules", "SCM track_submodules can only be used with git projects."),
        ),
        *(
            ({"name": "p", flag: True}, one(flag, "Update options must be set to false for manual projects."))
            for flag in ("scm_update_on_launch", "scm_delete_on_update", "scm_track_submodules")
        ),
        ({"name": "p", "scm_type": "git", "scm_url": "gopher://x/y"}, one("scm_url", "Unsupported git URL")),
        ({"name": "p", "scm_type": "git", "scm_url": "https:///y"}, one("scm_url", "Host is required for https URL")),
        ({"name": "p", "scm_type": "git", "scm_url": URL, "credential": "@cluster"}, one("credential", "Credential kind must be 'scm'.")),
        ({"name": "p", "scm_refspec": "x"}, one("scm_refspec", "SCM refspec can only be used with git projects.")),
        ({"name": "p", "scm_clean": True}, one("scm_clean", "Update options must be set to false for manual projects.")),
        ({"name": "p", "scm_clean": "maybe"}, one("scm_clean", "Must be a valid boolean.")),
        (
            {"name": "llm-d", "organization": "@org", "scm_type": "git", "scm_url": URL},
            one("__all__", "Project with this (name, organization) combination already exists."),
        ),
    ],
    "inventories": [
        ({"name": "i"}, one("organization", EMPTY)),
        ({"name": "hub", "organization": "@org"}, one("__all__", "Inventory with this Name and Organization already exists.")),
        ({"name": "i", "organization": "@org", "kind": "smart"}, one("host_filter", "Smart inventories must specify host_filter")),
        ({"name": "i", "organization": "@org", "variables": {"a": 1}}, one("variables", "Not a valid string.")),
    ],
    "inventory_sources": [
        ({**SOURCE, "source_project": None}, one("source_project", "Project required for scm type sources.")),
        ({**SOURCE, "source_project": "@manual"}, one("source_project", "Cannot use manual project for SCM-based inventory.")),
        ({**SOURCE, "source": "file", "source_path": "x"}, one("detail", "Cannot set source_project source_path if not SCM type.")),
        ({**SOURCE, "source": "constructed"}, one("error", "constructed not a valid source for inventory")),
        ({**SOURCE, "scm_branch": "x"}, one("scm_branch", "Project does not allow overriding branch.")),
        ({**SOURCE, "inventory": "@smart"}, {"inventory": {"detail": "Cannot create Inventory Source for Smart or Constructed Inventories"}}),
        ({**SOURCE, "source_vars": "PATH: x"}, one("source_vars", "`PATH` is a prohibited environment variable")),
        ({"name": "s", "inventory": "@inventory", "source": "gce"}, one("credential", "Credential is required for a cloud source.")),
        (
            {**SOURCE, "credential": "@vault"},
            one("credential", "Credentials of type insights and vault are disallowed for scm inventory sources."),
        ),
        ({"name": "s", "inventory": "@inventory"}, one("source", REQUIRED)),
        ({**SOURCE, "verbosity": 3}, one("verbosity", '"3" is not a valid choice.')),
    ],
    "hosts": [
        ({"name": "localhost", "inventory": "@inventory"}, one("__all__", "Host with this Name and Inventory already exists.")),
        ({"name": "h:99999", "inventory": "@inventory"}, one("name", "Invalid port specification: 99999")),
        ({"name": "h", "inventory": "@smart"}, {"inventory": {"detail": "Cannot create Host for Smart or Constructed Inventories"}}),
    ],
    "job_templates": [
        ({**JT, "project": None}, one("project", "Job Templates must have a project assigned.")),
        ({**JT, "inventory": None}, one("inventory", "You must either set a default value or ask to prompt on launch.")),
        ({**JT, "playbook": "tasks.yml"}, one("playbook", "Playbook not found for project.")),
        ({**JT, "playbook": "site.yml"}, one("playbook", "Playbook not found for project.")),
        ({**JT, "playbook": ""}, one("playbook", "Must select playbook for project.")),
        ({**JT, "ask_scm_branch_on_launch": True}, one("ask_scm_branch_on_launch", "Project does not allow overriding branch.")),
        (
            {**JT, "inventory": None, "host_config_key": "x"},
            one("host_config_key", "Cannot enable provisioning callback without an inventory set."),
        ),
        ({**JT, "webhook_credential": "@git"}, one("webhook_credential", "Must be a Personal Access Token.")),
        ({**JT, "webhook_credential": "@pat"}, one("webhook_credential", "Must match the selected webhook service.")),
        ({**JT, "forks": 201}, one("forks", "Maximum number of forks (200) exceeded.")),
        ({**JT, "verbosity": 6}, one("verbosity", '"6" is not a valid choice.')),
        ({**JT, "extra_vars": "- a"}, None),
        ({**JT, "name": "plain"}, one("__all__", "JobTemplate with this (name, organization) combination already exists.")),
    ],
    "job_templates/{asks}/credentials": [({"id": "@git"}, {"error": "Cannot assign a Credential of kind `scm`."})],
    "job_templates/{asks}/survey_spec": [
        ({}, {"error": "Field 'spec' is missing from survey spec."}),
        ({**SURVEY, "name": 5}, {"error": "Expected string for field 'name', received int type."}),
        ({**SURVEY, "spec": []}, {"error": "'spec' doesn't contain any items."}),
        ({**SURVEY, "spec": ["x"]}, {"error": "Survey question 0 is not a json object."}),
        ({**SURVEY, "spec": [{"type": "text"}]}, {"error": "'question_name' missing from survey question 0"}),
        *(
            ({**SURVEY, "spec": [{k: v for k, v in question()["spec"][0].items() if k != key}]}, {"error": f"'{key}' missing from survey question 0"})
            for key in ("type", "question_name", "variable", "required")
        ),
        *((question(**{key: 5}), {"error": f"'{key}' in survey question 0 expected to be string."}) for key in ("type", "question_name", "variable")),
        (question(required="yes"), {"error": "'required' in survey question 0 expected to be boolean."}),
        ({**SURVEY, "spec": question()["spec"] * 2}, {"error": "'variable' 'x' duplicated in survey question 1."}),
        (
            question(type="number"),
            {
                "error": "'number' in survey question 0 is not one of 'text, textarea, password, multiplechoice, multiselect, integer, float' "
                "allowed question types."
            },
        ),
        (question(default=5), {"error": "Default value 5 in survey question 0 expected to be string."}),
        (question(default=None), {"error": "Default value None in survey question 0 expected to be string."}),
        (question(type="integer", default="5"), {"error": "Default value 5 in survey question 0 expected to be integer."}),
        (question(type="float", min=0.5), {"error": "The min limit in survey question 0 expected to be integer."}),
        (question(max=""), {"error": "The max limit in survey question 0 expected to be integer."}),
        (question(type="multiselect"), {"error": "Survey question 0 of type multiselect must specify choices."}),
        (question(type="multiselect", choices=["a"], default=["a"]), {"error": "Default value ['a'] in survey question 0 expected to be string."}),
        (
            question(type="multiplechoice", choices=["a", "b"], default="a\nb"),
            {"error": "Multiple Choice (Single Select) can only have one default value."},
        ),
        (question(type="multiplechoice", choices=["a"], default="b"), {"error": "Default choice must be answered from the choices listed."}),
        (
            question(default="$encrypted$"),
            {"error": "$encrypted$ is a reserved keyword for password question defaults, survey question 0 is type text."},
        ),
        (
            question(type="password", default="$encrypted$"),
            {"error": "$encrypted$ is a reserved keyword, may not be used for new default in position 0."},
        ),
    ],
    "job_templates/{asks}/launch": [
        ({}, one("variables_needed_to_start", "'host' value missing")),
        (
            {"extra_vars": {"host": "x"}},
            one("variables_needed_to_start", "'host' value x is too small (length is 1 must be at least 2)."),
        ),
        (
            {"extra_vars": {"host": "abcdef", "replicas": "5", "rate": "1"}},
            {
                "variables_needed_to_start": [
                    "'host' value abcdef is too large (must be no more than 5).",
                    "Value 5 for 'replicas' expected to be an integer.",
                    "Value 1 for 'rate' expected to be a numeric type.",
                ]
            },
        ),
        ({"extra_vars": {"host": "abc", "replicas": 10}}, one("variables_needed_to_start", "'replicas' value 10 is too large (must be no more than 9).")),
        ({"extra_vars": {"host": "abc", "replicas": True}}, one("variables_needed_to_start", "Value True for 'replicas' expected to be an integer.")),
        (
            {"extra_vars": {"host": "abc", "provider": "x", "checks": "dns"}},
            {
                "variables_needed_to_start": [
                    "Value x for 'provider' expected to be one of ['istio', 'kgateway'].",
                    "'checks' value is expected to be a list.",
                ]
            },
        ),
    ],
    "job_templates/{open}/launch": [({}, one("resources_needed_to_start", "Job Template inventory is missing or undefined."))],
    "workflow_job_templates": [
        (
            {"name": "flow", "organization": "@org"},
            one("__all__", "WorkflowJobTemplate with this (name, organization) combination already exists."),
        ),
        (
            {"name": "w", "webhook_credential": "@pat", "webhook_service": "gitlab"},
            one("webhook_credential", "Must match the selected webhook service."),
        ),
        ({"name": "w", "webhook_credential": "@git"}, one("webhook_credential", "Must be a Personal Access Token.")),
    ],
    "workflow_job_templates/{flow}/launch": [
        (
            {"extra_vars": {"a": 1, "b": 2}},
            one(
                "extra_vars",
                "Variables a, b are not allowed on launch. Check the Prompt on Launch setting on the Workflow Job Template to include Extra Variables.",
            ),
        ),
        ({"limit": "x"}, one("limit", "Field is not configured to prompt on launch.")),
    ],
    "workflow_job_template_nodes": [
        (
            {**NODE, "identifier": "first"},
            one("__all__", "Workflow job template node with this Identifier and Workflow job template already exists."),
        ),
        ({**NODE, "identifier": ""}, one("identifier", BLANK)),
        ({**NODE, "limit": "x"}, one("limit", "Field is not configured to prompt on launch.")),
        ({**NODE, "extra_data": {"a": 1}}, one("extra_data", f"Variables a are not allowed on launch. {NOT_ALLOWED}")),
        ({**NODE, "unified_job_template": "@project", "limit": "x"}, one("limit", "Field is not allowed on launch.")),
        ({**NODE, "unified_job_template": "@asks", "extra_data": {"host": 5}}, one("variables_needed_to_start", "Value 5 for 'host' expected to be a string.")),
        (
            {**NODE, "unified_job_template": "@open"},
            one("resources_needed_to_start", "Job Template inventory is missing or undefined."),
        ),
        ({**NODE, "job_type": "scan"}, one("job_type", '"scan" is not a valid choice.')),
    ],
    "workflow_job_template_nodes/{first}/success_nodes": [({"id": "@first"}, {"Error": "Cycle detected."})],
    "workflow_job_template_nodes/{first}/failure_nodes": [({"id": "@second"}, {"Error": "Relationship not allowed."})],
    "workflow_job_template_nodes/{third}/always_nodes": [({"id": "@first"}, {"Error": "Cycle detected."})],
    "workflow_job_template_nodes/{first}/create_approval_template": [
        ({}, one("name", REQUIRED)),
        ({"name": "a", "timeout": "1h"}, one("timeout", "A valid integer is required.")),
    ],
    "workflow_job_template_nodes/{empty}/credentials": [({"id": "@cluster"}, {"msg": "Cannot assign credential when related template is null."})],
    "workflow_job_template_nodes/{first}/credentials": [
        ({"id": "@cluster"}, {"msg": "Related template is not configured to accept credentials on launch."}),
    ],
    **{
        f"inventory_sources/{{plainfile}}/notification_templates_{event}": [
            (
                {"id": "@webhook"},
                {
                    "msg": "Notification Templates can only be assigned when source is one of ['scm', 'ec2', 'gce', 'azure_rm', 'vmware', 'satellite6', "
                    "'openstack', 'rhv', 'controller', 'insights', 'terraform', 'openshift_virtualization']."
                },
            )
        ]
        for event in ("started", "success", "error")
    },
    "workflow_job_template_nodes/{nested}/credentials": [({"id": "@cluster"}, {"msg": "Related template cannot accept credentials on launch."})],
    "workflow_job_template_nodes/{other}/credentials": [
        (
            {"id": "@cluster2"},
            {"msg": "This launch configuration already provides a OpenShift or Kubernetes API Bearer Token credential."},
        ),
        ({"id": "@models"}, {"msg": "Related template already uses models credential."}),
        ({"id": "@asking"}, {"msg": "Credential that requires user input on launch cannot be used in saved launch configuration."}),
    ],
    "schedules": [
        (
            {"name": "nightly", "unified_job_template": "@plain", "rrule": RULE},
            one("__all__", "Schedule with this Unified job template and Name already exists."),
        ),
        (
            {"name": "s", "unified_job_template": "@asks", "rrule": RULE},
            one("variables_needed_to_start", "'host' value missing"),
        ),
        ({"name": "s", "unified_job_template": "@manual", "rrule": RULE}, one("unified_job_template", "Manual Project cannot have a schedule set.")),
        ({"name": "s", "unified_job_template": "@file", "rrule": RULE}, one("unified_job_template", "Inventory Source must be a cloud resource.")),
    ],
    "tokens": [({"scope": "admin"}, one("scope", "Must be a simple space-separated string with allowed scopes ['read', 'write']."))],
}


@pytest.mark.parametrize(
    ("path", "body", "expected"), [pytest.param(path, *row, id=f"{path}-{n}") for path, rows in REFUSED.items() for n, row in enumerate(rows)]
)
def test_requests_that_awx_refuses_are_refused_with_its_message(configured, path, body, expected):
    api, ids = configured
    before, complaints = len(api.writes), list(api.complaints)
    status, answer = call(api, "POST", f"/api/v2/{path.format(**ids)}/", filled(body, ids))
    assert status == 400
    assert answer == (expected or answer)
    assert [write.changed for write in api.writes[before:]] == [False]
    assert api.complaints == complaints


START = "Valid DTSTART required in rrule. Value should start with: DTSTART:YYYYMMDDTHHMMSSZ"
Z = "DTSTART:20260101T030000Z "


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("RRULE:FREQ=DAILY;INTERVAL=1", START),
        ("DTSTART:20260101T030000 RRULE:FREQ=DAILY;INTERVAL=1", "DTSTART cannot be a naive datetime.  Specify ;TZINFO= or YYYYMMDDTHHMMSSZZ."),
        (Z + "RRULE:FREQ=DAILY", "INTERVAL required in rrule: RULE:FREQ=DAILY"),
        (Z + "RRULE:FREQ=SECONDLY;INTERVAL=1", "SECONDLY is not supported: RULE:FREQ=SECONDLY;INTERVAL=1"),
        (Z + "RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=2MO", "BYDAY with numeric prefix not supported: RULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=2MO"),
        (Z + "RRULE:FREQ=DAILY;INTERVAL=1;COUNT=1000", "COUNT > 999 is unsupported: RULE:FREQ=DAILY;INTERVAL=1;COUNT=1000"),
        (
            Z + "RRULE:FREQ=DAILY;INTERVAL=1;COUNT=2;UNTIL=20260201T030000Z",
            "RRULE may not contain both COUNT and UNTIL: RULE:FREQ=DAILY;INTERVAL=1;COUNT=2;UNTIL=20260201T030000Z",
        ),
        (Z + Z + "RRULE:FREQ=DAILY;INTERVAL=1", "Multiple DTSTART is not supported."),
        (Z, "One or more rule required in rrule."),
        (Z + "RRULE:FREQ=DAILY;INTERVAL=1 EXDATE:20260101T030000Z", "EXDATE not allowed in rrule."),
        (Z + "RRULE:FREQ=NEVER;INTERVAL=1", "rrule parsing failed validation: "),
    ],
)
def test_rules_of_schedules_that_are_refused(configured, rule, expected):
    api, ids = configured
    status, answer = call(api, "POST", "/api/v2/schedules/", {"name": "s", "unified_job_template": ids["plain"], "rrule": rule})
    assert status == 400
    assert any(text.startswith(expected) for text in answer["rrule"])


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "expected"),
    [
        ("PATCH", "credential_types/{kubernetes}", {"name": "x"}, 403, {"detail": "Modifications not allowed for managed credential types"}),
        (
            "PATCH",
            "credential_types/{custom}",
            {"inputs": {"fields": FIELDS["fields"]}},
            403,
            {"detail": "Modifications to inputs are not allowed for credential types that are in use"},
        ),
        (
            "PATCH",
            "inventories/{inventory}",
            {"kind": "smart"},
            405,
            {"error": 'You cannot turn a regular inventory into a "smart" or "constructed" inventory.'},
        ),
        ("PATCH", "execution_environments/2", {"name": "x"}, 403, {"detail": "You do not have permission to perform this action."}),
        (
            "PATCH",
            "execution_environments/{ee}",
            {"organization": "@org2"},
            400,
            one("organization", "Cannot change the organization of an execution environment"),
        ),
        ("PATCH", "credentials/1", {"name": "x"}, 403, {"detail": "Modifications not allowed for managed credentials"}),
        (
            "PATCH",
            "credentials/{git}",
            {"credential_type": "@registry"},
            400,
            one(
                "credential_type",
                "You cannot change the credential type of the credential, as it may break the functionality of the resources using it.",
            ),
        ),
        ("PATCH", "credentials/{vault}", {"inputs": {"vault_id": "b"}}, 400, one("inputs", "Vault IDs cannot be changed once they have been created.")),
        (
            "PATCH",
            "projects/{branches}",
            {"allow_override": False},
            400,
            one("allow_override", "One or more job templates depend on branch override behavior for this project (ids: 8)."),
        ),
        ("PATCH", "projects/{project}", {"organization": None}, 400, one("organization", "Organization cannot be changed when in use by job templates.")),
        ("PATCH", "projects/{project}", {"local_path": "x"}, 400, one("local_path", "Cannot change local_path for git-based projects")),
        ("POST", "workflow_job_template_nodes/{first}/success_nodes", {"id": "@other"}, 403, {"detail": "You do not have permission to perform this action."}),
        ("POST", "workflow_approval_templates/{flow}/success_nodes", {"id": "@first"}, 404, {"detail": "The requested resource could not be found."}),
        ("GET", "workflow_approval_templates", None, 404, {"detail": "The requested resource could not be found."}),
        ("GET", "nothing", None, 404, {"detail": "The requested resource could not be found."}),
        ("GET", "projects/999", None, 404, {"detail": "Not found."}),
        ("DELETE", "labels/{label}", None, 405, {"detail": 'Method "DELETE" not allowed.'}),
        ("POST", "unified_job_templates", {}, 405, {"detail": 'Method "POST" not allowed.'}),
        ("GET", "projects/?colour=red", None, 400, {"detail": "Project has no field named 'colour'"}),
    ],
)
def test_forbidden_changes_and_unknown_paths_get_the_errors_of_awx(configured, method, path, body, status, expected):
    api, ids = configured
    target = f"/api/v2/{path.format(**ids)}"
    assert call(api, method, target if "?" in target else f"{target}/", filled(body, ids)) == (status, expected)


@pytest.mark.parametrize("login", ["", "Bearer wrong", "Basic " + base64.b64encode(b"admin:wrong").decode()])
def test_invalid_credentials_are_refused_except_for_ping(api, login):
    status, answer = call(api, "GET", "/api/v2/me/", login=login)
    assert (status, answer["detail"][:51]) == (401, "Authentication credentials were not provided. To es")
    assert call(api, "GET", "/api/v2/ping/", login=login)[0] == 200


def test_a_login_gets_a_token_that_ends_with_it(api):
    basic = "Basic " + base64.b64encode(f"{api.user}:{api.password}".encode()).decode()
    status, token = call(api, "POST", "/api/v2/tokens/", {"description": "x", "application": None, "scope": "read"}, login=basic)
    bearer = f"Bearer {token['token']}"
    assert status == 201
    assert call(api, "GET", f"/api/v2/tokens/{token['id']}/")[1]["token"] == "************"
    assert call(api, "GET", "/api/v2/me/", login=bearer)[1]["results"][0]["username"] == "admin"
    assert call(api, "POST", "/api/v2/organizations/", {"name": "x"}, login=bearer)[0] == 403
    assert call(api, "DELETE", f"/api/v2/tokens/{token['id']}/", login=basic) == (204, None)
    assert call(api, "GET", "/api/v2/me/", login=bearer)[0] == 401


def test_pages_and_filters(api):
    for number in range(30):
        make(api, "labels", name=f"l{number}", organization=1)
    _status, first = call(api, "GET", "/api/v2/labels/?organization=1")
    assert (first["count"], len(first["results"]), first["next"], first["previous"]) == (30, 25, "/api/v2/labels/?organization=1&page=2", None)
    assert [row["name"] for row in call(api, "GET", first["next"])[1]["results"]] == ["l25", "l26", "l27", "l28", "l29"]
    assert call(api, "GET", "/api/v2/labels/?or__id=3&or__name=l7")[1]["count"] == 2
    assert call(api, "GET", "/api/v2/labels/?organization=None&name=l7")[1]["count"] == 0
    assert call(api, "GET", "/api/v2/unified_job_templates/?type=workflow_approval")[1]["count"] == 0


def test_a_project_is_pending_at_first_and_has_the_playbooks_of_its_checkout(api):
    made = make(api, "projects", name="p", organization=1, scm_type="git", scm_url=URL)
    update = call(api, "GET", f"/api/v2/project_updates/{made['summary_fields']['current_update']['id']}/")[1]
    assert (made["status"], update["status"], call(api, "GET", made["url"])[1]["status"]) == ("pending", "successful", "successful")
    assert call(api, "GET", f"{made['url']}playbooks/") == (200, ["playbooks/site.yml"])
    assert call(api, "POST", f"{made['url']}update/")[0] == 202
    assert not api.writes[-1].changed
    make(api, "projects", name="manual")
    assert call(api, "GET", "/api/v2/projects/2/playbooks/") == (200, [])
    assert make(api, "projects", name="elsewhere", scm_type="git", scm_url="https://git.example.com/nothing")["last_update_failed"]


def test_a_patch_returns_the_keys_of_a_get_and_equal_values_change_nothing(api, ids):
    """The modules report a difference between the two as a change."""
    for kind in ("organizations", "credentials", "projects", "inventories", "job_templates", "workflow_job_template_nodes", "schedules"):
        before = api.objects(kind)[-1]
        _status, got = call(api, "GET", before["url"])
        same = {name: value for name, value in got.items() if name in ("name", "identifier", "rrule", "kind", "host_filter")}
        _status, patched = call(api, "PATCH", before["url"], same)
        assert {**patched, "modified": got["modified"]} == got
        assert not api.writes[-1].changed
        call(api, "PATCH", before["url"], {"identifier" if "identifier" in got else "name": "another"})
        assert api.writes[-1].changed


def test_objects_are_stored_as_awx_stores_them(api, ids):
    types = call(api, "GET", f"/api/v2/credential_types/{ids['custom']}/")[1]
    assert types["inputs"]["fields"][0] == {"id": "hf_token", "label": "Token", "secret": True, "type": "string"}
    assert call(api, "GET", f"/api/v2/credentials/{ids['cluster']}/")[1]["inputs"] == {"host": "https://k", "bearer_token": "$encrypted$"}
    webhook = call(api, "GET", f"/api/v2/notification_templates/{ids['webhook']}/")[1]["notification_configuration"]
    assert webhook == {**WEBHOOK, "http_method": "POST", "disable_ssl_verification": False, "username": "", "password": ""}
    assert call(api, "PATCH", f"/api/v2/inventories/{ids['inventory']}/", {"kind": None, "host_filter": None})[1]["kind"] == ""
    spec = call(api, "GET", f"/api/v2/job_templates/{ids['asks']}/survey_spec/")[1]["spec"]
    assert (spec[4]["choices"], spec[5]["default"]) == ("dns\ngpus", "$encrypted$")
    rule = make(api, "schedules", name="s", unified_job_template=ids["plain"], rrule=RULE.replace(" ", "\n") + ";UNTIL=20260201T030000")["rrule"]
    assert rule == RULE + ";UNTIL=20260201T020000Z"
    empty = make(api, "workflow_job_template_nodes", workflow_job_template=ids["flow"], identifier="x", limit="dropped")
    assert (empty["limit"], call(api, "GET", empty["url"])[1]["unified_job_template"]) == (None, None)


def test_secrets_sent_as_encrypted_placeholder_stay_unchanged(api, ids):
    path = f"/api/v2/credentials/{ids['cluster']}/"
    call(api, "PATCH", path, {"inputs": {"host": "https://k", "bearer_token": "$encrypted$"}})
    assert not api.writes[-1].changed
    call(api, "PATCH", path, {"inputs": {"host": "https://k", "bearer_token": "new"}})
    assert api.writes[-1].changed
    survey = call(api, "GET", f"/api/v2/job_templates/{ids['asks']}/survey_spec/")[1]
    assert call(api, "POST", f"/api/v2/job_templates/{ids['asks']}/survey_spec/", survey) == (200, None)
    assert not api.writes[-1].changed


def test_a_patch_keeps_the_notification_messages_that_it_omits(api, ids):
    """A change adds the missing events: a template of awx.awx whose messages lack some is changed again by the second run."""
    path = f"/api/v2/notification_templates/{make(api, 'notification_templates', **filled({**TEMPLATE, 'messages': {'error': {'body': 'x'}}}, ids))['id']}/"
    assert call(api, "GET", path)[1]["messages"] == {"error": {"body": "x"}}
    kept = {"started": {"message": "y"}, "success": None, "error": {"body": "x"}, "workflow_approval": None}
    assert call(api, "PATCH", path, {"messages": {"started": {"message": "y"}}})[1]["messages"] == kept
    assert call(api, "PATCH", path, {"messages": {"error": {"message": "z"}}})[1]["messages"]["error"] == {"body": "x", "message": "z"}


def test_answers_of_a_schedule_that_are_secret(api, ids):
    body = {"name": "s", "unified_job_template": ids["asks"], "rrule": RULE, "extra_data": {"host": "abc", "token": "secret"}}
    made = make(api, "schedules", **body)
    assert made["extra_data"] == {"host": "abc", "token": "$encrypted$"}
    call(api, "PATCH", made["url"], {"extra_data": made["extra_data"]})
    assert not api.writes[-1].changed
    status, answer = call(api, "POST", "/api/v2/schedules/", {**body, "name": "t", "extra_data": {"host": "$encrypted$"}})
    assert (status, answer) == (400, one("extra_data", '"$encrypted$ is a reserved keyword, may not be used for host."'))


def test_a_launched_job_gets_the_survey_defaults_and_the_answers(api, ids):
    """Defaults, then answers; a string is no default of a multiselect, and variables outside the survey are ignored."""
    path = f"/api/v2/job_templates/{ids['asks']}/launch/"
    status, answer = call(api, "POST", path, {"extra_vars": {"host": "abc", "other": 1}, "verbosity": 3})
    assert (status, answer["ignored_fields"]) == (201, {"extra_vars": {"other": 1}, "verbosity": 3})
    assert api.launches[-1]["extra_vars"] == {"host": "abc", "replicas": 3, "provider": "istio", "token": "hidden", "notes": ""}
    call(api, "POST", path, {"extra_vars": {"host": "abc", "checks": ["gpus"], "rate": 2, "token": "$encrypted$"}})
    assert api.launches[-1]["extra_vars"] == {
        "host": "abc", "replicas": 3, "provider": "istio", "token": "hidden", "notes": "", "checks": ["gpus"], "rate": 2
    }  # fmt: skip


def test_an_approval_belongs_to_its_node(api, ids):
    path = f"/api/v2/workflow_job_template_nodes/{ids['empty']}/"
    status, made = call(api, "POST", f"{path}create_approval_template/", {"name": "Approve", "timeout": 60})
    node = call(api, "GET", path)[1]
    assert (status, node["related"]["unified_job_template"], made["type"]) == (201, made["url"], "workflow_approval_template")
    assert call(api, "GET", "/api/v2/unified_job_templates/?name=Approve")[1]["count"] == 0
    assert call(api, "PATCH", made["url"], {"timeout": 90})[1]["timeout"] == 90
    assert call(api, "DELETE", path)[0] == 204
    assert call(api, "GET", made["url"])[0] == 404


def test_deleting_an_object_deletes_its_dependents_or_clears_references(api, ids):
    assert call(api, "DELETE", f"/api/v2/workflow_job_templates/{ids['flow']}/")[0] == 204
    assert [node["identifier"] for node in api.objects("workflow_job_template_nodes")] == ["other", "nested", "empty"]
    assert call(api, "DELETE", f"/api/v2/inventories/{ids['inventory']}/")[0] == 202
    assert (api.objects("hosts"), api.objects("job_templates")[0]["inventory"]) == ([], None)


def test_associations(api, ids):
    path = f"/api/v2/job_templates/{ids['asks']}/credentials/"
    assert call(api, "POST", path, {"id": ids["cluster"]}) == (204, None)
    assert call(api, "POST", path, {"id": ids["cluster2"]})[1] == {"error": "Cannot assign multiple OpenShift or Kubernetes API Bearer Token credentials."}
    assert api.objects("job_templates")[1]["lists"]["credentials"] == ["models", "cluster"]
    assert call(api, "POST", path, {"id": ids["cluster"], "disassociate": True}) == (204, None)
    assert [row["name"] for row in call(api, "GET", path)[1]["results"]] == ["models"]


@pytest.mark.parametrize(
    ("path", "body", "complaint"),
    [
        ("organizations", {"name": "x", "descripton": "y"}, "there is no field descripton"),
        ("credentials", CREDENTIAL, "no job starts with it: no host, bearer_token"),
        ("credentials", {**CREDENTIAL, "inputs": {"host": "k", "bearer_token": "t", "verify_ssl": True}}, "verify_ssl without ssl_ca_cert verifies nothing"),
        ("job_templates", {**JT, "project": "@branches", "playbook": "nothing.yml"}, "playbook nothing.yml is not in the project"),
        ("credential_types", {"name": "T", "kind": "cloud", "inputs": {"required": ["x"]}}, "x is required, but no field"),
        ("workflow_job_templates", {"name": "plain", "organization": "@org"}, "has the name 'plain' too"),
        ("inventory_sources", {**SOURCE, "source_path": "nowhere.yml"}, "source_path nowhere.yml is not in the project"),
        ("job_templates", {**JT, "organization": 5}, "organization cannot be set: it stays 1, not 5"),
        ("hosts", {"name": "h:22", "inventory": "@inventory"}, "a port in the name becomes a variable"),
        ("notification_templates", {**TEMPLATE, "messages": {"workflow_approval": {"denied": None}}}, "a step of messages.workflow_approval is null"),
        ("workflow_job_template_nodes/{empty}/create_approval_template", {"name": "a", "timeout": -1}, "timeout -1 is negative"),
        ("job_templates/{plain}/survey_spec", question(), "survey_enabled is false: no launch shows the survey"),
        ("job_templates/{asks}/survey_spec", question(defualt="x"), "x: there is no key defualt"),
        ("job_templates/{asks}/survey_spec", question(min=5, max=1), "x: min 5 is above max 1"),
        ("job_templates/{asks}/survey_spec", question(type="integer", max=1, default=5), "x: default: 'x' value 5 is too large (must be no more than 1)."),
        ("job_templates/{asks}/survey_spec", question(type="multiselect", choices=["a"], default="a"), "x: the default of a multiselect is used by"),
        ("job_templates/{asks}/survey_spec", question(variable="a-b"), "a-b: no name of a variable"),
    ],
)
def test_mistakes_that_awx_accepts_silently_are_reported_as_complaints(api, ids, path, body, complaint):
    count = len(api.complaints)
    status, _answer = call(api, "POST", f"/api/v2/{path.format(**ids)}/", filled(body, ids))
    assert status in (200, 201)
    assert [text for text in api.complaints[count:] if complaint in text]


def test_a_configuration_without_a_mistake_has_no_complaints(api, ids):
    assert [text for text in api.complaints if "(asks): survey: checks: the default of a multiselect" not in text] == []


def test_concurrent_requests_are_handled_one_after_the_other(api):
    answers = []

    def add():
        answers.append(call(api, "POST", "/api/v2/organizations/", {"name": "same"})[0])

    for _number in range(8):
        threading.Thread(target=add, daemon=True).start()
    until(lambda: len(answers) == 8)
    assert sorted(answers) == [201] + [400] * 7
