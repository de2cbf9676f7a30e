# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text for people: control characters and secrets removed, text on one line of limited length, counts with their noun. Pure."""

from __future__ import annotations

import dataclasses
import re
import typing as t
import unicodedata

# What a terminal executes, or what changes the order in which text is shown: escape sequences (CSI, OSC and its kin, others of two characters), then single
# characters of C0, but for tab and line feed, DEL, C1, and the controls of writing direction.
_SEQUENCE = re.compile("(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?|\x1b[ -/]*[0-~]")
_CONTROLS = dict.fromkeys(
    [*range(9), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], " "
)
# Letters and symbols that show nothing: fillers of Hangul, an empty cell of Braille, and the sign for bytes that are no text.
_BLANKS = "\u115f\u1160\u2800\u3164\uffa0\ufffd"


def printable(value: str) -> str:
    """The text without what a terminal or a browser executes instead of showing it: sequences are removed, single control characters become spaces.

    Tabs and line feeds stay, and so does the carriage return before a line feed.
    """
    if value.isprintable():
        return value
    value = _SEQUENCE.sub("", value) if "\x1b" in value or any(first in value for first in "\x90\x98\x9b\x9d\x9e\x9f") else value
    return "\r\n".join(part.translate(_CONTROLS) for part in value.split("\r\n"))


def legible(value: str) -> bool:
    """Whether a text has anything visible: more than blanks, control characters, marks without a letter, and U+FFFD, which replaces bytes that are no text."""
    return any(unicodedata.category(char)[0] in "LNPS" and char not in _BLANKS for char in value)


def all_printable(value: t.Any) -> t.Any:
    """Data with every text made printable, keys included: plain data, and dataclasses, which ansible-core uses for the error of a module."""
    if isinstance(value, str):
        return value if value.isprintable() else printable(value)
    if isinstance(value, dict):
        return {all_printable(key): all_printable(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{field.name: all_printable(getattr(value, field.name)) for field in dataclasses.fields(value) if field.init})
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(all_printable(item) for item in value)
    return [all_printable(item) for item in value] if isinstance(value, list) else value


def redact(value: str) -> str:
    """The text, printable, with everything that looks like a secret replaced."""
    value = printable(value)
    for pattern, instead in _SECRETS:
        value = pattern.sub(instead, value)
    return value


# An option whose value is a secret, not --tokenizer, --max-tokens, --time-per-token or --bucket-time-to-first-token.
SECRET_FLAG = (
    r"--?(?:[a-z0-9]+[-_.])*"
    r"(?:(?<!per[-_])(?<!first[-_])token|pass(?:words?|wd|phrases?)|secrets?|(?:api|access|secret|private|auth)[-_]?keys?|credentials?)"
)
# Keys whose value is one, in any text: `token` is also a unit of prompts, and `secret` is followed by a name as often as by a value.
_KEYS = r"passw(?:or)?d|passphrase|(?:api|access|auth)[-_]?key|(?:secret|private)[-_]key"
_TOKENS = r"(?:hf|hub|hugging_?face|api|auth|access|bearer|refresh|session|private|(?<![a-z])id(?:entity)?|oauth2?)[-_]?token"
SECRET_KEY = rf"(?:[a-z0-9]+[-_.])*(?:(?:{_KEYS})s?|{_TOKENS})"
_FLAG = rf"(?<![^\s\"'`(\[{{,=:]){SECRET_FLAG}"
_QUOTE, _GIVEN = r"\\*[\"']", r"\\*[\"']?\s*[=:]\s*"
_VALUE = r"[^\s\"',;&}]"
# Of an argument, which may have these signs within it: --api-key=a,b but not --api-key=a, or --api-key=a,--port=80.
_ARGUMENT = r"(?:[^\s\"',;&}]|[,;&](?![\s\"'-]|\Z))"
# What stands in quotes, with its blanks: up to the same quote, which in JSON within JSON has backslashes, or to the end of the line. A quote that is escaped
# ends nothing: \" within ", and '' (YAML), '\'' and '"'"' (a shell) within '.
_OPEN = r"(?P<quote>(?P<escaped>\\+)?[\"'])"
_INSIDE = r"(?:'(?:\\''|\"'\"'|')|(?!(?P=quote))(?:[^\n\\]|(?(escaped)\\+[\"']?|\\[^\n]?)))+"
_DONE = rf"(?!\s|\$?(?:{_QUOTE})?(?:(?:bearer|basic) )?\(removed\))"
# A key at the start of its line or of what is in quotes, matched once; a path such as llm_d_benchmark.api_key is none.
_KEY = rf"-{{0,2}}(?:[a-z0-9]+[-_])*(?:(?:{_KEYS})s?|{_TOKENS}|authorization)"
_SECRETS = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (r"\bhf_[A-Za-z0-9]{8,}", "(removed)"),
        (r"\b(?:sk|ghp|gho|ghs|ghu|ghr|github_pat|dckr_pat|glpat|nvapi|xox[abp])[-_][A-Za-z0-9_-]{12,}", "(removed)"),
        # Of Groq, npm, Replicate; PyPI; Vault; DigitalOcean; Google; OpenShift; and one of Hugging Face in base64.
        (r"(?-i:\b(?:(?:gsk|npm|r8)_[A-Za-z0-9]{30,}|pypi-AgE[\w-]{30,}|hv[bs]\.[\w-]{20,}|dop_v1_[0-9a-f]{60,}))", "(removed)"),
        (r"(?-i:\b(?:ya29\.[\w-]{30,}|AIza[\w-]{35}|sha256~[\w-]{40,}|aGZf[A-Za-z0-9+/]{30,}={0,2}))", "(removed)"),
        (r"\bAKIA[A-Z0-9]{12,}", "(removed)"),
        # A run of these characters is read once, from its start: else a text of many "-eyJ" takes quadratic time.
        (
            r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]{11,}\.[A-Za-z0-9_-]{8})([A-Za-z0-9_-]*?\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
            r"\1(removed)",
        ),
        (r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}", r"\1 (removed)"),
        (r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)(?!\(removed\))(?:[^-]|-(?!----))+", r"\1(removed)"),
        (r"\bLS0tLS1CRUdJTi(?-i:B[FPQS])[A-Za-z0-9+/=_-]*", "(removed)"),  # the same in base64
        # Alone in quotes, "Authorization: Digest a, b"; in quotes behind its name, "api_key": "a b" and --api-key="a b"; on a line of YAML; in lines below it.
        (rf"((?<!\\){_OPEN}{_KEY}\s*[=:]\s*){_DONE}{_INSIDE}", r"\1(removed)"),
        (rf"((?:{_KEYS}|secret|credential|{_TOKENS}|authorization)s?{_GIVEN}{_DONE}\$?{_OPEN}){_INSIDE}", r"\1(removed)"),
        (rf"({_FLAG}(?:= *| +){_DONE}\$?{_OPEN}){_INSIDE}", r"\1(removed)"),
        (rf"((?-i:\b[A-Z][A-Z0-9_]*_TOKEN)={_DONE}{_OPEN}){_INSIDE}", r"\1(removed)"),
        (rf"(?m)(^[ \t]*(?:- +)?{_KEY}:[ \t]+){_DONE}[^\s#\"'|>\[{{&~(]\S*(?:[^\S\n]+(?!#)\S+)*", r"\1(removed)"),
        (rf"(?m)(^([ \t]*)(?:- +)?{_KEY}:[ \t]+[|>][-+0-9]*[ \t]*\n)(?:\2[ \t]+\S[^\n]*\n?|[ \t]*\n)+", r"\1\2  (removed)\n"),
        (rf"(\bauthorization{_GIVEN}(?!{_QUOTE}?(?:bearer |basic )?\(removed\)){_QUOTE}?)(?:(?:bearer|basic|digest|token)\s+)?{_VALUE}+", r"\1(removed)"),
        (r"(://[^/\s:@]*:)[^\s/\"'<>]+@", r"\1(removed)@"),
        (r"(https?://)[^/\s:@\"'<>]+:?@", r"\1(removed)@"),
        # Several values: {'api_key': ['a', 'b']}
        (rf"((?:{_KEYS})s?{_GIVEN}\[)(?=[^\]\s])(?!\(removed\))[^\]\n]*", r"\1(removed)"),
        # An argument of a command line: --api-key=abc, --api-key abc, though not a word about it, and as elements of a list "--api-key", "abc", "def".
        (rf"({_FLAG}= *(?!{_QUOTE}?\(removed\)){_QUOTE}?){_ARGUMENT}+", r"\1(removed)"),
        (
            rf"({_FLAG} +(?!{_QUOTE}?\(removed\)|(?:is|in|are|and|or|of|with|has|to|for|from|as|by|on|needs|takes|may|does)\b){_QUOTE}?)(?!-){_ARGUMENT}+",
            r"\1(removed)",
        ),
        (rf"({_FLAG}({_QUOTE}))(?:\s*,\s*\2(?!--|\(removed\))(?:(?!\2)[^\n])*\2)+", r"\1, \2(removed)\2"),
        (rf"((?:{_KEYS}|secret|credential)s?{_GIVEN}(?!\[?{_QUOTE}?\(removed\))\[?{_QUOTE}?){_VALUE}{{4,}}", r"\1(removed)"),
        (rf"((?-i:\b[A-Z][A-Z0-9_]*_TOKEN)=(?!{_QUOTE}?\(removed\)){_QUOTE}?){_VALUE}+", r"\1(removed)"),
        (rf"({_TOKENS}{_GIVEN}(?!{_QUOTE}?(?:\(removed\)|(?:none|null|true|false)\b)){_QUOTE}?){_VALUE}{{4,}}", r"\1(removed)"),
        # "token" is also a unit of prompts: time-per-token=500us is not a secret
        (rf"(token{_GIVEN}(?!{_QUOTE}?\(removed\)){_QUOTE}?){_VALUE}{{8,}}", r"\1(removed)"),
    )
)


def one_line(text: object, limit: int = 400) -> str:
    """Any value as one printable line of at most `limit` characters: white space folded, the end cut."""
    line = " ".join(printable(str(text)).split())
    return line if len(line) <= limit else line[: limit - 4] + " ..."


def shorten(text: str, limit: int = 240) -> str:
    """As one_line, for text that may hold secrets, such as a line of a log: they are redacted first."""
    return one_line(redact(text), limit)


def pluralize(count: int, what: str) -> str:
    """A count with its noun, such as `1 server` or `4 servers`."""
    return f"{count} {what}{'' if count == 1 else 's'}"
