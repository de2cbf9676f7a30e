# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Field descriptions, and validation of user input against them: defaults are filled in and all problems are collected. Pure."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import re
import typing as t

from ..common.scalars import blank, scalar, words
from ..common.text import redact

Kind = t.Literal["str", "int", "float", "bool", "quantity", "dict", "list", "map", "any"]
REDACTED = "(not shown)"
LARGEST = 1e15  # the largest number of any option
SHORTEST_TOKEN = 20  # characters; hf_transfer is not a token
_AROUND = "'\"`<> \t\r\n\xa0\u200b\u2060\ufeff\u2018\u2019\u201c\u201d"  # characters that are pasted together with a token
# Tokens that are recognized anywhere in a text; those of Hugging Face also in base64.
_TOKEN = re.compile(r"\b(?:hf_[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{36,}|glpat-[\w-]{20,}|nvapi-[\w-]{40,}|aGZf[A-Za-z0-9+/]{30,})")
_BROKEN = re.compile(r"hf_(?=[a-z0-9]*[A-Z])(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{34}\Z")  # one that an editor has broken into lines


@dataclasses.dataclass(frozen=True)
class Format:
    """A string format: its pattern, its description in messages, and an example."""

    pattern: re.Pattern[str]
    words: str
    example: str


def _format(pattern: str, words: str, example: str) -> Format:
    return Format(re.compile(pattern), words, example)


def _cron(*values: str) -> str:
    """The fields of a schedule as Kubernetes reads them (robfig/cron): values, ranges, steps and lists. It has no weekday 7."""
    parts = [rf"([*?]|({value})(-({value}))?)(/[1-9][0-9]{{0,2}})?" for value in values]
    fields = "[ ]+".join(f"{part}(,{part})*" for part in parts)
    return rf"(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|{fields})\Z"


def _named(names: str) -> str:
    """Names in upper or lower case: the pattern is for editors too, whose dialect has no flags."""
    return "|".join("".join(f"[{letter.upper()}{letter}]" for letter in name) for name in names.split())


_CRON = _cron(
    "[0-5]?[0-9]",
    "[01]?[0-9]|2[0-3]",
    "0?[1-9]|[12][0-9]|3[01]",
    f"0?[1-9]|1[0-2]|{_named('jan feb mar apr may jun jul aug sep oct nov dec')}",
    f"[0-6]|{_named('sun mon tue wed thu fri sat')}",
)
_INVISIBLE = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\u200b\u2060\ufeff"  # control characters, a soft hyphen, spaces of no width, a byte order mark
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
# Of image references, as container runtimes and kubelets read them: https://pkg.go.dev/github.com/distribution/reference
_HOST = "[A-Za-z0-9]+(-+[A-Za-z0-9]+)*"
_REGISTRY = rf"({_HOST}((\.{_HOST})+(:[0-9]+)?|:[0-9]+)|\[[A-Fa-f0-9:]+\](:[0-9]+)?)"
_REPOSITORY = r"[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*"
_DIGEST = "(sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})"
FORMATS: dict[str, Format] = {
    "dns_label": _format(
        rf"(?=.{{1,63}}\Z){_LABEL}\Z", "lower-case letters, digits and '-', starting and ending with a letter or digit, at most 63 characters", "llama-8b"
    ),
    "dns_subdomain": _format(
        rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*\Z", "lower-case letters, digits, '-' and '.', starting and ending with a letter or digit", "my-secret"
    ),
    "name_suffix": _format(r"[-a-z0-9]{0,19}[a-z0-9]\Z", "at most 20 lower-case letters, digits and '-', ending with a letter or digit", "-blue"),
    "hostname": _format(rf"(?=.{{1,253}}\Z)(\*\.)?{_LABEL}(\.{_LABEL})*\Z", "a host name, with or without a leading '*.'", "chat.example.com"),
    "quantity": _format(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?\Z", "a Kubernetes quantity: a number with an optional unit", "50Gi"),
    "duration": _format(r"([0-9]+(\.[0-9]+)?(us|ms|s|m|h))+\Z", "a duration: a number with us, ms, s, m or h", "200ms"),
    "gateway_duration": _format(r"([0-9]{1,5}(h|m|s|ms)){1,4}\Z", "a duration: a whole number with ms, s, m or h", "300s"),
    "adapter_name": _format(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,252}\Z", "letters, digits, '.', '_', '-' and '/', starting with a letter or digit", "sql"),
    "adapter_source": _format(r"(/[\w.-]+)+\Z|[\w.-]+/[\w.-]+\Z", "the path of a folder, or ORGANISATION/NAME", "/models/sql"),
    "cron": _format(_CRON, "five fields of cron (minute, hour, day, month, weekday) or a word such as @hourly", "*/15 * * * *"),
    "time_zone": _format(r"(?!Local\Z)[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*\Z", "a time zone of the IANA database", "Europe/Berlin"),
    "url_path": _format(
        r"(?=.{1,1024}\Z)(?!.*//)/(?!(?:.*/)?\.\.?(?:/|\Z))[A-Za-z0-9/._~-]*\Z",
        "a path that begins with '/' and contains no '//', '/./' or '/../', at most 1024 characters",
        "/llama",
    ),
    "http_url": _format(r"https?://[^\s/?#@]+(/[^\s?#]*)?\Z", "a URL with http:// or https://, without credentials", "http://prometheus.monitoring:9090"),
    "otlp_endpoint": _format(
        r"(https?://)?[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?:[0-9]{1,5}/?\Z",
        "HOST:PORT or http://HOST:PORT, without a path",
        "http://otel-collector.monitoring:4317",
    ),
    "download_url": _format(
        r"https?://[^\s/?#@]+/[^\s#]*\Z", "a URL with https:// (or http://) and the path of a file", "https://mirror.example.com/crds.yaml"
    ),
    "cache_url": _format(
        r"((redis|rediss|resp|valkey)://[A-Za-z0-9.-]+:[0-9]{1,5}|redis-(sentinel|cluster)://[A-Za-z0-9.-]+:[0-9]{1,5}(,[A-Za-z0-9.-]+:[0-9]{1,5})*)\Z",
        "redis://, rediss://, resp:// or valkey:// with HOST:PORT, or redis-sentinel:// or redis-cluster:// with HOST:PORT,HOST:PORT, without credentials",
        "redis://redis.caches:6379",
    ),
    "sha256": _format(r"[0-9a-f]{64}\Z", "64 lower-case hexadecimal digits", "0" * 64),
    "image": _format(
        rf"(?=[^@]{{1,255}}(:[A-Za-z0-9_.-]+)?(@|\Z))({_REGISTRY}/)?{_REPOSITORY}(/{_REPOSITORY})*"
        rf"(:[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}(@{_DIGEST})?|@{_DIGEST})\Z",
        "an image with its tag or digest, and its name in lower case: [REGISTRY/]NAME:TAG, or NAME@sha256: with 64 hexadecimal digits",
        "vllm/vllm-openai:v0.30.0",
    ),
    "digest": _format(r"sha256:[0-9a-f]{64}\Z", "sha256: and 64 hexadecimal digits", "sha256:" + "0" * 64),
    "image_prefix": _format(
        r"[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?(/[a-z0-9]([a-z0-9._-]*[a-z0-9])?)*\Z",
        "a registry, optionally with a port or a path, without 'https://' and without a trailing '/'",
        "registry.example.com:5000/mirror",
    ),
    "registry_host": _format(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?\Z", "the name of a registry, without a path", "ghcr.io"),
    "chart": _format(
        r"(oci://[^\s/@]+(/[^\s/:@]+)+|https?://[^\s/?#@]+(/[^\s/?#]+)*/?|[^\s:/]+\.tgz|[^\s:]*/[^\s:]*)\Z",
        "a folder, an archive (.tgz), an oci:// reference without a version, the URL of a chart repository, or a name in a repository that Helm knows; without"
        " credentials, which Helm keeps (helm registry login, helm repo add)",
        "oci://registry.example.com/charts/gateway-helm",
    ),
    "label_key": _format(
        rf"((?=[^/]{{1,253}}/){_LABEL}(\.{_LABEL})*/)?" r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z", "a Kubernetes label key", "example.com/team"
    ),
    "label_value": _format(
        r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?\Z",
        "at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or digit",
        "research",
    ),
    "header_name": _format(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}\Z", "the name of an HTTP header, without its colon", "x-variant"),
    "env_name": _format(r"[A-Za-z_][A-Za-z0-9_]*\Z", "letters, digits and '_', not starting with a digit", "VLLM_LOGGING_LEVEL"),
    "feature_gate": _format(r"[A-Za-z][A-Za-z0-9_-]*(=[A-Za-z0-9]+)?\Z", "the name of a feature gate, alone or with =false", "flowControl"),
    # Credentials are often pasted, or read from a file with its line end; clients then send a header that no server accepts.
    "token": _format(
        rf"(?!['\"`<]|.*['\"`>]\Z|.*\\[nrt]\Z)(?!({_named('bearer authorization')}):|[A-Z][A-Z0-9_]*(TOKEN|KEY)=|\$ANSIBLE_VAULT)"
        r"(?!(aGZf|c2st)[A-Za-z0-9+/]{16,}={0,2}\Z)[!-~]+\Z",
        "a token alone, not its base64: visible ASCII characters without blanks, a line end, quotes around them, or 'Bearer' or a name before them;"
        " '| trim' removes white space",
        "{{vault_token|trim}}",
    ),
    "credential": _format(
        r"(?![^{][^\r\n]*[\r\n])"  # a service account of Google is JSON in lines
        rf"(?!(['\"])[\s\S]*\1\Z)(?![\u201c\u201d\u2018\u2019][\s\S]*[\u201c\u201d\u2018\u2019]\Z)[^\s{_INVISIBLE}]([^{_INVISIBLE}]*[^\s{_INVISIBLE}])?\Z",
        "a user name or password alone: without blanks or quotes around it, and without line ends (but for JSON) or invisible characters;"
        " '| trim' removes white space",
        "{{ vault_password | trim }}",
    ),
    "secret_key": _format(r"[-._A-Za-z0-9]{1,253}\Z", "letters, digits, '-', '_' and '.'", "HF_TOKEN"),
    "version": _format(r"v?[0-9]+\.[0-9]+(\.[0-9]+)?([-+][0-9A-Za-z.-]+)?\Z", "a version such as 1.29.2", "1.29.2"),
    "model_uri": _format(
        r"(?!.*/\.\.?(/|\Z))"
        r"(hf://[\w.-]+/[\w.-]+|pvc://[a-z0-9]([-a-z0-9.]*[a-z0-9])?(/[\w.-]+)+|(s3|gs)://[a-z0-9]([-a-z0-9._]*[a-z0-9])?(/[\w.-]+)+|file://(/[\w.-]+)+)\Z",
        "hf://ORGANISATION/MODEL, pvc://CLAIM/PATH, s3://BUCKET/PATH, gs://BUCKET/PATH or file:///PATH of the image, without '/./' or '/../'",
        "hf://meta-llama/Llama-3.1-8B-Instruct",
    ),
}


@dataclasses.dataclass(frozen=True)
class Field:
    """One option of the user's file.

    `dict` has named `options`; `map` has free keys (of format `keys`) with values described by `elements`; `list` has `elements`; both have at most `most`.
    A default of None means that the option stays None; `secret` keeps the value out of messages; `replaced` are former choices or options, with their
    replacements.
    `otherwise` is the field for a value of another type. A `dict` with `fields` is a Kubernetes object: fields are kept as written, `null` included, and none
    is added; `elsewhere` are fields that it does not have, with what to write instead. Elements that are `nullable` may be `null`.
    """

    type: Kind
    description: str
    required: bool = False
    default: t.Any = None
    choices: tuple[t.Any, ...] = ()
    replaced: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    minimum: float | None = None
    maximum: float | None = None
    format: str | None = None
    keys: str | None = None
    options: t.Mapping[str, Field] | None = None
    elements: Field | None = None
    most: int | None = None
    secret: bool = False
    example: t.Any = None
    otherwise: Field | None = None
    fields: t.Mapping[str, Field] | None = None
    elsewhere: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    nullable: bool = False


@dataclasses.dataclass(frozen=True)
class Problem:
    """One mistake: its path in the user's file, the value, why it is wrong, what to write instead."""

    path: str
    value: t.Any
    reason: str
    fix: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason} {self.fix}"


Result = tuple[t.Any, list[Problem]]
_WORDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "quantity": "a Kubernetes quantity",
    "dict": "a mapping (key: value)",
    "map": "a mapping (key: value)",
    "list": "a list",
    "any": "a value",
}
_ARGUMENT_TYPES = {"map": "dict", "quantity": "str", "any": "raw", "bool": "raw", "int": "raw", "float": "raw"}
_CLASSES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "quantity": (str, int, float),
    "dict": (dict,),
    "map": (dict,),
    "list": (list, tuple),
}


def complete(value: t.Any, field: Field, path: str) -> Result:
    """(`value` with every default filled in, at any depth; all problems). Never raises for a user's mistake.

    Surveys and -e give texts: a text that can only be a boolean, number or list is converted, and an empty text is not set.
    """
    value = from_text(value, field)
    if value is None:
        return _absent(field, path)
    if field.type == "any":
        return value, []
    if field.otherwise and _has_type(value, field.otherwise.type):
        return complete(value, field.otherwise, path)
    if not _has_type(value, field.type):
        return value, [_type_problem(value, field, path)]
    if field.type == "dict":
        return _complete_dict(value, field, path)
    if field.most is not None and len(value) > field.most:
        return value, [Problem(path, len(value), f"has {len(value)} elements.", f"Write at most {field.most}.")]
    if field.type == "map":
        return _complete_map(value, field, path)
    if field.type == "list":
        return _complete_list(value, field, path)
    if field.type == "quantity":  # Kubernetes accepts both `cpu: 2` and `cpu: "2"`
        value = str(value)
        field = dataclasses.replace(field, format="quantity")
    return value, _check_scalar(value, field, path)


def from_text(value: t.Any, field: Field) -> t.Any:
    """The boolean, number or list that a text stands for, None for an empty text; every other value as it is."""
    if not isinstance(value, str) or not (field.type in ("bool", "int", "float", "quantity") or separable(field)):
        return value
    if blank(value):
        return None
    return words(value) if field.type == "list" else scalar(value, field.type)


def separable(field: Field) -> bool:
    """Whether a list can be written as one text, with commas: if no element can contain a comma."""
    element = field.elements
    if field.type != "list" or element is None or element.otherwise:
        return False
    if element.type in ("bool", "int", "float", "quantity"):
        return True
    if element.type != "str" or not element.format:
        return element.type == "str" and bool(element.choices) and "," not in "".join(map(str, element.choices))
    pattern = re.sub(r"\{[0-9]*,[0-9]*\}", "", FORMATS[element.format].pattern.pattern)
    return not any(sign in pattern for sign in (",", "[^", "!-~"))


def argument_type(field: Field) -> dict[str, str]:
    """Type and elements of the option in an argument spec. Ansible itself refuses an empty text for a number; here it is not set."""
    kind, *elements = [_ARGUMENT_TYPES.get(each.type, each.type) for each in (field, field.elements) if each is not None]
    spec = {"type": "raw" if field.otherwise else kind}
    return {**spec, "elements": elements[0]} if field.type == "list" and elements else spec


def _has_type(value: t.Any, kind: Kind) -> bool:
    return isinstance(value, _CLASSES[kind]) and (kind == "bool" or not isinstance(value, bool))


def show(value: t.Any, field: Field | None = None) -> str:
    """A value as the user would write it, on one line of at most 80 characters; REDACTED if it may contain a secret."""
    if field is not None and is_hidden(value, field):
        return REDACTED
    text = redact(repr(str(value)) if isinstance(value, str) else _unending(value) or json.dumps(_keyed(value), default=str))
    return text if len(text) <= 80 else f"{text[:77]}..."


def _is_token(value: t.Any) -> bool:
    """Whether a value looks like an access token, also with white space, quotes or `Bearer` around it, or contains a text that can only be a token."""
    bare = value.strip(_AROUND) if isinstance(value, str) and len(value) < 10_000 else ""
    if len(bare) < SHORTEST_TOKEN:
        return False
    return redact(bare).lower() in ("(removed)", "bearer (removed)") or bool(_TOKEN.search(bare) or _BROKEN.match("".join(bare.split())))


def ordinary(value: float) -> bool:
    """Whether a number can be computed with: not .inf, not .nan, and no larger than LARGEST."""
    return abs(value) <= LARGEST


def _unending(value: t.Any) -> str:
    """Infinity and not-a-number as YAML writes them; empty for any other value."""
    if not isinstance(value, float) or math.isfinite(value):
        return ""
    return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"


def _keyed(value: t.Any) -> t.Any:
    """A value with keys that are texts, as JSON requires: YAML has other keys too."""
    if isinstance(value, dict):
        return {str(key): _keyed(item) for key, item in value.items()}
    return [_keyed(item) for item in value] if isinstance(value, (list, tuple)) else value


def is_hidden(value: t.Any, field: Field) -> bool:
    """Whether a value at this field is or may contain a secret: a mapping or list if the field has a secret at any depth, a scalar up to two levels down."""
    return _holds_secret(field, 9 if isinstance(value, (dict, list, tuple)) else 2)


def _holds_secret(field: Field, depth: int) -> bool:
    below = [*_inside(field).values(), *([field.elements] if field.elements else [])] if depth else []
    return field.secret or any(_holds_secret(each, depth - 1) for each in below)


def suggest(word: str, known: t.Iterable[str]) -> str | None:
    """The known word closest to a misspelled one; None if none is close."""
    by_lower = {item.lower().replace("-", "_"): item for item in known}
    wanted = str(word).lower().replace("-", "_")
    close = difflib.get_close_matches(wanted, list(by_lower), n=1, cutoff=0.6)
    close = close or [item for item in by_lower if len(wanted) > 2 and item.startswith(wanted)]
    return by_lower[close[0]] if close else None


def home_of(key: str, options: t.Mapping[str, Field]) -> str | None:
    """The path of the nested block that has the option, such as `engine.simulator`; None if none has it."""
    for name, field in options.items():
        if key in _inside(field):
            return name
    for name, field in options.items():
        inner = home_of(key, _inside(field))
        if inner is not None:
            return f"{name}.{inner}"
    return None


def unknown_key(key: t.Any, known: t.Mapping[str, Field], path: str, value: t.Any = None) -> Problem:
    """The problem for an unknown key. It suggests the closest key, the block that has the key, or lists the allowed keys."""
    if any(field.secret for field in known.values()):
        value = REDACTED  # it may be a misspelled secret
    home = home_of(key, known)
    near = suggest(key, known)
    if home is not None:
        fix = f"Write it under {home}."
    elif near is not None:
        fix = f"Did you mean '{near}'?"
    else:
        fix = f"Allowed here: {', '.join(sorted(known))}."
    return Problem(f"{path}.{key}" if path else str(key), value, "there is no such option.", fix)


def unknown_keys(value: t.Mapping[str, t.Any], field: Field, path: str) -> list[Problem]:
    """The problems of keys that a `dict` field does not have."""
    return [_unknown_key(key, item, field, path) for key, item in value.items() if key not in _inside(field)]


def _inside(field: Field) -> t.Mapping[str, Field]:
    """The options of a field, or the fields of an object."""
    return field.options or field.fields or {}


def _unknown_key(key: t.Any, value: t.Any, field: Field, path: str) -> Problem:
    if key in field.replaced:
        return Problem(f"{path}.{key}", value, "is not supported any more.", f"Write {field.replaced[key]}.")
    if key in field.elsewhere:
        return Problem(f"{path}.{key}", REDACTED, "there is no such option in this block.", field.elsewhere[key])
    return unknown_key(key, _inside(field), path, value)


def _absent(field: Field, path: str) -> Result:
    if field.required:
        return None, [Problem(path, None, "is missing.", f"Write {expectation(field)}.")]
    if field.default is None:
        return None, []
    if field.type == "dict":
        return _complete_dict(field.default, field, path)
    return json.loads(json.dumps(field.default)), []


def _complete_dict(value: t.Mapping[str, t.Any], field: Field, path: str) -> Result:
    completed: dict[str, t.Any] = {}
    problems = unknown_keys(value, field, path)
    for name, option in _inside(field).items():
        if field.fields and name not in value:
            continue
        where = f"{path}.{name}" if path else name
        completed[name], mistakes = complete(value.get(name), option, where)
        problems += mistakes + empty_name(value, name, option, where)
    return completed, problems


def empty_name(value: t.Mapping[str, t.Any], name: str, field: Field, path: str) -> list[Problem]:
    """The problem of a name that is written but empty, although its option has a default: in YAML `null` and `~` are empty unless quoted."""
    if name not in value or value[name] is not None or field.default is None or field.format not in ("dns_label", "dns_subdomain"):
        return []
    fix = f'Write a name, in quotes where it is "null"; or remove the line, which means {field.default}.'
    return [Problem(path, None, "is empty, and YAML reads null and ~ without quotes as empty, too.", fix)]


def _complete_map(value: t.Mapping[t.Any, t.Any], field: Field, path: str) -> Result:
    completed: dict[str, t.Any] = {}
    problems: list[Problem] = []
    for key, item in value.items():
        where = f"{path}.{key}"
        if not isinstance(key, str):
            problems.append(Problem(where, key, f"the key {show(key)} is {_kind(key)}, not a string.", _quoted(key)))
            continue
        if field.keys and not FORMATS[field.keys].pattern.match(key):
            problems.append(
                Problem(where, key, f"the key {show(key)} is not {FORMATS[field.keys].words}.", f"Write a key such as {FORMATS[field.keys].example}.")
            )
        completed[str(key)], mistakes = _complete_element(item, field.elements, where)
        problems += mistakes
    return completed, problems


def _complete_list(value: t.Sequence[t.Any], field: Field, path: str) -> Result:
    results = [_complete_element(item, field.elements, f"{path}[{index}]") for index, item in enumerate(value)]
    return [item for item, problems in results], [problem for item, problems in results for problem in problems]


def _complete_element(item: t.Any, element: Field | None, path: str) -> Result:
    if element is None:
        return item, []
    if from_text(item, element) is None and element.type != "any" and not element.nullable:
        return None, [Problem(path, None, "is empty.", f"Write {expectation(element)}, or remove the line.")]
    return complete(item, element, path)


def _check_scalar(value: t.Any, field: Field, path: str) -> list[Problem]:
    if not field.secret and _is_token(value):
        fix = f"Write {expectation(field)}. The token goes into a Secret, or into an option for it, such as llm_d_model_token or llm_d_api_key, from a vault."
        return [Problem(path, REDACTED, "is an access token, and this option is not secret: everybody would see it.", fix)]
    mistake = _mistake(value, field)
    return [Problem(path, REDACTED if field.secret else value, f"{show(value, field)} {mistake[0]}", mistake[1])] if mistake else []


def _mistake(value: t.Any, field: Field) -> tuple[str, str] | None:
    """(the mistake of a scalar, what to write instead); None if it is valid."""
    if field.choices and value not in field.choices:
        near = suggest(value, [str(choice) for choice in field.choices]) if isinstance(value, str) else None
        fix = f"Did you mean '{near}'? " if near else ""
        instead = field.replaced.get(value) if isinstance(value, str) else None
        if instead:
            return "is not supported any more.", f"Write {instead}, which replaces it."
        return "is not known here.", f"{fix}Write one of: {', '.join(str(choice) for choice in field.choices)}."
    if isinstance(value, (int, float)) and not ordinary(value):
        return f"is {'not a number' if isinstance(value, float) and math.isnan(value) else 'too large'}.", f"Write {expectation(field)}."
    if field.minimum is not None and value < field.minimum:
        return f"is less than {field.minimum:.15g}.", f"Write {expectation(field)}."
    if field.maximum is not None and value > field.maximum:
        return f"is more than {field.maximum:.15g}.", f"Write {expectation(field)}."
    if field.format and not FORMATS[field.format].pattern.match(value):
        rule = FORMATS[field.format]
        return f"is not {rule.words}.", f"Write something like {field.example or rule.example}."
    return None


def expectation(field: Field) -> str:
    """The expected value in words, such as `a whole number from 1 to 5`."""
    if field.choices:
        return f"one of: {', '.join(str(choice) for choice in field.choices)}"
    words = _WORDS[field.type]
    if field.minimum is not None and field.maximum is not None:
        return f"{words} from {field.minimum:.15g} to {field.maximum:.15g}"
    if field.minimum is not None:
        return f"{words}, at least {field.minimum:.15g}"
    if field.format:
        return f"{FORMATS[field.format].words}, such as {field.example or FORMATS[field.format].example}"
    return words if field.example is None else f"{words}, such as {show(field.example)}"


def _kind(value: t.Any) -> str:
    if isinstance(value, bool):
        return "true/false"
    for name in ("str", "int", "float", "dict", "list"):
        if isinstance(value, _CLASSES[name]):
            return _WORDS[name]
    return f"of type {type(value).__name__}"


def _quoted(value: t.Any) -> str:
    """What to write instead of a value that YAML does not read as text, such as `no`, `007` or `1:30`."""
    if isinstance(value, bool):
        words = "yes, on or true" if value else "no, off or false"
        return f'Write it in quotes, such as "{str(value).lower()}": YAML reads {words} without them as {str(value).lower()}.'
    if isinstance(value, int) and not isinstance(value, bool):
        return f'Write it in quotes: "{value}". Where you wrote another text, such as 0{value}, write that in quotes: YAML reads it as this number.'
    return f'Write it in quotes: "{value}".'


def _type_problem(value: t.Any, field: Field, path: str) -> Problem:
    hidden = is_hidden(value, field)
    also = f" or {_WORDS[field.otherwise.type]}" if field.otherwise else ""
    reason = f"{show(value, field)} is {_kind(value)}, not {_WORDS[field.type]}{also}."
    fix = f"Write {expectation(field)}{also}."
    if field.type == "str" and not isinstance(value, (dict, list)):
        fix = "Write it in quotes." if hidden else _quoted(value)
    elif field.type == "list" and not isinstance(value, (dict, list)):
        fix = f"Write it as a list: [{value}]." if not hidden else fix
    elif field.type == "list" and isinstance(value, dict):
        fix = "Put '- ' in front of each element."
    return Problem(path, REDACTED if hidden else value, reason, fix)
