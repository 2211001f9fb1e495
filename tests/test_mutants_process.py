"""Mutants of what depends on the process: which interpreter it is, whether NumPy is there, what pyarrow was asked."""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
OTHERS, FORK, PYARROW = "tests/test_subinterpreters.py::", "tests/test_fork.py::", "tests/test_objects_pyarrow.py::"
REFUSED = OTHERS + "test_is_refused"

MUTANTS = [
    Mutant(
        "every-interpreter-is-the-main-one",
        SHARED + "cpython.py",
        "IS_MAIN = not _interpreter_id(_current_interpreter())",
        "IS_MAIN = True",
        (REFUSED + "_without_numpy[Arrow schema-legacy]",),
        "a consumer that returns the memory waits for ever, or crashes",
    ),
    Mutant(
        "no-interpreter-is-the-main-one",
        SHARED + "cpython.py",
        "IS_MAIN = not _interpreter_id(_current_interpreter())",
        "IS_MAIN = bool(_interpreter_id(_current_interpreter()))",
        (OTHERS + "test_the_main_interpreter_lends_while_another_lives",),
        "nothing is lent where it could be",
    ),
    Mutant(
        "main-is-never-required",
        SHARED + "cpython.py",
        "    if not IS_MAIN:\n",
        "    if False:\n",
        (REFUSED + "_without_numpy[Arrow array-legacy]",),
        "a consumer that returns the memory waits for ever, or crashes",
    ),
    Mutant(
        "main-is-required-by-another-error",
        SHARED + "cpython.py",
        "        raise InterpreterError(\n",
        "        raise BufferError(\n",
        (REFUSED + "_without_numpy[Arrow array-legacy]",),
        "who catches BuflendError does not catch it",
    ),
    Mutant(
        "main-is-asked-for-without-a-way-out",
        SHARED + "cpython.py",
        "pass bytes, or a memoryview (as_memoryview), or export in the main ",
        "export in the main ",
        (REFUSED + "_without_numpy[Arrow array-legacy]",),
        "the error does not say what to do",
    ),
    Mutant(
        "arrow-of-any-interpreter",
        SHARED + "arrow_release.py",
        'require_main("Arrow export")  # before',
        "pass  # before",
        (REFUSED + "_without_numpy[Arrow array, again-legacy]",),
        "a consumer that returns the memory waits for ever, or crashes",
    ),
    Mutant(
        "dlpack-by-callbacks-of-any-interpreter",
        SHARED + "dlpack_light.py",
        'require_main("DLPack export")  # before',
        "pass  # before",
        (REFUSED + "_without_numpy[DLPack-legacy]",),
        "a consumer that returns the memory waits for ever, or crashes",
    ),
    Mutant(
        "dlpack-through-numpy-of-any-interpreter",
        SHARED + "dlpack_export.py",
        '    require_main("DLPack export")\n',
        "",
        (REFUSED + "_with_numpy[DLPack of CUDA memory]",),
        "a consumer that returns the memory waits for ever, or crashes",
    ),
    Mutant(
        "bytes-of-any-interpreter",
        SHARED + "dlpack_export.py",
        "    if _IS_OLD or not IS_MAIN:\n        return exporter",
        "    if _IS_OLD:\n        return exporter",
        (REFUSED + "_with_numpy[DLPack]",),
        "a consumer that returns the memory waits for ever, or crashes",
    ),
    Mutant(
        "arrays-of-any-interpreter",
        SHARED + "dlpack_export.py",
        "    if _IS_OLD or not IS_MAIN:\n        raise BufferError",
        "    if _IS_OLD:\n        raise BufferError",
        (OTHERS + "test_an_array_of_numpy_is_not_lent_there",),
        "a consumer that returns the memory waits for ever, or crashes",
    ),
    Mutant(
        "error-of-interpreters-is-no-buflend-error",
        SHARED + "errors.py",
        "class InterpreterError(BuflendError, BufferError):",
        "class InterpreterError(BufferError):",
        (REFUSED + "_without_numpy[Arrow array-legacy]",),
        "who catches BuflendError does not catch it",
    ),
    Mutant(
        "error-of-interpreters-is-no-buffer-error",
        SHARED + "errors.py",
        "class InterpreterError(BuflendError, BufferError):",
        "class InterpreterError(BuflendError, RuntimeError):",
        (REFUSED + "_without_numpy[Arrow array-legacy]",),
        "a consumer that catches what DLPack says does not catch it",
    ),
    Mutant(
        "numpy-tried-for-each-buffer",
        MAXIMAL + "dlpack.py",
        "memory._device is CPU and not _is_missing:",
        "memory._device is CPU:",
        (FORK + "test_an_import_that_failed_is_not_tried_again",),
        "a child that is forked into an import that fails waits for ever",
    ),
    Mutant(
        "numpy-tried-for-each-export",
        MAXIMAL + "dlpack.py",
        '    if not _is_missing or sys.modules.get("numpy") is not None:\n',
        "    if True:\n",
        (FORK + "test_an_import_that_failed_is_not_tried_again",),
        "a child that is forked into an import that fails waits for ever",
    ),
    Mutant(
        "numpy-that-failed-is-forgotten",
        MAXIMAL + "dlpack.py",
        "            _is_missing = True\n",
        "            _is_missing = False\n",
        (FORK + "test_an_import_that_failed_is_not_tried_again",),
        "a child that is forked into an import that fails waits for ever",
    ),
    Mutant(
        "numpy-that-is-kept-out-is-tried",
        MAXIMAL + "dlpack.py",
        'sys.modules.get("numpy") is not None:',
        '"numpy" in sys.modules:',
        (FORK + "test_an_import_that_failed_is_not_tried_again",),
        "a child that is forked into an import that fails waits for ever",
    ),
    Mutant(
        "numpy-that-came-later-is-not-seen",
        MAXIMAL + "dlpack.py",
        '    if not _is_missing or sys.modules.get("numpy") is not None:\n',
        "    if not _is_missing:\n",
        (FORK + "test_numpy_that_is_imported_later_is_seen",),
        "exports stay by callbacks, which lose exceptions",
    ),
    Mutant(
        "numpy-that-came-later-stays-missing",
        MAXIMAL + "dlpack.py",
        "            _is_missing = False\n            return",
        "            return",
        (FORK + "test_numpy_that_is_imported_later_is_seen",),
        "each export takes the long way for ever",
    ),
    Mutant(
        "type-asked-for-with-each-chunk",
        MAXIMAL + "arrow_pyarrow.py",
        "[_of_buffers(pa, field, data, kind) for data in form.chunks]",
        "[_of_buffers(pa, field, data, to_field(field).type) for data in form.chunks]",
        (PYARROW + "test_no_type_is_asked_for_again_with_each_chunk[int32]",),
        "a stream of small chunks takes a third longer",
        peers=("pyarrow",),
    ),
    Mutant(
        "maker-for-each-chunk",
        MAXIMAL + "arrow_pyarrow.py",
        "[_of_buffers(pa, field, data, kind) for data in form.chunks]",
        "[_maker(field, data)() for data in form.chunks]",
        (PYARROW + "test_no_type_is_asked_for_again_with_each_chunk[bool]",),
        "a stream of small chunks takes a third longer",
        peers=("pyarrow",),
    ),
    Mutant(
        "children-left-out",
        MAXIMAL + "arrow_pyarrow.py",
        "    if not field.children and field.dictionary is None:\n",
        "    if field.dictionary is None:\n",
        ("tests/test_column_arrow.py::TestRequestedSchema::test_the_same_type[pyarrow-__arrow_c_array__]",),
        "structs have no fields",
        peers=("pyarrow",),
    ),
    Mutant(
        "offset-of-a-chunk-left-out",
        MAXIMAL + "arrow_pyarrow.py",
        "        return pa.Array.from_buffers(kind, data.length, buffers, data.null_count, data.offset)\n",
        "        return pa.Array.from_buffers(kind, data.length, buffers, data.null_count)\n",
        ("tests/test_column_arrow.py::TestRequestedSchema::test_the_same_type[pyarrow-__arrow_c_stream__]",),
        "a chunk that was cut begins at another's elements",
        peers=("pyarrow",),
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
