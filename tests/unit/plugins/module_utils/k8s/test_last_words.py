# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last error of a log, recognized by the marks of loggers; it is the cause of a failure that no table contains."""

from __future__ import annotations

import json

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.last_words import LATEST, last_words
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.pod_failures import end_failure, lasting_error, log_failure

# A picker of GIE 1.5 with --kv-cache-usage-percentage-metric, and one with an error that is in no table.
REFUSED = {
    "level": "error",
    "ts": "2026-11-26T10:00:00Z",
    "logger": "setup",
    "caller": "runner/runner.go:168",
    "msg": "Failed to validate flags",
    "error": 'flag "kv-cache-usage-percentage-metric" is deprecated and cannot be used; configure metrics via engineConfigs in EndpointPickerConfig instead',
    "stacktrace": "sigs.k8s.io/gateway-api-inference-extension/cmd/epp/runner.(*Runner).Run\n\t/src/cmd/epp/runner/runner.go:168",
}
UNLISTED = {**REFUSED, "msg": "Failed to extract GKNN", "error": "the pool has three tongues"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (json.dumps(UNLISTED), "Failed to extract GKNN: the pool has three tongues"),
        ('{"severity":"CRITICAL","message":"no shard 7"}', "no shard 7"),
        (json.dumps(UNLISTED)[:-30], '{"level": "error"'),
        ('time="2026-11-26T10:00:00Z" level=fatal msg="no shard 7"', 'level=fatal msg="no shard 7"'),
        ("E1126 10:00:00.123456       1 main.go:42] no shard 7", "no shard 7"),
        ("2026-11-26T10:00:00.123Z\tERROR\tsetup\tno shard 7", "no shard 7"),
        ("2026/11/26 10:00:00 error: no shard 7", "no shard 7"),
        ("Error: no shard 7", "no shard 7"),
        ("server: error: no shard 7", "no shard 7"),
        ("ERROR 11-26 10:00:00 [core.py:12] no shard 7", "no shard 7"),
        ("(Worker pid=7) ERROR 11-26 10:00:00 [core.py:12] no shard 7", "no shard 7"),
        ("[2026-11-26 10:00:00.000][1][critical][main] [source/server/server.cc:129] no shard 7", "no shard 7"),
        ("\x1b[31mFATAL:\x1b[0m no shard 7", "no shard 7"),
    ],
)
def test_the_marks_of_loggers(line, words):
    log = f"INFO starting\n{json.dumps({**UNLISTED, 'error': 'another, earlier'})}\n{line}\nINFO leaving\n\n"
    assert words in last_words(log), last_words(log)


@pytest.mark.parametrize(
    "line",
    [
        "INFO nothing is wrong",
        '{"level":"info","msg":"an error is no error here","error":"none"}',
        "errors: 0",
        "the last error was long ago",
        '{"level":"error"',
        "INFO 11-26 error_rate 0",
        "[1]",
        "{}",
        "",
    ],
)
def test_an_unmarked_log_line_is_not_taken_for_an_error(line):
    assert last_words(line) in ("", line) and (last_words(line) == "" or "level" in line)


def test_only_the_end_counts():
    assert last_words("error: long ago\n" + "INFO on and on\n" * LATEST) == ""
    assert last_words("error: just now\n" + "Usage:\n" * (LATEST - 1)) == "error: just now"


def test_no_secret_is_in_it():
    assert "hf_abcdefgh12345678" not in last_words("error: cannot log in with HF_TOKEN=hf_abcdefgh12345678")


def test_an_unlisted_error_is_the_cause_only_when_the_program_has_ended():
    log = f"INFO starting\n{json.dumps(UNLISTED)}\n"
    assert log_failure(log) is None, "a program that goes on has survived it"
    assert end_failure(log).what == "Failed to extract GKNN: the pool has three tongues"
    assert lasting_error(log) == lasting_error(log.replace("10:00:00Z", "10:00:07Z")) != ""
    assert lasting_error(json.dumps({**UNLISTED, "error": "dial tcp 10.0.0.1:443: connect: connection refused"})) == "", "the next run may do better"
    assert end_failure("INFO leaving\n") is None


def test_a_known_error_of_json_is_shown_as_its_message():
    failure = end_failure(json.dumps(REFUSED))
    assert failure.code == "args" and failure.what.startswith('Failed to validate flags: flag "kv-cache-usage-percentage-metric" is deprecated'), failure


@pytest.mark.parametrize(
    "line",
    [
        "unknown flag: --nonsense",
        "Error: unknown shorthand flag: 'x' in -x",
        'Error: invalid argument "many" for "--replicas" flag: strconv.ParseInt: parsing "many": invalid syntax',
        "flag needs an argument: --config-file",
        "flag provided but not defined: -nonsense",
        'invalid value "many" for flag -v: parse error',
        'invalid boolean value "many" for -tls: parse error ... for flag',
        "bad flag syntax: ---x",
        "vllm serve: error: unrecognized arguments: --nonsense=1",
        "api_server.py: error: argument --port: invalid int value: 'many'",
        "api_server.py: error: the following arguments are required: --model",
        "api_server.py: error: ambiguous option: --max could match --max-model-len, --max-num-seqs",
        "Error: No such option: --nonsense",
        "Error: No such option '--nonsense'.",
        "Error: Invalid value for '--port': 'many' is not a valid integer.",
        "Error: Missing option '--model'.",
        "Error: Got unexpected extra argument (nonsense)",
        "error: unexpected argument '--nonsense' found",
        "error: Found argument '--nonsense' which wasn't expected, or isn't valid in this context",
        "error: invalid value 'many' for '--port <PORT>': invalid digit found in string",
        "error: the following required arguments were not provided:",
        "nginx: invalid option -- 'x'",
        "envoy: unrecognized option '--nonsense'",
        "PARSE ERROR: Argument: --nonsense",
    ],
)
def test_errors_of_command_lines_of_every_kind(line):
    assert log_failure(f"INFO starting\n{line}\nUsage: program [flags]\n").code == "args"


@pytest.mark.parametrize(
    "line",
    [
        "INFO request: unexpected argument in function call",
        "ERROR 400: invalid value for temperature",
        "WARNING no such option in the cache, computing it",
    ],
)
def test_request_errors_in_the_log_are_not_taken_for_argument_errors(line):
    failure = log_failure(line)
    assert failure is None or failure.code != "args"
