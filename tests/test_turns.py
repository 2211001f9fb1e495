"""Two checkouts are told apart: what one of them makes slower is seen, and the other's library is its own."""

import importlib
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.peers  # what is timed needs a NumPy that asks for versions of DLPack, and pyarrow

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.append(str(REPOSITORY / "asv_bench"))
turns: Any = importlib.import_module("turns")


def test_what_a_checkout_makes_slower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in turns.PARTS:
        shutil.copytree(REPOSITORY / part, tmp_path / part)
    slow = tmp_path / "maximal" / "buflend" / "maximal" / "buffer.py"
    text = slow.read_text("utf-8")
    start = "    reader = _natives.get(type(obj))"
    assert start in text
    slow.write_text(text.replace(start, f"    list(range(1000))\n{start}"), "utf-8")
    monkeypatch.setattr(
        turns, "TIMED", {name: turns.TIMED[name] for name in ("as_buffer", 'as_ndarray(buffer, "int64")')}
    )
    monkeypatch.setattr(sys, "argv", ["turns.py", str(tmp_path), "--rounds", "20"])
    turns.main()
    found = dict(re.findall(r"\| `(.*?)` \| .* \| ([\d.]+) \| [\d.]+-[\d.]+ \|", capsys.readouterr().out))
    assert float(found["as_buffer"]) < 0.5
    assert 0.5 < float(found['as_ndarray(buffer, "int64")']) < 2
    modules = sys.modules["this_tree.maximal"], sys.modules["other_tree.maximal"]
    assert modules[0].Buffer is not modules[1].Buffer
    assert [str(module.__file__).startswith(str(tmp_path)) for module in modules] == [False, True]


@pytest.mark.parametrize("name", turns.TIMED)
def test_each_path_runs(name: str) -> None:
    timed = turns.TIMED[name]
    names = turns.tree(REPOSITORY, "a_tree")
    if timed.package != "numpy":
        pytest.importorskip(timed.package)
        turns.load(timed.package, [names])
    assert turns.Timer(timed.statement, globals=names).timeit(1) > 0


def test_what_is_no_checkout_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["turns.py", str(tmp_path)])
    with pytest.raises(SystemExit):
        turns.main()
    assert "expected a checkout, with the folder shared/buflend/shared" in capsys.readouterr().err
