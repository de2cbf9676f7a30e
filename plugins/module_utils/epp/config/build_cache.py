# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cache of built configurations, so that services with the same scheduling share one build. Pure but for the cache itself."""

from __future__ import annotations

import json
import typing as t

from .build import Built, build
from .resolve import Context


class BuildCache:
    """Built configurations by scheduler block, release line, and those values of the context that the build has read.

    Most presets read few of them, so a thousand services with the same scheduling need one build. Results are shared: do not change them.
    """

    def __init__(self) -> None:
        self._read_keys: dict[str, tuple[str, ...]] = {}
        self._built: dict[tuple[str, str], Built] = {}

    def build(self, scheduler: Context, release: str, context: Context) -> Built:
        """The result of build.build for these arguments."""
        asked = json.dumps([scheduler, release], default=str)
        found = self._built.get((asked, self._key(asked, context)))
        if found is None:
            # Plain data: tags that Ansible puts on values must not reach other services through the cache.
            tracked = TrackedMapping(json.loads(json.dumps(context, default=str)))
            found = build(json.loads(asked)[0], release, tracked)
            self._read_keys[asked] = tuple(sorted({*self._read_keys.get(asked, ()), *tracked.read}))
            self._built[asked, self._key(asked, context)] = found
        return found

    def _key(self, asked: str, context: Context) -> str:
        return json.dumps([context.get(name) for name in self._read_keys.get(asked, ())], default=str)


class TrackedMapping(t.Mapping[str, t.Any]):
    """A mapping that records the keys that were read, in `read`."""

    def __init__(self, values: Context):
        self._values = values
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> t.Any:
        self.read.add(name)
        return self._values[name]

    def __iter__(self) -> t.Iterator[str]:
        self.read.update(self._values)
        return iter(self._values)

    def __len__(self) -> int:
        self.read.update(self._values)
        return len(self._values)
