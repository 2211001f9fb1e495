"""Buffers: what it takes to make one, to view one, and to give many back; of few bytes and of many."""

from typing import Any

from .common import Benchmark, Timed, function, impls

MANY = 10_000


class Address(Timed):
    """A buffer over an address, a size and an owner."""

    version = "1"
    param_names = ("impl",)
    params = (impls("Address"),)

    def time_wrap_x1000(self, _impl: str) -> None:
        self.loop(1000)


class Ndarray(Timed):
    """A buffer, or what else a library holds memory in, over an ndarray."""

    version = "1"
    param_names = ("impl",)
    params = (impls("Ndarray"),)

    def time_wrap_x1000(self, _impl: str) -> None:
        self.loop(1000)


class View(Timed):
    """A buffer as an ndarray of int64."""

    version = "1"
    param_names = ("impl",)
    params = (impls("View"),)

    def time_view_x1000(self, _impl: str) -> None:
        self.loop(1000)


class Size(Timed):
    """An exchange of mapped memory of growing size, which nobody reads: it should take the same time."""

    version = "1"
    param_names = ("impl", "nbytes")
    params = (impls("Size"), (1_000, 10_000_000, 10_000_000_000))

    def time_exchange_x1000(self, _impl: str, _nbytes: int) -> None:
        self.loop(1000)


class FreeOrder(Benchmark):
    """The end of many loans: the first that was made first, the last first, or in no order."""

    version = "1"
    param_names = ("impl", "order")
    params = (impls("FreeOrder"), ("first", "last", "mixed"))

    held: list[Any]

    def setup(self, impl: str, order: str) -> None:
        expression, found = self.ready(impl, (order,))
        lend = function(expression, found)
        made = [lend() for _ in range(MANY)]
        # The last of the list is freed first. 7919 and 10,000 have no divisor in common.
        steps = {"first": range(MANY - 1, -1, -1), "last": range(MANY), "mixed": range(0, MANY * 7919, 7919)}
        self.held = [made[step % MANY] for step in steps[order]]

    def time_free_x10000(self, _impl: str, _order: str) -> None:
        held = self.held
        while held:
            held.pop()
