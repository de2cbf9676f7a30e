# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events of pods that nodes could not set up, recorded from public reports, with shortened identifiers.

(source, reason, code, words of the remedy, message). Events about an image are for the image `r/i:t`.
"""

from __future__ import annotations

EVENTS = [
    (
        "NVIDIA/gpu-operator#730 (containerd 1.6)",
        "FailedCreatePodSandBox",
        "runtime",
        "container toolkit",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia" is configured',
    ),
    (
        "NVIDIA/gpu-operator#2168 (containerd 2)",
        "FailedCreatePodSandBox",
        "runtime",
        "container toolkit",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = unable to get OCI runtime for sandbox "18073b779521": no '
        'runtime for "nvidia" is configured',
    ),
    (
        "NVIDIA/NVSentinel#442 (CRI-O)",
        "FailedCreatePodSandBox",
        "runtime",
        "container toolkit",
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to find runtime handler nvidia from runtime list "
        "map[crun:0xc00047e300 runc:0xc00047ef00]",
    ),
    (
        "aws/amazon-vpc-cni-k8s#3104",
        "FailedCreatePodSandBox",
        "runtime",
        "is not on the node",
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to create containerd task: failed to create shim task: "
        "OCI runtime create failed: unable to retrieve OCI runtime error (open "
        "/run/containerd/io.containerd.runtime.v2.task/k8s.io/6d014b312b6c/log.json: no such file or directory): fork/exec "
        "/usr/bin/nvidia-container-runtime: no such file or directory: unknown",
    ),
    (
        "k3s-io/k3s#10926 (containerd)",
        "FailedCreatePodSandBox",
        "F34",
        "pause",
        "Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = failed to get sandbox image "
        '"rancher/mirrored-pause:3.6": failed to pull image "rancher/mirrored-pause:3.6": failed to pull and unpack image '
        '"docker.io/rancher/mirrored-pause:3.6": failed to resolve reference "docker.io/rancher/mirrored-pause:3.6": failed to do '
        'request: Head "https://registry-1.docker.io/v2/rancher/mirrored-pause/manifests/3.6": dial tcp 116.89.243.8:443: i/o timeout',
    ),
    (
        "flannel-io/flannel#1782 (Docker)",
        "FailedCreatePodSandBox",
        "F34",
        "pause",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed pulling image "registry.k8s.io/pause:3.6": Error '
        'response from daemon: Head "https://asia-northeast1-docker.pkg.dev/v2": dial tcp: i/o timeout',
    ),
    (
        "cri-o/cri-o#3915",
        "FailedCreatePodSandBox",
        "F34",
        "pause",
        "Failed to create pod sandbox: rpc error: code = Unknown desc = error creating pod sandbox with name "
        '"k8s_kube-controller-manager-node_kube-system_c789_0": Error initializing source docker://k8s.gcr.io/pause:3.2: error '
        'pinging docker registry k8s.gcr.io: Get "https://k8s.gcr.io/v2/": dial tcp 10.254.3.15:443: connect: connection refused',
    ),
    (
        "cri-o/cri-o#4285",
        "FailedCreatePodSandBox",
        "F34",
        "store of images is damaged",
        "Failed to create pod sandbox: rpc error: code = Unknown desc = error creating pod sandbox with name "
        '"k8s_virt-operator-74745fbc9c-xknls_openshift-cnv_6c53d52d_0": layer not known',
    ),
    (
        "canonical/microk8s#1147",
        "FailedCreatePodSandBox",
        "pod_network",
        "address",
        "(combined from similar events): Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for "
        'sandbox "9a1b3fd9596e": failed to allocate for range 0: no IP addresses available in range set: 10.1.56.1-10.1.56.254',
    ),
    (
        "aws/amazon-vpc-cni-k8s#668",
        "FailedCreatePodSandBox",
        "pod_network",
        "address",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to set up sandbox container "9234234234de" network for '
        'pod "e-92rj7": NetworkPlugin cni failed to set up pod "e-92rj7_default" network: add cmd: failed to assign an IP address to '
        "container",
    ),
    (
        "cilium/cilium#10627",
        "FailedCreatePodSandBox",
        "pod_network",
        "address",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to set up sandbox container "3948297ee605" network for '
        'pod "p": networkPlugin cni failed to set up pod "p_default" network: unable to allocate IP via local cilium agent: [POST '
        "/ipam][502] postIpamFailure  range is full",
    ),
    (
        "cilium/cilium#23870",
        "FailedCreatePodSandBox",
        "pod_network",
        "program is not on this node",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "4e4719cbaa7e": plugin '
        'type="cilium-cni" name="cilium" failed (add): failed to find plugin "cilium-cni" in path [/opt/kube/bin]',
    ),
    (
        "danm-cni/danm#256",
        "FailedCreatePodSandBox",
        "pod_network",
        "network plugin",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "797a7434a108": CNI network could not be set up',
    ),
    (
        "kubernetes/kubernetes#68190",
        "FailedCreatePodSandBox",
        "starting",
        "container runtime",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to start sandbox container for pod "j-j69pq": Error '
        "response from daemon: OCI runtime create failed: container_linux.go:348: starting container process caused "
        '"process_linux.go:301: running exec setns process for init caused \\"signal: killed\\"": unknown',
    ),
    (
        "NVIDIA/gpu-operator#549",
        "FailedCreatePodSandBox",
        "runtime",
        "does not answer",
        'Failed to create pod sandbox: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing '
        'dial unix /run/containerd/containerd.sock: connect: connection refused"',
    ),
    (
        "estesp/bucketbench#56 (CRI-O)",
        "FailedCreatePodSandBox",
        "busy",
        "slow",
        "Failed to create pod sandbox: rpc error: code = Unknown desc = Kubelet may be retrying requests that are timing out in CRI-O "
        "due to system load: error reserving pod name k8s_p_1 for id b421a43db430: name is reserved",
    ),
    (
        "vadimkim/cert-manager-webhook-hetzner#19",
        "FailedMount",
        "F17",
        "create",
        'MountVolume.SetUp failed for volume "certs" : secret "webhook-tls" not found',
    ),
    (
        "elastic/cloud-on-k8s#7315",
        "FailedMount",
        "F17",
        "add this key",
        'MountVolume.SetUp failed for volume "elastic-internal-probe-user" : references non-existent secret key: elastic-internal-pre-stop',
    ),
    (
        "jupyterhub/mybinder.org-deploy#1485",
        "FailedMount",
        "starting",
        "tries again",
        'MountVolume.SetUp failed for volume "event-secret" : failed to sync secret cache: timed out waiting for the condition',
    ),
    (
        "awslabs/mountpoint-s3-csi-driver#107",
        "FailedMount",
        "F20",
        "does not run on this node",
        'MountVolume.MountDevice failed for volume "s3-pv" : kubernetes.io/csi: attacher.MountDevice failed to create '
        "newCsiDriverClient: driver name s3.csi.aws.com not found in the list of registered CSI drivers",
    ),
    (
        "kubernetes/kubernetes#108963",
        "FailedMount",
        "F20",
        "exports",
        'MountVolume.SetUp failed for volume "pv01" : mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs '
        "192.168.43.16:/nfs_share /var/lib/kubelet/pods/c9c0e520-2c9c-4970-b41e-90d4d6d38ead/volumes/kubernetes.io~nfs/pv01\nOutput: "
        "mount.nfs: access denied by server while mounting 192.168.43.16:/nfs_share",
    ),
    (
        "alibaba/nacos#5203",
        "FailedMount",
        "F20",
        "no such path",
        'MountVolume.SetUp failed for volume "pv01" : mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs '
        "192.168.43.16:/nfs_share /var/lib/kubelet/pods/c9c0e520-2c9c-4970-b41e-90d4d6d38ead/volumes/kubernetes.io~nfs/pv01\nOutput: "
        "mount.nfs: mounting 192.168.137.121:/nfs/nfs-data failed, reason given by server: No such file or directory",
    ),
    (
        "nmaupu/freenas-provisioner#44",
        "FailedMount",
        "F20",
        "nfs-common",
        'MountVolume.SetUp failed for volume "pv01" : mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs '
        "192.168.43.16:/nfs_share /var/lib/kubelet/pods/c9c0e520-2c9c-4970-b41e-90d4d6d38ead/volumes/kubernetes.io~nfs/pv01\nOutput: "
        "mount: /var/snap/microk8s/common/var/lib/kubelet/pods/e39c738f: bad option; for several filesystems (e.g. nfs, cifs) you "
        "might need a /sbin/mount.<type> helper program.",
    ),
    (
        "nacos-group/nacos-k8s#30",
        "FailedMount",
        "F20",
        "nfs-common",
        'MountVolume.SetUp failed for volume "pv01" : mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs '
        "192.168.43.16:/nfs_share /var/lib/kubelet/pods/c9c0e520-2c9c-4970-b41e-90d4d6d38ead/volumes/kubernetes.io~nfs/pv01\nOutput: "
        "mount: wrong fs type, bad option, bad superblock on 172.17.79.3:/data/nfs-share, missing codepage or helper program, or "
        "other error (for several filesystems (e.g. nfs, cifs) you might need a /sbin/mount.<type> helper program) In some cases "
        "useful info is found in syslog - try dmesg | tail or so.",
    ),
    (
        "kubernetes/kubernetes#90263",
        "FailedMount",
        "F20",
        "not there on this node",
        'MountVolume.SetUp failed for volume "test-volume" : hostPath type check failed: /data is not a directory',
    ),
    (
        "GoogleCloudPlatform/ai-on-gke#488",
        "FailedMount",
        "F20",
        "permission",
        'MountVolume.SetUp failed for volume "gcs-fuse-csi-ephemeral" : rpc error: code = PermissionDenied desc = the sidecar '
        "container failed with error: mountWithArgs",
    ),
    (
        "GoogleCloudPlatform/gcs-fuse-csi-driver#56",
        "FailedMount",
        "F20",
        "permission",
        'MountVolume.SetUp failed for volume "gcsfuse-csi-volume" : rpc error: code = Unauthenticated desc = failed to prepare '
        "storage service: storage service manager failed to setup service: context deadline exceeded",
    ),
    (
        "kubernetes/kubernetes#108628",
        "FailedMount",
        "F20",
        "earlier events",
        "Unable to attach or mount volumes: unmounted volumes=[persistent-storage], unattached volumes=[persistent-storage "
        "kube-api-access-8fz5r]: timed out waiting for the condition",
    ),
    (
        "digitalocean/csi-digitalocean#270",
        "FailedAttachVolume",
        "F20",
        "one node at a time",
        'Multi-Attach error for volume "pvc-ad303050" Volume is already exclusively attached to one node and can\'t be attached to another',
    ),
    (
        "hetznercloud/csi-driver#41",
        "FailedAttachVolume",
        "F20",
        "one node at a time",
        'AttachVolume.Attach failed for volume "pvc-7ff22820" : rpc error: code = Internal desc = failed to publish volume: volume is '
        "already attached to a server, please detach it first (service_error)",
    ),
    (
        "kubernetes/cloud-provider-openstack#1778",
        "FailedAttachVolume",
        "F20",
        "one node at a time",
        'AttachVolume.Attach failed for volume "ccd-1" : rpc error: code = Internal desc = [ControllerPublishVolume] Attach Volume '
        "failed with error failed to attach volume to compute: volume isn't in available state so we can not attach it. status: "
        "(EXTRA string=in-use)",
    ),
    (
        "openebs/mayastor#1712",
        "FailedAttachVolume",
        "F20",
        "does not run on this node",
        'AttachVolume.Attach failed for volume "pvc-8609b23a" : CSINode gl-dpce-r0 does not contain driver io.openebs.csi-mayastor',
    ),
    (
        "kubernetes-csi/external-attacher#126",
        "FailedAttachVolume",
        "F20",
        "does not run on this node",
        'AttachVolume.Attach failed for volume "pvc-3d1d6dfb" : node "sdc-bcmt-01-edge-worker-01" has no NodeID annotation',
    ),
    (
        "minio/directpv#701",
        "FailedAttachVolume",
        "F20",
        "external-attacher",
        'AttachVolume.Attach failed for volume "pvc-1e5f38a8" : timed out waiting for external-attacher of direct-csi-min-io CSI '
        "driver to attach volume pvc-1e5f38a8",
    ),
    (
        "rootless-containers/usernetes#208 (CRI-O)",
        "ImageInspectError",
        "F34",
        "with its registry",
        'Failed to inspect image "busybox": rpc error: code = Unknown desc = short-name "busybox:latest" did not resolve to an alias '
        'and no unqualified-search registries are defined in ""',
    ),
    (
        "FusionAuth/charts#118 (CRI-O 1.34)",
        "ImageInspectError",
        "F34",
        "with its registry",
        'Failed to inspect image "": rpc error: code = Unknown desc = short name mode is enforcing, but image name '
        "fusionauth/fusionauth-app:1.60.2 returns ambiguous list",
    ),
    (
        "k3s-io/k3s#9279 (cri-dockerd)",
        "ImageInspectError",
        "F34",
        "damaged",
        'Failed to inspect image "docker.io/democraticcsi/csi-grpc-proxy:v0.5.3": Id or size of image '
        '"docker.io/democraticcsi/csi-grpc-proxy:v0.5.3" is not set',
    ),
    (
        "jupyterhub/zero-to-jupyterhub-k8s#472",
        "InvalidImageName",
        "F34",
        "lower case",
        'Failed to apply default image tag "None:None": couldn\'t parse image reference "None:None": invalid reference format: '
        "repository name must be lowercase",
    ),
    (
        "jupyterhub/zero-to-jupyterhub-k8s#472 (a comment)",
        "InvalidImageName",
        "F34",
        "without https://",
        'Failed to apply default image tag "https://harbor.k8s.mybank/release/name:1.1.0": couldn\'t parse image reference '
        '"https://harbor.k8s.mybank/release/name:1.1.0": invalid reference format.',
    ),
    (
        "cloudfoundry-incubator/kubecf#63",
        "InvalidImageName",
        "F34",
        "NAME:TAG",
        'Failed to apply default image tag "/cloudfoundry/75f1:a28a": couldn\'t parse image reference "/cloudfoundry/75f1:a28a": invalid reference format',
    ),
    (
        "falcosecurity/falcosidekick#486",
        "CreateContainerError",
        "command",
        "no program",
        'failed to generate container "abc" spec: failed to generate spec: no command specified',
    ),
    (
        "SAP/crossplane-provider-btp#360",
        "CreateContainerError",
        "command",
        "no program",
        "failed to generate container spec: failed to apply OCI options: no command specified",
    ),
    (
        "containerd/containerd#4604",
        "CreateContainerError",
        "busy",
        "slow",
        "context deadline exceeded",
    ),
    (
        "amazonlinux/amazon-linux-2023#1097",
        "CreateContainerError",
        "busy",
        "slow",
        'failed to reserve container name "c_p_ns_0"; check if another CreateContainer request is in progress: name "c_p_ns_0" is reserved for "4f5"',
    ),
    (
        "intel/intel-resource-drivers-for-kubernetes#45",
        "CreateContainerError",
        "device",
        "CDI",
        "failed to create containerd container: CDI device injection failed: unresolvable CDI devices intel.com/gpu=0000-00-02-0-0xa7a0",
    ),
    (
        "NVIDIA/nvidia-container-toolkit#1239",
        "RunContainerError",
        "device",
        "CDI",
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: could not apply required "
        "modification to OCI specification: error modifying OCI spec: failed to inject CDI devices: unresolvable CDI devices "
        "management.nvidia.com/gpu=GPU-e78e68c0",
    ),
    (
        "MauriceNino/dashdot#1226",
        "RunContainerError",
        "V6",
        "newer driver",
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start "
        "container process: error during container init: error running prestart hook #0: exit status 1, stdout: , stderr: "
        "Auto-detected mode as 'legacy'\nnvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update "
        "your driver to a newer version, or use an earlier cuda container: unknown",
    ),
    (
        "HonuRobotics/dockwater#10",
        "RunContainerError",
        "device",
        "driver",
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start "
        "container process: error during container init: error running prestart hook #0: exit status 1, stdout: , stderr: "
        "nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown",
    ),
    (
        "containerd/containerd#8682",
        "CreateContainerError",
        "device",
        "device",
        'failed to generate container "a" spec: failed to generate spec: not a device node',
    ),
    (
        "longhorn/longhorn#2236",
        "CreateContainerError",
        "create",
        "make-rshared",
        'failed to generate container "a10a386994eb" spec: failed to generate spec: path "/" is mounted on "/" but it is not a shared mount',
    ),
    (
        "kubernetes-csi/csi-driver-smb#493",
        "CreateContainerError",
        "F20",
        "mounted again",
        "Failed to generate container 'xxyy' spec: failed to generate spec: failed to mkdir "
        '"/var/lib/kubelet/pods/ea38/volumes/kubernetes.io~csi/pvc-aa08/mount": mkdir '
        '"/var/lib/kubelet/pods/ea38/volumes/kubernetes.io~csi/pvc-aa08/mount" file exists',
    ),
    (
        "containerd/containerd#13867",
        "CreateContainerError",
        "F20",
        "mounted again",
        "failed to generate container 'd6fc1b513ce3', spec: failed to generate spec: failed to stat "
        "'/data/containerd/pods/9990/volumes/kubernetes.io~csi/pvc-92db/mount' errno=512",
    ),
    (
        "kubelet (a test of this collection)",
        "CreateContainerConfigError",
        "create",
        "llm_d_run_as_user",
        "container has runAsNonRoot and image will run as root",
    ),
    # Messages of plugins and drivers, from their sources and from public reports.
    (
        "words of calico clusterinformation timeout",
        "FailedCreatePodSandBox",
        "pod_network",
        "API server",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "0a1b2c": plugin type="calico" '
        'failed (add): error getting ClusterInformation: Get "https://10.96.0.1:443/apis/crd.projectcalico.org/v1/clusterinformations/default": '
        "dial tcp 10.96.0.1:443: i/o timeout",
    ),
    (
        "words of calico no ips",
        "FailedCreatePodSandBox",
        "pod_network",
        "address",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "0a1b2c": plugin type="calico" '
        "failed (add): failed to request IPv4 addresses: Assigned 0 out of 1 requested IPv4 addresses; No more free affine blocks and strict "
        "affinity enabled",
    ),
    (
        "words of calico max blocks",
        "FailedCreatePodSandBox",
        "pod_network",
        "address",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "0a1b2c": plugin type="calico" '
        "failed (add): failed to request IPv4 addresses: Assigned 0 out of 1 requested IPv4 addresses; Need to allocate an IPAM block but could "
        "not - limit of 20 blocks reached for this node",
    ),
    (
        "words of calico no pools",
        "FailedCreatePodSandBox",
        "pod_network",
        "IPPool",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "0a1b2c": plugin type="calico" '
        "failed (add): failed to request IPv4 addresses: no configured Calico pools for node n1",
    ),
    (
        "words of cilium range full",
        "FailedCreatePodSandBox",
        "pod_network",
        "address",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "0a1b2c": plugin type="cilium-cni" '
        'failed (add): unable to allocate IP via local cilium agent: [POST /ipam][502] postIpamFailure "all CIDR ranges are exhausted"',
    ),
    (
        "words of ovn annotations",
        "FailedCreatePodSandBox",
        "pod_network",
        "OVN",
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to create pod network sandbox k8s_p_ns_uid_0(4f1e): error adding "
        'pod ns_p to CNI network "multus-cni-network": plugin type="multus-shim" name="multus-cni-network" failed (add): CmdAdd (shim): CNI '
        'request failed with status 400: \'ContainerID:"4f1e" Netns:"/var/run/netns/x" IfName:"eth0" Args:"IgnoreUnknown=1;K8S_POD_NAMESPACE=ns" '
        'Path:"" ERRORED: error configuring pod [ns/p] networking: [ns/p/uid:ovn-kubernetes]: error adding container to network '
        '"ovn-kubernetes": CNI request failed with status 400: \'[ns/p 4f1e network default NAD default] failed to get pod annotation: timed out '
        "waiting for annotations: context deadline exceeded",
    ),
    (
        "words of ovn ovs port binding",
        "FailedCreatePodSandBox",
        "pod_network",
        "OVN",
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to create pod network sandbox k8s_p_ns_uid_0(4f1e): error adding "
        'pod ns_p to CNI network "multus-cni-network": plugin type="multus-shim" name="multus-cni-network" failed (add): CmdAdd (shim): CNI '
        'request failed with status 400: \'ContainerID:"4f1e" Netns:"/var/run/netns/x" IfName:"eth0" Args:"IgnoreUnknown=1;K8S_POD_NAMESPACE=ns" '
        'Path:"" ERRORED: error configuring pod [ns/p] networking: [ns/p/uid:ovn-kubernetes]: error adding container to network '
        '"ovn-kubernetes": CNI request failed with status 400: \'[ns/p 4f1e network default NAD default] failed to configure pod interface: timed '
        "out waiting for OVS port binding (ovn-installed) for 0a:58:0a:80:00:0e [10.128.0.14/23]",
    ),
    (
        "words of azure cns no IPConfigs",
        "FailedCreatePodSandBox",
        "pod_network",
        "address",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "0a1b2c": plugin type="azure-vnet" '
        "failed (add): IPAM Invoker Add failed with error: Failed to get IP address from CNS: AllocateIPConfig failed: not enough IPs available "
        "of type IPv4, waiting on Azure CNS to allocate more with NC Status",
    ),
    (
        "words of bridge cni0",
        "FailedCreatePodSandBox",
        "pod_network",
        "cni0",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "0a1b2c": plugin type="bridge" '
        'failed (add): failed to set bridge addr: "cni0" already has an IP address different from 10.244.1.1/24',
    ),
    (
        "words of containerd runtime binary",
        "FailedCreatePodSandBox",
        "runtime",
        "not on the node",
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to create containerd task: failed to start shim: runtime "
        '"io.containerd.kata.v2" binary not installed "containerd-shim-kata-v2": file does not exist',
    ),
    (
        "words of containerd2 runtime binary",
        "FailedCreatePodSandBox",
        "runtime",
        "not on the node",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to start sandbox "x": failed to create containerd task: failed to '
        'resolve runtime path: runtime "io.containerd.runsc.v1" binary not installed "containerd-shim-runsc-v1": file does not exist: unknown',
    ),
    (
        "words of hostport",
        "FailedCreatePodSandBox",
        "port",
        "hostPort",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "x": plugin type="portmap" failed '
        "(add): cannot open hostport 8000 for pod p: listen tcp4 :8000: bind: address already in use",
    ),
    (
        "words of efs dns",
        "FailedMount",
        "F20",
        "resolve",
        'MountVolume.SetUp failed for volume "pvc-1" : rpc error: code = Internal desc = Could not mount "fs-1:/" at "/var/lib/kubelet/x": mount '
        "failed: exit status 1\nMounting arguments: -t efs -o accesspoint=fsap-1,tls fs-1:/ /x\nOutput: Failed to resolve "
        '"fs-1.efs.us-east-1.amazonaws.com" - check that your file system ID is correct, and ensure that the VPC has an EFS mount target for '
        "this file system ID.",
    ),
    (
        "words of efs mount target reset",
        "FailedMount",
        "F20",
        "reach",
        'MountVolume.SetUp failed for volume "pvc-1" : rpc error: code = Internal desc = Could not mount: Output: Mount attempt 1/3 failed due '
        "to timeout after 15 sec, wait 0 sec before next attempt. mount.nfs4: Connection reset by peer",
    ),
    (
        "words of nfs rpc.statd",
        "FailedMount",
        "F20",
        "nolock",
        'MountVolume.SetUp failed for volume "pv" : mount failed: exit status 32\nOutput: mount.nfs: rpc.statd is not running but is required for '
        "remote locking.\nmount.nfs: Either use '-o nolock' to keep locks local, or start statd.",
    ),
    (
        "words of nfs requested version",
        "FailedMount",
        "F20",
        "nfsvers",
        'MountVolume.SetUp failed for volume "pv" : mount failed: exit status 32\nOutput: mount.nfs: requested NFS version or transport protocol '
        "is not supported for 10.0.0.2:/x",
    ),
    (
        "words of nfs opnotperm",
        "FailedMount",
        "F20",
        "exports",
        'MountVolume.SetUp failed for volume "pv" : mount failed: exit status 32\nOutput: mount.nfs: Operation not permitted for 10.0.0.2:/x',
    ),
    (
        "words of cephfs no mds",
        "FailedMount",
        "F20",
        "not ready",
        'MountVolume.MountDevice failed for volume "pvc-1" : rpc error: code = Internal desc = an error (exit status 32) occurred while running '
        "mount args: [-t ceph] stderr: mount error: no mds server is up or the cluster is laggy",
    ),
    (
        "words of cephfs unknown fs",
        "FailedMount",
        "F20",
        "kernel",
        'MountVolume.MountDevice failed for volume "pvc-1" : rpc error: code = Internal desc = an error (exit status 1) occurred while running '
        "modprobe args: [ceph]; modprobe: FATAL: Module ceph not found in directory /lib/modules/6.1",
    ),
    (
        "words of azure disk lun",
        "FailedAttachVolume",
        "F20",
        "as many volumes",
        'AttachVolume.Attach failed for volume "pvc-1" : rpc error: code = Internal desc = Attach volume failed with Retriable: false, '
        "RetryAfter: 0s, HTTPStatusCode: 409, RawError: The maximum number of data disks allowed to be attached to a VM of this size is 4",
    ),
    (
        "words of gce pd",
        "FailedAttachVolume",
        "F20",
        "not ready",
        'AttachVolume.Attach failed for volume "pvc-1" : rpc error: code = Unavailable desc = ControllerPublish not permitted on node '
        '"projects/x" due to backoff condition',
    ),
    (
        "words of gcsfuse",
        "FailedMount",
        "F20",
        "annotation",
        'MountVolume.SetUp failed for volume "gcs" : rpc error: code = FailedPrecondition desc = failed to find the sidecar container in Pod spec',
    ),
    (
        "words of gcsfuse bucket",
        "FailedMount",
        "F20",
        "bucket",
        'MountVolume.SetUp failed for volume "gcs" : rpc error: code = NotFound desc = failed to get GCS bucket "x": storage: bucket doesn\'t exist',
    ),
    (
        "words of s3 mountpoint perm",
        "FailedMount",
        "F20",
        "permission",
        'MountVolume.SetUp failed for volume "s3-pv" : rpc error: code = Internal desc = Could not mount "bucket" at "/x": Mount failed: Error: '
        "Failed to create S3 client Caused by: 0: initial ListObjectsV2 failed for bucket x in region us-east-1 1: Client error 2: No signing "
        "credentials available, see CRT debug logs",
    ),
    (
        "words of kube-api-access forbidden",
        "FailedMount",
        "starting",
        "kubelet",
        'MountVolume.SetUp failed for volume "kube-api-access-x" : failed to fetch token: serviceaccounts "llm" is forbidden: User '
        '"system:node:n1" cannot create resource "serviceaccounts/token"',
    ),
    (
        "words of fuse device",
        "FailedMount",
        "F20",
        "kernel",
        "MountVolume.SetUp failed for volume \"x\" : rpc error: code = Internal desc = fuse: device not found, try 'modprobe fuse' first",
    ),
    (
        "words of fsgroup",
        "FailedMount",
        "F20",
        "fsGroup",
        'MountVolume.SetUp failed for volume "x" : applyFSGroup failed for vol pvc-1: lchown /x/lost+found: operation not permitted',
    ),
    (
        "words of longhorn engine",
        "FailedAttachVolume",
        "F20",
        "one node at a time",
        'AttachVolume.Attach failed for volume "pvc-1" : rpc error: code = Internal desc = volume pvc-1 failed to attach to node n1 with '
        "attachmentID csi-1: the volume is currently attached to different node n2",
    ),
    (
        "words of weka/lustre",
        "FailedMount",
        "F20",
        "kernel",
        'MountVolume.SetUp failed for volume "fsx" : rpc error: code = Internal desc = Could not mount "fs-1@tcp:/x" at "/y": mount failed: exit '
        "status 19\nOutput: mount.lustre: mount fs-1@tcp:/x at /y failed: No such device\nAre the lustre modules loaded?",
    ),
]
