"""Columns and tables: what it takes to read one that grows, and what is missing in it."""

from .common import Timed, impls


class Columns(Timed):
    """A table of pyarrow of so many columns of integers, 10,000 rows."""

    version = "1"
    param_names = ("impl", "columns")
    params = (impls("Columns"), (1, 10, 100, 1000))

    def time_read_x2(self, _impl: str, _columns: int) -> None:
        self.loop(2)


class Chunks(Timed):
    """A column of 10,000 integers in so many chunks; one chunk is the one column above."""

    version = "1"
    param_names = ("impl", "chunks")
    params = (impls("Chunks"), (100, 10_000))

    def time_read(self, _impl: str, _chunks: int) -> None:
        self.loop(1)


class Rows(Timed):
    """A column of so many integers."""

    version = "1"
    param_names = ("impl", "rows")
    params = (impls("Rows"), (1_000, 1_000_000))

    def time_read_x10(self, _impl: str, _rows: int) -> None:
        self.loop(10)


class Text(Timed):
    """A column of 10,000 words, every seventh missing."""

    version = "1"
    param_names = ("impl", "layout")
    params = (impls("Text"), ("text", "categories"))

    def time_read_x10(self, _impl: str, _layout: str) -> None:
        self.loop(10)


class Nulls(Timed):
    """A column of 10,000 numbers by the interchange protocol, every seventh missing."""

    version = "1"
    param_names = ("impl", "nulls")
    params = (impls("Nulls"), ("bits", "bytes", "nan", "sentinel"))

    def time_read_x10(self, _impl: str, _nulls: str) -> None:
        self.loop(10)
