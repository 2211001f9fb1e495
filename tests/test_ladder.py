"""The order in which `as_buffer` asks an object that offers several protocols, and what it asks no more."""

import ctypes
import itertools
import shutil
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import buflend.minimal
import buflend.shared
from buflend.maximal import Buffer, Native, as_buffer, as_ndarray
from buflend.shared import STATIC, CopyRequiredError, DeviceError, ProducerError
from tests.capsules import lend, refusal

# What is asked, in order (the docstring of `as_buffer`).
ORDER = ("dlpack", "cuda", "interface", "exporter", "description")
NOWHERE = 0x7F0000000000
SUBSETS = [frozenset(chosen) for count in range(len(ORDER) + 1) for chosen in itertools.combinations(ORDER, count)]


class Spoken:
    """Members of a class for each protocol; each lends a block of its own, so that the address tells which is taken."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.blocks = {name: (ctypes.c_ubyte * 64)() for name in ORDER}
        self.capsule, self.lent = lend()

    def address(self, protocol: str) -> int:
        """Return where the block of a protocol lies."""
        return self.lent.ptr if protocol == "dlpack" else ctypes.addressof(self.blocks[protocol])

    def members(self, protocol: str, error: BaseException | None) -> dict[str, Any]:
        """Return the members by which a class speaks a protocol, or fails to."""

        def answer(value: Any) -> Any:
            def get(_: object, **options: Any) -> Any:
                del options
                self.asked.append(protocol)
                if error is not None:
                    raise error
                return value

            return get

        interface = {"shape": (64,), "typestr": "|u1", "data": (self.address(protocol), False), "version": 3}
        where: dict[str, Any] = {"__dlpack_device__": lambda _: (1, 0)}
        return {
            "dlpack": {"__dlpack__": answer(self.capsule), **where},
            "cuda": {"__cuda_array_interface__": property(answer(interface))},
            "interface": {"__array_interface__": property(answer(interface))},
            "exporter": {},
            "description": {"ptr": property(answer(self.address(protocol))), "bufsize": 64, **where},
        }[protocol]

    def make(self, protocols: frozenset[str], **errors: BaseException) -> Any:
        """Return an object that speaks these protocols; the keyword of a protocol is what it raises instead."""
        base: Any = bytearray if "exporter" in protocols else object
        members: dict[str, Any] = {}
        for protocol in ORDER:
            if protocol in protocols:
                members |= self.members(protocol, errors.get(protocol))
        made = type("Several", (base,), members)()
        if base is bytearray:
            made.extend(bytes(64))
            self.blocks["exporter"] = (ctypes.c_ubyte * 64).from_buffer(made)
        return made


class TestOrder:
    @pytest.mark.parametrize("protocols", SUBSETS, ids=lambda chosen: "+".join(p for p in ORDER if p in chosen) or "-")
    def test_the_first_that_is_offered_is_taken_and_no_other_asked(self, protocols: frozenset[str]) -> None:
        spoken = Spoken()
        obj = spoken.make(protocols)
        if not protocols:
            text = refusal(TypeError, obj)
            names = ("__dlpack__", "__cuda_array_interface__", "__array_interface__", "buffer protocol", "ptr")
            assert [name for name in names if name not in text] == []
            return
        first = next(protocol for protocol in ORDER if protocol in protocols)
        buffer = as_buffer(obj)
        assert buffer.ptr == spoken.address(first)
        assert buffer.bufsize == 64
        assert set(spoken.asked) <= {first}
        assert buffer.device == ((2, -1) if first == "cuda" else (1, 0))

    @pytest.mark.parametrize("other", ORDER[1:])
    def test_after_a_refusal_by_dlpack_the_next_is_asked(self, other: str) -> None:
        spoken = Spoken()
        obj = spoken.make(frozenset(("dlpack", other)), dlpack=BufferError("not this one"))
        assert as_buffer(obj).ptr == spoken.address(other)
        assert spoken.asked[0] == "dlpack"

    def test_a_property_that_is_absent_for_this_object_is_passed_over(self) -> None:
        spoken = Spoken()
        obj = spoken.make(
            frozenset(("cuda", "interface", "description")),
            cuda=AttributeError("on the CPU"),
            interface=AttributeError("no"),
        )
        assert as_buffer(obj).ptr == spoken.address("description")
        assert list(dict.fromkeys(spoken.asked)) == ["cuda", "interface", "description"]

    def test_a_lie_is_not_passed_over(self) -> None:
        """What cannot be true is an error, although the next protocol would answer."""

        class Lies(bytearray):
            __array_interface__ = {"shape": (-1,), "typestr": "|u1", "data": (1, False)}  # noqa: RUF012

        refusal(ProducerError, Lies(8))

    def test_strided_memory_is_not_passed_over(self) -> None:
        class Strided(bytearray):
            __array_interface__ = {"shape": (4,), "strides": (2,), "typestr": "|u1", "data": (1 << 20, False)}  # noqa: RUF012

        refusal(CopyRequiredError, Strided(8))

    @pytest.mark.parametrize(
        "members", [{"__dlpack__": None, "__dlpack_device__": lambda _: (1, 0)}, {"__dlpack__": 1}]
    )
    def test_half_a_protocol_is_passed_over(self, members: dict[str, Any]) -> None:
        obj = type("Half", (bytearray,), members)(b"whole")
        assert as_ndarray(obj).tobytes() == b"whole"

    def test_what_stands_on_the_instance_is_found(self) -> None:
        class Bare:
            pass

        memory, obj = bytearray(8), Bare()
        obj.__array_interface__ = {"shape": (8,), "typestr": "|u1", "data": memory}  # type: ignore[attr-defined]
        assert as_buffer(obj).bufsize == 8


class TestWhatOffersNothing:
    @pytest.mark.parametrize("obj", [None, 1, 1.5, "text", [1], {}, object, bytes, Buffer, len], ids=repr)
    def test_objects_without_memory(self, obj: object) -> None:
        assert f"{type(obj).__module__}.{type(obj).__qualname__}" in refusal(TypeError, obj)

    @pytest.mark.parametrize("protocol", [p for p in ORDER if p != "exporter"])
    def test_a_class_is_no_instance(self, protocol: str) -> None:
        spoken = Spoken()
        refusal(TypeError, type(spoken.make(frozenset((protocol,)))))
        assert not spoken.asked

    def test_a_weak_proxy_keeps_nothing(self) -> None:
        spoken = Spoken()
        obj = spoken.make(frozenset(("interface",)))
        refusal(TypeError, weakref.proxy(obj))
        buffer = Buffer(NOWHERE, 8, owner=STATIC)
        refusal(TypeError, weakref.proxy(buffer))


class TestBuffers:
    def test_a_buffer_is_itself(self) -> None:
        class Own(Buffer):
            __slots__ = ()

        for kind in (Buffer, Own):
            buffer = kind(NOWHERE, 8, owner=STATIC, device=(2, 1), readonly=True)
            assert as_buffer(buffer) is buffer

    @pytest.mark.parametrize("readonly", [True, False])
    @pytest.mark.parametrize("device", [(1, 0), (2, 1)])
    def test_of_minimal_the_owner_is_taken_and_not_the_buffer(self, readonly: bool, device: tuple[int, int]) -> None:
        owner = np.arange(4, dtype="u1")
        minimal = buflend.minimal.Buffer(owner.ctypes.data, 4, owner=owner, device=device, readonly=readonly)
        died = weakref.ref(minimal)
        buffer = as_buffer(minimal)
        assert type(buffer) is Buffer
        assert (buffer.ptr, buffer.bufsize, buffer.device, buffer.readonly) == (owner.ctypes.data, 4, device, readonly)
        assert buffer.owner is owner
        assert buffer.native is Native.NUMPY
        del minimal
        assert died() is None

    def test_a_vendored_copys_buffer_is_read_by_its_description(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        vendor = tmp_path / "ladder_lightlib" / "vendor"
        for part in (buflend.shared, buflend.minimal):
            source = Path(str(part.__file__)).parent
            shutil.copytree(source, vendor / source.name, ignore=shutil.ignore_patterns("__pycache__"))
        monkeypatch.syspath_prepend(str(tmp_path))
        from ladder_lightlib.vendor import minimal as vendored  # type: ignore[import-not-found]

        try:
            assert vendored.Buffer is not buflend.minimal.Buffer
            memory = (ctypes.c_ubyte * 8)(*range(8))
            for readonly in (True, False):
                theirs = vendored.Buffer(ctypes.addressof(memory), 8, owner=memory, readonly=readonly)
                buffer = as_buffer(theirs)
                assert type(buffer) is Buffer
                assert (buffer.ptr, buffer.bufsize, buffer.readonly) == (ctypes.addressof(memory), 8, readonly)
                assert buffer.owner is theirs
                assert as_ndarray(buffer).tolist() == list(range(8))
            buffer = as_buffer(vendored.Buffer(NOWHERE, 8, owner=memory, device=(2, 1)))
            assert buffer.device == (2, 1)
            with pytest.raises(DeviceError):
                as_ndarray(buffer)
        finally:
            for name in [name for name in sys.modules if name.startswith("ladder_lightlib")]:
                del sys.modules[name]

    def test_a_maximal_buffer_lends_to_minimal(self) -> None:
        owner = np.arange(4, dtype="u1")
        buffer = buflend.minimal.as_buffer(as_buffer(owner))
        assert (buffer.ptr, buffer.bufsize) == (owner.ctypes.data, 4)
