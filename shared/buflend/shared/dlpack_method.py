"""The four keywords of `__dlpack__`: what a consumer may ask of an export, and what is answered.

Lives here: stream, max_version, dl_device and copy. Must not know: how a capsule is made. Source: Python array API
standard 2025.12, `array.__dlpack__`; `dlpack.h` 1.3.
"""

from operator import index
from struct import calcsize

from .access import CUDA, known_device
from .device import CPU, HOST_READABLE, Device, device_name, to_device
from .dlpack import LEGACY, VERSIONED, Tensor
from .errors import ProducerError
from .loan import Keeper


class Method(Keeper):
    """The `__dlpack__` of a tensor; a way to export says how a capsule is made.

    `fresh` marks memory of the host that was copied for this one export.
    """

    def __init__(self, owner: object, tensor: Tensor, *, fresh: bool = False) -> None:
        self.owner = owner
        self.tensor = tensor
        self.fresh = fresh

    def make(self, name: bytes, device: Device, *, copied: bool) -> object:
        """Return a capsule of a name that says where the memory lies; with `copied`, over a copy on the host."""
        raise NotImplementedError

    def make_copy(self, name: bytes, copy: bytearray) -> object:
        """Return a capsule over a copy of the bytes that was made on the host: a bytearray."""
        raise NotImplementedError

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Return a capsule; see the Python array API standard, `array.__dlpack__`."""
        versioned = max_version is not None and _major(max_version) >= 1
        tensor = self.tensor
        if tensor.device[1] < 0:
            device = known_device(tensor.device, tensor.ptr, tensor.nbytes)
            self.tensor = tensor = tensor._replace(device=device)
        device = tensor.device if dl_device is None else _wanted(dl_device)
        check_stream(device, stream)
        if device != tensor.device and (device != CPU or tensor.device[0] not in HOST_READABLE):
            return self._moved(device, copy=copy, versioned=versioned)
        if copy and device != CPU:
            raise BufferError(f"copy=True: a copy on {device_name(device)} is not made here; pass dl_device=(1, 0)")
        if self.tensor.readonly and not versioned and not copy:
            raise BufferError("the memory is read-only, which DLPack before 1.0 cannot say: pass max_version=(1, 0)")
        if tensor.stream is not None:
            order_for(tensor, device, stream)
        copied = bool(copy) and not self.fresh
        return self.make(VERSIONED if versioned else LEGACY, device, copied=copied)

    def _moved(self, device: Device, *, copy: bool | None, versioned: bool) -> object:
        if device != CPU or copy is False:
            raise BufferError(
                f"the memory lies on {device_name(self.tensor.device)} and cannot be exported to {device_name(device)}"
                + (" without a copy" if device == CPU else "")
            )
        from .cuda import to_host

        return self.make_copy(VERSIONED if versioned else LEGACY, to_host(self.owner, self.tensor))


_OF_THE_HOST = (1, 3)  # CPU, CUDA_HOST: who takes memory as theirs has no stream, and reads it at once


def order_for(tensor: Tensor, device: Device, stream: object) -> None:
    """Make a consumer's stream, or the host, wait for the stream in whose order a tensor is ready."""
    before, host = tensor.stream, device[0] in _OF_THE_HOST
    if before is None or (stream == -1 and not host):
        return
    kind, ordinal = tensor.device
    after = before if stream is None else int(stream)  # type: ignore[call-overload]
    if after == before and not host:
        return
    if kind not in CUDA:
        raise BufferError(
            f"stream: got {stream!r}, expected None: memory of {device_name(tensor.device)} is ready in the order of "
            "its default stream, behind which nothing else is put here"
        )
    from .cuda import in_use, order, synchronize

    if not in_use():
        return
    if host:
        synchronize(before, ordinal)
    else:
        order(before, after, ordinal)


def _major(max_version: object) -> int:
    try:
        return index(max_version[0])  # type: ignore[index]
    except (TypeError, LookupError):
        raise TypeError(f"max_version: got {max_version!r}, expected a pair (major, minor) of integers") from None


def _wanted(dl_device: object) -> Device:
    try:
        return to_device(dl_device, "dl_device")
    except ProducerError as error:
        raise TypeError(f"dl_device: got {dl_device!r}, expected {error.expected}") from None


HANDLES = 1 << 8 * calcsize("P")  # a handle is a pointer


def check_stream(device: Device, stream: object) -> None:
    """Raise where a stream is one that the standard forbids for the device (`array.__dlpack__`, parameter `stream`)."""
    if stream is None:
        return
    if isinstance(stream, int) and stream < HANDLES:
        if stream == -1 or (device[0] in (2, 13) and stream > 0):
            return
        if device[0] == 10 and stream >= 0 and stream not in (1, 2):
            return
    raise ValueError(
        f"stream: got {stream!r}, expected None or -1"
        + {2: ", 1, 2 or a handle", 13: ", 1, 2 or a handle", 10: ", 0 or a handle"}.get(int(device[0]), "")
        + f" for {device_name(device)}"
    )
