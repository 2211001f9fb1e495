"""Memory of a CUDA device: the host's time for what starts no work there, and copies, which wait."""

from .common import TimedOnGpu, impls


class GpuOutDLPack(TimedOnGpu):
    """A capsule of DLPack."""

    version = "1"
    param_names = ("impl",)
    params = (impls("GpuOutDLPack"),)

    def time_export_x1000(self, _impl: str) -> None:
        self.loop(1000)


class GpuOutInterface(TimedOnGpu):
    """The dictionary of `__cuda_array_interface__`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("GpuOutInterface"),)

    def time_export_x1000(self, _impl: str) -> None:
        self.loop(1000)


class GpuView(TimedOnGpu):
    """An array of CuPy over an address."""

    version = "1"
    param_names = ("impl",)
    params = (impls("GpuView"),)

    def time_view_x1000(self, _impl: str) -> None:
        self.loop(1000)


class GpuInDLPack(TimedOnGpu):
    """A tensor of PyTorch by DLPack."""

    version = "1"
    param_names = ("impl",)
    params = (impls("GpuInDLPack"),)

    def time_read_x1000(self, _impl: str) -> None:
        self.loop(1000)


class GpuInInterface(TimedOnGpu):
    """The CUDA array interface of an object that offers this one alone."""

    version = "1"
    param_names = ("impl",)
    params = (impls("GpuInInterface"),)

    def time_read_x1000(self, _impl: str) -> None:
        self.loop(1000)


class GpuTakeCupy(TimedOnGpu):
    """CuPy, `from_dlpack`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("GpuTakeCupy"),)

    def time_take_x1000(self, _impl: str) -> None:
        self.loop(1000)


class GpuTakeTorch(TimedOnGpu):
    """PyTorch, `from_dlpack`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("GpuTakeTorch"),)

    def time_take_x1000(self, _impl: str) -> None:
        self.loop(1000)


class GpuTakeNumba(TimedOnGpu):
    """numba-cuda, `as_cuda_array`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("GpuTakeNumba"),)

    def time_take_x1000(self, _impl: str) -> None:
        self.loop(1000)


class GpuToHost(TimedOnGpu):
    """A copy of 4096 bytes to the host, which is waited for."""

    version = "1"
    param_names = ("impl",)
    params = (impls("GpuToHost"),)

    def time_copy_x100(self, _impl: str) -> None:
        self.loop(100)
