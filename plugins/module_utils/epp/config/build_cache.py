# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations for many services, each built once. Pure, but for its memory."""

from __future__ import annotations

import json
import typing as t

from .build import Built, build
from .resolve import Context


class BuildCache:
    """Configurations that were built, by what they depend on: the block, the release line, and those facts of the context that were looked at.

    Most presets look at few of them, so a thousand services that are scheduled alike need one build. The results are read, never changed.
    """

    def __init__(self) -> None:
        self._looked: dict[str, tuple[str, ...]] = {}
        self._built: dict[tuple[str, str], Built] = {}

    def build(self, deciding: Context, release: str, context: Context) -> Built:
        """What scorers.build gives for the same."""
        asked = json.dumps([deciding, release], default=str)
        found = self._built.get((asked, self._values(asked, context)))
        if found is None:
            # plain data: what Ansible notes on its values must not reach the plan by way of this memory
            watched = TrackedMapping(json.loads(json.dumps(context, default=str)))
            found = build(json.loads(asked)[0], release, watched)
            self._looked[asked] = tuple(sorted({*self._looked.get(asked, ()), *watched.looked}))
            self._built[asked, self._values(asked, context)] = found
        return found

    def _values(self, asked: str, context: Context) -> str:
        return json.dumps([context.get(name) for name in self._looked.get(asked, ())], default=str)


class TrackedMapping(t.Mapping[str, t.Any]):
    """What is known of a service, and the names of those that somebody looked at."""

    def __init__(self, words: Context):
        self._words = words
        self.looked: set[str] = set()

    def __getitem__(self, name: str) -> t.Any:
        self.looked.add(name)
        return self._words[name]

    def __iter__(self) -> t.Iterator[str]:
        self.looked.update(self._words)
        return iter(self._words)

    def __len__(self) -> int:
        self.looked.update(self._words)
        return len(self._words)
