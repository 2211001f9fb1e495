"""Each consumer by its own call: what it takes to hand it memory of an implementation."""

from .common import Timed, impls


class TakeNumpy(Timed):
    """`numpy.from_dlpack`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("TakeNumpy"),)

    def time_take_x1000(self, _impl: str) -> None:
        self.loop(1000)


class TakeTorch(Timed):
    """`torch.from_dlpack`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("TakeTorch"),)

    def time_take_x1000(self, _impl: str) -> None:
        self.loop(1000)


class TakePyarrow(Timed):
    """`pyarrow.array`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("TakePyarrow"),)

    def time_take_x100(self, _impl: str) -> None:
        self.loop(100)


class TakeColumn(Timed):
    """`pyarrow.array` of a column of int64."""

    version = "1"
    param_names = ("impl",)
    params = (impls("TakeColumn"),)

    def time_take_x1000(self, _impl: str) -> None:
        self.loop(1000)


class TakeSeries(Timed):
    """`polars.Series`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("TakeSeries"),)

    def time_take_x100(self, _impl: str) -> None:
        self.loop(100)


class TakeFrame(Timed):
    """`polars.DataFrame`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("TakeFrame"),)

    def time_take_x100(self, _impl: str) -> None:
        self.loop(100)


class TakeNanoarrow(Timed):
    """`nanoarrow.c_array`, which copies what is no capsule."""

    version = "1"
    param_names = ("impl",)
    params = (impls("TakeNanoarrow"),)

    def time_take_x100(self, _impl: str) -> None:
        self.loop(100)


class TakeArro3(Timed):
    """`arro3.core.Array`."""

    version = "1"
    param_names = ("impl",)
    params = (impls("TakeArro3"),)

    def time_take_x100(self, _impl: str) -> None:
        self.loop(100)


class TakeDuckdb(Timed):
    """A relation of DuckDB, and its values as ndarrays."""

    version = "1"
    param_names = ("impl",)
    params = (impls("TakeDuckdb"),)

    def time_take_x10(self, _impl: str) -> None:
        self.loop(10)
