"""What `live_exports` tells of Arrow's exports, and what is kept for it: nothing that is returned."""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from buflend.maximal import Column, as_buffer, as_column, as_memoryview, live_exports
from buflend.shared import CPU, Device, arrow_release, dlpack_export, dlpack_light
from buflend.shared.arrow_export import flush
from buflend.shared.dlpack import Tensor
from buflend.shared.dlpack_method import Method
from buflend.shared.loan import ByteLoan, Export, Loan
from buflend.shared.memory import Anchor


def told(owner: object) -> list[tuple[Any, ...]]:
    return [(e.kind, e.ptr, e.bufsize, e.device, e.exports) for e in live_exports() if e.owner is owner]


@pytest.fixture(autouse=True)
def _nothing_is_parked() -> None:
    flush()


def test_each_struct_that_was_not_released_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # which would make the capsules
    memory = np.arange(3)
    column = as_column(memory)
    assert told(memory) == []
    first = column.__arrow_c_array__()
    assert told(memory) == [("arrow", memory.ctypes.data, 24, CPU, 1)]
    second = column.__arrow_c_array__()
    assert told(memory) == [("arrow", memory.ctypes.data, 24, CPU, 2)]
    del first, second
    flush()
    assert told(memory) == []


def test_what_a_struct_and_its_children_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    mask, memory = np.array([5], "u1"), np.arange(3)
    rows = Column("+s", 3, validity=as_buffer(mask), children=[as_column(memory)])
    pair = rows.__arrow_c_array__()
    assert told(mask) == [("arrow", mask.ctypes.data, 1, CPU, 1)]
    assert told(memory) == [("arrow", memory.ctypes.data, 24, CPU, 1)]
    del pair
    flush()
    assert told(mask) == told(memory) == []


@pytest.mark.parametrize("method", ["__arrow_c_array__", "__arrow_c_device_array__", "__arrow_c_stream__"])
def test_what_nobody_took_is_returned(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    memory = np.arange(3)
    column = as_column(memory)
    for _ in range(20):
        getattr(column, method)()
    flush()
    assert told(memory) == []


@pytest.mark.peers
def test_what_pyarrow_holds() -> None:
    import pyarrow as pa

    memory = np.arange(3)
    array = pa.array(as_column(memory))
    assert told(memory) == [("arrow", memory.ctypes.data, 24, CPU, 1)]
    del array
    assert told(memory) == []


def test_a_loan_that_another_thread_is_making_is_passed_over() -> None:
    begun: list[Any] = [
        Loan.__new__(Loan) for _ in range(3)
    ]  # a loan shows itself to the collector before it has its fields
    owner = begun[1].owner = object()
    assert told(owner) == []
    begun[1].__init__(owner, "dlpack", 64, 8, CPU)
    assert told(owner) == [("dlpack", 64, 8, CPU, 1)]


def test_where_arrow_s_export_is_being_imported_nothing_is_lent_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "buflend.shared.arrow_release", ModuleType("buflend.shared.arrow_release"))
    lent = as_buffer(np.arange(3))
    capsule = lent.__dlpack__()
    assert len([one for one in live_exports() if one.ptr == lent.ptr]) == 1, capsule


def test_where_an_export_through_numpy_is_being_imported_nothing_is_lent_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "buflend.shared.dlpack_export"
    memory = np.arange(3)
    view = as_memoryview(as_buffer(memoryview(memory)))
    for module in (ModuleType(name), None):
        monkeypatch.setitem(sys.modules, name, module)
        assert len([one for one in live_exports() if one.ptr == memory.ctypes.data]) == 1, view


def test_what_is_lent_while_arrow_s_exports_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    class Buffers:
        """Another thread lends while these are looked at."""

        def __iter__(self) -> Iterator[Any]:
            registry[len(registry)] = None, ()
            return iter(())

    registry: dict[int, Any] = {0: (None, Buffers()), 1: (None, Buffers())}  # what arrays hold: pointers and buffers
    monkeypatch.setattr(arrow_release, "_live", registry)
    assert isinstance(live_exports(), list)
    assert len(registry) == 4


def test_what_has_no_owner_yet_is_passed_over() -> None:
    memory = np.arange(3)
    begun = [kind.from_address(memory.ctypes.data) for kind in (ByteLoan, Anchor)]
    begun[0].owner = memory  # and no array yet
    waiting: Any = Method.__new__(Method)  # what keeps a shell for the next export, and has none yet
    assert told(memory) == []
    begun[1].owner = memory
    assert told(memory) == [("view", memory.ctypes.data, -1, CPU, 1)], waiting


def through(exporter: Any, dtype: tuple[int, int, int]) -> Any:
    memory = np.zeros(4, "u8")
    tensor = Tensor(memory.ctypes.data, (4,), (1,), dtype, Device(2, 0) if dtype[0] == 4 else CPU)
    return exporter(memory, tensor)(max_version=(1, 0)), memory


def parts_of(memory: Any, name: str) -> Any:
    lent = as_buffer(memory)
    return getattr(lent, name)(), lent.owner


EXPORTS: dict[str, Any] = {
    "bytes": lambda: parts_of(memoryview(bytearray(24)), "__dlpack__"),
    "a view": lambda: parts_of(memoryview(bytearray(24)), "memoryview"),
    "an array": lambda: parts_of(np.arange(3), "__dlpack__"),
    "numbers": lambda: through(dlpack_export.exporter, (2, 32, 1)),
    "bfloat16 of a device": lambda: through(dlpack_export.exporter, (4, 16, 1)),
    "half bytes": lambda: through(dlpack_export.exporter, (17, 4, 1)),
    "callbacks": lambda: through(dlpack_light.exporter, (2, 32, 1)),
    "Arrow": lambda: parts_of(np.arange(3), "__arrow_c_array__"),
}
MAKING = ("dlpack_export.py", "dlpack_light.py", "dlpack_method.py", "loan.py", "memory.py", "arrow_export.py")


@pytest.mark.parametrize("name", EXPORTS)
def test_another_thread_looks_between_any_two_lines_of_an_export(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    if name in ("bytes", "an array", "Arrow"):
        EXPORTS[name]()  # once before, since the first call looks for the maker
    seen: list[Export] = []
    failed: list[BaseException] = []

    def look(frame: Any, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.endswith(MAKING):
            return None
        if event == "line":
            try:
                seen.extend(live_exports())
            except Exception as error:  # noqa: BLE001 - what is raised here would end the trace
                failed.append(error)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        lent, memory = EXPORTS[name]()
    finally:
        sys.settrace(before)
    assert failed == []
    assert all(one.owner is not None for one in seen)
    assert [one.exports for one in live_exports() if one.owner is memory] == [1], lent
