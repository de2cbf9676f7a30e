# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of a pod template, and of all that it holds, in Kubernetes 1.29.6 and 1.37.2. Data only; written by tools/record_pod_fields.py, not by hand.

FIELD=TYPE: `[TYPE]` a list that a patch replaces, `[TYPE]KEY` one that it merges by this key of its elements, `{TYPE}` a mapping with keys of the
user. Then `!` where it is required, `<` where only the older version has it, `>` where only the newer one has it.
"""

from __future__ import annotations

OLDEST, NEWEST = "1.29.6", "1.37.2"
FIELDS = {
    "AWSElasticBlockStoreVolumeSource": """
fsType=string partition=integer readOnly=boolean volumeID=string!
""",
    "Affinity": """
nodeAffinity=NodeAffinity podAffinity=PodAffinity podAntiAffinity=PodAntiAffinity
""",
    "AppArmorProfile": """
localhostProfile=string type=string!
""",
    "AzureDiskVolumeSource": """
cachingMode=string diskName=string! diskURI=string! fsType=string kind=string readOnly=boolean
""",
    "AzureFileVolumeSource": """
readOnly=boolean secretName=string! shareName=string!
""",
    "CSIVolumeSource": """
driver=string! fsType=string nodePublishSecretRef=LocalObjectReference readOnly=boolean volumeAttributes={string}
""",
    "Capabilities": """
add=[string] drop=[string]
""",
    "CephFSVolumeSource": """
monitors=[string]! path=string readOnly=boolean secretFile=string secretRef=LocalObjectReference user=string
""",
    "CinderVolumeSource": """
fsType=string readOnly=boolean secretRef=LocalObjectReference volumeID=string!
""",
    "ClaimSource": """
resourceClaimName=string resourceClaimTemplateName=string
""",
    "ClusterTrustBundleProjection": """
labelSelector=LabelSelector name=string optional=boolean path=string! signerName=string user=integer>
""",
    "ConfigMapEnvSource": """
name=string optional=boolean
""",
    "ConfigMapKeySelector": """
key=string! name=string optional=boolean
""",
    "ConfigMapProjection": """
items=[KeyToPath] name=string optional=boolean
""",
    "ConfigMapVolumeSource": """
defaultMode=integer defaultUser=integer> items=[KeyToPath] name=string optional=boolean
""",
    "Container": """
args=[string] command=[string] env=[EnvVar]name envFrom=[EnvFromSource] image=string imagePullPolicy=string lifecycle=Lifecycle livenessProbe=Probe
name=string! ports=[ContainerPort]containerPort readinessProbe=Probe resizePolicy=[ContainerResizePolicy] resources=ResourceRequirements
restartPolicy=string restartPolicyRules=[ContainerRestartRule]> securityContext=SecurityContext startupProbe=Probe stdin=boolean stdinOnce=boolean
terminationMessagePath=string terminationMessagePolicy=string tty=boolean volumeDevices=[VolumeDevice]devicePath volumeMounts=[VolumeMount]mountPath
workingDir=string
""",
    "ContainerPort": """
containerPort=integer! hostIP=string hostPort=integer name=string protocol=string
""",
    "ContainerResizePolicy": """
resourceName=string! restartPolicy=string!
""",
    "ContainerRestartRule": """
action=string! exitCodes=ContainerRestartRuleOnExitCodes
""",
    "ContainerRestartRuleOnExitCodes": """
operator=string! values=[integer]
""",
    "DownwardAPIProjection": """
items=[DownwardAPIVolumeFile]
""",
    "DownwardAPIVolumeFile": """
fieldRef=ObjectFieldSelector mode=integer path=string! resourceFieldRef=ResourceFieldSelector user=integer>
""",
    "DownwardAPIVolumeSource": """
defaultMode=integer defaultUser=integer> items=[DownwardAPIVolumeFile]
""",
    "EmptyDirVolumeSource": """
medium=string mode=integer> sizeLimit=quantity
""",
    "EnvFromSource": """
configMapRef=ConfigMapEnvSource prefix=string secretRef=SecretEnvSource
""",
    "EnvVar": """
name=string! value=string valueFrom=EnvVarSource
""",
    "EnvVarSource": """
configMapKeyRef=ConfigMapKeySelector fieldRef=ObjectFieldSelector fileKeyRef=FileKeySelector> resourceFieldRef=ResourceFieldSelector
secretKeyRef=SecretKeySelector
""",
    "EphemeralContainer": """
args=[string] command=[string] env=[EnvVar]name envFrom=[EnvFromSource] image=string imagePullPolicy=string lifecycle=Lifecycle livenessProbe=Probe
name=string! ports=[ContainerPort]containerPort readinessProbe=Probe resizePolicy=[ContainerResizePolicy] resources=ResourceRequirements
restartPolicy=string restartPolicyRules=[ContainerRestartRule]> securityContext=SecurityContext startupProbe=Probe stdin=boolean stdinOnce=boolean
targetContainerName=string terminationMessagePath=string terminationMessagePolicy=string tty=boolean volumeDevices=[VolumeDevice]devicePath
volumeMounts=[VolumeMount]mountPath workingDir=string
""",
    "EphemeralVolumeSource": """
volumeClaimTemplate=PersistentVolumeClaimTemplate
""",
    "EvictionResponder": """
name=string! priority=integer!
""",
    "ExecAction": """
command=[string]
""",
    "FCVolumeSource": """
fsType=string lun=integer readOnly=boolean targetWWNs=[string] wwids=[string]
""",
    "FileKeySelector": """
key=string! optional=boolean path=string! volumeName=string!
""",
    "FlexVolumeSource": """
driver=string! fsType=string options={string} readOnly=boolean secretRef=LocalObjectReference
""",
    "FlockerVolumeSource": """
datasetName=string datasetUUID=string
""",
    "GCEPersistentDiskVolumeSource": """
fsType=string partition=integer pdName=string! readOnly=boolean
""",
    "GRPCAction": """
mode=string> port=integer! service=string
""",
    "GitRepoVolumeSource": """
directory=string repository=string! revision=string
""",
    "GlusterfsVolumeSource": """
endpoints=string! path=string! readOnly=boolean
""",
    "HTTPGetAction": """
host=string httpHeaders=[HTTPHeader] path=string port=int-or-string! protocol=string> scheme=string
""",
    "HTTPHeader": """
name=string! value=string!
""",
    "HostAlias": """
hostnames=[string] ip=string!
""",
    "HostPathVolumeSource": """
path=string! type=string
""",
    "ISCSIVolumeSource": """
chapAuthDiscovery=boolean chapAuthSession=boolean fsType=string initiatorName=string iqn=string! iscsiInterface=string lun=integer! portals=[string]
readOnly=boolean secretRef=LocalObjectReference targetPortal=string!
""",
    "ImageVolumeSource": """
pullPolicy=string reference=string
""",
    "KeyToPath": """
key=string! mode=integer path=string! user=integer>
""",
    "LabelSelector": """
matchExpressions=[LabelSelectorRequirement] matchLabels={string}
""",
    "LabelSelectorRequirement": """
key=string! operator=string! values=[string]
""",
    "Lifecycle": """
postStart=LifecycleHandler preStop=LifecycleHandler stopSignal=string>
""",
    "LifecycleHandler": """
exec=ExecAction httpGet=HTTPGetAction sleep=SleepAction tcpSocket=TCPSocketAction
""",
    "LocalObjectReference": """
name=string
""",
    "ManagedFieldsEntry": """
apiVersion=string fieldsType=string fieldsV1=object manager=string operation=string subresource=string time=string
""",
    "NFSVolumeSource": """
path=string! readOnly=boolean server=string!
""",
    "NodeAffinity": """
preferredDuringSchedulingIgnoredDuringExecution=[PreferredSchedulingTerm] requiredDuringSchedulingIgnoredDuringExecution=NodeSelector
""",
    "NodeSelector": """
nodeSelectorTerms=[NodeSelectorTerm]!
""",
    "NodeSelectorRequirement": """
key=string! operator=string! values=[string]
""",
    "NodeSelectorTerm": """
matchExpressions=[NodeSelectorRequirement] matchFields=[NodeSelectorRequirement]
""",
    "ObjectFieldSelector": """
apiVersion=string fieldPath=string!
""",
    "ObjectMeta": """
annotations={string} creationTimestamp=string deletionGracePeriodSeconds=integer deletionTimestamp=string finalizers=[string] generateName=string
generation=integer labels={string} managedFields=[ManagedFieldsEntry] name=string namespace=string ownerReferences=[OwnerReference]uid
resourceVersion=string selfLink=string uid=string
""",
    "OwnerReference": """
apiVersion=string! blockOwnerDeletion=boolean controller=boolean kind=string! name=string! uid=string!
""",
    "PersistentVolumeClaimSpec": """
accessModes=[string] dataSource=TypedLocalObjectReference dataSourceRef=TypedObjectReference resources=VolumeResourceRequirements selector=LabelSelector
storageClassName=string volumeAttributesClassName=string volumeMode=string volumeName=string
""",
    "PersistentVolumeClaimTemplate": """
metadata=ObjectMeta spec=PersistentVolumeClaimSpec!
""",
    "PersistentVolumeClaimVolumeSource": """
claimName=string! readOnly=boolean
""",
    "PhotonPersistentDiskVolumeSource": """
fsType=string pdID=string!
""",
    "PodAffinity": """
preferredDuringSchedulingIgnoredDuringExecution=[WeightedPodAffinityTerm] requiredDuringSchedulingIgnoredDuringExecution=[PodAffinityTerm]
""",
    "PodAffinityTerm": """
labelSelector=LabelSelector matchLabelKeys=[string] mismatchLabelKeys=[string] namespaceSelector=LabelSelector namespaces=[string] topologyKey=string!
""",
    "PodAntiAffinity": """
preferredDuringSchedulingIgnoredDuringExecution=[WeightedPodAffinityTerm] requiredDuringSchedulingIgnoredDuringExecution=[PodAffinityTerm]
""",
    "PodCertificateProjection": """
certificateChainPath=string credentialBundlePath=string keyPath=string keyType=string! maxExpirationSeconds=integer signerName=string! user=integer
userAnnotations={string}
""",
    "PodDNSConfig": """
nameservers=[string] options=[PodDNSConfigOption] searches=[string]
""",
    "PodDNSConfigOption": """
name=string value=string
""",
    "PodOS": """
name=string!
""",
    "PodReadinessGate": """
conditionType=string!
""",
    "PodResourceClaim": """
name=string! resourceClaimName=string> resourceClaimTemplateName=string> source=ClaimSource<
""",
    "PodSchedulingGate": """
name=string!
""",
    "PodSchedulingGroup": """
podGroupName=string
""",
    "PodSecurityContext": """
appArmorProfile=AppArmorProfile> fsGroup=integer fsGroupChangePolicy=string runAsGroup=integer runAsNonRoot=boolean runAsUser=integer
seLinuxChangePolicy=string> seLinuxOptions=SELinuxOptions seccompProfile=SeccompProfile supplementalGroups=[integer] supplementalGroupsPolicy=string>
sysctls=[Sysctl] windowsOptions=WindowsSecurityContextOptions
""",
    "PodSpec": """
activeDeadlineSeconds=integer affinity=Affinity automountServiceAccountToken=boolean containers=[Container]name! dnsConfig=PodDNSConfig dnsPolicy=string
enableServiceLinks=boolean ephemeralContainers=[EphemeralContainer]name evictionResponders=[EvictionResponder]name> hostAliases=[HostAlias]ip
hostIPC=boolean hostNetwork=boolean hostPID=boolean hostUsers=boolean hostname=string hostnameOverride=string>
imagePullSecrets=[LocalObjectReference]name initContainers=[Container]name nodeName=string nodeSelector={string} os=PodOS overhead={quantity}
preemptionPolicy=string priority=integer priorityClassName=string readinessGates=[PodReadinessGate] resourceClaims=[PodResourceClaim]name
resources=ResourceRequirements> restartPolicy=string runtimeClassName=string schedulerName=string schedulingGates=[PodSchedulingGate]name
schedulingGroup=PodSchedulingGroup> securityContext=PodSecurityContext serviceAccount=string serviceAccountName=string setHostnameAsFQDN=boolean
shareProcessNamespace=boolean subdomain=string terminationGracePeriodSeconds=integer tolerations=[Toleration]
topologySpreadConstraints=[TopologySpreadConstraint]topologyKey volumes=[Volume]name
""",
    "PodTemplateSpec": """
metadata=ObjectMeta spec=PodSpec
""",
    "PortworxVolumeSource": """
fsType=string readOnly=boolean volumeID=string!
""",
    "PreferredSchedulingTerm": """
preference=NodeSelectorTerm! weight=integer!
""",
    "Probe": """
exec=ExecAction failureThreshold=integer grpc=GRPCAction httpGet=HTTPGetAction initialDelaySeconds=integer periodSeconds=integer
successThreshold=integer tcpSocket=TCPSocketAction terminationGracePeriodSeconds=integer timeoutSeconds=integer
""",
    "ProjectedVolumeSource": """
defaultMode=integer defaultUser=integer> sources=[VolumeProjection]
""",
    "QuobyteVolumeSource": """
group=string readOnly=boolean registry=string! tenant=string user=string volume=string!
""",
    "RBDVolumeSource": """
fsType=string image=string! keyring=string monitors=[string]! pool=string readOnly=boolean secretRef=LocalObjectReference user=string
""",
    "ResourceClaim": """
name=string! request=string>
""",
    "ResourceFieldSelector": """
containerName=string divisor=quantity resource=string!
""",
    "ResourceRequirements": """
claims=[ResourceClaim] limits={quantity} requests={quantity}
""",
    "SELinuxOptions": """
level=string role=string type=string user=string
""",
    "ScaleIOVolumeSource": """
fsType=string gateway=string! protectionDomain=string readOnly=boolean secretRef=LocalObjectReference! sslEnabled=boolean storageMode=string
storagePool=string system=string! volumeName=string
""",
    "SeccompProfile": """
localhostProfile=string type=string!
""",
    "SecretEnvSource": """
name=string optional=boolean
""",
    "SecretKeySelector": """
key=string! name=string optional=boolean
""",
    "SecretProjection": """
items=[KeyToPath] name=string optional=boolean
""",
    "SecretVolumeSource": """
defaultMode=integer defaultUser=integer> items=[KeyToPath] optional=boolean secretName=string
""",
    "SecurityContext": """
allowPrivilegeEscalation=boolean appArmorProfile=AppArmorProfile> capabilities=Capabilities privileged=boolean procMount=string
readOnlyRootFilesystem=boolean runAsGroup=integer runAsNonRoot=boolean runAsUser=integer seLinuxOptions=SELinuxOptions seccompProfile=SeccompProfile
windowsOptions=WindowsSecurityContextOptions
""",
    "ServiceAccountTokenProjection": """
audience=string expirationSeconds=integer path=string! user=integer>
""",
    "SleepAction": """
seconds=integer!
""",
    "StorageOSVolumeSource": """
fsType=string readOnly=boolean secretRef=LocalObjectReference volumeName=string volumeNamespace=string
""",
    "Sysctl": """
name=string! value=string!
""",
    "TCPSocketAction": """
host=string port=int-or-string!
""",
    "Toleration": """
effect=string key=string operator=string tolerationSeconds=integer value=string
""",
    "TopologySpreadConstraint": """
labelSelector=LabelSelector matchLabelKeys=[string] maxSkew=integer! minDomains=integer nodeAffinityPolicy=string nodeTaintsPolicy=string
topologyKey=string! whenUnsatisfiable=string!
""",
    "TypedLocalObjectReference": """
apiGroup=string kind=string! name=string!
""",
    "TypedObjectReference": """
apiGroup=string kind=string! name=string! namespace=string
""",
    "Volume": """
awsElasticBlockStore=AWSElasticBlockStoreVolumeSource azureDisk=AzureDiskVolumeSource azureFile=AzureFileVolumeSource cephfs=CephFSVolumeSource
cinder=CinderVolumeSource configMap=ConfigMapVolumeSource csi=CSIVolumeSource downwardAPI=DownwardAPIVolumeSource emptyDir=EmptyDirVolumeSource
ephemeral=EphemeralVolumeSource fc=FCVolumeSource flexVolume=FlexVolumeSource flocker=FlockerVolumeSource
gcePersistentDisk=GCEPersistentDiskVolumeSource gitRepo=GitRepoVolumeSource glusterfs=GlusterfsVolumeSource hostPath=HostPathVolumeSource
image=ImageVolumeSource> iscsi=ISCSIVolumeSource name=string! nfs=NFSVolumeSource persistentVolumeClaim=PersistentVolumeClaimVolumeSource
photonPersistentDisk=PhotonPersistentDiskVolumeSource portworxVolume=PortworxVolumeSource projected=ProjectedVolumeSource quobyte=QuobyteVolumeSource
rbd=RBDVolumeSource scaleIO=ScaleIOVolumeSource secret=SecretVolumeSource storageos=StorageOSVolumeSource vsphereVolume=VsphereVirtualDiskVolumeSource
""",
    "VolumeDevice": """
devicePath=string! name=string!
""",
    "VolumeMount": """
bindMountOptions=[string]> mountPath=string! mountPropagation=string name=string! readOnly=boolean recursiveReadOnly=string> subPath=string
subPathExpr=string
""",
    "VolumeProjection": """
clusterTrustBundle=ClusterTrustBundleProjection configMap=ConfigMapProjection downwardAPI=DownwardAPIProjection podCertificate=PodCertificateProjection>
secret=SecretProjection serviceAccountToken=ServiceAccountTokenProjection
""",
    "VolumeResourceRequirements": """
limits={quantity} requests={quantity}
""",
    "VsphereVirtualDiskVolumeSource": """
fsType=string storagePolicyID=string storagePolicyName=string volumePath=string!
""",
    "WeightedPodAffinityTerm": """
podAffinityTerm=PodAffinityTerm! weight=integer!
""",
    "WindowsSecurityContextOptions": """
gmsaCredentialSpec=string gmsaCredentialSpecName=string hostProcess=boolean runAsUserName=string
""",
}
