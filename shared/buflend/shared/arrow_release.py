"""What Arrow structs lent and how it comes back: callbacks in Python, hardened.

Lives here: the release functions, the registry of what they release, the capsules and their parking. Must not know: how
a struct is filled. Source: Apache Arrow, "The Arrow C data interface", "The Arrow PyCapsule interface". Structs are
handled as words of 64 bits, which is what they consist of on machines of 64 bits.

A callback may run with an exception pending, on any thread, while modules are cleared at exit, and Arrow C++ aborts the
process where `release` stays set. Hence:

- it begins, goes on and ends as `callback` has it;
- what it releases is found by a number that is never reused, so that a moved struct is released once and a second time
  does nothing;
- the last capsules are parked: a consumer that refuses one drops it with its own exception pending, and where that drop
  is not the last one, no destructor runs and the exception survives.

A consumer that releases after the interpreter is gone calls Python code that is no more.
"""

import ctypes
import gc
import itertools
from array import array
from collections import deque
from collections.abc import Callable
from sys import getrefcount
from typing import Any

from .arrow_c import (
    CAPSULES,
    ArrowArray,
    ArrowArrayStream,
    ArrowDeviceArray,
    ArrowDeviceArrayStream,
    ArrowSchema,
)
from .callback import AGAIN, DROP, TWICE, taking, thunk
from .cpython import immortal, new_capsule, require_main

require_main("Arrow export")  # before any callback is made; each import tries again, and is told again

Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # called on foreign threads: takes the interpreter's lock
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)  # the capsule has no references left: an address, not an object

_live: dict[int, Any] = {}  # number in private_data -> all that the struct needs
_forget = _live.pop
next_number = itertools.count(1).__next__

_blocks: "dict[int, array[int]]" = {}  # id of a capsule -> its struct
_Parked = list[Any]  # a capsule, its struct, the number that was written there

# How many capsules are parked: schemas and arrays without parts, each, which are used again; others. An unused one
# holds its memory as long, a used one a hundred bytes.
_ROUNDS, _PARKED = 4, 8
schemas: "deque[_Parked]" = deque()
arrays: "deque[_Parked]" = deque()
_parked: "deque[object]" = deque(maxlen=_PARKED)
_parked_before: "deque[object]" = deque()  # since before the last collection


def _unpark(
    phase: str,
    _: object,
    parked: "tuple[deque[Any], ...]" = (schemas, arrays, _parked),
    before: "deque[object]" = _parked_before,
    span: Any = range,
    count: Any = len,
    empty: Any = IndexError,
) -> None:
    # Not what was parked just now: a collection may come between an export and its refusal.
    if phase == "start":
        before.clear()
        for each in parked:
            for _ in span(count(each)):
                try:  # one by one: what another thread parks meanwhile stays
                    before.append(each.popleft())
                except empty:  # another thread took it
                    break


gc.callbacks.append(_unpark)


def flush() -> None:
    """Drop the capsules that are parked, so that unused ones return their memory now."""
    for each in (schemas, arrays, _parked, _parked_before):
        each.clear()


def word_of(field: Any) -> int:
    """Return which word of its struct a pointer or number is."""
    offset: int = field.offset
    return offset // 8


AS_WORDS = {each: ctypes.c_uint64 * (ctypes.sizeof(each) // 8) for each in CAPSULES}
# Which word `release` is: that before `private_data`. In a device's array, the array comes first.
RELEASE_AT = {
    ArrowSchema: word_of(ArrowSchema.release),
    ArrowArray: word_of(ArrowArray.release),
    ArrowDeviceArray: word_of(ArrowArray.release),
    ArrowArrayStream: word_of(ArrowArrayStream.release),
    ArrowDeviceArrayStream: word_of(ArrowDeviceArrayStream.release),
}


def _release_of(kind: type[ArrowSchema] | type[ArrowArray]) -> int:
    def release(
        taken: Any,
        _: object,
        arguments: tuple[int | None],
        let_go: Any = DROP,
        again: Any = AGAIN,
        words_at: Any = AS_WORDS[kind].from_address,
        at: Any = ctypes.c_uint64.from_address,
        call: Any = Release,
        forget: Any = _live.pop,
        own: int = RELEASE_AT[kind],
        n_children: int = word_of(kind.n_children),
        children: int = word_of(kind.children),
        dictionary: int = word_of(kind.dictionary),
        span: Any = range,
        twice: range = TWICE,
        anything: Any = BaseException,
    ) -> object:
        (address,) = arguments
        number = 0
        interrupted: Any = None
        for _ in twice:
            try:
                words = words_at(address) if address else None
                if words and words[own]:
                    number = words[own + 1]
                    # Each part by its own release, which is NULL where the part was moved out; once more where that
                    # was ended as it began.
                    parts = [at(words[children] + 8 * i).value for i in span(words[n_children])]
                    for part in [*parts, words[dictionary]] * 2:
                        if part and words_at(part)[own]:
                            call(words_at(part)[own])(part)
                        del part
                    words[own] = 0
                forget(number, None)
            except anything as error:
                interrupted = [error]
            else:
                break
        if taken:
            return let_go[taken] or -again
        if interrupted:
            raise interrupted.pop()
        return None

    return thunk(Release, taking(release))


def _destructor_of(kind: type[ctypes.Structure]) -> int:
    def destructor(
        taken: Any,
        _: object,
        arguments: tuple[int],
        let_go: Any = DROP,
        again: Any = AGAIN,
        find: Any = _blocks.get,
        drop: Any = _blocks.pop,
        call: Any = Release,
        own: int = RELEASE_AT[kind],
        twice: range = TWICE,
        anything: Any = BaseException,
    ) -> object:
        (capsule,) = arguments
        interrupted: Any = None
        for _ in twice:
            try:
                block = find(capsule)  # dropped last: what is raised right after a call loses its result
                for _ in twice:
                    if block is not None and block[own]:
                        call(block[own])(block.buffer_info()[0])
                    del _
                drop(capsule, None)
            except anything as error:
                interrupted = [error]
            else:
                break
        if taken:
            return let_go[taken] or -again
        if interrupted:
            raise interrupted.pop()
        return None

    return thunk(_Destructor, taking(destructor))


RELEASE = {kind: _release_of(kind) for kind in (ArrowSchema, ArrowArray)}
SCHEMA_RELEASE, ARRAY_RELEASE = RELEASE_AT[ArrowSchema], RELEASE_AT[ArrowArray]
_DESTRUCTOR = {kind: _destructor_of(kind) for kind in CAPSULES}
for _kept in (*CAPSULES.values(), _live, _blocks):
    immortal(_kept)


def _new_capsule(kind: type[ctypes.Structure]) -> "tuple[object, array[int]]":
    block = array("Q", bytes(ctypes.sizeof(kind)))
    (capsule,) = map(new_capsule, (block.buffer_info()[0],), (CAPSULES[kind],), (_DESTRUCTOR[kind],))
    _blocks[id(capsule)] = block
    return capsule, block


_entry = [object()]
_OURS = getrefcount(_entry[0])  # references to a parked capsule that nobody else holds: its entry's, and the argument's


def next_flat(kind: type[ctypes.Structure], parked: "deque[_Parked]", own: int) -> _Parked:
    """Return a capsule for a struct without parts: the one whose turn it is, if nobody else holds it, or a new one."""
    if len(parked) >= _ROUNDS:
        try:
            _held = parked[0]  # so that what a signal's handler raises right after the call does not drop the last one
            entry = parked.popleft()
        except IndexError:  # another thread took it
            return [*_new_capsule(kind), 0]
        if getrefcount(entry[0]) == _OURS:
            block = entry[1]
            if not block[own]:  # released or moved out
                return entry
            if block[own + 1] == entry[2]:
                _forget(entry[2], None)
                return entry
    return [*_new_capsule(kind), 0]


def filled_capsule(kind: type[ctypes.Structure], fill: Callable[..., None], *what: object) -> object:
    """Return a capsule around a new struct, which is zeros before it is filled; it is parked."""
    capsule, block = _new_capsule(kind)
    fill(block.buffer_info()[0], *what)
    _parked.append(capsule)
    return capsule
