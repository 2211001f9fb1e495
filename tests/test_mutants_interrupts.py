"""Mutants of exports and imports that a signal's handler interrupts: what they made so far, what they tell.

Some tests raise at steps of Python 3.11: newer interpreters see elsewhere what a trace function raises.
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
ANYWHERE = "tests/test_signals_anywhere.py::"
STREAM_EXPORT = "tests/test_arrow_stream_export.py::"
HANDS_OVER = SIGNALS + "test_a_signals_handler_raises_while_a_stream_hands_over"
MADE = SIGNALS + "test_a_signals_handler_raises_while_a_struct_is_made"
PASSED_ON = CALLBACKS + "test_what_interrupts_a_release_is_passed_on_when_it_was_tried_once_more"
TELLS = CALLBACKS + "test_a_stream_tells_of_whatever_interrupts_it"
EACH_PLACE = ANYWHERE + "test_a_handler_raises_at_each_place"

MUTANTS = [
    # Capsules.
    Mutant(
        "capsule-made-by-a-call",
        SHARED + "arrow_release.py",
        "    (capsule,) = map(new_capsule, (block.buffer_info()[0],), (CAPSULES[kind],), (_DESTRUCTOR[kind],))\n",
        "    capsule = new_capsule(block.buffer_info()[0], CAPSULES[kind], _DESTRUCTOR[kind])\n",
        (EACH_PLACE,),
        "a handler that raises right after it drops the capsule with its exception pending: that is lost",
    ),
    Mutant(
        "capsule-of-dlpack-made-by-a-call",
        SHARED + "dlpack_light.py",
        "        (capsule,) = map(new_capsule, (address,), (name,), (_DESTRUCTOR[name],))\n",
        "        capsule = new_capsule(address, name, _DESTRUCTOR[name])\n",
        (EACH_PLACE,),
        "a handler that raises right after it drops the capsule with its exception pending: that is lost",
    ),
    Mutant(
        "parked-capsule-held-by-nothing",
        SHARED + "arrow_release.py",
        "            _held = parked[0]  # so",
        "            # so",
        (EACH_PLACE,),
        "a handler that raises right after the call drops the capsule with its exception pending: that is lost",
    ),
    Mutant(
        "parked-capsule-looked-at-outside",
        SHARED + "arrow_release.py",
        "        try:\n            _held = parked[0]  # so",
        "        _held = parked[0]\n        try:\n            # so",
        ("tests/test_arrow_reuse.py::test_what_another_thread_takes_first[__getitem__]",),
        "an export fails where another thread exports",
    ),
    # Structs of DLPack that are being made.
    Mutant(
        "memory-of-a-struct-by-a-call",
        SHARED + "dlpack_light.py",
        "        (address,) = map(raw_calloc, (1,), (size,))  # in",
        "        address = raw_calloc(1, size)  # in",
        (MADE + "[make-5]",),
        "the memory is kept for ever",
    ),
    Mutant(
        "interrupted-struct-not-freed",
        SHARED + "dlpack_light.py",
        "            if _live.pop(number, None):\n                raw_free(address)\n            raise\n",
        "            _live.pop(number, None)\n            raise\n",
        (MADE + "[_capsule-0]",),
        "the memory is kept for ever",
    ),
    Mutant(
        "interrupted-struct-not-forgotten",
        SHARED + "dlpack_light.py",
        "            if _live.pop(number, None):\n                raw_free(address)\n            raise\n",
        "            if _live.get(number):\n                raw_free(address)\n            raise\n",
        (MADE + "[_capsule-0]",),
        "what was lent is kept for ever",
    ),
    Mutant(
        "struct-given-back-after-errors-only",
        SHARED + "dlpack_light.py",
        "        except BaseException:  # a signal's handler\n",
        "        except Exception:\n",
        (MADE + "[_capsule-0]",),
        "KeyboardInterrupt is no Exception: what was lent is kept for ever",
    ),
    Mutant(
        "interrupted-struct-is-nothing",
        SHARED + "dlpack_light.py",
        "                raw_free(address)\n            raise\n",
        "                raw_free(address)\n            return None\n",
        (MADE + "[_capsule-0]",),
        "Ctrl-C is lost, and the consumer gets None",
    ),
    # Chunks that are handed over.
    Mutant(
        "chunk-marked-before-it-is-moved",
        SHARED + "arrow_stream_export.py",
        "        words_at(out)[:] = block  # from",
        "        copy = block[:]\n        block[own] = 0\n        words_at(out)[:] = copy  # from",
        (HANDS_OVER + "[take-opcode-1]",),
        "the consumer is told of an error and releases nothing, and the stream no longer does",
    ),
    Mutant(
        "chunk-moved-by-a-call",
        SHARED + "arrow_stream_export.py",
        "        words_at(out)[:] = block  # from",
        "        ctypes.memmove(out, block.buffer_info()[0], size)  # from",
        (EACH_PLACE,),
        "it is given and told as an error: two release it",
    ),
    Mutant(
        "chunk-counted-before-it-is-moved",
        SHARED + "arrow_stream_export.py",
        "        words_at(out)[:] = block  # from",
        "        stream.taken = taken + 1\n        words_at(out)[:] = block  # from",
        (HANDS_OVER + "[take-opcode-1]",),
        "who asks again gets the next one",
    ),
    Mutant(
        "chunk-marked-after-a-call",
        SHARED + "arrow_stream_export.py",
        "        block[own] = 0\n",
        "        if count(block):\n            block[own] = 0\n",
        (EACH_PLACE,),
        "it is given and told as an error: two release it",
    ),
    # Schemas that are handed over.
    Mutant(
        "schema-of-an-interrupted-call-kept",
        SHARED + "arrow_stream_export.py",
        "        if at(out + own).value:\n            call",
        "        if False:\n            call",
        (HANDS_OVER + "[_take_schema-opcode-1]",),
        "whoever is told of an error releases nothing: the schema is kept for ever",
    ),
    Mutant(
        "schema-that-has-no-release-yet",
        SHARED + "arrow_stream_export.py",
        "        if at(out + own).value:\n            call",
        "        if True:\n            call",
        (HANDS_OVER + "[fill-line-0]",),
        "NULL is called: the process crashes",
    ),
    Mutant(
        "garbage-is-released",
        SHARED + "arrow_stream_export.py",
        "    at(out + own).value = 0\n    try:\n",
        "    try:\n",
        (HANDS_OVER + "[fill-line-0]",),
        "what stood in the consumer's memory is called",
    ),
    Mutant(
        "schema-of-an-interrupted-call-handed-over",
        SHARED + "arrow_stream_export.py",
        "            call(at(out + own).value)(out)\n        raise\n",
        "            call(at(out + own).value)(out)\n",
        (HANDS_OVER + "[_take_schema-opcode-1]",),
        "the consumer is told that it has a schema, which is released",
    ),
    Mutant(
        "schema-given-back-after-errors-only",
        SHARED + "arrow_stream_export.py",
        "    own: int = ArrowSchema.release.offset,\n    anything: Any = BaseException,\n",
        "    own: int = ArrowSchema.release.offset,\n    anything: Any = Exception,\n",
        (HANDS_OVER + "[_take_schema-opcode-1]",),
        "KeyboardInterrupt is no Exception: the schema is kept for ever",
    ),
    # What a stream tells.
    Mutant(
        "what-a-stream-raises-goes-through",
        SHARED + "arrow_stream_export.py",
        "        take: Any = take,\n        anything: Any = BaseException,\n",
        "        take: Any = take,\n        anything: Any = Exception,\n",
        (TELLS + "[take]",),
        "the status is whatever was there, and the consumer takes garbage for a chunk",
    ),
    Mutant(
        "error-cleared-outside",
        SHARED + "arrow_stream_export.py",
        "        try:\n            clear()\n",
        "        clear()\n        try:\n",
        (TELLS + "[clear]",),
        "the status is whatever was there, and the consumer takes garbage for a chunk",
    ),
    Mutant(
        "last-error-taken-outside",
        SHARED + "arrow_stream_export.py",
        "        try:\n            clear()\n            errors.pop(address, None)\n",
        "        clear()\n        errors.pop(address, None)\n        try:\n",
        (TELLS + "[errors]",),
        "the status is whatever was there, and the consumer takes garbage for a chunk",
    ),
    Mutant(
        "stream-looked-for-outside",
        SHARED + "arrow_stream_export.py",
        "        try:\n            clear()\n            errors.pop(address, None)\n"
        "            stream = find(at(address + number).value) if address and out else None\n",
        "        clear()\n        errors.pop(address, None)\n"
        "        stream = find(at(address + number).value) if address and out else None\n        try:\n",
        (TELLS + "[registry]",),
        "the status is whatever was there, and the consumer takes garbage for a chunk",
    ),
    Mutant(
        "error-told-outside",
        SHARED + "arrow_stream_export.py",
        "            try:\n                name = kind(error).__name__\n                if name not in texts:\n"
        "                    texts[name] = text(name.encode())\n"
        "                errors[address] = address_of(texts[name])\n"
        "            except anything:  # a signal's handler, once more\n                pass\n",
        "            name = kind(error).__name__\n            if name not in texts:\n"
        "                texts[name] = text(name.encode())\n            errors[address] = address_of(texts[name])\n",
        (TELLS + "[tell]",),
        "the status is whatever was there, and the consumer takes garbage for a chunk",
    ),
    Mutant(
        "error-told-as-success",
        SHARED + "arrow_stream_export.py",
        "            return failed\n",
        "            return 0\n",
        (TELLS + "[take]",),
        "the consumer takes garbage for a chunk",
    ),
    Mutant(
        "last-error-told-again",
        SHARED + "arrow_stream_export.py",
        "            errors.pop(address, None)\n",
        "",
        (STREAM_EXPORT + "test_an_error_within_a_callback_is_told_until_the_next",),
        "the error of another call is told",
    ),
    Mutant(
        "last-error-outlives-its-stream",
        SHARED + "arrow_stream_export.py",
        "                forget_error(address, None)\n",
        "",
        (CALLBACKS + "test_an_error_goes_with_its_stream",),
        "the stream that lies there next tells it",
    ),
    Mutant(
        "text-of-an-error-made-anew",
        SHARED + "arrow_stream_export.py",
        "                if name not in texts:\n                    texts[name] = text(name.encode())\n",
        "                texts[name] = text(name.encode())\n",
        (CALLBACKS + "test_the_text_of_an_error_is_kept",),
        "who was told of it before reads memory that was freed",
    ),
    Mutant(
        "text-of-an-error-not-kept",
        SHARED + "arrow_stream_export.py",
        "                if name not in texts:\n                    texts[name] = text(name.encode())\n"
        "                errors[address] = address_of(texts[name])\n",
        "                errors[address] = address_of(text(name.encode()))\n",
        (CALLBACKS + "test_the_text_of_an_error_is_kept",),
        "the consumer reads memory that was freed",
    ),
    Mutant(
        "last-error-by-code-in-python",
        SHARED + "arrow_stream_export.py",
        "_LAST_ERROR = thunk(_GetError, _errors.get)",
        "_LAST_ERROR = thunk(_GetError, lambda address, get=_errors.get: get(address))",
        (CALLBACKS + "test_the_last_error_is_told_without_code_in_python",),
        "a handler that raises there returns an address that nobody wrote",
    ),
    # Imports.
    Mutant(
        "garbage-of-a-failed-call-released",
        SHARED + "arrow_import.py",
        "            ctypes.memset(ctypes.addressof(out), 0, ctypes.s"
        "izeof(out))  # nothing was given that could be released\n",
        "",
        ("tests/test_arrow_stream_import.py::test_what_an_error_leaves_behind_is_not_released",),
        "what an error leaves behind is called",
    ),
    Mutant(
        "chunk-asked-for-last-not-released",
        SHARED + "arrow_import.py",
        "            _release(ctypes.addressof(out), type(out))\n",
        "            _release(ctypes.addressof(out), ArrowSchema) if type(out) is ArrowSchema else None\n",
        (EACH_PLACE,),
        "a chunk that no owner has yet is kept for ever",
    ),
    Mutant(
        "schema-asked-for-outside",
        SHARED + "arrow_import.py",
        '    try:\n        field = schema_at(ask(callbacks[0], out, "get_schema", "a schema"))\n',
        '    field = schema_at(ask(callbacks[0], out, "get_schema", "a schema"))\n    try:\n',
        (EACH_PLACE,),
        "the stream is kept for ever",
    ),
    Mutant(
        "owner-tried-once",
        SHARED + "arrow_owner.py",
        "range(2)",
        "range(1)",
        (PASSED_ON + "[1]",),
        "the producer's memory is kept for ever",
    ),
    Mutant(
        "owner-tried-again-after-errors-only",
        SHARED + "arrow_owner.py",
        "anything: Any = BaseException",
        "anything: Any = Exception",
        (PASSED_ON + "[1]",),
        "KeyboardInterrupt is no Exception: the producer's memory is kept for ever",
    ),
    Mutant(
        "owner-not-tried-again",
        SHARED + "arrow_owner.py",
        "            except anything as error:\n                interrupted = [error]\n",
        "            except anything:\n                raise\n",
        (PASSED_ON + "[1]",),
        "the producer's memory is kept for ever",
    ),
    Mutant(
        "owner-swallows-what-interrupts",
        SHARED + "arrow_owner.py",
        "        if interrupted:\n            raise interrupted.pop()\n",
        "",
        (PASSED_ON + "[1]",),
        "Ctrl-C is lost",
    ),
    Mutant(
        "owner-held-by-what-interrupts",
        SHARED + "arrow_owner.py",
        "interrupted.pop()",
        "interrupted[0]",
        (PASSED_ON + "[1]",),
        "the exception holds the frame, and the frame the exception: the owner stays until a collection",
    ),
    Mutant(
        "owner-marked-before-its-release",
        SHARED + "arrow_owner.py",
        "                    call(function)(self.address)\n                    write(self._struct, where, 0)\n",
        "                    write(self._struct, where, 0)\n                    call(function)(self.address)\n",
        (PASSED_ON + "[1]",),
        "the second try finds nothing to do: the producer's memory is kept for ever",
    ),
    Mutant(
        "export-of-a-view-kept",
        SHARED + "cpython.py",
        "    try:\n        _get_buffer(view, info, _PYBUF_STRIDES)\n        return info.buf or 0\n"
        "    finally:  # also where a signal's handler raises right after the call\n        _release_buffer(info)\n",
        "    _get_buffer(view, info, _PYBUF_STRIDES)\n    address = info.buf or 0\n    _release_buffer(info)\n"
        "    return address\n",
        (EACH_PLACE,),
        "a bytearray can never be resized again, a map never closed",
    ),
    Mutant(
        "export-of-a-view-asked-for-outside",
        SHARED + "cpython.py",
        "    try:\n        _get_buffer(view, info, _PYBUF_STRIDES)\n",
        "    _get_buffer(view, info, _PYBUF_STRIDES)\n    try:\n",
        (EACH_PLACE,),
        "a bytearray can never be resized again, a map never closed",
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
