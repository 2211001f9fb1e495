"""The code in README and docs runs and gives what it says; links between the pages lead somewhere."""

import doctest
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
TOP = [REPOSITORY / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")]
PAGES = [*TOP, *sorted((REPOSITORY / "docs").glob("*.md"))]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")
# What an environment with nothing but the oldest NumPy cannot run: peers, and what reads DLPack as NumPy 2.1 does.
PEER = re.compile(r"\b(?:pandas|polars|pyarrow|from_dlpack)\b")


def runnable() -> list[object]:
    """Return the pages with code; those that need more than the oldest NumPy are marked."""
    found: list[object] = []
    for page in PAGES:
        code = "\n".join(FENCE.findall(page.read_text("utf-8")))
        if code:
            found.append(pytest.param(code, id=page.name, marks=[pytest.mark.peers] if PEER.search(code) else []))
    return found


@pytest.mark.parametrize("code", runnable())
def test_code_runs(code: str) -> None:
    examples = doctest.DocTestParser().get_doctest(code, {}, "page", None, None)
    assert examples.examples
    said: list[str] = []
    failed, tried = doctest.DocTestRunner().run(examples, out=said.append)
    assert failed == 0, "".join(said)
    assert tried == len(examples.examples)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_all_code_is_run(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.count("```") == 2 * len(FENCE.findall(text))
    assert all(">>>" in code for code in FENCE.findall(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [link for link in LINK.findall(page.read_text("utf-8")) if "://" not in link]
    assert [link for link in targets if not (page.parent / link).is_file()] == []


def test_the_first_screen() -> None:
    first = "\n".join((REPOSITORY / "README.md").read_text("utf-8").splitlines()[:30])
    assert FENCE.search(first)
    assert "    make compare\n    make test\n" in first
