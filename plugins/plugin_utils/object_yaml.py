# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of objects as YAML for people: a text of several lines, such as a configuration in a ConfigMap, is a literal block, whatever it contains."""

from __future__ import annotations

import typing as t

import yaml

_WIDE = 1 << 30  # lines are not folded, so that a diff shows the one that changed
_Safe: t.Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Literal(yaml.SafeDumper):  # type: ignore[misc,name-defined,unused-ignore]
    """The emitter in Python, which can write a text with tabs, or with spaces at the end of a line, as a block too."""

    def analyze_scalar(self, scalar: str) -> t.Any:
        analysis = super().analyze_scalar(scalar)
        analysis.allow_block = analysis.allow_block or "\n" in scalar
        return analysis


def object_yaml(part: t.Any) -> str:
    """The YAML of plain data, also with Ansible's tags, which the dumper does not know; empty for nothing."""
    data = _plain(part)
    dumper = _Literal if _lines(data) else _Safe
    return str(yaml.dump(data, Dumper=dumper, default_flow_style=False, sort_keys=False, allow_unicode=True, width=_WIDE)) if part else ""


def _text(dumper: t.Any, text: str) -> t.Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Literal.add_representer(str, _text)


def _lines(value: t.Any) -> bool:
    """Whether any text in it has several lines."""
    if isinstance(value, dict):
        return any(map(_lines, value.values()))
    return any(map(_lines, value)) if isinstance(value, list) else isinstance(value, str) and "\n" in value


def _plain(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return bool(value) if kind is bool else kind(value)
    return None if value is None else str(value)
