"""A machine that makes, cuts, exports, takes, copies and drops things, while a plain model says who holds whom.

Lives here: the rules, and what must be true after each. Must not know: which libraries there are, how long it runs.
Imported by tests, as `from .machine import Machine`. Where there is nothing that a rule needs, the rule makes that.
"""

import copy
import gc
import itertools
import pickle
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from buflend import minimal
from buflend.maximal import as_buffer, as_column, as_ndarray, as_table, live_exports

from . import holding, lifetimes, ways
from .failing import FAILING, FAILURES, REFUSALS
from .holding import Handle, Piece
from .lifetimes import SIZE, Life
from .sources import SOURCES, chunks
from .ways import EXPORTS, LEVELS, NUMPY, TAKERS

if TYPE_CHECKING:
    from .arrow_producer import Log

CHUNKED = "Arrow stream in chunks"
NUMBER = st.integers(0, 2**16)  # the number of a choice: it is taken modulo how many there are
# What the model does not follow: it reads some of the columns, or one chunk, or memory beside the elements.
NOT_TAKEN = {"nobody", "data of a column", "column of a table"}
ONE_CHUNK = {"stream in C", "nanoarrow.c_array_stream", "pandas.api.interchange"}
NOT_EXPORTED = {"interchange buffer", "dataframe_to_ndarrays", "minimal.dataframe_to_ndarrays"}
# What is one array: of several columns or chunks a copy, or absent.
ARRAYS = {
    "array",
    "array interface",
    "column_to_ndarray",
    "dlpack",
    "dlpack before 1.0",
    "dlpack copy",
    "minimal.column_to_ndarray",
}

done: Counter[str] = Counter()
"""What was done, in all sequences."""


class Machine(RuleBasedStateMachine):
    """One sequence: what there is, and the model."""

    libraries: frozenset[str] = frozenset()

    def __init__(self) -> None:
        super().__init__()
        lifetimes.flush()
        gc.collect(0)
        gc.freeze()
        self.mapped = lifetimes.mapped()
        self.mapped.__enter__()
        self.handles: list[Handle] = []
        self.lives: list[Life] = []
        self.parked: set[int] = set()
        self.loans: dict[int, tuple[str, int]] = {}
        self.logs: list[Log] = []
        self.numbers = itertools.count()

    # The model.

    def _has(self, library: str) -> bool:
        return not library or library in self.libraries

    def _pick(self, number: int, fits: Callable[[Handle], Any]) -> Handle | None:
        found = [handle for handle in self.handles if fits(handle)]
        return found[number % len(found)] if found else None

    def _keep(self, what: str, obj: Any, like: Handle, columns: tuple[holding.Column, ...], **options: Any) -> None:
        """Note a thing that holds some columns; made of another one."""
        level = options.pop("level", None) or ways.level_of(obj)
        read = options.pop("read", None) or ways.OWN.get(level)
        content = holding.content(columns, self.lives) if columns else like.content
        done[what] += 1
        self.handles.append(Handle(f"{what} of {like.what}", obj, level, columns, content, read, **options))

    def _loan(self, kind: str) -> Callable[[int], int]:
        def number(owner: int) -> int:
            made = next(self.numbers)
            self.loans[made] = kind, owner
            return made

        return number

    def _owners(self) -> set[int]:
        return set().union(*(handle.owners for handle in self.handles))

    # What can be done. Where there is nothing that a rule needs, it makes that.

    @initialize(number=NUMBER, which=NUMBER)
    def begin(self, number: int, which: int) -> None:
        self.lend(number)
        self.wrap(-1, which)
        if which % 2:  # what was made of it must hold the owner
            self.handles.pop(-2)

    @rule(number=NUMBER)
    def lend(self, number: int) -> None:
        names = [CHUNKED, *(name for name, how in SOURCES.items() if self._has(how.library))]
        name, first = names[number % len(names)], len(self.lives)
        content = bytes((first * 37 + i) % 127 for i in range(SIZE))  # pyarrow's buffers export signed bytes
        if name == CHUNKED:
            obj, lives, log = chunks(content)
            self.logs.append(log)
        else:
            obj, life = SOURCES[name].make(content)
            lives = [life]
        self.lives += lives
        column = tuple(Piece(first + i, 0, SIZE) for i in range(len(lives)))
        done[f"lend {name}"] += 1
        self.handles.append(Handle(name, obj, "source", (column,), holding.content((column,), self.lives)))

    @rule(number=NUMBER, which=NUMBER)
    def wrap(self, number: int, which: int) -> None:
        handle = self._pick(number, lambda h: h.level == "source")
        if handle is None:
            self.lend(number)
            handle = self.handles[-1]
        gives = handle.what != CHUNKED and SOURCES[handle.what].gives
        levels = ["column"] if handle.what == CHUNKED else SOURCES[handle.what].read.split()
        level = levels[which % len(levels)]
        made = LEVELS[level](handle.obj)
        options = {"read": ways.NDARRAY.read, "cuts": True} if level.endswith("arrays") else {}
        self._keep(f"wrap as {level}", made, handle, handle.holds, **options)
        if gives:
            handle.level, handle.holds = "spent", ()

    @rule(number=NUMBER, low=NUMBER, high=NUMBER)
    def cut(self, number: int, low: int, high: int) -> None:
        handle = self._pick(number, lambda h: h.size > 1 and (h.level in ways.OWN or (h.level == "taken" and h.cuts)))
        if handle is None:
            self.begin(number, number // 32)
            return
        low %= handle.size
        high = low + 1 + high % (handle.size - low)
        columns = tuple(holding.cut(column, low, high) for column in handle.holds)
        if handle.level in ("minimal", "buffer"):
            view = (minimal.as_ndarray if handle.level == "minimal" else as_ndarray)(
                handle.obj, offset=low, shape=high - low
            )
            self._keep("part as an array", view, handle, columns, level="taken", read=ways.NDARRAY.read, cuts=True)
        else:
            slices = getattr(handle.obj, "slice", None) if handle.read is ways.PYARROW.read else None
            part = handle.obj[low:high] if slices is None else slices(low, high - low)
            self._keep("part", part, handle, columns, level=handle.level, read=handle.read, cuts=True)

    @rule(number=NUMBER, which=NUMBER)
    def pick(self, number: int, which: int) -> None:
        """Take a column out of a table, a field out of a struct, a chunk out of a column."""
        handle = self._pick(number, lambda h: h.holds and h.level in ("table", "struct", "column"))
        if handle is None:
            self.begin(number, number // 32)
            return
        obj, column = handle.obj, handle.holds[which % len(handle.holds)]
        if handle.level == "table":
            self._keep("column", obj.columns[which % len(handle.holds)], handle, (column,))
        elif handle.level == "struct" and not handle.is_chunked:
            self._keep("field", obj.children[which % len(handle.holds)], handle, (column,))
        elif handle.level == "column":
            self._keep("chunk", obj.chunks[which % len(column)], handle, ((column[which % len(column)],),))

    @rule(first=NUMBER, second=NUMBER)
    def tabulate(self, first: int, second: int) -> None:
        one = self._pick(first, lambda h: h.level == "column" and h.holds)
        if one is None:
            self.begin(first, second)
            return
        two = self._pick(second, lambda h: h.level == "column" and h.holds and h.size == one.size)
        assert two is not None
        self._keep("table", as_table({"x": one.obj, "y": two.obj}), one, (*one.holds, *two.holds))

    @rule(number=NUMBER, which=NUMBER)
    def export(self, number: int, which: int) -> None:
        handle = self._pick(number, lambda h: h.level in ways.OWN and h.holds)
        if handle is None:
            self.begin(number, number // 32)
            return
        level = "table" if handle.level == "struct" else handle.level
        names = [name for name, how in EXPORTS.items() if level in how.levels.split() and self._has(how.library)]
        name = names[which % len(names)]
        how = EXPORTS[name]
        pieces = [piece for column in handle.holds for piece in column]
        joined = len(pieces) > 1  # into one array
        if name in NOT_EXPORTED or (handle.level == "struct" and (name in ARRAYS or how.group == "dataframe")):
            return
        if joined and name in ARRAYS and len(handle.owners) < len(pieces):
            return  # columns of one owner may lie evenly, or not
        try:
            handed = how.make(handle.obj)
        except REFUSALS:
            done[f"refused: {name} of {'many' if joined else 'one'}"] += 1
            return
        columns = handle.holds
        if how.copies or (joined and name in ARRAYS):
            columns = ()
        elif how.kind in ("dlpack", "arrow"):
            columns = holding.lent(columns, self._loan(how.kind))
        options: dict[str, Any] = {"read": ways.NDARRAY.read, "cuts": True} if how.group == "ndarray" else {}
        self._keep(name, handed, handle, columns, level="handed", export=how, made_of=handle.level, **options)

    @rule(number=NUMBER, which=NUMBER)
    def take(self, number: int, which: int) -> None:
        handle = self._pick(number, lambda h: h.export is not None and not h.is_used)
        if handle is None or handle.export is None:
            self.export(number, which)
            return
        level = "table" if handle.made_of == "struct" else handle.made_of
        names = [
            name
            for name, how in TAKERS.items()
            if handle.export.group in how.groups.split(",")
            and level in how.levels.split()
            and self._has(how.library)
            and how.numpy <= NUMPY
            and name not in NOT_TAKEN
            and not (handle.is_chunked and name in ONE_CHUNK)
            and not (level == "table" and how.result is ways.BUFFER)
        ]
        if not names:
            return
        name = names[which % len(names)]
        how = TAKERS[name]
        taken = how.take(handle.obj)
        cuts = how.result.read is how.result.read_view
        options = {} if ways.level_of(taken) in ways.OWN else {"read": how.result.read, "level": "taken", "cuts": cuts}
        self._keep(name, taken, handle, handle.holds, **options)
        # Nobody hands a capsule over twice: who has taken it may have left it as it was, and holds it.
        handle.is_used = handle.export.group in ways.CAPSULES.split(",")
        if how.uses_up:
            handle.holds = ()

    @rule(number=NUMBER, which=NUMBER, who=NUMBER)
    def hand_over(self, number: int, which: int, who: int) -> None:
        """Export, let it be taken, and drop the thing that was exported."""
        self.export(number, which)
        self.take(-1, who)
        if who % 2:
            self.drop(number, elsewhere=False)

    @rule(number=NUMBER, which=NUMBER)
    def read_again(self, number: int, which: int) -> None:
        # What pandas makes of the interchange protocol has pointers: the frame holds the owners, its arrays do not.
        handle = self._pick(number, lambda h: h.level == "taken" and h.holds and "pandas" not in h.what)
        if handle is None:
            self.begin(number, number // 32)
            return
        several = len(handle.holds) > 1
        readers = [as_column, as_table] if several else [as_column, as_buffer, minimal.as_buffer, as_table]
        reader = readers[which % len(readers)]
        try:
            made = reader(handle.obj)
        except REFUSALS:
            done[f"refused: {reader.__module__}.{reader.__name__}"] += 1
            return
        self._keep("read again", made, handle, handle.holds)

    @rule(number=NUMBER, which=st.sampled_from(["copy", "deepcopy", "pickle"]))
    def copy(self, number: int, which: str) -> None:
        handle = self._pick(number, lambda h: h.level in ("buffer", "column", "struct", "table") and h.holds)
        if handle is None:
            self.begin(number, number // 32)
            return
        way = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda obj: pickle.loads(pickle.dumps(obj))}  # noqa: S301
        shares = which == "copy" and handle.level != "buffer"
        self._keep(which, way[which](handle.obj), handle, handle.holds if shares else ())

    @rule(number=NUMBER, which=NUMBER)
    def fail(self, number: int, which: int) -> None:
        handle = self._pick(number, lambda h: h.level in FAILING)
        if handle is None:
            self.begin(number, number // 32)
            return
        ways_to = FAILING[handle.level]
        try:
            ways_to[which % len(ways_to)](handle.obj)
        except FAILURES:
            done[f"failed: {handle.level}"] += 1
        else:
            raise AssertionError(f"accepted: {which % len(ways_to)} of {handle.what}")

    @rule(number=NUMBER, elsewhere=st.booleans())
    def drop(self, number: int, elsewhere: bool) -> None:
        if not self.handles:
            self.begin(number, number // 32)
            return
        handle = self.handles.pop(number % len(self.handles))
        if handle.export is not None and handle.export.is_parked:
            self.parked |= handle.owners
        done["drop"] += 1
        if elsewhere:
            things = [handle]
            del handle
            thread = threading.Thread(target=things.clear)
            thread.start()
            thread.join()

    @rule()
    def collect(self) -> None:
        gc.collect()
        gc.collect()
        self.parked.clear()

    @rule()
    def flush(self) -> None:
        lifetimes.flush()
        self.parked.clear()

    # What must be true.

    @invariant()
    def owners_live_as_long_as_they_are_held(self) -> None:
        held = self._owners()
        for number, life in enumerate(self.lives):
            if number not in self.parked - held:
                wrong = life.fault(held=number in held)
                assert not wrong, f"owner {number}: {wrong}; {[handle.what for handle in self.handles]}"
        for log in self.logs:
            assert not any(name.startswith("?") for name in (*log.schemas, *log.arrays)), "released twice"

    @invariant()
    def what_is_left_reads_its_bytes(self) -> None:
        for handle in self.handles:
            if handle.read is not None:
                assert handle.read(handle.obj) == handle.content, handle.what

    @invariant()
    def what_is_lent_is_listed(self) -> None:
        expected = Counter(self.loans[loan] for loan in set().union(*(handle.loans for handle in self.handles)))
        found: Counter[tuple[str, int]] = Counter()
        for export in live_exports():
            for number, life in enumerate(self.lives):
                is_its = life.is_alive and life.ptr <= export.ptr < life.ptr + SIZE  # NumPy uses addresses again
                if is_its and export.kind != "view":
                    found[export.kind, number] += export.exports
        more = found - expected
        assert not expected - found, f"lent and not listed: {expected - found}"
        assert all(kind == "arrow" and number in self.parked for kind, number in more), f"listed and not lent: {more}"

    def teardown(self) -> None:
        while self.handles:
            self.handles.pop()
        lifetimes.flush()
        self.parked.clear()
        if sys.exc_info()[0] is None:  # else frames of what has failed hold things
            self.owners_live_as_long_as_they_are_held()
            self.what_is_lent_is_listed()
            for log in self.logs:
                streams = log.calls["get_schema"]
                assert (log.streams, len(log.schemas), len(log.arrays)) == (streams, streams, 2 * streams)
        self.mapped.__exit__(None, None, None)
        done["sequences"] += 1
