"""Mutants of how callbacks begin and end: what is pending then, what they show, and how long they live.

Each callback begins and ends alike, so that each has the same mutants, made of one table. Some tests raise at steps of
Python 3.11: newer interpreters see elsewhere what a trace function raises.
"""

import sys
from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="its tests are left out: they need Python 3.11")

SHARED = "shared/buflend/shared/"
FOLLOWED = "tests/test_callbacks.py::test_what_is_pending_is_followed_by_another_error[{}]".format
GONE = "tests/test_callbacks.py::test_what_interrupts_a_callback_is_gone_when_it_was_shown[{}]".format
TAKEN = (
    "tests/test_arrow_stream_export.py::test_what_is_pending_is_taken_before_each_callback[buflend.shared.{}]".format
)
WITHIN = "tests/test_signals_anywhere.py::test_a_callback_calls_within_a_try[buflend.shared.{}]".format

# Callback -> its module, the type of its thunk, its name; and what the two tests above call it.
CALLBACKS = {
    "struct": ("arrow_release", "Release", "release", "array", "array"),
    "capsule": ("arrow_release", "_Destructor", "destructor", "destructor", "capsule"),
    "stream": ("arrow_stream_export", "Release", "release", "stream", "stream"),
    "deleter": ("dlpack_light", "_Callback", "deleter", "deleter", "deleter"),
    "capsule-of-dlpack": ("dlpack_light", "_Callback", "destructor", "light", "destructor"),
}
AGAIN = "        if taken:\n            return let_go[taken] or -again\n"
SHOW = "        if interrupted:\n            raise interrupted.pop()\n"
END = "        return None\n\n    return thunk({}, taking({}))\n".format


def mutants_of(callback: str) -> Iterator[Mutant]:
    """Make the mutants of a callback."""
    module, kind, name, followed, gone = CALLBACKS[callback]
    file, end = f"{SHARED}{module}.py", END(kind, name)
    yield Mutant(
        f"{callback}-takes-nothing",
        file,
        SHOW + end,
        SHOW + end.replace(f"taking({name})", f"lambda *given: {name}(None, None, given)"),
        (FOLLOWED(f"{followed}-whole"),),
        "the error that is pending is taken by a call of the work, and shown; code that it is just ending crashes",
    )
    yield Mutant(
        f"{callback}-sets-nothing-again",
        file,
        AGAIN + SHOW + end,
        SHOW + end,
        (FOLLOWED(f"{followed}-whole"),),
        "nothing is pending any more: code that the exception is just ending crashes",
    )
    yield Mutant(
        f"{callback}-sets-it-by-a-call",
        file,
        AGAIN + SHOW + end,
        AGAIN.replace("-again", "again.__neg__()") + SHOW + end,
        (WITHIN(f"{module}-{name}"),),
        "a handler that raises right after the call leaves nothing pending: the process crashes",
    )
    if callback != "deleter":  # which calls nothing after the owner has gone, whom the test lets interrupt
        yield Mutant(
            f"{callback}-shows-first",
            file,
            AGAIN + SHOW + end,
            SHOW + AGAIN + end,
            (FOLLOWED(f"{followed}-interrupted"),),
            "what interrupted is shown, and nothing is pending any more: the process crashes",
        )
    yield Mutant(
        f"{callback}-held-by-what-it-shows",
        file,
        SHOW + end,
        SHOW.replace(".pop()", "[0]") + end,
        (GONE(gone),),
        "the exception holds the frame, and the frame the exception: what it names stays until a collection",
    )


MUTANTS = [
    Mutant(
        "pending-exception-cleared-and-not-told",
        SHARED + "callback.py",
        '__neg__ = function("Py_IsInitialized", None)',
        '__neg__ = function("PyErr_Clear", None)',
        (FOLLOWED("array-whole"),),
        "nothing is pending any more: code that the exception is just ending crashes",
    ),
    Mutant(
        "capsule-that-sets-nothing",
        SHARED + "callback.py",
        '"PyErr_BadInternalCall"',
        '"PyErr_Clear"',
        (FOLLOWED("array-whole"),),
        "nothing is pending any more: code that the exception is just ending crashes",
    ),
    Mutant(
        "asked-by-a-call",
        SHARED + "callback.py",
        "taken = -pending\n",
        "taken = pending.__neg__()\n",
        (TAKEN("arrow_release"),),
        "a handler that raises right after the call ends the callback",
    ),
    Mutant(
        "errors-alone-are-taken",
        SHARED + "callback.py",
        "anything: Any = BaseException\n        ) -> object:\n            taken",
        "anything: Any = Exception\n        ) -> object:\n            taken",
        (FOLLOWED("array-interrupt"),),
        "a KeyboardInterrupt that is pending ends the callback as it begins",
    ),
    Mutant(
        "thunk-as-mortal-as-its-module",
        SHARED + "callback.py",
        "    immortal(made)\n",
        "",
        ("tests/test_arrow_stream_export.py::test_children_of_a_chunk_are_moved_out",),
        "a consumer calls memory that was freed",
    ),
    *(mutant for callback in CALLBACKS for mutant in mutants_of(callback)),
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
