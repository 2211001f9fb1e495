"""From end to end: what it takes to get from somebody's object to an array or a table, with nothing made before."""

from .common import Timed, impls


class Handed(Timed):
    """An ndarray, lent and taken back."""

    version = "1"
    param_names = ("impl",)
    params = (impls("Handed"),)

    def time_hand_x1000(self, _impl: str) -> None:
        self.loop(1000)


class HandedTensor(Timed):
    """A tensor of PyTorch as an ndarray of int64."""

    version = "1"
    param_names = ("impl",)
    params = (impls("HandedTensor"),)

    def time_hand_x1000(self, _impl: str) -> None:
        self.loop(1000)


class LargeFrame(Timed):
    """A frame of pandas of 1,000,000 rows, ten columns with nulls."""

    version = "1"
    param_names = ("impl",)
    params = (impls("LargeFrame"),)

    def time_read(self, _impl: str) -> None:
        self.loop(1)


class LargeTable(Timed):
    """A table of pyarrow of 1,000,000 rows, ten columns with nulls."""

    version = "1"
    param_names = ("impl",)
    params = (impls("LargeTable"),)

    def time_read(self, _impl: str) -> None:
        self.loop(1)
