"""Mutants of what a producer answers that says it is of another class, or answers otherwise each time: believed."""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
CLASSES = "tests/test_classes.py::"
REFUSED, HELD = CLASSES + "test_what_says_it_is_another_is_refused", CLASSES + "test_"

MUTANTS = [
    Mutant(
        "a-table-is-what-says-so",
        MAXIMAL + "sources.py",
        "    if issubclass(kind, Table):\n",
        "    if isinstance(obj, Table):\n",
        (REFUSED + "[as_table]",),
        "a mock of a Table is handed on as one",
    ),
    Mutant(
        "a-struct-is-what-says-so",
        MAXIMAL + "sources.py",
        "    if issubclass(kind, Column) and found.dtype",
        "    if isinstance(obj, Column) and found.dtype",
        (REFUSED + "[as_table of a column]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "a-mapping-is-what-says-so",
        MAXIMAL + "sources.py",
        "    if issubclass(kind, Mapping):\n",
        "    if isinstance(obj, Mapping):\n",
        (REFUSED + "[as_table of a mapping]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "names-of-columns-are-what-they-say",
        MAXIMAL + "sources.py",
        "        if not issubclass(type(name), str):\n",
        "        if not isinstance(name, str):\n",
        (REFUSED + "[as_table of names]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "libraries-objects-are-what-they-say",
        MAXIMAL + "sources.py",
        "issubclass(type(obj), tuple(getattr(library, name) for name in names))",
        "isinstance(obj, tuple(getattr(library, name) for name in names))",
        (REFUSED + "[as_column of an ndarray]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "shape-as-a-subclass-says",
        MAXIMAL + "sources.py",
        "ndarray.shape.__get__(obj)",
        "obj.shape",
        (HELD + "ndarrays_are_taken_for_what_they_hold",),
        "columns are made that the array does not have",
    ),
    Mutant(
        "type-as-a-subclass-says",
        MAXIMAL + "sources.py",
        "ndarray.dtype.__get__(obj).names",
        "obj.dtype.names",
        (HELD + "ndarrays_are_taken_for_what_they_hold",),
        "columns are made that the array does not have",
    ),
    Mutant(
        "columns-as-a-subclass-cuts-them",
        MAXIMAL + "sources.py",
        "    item = type(obj).__getitem__ if _is",
        "    item = type(obj).__getitem__ if True or _is",
        (HELD + "ndarrays_are_taken_for_what_they_hold",),
        "columns are made of anything",
    ),
    Mutant(
        "interfaces-keep-their-methods",
        MAXIMAL + "found.py",
        "return dict(dict.items(found)) if type(found) is not dict and issubclass(type(found), dict) else found",
        "return found",
        (HELD + "interfaces_are_taken_for_what_they_hold",),
        "a subclass of dict, which NumPy reads, is refused",
    ),
    Mutant(
        "interfaces-are-what-they-say",
        MAXIMAL + "found.py",
        "type(found) is not dict and issubclass(type(found), dict)",
        "type(found) is not dict and isinstance(found, dict)",
        (REFUSED + "[an interface]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "interfaces-as-their-methods-say",
        MAXIMAL + "found.py",
        "dict(dict.items(found))",
        "dict(found.items())",
        (HELD + "interfaces_are_taken_for_what_they_hold",),
        "a subclass of dict answers otherwise at each call",
    ),
    Mutant(
        "shapes-are-what-they-say",
        SHARED + "array_interface.py",
        "    if not issubclass(type(shape), tuple):\n",
        "    if not isinstance(shape, tuple):\n",
        (REFUSED + "[a shape]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "typestrs-are-what-they-say",
        SHARED + "array_interface.py",
        "if type(typestr) is not str and issubclass(type(typestr), str):",
        "if type(typestr) is not str and isinstance(typestr, str):",
        (REFUSED + "[a typestr]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "typestrs-keep-their-methods",
        SHARED + "array_interface.py",
        "        typestr = str.__getitem__(typestr, slice(None))\n",
        "        pass\n",
        (HELD + "texts_are_taken_for_what_they_hold",),
        "a subclass of str, which NumPy reads, is refused",
    ),
    Mutant(
        "addresses-are-what-they-say",
        SHARED + "array_interface.py",
        "    if not issubclass(type(data), tuple):\n",
        "    if not isinstance(data, tuple):\n",
        (HELD + "interfaces_are_taken_for_what_they_hold",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "streams-are-what-they-say",
        MAXIMAL + "cuda_array_interface.py",
        "index(stream) if issubclass(type(stream), int) else 0",
        "index(stream) if isinstance(stream, int) else 0",
        (REFUSED + "[a stream]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "streams-keep-their-methods",
        MAXIMAL + "cuda_array_interface.py",
        "index(stream) if issubclass(type(stream), int) else 0",
        "stream if issubclass(type(stream), int) else 0",
        (HELD + "integers_are_taken_once_as_plain_ones",),
        "a stream that is in any bounds is waited for: the driver crashes",
    ),
    Mutant(
        "pairs-of-capsules-are-what-they-say",
        MAXIMAL + "arrow_source.py",
        "not issubclass(type(given), tuple)",
        "not isinstance(given, tuple)",
        (REFUSED + "[a pair of capsules]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "capsules-of-dlpack-are-what-they-say",
        SHARED + "dlpack_import.py",
        "    if type(capsule) is not CAPSULE:\n",
        "    if not isinstance(capsule, CAPSULE):\n",
        (CLASSES + "test_a_class_that_raises_is_not_asked",),
        "what its class raises goes through, and names no producer",
    ),
    Mutant(
        "capsules-of-arrow-are-what-they-say",
        SHARED + "arrow_import.py",
        "    if type(capsule) is not CAPSULE or not",
        "    if not isinstance(capsule, CAPSULE) or not",
        (CLASSES + "test_a_class_that_raises_is_not_asked",),
        "what its class raises goes through, and names no producer",
    ),
    Mutant(
        "texts-of-frames-are-what-they-say",
        SHARED + "context.py",
        "        if not issubclass(type(value), str):\n",
        "        if not isinstance(value, str):\n",
        (REFUSED + "[a text]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "texts-of-frames-keep-their-methods",
        SHARED + "context.py",
        "        return str.__getitem__(value, slice(None))\n",
        "        return value\n",
        (HELD + "texts_are_taken_for_what_they_hold",),
        "a name is another one each time",
    ),
    Mutant(
        "what-was-raised-is-what-says-so",
        SHARED + "errors.py",
        "        if type(self.got) is Raised:\n",
        "        if isinstance(self.got, Raised):\n",
        (CLASSES + "test_what_an_error_shows_of_a_liar",),
        "the error says that the producer raised, which it did not",
    ),
    Mutant(
        "interface-of-more-bytes-than-any-memory",
        SHARED + "array_interface.py",
        "    if nbytes > _MOST_BYTES:\n",
        "    if False:\n",
        (HELD + "numbers_of_an_interface_that_cannot_be_meant[fields0]",),
        "a number of thousands of digits cannot be put into an error",
    ),
    Mutant(
        "typestr-of-any-number-of-digits",
        SHARED + "array_interface.py",
        " and len(digits) <= _MOST_DIGITS:",
        ":",
        (HELD + "numbers_of_an_interface_that_cannot_be_meant[fields1]",),
        "Python refuses so many digits by an error that names no producer",
    ),
    Mutant(
        "digits-of-any-script",
        SHARED + "array_interface.py",
        "digits.isascii() and digits.isdecimal()",
        "digits.isdecimal()",
        (HELD + "numbers_of_an_interface_that_cannot_be_meant[fields2]",),
        "a type is read that NumPy does not read",
    ),
    Mutant(
        "sizes-that-are-no-numbers",
        SHARED + "array_interface.py",
        "digits.isascii() and digits.isdecimal() and",
        "",
        ("tests/test_interfaces_import.py::TestArrayInterface::test_what_is_no_type_of_data['<fx'-Interface]",),
        "an error of the inside, which names no producer",
    ),
    Mutant(
        "native-is-what-says-so",
        MAXIMAL + "native.py",
        "return kind is not None and issubclass(type(obj), kind)",
        "return kind is not None and isinstance(obj, kind)",
        (HELD + "what_a_buffer_is_natively",),
        "a buffer says that its owner is an array, and it is none",
    ),
    Mutant(
        "what-is-shown-is-what-says-so",
        SHARED + "errors.py",
        "    if type(got) is _Verbatim:\n",
        "    if isinstance(got, _Verbatim):\n",
        (HELD + "what_an_error_shows_of_a_liar_that_cannot_be_shown",),
        "the error itself cannot be shown",
    ),
    Mutant(
        "pairs-as-long-as-they-say",
        MAXIMAL + "arrow_source.py",
        "or tuple.__len__(given) != 2:",
        "or len(given) != 2:",
        (HELD + "pairs_of_capsules_are_as_long_as_they_are",),
        "an error of the inside, which names no producer",
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
