"""Which implementation does what with memory of a CUDA device, and how: as in `implementations`.

Lives here: literal tables, for names that begin with `gpu_` memory of the first device. Not run on a GPU.
"""

from .implementations import NOT_LENT, NOT_READ, No

PROBES = {
    "cupy": "cupy.cuda.runtime.getDeviceCount()",
    "torch": "torch.cuda.is_available()",
    "numba_cuda": "numba_cuda.is_available()",
    "views": "cuda_core.Device(0).set_current() or True",
}
"""Name of a module -> whether it sees a device; cuda.core works on the one that was made current."""

MEMORY = {
    "cupy": ("gpu_array", "owner.data.ptr"),
    "torch": ("gpu_tensor", "owner.data_ptr()"),
    "numba_cuda": ("gpu_numba", "owner.device_ctypes_pointer.value"),
}
"""Name of a module -> the thing that is memory of it, and its address: what buffers of ours lie over."""

WAYS_GPU: dict[str, dict[str, str | No]] = {
    "GpuOutDLPack": {
        "minimal": NOT_LENT,
        "maximal": "gpu_buffer.__dlpack__(max_version=(1, 0))",
        "torch": "gpu_tensor.__dlpack__(max_version=(1, 0))",
        "cupy": "gpu_array.__dlpack__(max_version=(1, 0))",
        "callbacks": "gpu_exported(max_version=(1, 0))",
    },
    "GpuOutInterface": {
        "minimal": NOT_LENT,
        "maximal": "gpu_buffer.__cuda_array_interface__",
        "torch": "gpu_tensor.__cuda_array_interface__",
        "cupy": "gpu_array.__cuda_array_interface__",
    },
    "GpuView": {
        "minimal": "minimal.as_cupy(gpu_minimal, gpu_type)",
        "maximal": "maximal.as_cupy(gpu_buffer, gpu_type)",
        "cupy": "gpu_viewed(gpu_lent[1], gpu_lent[0])",
    },
    "GpuInDLPack": {
        "minimal": NOT_READ,
        "maximal": "maximal.as_buffer(gpu_tensor)",
        "cupy": "cupy.from_dlpack(gpu_tensor)",
        "torch": "torch.from_dlpack(gpu_tensor)",
        "cuda.core": "views.StridedMemoryView.from_dlpack(gpu_tensor, stream_ptr=-1)",
    },
    "GpuInInterface": {
        "minimal": NOT_READ,
        "maximal": "maximal.as_buffer(gpu_by_interface)",
        "cupy": "cupy.asarray(gpu_by_interface)",
        "numba": "numba_cuda.as_cuda_array(gpu_by_interface)",
        "cuda.core": "views.StridedMemoryView.from_cuda_array_interface(gpu_by_interface, stream_ptr=-1)",
    },
    "GpuTakeCupy": {
        "minimal": "minimal.as_cupy(gpu_minimal, gpu_type)",
        "maximal": "cupy.from_dlpack(gpu_buffer)",
        "cupy": "cupy.from_dlpack(gpu_array)",
    },
    "GpuTakeTorch": {
        "minimal": "torch.from_dlpack(minimal.as_cupy(gpu_minimal, gpu_type))",
        "maximal": "torch.from_dlpack(gpu_buffer)",
        "cupy": "torch.from_dlpack(gpu_array)",
    },
    "GpuTakeNumba": {
        "minimal": "numba_cuda.as_cuda_array(minimal.as_cupy(gpu_minimal, gpu_type))",
        "maximal": "numba_cuda.as_cuda_array(gpu_buffer)",
        "numba": "numba_cuda.as_cuda_array(gpu_numba)",
    },
    "GpuToHost": {
        "minimal": No("minimal copies nothing"),
        "maximal": "gpu_buffer.to_host()",
        "torch": "gpu_tensor.cpu()",
        "cupy": "gpu_array.get()",
    },
}
"""Topic -> implementation -> the expression that does it, or why it is not done."""
