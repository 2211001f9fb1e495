"""Each protocol out: what it takes to ask an object for it, and to drop the answer, which nobody consumes."""

from .common import Timed, impls


class OutDLPack(Timed):
    """A capsule of DLPack, versioned."""

    version = "1"
    param_names = ("impl",)
    params = (impls("OutDLPack"),)

    def time_export_x1000(self, _impl: str) -> None:
        self.loop(1000)


class OutDLPackLegacy(Timed):
    """A capsule of DLPack of before version 1, as who names no version gets it."""

    version = "1"
    param_names = ("impl",)
    params = (impls("OutDLPackLegacy"),)

    def time_export_x1000(self, _impl: str) -> None:
        self.loop(1000)


class OutArrayInterface(Timed):
    """The dictionary of `__array_interface__`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("OutArrayInterface"),)

    def time_export_x1000(self, _impl: str) -> None:
        self.loop(1000)


class OutBuffer(Timed):
    """A memoryview: the buffer protocol, which objects of Python speak from Python 3.12 on, and ours by a method."""

    version = "1"
    param_names = ("impl",)
    params = (impls("OutBuffer"),)

    def time_export_x1000(self, _impl: str) -> None:
        self.loop(1000)


class OutArray(Timed):
    """An ndarray by `__array__`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("OutArray"),)

    def time_export_x1000(self, _impl: str) -> None:
        self.loop(1000)


class OutArrowArray(Timed):
    """An array of pyarrow by `__arrow_array__`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("OutArrowArray"),)

    def time_export_x100(self, _impl: str) -> None:
        self.loop(100)


class OutArrow(Timed):
    """Two capsules of Arrow: schema and array."""

    version = "1"
    param_names = ("impl",)
    params = (impls("OutArrow"),)

    def time_export_x100(self, _impl: str) -> None:
        self.loop(100)


class OutArrowCall(Timed):
    """Two capsules of Arrow, made without pyarrow, beside one call of a Python function through C."""

    version = "1"
    param_names = ("impl",)
    params = (impls("OutArrowCall"),)

    def time_export_x1000(self, _impl: str) -> None:
        self.loop(1000)


class OutArrowStream(Timed):
    """A capsule of Arrow: a stream."""

    version = "1"
    param_names = ("impl",)
    params = (impls("OutArrowStream"),)

    def time_export_x100(self, _impl: str) -> None:
        self.loop(100)


class OutArrowDevice(Timed):
    """Two capsules of Arrow: schema and array with its device."""

    version = "1"
    param_names = ("impl",)
    params = (impls("OutArrowDevice"),)

    def time_export_x100(self, _impl: str) -> None:
        self.loop(100)


class OutInterchange(Timed):
    """The buffers of a column by the interchange protocol."""

    version = "1"
    param_names = ("impl",)
    params = (impls("OutInterchange"),)

    def time_export_x100(self, _impl: str) -> None:
        self.loop(100)
