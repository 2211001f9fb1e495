"""The stand-in's streams and events: queued work is done when somebody waits for it, and in no other way."""

import pytest

from .hooks import Copies, StandIn, contract, elsewhere

SUCCESS, INVALID_VALUE, INVALID_HANDLE, NOT_READY = 0, 1, 400, 600
LEGACY, PER_THREAD = 1, 2


class TestStreams:
    def test_query(self, stand_in: StandIn, copies: Copies) -> None:
        stream = stand_in.stream()
        assert stand_in.call("cudaStreamQuery", stream) == SUCCESS
        copies.queue(b"q", stream)
        assert stand_in.call("cudaStreamQuery", stream) == NOT_READY
        stand_in.call("cudaStreamSynchronize", stream)
        assert stand_in.call("cudaStreamQuery", stream) == SUCCESS

    def test_work_is_done_in_its_order(self, stand_in: StandIn, copies: Copies) -> None:
        stream = stand_in.stream()
        for byte in (b"1", b"2", b"3"):
            copies.queue(byte, stream)
        stand_in.call("cudaStreamSynchronize", stream)
        assert copies.seen() == b"3"

    @pytest.mark.parametrize("handle", [12345, "destroyed", "an event"])
    def test_what_is_no_stream(self, stand_in: StandIn, handle: int | str) -> None:
        if handle == "destroyed":
            handle = stand_in.stream()
            assert stand_in.call("cudaStreamDestroy", handle) == SUCCESS
        elif handle == "an event":
            handle = stand_in.event()
        for name in ("cudaStreamSynchronize", "cudaStreamQuery", "cudaStreamDestroy"):
            assert stand_in.call(name, handle) == INVALID_HANDLE
        memory = stand_in.allocate(b"x")
        assert stand_in.call("cudaMemcpyAsync", contract.host(), memory, 1, 2, handle) == INVALID_HANDLE

    @pytest.mark.parametrize("handle", [0, LEGACY, PER_THREAD])
    def test_default_streams_are_not_destroyed(self, stand_in: StandIn, handle: int) -> None:
        assert stand_in.call("cudaStreamDestroy", handle) == INVALID_HANDLE

    def test_handles_0_and_1_are_one_stream(self, stand_in: StandIn, copies: Copies) -> None:
        copies.queue(b"0", LEGACY)
        stand_in.call("cudaStreamSynchronize", 0)
        copies.queue(b"1", 0)
        assert stand_in.read(copies.memory, 8) == b"1" * 8

    @pytest.mark.parametrize("handle", [LEGACY, PER_THREAD])
    def test_default_streams_belong_to_the_current_device(self, stand_in: StandIn, handle: int) -> None:
        copies = Copies(stand_in, device=1)
        with stand_in.on(1):
            copies.queue(b"1", handle)
        assert stand_in.call("cudaStreamQuery", handle) == SUCCESS
        stand_in.call("cudaStreamSynchronize", handle)
        stand_in.call("cudaDeviceSynchronize")
        assert copies.seen() == b"0"
        with stand_in.on(1):
            assert stand_in.call("cudaStreamQuery", handle) == NOT_READY
            stand_in.call("cudaStreamSynchronize", handle)
        assert copies.seen() == b"1"

    def test_a_stream_that_was_made_belongs_to_its_device(self, stand_in: StandIn) -> None:
        copies = Copies(stand_in, device=1)
        with stand_in.on(1):
            stream = stand_in.stream()
        copies.queue(b"1", stream)
        stand_in.call("cudaDeviceSynchronize")
        assert copies.seen() == b"0"
        stand_in.call("cudaStreamSynchronize", stream)
        assert copies.seen() == b"1"

    def test_handle_2_is_another_stream_in_another_thread(self, stand_in: StandIn, copies: Copies) -> None:
        copies.queue(b"t", PER_THREAD)
        elsewhere(lambda: stand_in.call("cudaStreamSynchronize", PER_THREAD))
        stand_in.call("cudaStreamSynchronize", LEGACY)
        assert copies.seen() == b"0"
        stand_in.call("cudaStreamSynchronize", PER_THREAD)
        assert copies.seen() == b"t"

    def test_the_current_device_is_of_the_thread(self, stand_in: StandIn) -> None:
        with stand_in.on(1):
            assert elsewhere(lambda: stand_in.number("cudaGetDevice")) == 0
            assert stand_in.number("cudaGetDevice") == 1

    def test_work_on_memory_that_was_freed_meanwhile(self, stand_in: StandIn, copies: Copies) -> None:
        stream = stand_in.stream()
        copies.queue(b"f", stream)
        stand_in.call("cudaFree", copies.memory)
        assert stand_in.call("cudaStreamSynchronize", stream) == INVALID_VALUE


class TestEvents:
    def test_query_and_wait(self, stand_in: StandIn, copies: Copies) -> None:
        stream, event = stand_in.stream(), stand_in.event()
        assert stand_in.call("cudaEventQuery", event) == SUCCESS  # never recorded
        assert stand_in.call("cudaEventSynchronize", event) == SUCCESS
        copies.queue(b"e", stream)
        stand_in.call("cudaEventRecord", event, stream)
        assert (stand_in.call("cudaEventQuery", event), copies.seen()) == (NOT_READY, b"0")
        assert stand_in.call("cudaEventSynchronize", event) == SUCCESS
        assert (stand_in.call("cudaEventQuery", event), copies.seen()) == (SUCCESS, b"e")

    def test_what_comes_after_it_is_not_waited_for(self, stand_in: StandIn, copies: Copies) -> None:
        stream, event = stand_in.stream(), stand_in.event()
        copies.queue(b"b", stream)
        stand_in.call("cudaEventRecord", event, stream)
        copies.queue(b"a", stream)
        stand_in.call("cudaEventSynchronize", event)
        assert copies.seen() == b"b"

    def test_nor_by_a_stream(self, stand_in: StandIn, copies: Copies) -> None:
        producer, consumer, event = stand_in.stream(), stand_in.stream(), stand_in.event()
        copies.queue(b"b", producer)
        stand_in.call("cudaEventRecord", event, producer)
        stand_in.call("cudaStreamWaitEvent", consumer, event, 0)
        copies.queue(b"a", producer)
        stand_in.call("cudaStreamSynchronize", consumer)
        assert copies.seen() == b"b"

    def test_a_wait_is_for_the_recording_that_was_there(self, stand_in: StandIn, copies: Copies) -> None:
        producer, other, consumer, event = stand_in.stream(), stand_in.stream(), stand_in.stream(), stand_in.event()
        copies.queue(b"1", producer)
        stand_in.call("cudaEventRecord", event, producer)
        stand_in.call("cudaStreamWaitEvent", consumer, event, 0)
        copies.queue(b"2", other)
        stand_in.call("cudaEventRecord", event, other)
        stand_in.call("cudaStreamSynchronize", consumer)
        assert copies.seen() == b"1"
        stand_in.call("cudaEventSynchronize", event)
        assert copies.seen() == b"2"

    def test_a_wait_before_any_recording_is_none(self, stand_in: StandIn, copies: Copies) -> None:
        producer, consumer, event = stand_in.stream(), stand_in.stream(), stand_in.event()
        assert stand_in.call("cudaStreamWaitEvent", consumer, event, 0) == SUCCESS
        copies.queue(b"1", producer)
        stand_in.call("cudaEventRecord", event, producer)
        stand_in.call("cudaStreamSynchronize", consumer)
        assert copies.seen() == b"0"

    @pytest.mark.parametrize("destroyed", ["at once", "after the producer's stream"])
    def test_one_that_was_destroyed_orders(self, stand_in: StandIn, copies: Copies, destroyed: str) -> None:
        producer, consumer, event, before = stand_in.stream(), stand_in.stream(), stand_in.event(), stand_in.events()
        copies.queue(b"p", producer)
        stand_in.call("cudaEventRecord", event, producer)
        stand_in.call("cudaStreamWaitEvent", consumer, event, 0)
        if destroyed != "at once":
            assert stand_in.call("cudaStreamDestroy", producer) == SUCCESS
        assert stand_in.call("cudaEventDestroy", event) == SUCCESS
        assert stand_in.events() == before - 1
        assert stand_in.call("cudaEventQuery", event) == INVALID_HANDLE
        assert copies.seen() == b"0"
        assert stand_in.call("cudaStreamSynchronize", consumer) == SUCCESS
        assert copies.seen() == b"p"

    def test_across_devices(self, stand_in: StandIn, copies: Copies) -> None:
        producer, event = stand_in.stream(), stand_in.event()
        with stand_in.on(1):
            consumer = stand_in.stream()
        copies.queue(b"x", producer)
        stand_in.call("cudaEventRecord", event, producer)
        assert stand_in.call("cudaStreamWaitEvent", consumer, event, 0) == SUCCESS
        stand_in.call("cudaStreamSynchronize", consumer)
        assert copies.seen() == b"x"

    def test_it_is_recorded_on_its_own_device(self, stand_in: StandIn) -> None:
        event, stream = stand_in.event(), stand_in.stream()
        with stand_in.on(1):
            assert stand_in.call("cudaEventRecord", event, LEGACY) == INVALID_HANDLE
            assert stand_in.call("cudaEventRecord", event, stream) == SUCCESS
        assert stand_in.call("cudaEventRecord", event, LEGACY) == SUCCESS

    @pytest.mark.parametrize("handle", [0, 12345, "a stream"])
    def test_what_is_no_event(self, stand_in: StandIn, handle: int | str) -> None:
        handle = stand_in.stream() if handle == "a stream" else handle
        for name in ("cudaEventQuery", "cudaEventSynchronize", "cudaEventDestroy"):
            assert stand_in.call(name, handle) == INVALID_HANDLE
        assert stand_in.call("cudaEventRecord", handle, LEGACY) == INVALID_HANDLE
        assert stand_in.call("cudaStreamWaitEvent", LEGACY, handle, 0) == INVALID_HANDLE
