# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API server that a kubeconfig on the control node names. The file is only parsed: no credential plugin runs, and no request is sent."""

from __future__ import annotations

import functools
import os
import re
import typing as t
import urllib.parse
from pathlib import Path

import yaml

from ..module_utils.common.objects import Facts, dicts, get_path, mapping, text

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def server(kubeconfig: str | None, context: str | None, environment: t.Mapping[str, str]) -> str:
    """The URL, without credentials, of the API server that modules of this collection reach with these options; empty where it is not known."""
    return _without_credentials(text(_cluster(kubeconfig, context, environment).get("server")))


def identity(kubeconfig: str | None, context: str | None, environment: t.Mapping[str, str]) -> tuple[str, ...]:
    """A value that is equal for equal clusters: the URL, and the settings by which one URL may lead to several clusters; empty where it is not known."""
    cluster = _cluster(kubeconfig, context, environment)
    url = _without_credentials(text(cluster.get("server")))
    return (url, text(cluster.get("proxy-url")), text(cluster.get("tls-server-name"))) if url else ()


def is_complete(environment: t.Mapping[str, str]) -> bool:
    """Whether K8S_AUTH_* have a server and an account, as those of an AWX credential, so that no kubeconfig counts."""
    by_password = environment.get("K8S_AUTH_USERNAME") and environment.get("K8S_AUTH_PASSWORD")
    return bool(environment.get("K8S_AUTH_HOST") and (environment.get("K8S_AUTH_API_KEY") or by_password))


def _cluster(kubeconfig: str | None, context: str | None, environment: t.Mapping[str, str]) -> Facts:
    """The entry of a kubeconfig for the cluster that these options name; empty where it is not known."""
    if environment.get("K8S_AUTH_HOST"):
        return {"server": environment["K8S_AUTH_HOST"]}
    named = kubeconfig or environment.get("K8S_AUTH_KUBECONFIG") or environment.get("KUBECONFIG")
    files = [_read(path) for path in (named or os.path.join("~", ".kube", "config")).split(os.pathsep) if path]
    if not any(files):
        host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT", "443")
        return {} if named or not host else {"server": f"https://{f'[{host}]' if ':' in host else host}:{port}"}
    chosen = context or environment.get("K8S_AUTH_CONTEXT") or next((text(each["current-context"]) for each in files if each.get("current-context")), "")
    cluster = text(get_path(_named(files, "contexts", chosen), "context", "cluster"))
    return mapping(_named(files, "clusters", cluster).get("cluster"))


def folder(url: str) -> str:
    """The name of a folder for the cluster behind a URL, such as `10.0.0.1_6443`; empty for none. Colons are replaced, since some archives refuse them."""
    parts = urllib.parse.urlsplit(url)
    return re.sub(r"[^A-Za-z0-9.-]+", "_", parts.netloc.rpartition("@")[2] + parts.path).strip("_.")


def _without_credentials(url: str) -> str:
    """A URL without user and password, as reports may show it."""
    scheme, mark, rest = url.rstrip("/").partition("//") if "//" in url else ("", "", url.rstrip("/"))
    place, slash, path = rest.partition("/")
    return f"{scheme}{mark}{place.rpartition('@')[2]}{slash}{path}"


def _named(files: t.Sequence[Facts], key: str, name: str) -> Facts:
    """The entry of that name in the list `key` of several kubeconfigs: that of the first file which has one, as in kubectl; empty without one."""
    return next((each for file in files for each in dicts(file.get(key)) if name and each.get("name") == name), {})


def _read(path: str) -> Facts:
    """A kubeconfig; empty where none can be read: the module that connects reports the reason."""
    place = Path(os.path.abspath(os.path.expanduser(path)))
    try:
        state = place.stat()
        return _parsed(str(place), state.st_mtime_ns, state.st_size)
    except (OSError, ValueError):
        return {}


@functools.lru_cache(maxsize=64)
def _parsed(path: str, _time: int, _size: int) -> Facts:
    """The content of a kubeconfig, cached until its modification time or size changes, since every role of a run plans again. Raises OSError."""
    try:
        return mapping(yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_Loader))
    except (yaml.YAMLError, UnicodeError):
        return {}
