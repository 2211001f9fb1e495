"""Mutants of what callbacks do though a signal's handler raises in the middle: tried once more, taken last.

The tests raise at steps of Python 3.11: newer interpreters see elsewhere what a trace function raises.
"""

import sys
from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="its tests are left out: they need Python 3.11")

SHARED = "shared/buflend/shared/"
SIGNALS = "tests/test_signals.py::"
CALLBACKS = "tests/test_callbacks.py::"
CALLBACK = SIGNALS + "test_a_signals_handler_raises_within_a_callback"
DLPACK = SIGNALS + "test_a_signals_handler_raises_within_a_callback_of_dlpack"
FREED = SIGNALS + "test_a_struct_is_freed_once_and_not_looked_at_again"
ONCE_MORE = SIGNALS + "test_what_is_interrupted_is_tried_once_more_and_then_shown"
FOLLOWED = CALLBACKS + "test_what_is_pending_is_followed_by_another_error"
FORGOTTEN = CALLBACKS + "test_a_struct_is_freed_when_it_was_forgotten"

MUTANTS = [
    # Arrow's structs.
    Mutant(
        "nothing-is-tried-again",
        SHARED + "callback.py",
        "TWICE = range(2)\n",
        "TWICE = range(1)\n",
        (CALLBACK + "[array-release-line-0]",),
        "Arrow C++ aborts the process, since the struct is not released",
    ),
    Mutant(
        "tried-without-end-of-it",
        SHARED + "callback.py",
        "TWICE = range(2)\n",
        "TWICE = range(4)\n",
        (ONCE_MORE + "[array]",),
        "a callback that cannot succeed holds up who called it",
    ),
    Mutant(
        "struct-tried-again-after-errors-only",
        SHARED + "arrow_release.py",
        "        span: Any = range,\n        twice: range = TWICE,\n        anything: Any = BaseException,\n",
        "        span: Any = range,\n        twice: range = TWICE,\n        anything: Any = Exception,\n",
        (CALLBACK + "[array-release-line-17]",),
        "KeyboardInterrupt is no Exception: the struct stays unreleased",
    ),
    Mutant(
        "struct-that-fails-twice-is-not-told",
        SHARED + "arrow_release.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(Release, taking(release))\n",
        "        if taken:\n            return let_go[taken] or -again\n        return None\n\n"
        "    return thunk(Release, taking(release))\n",
        (ONCE_MORE + "[array]",),
        "memory is kept for ever, and nobody learns of it",
    ),
    Mutant(
        "number-lost-with-the-first-try",
        SHARED + "arrow_release.py",
        "        number = 0\n        interrupted: Any = None\n        for _ in twice:\n            try:\n",
        "        interrupted: Any = None\n        for _ in twice:\n            try:\n                number = 0\n",
        (CALLBACK + "[array-release-line-19]",),
        "the struct says that it is released, and its owner is kept for ever",
    ),
    Mutant(
        "forgotten-with-the-first-try-only",
        SHARED + "arrow_release.py",
        "                    words[own] = 0\n                forget(number, None)\n",
        "                    words[own] = 0\n                    forget(number, None)\n",
        (CALLBACK + "[array-release-line-17]",),
        "the struct says that it is released, and its owner is kept for ever",
    ),
    Mutant(
        "struct-marked-before-its-parts-are-released",
        SHARED + "arrow_release.py",
        "                    # Each part by its own release",
        "                    words[own] = 0\n                    # Each part by its own release",
        (CALLBACK + "[array-release-line-3]",),
        "the second try finds nothing to do: the parts' owners are kept for ever",
    ),
    Mutant(
        "part-whose-release-ended-as-it-began",
        SHARED + "arrow_release.py",
        "words[dictionary]] * 2:",
        "words[dictionary]]:",
        (CALLBACK + "[array-release-call-1]",),
        "what the part lent is kept for ever",
    ),
    # Capsules.
    Mutant(
        "block-taken-first",
        SHARED + "arrow_release.py",
        "block = find(capsule)  # dropped last",
        "block = drop(capsule, None)  # dropped last",
        (CALLBACK + "[array-destructor-line-0]",),
        "what is raised right after the call loses the block, and what it lent is kept for ever",
    ),
    Mutant(
        "block-dropped-before-its-release",
        SHARED + "arrow_release.py",
        "                for _ in twice:\n                    if block",
        "                drop(capsule, None)\n                for _ in twice:\n                    if block",
        (CALLBACK + "[array-destructor-line-1]",),
        "the second try finds no block",
    ),
    Mutant(
        "capsule-whose-release-ended-as-it-began",
        SHARED + "arrow_release.py",
        "                for _ in twice:\n                    if block",
        "                for _ in (True,):\n                    if block",
        (CALLBACK + "[array-release-call-0]",),
        "what nobody took is kept for ever",
    ),
    Mutant(
        "block-expected-in-the-second-try",
        SHARED + "arrow_release.py",
        "if block is not None and block[own]:",
        "if block[own]:",
        (CALLBACK + "[array-destructor-opcode-4]",),
        "an error of the library's own is shown, where all is done",
    ),
    Mutant(
        "block-expected-where-it-is-dropped",
        SHARED + "arrow_release.py",
        "                drop(capsule, None)\n",
        "                drop(capsule)\n",
        (CALLBACK + "[array-destructor-opcode-4]",),
        "an error of the library's own is shown, where all is done",
    ),
    Mutant(
        "block-kept",
        SHARED + "arrow_release.py",
        "                drop(capsule, None)\n",
        "",
        (CALLBACK + "[array-release-line-0]",),
        "each capsule leaves its struct behind",
    ),
    Mutant(
        "capsule-tried-again-after-errors-only",
        SHARED + "arrow_release.py",
        "        own: int = RELEASE_AT[kind],\n        twice: range = TWICE,\n        anything: Any = BaseException,\n",
        "        own: int = RELEASE_AT[kind],\n        twice: range = TWICE,\n        anything: Any = Exception,\n",
        (CALLBACK + "[array-destructor-line-0]",),
        "KeyboardInterrupt is no Exception: what the capsule lent is kept for ever",
    ),
    Mutant(
        "capsule-that-fails-twice-is-not-told",
        SHARED + "arrow_release.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n"
        "    return thunk(_Destructor, taking(destructor))\n",
        "        if taken:\n            return let_go[taken] or -again\n        return None\n\n"
        "    return thunk(_Destructor, taking(destructor))\n",
        (ONCE_MORE + "[capsule]",),
        "memory is kept for ever, and nobody learns of it",
    ),
    # Streams.
    Mutant(
        "stream-taken-first",
        SHARED + "arrow_stream_export.py",
        "stream = find(number)  # then forgotten",
        "stream = forget(number, None)  # then forgotten",
        (CALLBACK + "[stream-release-line-3]",),
        "what is raised right after the call loses the stream, and what its chunks lent is kept for ever",
    ),
    Mutant(
        "stream-marked-before-it-is-found",
        SHARED + "arrow_stream_export.py",
        "                    number = words[own + 1]\n                    stream",
        "                    number = words[own + 1]\n                    words[own] = 0\n                    stream",
        (CALLBACK + "[stream-release-line-3]",),
        "the second try does not find the stream",
    ),
    Mutant(
        "stream-forgotten-with-the-first-try-only",
        SHARED + "arrow_stream_export.py",
        "                    words[own] = 0\n                forget(number, None)\n",
        "                    words[own] = 0\n                    forget(number, None)\n",
        (CALLBACK + "[stream-release-line-4]",),
        "the stream and its chunks are kept for ever",
    ),
    Mutant(
        "stream-lost-with-the-first-try",
        SHARED + "arrow_stream_export.py",
        "                words = words_at(address) if address else None\n                if words and",
        "                stream = None\n                words = words_at(address) if address else None\n"
        "                if words and",
        (CALLBACK + "[stream-release-line-5]",),
        "chunks that nobody took are kept for ever",
    ),
    Mutant(
        "number-of-a-stream-lost-with-the-first-try",
        SHARED + "arrow_stream_export.py",
        "                words = words_at(address) if address else None\n                if words and",
        "                number = 0\n                words = words_at(address) if address else None\n"
        "                if words and",
        (CALLBACK + "[stream-release-line-5]",),
        "the stream says that it is released, and is kept for ever",
    ),
    Mutant(
        "chunk-whose-release-ended-as-it-began",
        SHARED + "arrow_stream_export.py",
        "stream.chunks * 2:",
        "stream.chunks:",
        (CALLBACK + "[stream-release-call-1]",),
        "what the chunk lent is kept for ever",
    ),
    Mutant(
        "stream-tried-again-after-errors-only",
        SHARED + "arrow_stream_export.py",
        "        twice: range = TWICE,\n        anything: Any = BaseException,\n",
        "        twice: range = TWICE,\n        anything: Any = Exception,\n",
        (CALLBACK + "[stream-release-line-4]",),
        "KeyboardInterrupt is no Exception: the stream stays unreleased",
    ),
    Mutant(
        "stream-that-fails-twice-is-not-told",
        SHARED + "arrow_stream_export.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(Release, taking(release))\n",
        "        if taken:\n            return let_go[taken] or -again\n        return None\n\n"
        "    return thunk(Release, taking(release))\n",
        (ONCE_MORE + "[stream]",),
        "memory is kept for ever, and nobody learns of it",
    ),
    # DLPack's structs.
    Mutant(
        "deleter-tried-again-after-errors-only",
        SHARED + "dlpack_light.py",
        "bound, as all of them\n        twice: range = TWICE,\n        anything: Any = BaseException,\n",
        "bound, as all of them\n        twice: range = TWICE,\n        anything: Any = Exception,\n",
        (FREED + "[deleter-opcode-1]",),
        "KeyboardInterrupt is no Exception: the struct is not freed",
    ),
    Mutant(
        "deleter-that-fails-twice-is-not-told",
        SHARED + "dlpack_light.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Callback, taking(deleter))\n",
        "        if taken:\n            return let_go[taken] or -again\n        return None\n\n"
        "    return thunk(_Callback, taking(deleter))\n",
        (ONCE_MORE + "[deleter]",),
        "memory is kept for ever, and nobody learns of it",
    ),
    Mutant(
        "struct-read-after-it-was-freed",
        SHARED + "dlpack_light.py",
        "if number is None and unused(capsule, name):",
        "if unused(capsule, name):",
        (FREED + "[destructor-line-5]",),
        "where its memory is another export's by then, that is returned while it is used",
    ),
    Mutant(
        "number-of-dlpack-lost-with-the-first-try",
        SHARED + "dlpack_light.py",
        "        number: Any = None\n        interrupted: Any = None\n        for _ in twice:\n            try:\n",
        "        interrupted: Any = None\n        for _ in twice:\n            try:\n"
        "                number: Any = None\n",
        (FREED + "[destructor-line-6]",),
        "where its memory is another export's by then, that is returned while it is used",
    ),
    Mutant(
        "deleter-called-again-though-it-was-deleted",
        SHARED + "dlpack_light.py",
        "if find(number) is not None:  # or",
        "if number is not None:  # or",
        (FREED + "[deleter-opcode-0]",),
        "the struct is freed twice: the allocator ends the process",
    ),
    Mutant(
        "deleter-that-ended-as-it-began",
        SHARED + "dlpack_light.py",
        "                for _ in twice:\n",
        "                for _ in (True,):\n",
        (DLPACK + "[deleter-call-0]",),
        "what nobody took is kept for ever",
    ),
    Mutant(
        "capsule-of-dlpack-tried-again-after-errors-only",
        SHARED + "dlpack_light.py",
        "        find: Any = _live.get,\n        twice: range = TWICE,\n        anything: Any = BaseException,\n",
        "        find: Any = _live.get,\n        twice: range = TWICE,\n        anything: Any = Exception,\n",
        (DLPACK + "[destructor-line-0]",),
        "KeyboardInterrupt is no Exception: what the capsule lent is kept for ever",
    ),
    Mutant(
        "capsule-of-dlpack-that-fails-twice-is-not-told",
        SHARED + "dlpack_light.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Callback, taking(destructor))\n",
        "        if taken:\n            return let_go[taken] or -again\n        return None\n\n"
        "    return thunk(_Callback, taking(destructor))\n",
        (ONCE_MORE + "[destructor]",),
        "memory is kept for ever, and nobody learns of it",
    ),
    Mutant(
        "struct-freed-before-it-is-forgotten",
        SHARED + "dlpack_light.py",
        "                forget(number(address + context).value, None)\n            except anything as error:\n"
        "                interrupted = [error]\n            else:\n"
        "                _ = free[address]  # once, and last\n                break\n",
        "                _ = free[address]\n                forget(number(address + context).value, None)\n"
        "            except anything as error:\n                interrupted = [error]\n            else:\n"
        "                break\n",
        (FREED + "[deleter-opcode-0]",),
        "the number of another export is read in memory that was freed, and its owner returned",
    ),
    Mutant(
        "struct-freed-though-it-is-not-forgotten",
        SHARED + "dlpack_light.py",
        "            else:\n                _ = free[address]  # once, and last\n                break\n",
        "            else:\n                break\n        _ = free[address]\n",
        (FORGOTTEN + "[2-0]",),
        "the table still says where it is",
    ),
    Mutant(
        "struct-never-freed",
        SHARED + "dlpack_light.py",
        "                _ = free[address]  # once, and last\n",
        "                pass\n",
        (FORGOTTEN + "[0-1]",),
        "each export leaves its struct behind",
    ),
    Mutant(
        "struct-freed-by-a-call-that-is-not-caught",
        SHARED + "dlpack_light.py",
        "                _ = free[address]  # once, and last\n",
        "                free.__getitem__(address)\n",
        (FOLLOWED + "[deleter-interrupted]",),
        "a handler that raises right after the call leaves nothing pending: the process crashes",
    ),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mutants.Tree]:
    with mutants.planted(tmp_path_factory.mktemp("mutants"), MUTANTS) as made:
        yield made


def test_the_table_is_of_this_tree() -> None:
    assert list(mutants.faults(MUTANTS)) == []


@mutants.each(MUTANTS)
def test_is_killed(mutant: Mutant, tree: mutants.Tree) -> None:
    tree.kill(mutant)
