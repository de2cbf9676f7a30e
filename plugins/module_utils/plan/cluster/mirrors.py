# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for tools that copy the images of a deployment to a mirror (crane, skopeo, OpenShift's oc-mirror), and OpenShift's mirror objects. Pure."""

from __future__ import annotations

from ...common.images import repository_of, split_host
from ...common.objects import Facts
from ...common.yaml_text import to_yaml
from ..parts.references import Mirror, mirrored

PLACEHOLDER = "mirror.example.com/llm-d"


def mirror_files(sources: list[str], registry: Mirror) -> dict[str, str]:
    """{file name: content}. sources: images as upstream names them. registry: llm_d_image_registry; without one the files have a placeholder."""
    mirror = registry or PLACEHOLDER
    sources = list(dict.fromkeys(_tagged(source) for source in sources))
    copies = [(source, mirrored(source, mirror)) for source in sources]
    copies = [(source, target) for source, target in copies if source != target]
    # The tag of NVIDIA's driver ends in the operating system of the nodes, which the plan does not know: tools cannot copy <system>.
    whole = [source for source in sources if "<" not in source]
    return {
        "images.txt": "".join(f"{source}\n" for source in sources),
        "crane-copy.sh": "#!/bin/sh\nset -eu\n" + "".join(f"{'# ' * ('<' in source)}crane copy {source} {target}\n" for source, target in copies),
        "skopeo-sync.yml": _skopeo(whole),
        "openshift-mirrors.yml": _openshift(copies),
        "oc-mirror.yml": to_yaml(
            {
                "kind": "ImageSetConfiguration",
                "apiVersion": "mirror.openshift.io/v2alpha1",
                "mirror": {"additionalImages": [{"name": source} for source in whole]},
            }
        ),
    }


def _tagged(source: str) -> str:
    """The image without its digest if it has a tag, since the tools take only one of the two."""
    name = source.partition("@")[0]
    return source if name == repository_of(source) else name


def _skopeo(sources: list[str]) -> str:
    """The YAML of `skopeo sync --src yaml`. With --scoped the registry becomes the first part of the path."""
    hosts: dict[str, Facts] = {}
    for source in sources:
        host, path = split_host(source)
        repository = repository_of(path)
        hosts.setdefault(host, {"images": {}})["images"].setdefault(repository, []).append(path[len(repository) + 1 :])
    head = [f"# skopeo sync --scoped --src yaml --dest docker skopeo-sync.yml {PLACEHOLDER}", "# llm_d_image_registry:"]
    return "\n".join([*head, *(f"#   {host}: {PLACEHOLDER}/{host}" for host in hosts)]) + "\n" + to_yaml(hosts)


def _openshift(copies: list[tuple[str, str]]) -> str:
    """Objects by which the nodes of OpenShift pull upstream's images from the mirror, so that llm_d_image_registry is not needed."""
    pairs = list(dict.fromkeys((repository_of(source), repository_of(target)) for source, target in copies))
    mirrors = [{"source": source, "mirrors": [target]} for source, target in pairs]
    objects = [
        {"apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": {"name": "llm-d"}, "spec": {key: mirrors}}
        for kind, key in (("ImageDigestMirrorSet", "imageDigestMirrors"), ("ImageTagMirrorSet", "imageTagMirrors"))
    ]
    return "---\n".join(to_yaml(each) for each in objects)
