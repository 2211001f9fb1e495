"""The names of device types.

Lives here: DLPack's table, as an enum. Must not know: anything else. Source: `DLDeviceType` in `dlpack.h`, version 1.3.
"""

from enum import IntEnum


class DeviceType(IntEnum):
    """Kinds of device, with the numbers of DLPack's `DLDeviceType` and its names without `kDL`.

    Numbers that no release of DLPack has given out stay plain integers, and are treated as memory that the host cannot
    read.
    """

    CPU = 1
    CUDA = 2
    CUDA_HOST = 3
    OPENCL = 4
    VULKAN = 7
    METAL = 8
    VPI = 9
    ROCM = 10
    ROCM_HOST = 11
    EXT_DEV = 12
    CUDA_MANAGED = 13
    ONEAPI = 14
    WEBGPU = 15
    HEXAGON = 16
    MAIA = 17
    TRN = 18

    CPU_PINNED = 3  # what the interchange protocol calls CUDA_HOST
