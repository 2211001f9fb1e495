"""What a reader of a protocol answers: what it found, nothing, or that the producer refused; and the asking in turn.

Must not know: any protocol.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ..shared.device import Device
from ..shared.memory import failed

# Address, bytes, what keeps them, where they lie, and whether they may not be written. A plain tuple: it is made and
# taken apart at every `as_buffer`.
Found = tuple[int, int, object, Device, bool]


class RefusedError(Exception):
    """A producer offers a protocol and would not speak it for this object; the next protocol may be spoken.

    NumPy refuses dates by DLPack, and read-only memory where the struct without a flag is asked for.
    """

    def __init__(self, protocol: str, error: BaseException) -> None:
        super().__init__(protocol, error)
        self.protocol = protocol
        self.error = error


def first_answer(obj: object, readers: Iterable[Callable[..., Any]], **options: Any) -> Any:
    """Return what the first reader finds that finds anything; None where none does.

    Raises
    ------
    ProducerError
        When the object offers a protocol and every one that it offers was refused.
    """
    refusal: RefusedError | None = None
    try:
        for read in readers:
            try:
                found = read(obj, **options)
            except RefusedError as error:
                refusal = refusal or error
                continue
            if found is not None:
                return found
        if refusal is not None:
            raise failed(type(obj).__name__, refusal.protocol, refusal.error) from refusal.error
    finally:
        refusal = None  # its traceback holds this frame: without this, a cycle would keep the object
    return None
