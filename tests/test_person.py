"""A person's programs: three libraries to three others, one call per hop, and what was copied told by our own tool."""

from typing import Any

import numpy as np
import pytest

from buflend.maximal import as_column, as_table
from buflend.maximal.copies import copied

pytestmark = pytest.mark.peers


def told(source: Any, result: Any) -> list[str]:
    return [str(one) for one in copied(source, result)]


def test_a_query_of_duckdb_becomes_a_tensor() -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    torch: Any = pytest.importorskip("torch")
    table = as_table(duckdb.sql("SELECT i::FLOAT AS x, (2 * i)::FLOAT AS y, 'row ' || i AS t FROM range(1000) r(i)"))
    tensor = torch.from_dlpack(table["y"])
    assert tensor.dtype == torch.float32
    assert tensor.tolist() == [2.0 * i for i in range(1000)]
    assert told(table["y"], tensor) == ["data: 4000 bytes, shared"]
    both = torch.from_dlpack(table.select_columns_by_name(["x", "y"]))
    assert both.shape == (1000, 2)
    assert both[999].tolist() == [999.0, 1998.0]
    del table  # the tensors hold what they lie in
    assert tensor[999] == 1998


def test_strings_of_pandas_become_strings_of_polars() -> None:
    pd: Any = pytest.importorskip("pandas")
    pl: Any = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")  # pandas keeps such strings in its memory
    texts = ["short", None, "a text of more than twelve bytes"] * 100
    frame = pd.DataFrame({"s": pd.Series(texts, dtype="str")})
    taken = pl.DataFrame(as_table(frame))
    assert taken["s"].to_list() == texts
    says = {one.part: one for one in copied(frame, taken)}
    assert says["s.characters 0"].shared == says["s.characters 0"].bufsize >= 3200, "the characters are pandas' own"
    assert says["s.data"].shared == 0, "polars makes views of 16 bytes"
    assert says["s.data"].bufsize == 16 * len(texts)
    assert {one.shared for one in copied(frame, as_table(frame))} == {one.bufsize for one in copied(frame, frame)}


def test_a_field_of_a_structured_array_becomes_an_array_of_pyarrow() -> None:
    pa: Any = pytest.importorskip("pyarrow")
    rows = np.zeros(100, [("id", "i8"), ("x", "f4"), ("y", "f8")])
    rows["x"] = np.arange(100)
    column = as_column(rows["x"])
    assert (column.strides, column.data is not None) == ((20,), True)
    assert told(rows["x"], column) == ["data: 1984 bytes, shared"]  # from the first to the end of the last: 99 * 20 + 4
    taken = pa.array(column)
    assert (taken.type, taken.to_pylist()) == (pa.float32(), [float(i) for i in range(100)])
    assert told(rows["x"], taken) == ["data: 400 bytes, copied"], "Arrow has no strides"
    plain = np.arange(100, dtype="f4")
    assert told(plain, pa.array(as_column(plain))) == ["data: 400 bytes, shared"]
    assert told(plain, pa.table(as_table({"x": plain, "y": rows["y"]}))) == [
        "x.data: 400 bytes, shared",
        "y.data: 800 bytes, copied",
    ]
