"""Every Arrow type, with values written by hand, in every shape; and what libraries make of them, in one form.

Lives here: the table of types, the arrays that pyarrow makes of it, and the form in which values are compared. Imported
by tests, as `from .every_type import TYPES, plain, shapes`.

What is expected stands here, never what somebody's code answered: `values` in the terms of `Column.tolist`.
"""

import datetime as dt
import decimal
import math
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

try:
    import pyarrow as pa
except ImportError:
    pa = None

LONG = "a text of more than twelve bytes"
TEXT = ["a", None, "", "é☃", LONG]
BYTES = [b"\xff", None, b"", b"ab\0", LONG.encode()]
HALF = [1.5, None, -0.0, 65504.0, math.nan]
FLOAT = [0.5, None, -0.0, math.inf, math.nan]
LISTS = [[1, None], None, [], [3], [4, 5, 6]]
POINTS = [{"x": 1, "y": "a"}, None, {"x": None, "y": None}, {"x": 4, "y": LONG}, {"x": 0, "y": ""}]
NUMBER = decimal.Decimal


def call(name: str, *args: Any, **options: Any) -> Callable[[], Any]:
    """Return a maker of pyarrow's type: there may be no pyarrow."""
    return lambda: getattr(pa, name)(*args, **options)


class Kind(NamedTuple):
    """A type: its Arrow format, what pyarrow calls it, its values, what pyarrow makes them of, and how."""

    format: str
    type: Callable[[], Any]
    values: list[Any]
    given: list[Any] | None = None
    make: Callable[[list[Any], Any], Any] | None = None


def integers(bits: int, *, signed: bool) -> list[Any]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return [low, None, high, 1, high - 1]


def times(
    text: str, type_: Callable[[], Any], make: Callable[[int, str], Any], unit: str, *numbers: int | None
) -> Kind:
    values = [None if number is None else make(number, unit) for number in numbers]
    return Kind(text, type_, values, list(numbers))


def decimals(text: str, type_: Callable[[], Any], largest: str) -> Kind:
    return Kind(text, type_, [None if one is None else NUMBER(one) for one in ("1.25", None, "-0.01", largest, "0.00")])


def sparse(given: list[Any], _: Any) -> Any:
    """Return a union of numbers (5) and texts (3); None is a number that is missing."""
    ids = pa.array([3 if isinstance(one, str) else 5 for one in given], pa.int8())
    numbers = pa.array([None if isinstance(one, str) else one for one in given], pa.int64())
    texts = pa.array([one if isinstance(one, str) else "not this" for one in given], pa.string())
    return pa.UnionArray.from_sparse(ids, [numbers, texts], ["n", "t"], [5, 3])


def dense(given: list[Any], _: Any) -> Any:
    ids = [3 if isinstance(one, str) else 5 for one in given]
    texts = [one for one in given if isinstance(one, str)]
    numbers = [one for one in given if not isinstance(one, str)]
    at = [ids[:i].count(number) for i, number in enumerate(ids)]
    children = [pa.array(numbers, pa.int64()), pa.array(texts, pa.string())]
    return pa.UnionArray.from_dense(pa.array(ids, pa.int8()), pa.array(at, pa.int32()), children, ["n", "t"], [5, 3])


def runs(given: list[Any], _: Any) -> Any:
    starts = [i for i, one in enumerate(given) if not i or one != given[i - 1]]
    ends = [*starts[1:], len(given)] if given else []
    values = pa.array([given[i] for i in starts], pa.string())
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), values)


def coded(dictionary: list[Any]) -> Any:
    """Return a maker of categories, of which one is used by nobody."""

    def make(given: list[Any], type_: Any) -> Any:
        codes = [None if one is None else dictionary.index(one) for one in given]
        values = pa.array(dictionary, type_.value_type)
        return pa.DictionaryArray.from_arrays(pa.array(codes, type_.index_type), values, ordered=type_.ordered)

    return make


def fields(given: list[Any], type_: Any) -> Any:
    """Return structs of whose fields each is missing where the struct is: pyarrow writes codes of no category there."""
    parts = [pa.array([None if one is None else one[field.name] for one in given], field.type) for field in type_]
    return pa.StructArray.from_arrays(
        parts, fields=list(type_), mask=pa.array([one is None for one in given], pa.bool_())
    )


def stored(given: list[Any], type_: Any) -> Any:
    return pa.ExtensionArray.from_storage(type_, pa.array(given, type_.storage_type))


NAMES, CATEGORIES = ["y", "unused", "x"], ["x", None, "y", "x", None]
UUIDS = [bytes(range(16)), None, bytes(16), b"\xff" * 16, None]
ENTRIES = [[("a", 1), ("b", None)], None, [], [("c", 3)], [("d", 4), ("e", 5), (LONG, 6)]]
M8, m8 = np.datetime64, np.timedelta64
SECONDS = (0, None, -1, 1_583_020_800, 5)  # of 1970; 2020-03-01
POINT = {"x": "int32", "y": "string"}


def point() -> Any:
    return pa.struct([("x", pa.int32()), ("y", pa.string())])


TYPES: dict[str, Kind] = {
    "null": Kind("n", call("null"), [None] * 5),
    "bool": Kind("b", call("bool_"), [True, None, False, True, False]),
    "int8": Kind("c", call("int8"), integers(8, signed=True)),
    "int16": Kind("s", call("int16"), integers(16, signed=True)),
    "int32": Kind("i", call("int32"), integers(32, signed=True)),
    "int64": Kind("l", call("int64"), integers(64, signed=True)),
    "uint8": Kind("C", call("uint8"), integers(8, signed=False)),
    "uint16": Kind("S", call("uint16"), integers(16, signed=False)),
    "uint32": Kind("I", call("uint32"), integers(32, signed=False)),
    "uint64": Kind("L", call("uint64"), integers(64, signed=False)),
    "half": Kind("e", call("float16"), HALF),
    "float": Kind("f", call("float32"), FLOAT),
    "double": Kind("g", call("float64"), FLOAT),
    "decimal32": decimals("d:5,2,32", call("decimal32", 5, 2), "999.99"),
    "decimal64": decimals("d:18,2,64", call("decimal64", 18, 2), "9" * 16 + ".99"),
    "decimal128": decimals("d:38,2", call("decimal128", 38, 2), "9" * 36 + ".99"),
    "decimal256": decimals("d:76,2,256", call("decimal256", 76, 2), "9" * 74 + ".99"),
    "date32": times("tdD", call("date32"), M8, "D", 0, None, -1, 18_322, 5),
    "date64": times("tdm", call("date64"), M8, "ms", 0, None, -86_400_000, 86_400_000 * 18_322, 86_400_000),
    "time32[s]": times("tts", call("time32", "s"), m8, "s", 0, None, 1, 86_399, 5),
    "time32[ms]": times("ttm", call("time32", "ms"), m8, "ms", 0, None, 1, 86_399_999, 5),
    "time64[us]": times("ttu", call("time64", "us"), m8, "us", 0, None, 1, 86_399_999_999, 5),
    "time64[ns]": times("ttn", call("time64", "ns"), m8, "ns", 0, None, 1, 86_399_999_999_999, 5),
    **{
        f"timestamp[{unit}]": times(f"ts{unit[0]}:", call("timestamp", unit), M8, unit, *SECONDS)
        for unit in ("s", "ms", "us", "ns")
    },
    **{
        f"timestamp[{unit}, Rome]": times(
            f"ts{unit[0]}:Europe/Rome", call("timestamp", unit, "Europe/Rome"), M8, unit, *SECONDS
        )
        for unit in ("s", "ms", "us", "ns")
    },
    **{
        f"duration[{unit}]": times(f"tD{unit[0]}", call("duration", unit), m8, unit, 0, None, -86_400_000, 86_401, 5)
        for unit in ("s", "ms", "us", "ns")
    },
    "interval": Kind("tin", call("month_day_nano_interval"), [(1, 2, 3), None, (0, 0, 0), (-1, -2, -3), (0, 1, 0)]),
    "string": Kind("u", call("string"), TEXT),
    "large_string": Kind("U", call("large_string"), TEXT),
    "string_view": Kind("vu", call("string_view"), TEXT),
    "binary": Kind("z", call("binary"), BYTES),
    "large_binary": Kind("Z", call("large_binary"), BYTES),
    "binary_view": Kind("vz", call("binary_view"), BYTES),
    "fixed binary": Kind("w:3", call("binary", 3), [b"abc", None, b"\0\0\0", b"\xff\xfe\0", b"xyz"]),
    "list": Kind("+l", lambda: pa.list_(pa.int64()), LISTS),
    "large_list": Kind("+L", lambda: pa.large_list(pa.int16()), LISTS),
    "list_view": Kind("+vl", lambda: pa.list_view(pa.int32()), LISTS),
    "large_list_view": Kind("+vL", lambda: pa.large_list_view(pa.int64()), LISTS),
    "fixed list": Kind("+w:2", lambda: pa.list_(pa.int8(), 2), [[1, 2], None, [3, None], [5, 6], [None, None]]),
    "struct": Kind("+s", point, POINTS),
    "map": Kind("+m", lambda: pa.map_(pa.string(), pa.int32()), ENTRIES),
    "sparse union": Kind("+us:5,3", lambda: sparse([], None).type, [1, None, "a", "b", 2], make=sparse),
    "dense union": Kind("+ud:5,3", lambda: dense([], None).type, [1, None, "a", "b", 2], make=dense),
    "runs": Kind("+r", lambda: pa.run_end_encoded(pa.int32(), pa.string()), ["a", None, None, "b", "b"], make=runs),
    "dictionary": Kind("c", lambda: pa.dictionary(pa.int8(), pa.string()), CATEGORIES, make=coded(NAMES)),
    "ordered": Kind(
        "S",
        lambda: pa.dictionary(pa.uint16(), pa.string(), ordered=True),
        CATEGORIES,
        make=coded(NAMES),
    ),
    "dictionary of numbers": Kind(
        "i",
        lambda: pa.dictionary(pa.int32(), pa.int64()),
        [10, None, 2**60 + 1, 10, None],
        make=coded([2**60 + 1, 10, 11]),
    ),
    "uuid": Kind("w:16", call("uuid"), UUIDS, make=stored),
    "bool8": Kind("c", call("bool8"), [1, None, 0, 1, None], make=stored),
    "list of structs": Kind("+l", lambda: pa.list_(point()), [POINTS[:2], None, [], POINTS[2:], POINTS]),
    "list of views": Kind("+l", lambda: pa.list_(pa.string_view()), [TEXT, None, [], [""], [LONG]]),
    "struct of all": Kind(
        "+s",
        lambda: pa.struct({"l": pa.list_(pa.string()), "b": pa.bool_(), "c": pa.dictionary(pa.int8(), pa.string())}),
        [
            {"l": ["a", None], "b": True, "c": "x"},
            None,
            {"l": None, "b": None, "c": None},
            {"l": [], "b": False, "c": "y"},
            {"l": [LONG], "b": True, "c": "x"},
        ],
        make=fields,
    ),
}
"""Name -> the type."""

SHAPES = ("whole", "sliced", "chunked", "cut", "empty", "missing")
MIDDLE = (11, 29)  # of the 40 elements that are sliced: no multiple of eight


def make(name: str, given: list[Any]) -> Any:
    """Return an array of pyarrow."""
    kind = TYPES[name]
    if kind.make is not None:
        return kind.make(given, kind.type())
    return pa.array(given, kind.type())


def shaped(name: str, shape: str) -> tuple[Any, list[Any]]:
    """Return an array of pyarrow, of several chunks a chunked one, and the values that it must have."""
    kind = TYPES[name]
    given = (kind.values if kind.given is None else kind.given) * 8
    values = kind.values * 8
    if shape == "empty":
        return make(name, []), []
    if shape == "missing":
        return make(name, [None] * 11), [None] * 11
    array = make(name, given)
    start, stop = MIDDLE
    if shape == "whole":
        return array, values
    if shape == "sliced":
        return array[start:stop], values[start:stop]
    chunks = [array[:9], array[20:20], array[13:37]]
    chunked, values = pa.chunked_array(chunks, array.type), values[:9] + values[13:37]
    return (chunked, values) if shape == "chunked" else (chunked[3:22], values[3:22])


EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
NANOSECONDS = {"D": 86_400_000_000_000, "s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}


def plain(value: Any) -> Any:
    """Return a value so that equal ones are equal whichever library says them: times as counts of nanoseconds."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    time = _time(value)
    if time is not None:
        return "time", time
    if isinstance(value, dict):
        return {"struct": [[key, plain(one)] for key, one in value.items()]}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    return _single(value)


def _single(value: Any) -> Any:
    if isinstance(value, float | np.floating):
        return "NaN" if math.isnan(value) else (float(value), math.copysign(1, value))
    if isinstance(value, bool | np.bool_ | np.integer):
        return int(value)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return value.bytes if isinstance(value, uuid.UUID) else value


def _time(value: Any) -> int | None:
    """Return a time or span in nanoseconds, None for anything else."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return int(value.astype("i8")) * NANOSECONDS[np.datetime_data(value)[0]]
    if hasattr(value, "as_unit"):  # pandas: Timestamp, Timedelta
        return int(value.as_unit("ns").value)
    if isinstance(value, dt.datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=dt.UTC)) - EPOCH
    elif isinstance(value, dt.date):
        value -= EPOCH.date()
    elif isinstance(value, dt.time):
        value = dt.datetime.combine(EPOCH, value, dt.UTC) - EPOCH
    return value // dt.timedelta(microseconds=1) * 1000 if isinstance(value, dt.timedelta) else None


def micro(value: Any) -> Any:
    """Return what `plain` gave without what Python's own times cannot hold: all below a microsecond."""
    if isinstance(value, tuple) and value[0] == "time":
        return "time", value[1] // 1000
    if isinstance(value, dict):
        return {key: micro(one) for key, one in value.items()}
    return [micro(one) for one in value] if isinstance(value, list) else value


def loose(value: Any) -> Any:
    """Return what `plain` does, as far as pandas keeps it: numbers may be floats, NaN and what is missing are one."""
    return _loose(plain(value))


def _loose(value: Any) -> Any:
    if value is None or value == "NaN":
        return None
    if isinstance(value, int):
        return float(value), math.copysign(1, value)
    if isinstance(value, dict):
        return {key: _loose(one) for key, one in value.items()}
    return [_loose(one) for one in value] if isinstance(value, list) else value
