# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patterns of what keeps a node from setting a pod up, as kubelet, containerd, CRI-O and network plugins word it. Data only.

In each table the first pattern that matches wins, so causes come before what merely wraps them. A pattern is one of common.patterns.LinePattern, for a message
on one line, whatever the case of its letters. The messages are untrusted: no pattern may take more than linear time.
"""

from __future__ import annotations

import collections.abc as c

# pattern, code, remedy, whether waiting is of no use
Row = tuple[c.Sequence[str], str, str, bool]

_TOOLKIT = "NVIDIA's container toolkit (the GPU operator installs it)"
_IMAGE_STORE = "the node's store of images is damaged: remove the image there (crictl rmi), or clear the store, and let the node pull it again"
_SLOW = "the node's container runtime is slow or hangs: look at the node's load and disk; if it stays so, restart the runtime, or use another node"
DENIED = (
    r"access denied|permission denied|mount error\(13\)|code = (?:PermissionDenied|Unauthenticated)|UnauthorizedOperation|AccessDenied|not authorized"
    r"|\b403\b|forbidden|unauthorized|authentication (?:failed|error)"
)

# Of the container runtime, whether it makes the sandbox of a pod or one of its containers.
_HANDLER: tuple[Row, ...] = (
    (
        r"RuntimeClass(?:\.node\.k8s\.io|es\.node\.k8s\.io)? \"?[^\" ]{1,260}\"? not found",
        "runtime",
        "create this RuntimeClass, or leave runtimeClassName out",
        True,
    ),
    (
        r"no runtime for \S{1,200} is configured|runtime handler \S{1,200} (?:from runtime list|not found|is not)|unknown runtime handler",
        "runtime",
        f"the node's container runtime has no such runtime handler: let {_TOOLKIT} configure it there and restart the runtime, or leave runtimeClassName out",
        False,
    ),
    (
        r"(?:fork/exec [^ :]{0,200}runtime|exec: \"(?:nvidia|kata|runsc|crun|runc|youki|habana)[\w.-]{0,60})\S{0,40}:? (?:no such file|executable file not)"
        r"|runtime \"[^\" ]{1,100}\" binary not installed",
        "runtime",
        f"the program of this runtime handler is not on the node: install {_TOOLKIT}, or leave runtimeClassName out",
        False,
    ),
)
_HOST: tuple[Row, ...] = (
    (
        r"unsatisfied condition: ",
        "V6",
        "the node's driver and the CUDA libraries of the image do not fit: install a newer driver, or use an image of an older CUDA",
        False,
    ),
    (
        r"CDI devices?\b|CDI spec",
        "device",
        f"the node has no CDI specification of this device: restart {_TOOLKIT} there, and turn CDI on or off in it and in the device plugin alike",
        False,
    ),
    (
        r"nvidia-container-cli: |nvidia-container-runtime-hook|libnvidia-ml\.so|nvml error|driver not loaded|driver rpc error",
        "device",
        "the node's NVIDIA driver is not loaded, or has lost the GPU: check the driver (nvidia-smi on the node), then restart the device plugin there",
        False,
    ),
    (
        r"adding custom device|not a device node|/dev/(?:kfd|dri|nvidia|accel|hl)\S{0,100}:? no such (?:file|device)",
        "device",
        "the device is not there on this node: check its driver, then restart the device plugin there",
        False,
    ),
    (r"OOM-killed|memory limit too low", "F18", "raise the pod's memory limit: it does not suffice to start", False),
    (r"layer not known|content digest \S{1,200} not found|snapshot \S{1,200} does not exist", "F34", _IMAGE_STORE, False),
    (
        r"for systemd cgroups|cgroup driver|cgroup manager",
        "runtime",
        "let the kubelet and the node's container runtime use the same cgroup driver, systemd",
        False,
    ),
    (r"apparmor", "runtime", "load this AppArmor profile on the node, or leave it out", False),
    (r"seccomp", "runtime", "put this seccomp profile on the node, or leave it out", False),
    (r"no space left on device|disk quota exceeded", "F20", "free space on the node's disk", False),
    (
        r"too many open files|inotify",
        "runtime",
        "raise the node's limits of open files and of inotify (fs.inotify.max_user_instances, max_user_watches)",
        False,
    ),
    (
        r"cannot allocate memory|resource temporarily unavailable",
        "runtime",
        "the node is short of memory or process ids: free some, or use another node",
        False,
    ),
)
_ANSWERS: tuple[Row, ...] = (
    (
        r"(?:containerd|crio|cri-dockerd|dockershim|docker)\.sock|code = Unavailable|Error while dialing",
        "runtime",
        "the node's container runtime does not answer: check that it runs, and its log",
        False,
    ),
    (
        r"deadline ?exceeded|is reserved\b|failed to reserve|error reserving|timing out|already in use by|timed out",
        "busy",
        _SLOW,
        False,
    ),
)

# Messages of FailedCreatePodSandBox.
SANDBOX: tuple[Row, ...] = (
    *_HANDLER,
    (
        r"sandbox image|pause image|pulling image|pull image|initializing source|pinging (?:container|docker) registry|/pause[\w-]{0,40}:",
        "F34",
        "the node cannot get the image of the sandbox (pause): let it reach that registry, load the image on the node, or name another one in the container"
        " runtime's configuration (containerd: sandbox_image or pinned_images.sandbox; CRI-O: pause_image)",
        False,
    ),
    (
        r"no addresses left|no (?:more |free |available )?IP(?:v4|v6)?(?: address(?:es)?|s)?(?: is| are)? (?:available|left)"
        r"|no (?:available|free|more) (?:IP|address)|assign an IP address|allocate for range|range is full|addresses? (?:pool |range )?(?:is |are )?exhausted"
        r"|InsufficientFreeAddresses|not enough IPs|Assigned 0 out of|blocks? reached for this node|no more free affine blocks"
        r"|CIDR ranges? (?:is|are) exhausted"
        r"|insufficient (?:free )?(?:IP|address)|out of (?:IP )?addresses",
        "pod_network",
        "the node, or its subnet, has no address left for a pod: give pods a larger range, run fewer on this node, or release addresses that the network plugin"
        " holds for pods that are gone",
        False,
    ),
    (
        r"no configured Calico pools|no IP pools? (?:found|configured|match)",
        "pod_network",
        "no address pool of the network plugin is for this pod: create one (an IPPool) that selects this node and namespace, or correct the pod's annotation",
        False,
    ),
    (
        r"\"?[\w.-]{1,15}\"? already has an IP address different from",
        "pod_network",
        "a bridge of an earlier network plugin is left on this node: delete it (ip link delete cni0), or restart the node, and let the plugin make it again",
        False,
    ),
    (
        (r"hostport ... address already in use", r"host ?port ... (?:already allocated|in use|conflict)"),
        "port",
        "another pod or program of the node has this host port: use another hostPort, or another node",
        False,
    ),
    (
        r"failed to find plugin",
        "pod_network",
        "the network plugin's program is not on this node: check the pod of its DaemonSet there, which installs it (/opt/cni/bin)",
        False,
    ),
    (
        r"network-?attachment-?definition",
        "pod_network",
        "create this NetworkAttachmentDefinition, or correct the pod's annotation k8s.v1.cni.cncf.io/networks",
        False,
    ),
    (
        r"(?:waiting for|failed to get pod) (?:pod )?annotations?|OVS port binding|ovn-installed|pod OVN annotation",
        "pod_network",
        "OVN-Kubernetes did not set up the pod's port in time: check the pods of ovnkube-node on this node and of ovnkube-control-plane, and their logs",
        False,
    ),
    (
        r"getting (?:ClusterInformation|pod)|kubernetes API|apiserver|/apis?/ ... i/o timeout|connection refused|no route to host|deadline exceeded|EOF",
        "pod_network",
        "the network plugin does not reach the API server from this node: check kube-proxy there, or what stands for it, and the Service kubernetes",
        False,
    ),
    (
        (
            r"cni plugin not initialized|cni config uninitialized|no networks found in|plugin (?:is )?not ready|NetworkPluginNotReady",
            r"calico/nodename|subnet\.env|cilium\.sock|cni-server\.sock|multus\S{0,60}\.sock|cilium (?:daemon|agent)|is the agent running|\bovnkube|\bOVN",
            r"network|cni ... connection refused",
        ),
        "pod_network",
        "the network plugin's agent is not ready on this node: check the pod of its DaemonSet there, and its log",
        False,
    ),
    (
        rf"network|cni|plugin type ... {DENIED}|x509",
        "pod_network",
        "the network plugin's own token or certificate is refused: restart its pod on this node, and check its permissions",
        False,
    ),
    (
        r"set ?up (?:pod )?network|network for (?:pod|sandbox)|pod network sandbox|\bcni\b|networkPlugin|AddNetwork|plugin type=",
        "pod_network",
        "check the cluster's network plugin: the pod of its DaemonSet on this node, and its log",
        False,
    ),
    *_HOST,
    *_ANSWERS,
)

# Messages of a container that waits with CreateContainerError, CreateContainerConfigError or RunContainerError, or that ended with StartError.
CREATE: tuple[Row, ...] = (
    *_HANDLER,
    *_HOST,
    (r"no command specified|no command or entrypoint", "command", "the image names no program to start: use another image, or give it a command", True),
    (
        r"runAsNonRoot|non-numeric user",
        "create",
        "correct what the message names: run it with the number of a user other than 0 (llm_d_run_as_user), or use an image that has one",
        True,
    ),
    (
        r"unable to find (?:user|group)|matching entries in (?:passwd|group) file|no users found",
        "create",
        "the image does not know this user or group: use its number, or another image",
        False,
    ),
    (
        r"not a shared(?: or slave)? mount",
        "create",
        "make this mount of the node shared (mount --make-rshared), or leave mountPropagation out of the volume's mount",
        False,
    ),
    (r"sub ?path", "F20", "the subPath cannot be used in this volume: check that it exists, or that the volume may be written", False),
    (r"mount a directory onto a file", "F20", "a file is mounted onto a directory, or the other way round: correct mountPath or subPath", False),
    (
        r"chdir to cwd|working directory|mkdir [^:]{1,300}: (?:permission denied|read-only file system|not a directory)",
        "create",
        "its working directory cannot be used: correct workingDir, or make it writable for the user of the container",
        False,
    ),
    (
        r"failed to (?:stat|mkdir)|stale file handle|transport endpoint is not connected|input/output error|(?:volumes|mounts?)/[^:]{1,300}: no such file",
        "F20",
        "a volume of the pod is not mounted there any more: delete the pod, so that it is mounted again; check the volume's driver on this node",
        False,
    ),
    (r"cannot find volume", "F20", "a container mounts a volume that the pod does not have: correct its name", True),
    *_ANSWERS,
)

# Messages of ImageInspectError.
INSPECT: tuple[Row, ...] = (
    (
        r"short[- ]name|ambiguous list|unqualified-search",
        "F34",
        "write the image with its registry, such as docker.io/NAME: the node's container runtime does not look for short names",
        True,
    ),
    (r"invalid reference format", "F34", "correct the image's name", True),
    (r"id or size of image|layer not known|content digest|does not exist|unmarshal|corrupt|input/output error|size for layer", "F34", _IMAGE_STORE, False),
    (r"no space left on device", "F34", "free space on the node's disk for images", False),
    *((pattern, "F34", remedy, ends) for pattern, _code, remedy, ends in _ANSWERS),
)
# Messages of InvalidImageName, with the image: each remedy names the correct form.
INVALID: tuple[Row, ...] = (
    (r"[a-z]://", "F34", "write the image without https:// or another scheme", True),
    (r"must be lower ?case", "F34", "write the image's name in lower case; only its tag may have capitals", True),
    (r"checksum|digest", "F34", "write the digest whole: @sha256: and 64 hexadecimal digits", True),
)
