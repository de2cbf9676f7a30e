# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that set up the local cluster."""

from __future__ import annotations

import typing as t

from ..common.module_options import option

HOST_PREFLIGHT: dict[str, t.Any] = {
    "memory_mib": option("int", "Free memory that the cluster needs to start, in MiB.", required=True),
    "disk_mib": option("int", "Free space that each of O(folders) needs, in MiB.", required=True),
    "folders": option("list", "Folders that the cluster writes to.", elements="path", required=True),
    "ports": option("list", "Ports that must be free, each as a list of address, port, V(tcp) or V(udp), and program.", elements="list", required=True),
    "ranges": option("list", "Address ranges that must not overlap a route of this host.", elements="str", required=True),
    "bridge": option("str", "Name of the cluster's own bridge, whose routes are ignored.", required=True),
    "cni_bin": option("path", "Folder of the CNI plugins.", required=True),
    "foreign_cni": option("list", "Folders in which another cluster would have its CNI configuration.", default=["/etc/cni/net.d"], elements="path"),
    "pidfile": option("path", "PID file of the supervisor. While its process runs, ports in use are the cluster's own.", required=True),
    "requirements": option("path", "Requirements file with the Python packages of the cluster.", required=True),
    "installed": option("path", "Copy of O(requirements) as they were last installed.", required=True),
    "go_minimum": option("str", "Minimum version of Go.", required=True),
    "go_candidates": option("list", "Names or paths of Go commands, in order of preference.", elements="str", required=True),
    "go_package": option("str", "Python package that brings a Go compiler when the host has none.", required=True),
}
HOST_RESIDUE: dict[str, t.Any] = {
    "state": option("str", "V(listed) only finds what the cluster left here, V(absent) also removes it.", choices=["listed", "absent"], default="listed"),
    "folders": option("list", "The cluster's own folders.", elements="path", required=True),
    "cache": option("path", "Folder of the cluster's programs. It is not removed.", required=True),
    "bridge": option("str", "Name of the cluster's bridge.", required=True),
    "cgroup": option("str", "Name of the cluster's cgroup below the root.", required=True),
    "network": option("str", "Name of the CNI network.", required=True),
    "tables": option(
        "list", "The nftables tables that the cluster's kube-proxy writes, each as C(family name).", default=["ip kube-proxy", "ip6 kube-proxy"], elements="str"
    ),
    "sysctl_backup": option("path", "File with the values of kernel settings before the cluster changed them.", required=True),
}
LOCAL_NETWORK: dict[str, t.Any] = {
    "bridge": option("str", "Name of the bridge.", required=True),
    "address": option("str", "Address of the node on the bridge, with its prefix length.", required=True),
    "service_range": option("str", "The address range of Services, routed to the bridge so that its packets do not leave this host.", required=True),
    "sysctls": option("dict", "Kernel settings to change.", default={}),
    "sysctl_backup": option("path", "File for the previous values of the settings.", required=True),
    "cgroup": option("str", "Name of the cgroup below the root, created in each hierarchy.", required=True),
}
LOCAL_PKI: dict[str, t.Any] = {
    "directory": option("path", "Folder for C(ca.crt), C(ca.key) and one C(.crt) and C(.key) for each certificate, readable by root only.", required=True),
    "authority": option("str", "Common name of the authority.", required=True),
    "certificates": option(
        "list",
        "Certificates to issue, for client and server authentication.",
        options={
            "name": option("str", "Stem of the file names.", required=True),
            "common_name": option("str", "Common name, which Kubernetes reads as the user.", required=True),
            "organizations": option("list", "Organizations, which Kubernetes reads as the user's groups.", default=[], elements="str"),
            "alternatives": option("list", "DNS names and addresses for servers.", default=[], elements="str"),
        },
        default=[],
        elements="dict",
    ),
    "keys": option("list", "Stems of signing keys to generate, without a certificate.", default=[], elements="str", no_log=False),
    "kubeconfigs": option(
        "list",
        "Kubeconfigs to write, with everything embedded.",
        options={
            "certificate": option("str", "Name of the certificate to authenticate with.", required=True),
            "path": option("path", "File to write.", required=True),
        },
        default=[],
        elements="dict",
    ),
    "server": option("str", "URL of the API server, for the kubeconfigs.", required=True),
    "cluster": option("str", "Name of the cluster and context in the kubeconfigs.", default="local"),
}
OCI_IMAGES: dict[str, t.Any] = {
    "registry": option("str", "Address of the registry, C(host:port), plain HTTP on this host.", required=True),
    "crane": option("path", "The C(crane) program.", required=True),
    "blobs": option(
        "path", "Folder where the registry keeps its blobs. When an image is made again, its former blobs that no image uses are removed.", required=True
    ),
    "stamps": option("path", "Folder that records the inputs of each image.", required=True),
    "images": option(
        "list",
        "The images.",
        options={
            "name": option("str", "Repository and tag.", required=True),
            "files": option("dict", "Paths in the image, each with a file of this host or a glob pattern that matches one file.", required=True),
            "entrypoint": option("list", "Program and arguments that a container starts.", elements="str", required=True),
            "trees": option(
                "dict",
                "Folders in the image, each with a folder of this host, which is not needed once the image is made. Links to files are followed.",
                default={},
            ),
            "leave_out": option("list", "Patterns of names of files and folders in O(images[].trees) that are left out.", default=[], elements="str"),
            "inputs": option(
                "list", "Files whose content says what is in O(images[].trees). The image is made again when one of them changes.", default=[], elements="str"
            ),
            "python": option("path", "A virtual environment of this host, whose interpreter and standard library are added at their own paths."),
            "libraries": option("bool", "Whether to add the shared libraries that the files link to.", default=False),
            "base": option("str", "Another image of the registry, which must be there or come earlier in O(images). The layer is put on top of its layers."),
        },
        elements="dict",
        required=True,
    ),
}
