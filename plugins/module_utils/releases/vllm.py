# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which arguments of `vllm serve` a version of vLLM accepts, by the options that were recorded of its parser (vllm_flags.py). Pure."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import itertools
import json
import re
import typing as t

from .vllm_flags import OPTIONS, VERSIONS

# Level of torch.compile: -O3, -O=3, -O.level=3, each in some versions: an option, or another word for one. They are accepted as they are.
_LEVEL, _LEVELS = "-O", {"-O", "--optimization-level"}
_SIZE = re.compile(r"\d{1,30}(\.\d{1,30})?[kmgt]|\d{1,30}[KMGT]")
_PART = re.compile(r"(--[^=. ]+)\.([^=+ ]+)(\+?)(?:=(.*))?", re.DOTALL)
_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
# The first version whose KV events are maps; before it they are arrays. https://github.com/vllm-project/vllm/pull/42892
EVENTS_AS_MAPS = "0.24.0"
# In tags, and the repositories whose tags are releases of vLLM, on whatever registry.
_RELEASE = r"v?(\d+\.\d+(?:\.\d+)?)(?![\d.]|rc|\.?dev)"
_OWN = re.compile(r"(^|/)vllm/vllm-(openai|tpu)[^/]*\Z")
_KINDS = {"int": "a whole number", "size": "a whole number, or one such as 16k", "float": "a number", "json": "JSON"}


@dataclasses.dataclass(frozen=True)
class Option:
    """An option in one version. kind, count: as in vllm_flags.py."""

    name: str
    kind: str
    count: str
    deprecated: bool
    choices: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Misfit:
    """An argument that a version of vLLM does not accept. index: its place in the list; flag: as vLLM spells it; reason and fix: sentences."""

    index: int
    flag: str
    reason: str
    fix: str


def version_of(image: str) -> str | None:
    """The version of vLLM in the tag or the name of an image; None without one: latest, nightly, a digest, or an image that is numbered otherwise."""
    name, _colon, tag = image.partition("@")[0].rpartition(":")
    if "/" in tag or "vllm" not in name.rpartition("/")[2]:
        return None  # no tag, or the image of a distribution with version numbers of its own, such as llm-d's
    named = re.search(f"vllm[_-]{_RELEASE}", f"{name.rpartition('/')[2]}:{tag}")
    if named:
        return named.group(1)
    match = re.match(_RELEASE, tag)
    # Other builds of vLLM may have version numbers of their own, such as 25.09 or 3.2.1.
    return match.group(1) if match and (_OWN.search(name) or neighbours(match.group(1))) else None


def released_as(image: str) -> str | None:
    """The version in the tag of an image that vLLM released; None for other images, whose tags may have any meaning."""
    return version_of(image) if _OWN.search(image.partition("@")[0].rpartition(":")[0]) else None


def misfits(arguments: t.Sequence[str], version: str, choices: bool = True) -> list[Misfit]:
    """The arguments after the model that `vllm serve` of a version refuses.

    For a version between two recorded ones, those that both refuse; none for a version that is older or newer than all recorded ones.
    choices: whether to check values against the choices of an option; a platform that is a plugin of vLLM (TPU, Gaudi) may add its own.
    """
    refused = [{misfit.index: misfit for misfit in _Reader(arguments, version, near, choices).misfits()} for near in neighbours(version)]
    return [misfit for index, misfit in refused[0].items() if all(index in others for others in refused[1:])] if refused else []


def spelled_out(arguments: t.Sequence[str], version: str | None) -> list[str]:
    """The arguments, as many as before, with each option as this collection spells it: vLLM reads underscores as dashes, and accepts prefixes of names,
    synonyms, a value right after one letter, and parts of JSON (--NAME.KEY=VALUE) instead of the whole. Prefixes are resolved only if the version is known."""
    near = neighbours(version) if version else ()
    names = _spellings(near[0] if near else VERSIONS[-1])
    spelled = []
    for argument in map(str, arguments):
        head, given, rest = re.match(r"([^=. ]*)([=. ]?)(.*)", argument, re.DOTALL).groups()  # type: ignore[union-attr]
        if head.startswith("-") and not _NUMBER.fullmatch(head):
            name = _spelled(head)[0]
            if name in names:
                head = names[name]
            elif name[:2] in names and not name.startswith((_LEVEL, "--")):  # -qfp8
                head, given, rest = names[name[:2]], "=", argument[2:]
            else:
                whole = {names[known] for known in names if known.startswith(name) and name.startswith("--") == known.startswith("--")} if near else set()
                head = whole.pop() if len(whole) == 1 else name
        spelled.append(f"{head}{given}{rest}")
    return _whole(spelled, options(near[0] if near else VERSIONS[-1]))


def _whole(arguments: list[str], known: t.Mapping[str, Option]) -> list[str]:
    """The arguments with each option that has parts replaced by the JSON that vLLM makes of them, which also replaces the option written as a whole."""
    whole = {name: json.dumps(parts, separators=(",", ":")) for name, parts in _parts(arguments, known).items()}
    result: list[str] = []
    pending = ""  # the option whose value comes next
    for argument in arguments:
        name = re.match(r"[^=. ]*", argument).group()  # type: ignore[union-attr]
        if pending in whole:
            result.append(whole[pending])
            pending = ""
        elif name in whole:
            result.append(f"{name}={whole[name]}" if "=" in argument else name)
            pending = "" if "=" in argument else name
        else:
            result.append(argument)
    return result


def _parts(arguments: list[str], known: t.Mapping[str, Option]) -> dict[str, dict[str, t.Any]]:
    """{option: mapping of its parts} for options that can have parts."""
    mappings: dict[str, dict[str, t.Any]] = {}
    for argument, following in itertools.zip_longest(arguments, arguments[1:]):
        part = _PART.fullmatch(argument)
        if part is None:
            continue
        name, keys, several, given = part.groups()
        value, option = following if given is None else given, known.get(name)
        if value is None or (option and (option.kind not in ("json", "str") or option.count != "1")):
            continue
        content: t.Any = value.split(",") if several else _content(value)
        for key in reversed(keys.split(".")):
            content = {key: content}
        _update(mappings.setdefault(name, {}), content)
    return mappings


def _content(text: str) -> t.Any:
    """The value of a part: JSON, or else text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _update(whole: dict[str, t.Any], parts: t.Mapping[str, t.Any]) -> None:
    """Adds `parts` to `whole` at any depth, as vLLM does: lists are concatenated; of two other values the later one counts."""
    for key, value in parts.items():
        before = whole.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            _update(before, value)
        else:
            whole[key] = before + value if isinstance(value, list) and isinstance(before, list) else value


@functools.cache
def _spellings(version: str) -> t.Mapping[str, str]:
    """{spelling: the first long spelling of its option}; a --no- spelling is kept."""
    spellings: dict[str, str] = {}
    for first, last, names, _option in _rows():
        if _number(first) <= _number(version) <= _number(last):
            plain = [name for name in names if name.startswith("--") and not name.startswith("--no-")]
            for name in names:
                spellings[name] = name if name.startswith("--no-") or not plain else plain[0]
    return spellings


def neighbours(version: str) -> tuple[str, ...]:
    """The recorded version, or else the recorded ones right before and after it; none for a version that is older or newer than all."""
    number = _number(version)
    if number in map(_number, VERSIONS):
        return (next(known for known in VERSIONS if _number(known) == number),)
    before = [known for known in VERSIONS if _number(known) < number]
    after = [known for known in VERSIONS if _number(known) > number]
    return (before[-1], after[0]) if before and after else ()


def is_same(version: str, other: str) -> bool:
    """Whether two versions are the same in the parts that both have: 0.15 is the same as every 0.15.x."""
    parts = [re.findall(r"\d+", each.partition("+")[0].partition("-")[0])[:3] for each in (version, other)]
    return all(int(one) == int(another) for one, another in zip(*parts, strict=False))


def number_of(text: str) -> int | None:
    """The whole number of a value, also of one such as 16k (16000) or 16K (16384); None for any other text."""
    text = text.strip()
    if _SIZE.fullmatch(text):
        return int(float(text[:-1]) * (1000 if text[-1].islower() else 1024) ** ("kmgt".index(text[-1].lower()) + 1))
    try:
        return int(text)
    except ValueError:
        return None


def events_are_maps(version: str) -> bool:
    """Whether a version of vLLM encodes its KV events as maps."""
    return _number(version) >= _number(EVENTS_AS_MAPS)


def has_option(version: str, flag: str) -> bool:
    """Whether a version has an option. A version that is newer than all recorded ones has the options of the last one."""
    return flag in options(min(version, VERSIONS[-1], key=_number))


@functools.cache
def options(version: str) -> t.Mapping[str, Option]:
    """All spellings of all options of a recorded version."""
    return {name: option for first, last, names, option in _rows() if _number(first) <= _number(version) <= _number(last) for name in names}


@functools.cache
def _rows() -> tuple[tuple[str, str, tuple[str, ...], Option], ...]:
    """(first version, last version, spellings, option) of each row of the data file."""
    rows = []
    for row in re.sub(r"\n +", " ", OPTIONS).strip().splitlines():
        head, _colon, values = row.partition(": ")
        words = head.split()
        names = [word for word in words if word.startswith("-")]
        (first, last), takes = words[len(names)].split("-"), words[len(names) + 1]
        kind = takes.rstrip("?*+")
        longest = max(names, key=len)
        option = Option(longest, kind, takes[len(kind) :] or ("0" if kind in ("flag", "bool") else "1"), "deprecated" in words, tuple(values.split()))
        if kind == "bool":
            names += [f"--no-{name[2:]}" for name in names if name.startswith("--")]
        rows.append((first, last, tuple(names), option))
    return tuple(rows)


@functools.cache
def _number(version: str) -> tuple[int, ...]:
    """A version for comparisons: 0.15 is 0.15.0."""
    parts = re.findall(r"\d+", version.partition("+")[0].partition("-")[0])
    return tuple(int(part) for part in [*parts, "0", "0"][:3])


def _short(version: str) -> str:
    """A version without a leading v and without a patch number of 0."""
    return version.removeprefix("v").removesuffix(".0") if version.count(".") == 2 else version.removeprefix("v")


class _Reader:
    """Reads arguments as the parser of one recorded version does."""

    def __init__(self, arguments: t.Sequence[str], version: str, recorded: str, choices: bool) -> None:
        self._arguments = [str(argument) for argument in arguments]
        self._title = f"vLLM {_short(version)}"
        self._recorded = recorded
        self._options = options(recorded)
        self._choices = choices

    def misfits(self) -> t.Iterator[Misfit]:
        position = 0
        while position < len(self._arguments):
            argument = self._arguments[position]
            start = position
            position += 1
            if argument == "--":  # no options after it
                yield from (self._stray(index, "") for index in range(position, len(self._arguments)))
                return
            if argument.startswith(_LEVEL) and self._options.keys() & _LEVELS:
                position += argument == _LEVEL
                continue
            if not self._is_option(argument):
                yield self._stray(start, argument)
                continue
            name, given, value = argument.partition("=")
            if not name.startswith("--") and name not in self._options and name[:2] in self._options:  # -qfp8
                name, given, value = argument[:2], "=", argument[2:]
            name, dotted = _spelled(name)
            option, reason, fix = self._find(name)
            if option is None:
                yield Misfit(start, name, reason, fix)
                position += not given and position < len(self._arguments) and not self._is_option(self._arguments[position])
                continue
            following = [] if given else self._values(position, "1" if dotted else option.count)
            position += len(following)
            mistake = self._mistake(name, option, [value] if given else following, bool(given), dotted)
            if mistake:
                yield Misfit(start, name, *mistake)

    def _is_option(self, argument: str) -> bool:
        """Whether the parser reads this as an option: a word that starts with a dash and is not a number, without a space outside of its value."""
        if not argument.startswith("-") or len(argument) == 1 or _NUMBER.fullmatch(argument):
            return False
        return " " not in argument.partition("=")[0]

    def _stray(self, index: int, argument: str) -> Misfit:
        if argument.startswith("-"):
            flag, _space, value = argument.partition(" ")
            return Misfit(index, flag, "is one word with a space in it, which no option has.", f"Write {flag}={value.strip()}.")
        return Misfit(index, "", "is no option, and no value of the option before it.", "Take it out, or write it as --OPTION=VALUE.")

    def _values(self, position: int, count: str) -> list[str]:
        """The words from `position` on that are values of an option with this count."""
        most = {"0": 0, "1": 1, "?": 1}.get(count, int(count) if count.isdigit() else len(self._arguments))
        values: list[str] = []
        for argument in self._arguments[position : position + most]:
            if self._is_option(argument):
                break
            values.append(argument)
        return values

    def _find(self, name: str) -> tuple[Option | None, str, str]:
        """(option, "", "") for its name or an unambiguous prefix of it; (None, reason, what to write) otherwise."""
        if name in self._options:
            return self._options[name], "", ""
        full = [known for known in self._options if known.startswith(name) and (known.startswith("--") or not name.startswith("--"))]
        several = {self._options[known] for known in full}
        if len(several) == 1:
            return self._options[full[0]], "", ""
        if several:
            return None, f"{name} may be {', '.join(sorted(full)[:5])}.", "Write the whole name."
        return None, *self._unknown(name)

    def _unknown(self, name: str) -> tuple[str, str]:
        """(reason, what to write) for an option that this version does not have."""
        others = [known for known in VERSIONS if name in options(known)]
        later = [known for known in others if _number(known) > _number(self._recorded)]
        if later:
            came = f"it came in {_short(later[0])}" + ("" if _is_next(later[0]) else " or a little before")
            return f"{self._title} knows no {name}; {came}.", f"Use an image of vLLM {_short(later[0])} or newer, or take it out."
        if others:
            since = [known for known in others if options(known)[name].deprecated]
            old = f", deprecated since {_short(since[0])}" if since else ""
            return f"{self._title} knows no {name}; it went after {_short(others[-1])}{old}.", "Take it out."
        near = difflib.get_close_matches(name, self._options, n=1, cutoff=0.75)
        return f"{self._title} knows no {name}.", f"Did you mean {near[0]}?" if near else "Take it out."

    def _mistake(self, name: str, option: Option, values: list[str], given: bool, dotted: bool) -> tuple[str, str] | None:
        """(reason, what to write) if the option does not take these values."""
        if option.count == "0":
            return (f"{name} takes no value.", f"Write {name} alone, or --no-{name[2:]}." if option.kind == "bool" else "Write it alone.") if given else None
        if dotted:
            return None if option.kind in ("json", "str") else (f"{name} has no parts: it takes {_KINDS[option.kind.partition('-')[0]]}.", "Write one value.")
        if not values:
            return None if option.count in "?*" else (f"{name} needs a value.", f"Write {name}=VALUE.")
        for value in values:
            if not _fits(value, option.kind):
                what = _KINDS[option.kind.partition("-")[0]] + (" or auto" if option.kind.endswith("auto") else "")
                return f"{name}={_cut(value)} is not {what}.", f"Write {what}."
            if self._choices and option.choices and value not in (*option.choices, "None"):
                return self._not_a_choice(name, option, value)
        return None

    def _not_a_choice(self, name: str, option: Option, value: str) -> tuple[str, str]:
        others = [known for known in VERSIONS if name in options(known) and value in options(known)[name].choices]
        has = f"; vLLM {_short(others[0])} has it" if others else ""
        near = difflib.get_close_matches(value, [choice for choice in option.choices if not choice.isdigit()], n=1)
        fix = f"Did you mean {near[0]}?" if near else f"Write one of {', '.join(option.choices)}."
        return f"{name}={_cut(value)} is not one of the choices of {self._title}{has}.", fix


def _is_next(version: str) -> bool:
    """Whether the minor version before this one is recorded as well, so that an option that it lacks is new in this one."""
    major, minor, _patch = _number(version)
    return any(_number(known)[:2] == (major, minor - 1) for known in VERSIONS)


def _spelled(name: str) -> tuple[str, bool]:
    """(the option as the parser looks it up, whether a key of JSON follows the name): --hf_overrides.a is --hf-overrides."""
    name, dot, _key = name.partition(".")
    return name.replace("_", "-") if name.startswith("--") else name, bool(dot)


def _fits(value: str, kind: str) -> bool:
    if kind == "str" or value in ("", "None") or (kind.endswith("-or-auto") and value.lower() == "auto"):
        return True
    if kind.startswith("size") and _SIZE.fullmatch(value.strip()):
        return True
    convert: t.Callable[[str], t.Any] = json.loads if kind == "json" else float if kind == "float" else int
    try:
        convert(value)
    except ValueError:
        return False
    return True


def _cut(value: str) -> str:
    return value if len(value) <= 40 else f"{value[:37]}..."
