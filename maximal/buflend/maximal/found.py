"""What a reader of a protocol answers: what it found, nothing, or that the producer refused; and the asking in turn.

Must not know: any protocol.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ..shared.device import Device
from ..shared.errors import EXITS, ProducerError
from ..shared.memory import failed, offers

# Address, bytes, what keeps them, where they lie, whether they may not be written, and the stream in whose order they
# are ready (None: they are). A plain tuple: it is made and taken apart at every `as_buffer`.
Found = tuple[int, int, object, Device, bool, int | None]


class RefusedError(Exception):
    """A producer offers a protocol and would not speak it for this object; the next protocol may be spoken.

    NumPy refuses dates by DLPack, and read-only memory where the struct without a flag is asked for.
    """

    def __init__(self, protocol: str, error: BaseException) -> None:
        super().__init__(protocol, error)
        self.protocol = protocol
        self.error = error


def ask_interface(obj: Any, name: str) -> Any:
    """Return what an object answers when it is asked for an array interface, None where it has none.

    Raises
    ------
    RefusedError
        When the property raises: CuPy's needs a driver. One that raises AttributeError is absent.
    ProducerError
        When it answers None.
    """
    if not offers(obj, name):
        return None
    try:
        found = getattr(obj, name)
    except AttributeError:  # CUDA's of a CPU tensor
        return None
    except EXITS:
        raise
    except BaseException as error:
        raise RefusedError(name, error) from error
    if found is None:
        raise ProducerError(f"{type(obj).__name__}.{name}", got=None, expected="a dict")
    # Of a subclass what it holds is taken, as NumPy does: its methods may answer otherwise at each call.
    return dict(dict.items(found)) if type(found) is not dict and issubclass(type(found), dict) else found


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
