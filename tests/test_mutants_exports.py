"""Mutants of exports that are half made: interrupted, looked at or taken by another thread before they are whole."""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED = "shared/buflend/shared/"
INTERRUPTED = ("tests/test_signals.py::test_a_signals_handler_raises_within_an_export",)
LOANS = "tests/test_loans.py::"
REUSE = "tests/test_arrow_reuse.py::"

MUTANTS = [
    # What a signal's handler interrupts.
    Mutant(
        "parts-kept-when-they-are-pointed-at",
        SHARED + "arrow_export.py",
        "        live[own] = kept\n        if parts:\n            for i in",
        "        if parts:\n            live[own] = kept\n            for i in",
        ("tests/test_arrow_stream_export.py::test_chunks_one_by_one_and_then_the_end",),
        "a struct without parts keeps nothing: its owner is freed while it is lent",
    ),
    Mutant(
        "parts-kept-last",
        SHARED + "arrow_export.py",
        "                fill(pointer, part)\n",
        "                live.pop(own, None)\n                fill(pointer, part)\n                live[own] = kept\n",
        INTERRUPTED,
        "the destructor follows pointers to children that are gone: the process crashes",
    ),
    Mutant(
        "structs-of-the-parts-not-kept",
        SHARED + "arrow_export.py",
        "            kept = kept, structs, pointers\n",
        "            kept = kept, pointers\n",
        INTERRUPTED,
        "the destructor follows pointers to children that are gone: the process crashes",
    ),
    Mutant(
        "struct-numbered-after-it-is-kept",
        SHARED + "arrow_export.py",
        "        words[number] = own = following()\n        live[own] = kept\n",
        "        own = following()\n        live[own] = kept\n        words[number] = own\n",
        INTERRUPTED,
        "what is raised in between leaves the owners in the registry for ever",
    ),
    Mutant(
        "parts-filled-before-they-are-pointed-at",
        SHARED + "arrow_export.py",
        "                pointers[i] = address_of(structs) + i * size\n",
        "                pointers[i] = address_of(structs) + i * size\n                fill(pointers[i], parts[i])\n",
        INTERRUPTED,
        "the children that were filled keep their owners for ever",
    ),
    Mutant(
        "parts-pointed-at-before-they-are-counted",
        SHARED + "arrow_export.py",
        "            words[children], words[n_children] = address_of(pointers), count(parts) - has_dictionary\n",
        "            words[n_children] = count(parts) - has_dictionary\n"
        "            words[children] = address_of(pointers)\n",
        INTERRUPTED,
        "the destructor reads pointers where there are none: the process crashes",
    ),
    Mutant(
        "flat-schema-numbered-after-it-is-kept",
        SHARED + "arrow_export.py",
        "        first[2] = block[_SCHEMA_NUMBER] = number = next_number()\n        _live[number] = schema_kept\n",
        "        number = next_number()\n        _live[number] = schema_kept\n"
        "        first[2] = block[_SCHEMA_NUMBER] = number\n",
        INTERRUPTED,
        "what is raised in between leaves the texts in the registry for ever",
    ),
    Mutant(
        "flat-array-numbered-after-it-is-kept",
        SHARED + "arrow_export.py",
        "        second[2] = block[_ARRAY_NUMBER] = number = next_number()\n        _live[number] = array_kept\n",
        "        number = next_number()\n        _live[number] = array_kept\n"
        "        second[2] = block[_ARRAY_NUMBER] = number\n",
        INTERRUPTED,
        "what is raised in between leaves the owners in the registry for ever",
    ),
    Mutant(
        "stream-kept-before-it-has-a-number",
        SHARED + "arrow_stream_export.py",
        "        stream.private_data = number = next_number()\n        stream.release = _CALLBACKS[kind][3]\n"
        "        _live[number] = _Stream(schema, blocks)\n",
        "        number = next_number()\n        _live[number] = _Stream(schema, blocks)\n"
        "        stream.private_data = number\n        stream.release = _CALLBACKS[kind][3]\n",
        INTERRUPTED,
        "the stream and its chunks are kept for ever",
    ),
    Mutant(
        "stream-kept-before-it-can-be-released",
        SHARED + "arrow_stream_export.py",
        "        stream.release = _CALLBACKS[kind][3]\n        _live[number] = _Stream(schema, blocks)\n",
        "        _live[number] = _Stream(schema, blocks)\n        stream.release = _CALLBACKS[kind][3]\n",
        INTERRUPTED,
        "the stream and its chunks are kept for ever",
    ),
    Mutant(
        "chunks-filled-before-the-stream-is-kept",
        SHARED + "arrow_stream_export.py",
        '        blocks = [array("Q", bytes(ctypes.sizeof(_CHUNK[kind]))) for _ in prepared]\n',
        '        blocks = [array("Q", bytes(ctypes.sizeof(_CHUNK[kind]))) for _ in prepared]\n'
        "        for block, each in zip(blocks, prepared, strict=True):\n"
        "            fill_chunk(block.buffer_info()[0], each)\n",
        INTERRUPTED,
        "chunks that were filled are kept for ever",
    ),
    # What another thread does meanwhile.
    Mutant(
        "schema-parked-before-it-is-held",
        SHARED + "arrow_export.py",
        "        schemas.append(first)\n",
        "        del lent\n        schemas.append(first)\n        lent = first[0]\n",
        (REUSE + "test_a_capsule_is_nobody_elses_as_soon_as_it_is_parked[both]",),
        "two consumers get the same capsule",
    ),
    Mutant(
        "array-parked-before-it-is-held",
        SHARED + "arrow_export.py",
        "        arrays.append(second)\n",
        "        del also_lent\n        arrays.append(second)\n        also_lent = second[0]\n",
        (REUSE + "test_a_capsule_is_nobody_elses_as_soon_as_it_is_parked[both]",),
        "two consumers get the same capsule",
    ),
    Mutant(
        "lone-schema-parked-before-it-is-held",
        SHARED + "arrow_export.py",
        "    schemas.append(entry)\n    return capsule\n",
        "    del capsule\n    schemas.append(entry)\n    return entry[0]\n",
        (REUSE + "test_a_capsule_is_nobody_elses_as_soon_as_it_is_parked[schema]",),
        "two consumers get the same capsule",
    ),
    Mutant(
        "lone-array-parked-before-it-is-held",
        SHARED + "arrow_export.py",
        "    arrays.append(entry)\n    return capsule\n",
        "    del capsule\n    arrays.append(entry)\n    return entry[0]\n",
        (REUSE + "test_a_capsule_is_nobody_elses_as_soon_as_it_is_parked[array]",),
        "two consumers get the same capsule",
    ),
    Mutant(
        "parked-twice-at-once",
        SHARED + "arrow_release.py",
        "        except IndexError:  # another thread took it\n            return",
        "        except ZeroDivisionError:  # another thread took it\n            return",
        (REUSE + "test_what_another_thread_takes_first",),
        "an export fails where another thread exports",
    ),
    Mutant(
        "collection-and-export-at-once",
        SHARED + "arrow_release.py",
        "    empty: Any = IndexError,\n",
        "    empty: Any = ZeroDivisionError,\n",
        ("tests/test_races.py::test_what_another_thread_takes_during_a_collection",),
        "a collection prints an error where another thread exports",
    ),
    Mutant(
        "parked-during-a-collection-dropped",
        SHARED + "arrow_release.py",
        "            for _ in span(count(each)):\n",
        "            while each:\n",
        ("tests/test_races.py::test_what_is_parked_during_a_collection_stays_parked",),
        "an exception that a consumer refused a capsule with is lost",
    ),
    Mutant(
        "loans-that-are-being-made",
        SHARED + "loan.py",
        'if hasattr(candidate, "shell") and (exports := _exports(candidate.shell, kept)):',
        "if exports := _exports(candidate.shell, kept):",
        (LOANS + "test_a_loan_that_another_thread_is_making_is_passed_over",),
        "live_exports raises where another thread lends",
    ),
    Mutant(
        "loans-that-have-an-owner",
        SHARED + "loan.py",
        'if hasattr(candidate, "shell") and (exports := _exports(candidate.shell, kept)):',
        'if hasattr(candidate, "owner") and (exports := _exports(candidate.shell, kept)):',
        (LOANS + "test_a_loan_that_another_thread_is_making_is_passed_over",),
        "live_exports raises where another thread lends",
    ),
    Mutant(
        "shell-of-a-loan-first",
        SHARED + "loan.py",
        "        self.owner = owner\n        self.kind = kind\n",
        "        self.shell = None\n        self.owner = owner\n        self.kind = kind\n",
        (LOANS + "test_another_thread_looks_between_any_two_lines_of_an_export[numbers]",),
        "live_exports takes a loan for whole that has no owner yet",
    ),
    Mutant(
        "loans-of-bytes-that-are-being-made",
        SHARED + "loan.py",
        'getattr(candidate, "shell", None)  # another thread',
        "candidate.shell  # another thread",
        (LOANS + "test_what_has_no_owner_yet_is_passed_over",),
        "live_exports raises where another thread lends",
    ),
    Mutant(
        "owner-of-bytes-last",
        SHARED + "dlpack_export.py",
        "    loan.owner = memory._owner\n    shell = _frombuffer(loan, _u1, memory._bufsize)\n"
        "    if memory._readonly:\n        shell.setflags(write=False)\n    loan.shell = ref(shell)\n",
        "    shell = _frombuffer(loan, _u1, memory._bufsize)\n"
        "    if memory._readonly:\n        shell.setflags(write=False)\n    loan.shell = ref(shell)\n"
        "    loan.owner = memory._owner\n",
        (LOANS + "test_another_thread_looks_between_any_two_lines_of_an_export[bytes]",),
        "live_exports takes a loan for whole that has no owner yet",
    ),
    Mutant(
        "views-that-are-being-made",
        SHARED + "loan.py",
        'elif kind is Anchor and hasattr(candidate, "owner"):',
        "elif kind is Anchor:",
        (LOANS + "test_what_has_no_owner_yet_is_passed_over",),
        "live_exports raises where another thread lends",
    ),
    Mutant(
        "methods-without-a-shell",
        SHARED + "loan.py",
        'if issubclass(type(candidate), Keeper) and hasattr(candidate, "shell") else None',
        "if issubclass(type(candidate), Keeper) else None",
        (LOANS + "test_what_has_no_owner_yet_is_passed_over",),
        "live_exports raises where another thread lends",
    ),
    Mutant(
        "arrow-half-imported",
        SHARED + "loan.py",
        'getattr(sys.modules.get(f"{__package__}.arrow_release"), "_live", {})',
        'sys.modules[f"{__package__}.arrow_release"]._live',
        (LOANS + "test_where_arrow_s_export_is_being_imported_nothing_is_lent_by_it",),
        "live_exports raises where another thread lends for the first time",
    ),
    Mutant(
        "registry-that-grows-meanwhile",
        SHARED + "loan.py",
        "    for kept in list(registry.values()):\n",
        "    for kept in registry.values():\n",
        (LOANS + "test_what_is_lent_while_arrow_s_exports_are_looked_at",),
        "live_exports raises where another thread lends",
    ),
    Mutant(
        "numpy-s-export-half-imported",
        SHARED + "loan.py",
        'view = getattr(sys.modules.get(f"{__package__}.dlpack_export"), "Shell", None)',
        'view = sys.modules[f"{__package__}.dlpack_export"].Shell',
        (LOANS + "test_where_an_export_through_numpy_is_being_imported_nothing_is_lent_by_it",),
        "live_exports raises where another thread lends for the first time",
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
