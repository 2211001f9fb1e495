"""The floors of the bars: for each path that is timed, the shortest code with the same effect.

Lives here: the literal table. A floor is code, not a figure: what any Python code has to call, with all done before
that the path looks up, checks and decides. It makes the same array, capsule or table over the same memory; the owner
holds it, and `live_exports` tells of it. A test looks. Must not know: how anything is timed.

A floor is no library: it asks nothing about the device, the bounds, the type, the version of anything, and breaks where
one of them is another. How far a path is from its floor is what those questions, and the calls between them, cost.
"""

import ast
from typing import Any, NamedTuple


class Floor(NamedTuple):
    """The least that a path can cost.

    Attributes
    ----------
    setup : str
        Code that runs once, in the names that the path has, and adds those of the statement.
    statement : str
        The code; its last line is what the path gives.
    calls : tuple of str
        What of it cannot be avoided, and why.
    """

    setup: str
    statement: str
    calls: tuple[str, ...]


VIEW = Floor(
    """
from buflend.shared.memory import anchor_at
address, size, kept, int64, frombuffer = buffer.ptr, buffer.bufsize, buffer.owner, np.dtype("int64"), np.frombuffer
""",
    """
anchor = anchor_at(address)
anchor.owner = kept
frombuffer(memoryview(anchor)[:size], int64)
""",
    (
        "`from_address`: an object of C at the address, which NumPy takes as a buffer",
        "storing the owner in it",
        "`memoryview` and a slice: the exact bounds, which the array shows as its base",
        "`numpy.frombuffer`: the array",
    ),
)

# What consumers ask, and no more: as C finds it, without Python code.
BARE = """
from buflend.shared.dlpack_export import Shell

class Bare:
    __slots__ = ("__dlpack__", "bufsize", "device", "owner", "ptr", "readonly", "stream")
    __dlpack_device__ = array.__dlpack_device__

new, u1, cpu, from_dlpack = object.__new__, np.dtype("u1"), (1, 0), np.from_dlpack
"""

LENT = BARE + "bare = new(Bare)\nbare.__dlpack__ = buffer.__dlpack__\n"

LEND = Floor(
    BARE,
    """
flags = array.flags
array.base, array.dtype.kind, flags.c_contiguous
buffer = new(Bare)
buffer.bufsize = array.nbytes
buffer.owner = array
buffer.device = cpu
buffer.readonly = not flags.writeable
buffer.__dlpack__ = array.view(u1, Shell).__dlpack__
from_dlpack(buffer)
""",
    (
        "six attributes of the ndarray: whose memory it is, of what type, in which order, how much, writable or not",
        "`object.__new__` and five slots: the buffer",
        "`ndarray.view`: bytes; of a class of its own, so that `live_exports` finds it",
        "binding NumPy's `__dlpack__` to it",
        "`numpy.from_dlpack`",
    ),
)

TAKE = Floor(LENT, "from_dlpack(bare)", ("`numpy.from_dlpack`, which calls NumPy's own `__dlpack__`",))

TAKE_TORCH = Floor(
    LENT + "take = torch.from_dlpack\n",
    "take(bare)",
    ("`torch.from_dlpack`, which calls NumPy's own `__dlpack_device__` and `__dlpack__`",),
)

TENSOR = Floor(
    BARE
    + """
from buflend.shared.memory import anchor_at
int64, frombuffer = np.dtype("int64"), np.frombuffer
""",
    """
tensor.is_neg(), tensor.is_conj(), tensor.requires_grad, tensor.is_cpu, tensor.is_contiguous()
buffer = new(Bare)
buffer.ptr = address = tensor.data_ptr()
buffer.bufsize = size = tensor.nbytes
buffer.owner = tensor
buffer.device = cpu
buffer.readonly = False
anchor = anchor_at(address)
anchor.owner = tensor
frombuffer(memoryview(anchor)[:size], int64)
""",
    (
        "five questions to the tensor: are its values those in memory, is it recorded, on the host, dense",
        "its pointer and its size",
        "`object.__new__` and five slots: the buffer",
        "what `as_ndarray` needs: an object at the address, its owner, the bounds, the array",
    ),
)

# NumPy's capsule, of which two words are another device and type.
POKED = (
    """
from buflend.shared.cpython import capsule_pointer
from buflend.shared.dlpack import VERSIONED
shell = EXPORT.__self__.shell
first = EXPORT(max_version=(1, 0))
was = capsule_pointer(first, VERSIONED)
word64, word32 = ctypes.c_uint64.from_address, ctypes.c_uint32.from_address
export, device, kind = shell.__dlpack__, word64(was + 40).value, word32(was + 52).value
""",
    """
capsule = export(max_version=(1, 0))
at = capsule_pointer(capsule, VERSIONED)
word64(at + 40).value = device
word32(at + 52).value = kind
capsule
""",
    (
        "NumPy's `__dlpack__`: the struct, its deleter and the capsule, all compiled",
        "`PyCapsule_GetPointer`: where the struct is",
        "two stores: device and type",
    ),
)

# The same of which all fields are others: version, flags to type, extent and step.
PATCHED = (
    POKED[0]
    + """
head = ctypes.string_at(was + 24, 32)
version, extent, step = (word64(place).value for place in (was, word64(was + 56).value, word64(was + 64).value))
memmove = ctypes.memmove
""",
    """
capsule = export(max_version=(1, 0))
at = capsule_pointer(capsule, VERSIONED)
word64(at).value = version
memmove(at + 24, head, 32)
word64(word64(at + 56).value).value = extent
word64(word64(at + 64).value).value = step
capsule
""",
    (
        *POKED[2][:2],
        "stores: version; flags, address, device, dimensions and type, which lie side by side; extent; step",
    ),
)

ARROW = Floor(
    """
from buflend.shared.loan import Lent, Taken
class Bare:
    def __arrow_array__(self, type=None):
        return of_buffers(kind, count, [None, lend(address, size, take(Taken, lent))], 0, 0)
of_buffers, lend, take, kind = pa.Array.from_buffers, pa.foreign_buffer, tuple.__new__, pa.int64()
data = column.get_buffers()["data"][0]
address, size, count = data.ptr, data.bufsize, len(array)
lent, bare = Lent(data.owner, "arrow", address, size, data.device), Bare()
""",
    "pa.array(bare)",
    (
        "`pyarrow.array`, which calls `__arrow_array__`, a function of Python",
        "the record of the loan, which `live_exports` finds",
        "`pyarrow.foreign_buffer`, which holds it",
        "`pyarrow.Array.from_buffers`: the array",
    ),
)

# pyarrow is not loaded there. What is held of an export before is used again, as the path does.
CAPSULES = Floor(
    """
from sys import getrefcount
from buflend.shared import arrow_export
from buflend.shared.arrow_release import _forget, _live, arrays, next_number, schemas
for _ in range(4):
    column.__arrow_c_array__()
(schema_words, schema_kept), (array_words, array_kept) = [
    (parked[-1][1][:], _live[parked[-1][2]]) for parked in (schemas, arrays)
]
""",
    """
schema = schemas.popleft()
capsule, block, number = schema
getrefcount(capsule), block[7], block[8]
_forget(number, None)
block[:] = schema_words
schema[2] = block[8] = number = next_number()
_live[number] = schema_kept
schemas.append(schema)
array = arrays.popleft()
other, block, number = array
getrefcount(other), block[8], block[9]
_forget(number, None)
block[:] = array_words
array[2] = block[9] = number = next_number()
_live[number] = array_kept
arrays.append(array)
capsule, other
""",
    (
        "of each of two capsules: taking a parked one, and looking whether nobody holds it and whether it was consumed",
        "ending the loan that it still has",
        "copying the words of the struct",
        "a new number, and what it keeps alive under that number",
        "parking it",
    ),
)

PANDAS = Floor(
    "",
    "[(name, series.dtype, series.array) for name, series in source.items()]",
    ("of each of ten columns: pandas' Series, its type and its array",),
)

STREAM = Floor(
    """
from ctypes import CFUNCTYPE, addressof, c_int, c_uint64, c_void_p, string_at
from buflend.shared.arrow_c import ArrowArray, ArrowArrayStream, ArrowSchema
from buflend.shared.arrow_owner import ArrowOwner
from buflend.shared.cpython import capsule_pointer

fills, releases = CFUNCTYPE(c_int, c_void_p, c_void_p), CFUNCTYPE(None, c_void_p)

def drained(source):
    capsule = source.__arrow_c_stream__()
    stream = capsule_pointer(capsule, b"arrow_array_stream")
    functions = ArrowArrayStream.from_address(stream)
    schema, array, end = ArrowSchema(), ArrowArray(), ArrowArray()
    fills(functions.get_schema)(stream, addressof(schema))
    fills(functions.get_next)(stream, addressof(array))
    fills(functions.get_next)(stream, addressof(end))
    count = array.n_children
    parts = (c_void_p * count).from_address(schema.children)
    types = [[string_at(text) for text in (c_void_p * 2).from_address(part)] for part in parts]
    columns = [ArrowOwner(part) for part in (c_void_p * count).from_address(array.children)]
    releases(schema.release)(addressof(schema))
    releases(functions.release)(stream)
    return types, columns, ArrowOwner(addressof(array))
""",
    "drained(source)",
    (
        "pyarrow's stream, and its three answers: types, a chunk, the end",
        "two texts of each of ten types",
        "moving each of ten columns to an owner of its own, which releases it alone",
        "releasing types and stream",
    ),
)

FLOORS: dict[str, Floor] = {
    "import buflend.minimal": Floor(
        "", "import ctypes", ("`import ctypes`: nothing else in Python makes an object at an address",)
    ),
    'as_ndarray(buffer, "int64")': VIEW,
    "as_buffer, from_dlpack": LEND,
    "numpy.from_dlpack(buffer)": TAKE,
    "torch.from_dlpack(buffer)": TAKE_TORCH,
    "as_buffer, as_ndarray": TENSOR,
    **{
        f"DLPack of {work}": Floor(setup.replace("EXPORT", f"{name}_export"), statement, calls)
        for work, name, (setup, statement, calls) in (
            ("CUDA memory", "cuda", POKED),
            ("bfloat16", "bfloat16", POKED),
            ("packed 4 bits", "fp4", PATCHED),
        )
    },
    "pyarrow.array(column)": ARROW,
    "capsules of a column": CAPSULES,
    "as_table(pandas)": PANDAS,
    "as_table(pyarrow)": STREAM,
}
"""What is timed (`Bar.work`) -> its floor."""

WITHOUT = {
    "numpy.from_dlpack of mmap": "against itself at other sizes: no less than 1 is possible",
    "as_ndarray of mmap": "against itself at other sizes: no less than 1 is possible",
    "pyarrow.array of mmap": "against itself at other sizes: no less than 1 is possible",
    "bytes per Buffer": "no time",
}
"""What has no floor, and why."""


def names(floor: Floor, given: dict[str, Any]) -> dict[str, Any]:
    """Return the names that a floor's statement needs: what was given, and those that its setup adds."""
    found = dict(given)
    exec(floor.setup, found)  # noqa: S102 - code of the table
    return found


def result(floor: Floor, found: dict[str, Any]) -> Any:
    """Run a floor once, in its names, and return what its last line gives."""
    *before, last = ast.parse(floor.statement.strip()).body
    exec(compile(ast.Module(before, []), "floor", "exec"), found)  # noqa: S102 - code of the table
    assert isinstance(last, ast.Expr)  # noqa: S101 - so are all of the table
    return eval(compile(ast.Expression(last.value), "floor", "eval"), found)  # noqa: S307 - code of the table
