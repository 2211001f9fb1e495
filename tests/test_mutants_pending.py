"""Mutants of how callbacks begin and end: what is pending then, what they show, and when a struct is freed.

Some tests raise at steps of Python 3.11: newer interpreters see elsewhere what a trace function raises.
"""

import sys
from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="its tests are left out: they need Python 3.11")

SHARED = "shared/buflend/shared/"
CALLBACKS = "tests/test_callbacks.py::"
ANYWHERE = "tests/test_signals_anywhere.py::"
FOLLOWED = CALLBACKS + "test_what_is_pending_is_followed_by_another_error"
GONE = CALLBACKS + "test_what_interrupts_a_callback_is_gone_when_it_was_shown"
LOOKS = "tests/test_arrow_stream_export.py::test_each_callback_looks_for_an_error_first"
WITHIN = ANYWHERE + "test_a_callback_calls_within_a_try"

MUTANTS = [
    # What is asked and set.
    Mutant(
        "pending-exception-cleared-and-not-told",
        SHARED + "callback.py",
        '__neg__ = function("Py_IsInitialized", None)',
        '__neg__ = function("PyErr_Clear", None)',
        (FOLLOWED + "[array-whole]",),
        "nothing is pending any more: code that the exception is just ending crashes",
    ),
    Mutant(
        "capsule-that-sets-nothing",
        SHARED + "callback.py",
        '"PyErr_BadInternalCall"',
        '"PyErr_Clear"',
        (FOLLOWED + "[array-whole]",),
        "nothing is pending any more: code that the exception is just ending crashes",
    ),
    # Arrow's structs.
    Mutant(
        "struct-looks-for-nothing",
        SHARED + "arrow_release.py",
        "        span: Any = range,\n        twice: range = TWICE,\n        anything: Any = BaseException,\n"
        "    ) -> object:\n        try:\n            was_pending = -check\n",
        "        span: Any = range,\n        twice: range = TWICE,\n        anything: Any = BaseException,\n"
        "    ) -> object:\n        try:\n            was_pending = None\n",
        (FOLLOWED + "[array-whole]",),
        "the error that is pending is taken by a call of the work, and shown; code that it is just ending crashes",
    ),
    Mutant(
        "struct-looks-by-a-call",
        SHARED + "arrow_release.py",
        "        span: Any = range,\n        twice: range = TWICE,\n        anything: Any = BaseException,\n"
        "    ) -> object:\n        try:\n            was_pending = -check\n",
        "        span: Any = range,\n        twice: range = TWICE,\n        anything: Any = BaseException,\n"
        "    ) -> object:\n        try:\n            was_pending = check.__neg__()\n",
        (LOOKS + "[buflend.shared.arrow_release]",),
        "a handler that raises right after the call ends the callback",
    ),
    Mutant(
        "struct-sets-nothing-again",
        SHARED + "arrow_release.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(Release, taking(release))\n",
        "        if interrupted:\n            raise interrupted.pop()\n        return None\n\n"
        "    return thunk(Release, taking(release))\n",
        (FOLLOWED + "[array-whole]",),
        "nothing is pending any more: code that the exception is just ending crashes",
    ),
    Mutant(
        "struct-sets-it-by-a-call",
        SHARED + "arrow_release.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(Release, taking(release))\n",
        "        if taken:\n            return let_go[taken] or again.__neg__()\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(Release, taking(release))\n",
        (WITHIN + "[buflend.shared.arrow_release-release]",),
        "a handler that raises right after the call leaves nothing pending: the process crashes",
    ),
    Mutant(
        "struct-shows-first",
        SHARED + "arrow_release.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(Release, taking(release))\n",
        "        if interrupted:\n            raise interrupted.pop()\n        if taken:\n"
        "            return let_go[taken] or -again\n        return None\n\n    return thunk(Release, taking(release))\n",
        (FOLLOWED + "[array-interrupted]",),
        "what interrupted is shown, and nothing is pending any more: the process crashes",
    ),
    Mutant(
        "struct-held-by-what-it-shows",
        SHARED + "arrow_release.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(Release, taking(release))\n",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted[0]\n        return None\n\n    return thunk(Release, taking(release))\n",
        (GONE + "[array]",),
        "the exception holds the frame, and the frame the exception: what it names stays until a collection",
    ),
    # Capsules.
    Mutant(
        "capsule-looks-for-nothing",
        SHARED + "arrow_release.py",
        "        own: int = RELEASE_AT[kind],\n        twice: range = TWICE,\n"
        "        anything: Any = BaseException,\n    ) -> object:\n        try:\n            was_pending = -check\n",
        "        own: int = RELEASE_AT[kind],\n        twice: range = TWICE,\n"
        "        anything: Any = BaseException,\n    ) -> object:\n        try:\n            was_pending = None\n",
        (FOLLOWED + "[destructor-whole]",),
        "the error that is pending is taken by a call of the work, and shown; code that it is just ending crashes",
    ),
    Mutant(
        "capsule-looks-by-a-call",
        SHARED + "arrow_release.py",
        "        own: int = RELEASE_AT[kind],\n        twice: range = TWICE,\n"
        "        anything: Any = BaseException,\n    ) -> object:\n        try:\n            was_pending = -check\n",
        "        own: int = RELEASE_AT[kind],\n        twice: range = TWICE,\n"
        "        anything: Any = BaseException,\n    ) -> object:\n        try:\n"
        "            was_pending = check.__neg__()\n",
        (LOOKS + "[buflend.shared.arrow_release]",),
        "a handler that raises right after the call ends the callback",
    ),
    Mutant(
        "capsule-sets-nothing-again",
        SHARED + "arrow_release.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Destructor, taking(destructor))\n",
        "        if interrupted:\n            raise interrupted.pop()\n        return None\n\n"
        "    return thunk(_Destructor, taking(destructor))\n",
        (FOLLOWED + "[destructor-whole]",),
        "nothing is pending any more: code that the exception is just ending crashes",
    ),
    Mutant(
        "capsule-sets-it-by-a-call",
        SHARED + "arrow_release.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Destructor, taking(destructor))\n",
        "        if taken:\n            return let_go[taken] or again.__neg__()\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Destructor, taking(destructor))\n",
        (WITHIN + "[buflend.shared.arrow_release-destructor]",),
        "a handler that raises right after the call leaves nothing pending: the process crashes",
    ),
    Mutant(
        "capsule-shows-first",
        SHARED + "arrow_release.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Destructor, taking(destructor))\n",
        "        if interrupted:\n            raise interrupted.pop()\n        if taken:\n"
        "            return let_go[taken] or -again\n        return None\n\n    return thunk(_Destructor, taking(destructor))\n",
        (FOLLOWED + "[destructor-interrupted]",),
        "what interrupted is shown, and nothing is pending any more: the process crashes",
    ),
    Mutant(
        "capsule-held-by-what-it-shows",
        SHARED + "arrow_release.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Destructor, taking(destructor))\n",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted[0]\n        return None\n\n    return thunk(_Destructor, taking(destructor))\n",
        (GONE + "[capsule]",),
        "the exception holds the frame, and the frame the exception: what it names stays until a collection",
    ),
    # Streams.
    Mutant(
        "stream-looks-for-nothing",
        SHARED + "arrow_stream_export.py",
        "        twice: range = TWICE,\n        anything: Any = BaseException,\n    ) -> object:\n        try:\n"
        "            was_pending = -check\n",
        "        twice: range = TWICE,\n        anything: Any = BaseException,\n    ) -> object:\n        try:\n"
        "            was_pending = None\n",
        (FOLLOWED + "[stream-whole]",),
        "the error that is pending is taken by a call of the work, and shown; code that it is just ending crashes",
    ),
    Mutant(
        "stream-looks-by-a-call",
        SHARED + "arrow_stream_export.py",
        "        twice: range = TWICE,\n        anything: Any = BaseException,\n    ) -> object:\n        try:\n"
        "            was_pending = -check\n",
        "        twice: range = TWICE,\n        anything: Any = BaseException,\n    ) -> object:\n        try:\n"
        "            was_pending = check.__neg__()\n",
        (LOOKS + "[buflend.shared.arrow_stream_export]",),
        "a handler that raises right after the call ends the callback",
    ),
    Mutant(
        "stream-sets-nothing-again",
        SHARED + "arrow_stream_export.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(Release, taking(release))\n",
        "        if interrupted:\n            raise interrupted.pop()\n        return None\n\n"
        "    return thunk(Release, taking(release))\n",
        (FOLLOWED + "[stream-whole]",),
        "nothing is pending any more: code that the exception is just ending crashes",
    ),
    Mutant(
        "stream-sets-it-by-a-call",
        SHARED + "arrow_stream_export.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(Release, taking(release))\n",
        "        if taken:\n            return let_go[taken] or again.__neg__()\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(Release, taking(release))\n",
        (WITHIN + "[buflend.shared.arrow_stream_export-release]",),
        "a handler that raises right after the call leaves nothing pending: the process crashes",
    ),
    Mutant(
        "stream-shows-first",
        SHARED + "arrow_stream_export.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(Release, taking(release))\n",
        "        if interrupted:\n            raise interrupted.pop()\n        if taken:\n"
        "            return let_go[taken] or -again\n        return None\n\n    return thunk(Release, taking(release))\n",
        (FOLLOWED + "[stream-interrupted]",),
        "what interrupted is shown, and nothing is pending any more: the process crashes",
    ),
    Mutant(
        "stream-held-by-what-it-shows",
        SHARED + "arrow_stream_export.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(Release, taking(release))\n",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted[0]\n        return None\n\n    return thunk(Release, taking(release))\n",
        (GONE + "[stream]",),
        "the exception holds the frame, and the frame the exception: what it names stays until a collection",
    ),
    # DLPack's structs.
    Mutant(
        "deleter-looks-for-nothing",
        SHARED + "dlpack_light.py",
        "        free: Any = raw_free,\n        twice: range = _TWICE,\n        anything: Any = BaseException,\n"
        "    ) -> object:\n        try:\n            was_pending = -check\n",
        "        free: Any = raw_free,\n        twice: range = _TWICE,\n        anything: Any = BaseException,\n"
        "    ) -> object:\n        try:\n            was_pending = None\n",
        (FOLLOWED + "[deleter-whole]",),
        "the error that is pending is taken by a call of the work, and shown; code that it is just ending crashes",
    ),
    Mutant(
        "deleter-looks-by-a-call",
        SHARED + "dlpack_light.py",
        "        free: Any = raw_free,\n        twice: range = _TWICE,\n        anything: Any = BaseException,\n"
        "    ) -> object:\n        try:\n            was_pending = -check\n",
        "        free: Any = raw_free,\n        twice: range = _TWICE,\n        anything: Any = BaseException,\n"
        "    ) -> object:\n        try:\n            was_pending = check.__neg__()\n",
        (LOOKS + "[buflend.shared.dlpack_light]",),
        "a handler that raises right after the call ends the callback",
    ),
    Mutant(
        "deleter-sets-nothing-again",
        SHARED + "dlpack_light.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Callback, taking(deleter))\n",
        "        if interrupted:\n            raise interrupted.pop()\n        return None\n\n"
        "    return thunk(_Callback, taking(deleter))\n",
        (FOLLOWED + "[deleter-whole]",),
        "nothing is pending any more: code that the exception is just ending crashes",
    ),
    Mutant(
        "deleter-sets-it-by-a-call",
        SHARED + "dlpack_light.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Callback, taking(deleter))\n",
        "        if taken:\n            return let_go[taken] or again.__neg__()\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Callback, taking(deleter))\n",
        (WITHIN + "[buflend.shared.dlpack_light-deleter]",),
        "a handler that raises right after the call leaves nothing pending: the process crashes",
    ),
    Mutant(
        "deleter-shows-first",
        SHARED + "dlpack_light.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Callback, taking(deleter))\n",
        "        if interrupted:\n            raise interrupted.pop()\n        if taken:\n"
        "            return let_go[taken] or -again\n        return None\n\n    return thunk(_Callback, taking(deleter))\n",
        (FOLLOWED + "[deleter-interrupted]",),
        "what interrupted is shown, and nothing is pending any more: the process crashes",
    ),
    Mutant(
        "deleter-held-by-what-it-shows",
        SHARED + "dlpack_light.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Callback, taking(deleter))\n",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted[0]\n        return None\n\n    return thunk(_Callback, taking(deleter))\n",
        (GONE + "[deleter]",),
        "the exception holds the frame, and the frame the exception: what it names stays until a collection",
    ),
    # DLPack's capsules.
    Mutant(
        "capsule-of-dlpack-looks-for-nothing",
        SHARED + "dlpack_light.py",
        "        find: Any = _live.get,\n        twice: range = _TWICE,\n        anything: Any = BaseException,\n"
        "    ) -> object:\n        try:\n            was_pending = -check\n",
        "        find: Any = _live.get,\n        twice: range = _TWICE,\n        anything: Any = BaseException,\n"
        "    ) -> object:\n        try:\n            was_pending = None\n",
        (FOLLOWED + "[light-whole]",),
        "the error that is pending is taken by a call of the work, and shown; code that it is just ending crashes",
    ),
    Mutant(
        "capsule-of-dlpack-looks-by-a-call",
        SHARED + "dlpack_light.py",
        "        find: Any = _live.get,\n        twice: range = _TWICE,\n        anything: Any = BaseException,\n"
        "    ) -> object:\n        try:\n            was_pending = -check\n",
        "        find: Any = _live.get,\n        twice: range = _TWICE,\n        anything: Any = BaseException,\n"
        "    ) -> object:\n        try:\n            was_pending = check.__neg__()\n",
        (LOOKS + "[buflend.shared.dlpack_light]",),
        "a handler that raises right after the call ends the callback",
    ),
    Mutant(
        "capsule-of-dlpack-sets-nothing-again",
        SHARED + "dlpack_light.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Callback, taking(destructor))\n",
        "        if interrupted:\n            raise interrupted.pop()\n        return None\n\n"
        "    return thunk(_Callback, taking(destructor))\n",
        (FOLLOWED + "[light-whole]",),
        "nothing is pending any more: code that the exception is just ending crashes",
    ),
    Mutant(
        "capsule-of-dlpack-sets-it-by-a-call",
        SHARED + "dlpack_light.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Callback, taking(destructor))\n",
        "        if taken:\n            return let_go[taken] or again.__neg__()\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Callback, taking(destructor))\n",
        (WITHIN + "[buflend.shared.dlpack_light-destructor]",),
        "a handler that raises right after the call leaves nothing pending: the process crashes",
    ),
    Mutant(
        "capsule-of-dlpack-shows-first",
        SHARED + "dlpack_light.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Callback, taking(destructor))\n",
        "        if interrupted:\n            raise interrupted.pop()\n        if taken:\n"
        "            return let_go[taken] or -again\n        return None\n\n    return thunk(_Callback, taking(destructor))\n",
        (FOLLOWED + "[light-interrupted]",),
        "what interrupted is shown, and nothing is pending any more: the process crashes",
    ),
    Mutant(
        "capsule-of-dlpack-held-by-what-it-shows",
        SHARED + "dlpack_light.py",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted.pop()\n        return None\n\n    return thunk(_Callback, taking(destructor))\n",
        "        if taken:\n            return let_go[taken] or -again\n        if interrupted:\n"
        "            raise interrupted[0]\n        return None\n\n    return thunk(_Callback, taking(destructor))\n",
        (GONE + "[destructor]",),
        "the exception holds the frame, and the frame the exception: what it names stays until a collection",
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
