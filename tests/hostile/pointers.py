"""Objects that describe memory by pointer, size and device.

Lives here: the producers, and who reads them.
"""

from buflend import maximal, minimal

from ..guard import UNREADABLE
from .case import UNTOLD, Base, Protocol
from .tree import Block, Extent, Fixed, Method, Thing

CONTENT = bytes(range(1, 25))


def described(content: bytes = CONTENT, **more: object) -> Thing:
    """Return an object whose memory is a block."""
    members = {"ptr": Block(content), "bufsize": Extent(len(content)), "__dlpack_device__": Method((1, 0))}
    return Thing({**members, **more})


READERS = {
    "minimal.as_buffer": (minimal.as_buffer, "buffer"),
    "minimal.as_ndarray": (minimal.as_ndarray, "buffer"),
    "minimal.as_memoryview": (minimal.as_memoryview, "buffer"),
    "maximal.as_buffer": (maximal.as_buffer, "buffer"),
    "maximal.as_ndarray": (maximal.as_ndarray, "buffer"),
    "maximal.as_memoryview": (maximal.as_memoryview, "buffer"),
    "maximal.as_column": (maximal.as_column, "column"),
}
"""Name -> what reads memory. A column is read of what has a type."""

LARGE = {name: (read, "minimal" if name.startswith("minimal") else field) for name, (read, field) in READERS.items()}
"""The same, where the minimal package looks for nothing."""

POINTERS = Protocol(
    {
        "bytes": Base(described(), CONTENT),
        "one byte": Base(described(b"x"), b"x"),
        "nothing": Base(described(b"", ptr=0), b""),
        "writable": Base(described(readonly=False), CONTENT),
        "pinned": Base(described(__dlpack_device__=Method((3, 0))), UNTOLD),
        "on a device": Base(
            described(ptr=Fixed(UNREADABLE), bufsize=Extent(64), __dlpack_device__=Method((2, Fixed(0)))), UNTOLD
        ),
    },
    READERS,
)
