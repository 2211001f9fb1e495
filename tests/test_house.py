"""The rules of the house, read from the source: each rule is a function from a file's syntax to its violations.

`BROKEN` holds a small source that breaks each rule, so that a rule which finds nothing any more is found out.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PARTS = {
    "shared": REPOSITORY / "shared/buflend/shared",
    "minimal": REPOSITORY / "minimal/buflend/minimal",
    "maximal": REPOSITORY / "maximal/buflend/maximal",
    "bench": REPOSITORY / "asv_bench/buflend/bench",
}
LIBRARY = ("shared", "minimal", "maximal")
MAY_IMPORT = {
    "shared": {"shared"},
    "minimal": {"minimal", "shared"},
    "maximal": {"maximal", "shared"},
}
# These measure somebody's ctypes recipe; nothing else in the command has business with pointers.
BENCH_WITH_CTYPES = {
    f"asv_bench/{name}.py"
    for name in (
        *("bars", "buflend/bench/cost", "buflend/bench/lifetime"),  # somebody's ctypes recipe
        *("buflend/bench/hostile/abi", "buflend/bench/hostile/exporters"),  # producers in C
    )
}
MADE_WITH = {"cupy", "numpy"}
# Where a protocol must return another library's object, that library is imported when it is asked for.
ASKED_FOR = {f"maximal/buflend/maximal/{name}.py": {"pyarrow"} for name in ("arrow", "arrow_pyarrow")}
LONGEST = 350  # lines

SOURCES = {
    str(path.relative_to(REPOSITORY)): part for part, root in PARTS.items() for path in sorted(root.rglob("*.py"))
}
LIBRARY_SOURCES = [name for name, part in SOURCES.items() if part in LIBRARY]
BENCH_SOURCES = [name for name, part in SOURCES.items() if part == "bench"]
SCRIPTS = [str(path.relative_to(REPOSITORY)) for path in sorted((REPOSITORY / "asv_bench").glob("*.py"))]
TESTS = [str(path.relative_to(REPOSITORY)) for path in sorted((REPOSITORY / "tests").rglob("*.py"))]


def read(name: str) -> ast.Module:
    """Return the syntax of a file of the checkout."""
    return ast.parse((REPOSITORY / name).read_text("utf-8"))


def imported(node: ast.AST) -> Iterator[str]:
    """Yield the absolute names that one node imports."""
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names)
        case ast.ImportFrom(level=0):
            yield node.module or ""
        case ast.Call(
            func=ast.Name(id="__import__" | "import_module") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=name), *_],
        ):
            yield str(name)


def for_type_checkers(tree: ast.Module) -> set[ast.AST]:
    """Return the nodes under `if TYPE_CHECKING:`, which no interpreter runs."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found.update(inner for statement in node.body for inner in ast.walk(statement))
    return found


def running(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes that an interpreter runs, at import or later."""
    skipped = for_type_checkers(tree)
    yield from (node for node in ast.walk(tree) if node not in skipped)


def ctypes_imports(tree: ast.Module) -> list[str]:
    """Find imports of ctypes."""
    return [name for node in running(tree) for name in imported(node) if name.split(".")[0] in {"ctypes", "_ctypes"}]


def other_parts(tree: ast.Module, part: str, depth: int = 0) -> list[str]:
    """Find imports of a part that this part does not stand on; `depth` counts the folders between part and file."""
    wrong = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level > depth + 1:
            beyond = node.level - depth - 2  # how far above the folder that holds the parts
            names = [node.module] if node.module else [alias.name for alias in node.names]
            targets = [name.split(".")[0] for name in names]
            wrong += [f"{'.' * node.level}{name}" for name in targets if beyond or name not in MAY_IMPORT[part]]
    return wrong


def absolute_parts(tree: ast.Module) -> list[str]:
    """Find imports of buflend by its own name, or of a root by the name of its folder."""
    own = {"asv_bench", "benchmarks", "buflend", *PARTS}
    return [name for node in ast.walk(tree) for name in imported(node) if name.split(".")[0] in own]


def dependencies(tree: ast.Module) -> list[str]:
    """Find imports, in functions too, of anything but the standard library and the makers of arrays."""
    allowed = sys.stdlib_module_names | MADE_WITH
    return [name for node in running(tree) for name in imported(node) if name.split(".")[0] not in allowed]


def of_pythonapi(node: ast.AST, aliases: set[str]) -> bool:
    """Tell whether an expression is `ctypes.pythonapi`, one of these names for it, or reached through one."""
    match node:
        case ast.Attribute(value=value, attr=attribute):
            return attribute == "pythonapi" or of_pythonapi(value, aliases)
        case ast.Subscript(value=value) | ast.Call(func=ast.Name(id="getattr"), args=[value, *_]):
            return of_pythonapi(value, aliases)
        case ast.Name(id=name):
            return name == "pythonapi" or name in aliases
    return False


def changed_prototypes(tree: ast.Module) -> list[str]:
    """Find assignments to attributes of what `ctypes.pythonapi` holds, directly or through a name."""
    aliases: set[str] = set()
    wrong = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and of_pythonapi(node.value, aliases):
            aliases.update(target.id for target in node.targets if isinstance(target, ast.Name))
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets):
                changed = targets
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                changed = [target]
            case ast.Call(func=ast.Name(id="setattr"), args=[first, *_]):
                changed = [ast.Attribute(first, "restype")]
            case _:
                continue
        attributes = [item for item in changed if isinstance(item, ast.Attribute)]
        wrong += [ast.unparse(item) for item in attributes if of_pythonapi(item.value, aliases)]
    return wrong


def undocumented(tree: ast.Module) -> list[str]:
    """Find a file without a docstring."""
    return [] if ast.get_docstring(tree) else ["module"]


Rule = Callable[[ast.Module], list[str]]
RULES_OF_THE_LIBRARY: list[Rule] = [absolute_parts, changed_prototypes, dependencies, undocumented]
RULES_OF_THE_REST: list[Rule] = [changed_prototypes, undocumented]

BROKEN: list[tuple[Rule, str, list[str]]] = [
    (ctypes_imports, "def f():\n    import ctypes.util", ["ctypes.util"]),
    (ctypes_imports, "from ctypes import cast", ["ctypes"]),
    (ctypes_imports, "from importlib import import_module\nimport_module('ctypes')", ["ctypes"]),
    (absolute_parts, "from buflend.shared import CPU", ["buflend.shared"]),
    (absolute_parts, "import minimal.buflend", ["minimal.buflend"]),
    (dependencies, "def f():\n    import pyarrow.compute", ["pyarrow.compute"]),
    (
        changed_prototypes,
        "import ctypes\nctypes.pythonapi.PyList_Append.restype = None",
        ["ctypes.pythonapi.PyList_Append.restype"],
    ),
    (changed_prototypes, "from ctypes import pythonapi\nf = pythonapi.Py_IncRef\nf.argtypes = []", ["f.argtypes"]),
    (
        changed_prototypes,
        "from ctypes import pythonapi\nsetattr(pythonapi.Py_IncRef, 'argtypes', [])",
        ["pythonapi.Py_IncRef.restype"],
    ),
    (undocumented, "x = 1", ["module"]),
]


@pytest.mark.parametrize(("rule", "source", "expected"), BROKEN)
def test_a_rule_finds_what_breaks_it(rule: Rule, source: str, expected: list[str]) -> None:
    assert rule(ast.parse(source)) == expected


def test_type_checkers_may_import_what_interpreters_may_not() -> None:
    tree = ast.parse("TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import pyarrow\nelse:\n    import ctypes")
    assert (dependencies(tree), ctypes_imports(tree)) == ([], ["ctypes"])


@pytest.mark.parametrize(
    ("source", "part", "depth", "expected"),
    [
        ("from ..shared import CPU", "minimal", 0, []),
        ("from .buffer import Buffer", "minimal", 0, []),
        ("from ...shared import CPU", "maximal", 1, []),
        ("from .. import shared", "minimal", 0, []),
        ("from ..maximal import Buffer", "minimal", 0, ["..maximal"]),
        ("from .. import maximal", "minimal", 0, ["..maximal"]),
        ("def f():\n    from ..minimal.buffer import Buffer", "maximal", 0, ["..minimal"]),
        ("from ..minimal import Buffer", "shared", 0, ["..minimal"]),
        ("from ..bench import cli", "shared", 0, ["..bench"]),
        ("from ...shared import CPU", "minimal", 0, ["...shared"]),
    ],
)
def test_the_rule_of_parts(source: str, part: str, depth: int, expected: list[str]) -> None:
    assert other_parts(ast.parse(source), part, depth) == expected


def test_every_part_has_files() -> None:
    assert set(SOURCES.values()) == set(PARTS)


@pytest.mark.parametrize("rule", RULES_OF_THE_LIBRARY)
@pytest.mark.parametrize("name", LIBRARY_SOURCES)
def test_library(name: str, rule: Rule) -> None:
    assert set(rule(read(name))) - ASKED_FOR.get(name, set()) == set()


@pytest.mark.parametrize("rule", RULES_OF_THE_REST)
@pytest.mark.parametrize("name", [*BENCH_SOURCES, *SCRIPTS, *TESTS])
def test_bench_and_tests(name: str, rule: Rule) -> None:
    assert rule(read(name)) == []


@pytest.mark.parametrize("name", LIBRARY_SOURCES)
def test_parts_stand_on_shared_alone(name: str) -> None:
    part = SOURCES[name]
    depth = len((REPOSITORY / name).relative_to(PARTS[part]).parts) - 1
    assert other_parts(read(name), part, depth) == []


@pytest.mark.parametrize("name", [*SOURCES, *SCRIPTS])
def test_ctypes_lives_in_shared(name: str) -> None:
    if SOURCES.get(name) != "shared" and name not in BENCH_WITH_CTYPES:
        assert ctypes_imports(read(name)) == []


@pytest.mark.parametrize("name", LIBRARY_SOURCES)
def test_files_are_short(name: str) -> None:
    assert len((REPOSITORY / name).read_text("utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("root", [root.parent for root in PARTS.values()], ids=PARTS)
def test_the_namespace_has_no_file_of_its_own(root: Path) -> None:
    assert [path.name for path in root.iterdir() if path.is_file()] == []


@pytest.mark.parametrize("part", PARTS)
def test_parts_are_typed(part: str) -> None:
    assert (PARTS[part] / "py.typed").is_file()


def test_no_other_folder_of_source() -> None:
    folders = {path.relative_to(REPOSITORY).parts[0] for path in REPOSITORY.glob("[!.]*/**/*.py")}
    assert folders - {"build", "dist"} == {"asv_bench", "docs", "maximal", "minimal", "shared", "tests"} & folders


# Written in pieces, since this file is read too.
MACHINE_PATHS = re.compile("/(?:" + "home|root|work|Users" + ")/")
REGISTRY_HOSTS = re.compile("pypi" + r"\.org|python" + r"hosted\.org|npm" + r"js\.(com|org)")
TEXT = {"", ".cfg", ".css", ".html", ".j2", ".js", ".json", ".md", ".py", ".toml", ".txt", ".typed", ".yml"}
NOT_OURS = {".asv", "__pycache__", "build", "dist", "node_modules"}
TEXTS = [
    str(path.relative_to(REPOSITORY))
    for top in sorted(REPOSITORY.iterdir())
    if top.name not in NOT_OURS and (not top.name.startswith(".") or top.name in {".ci", ".gitignore"})
    for path in sorted([top] if top.is_file() else top.rglob("*"))
    if path.is_file() and path.suffix in TEXT and not NOT_OURS.intersection(path.parts)
]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("forbidden", [MACHINE_PATHS, REGISTRY_HOSTS], ids=["machine paths", "registry hosts"])
def test_nothing_of_one_machine_is_written_down(name: str, forbidden: re.Pattern[str]) -> None:
    found = forbidden.search((REPOSITORY / name).read_text("utf-8"))
    assert found is None


def test_the_words_are_found() -> None:
    assert MACHINE_PATHS.search("see /" + "home/someone/x")
    assert REGISTRY_HOSTS.search("https://py" + "pi.org/simple")
