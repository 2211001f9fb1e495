"""Mutants of release: twice, never, too early, or of what is another's.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL, MINIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/", "minimal/buflend/minimal/"
ARROW_IMPORT = "tests/test_arrow_import.py::"
ARROW_IMPORT_HOSTILE = "tests/test_arrow_import_hostile.py::"
ARROW_STREAM_EXPORT = "tests/test_arrow_stream_export.py::"
ARROW_STREAM_IMPORT = "tests/test_arrow_stream_import.py::"
BUFFER = "tests/test_buffer.py::"
COLUMN_INTERFACE = "tests/test_column_interface.py::"
INTERFACES_IMPORT = "tests/test_interfaces_import.py::"
LOANS = "tests/test_loans.py::"

MUTANTS = [
    Mutant(
        "moved-array-not-marked",
        SHARED + "arrow_owner.py",
        "        _POINTER.pack_into(raw, _RELEASE_AT, 0)\n",
        "        pass\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[union with a bitmap]",),
        "producer and consumer both release it",
    ),
    Mutant(
        "array-never-released",
        SHARED + "arrow_owner.py",
        "            call(function)(self.address)\n",
        "            pass\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[union with a bitmap]",),
        "memory is never given back",
    ),
    Mutant(
        "array-released-twice",
        SHARED + "arrow_owner.py",
        "            write(self._struct, where, 0)\n",
        "            pass\n",
        (ARROW_IMPORT_HOSTILE + "test_a_release_that_forgets_to_clear_itself_is_called_once",),
        "whoever was told of the release by hand meets it again at the end",
    ),
    Mutant(
        "array-released-at-its-old-address",
        SHARED + "arrow_owner.py",
        "            call(function)(self.address)\n",
        "            call(function)(0)\n",
        (ARROW_IMPORT + "test_nothing_needs_no_buffers[vz]",),
        "the producer is given another struct",
    ),
    Mutant(
        "nobody-releases-at-the-end",
        SHARED + "arrow_owner.py",
        "    __del__ = release\n",
        "",
        (ARROW_IMPORT + "test_a_capsule_is_consumed_once",),
        "memory is never given back",
    ),
    Mutant(
        "used-capsule-taken",
        SHARED + "arrow_import.py",
        "_RELEASE_AT[kind])[0]:\n        raise",
        "_RELEASE_AT[kind])[0] and False:\n        raise",
        (ARROW_IMPORT_HOSTILE + "test_a_schemas_release_that_uses_the_array_up_is_noticed",),
        "memory that was given back is read",
    ),
    Mutant(
        "capsule-of-any-name",
        SHARED + "arrow_import.py",
        "    name = CAPSULES[kind]\n",
        "    name = capsule_name(capsule)\n",
        (ARROW_IMPORT_HOSTILE + "test_capsules_in_the_wrong_place_are_refused_and_stay_unused",),
        "a schema is read as an array",
    ),
    Mutant(
        "schema-released-before-it-is-read",
        SHARED + "arrow_import.py",
        "    field = schema_at(address)\n    _release(address, ArrowSchema)\n",
        "    _release(address, ArrowSchema)\n    field = schema_at(address)\n",
        (ARROW_IMPORT + "test_nothing_needs_no_buffers[vz]",),
        "memory that was given back is read",
    ),
    Mutant(
        "schema-of-a-stream-never-released",
        SHARED + "arrow_import.py",
        "            _release(ctypes.addressof(out), type(out))\n",
        "            pass\n",
        (ARROW_STREAM_IMPORT + "test_a_schema_that_fails",),
        "memory is never given back",
    ),
    Mutant(
        "stream-never-released",
        SHARED + "arrow_import.py",
        "        _release(address, kind)\n\n",
        "        pass\n\n",
        (
            (
                ARROW_STREAM_IMPORT + "test_an_error_carries_its_message_and_nothing_follows_but_release[1-n"
                "ot UTF-8: \\xff-not UTF-8: \\ufffd]"
            ),
        ),
        "memory is never given back",
    ),
    Mutant(
        "released-struct-not-marked",
        SHARED + "arrow_import.py",
        "        function.value = None\n",
        "        pass\n",
        (ARROW_STREAM_IMPORT + "test_a_release_that_forgets_to_clear_itself_is_called_once",),
        "the capsule's destructor releases it once more",
    ),
    Mutant(
        "array-looked-at-before-a-foreign-release",
        SHARED + "arrow_import.py",
        "    _open(array, ArrowArray)\n    field = read_schema(schema)\n    return array_of(field, "
        "ArrowOwner(_open(array, ArrowArray)), CPU)",
        "    address = _open(array, ArrowArray)\n    field = read_schema(schema)\n    return "
        "array_of(field, ArrowOwner(address), CPU)",
        (ARROW_IMPORT_HOSTILE + "test_a_schemas_release_that_uses_the_array_up_is_noticed",),
        "the release of a schema may have used up the array",
    ),
    Mutant(
        "schema-used-up-by-a-refusal",
        SHARED + "arrow_import.py",
        "    _open(array, ArrowArray)\n    field",
        "    field",
        ("tests/test_refusals.py::test_a_schema_beside_a_used_array_stays_unused[array]",),
        "who asks for another array has no schema for it",
    ),
    Mutant(
        "schema-used-up-by-a-refusal-on-a-device",
        SHARED + "arrow_import.py",
        "    _open(array, ArrowDeviceArray)\n    field",
        "    field",
        ("tests/test_refusals.py::test_a_schema_beside_a_used_array_stays_unused[device array]",),
        "who asks for another array has no schema for it",
    ),
    Mutant(
        "children-share-an-owner",
        SHARED + "arrow_array.py",
        "        moved = ArrowOwner(address)\n        children.append(_read(child, moved.address, moved,",
        "        children.append(_read(child, address, owner,",
        (ARROW_IMPORT + "test_a_plain_struct_is_taken_apart",),
        "a column keeps the whole table, or outlives it",
    ),
    Mutant(
        "moved-out-struct-released-by-its-capsule",
        SHARED + "arrow_release.py",
        "        if block is not None and block[own]:\n",
        "        if block is not None:\n",
        (ARROW_STREAM_EXPORT + "test_children_of_a_chunk_are_moved_out",),
        "what was moved out is released by its capsule: NULL is called",
    ),
    Mutant(
        "unused-capsule-never-returned",
        SHARED + "arrow_release.py",
        "                    call(block[own])(block.buffer_info()[0])\n",
        "                    pass\n",
        (LOANS + "test_what_nobody_took_is_returned[__arrow_c_array__]",),
        "a capsule that nobody took keeps its memory for ever",
    ),
    Mutant(
        "release-leaves-the-struct",
        SHARED + "arrow_release.py",
        "                    words[own] = 0\n                forget(number, None)\n",
        "                forget(number, None)\n",
        ("tests/test_light_export.py::TestArrow::test_a_second_release_does_nothing",),
        "consumers take a released struct for a live one",
    ),
    Mutant(
        "release-returns-nothing",
        SHARED + "arrow_release.py",
        "                forget(number, None)\n",
        "                pass\n",
        (ARROW_STREAM_EXPORT + "test_children_of_a_chunk_are_moved_out",),
        "the owner is kept for ever",
    ),
    Mutant(
        "dictionary-never-released",
        SHARED + "arrow_release.py",
        "for part in [*parts, words[dictionary]] * 2:",
        "for part in parts:",
        ("tests/test_arrow_export.py::TestRelease::test_a_dictionary_is_released[callbacks]",),
        "the owner of the categories is kept for ever",
    ),
    Mutant(
        "children-never-released",
        SHARED + "arrow_release.py",
        "for part in [*parts, words[dictionary]] * 2:",
        "for part in [words[dictionary]]:",
        (ARROW_STREAM_EXPORT + "test_children_of_a_chunk_are_moved_out",),
        "the owners of the children are kept for ever",
    ),
    Mutant(
        "moved-out-child-released",
        SHARED + "arrow_release.py",
        "            if part and words_at(part)[own]:\n",
        "            if part:\n",
        (ARROW_STREAM_EXPORT + "test_children_of_a_chunk_are_moved_out",),
        "a child that was moved out is released with its parent: NULL is called",
    ),
    Mutant(
        "capsule-of-somebody-filled-anew",
        SHARED + "arrow_release.py",
        "        if getrefcount(entry[0]) == _OURS:\n",
        "        if True:\n",
        ("tests/test_arrow_reuse.py::test_capsules_that_are_held_are_never_used_again",),
        "two exports share a struct: the first one's consumer reads the second one's memory",
    ),
    Mutant(
        "parked-export-lost",
        SHARED + "arrow_release.py",
        "            if block[own + 1] == entry[2]:\n                _forget(entry[2], None)\n             "
        "   return entry\n",
        "            return entry\n",
        (LOANS + "test_what_nobody_took_is_returned[__arrow_c_array__]",),
        "the owner of an unused export is kept for ever",
    ),
    Mutant(
        "chunk-moved-and-kept",
        SHARED + "arrow_stream_export.py",
        "        block[own] = 0\n",
        "        pass\n",
        (ARROW_STREAM_EXPORT + "test_children_of_a_chunk_are_moved_out",),
        "consumer and stream both release it",
    ),
    Mutant(
        "chunks-that-nobody-took",
        SHARED + "arrow_stream_export.py",
        "            for block in stream.chunks * 2:",
        "            for block in ():",
        (ARROW_STREAM_EXPORT + "test_released_through_the_struct_in_the_capsule",),
        "what a consumer leaves in a stream is kept for ever",
    ),
    Mutant(
        "stream-released-and-kept",
        SHARED + "arrow_stream_export.py",
        "stream = find(number)",
        "stream = None",
        (LOANS + "test_what_nobody_took_is_returned[__arrow_c_stream__]",),
        "the owners of all chunks are kept for ever",
    ),
    Mutant(
        "stream-not-marked-as-released",
        SHARED + "arrow_stream_export.py",
        "                    words[own] = 0\n                forget(number, None)\n",
        "                forget(number, None)\n",
        (ARROW_STREAM_EXPORT + "test_chunks_one_by_one_and_then_the_end",),
        "consumers take a released stream for a live one",
    ),
    Mutant(
        "a-chunk-twice",
        SHARED + "arrow_stream_export.py",
        "        stream.taken = taken + 1\n",
        "        pass\n",
        (ARROW_STREAM_EXPORT + "test_chunks_one_by_one_and_then_the_end",),
        "a stream never ends",
    ),
    Mutant(
        "end-of-a-stream-untold",
        SHARED + "arrow_stream_export.py",
        "            fill(out, 0, size)\n",
        "            pass\n",
        (ARROW_STREAM_EXPORT + "test_a_stream_of_a_device[device3]",),
        "what stood in the consumer's memory is taken for a chunk",
    ),
    Mutant(
        "export-of-a-buffer-never-released",
        SHARED + "cpython.py",
        "    _release_buffer(info)\n",
        "    pass\n",
        (BUFFER + "TestExporters::test_a_map_cannot_be_closed_while_it_is_lent",),
        "a bytearray can never be resized again, a map never closed",
    ),
    Mutant(
        "export-not-held",
        MAXIMAL + "buffer_protocol.py",
        "return address, view.nbytes, view, CPU",
        "return address, view.nbytes, obj, CPU",
        (INTERFACES_IMPORT + "TestBufferProtocol::test_the_export_is_held_and_returned",),
        "a bytearray is resized under the buffer",
    ),
    Mutant(
        "export-of-minimal-not-held",
        MINIMAL + "buffer.py",
        "owner=view, readonly=view.readonly)",
        "owner=obj, readonly=view.readonly)",
        (BUFFER + "TestExporters::test_a_bytearray_cannot_be_resized_while_it_is_lent",),
        "a bytearray is resized under the buffer",
    ),
    Mutant(
        "export-of-an-interface-not-held",
        MAXIMAL + "array_interface.py",
        "nbytes, (view, obj), CPU",
        "nbytes, obj, CPU",
        (INTERFACES_IMPORT + "TestInterfaceOverAnExporter::test_the_export_and_the_object_are_kept",),
        "a bytearray is resized under the buffer",
    ),
    Mutant(
        "export-of-a-columns-interface-not-held",
        MAXIMAL + "column_interface.py",
        "owner=(view, obj), readonly",
        "owner=obj, readonly",
        (COLUMN_INTERFACE + "TestInterface::test_the_export_is_held",),
        "a bytearray is resized under the column",
    ),
    Mutant(
        "owner-of-nothing",
        SHARED + "memory.py",
        "        if owner is None:\n",
        "        if False:\n",
        (BUFFER + "TestConstructor::test_owner_is_required",),
        "memory that nobody keeps",
    ),
    Mutant(
        "weak-proxy-as-the-owner",
        SHARED + "memory.py",
        "    if issubclass(kind, type) or kind in _PROXIES:\n",
        "    if issubclass(kind, type):\n",
        ("tests/test_ladder.py::TestWhatOffersNothing::test_a_weak_proxy_keeps_nothing",),
        "a weak proxy keeps nothing alive",
    ),
    Mutant(
        "array-of-a-column-without-owner",
        MAXIMAL + "column_ndarray.py",
        "Buffer(low, bufsize, owner=owner,",
        "Buffer(low, bufsize, owner=array.shape,",
        (COLUMN_INTERFACE + "TestInterface::test_exported_memory_is_held_against_what_is_described",),
        "a column outlives its memory",
    ),
    Mutant(
        "grid-of-several-owners",
        MAXIMAL + "table_array.py",
        "    if len(steps) > 1 or len({id(_root(buffer.owner)) for buffer in buffers}) > 1:\n",
        "    if len(steps) > 1:\n",
        ("tests/test_table_array.py::test_others_become_one_in_a_copy[columns4-M8[s]]",),
        "memory between two arrays is handed out",
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
