"""Each protocol in: what it takes to read an object that offers this one alone."""

from .common import Timed, impls


class InPointer(Timed):
    """A pointer, a size and a device, as buffers of the interchange protocol have them."""

    version = "1"
    param_names = ("impl",)
    params = (impls("InPointer"),)

    def time_read_x1000(self, _impl: str) -> None:
        self.loop(1000)


class InBuffer(Timed):
    """The buffer protocol of a bytearray."""

    version = "1"
    param_names = ("impl",)
    params = (impls("InBuffer"),)

    def time_read_x1000(self, _impl: str) -> None:
        self.loop(1000)


class InDLPack(Timed):
    """DLPack."""

    version = "1"
    param_names = ("impl",)
    params = (impls("InDLPack"),)

    def time_read_x1000(self, _impl: str) -> None:
        self.loop(1000)


class InArrayInterface(Timed):
    """`__array_interface__`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("InArrayInterface"),)

    def time_read_x1000(self, _impl: str) -> None:
        self.loop(1000)


class InArrow(Timed):
    """The capsules of an array of Arrow."""

    version = "1"
    param_names = ("impl",)
    params = (impls("InArrow"),)

    def time_read_x100(self, _impl: str) -> None:
        self.loop(100)


class InArrowStream(Timed):
    """A stream of Arrow, read to its end."""

    version = "1"
    param_names = ("impl",)
    params = (impls("InArrowStream"),)

    def time_read_x10(self, _impl: str) -> None:
        self.loop(10)


class InArrowDevice(Timed):
    """The capsules of an array of Arrow with its device."""

    version = "1"
    param_names = ("impl",)
    params = (impls("InArrowDevice"),)

    def time_read_x100(self, _impl: str) -> None:
        self.loop(100)


class InInterchange(Timed):
    """A frame of pyarrow by the interchange protocol."""

    version = "1"
    param_names = ("impl",)
    params = (impls("InInterchange"),)

    def time_read_x10(self, _impl: str) -> None:
        self.loop(10)
