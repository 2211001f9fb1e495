"""What a reader of a protocol answers: the fields of a buffer, nothing, or that the producer refused.

Must not know: any protocol.
"""

from ..shared.device import Device

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
