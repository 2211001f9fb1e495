"""The stand-in's memory: what the host may touch, which copies are made, and what is known of a pointer."""

import ctypes
import signal
import threading

import pytest

from .hooks import Copies, StandIn, contract

SUCCESS, INVALID_VALUE, NO_MEMORY, WRONG_DIRECTION = 0, 1, 2, 21
LEGACY = 1
PAGE = 4096


class TestMemory:
    @pytest.mark.parametrize("place", [0, 63, PAGE - 1])
    def test_the_host_cannot_read_the_device(self, stand_in: StandIn, place: int) -> None:
        memory = stand_in.allocate(bytes(PAGE))
        assert contract.signal_of(lambda: ctypes.string_at(memory + place, 1)) == signal.SIGSEGV
        assert contract.signal_of(lambda: ctypes.memset(memory + place, 0, 1)) == signal.SIGSEGV
        stand_in.call("cudaFree", memory)

    @pytest.mark.parametrize(("make", "free"), [("cudaMallocHost", "cudaFreeHost"), ("cudaMallocManaged", "cudaFree")])
    def test_the_host_reads_what_is_also_its_own(self, stand_in: StandIn, make: str, free: str) -> None:
        _, memory = stand_in.make(make, 8, *([1] if make == "cudaMallocManaged" else []))
        stand_in.write(memory, b"abcdefgh")
        assert contract.signal_of(lambda: ctypes.string_at(memory, 8)) == 0
        assert ctypes.string_at(memory, 8) == b"abcdefgh"
        ctypes.memmove(memory, b"ABCD", 4)
        assert stand_in.read(memory, 8) == b"ABCDefgh"
        stand_in.call(free, memory)
        assert contract.signal_of(lambda: ctypes.string_at(memory, 1)) == signal.SIGSEGV

    def test_freed_by_the_wrong_function(self, stand_in: StandIn) -> None:
        memory, (_, pinned) = stand_in.allocate(b"x"), stand_in.make("cudaMallocHost", 8)
        assert stand_in.call("cudaFreeHost", memory) == stand_in.call("cudaFree", pinned) == INVALID_VALUE
        assert stand_in.call("cudaFree", memory + 1) == INVALID_VALUE
        assert stand_in.call("cudaFree", memory) == stand_in.call("cudaFreeHost", pinned) == SUCCESS

    def test_an_address_is_not_given_twice(self, stand_in: StandIn) -> None:
        given = []
        for _ in range(20):
            given.append(stand_in.allocate(b"x"))
            stand_in.call("cudaFree", given[-1])
        assert len(set(given)) == 20

    def test_more_than_there_is(self, stand_in: StandIn) -> None:
        assert stand_in.make("cudaMalloc", 1 << 40) == (NO_MEMORY, 0)
        assert stand_in.make("cudaMallocManaged", 0, 1)[0] == INVALID_VALUE

    def test_just_beyond(self, stand_in: StandIn) -> None:
        memory = stand_in.allocate(b"12345678")
        assert stand_in.attributes(memory + 7) == (SUCCESS, contract.DEVICE, 0)
        assert stand_in.attributes(memory + 8)[1] == contract.UNREGISTERED
        assert stand_in.call("cudaMemcpy", contract.host(), memory + 8, 1, 4) == INVALID_VALUE
        assert stand_in.read(memory + 7, 1) == b"8"
        stand_in.call("cudaFree", memory)

    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            (0, {"hh"}),
            (1, {"hd"}),
            (2, {"dh"}),
            (3, {"dd"}),
            (4, {"hh", "hd", "dh", "dd"}),
        ],
    )
    @pytest.mark.parametrize("later", [False, True], ids=["now", "later"])
    def test_directions(self, stand_in: StandIn, kind: int, expected: set[str], later: bool) -> None:
        device = [stand_in.allocate(b"d" * 8) for _ in range(2)]
        hosts = [contract.host(b"h" * 8) for _ in range(2)]
        name, stream = ("cudaMemcpyAsync", [LEGACY]) if later else ("cudaMemcpy", [])
        taken = set()
        for source in "hd":
            for target in "hd":
                pair = (hosts[0] if target == "h" else device[0], hosts[1] if source == "h" else device[1])
                status = stand_in.call(name, *pair, 8, kind, *stream)
                assert status in (SUCCESS, INVALID_VALUE)
                taken |= set() if status else {source + target}
        assert taken == expected
        assert stand_in.call(name, hosts[0], hosts[1], 8, 5, *stream) == WRONG_DIRECTION
        assert stand_in.call("cudaStreamSynchronize", LEGACY) == SUCCESS

    def test_setting(self, stand_in: StandIn, copies: Copies) -> None:
        stream = stand_in.stream()
        assert stand_in.call("cudaMemset", copies.memory, ord("m"), 8) == SUCCESS
        assert stand_in.call("cudaMemsetAsync", copies.memory, ord("n"), 8, stream) == SUCCESS
        assert copies.seen() == b"0"
        assert stand_in.read(copies.memory, 8) == b"m" * 8
        stand_in.call("cudaStreamSynchronize", stream)
        assert copies.seen() == b"n"
        assert stand_in.call("cudaMemset", copies.memory, 0, 9) == INVALID_VALUE

    def test_the_driver_has_no_error_for_a_pointer_of_nobody(self, stand_in: StandIn) -> None:
        kind, ordinal, address = ctypes.c_uint(9), ctypes.c_int(9), ctypes.c_void_p(9)
        found = (ctypes.c_void_p * 3)(*(ctypes.addressof(each) for each in (kind, ordinal, address)))
        pointer = ctypes.c_void_p(ctypes.addressof(kind))
        assert stand_in.driver.cuPointerGetAttributes(3, (ctypes.c_int * 3)(2, 9, 3), found, pointer) == SUCCESS
        assert (kind.value, ordinal.value, address.value) == (0, -2, None)

    def test_threads(self, stand_in: StandIn) -> None:
        before, wrong = stand_in.used(0), []

        def work(byte: bytes) -> None:
            for _ in range(50):
                memory = stand_in.allocate(byte * 64)
                if stand_in.read(memory, 64) != byte * 64 or stand_in.call("cudaFree", memory):
                    wrong.append(byte)

        threads = [threading.Thread(target=work, args=(bytes([number]),)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (wrong, stand_in.used(0)) == ([], before)
