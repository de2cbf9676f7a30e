# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patterns of what accelerators and their libraries log: CUDA, ROCm, XPU, Gaudi, TPU, NCCL and UCX. Data only: a part of LOGS in failure_logs.

Memory comes first, since NCCL wraps CUDA's errors, and messages of a driver come before those that follow from them.
"""

from __future__ import annotations

_COUNT = "the server wants more accelerators than the pod has: request as many as its parallel sizes need, or lower them; check CUDA_VISIBLE_DEVICES"
_FAULT = (
    "a kernel of the server, or the accelerator, failed: look for Xid or ECC errors in the node's kernel log, and try another node; where it fails there, too,"
    " use another version of the image, or another attention backend; CUDA_LAUNCH_BLOCKING=1 names the operation"
)
_HELD = "another process holds the accelerator: end it, or look for pods that use it without requesting it; then restart the device plugin of the node"
_KIND = "the image has no code for this accelerator: use an image that is built for it (a newer one for a newer accelerator), or another kind of node"
_OLD = "the node's driver is too old for the image's CUDA: install a newer driver, or use an image of an older CUDA"
_NONE = "request the accelerator in the pod's resources; check device plugin and runtime class (pod.runtimeClassName)"
# The codes of CUDA and of HIP, which has the same: number, words, names, code of the failure, remedy.
# https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html
_CUDA = (
    (
        34,
        r"CUDA driver is a stub library",
        r"cudaErrorStubLibrary|CUDA_ERROR_STUB_LIBRARY",
        "V6",
        "the image's CUDA libraries hold a stub in place of the node's driver: take the stubs folder out of LD_LIBRARY_PATH, and check pod.runtimeClassName",
    ),
    (
        35,
        r"CUDA driver version is insufficient for CUDA runtime version",
        r"cudaErrorInsufficientDriver|CUDA_ERROR_INSUFFICIENT_DRIVER",
        "V6",
        f"{_OLD}, or set VLLM_ENABLE_CUDA_COMPATIBILITY=1",
    ),
    (
        36,
        r"API call is not supported in the installed CUDA driver",
        r"cudaErrorCallRequiresNewerDriver|CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
        "V6",
        _OLD,
    ),
    (46, r"device\(s\) is/are busy or unavailable", r"(?:cuda|hip)ErrorDevicesUnavailable|CUDA_ERROR_DEVICE_UNAVAILABLE", "gpu_held", _HELD),
    (
        100,
        r"no CUDA-capable device is detected",
        r"cudaErrorNoDevice|CUDA_ERROR_NO_DEVICE",
        "V6",
        "CUDA finds no GPU: check that the pod requests one, that device plugin and runtime class give it the node's devices and driver, and that no"
        " libcuda.so of the image hides that driver",
    ),
    (101, r"(?:CUDA|HIP) error: invalid device ordinal", r"(?:cuda|hip)ErrorInvalidDevice\b|CUDA_ERROR_INVALID_DEVICE\b", "V7", _COUNT),
    (
        209,
        r"no kernel image is available for execution|HIP error: invalid device function",
        r"(?:cuda|hip)ErrorNoKernelImageForDevice|(?:cuda|hip)ErrorInvalidDeviceFunction|CUDA_ERROR_NO_BINARY_FOR_GPU|hipErrorNoBinaryForGpu",
        "gpu_kind",
        _KIND,
    ),
    (214, r"uncorrectable (?:NVLink error|ECC error)", r"(?:cuda|hip)ErrorECC\w{0,20}|CUDA_ERROR_ECC_UNCORRECTABLE", "gpu_fault", _FAULT),
    (700, r"an illegal memory access was encountered", r"(?:cuda|hip)ErrorIllegalAddress|CUDA_ERROR_ILLEGAL_ADDRESS", "gpu_fault", _FAULT),
    (715, r"an illegal instruction was encountered", r"(?:cuda|hip)ErrorIllegalInstruction|CUDA_ERROR_ILLEGAL_INSTRUCTION", "gpu_fault", _FAULT),
    (716, r"CUDA error: misaligned address", r"(?:cuda|hip)ErrorMisalignedAddress|CUDA_ERROR_MISALIGNED_ADDRESS", "gpu_fault", _FAULT),
    (719, r"unspecified launch failure", r"(?:cuda|hip)ErrorLaunchFailure|CUDA_ERROR_LAUNCH_FAILED", "gpu_fault", _FAULT),
    (
        801,
        r"CUDA (?:driver )?error: operation not supported",
        r"cudaErrorNotSupported|CUDA_ERROR_NOT_SUPPORTED",
        "V6",
        "this GPU with the node's driver lacks what the image's CUDA asks for: use a newer driver; for a virtual GPU, a type with unified memory",
    ),
    (
        802,
        r"system not yet initialized",
        r"cudaErrorSystemNotReady|CUDA_ERROR_SYSTEM_NOT_READY",
        "V6",
        "the GPUs of the node are not connected yet: run NVIDIA's Fabric Manager there, in the version of the driver, then restart the pod",
    ),
    (
        803,
        r"system has unsupported display driver|[Dd]river/library version mismatch",
        r"cudaErrorSystemDriverMismatch|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|NVMLError_LibRmVersionMismatch",
        "V6",
        "the node's driver and the CUDA libraries of the image do not fit: let the driver's own come first (LD_LIBRARY_PATH=/usr/local/nvidia/lib64), or use an"
        " image for this driver; after an upgrade of the driver, restart the node",
    ),
    (
        804,
        r"forward compatibility was attempted on non supported HW",
        r"cudaErrorCompatNotSupportedOnDevice|CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "V6",
        "the image's CUDA needs a newer driver than the node has, and this GPU takes none of CUDA's compatibility libraries: install a newer driver, or use an"
        " image of an older CUDA",
    ),
    (
        999,
        r"CUDA (?:driver )?error: unknown error|CUDA unknown error",
        r"cudaErrorUnknown|CUDA_ERROR_UNKNOWN",
        "V6",
        "the node's driver is in a bad state, or its nvidia_uvm module is not loaded: look for Xid errors in the node's kernel log, then restart the node",
    ),
)

# pattern in a line of a log, code, remedy
ACCELERATORS = (
    (r"CUDA out of memory occurred when warming up sampler", "F18", "lower max_num_seqs or gpu_memory_utilization"),
    (
        (
            r"(?:CUDA|HIP|XPU|HPU|NPU) out of memory|(?:CUDA|HIP) (?:driver )?error: out of memory|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY",
            r"hipErrorOutOfMemory|torch(?:\.cuda)?\.OutOfMemoryError|_RESULT_ERROR_OUT_OF_(?:DEVICE|HOST)_MEMORY|PT_DEVMEM Allocation failed",
            r"RESOURCE_EXHAUSTED ... [Oo]ut of memory ... (?:hbm|vmem|smem)",
            r"(?i:cuda) (?i:driver |runtime )?(?i:error|failure)(?i: code)?[ :=(]{0,3}(?:2\b(?!\.)|'out of memory')",
        ),
        "F18",
        "lower max_model_len or the memory utilisation, or use more GPUs per replica",
    ),
    (
        r"provided PTX was compiled with an unsupported toolchain|NVIDIA driver on your system is too old",
        "V6",
        "install a newer driver, use an older image, or set VLLM_ENABLE_CUDA_COMPATIBILITY=1",
    ),
    *(
        ((words, names, rf"(?i:cuda|hip) ... (?i:error|code|failure|returned|status)[ :=(]{{0,3}}{number}\b", rf"\({number} vs\. 0\)"), code, remedy)
        for number, words, names, code, remedy in _CUDA
    ),
    (r"Memory access fault by GPU|_RESULT_ERROR_DEVICE_LOST|HSA_STATUS_ERROR_(?:EXCEPTION|MEMORY_APERTURE_VIOLATION)", "gpu_fault", _FAULT),
    ((r"TPU initialization failed: ... Device or resource busy", r"TPU is already in use by"), "gpu_held", _HELD),
    (
        (
            r"Failed to infer device type|Device string must not be empty|No (?:CUDA|HIP) GPUs are available|No (?:XPU|HPU|NPU) devices? (?:are|is) available",
            r"Found no NVIDIA driver on your system|libcuda\.so\S{0,10}: cannot open shared object|no ROCm-capable device is detected|NVML: Driver Not Loaded",
            r"NVMLError_(?:DriverNotLoaded|LibraryNotFound)",
            r"TPU initialization failed: ... No \S{1,40} device found",
        ),
        "V7",
        _NONE,
    ),
    (r"Device acquire failed", "V7", f"{_NONE}; where it has one, another process may hold it"),
    (r"Watchdog caught collective operation timeout", "V3", "a rank is stuck or gone: look for the first error of the other ranks, and at the network between"),
    (
        (r"Bus error|insufficient shared memory", r"/dev/shm ... No space left on device", r"No space left on device ... /dev/shm"),
        "V4",
        "/dev/shm is full: enlarge it, and the pod's memory limit, which it counts in",
    ),
    (
        r"NCCL error|peer access is not supported|ncclSystemError",
        "V5",
        "enlarge /dev/shm, allow IPC_LOCK, set NCCL_SOCKET_IFNAME and NCCL_DEBUG=INFO; NCCL_CUMEM_HOST_ENABLE=0 for peer access",
    ),
    (
        r"Transport retry count exceeded|no active messages transport|UCX {1,4}ERROR",
        "kv_transfer",
        "UCX does not reach the other server: give both their RDMA devices and IPC_LOCK, or set UCX_TLS=tcp; check NetworkPolicies between prefill and decode",
    ),
)
