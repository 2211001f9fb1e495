"""What `live_exports` tells of Arrow's exports, and what is kept for it: nothing that is returned."""

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from buflend.maximal import Column, as_buffer, as_column, live_exports
from buflend.shared import CPU
from buflend.shared.arrow_export import flush
from buflend.shared.loan import Loan


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
    begun = [Loan.__new__(Loan) for _ in range(3)]  # a loan shows itself to the collector before it has its fields
    owner = begun[1].owner = object()
    assert told(owner) == []
    begun[1].__init__(owner, "dlpack", 64, 8, CPU)  # type: ignore[misc]
    assert told(owner) == [("dlpack", 64, 8, CPU, 1)]


def test_where_arrow_s_export_is_being_imported_nothing_is_lent_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "buflend.shared.arrow_release", ModuleType("buflend.shared.arrow_release"))
    lent = as_buffer(np.arange(3))
    capsule = lent.__dlpack__()
    assert len([one for one in live_exports() if one.ptr == lent.ptr]) == 1, capsule
