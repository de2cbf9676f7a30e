# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patterns of what keeps a volume from a pod, as kubelet, drivers and file systems word it. Data only; patterns are as in node_messages."""

from __future__ import annotations

from .node_messages import DENIED, Row

# Messages of FailedMount and FailedAttachVolume.
SUMMARY = r"Unable to (?:attach or )?mount volumes|timeout expired waiting for volumes"  # of other events
VOLUMES: tuple[Row, ...] = (
    (r"(?:secret|configmap)s? \"[^\"]{1,260}\" not found", "F17", "create what the message names, or name the right one", True),
    (r"non-existent (?:secret|config) key", "F17", "add this key to the Secret or ConfigMap of the volume, or name the right one", True),
    (r"persistentvolumeclaims? \"[^\"]{1,260}\" not found", "F20", "create the claim, or name the right one", True),
    (r"serviceaccounts? \"[^\"]{1,260}\" not found", "account", "create the service account", True),
    (
        r"failed to sync (?:secret|configmap) cache|not registered",
        "starting",
        "the kubelet has not read this Secret or ConfigMap yet, and tries again; if it stays so, check the node's connection to the API server",
        False,
    ),
    (
        r"User \"system:node:[^\"]{1,253}\" cannot",
        "starting",
        "the node may read this only for pods of its own, and does not know this one yet; if it stays so, restart the kubelet there",
        False,
    ),
    (
        r"registered CSI drivers|does not contain driver|NodeID annotation",
        "F20",
        "the volume's CSI driver does not run on this node: check the pod of its DaemonSet there, and that it tolerates the node's taints",
        False,
    ),
    (
        r"Multi-Attach|exclusively attached|already (?:attached|used|in use|mounted by)|VolumeInUse|RESOURCE_IN_USE|\bin-use\b|still being used|detach it"
        r"|currently attached to (?:a )?different node",
        "F20",
        "the volume can be on one node at a time, and another has it: use a claim that several may use (ReadWriteMany, or ReadOnlyMany), or one replica; if"
        " that node is lost, the volume follows some minutes later",
        False,
    ),
    (
        r"external-attacher|attach timeout",
        "F20",
        "the controller of the volume's CSI driver does not answer: check that it runs with its external-attacher, and its log",
        False,
    ),
    (
        r"AttachmentLimitExceeded|max(?:imum)? (?:number of )?(?:data )?(?:volume|disk|attach)|(?:attach\w{0,10}|volume|disk) ?(?:count )?limit"
        r"|too many (?:volumes|disks|attach)",
        "F20",
        "the node has as many volumes as it can hold: use another node or kind of node, or fewer volumes",
        False,
    ),
    (
        r"same (?:availability )?zone|ZoneMismatch|different (?:availability )?zone|NodeAffinity|NodeSelectorTerms",
        "F20",
        "the volume belongs to another node or zone: run the pod there, or use a storage class with volumeBindingMode WaitForFirstConsumer",
        False,
    ),
    (
        r"hostPath type check failed|path \"[^\"]{1,400}\" does not exist",
        "F20",
        "the path is not there on this node, or is of another type: create it, correct the path or its type, or run the pod on a node that has it",
        False,
    ),
    (
        r"applyFSGroup failed|l?chown [^:]{1,400}: (?:operation not permitted|permission denied)",
        "F20",
        "the storage lets nobody change the owner of files, so fsGroup cannot be set: leave fsGroup out, or set fsGroupChangePolicy OnRootMismatch, or give the"
        " path the group on the server",
        False,
    ),
    (
        rf"{DENIED}|operation not permitted|no signing credentials|credentials (?:not found|expired|are missing)|unable to locate credentials",
        "F20",
        "the storage refuses this node or its account: allow it in the server's exports, or give the driver's or the pod's account the permission",
        False,
    ),
    (
        r"given by server: no such file|mount error\(2\)|share \S{1,200} not found|bucket \S{1,200} (?:does not exist|not found)"
        r"|bucket doesn't exist|NoSuchBucket",
        "F20",
        "the server has no such path, share or bucket: create it, or correct the volume",
        False,
    ),
    (
        r"rpc\.statd|-o nolock",
        "F20",
        "the node runs no rpc.statd, which locks of NFS 3 need: mount with nfsvers=4 or nolock (mountOptions of the storage class), or start it on the node",
        False,
    ),
    (
        r"mount\.nfs4?: (?:Protocol not supported|requested NFS version)|NFS version or transport protocol is not supported",
        "F20",
        "the server does not serve this version of NFS: set another one in the mount options (nfsvers), or turn it on at the server",
        False,
    ),
    (
        r"modprobe|modules loaded|fuse: device not found|/dev/fuse|mount\.lustre: [^:]{1,300}: No such device|feature set mismatch",
        "F20",
        "the node's kernel lacks a module or a feature that this volume needs: load the module there (modprobe, or another image of the node)",
        False,
    ),
    (
        r"no mds server is up|missing configuration for cluster ID|KMS key|volume state is error",
        "F20",
        "the storage itself is not ready for this volume: correct what the message names at the storage or in the driver's configuration",
        False,
    ),
    (
        r"helper program|unknown filesystem type|mount\.\w{1,20}: (?:not found|command not found)|executable file not found",
        "F20",
        "the node cannot mount this file system: install its client there (nfs-common or nfs-utils, cifs-utils, ceph-common), or correct the mount options",
        False,
    ),
    (
        r"fsck|superblock|structure needs cleaning|input/output error|corrupt",
        "F20",
        "the file system of the volume is damaged: repair it, or restore the volume",
        False,
    ),
    (r"no space left on device|disk quota exceeded", "F20", "free space on the node's disk, or on the volume", False),
    (
        r"failed to resolve (?:server|\")|name or service not known|no such host|temporary failure in name resolution",
        "F20",
        "the node cannot resolve the storage server's name: nodes use their own DNS, not the cluster's; write an address, or a name that nodes know",
        False,
    ),
    (
        r"connection timed out|connection refused|no route to host|unreachable|host is down|i/o timeout|stale file handle|mount\.nfs: [^:]{0,100}timed out"
        r"|connection reset|failed due to timeout",
        "F20",
        "the node cannot reach the storage server: check its address, that it runs, and the firewall between them",
        False,
    ),
    (
        r"InvalidVolume\.NotFound|code = NotFound|volume \S{0,200} ?(?:was )?not found|disk \S{0,200} ?(?:was )?not found|could not be found",
        "F20",
        "the volume, or the node, is not there for the storage provider: check the PersistentVolume's handle; recreate a claim whose volume is lost",
        False,
    ),
    (
        r"failed to find the sidecar container",
        "F20",
        'the driver\'s webhook has not added its sidecar to the pod: give the pod the annotation gke-gcsfuse/volumes: "true"',
        True,
    ),
    (r"secrets[- ]store|SecretProviderClass", "F20", "check the SecretProviderClass, and what its provider says in the log of the driver on this node", False),
    (
        r"backoff condition|but was attaching|operation with the given volume|not ready for workloads"
        r"|available state|being deleted|detaching|mount point busy|resource busy"
        r"|special device|wait\w{0,5} for device",
        "F20",
        "the storage is not ready with this volume: see the volume in its own tools; if it stays so, restart the driver's pod on this node",
        False,
    ),
    (SUMMARY, "F20", "look at the earlier events of the pod and of its claim, and at the volume's driver on this node", False),
    (
        r"deadline ?exceeded|timed out",
        "F20",
        "the volume's driver does not answer in time: look at its log on this node, and at the storage behind it",
        False,
    ),
)
