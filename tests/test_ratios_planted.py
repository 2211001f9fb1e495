"""Twice as long is seen: work that is done twice, planted in a copy of the library, and the ratio that must be missed.

Lives here: what is planted. The copy is that of `mutants`, the ratios are those of `test_ratios`. A plant is a mutant
that takes longer and does the same; how many times as long its ratio becomes is measured, and must be about twice, or
nothing would be shown.
"""

import re
import shutil
from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

MAXIMAL = "maximal/buflend/maximal/"
TEST = "tests/test_ratios.py::test_takes_no_longer_than_it_may[{}]".format
LINE = re.compile(r"^\.?(.+): ([\d.e-]+), at most [\d.]+ \([\d.]+ on a calm machine\)$", re.MULTILINE)
LEAST, MOST = 1.6, 3.5  # times as long: some do all that is measured twice, some what is ours of it
BENCH = ("bars.py", "exchanges.py", "floors.py", "remains.py", "rounds.py")  # beside the package, which the copy has


PLANTS = [
    Mutant(
        "as-ndarray-twice",
        "minimal/buflend/minimal/buffer.py",
        "        return arrays.whole_ndarray(lent, dtype)\n",
        "        arrays.whole_ndarray(lent, dtype)\n        return arrays.whole_ndarray(lent, dtype)\n",
        (TEST("as_ndarray"),),
        "an array is made and thrown away",
    ),
    Mutant(
        "as-buffer-thrice",  # half of the rest is `from_dlpack`
        MAXIMAL + "buffer.py",
        "(short := _over_ndarray(obj)) is not None:\n",
        "(short := (_over_ndarray(obj), _over_ndarray(obj), _over_ndarray(obj))[2]) is not None:\n",
        (TEST("as_buffer"),),
        "two buffers are made and thrown away",
    ),
    Mutant(
        "numpys-method-wrapped",
        MAXIMAL + "buffer.py",
        "        made.__dlpack__ = dlpack.of_array(array)\n",
        "        made.__dlpack__ = lambda _method=dlpack.of_array(array), **given: _method(**given)\n",
        (TEST("from_dlpack"),),
        "what goes out runs Python code again",
    ),
    Mutant(
        "export-twice",
        "shared/buflend/shared/dlpack_export.py",
        "    def make(self, name: bytes, device: Device, *, copied: bool) -> object:\n        options =",
        "    def make(self, name: bytes, device: Device, *, copied: bool) -> object:\n"
        "        self.made(name, device, copied=copied)\n"
        "        return self.made(name, device, copied=copied)\n\n"
        "    def made(self, name: bytes, device: Device, *, copied: bool) -> object:\n        options =",
        (TEST("dlpack-of-cuda"),),
        "a capsule is made and thrown away",
    ),
    Mutant(
        "capsules-thrice",  # the rest finds out what may be offered
        MAXIMAL + "arrow_dunders.py",
        "        return column_arrow.array(self._form or self._make_form(), requested_schema)\n",
        "        for _ in range(2):\n"
        "            column_arrow.array(self._form or self._make_form(), requested_schema)\n"
        "        return column_arrow.array(self._form or self._make_form(), requested_schema)\n",
        (TEST("capsules"),),
        "four capsules are made and thrown away",
    ),
    Mutant(
        "pyarrows-array-twice",
        MAXIMAL + "arrow_dunders.py",
        "        return column_arrow.pyarrow_array(self._form or self._make_form(), type)\n",
        "        column_arrow.pyarrow_array(self._form or self._make_form(), type)\n"
        "        return column_arrow.pyarrow_array(self._form or self._make_form(), type)\n",
        (TEST("column"),),
        "an array is made and thrown away",
        ("pyarrow",),
    ),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mutants.Tree]:
    with mutants.planted(tmp_path_factory.mktemp("planted"), []) as made:
        for name in BENCH:
            shutil.copy2(mutants.REPOSITORY / "asv_bench" / name, made.path / "asv_bench" / name)
        yield made


def test_the_table_is_of_this_tree() -> None:
    assert list(mutants.faults(PLANTS)) == []


def ratios(said: str) -> dict[str, float]:
    """Return the ratios that a run has told."""
    return {name: float(ratio) for name, ratio in LINE.findall(said)}


@mutants.each(PLANTS)
def test_is_seen(mutant: Mutant, tree: mutants.Tree) -> None:
    if lacking := mutants.missing(mutant):
        pytest.skip(f"it is measured with {lacking}")
    whole = tree.run(mutant.tests, "-s", keep=True)
    if left_out := [why for how, why in whole.outcomes.values() if how == "skipped"]:
        pytest.skip(left_out[0])
    assert whole.status == 0, whole.said
    with tree.broken(mutant):
        planted = tree.run(mutant.tests, "-s")
    assert mutants.survived(planted) == "", planted.said
    before, after = ratios(whole.said), ratios(planted.said)
    times = {name: ratio / before[name] for name, ratio in after.items()}
    print(mutant.id, times)  # noqa: T201 - shown where it fails, and with -s
    assert times
    assert all(LEAST < each < MOST for each in times.values()), times
