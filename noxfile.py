"""Test sessions: one per interpreter found, one for the built wheel, one with the oldest NumPy, one for devices.

`make test` runs them all, one after the other. `make test ARGS="-s tests-3.12"` runs one; what follows `--` goes to
pytest: `make test ARGS="-s tests-3.12 -- -k offset"`. An environment is kept until pyproject.toml changes; to make them
all and run nothing: `make test ARGS=--install-only`.

BUFLEND_FRAMEWORKS=1 adds the group `frameworks` to the session of Python 3.11, gigabytes on some platforms, and the
session `devices`, which runs without it where it is named: `make test ARGS="-s devices"`.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import nox

VERSIONS = ("3.11", "3.12", "3.13")
PYENV = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
PROJECT = Path(__file__).parent

# Files are shared out between two processes: half of the tests wait for children, and fixtures are made once a file.
PYTEST = ("pytest", "-n", "2", "--dist", "loadfile")

nox.options.reuse_venv = "yes"
nox.options.error_on_external_run = True


def find(version: str) -> str | None:
    """Return the path of an interpreter of this version that runs: pyenv's shims exist, and fail, for inactive ones."""
    on_path = shutil.which(f"python{version}")
    in_pyenv = sorted(PYENV.glob(f"{version}.*/bin/python"), key=lambda path: path.stat().st_mtime, reverse=True)
    ask = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
    for candidate in [*([on_path] if on_path else []), *map(str, in_pyenv)]:
        answer = subprocess.run([candidate, "-c", ask], capture_output=True, text=True, check=False)
        if answer.returncode == 0 and answer.stdout.startswith(f"{version} "):
            return answer.stdout.split(maxsplit=1)[1].strip()
    return None


FOUND = {version: path for version in VERSIONS if (path := find(version))}
# Tests of the command, which take as long as all others: one Python is enough for what measures the others' libraries.
OF_THE_COMMAND = (
    "bars",
    "battery",
    "battery_shown",
    "benchmarks",
    "compare",
    "compare_devices",
    "dashboard",
    "dashboard_machines",
    "dashboard_offline",
    "dashboard_page",
    "dashboard_refused",
    "dashboard_run",
    "device_lifetime",
    "endure",
    "floors",
    "hostile_shown",
    "make",
    "pages",
    "ratios",
    "slower",
    "tables",
    "timing",
    "turns",
    "who",
    "wording",
)
# The tables of mutants, each a kind of rule.
RULES = (
    "access",
    "arguments",
    "bounds",
    "classes",
    "copies",
    "devices",
    "errors",
    "exports",
    "hostile",
    "interrupts",
    "liars",
    "lies",
    "limits",
    "nulls",
    "offsets",
    "order",
    "owners",
    "parts",
    "pending",
    "process",
    "release",
    "schemas",
    "signals",
    "starts",
    "structs",
    "tensors",
)
# Tests that start many processes of their own, whatever the Python: of checks, and of the tests themselves.
OF_THE_TESTS = (
    "gpu_check",
    "gpu_check_parts",
    "hostile_oracle",
    "hostile_places",
    "mutants",
    "ratios_planted",
    *(f"mutants_{rule}" for rule in RULES),
)
# The tests on the stand-in for CUDA, a process for each file: one Python is enough, in CI the one with all libraries.
STAND_IN = "fake_cuda"
ON_ONE_PYTHON = (*OF_THE_COMMAND, *OF_THE_TESTS, STAND_IN)
# Those of libraries of GPUs.
OF_DEVICES = (
    "cuda_library",
    "cupy",
    "driverless",
    "driverless_jax",
    "driverless_peers",
    "export_consumers",
    "export_exits",
    "export_pending",
    "guard_peers",
    "interfaces_import",
    "no_driver",
    "streams",
    "streams_host",
    STAND_IN,
)
# Those of what differs from interpreter to interpreter: its own protocols, how it counts, collects, forks and leaves.
OF_AN_INTERPRETER = (
    "arrow_export",
    "arrow_reuse",
    "buffer",
    "callbacks",
    "column_exits",
    "dlpack_export",
    "dlpack_import",
    "endure",
    "export_exits",
    "export_pending",
    "fork",
    "hostile",
    "ladder",
    "lifetime",
    "lifetimes_machine",
    "lifetimes_table",
    "light",
    "light_export",
    "loans",
    "pickle",
    "races",
    "signals",
    "signals_anywhere",
    "subinterpreters",
    "threads",
    "views",
)
FRAMEWORKS = bool(os.environ.get("BUFLEND_FRAMEWORKS"))
# They read frames that its producer makes.
FED_BY_IT = ("battery_here", "contradictions", "producer", "reader", "refusals")
NOT_FOUND = f"no working interpreter on PATH or in {PYENV}"


def install(session: nox.Session, *arguments: str) -> None:
    """Install with pip, unless the same was installed before. What is imported is compiled then, and the rest never."""
    recipe = hashlib.sha256((PROJECT / "pyproject.toml").read_bytes() + repr(arguments).encode()).hexdigest()
    stamp = Path(session.virtualenv.location) / f"installed-{recipe[:16]}"
    if not stamp.exists():
        session.install("--no-compile", "pip>=25.1")
        session.install("--no-compile", *arguments)
        stamp.touch()


def left_out(*names: str) -> list[str]:
    """Return the options that leave out test files."""
    return [f"--ignore={Path('tests', f'test_{name}.py')}" for name in names]


def tests(session: nox.Session) -> None:
    """Run the tests and doctests on the checkout; those of the command on one Python.

    Where all sessions run, as in CI, that is the oldest, and `wheel` runs those without peers on the newest: here each
    Python but the oldest runs those with peers, and one in between also those of what differs between interpreters.
    """
    install(session, "--editable", ".", "--group", "test")
    if FRAMEWORKS and session.name == "tests-3.11":
        install(session, "--group", "frameworks")
    everything = session.name == f"tests-{min(FOUND)}"
    elsewhere = ON_ONE_PYTHON if not everything else (STAND_IN,) if FRAMEWORKS else ()
    with_peers = ("-m", "peers") if FRAMEWORKS and not everything else ()
    session.run(*PYTEST, *with_peers, *left_out(*elsewhere), *session.posargs)
    if with_peers and session.name != f"tests-{max(FOUND)}":
        paths = [str(Path("tests", f"test_{name}.py")) for name in OF_AN_INTERPRETER]
        session.run(*PYTEST, "-m", "not peers", *paths, *session.posargs)


def wheel(session: nox.Session) -> None:
    """Build sdist and wheel; run the sdist's tests on the installed wheel, from a third folder.

    Left out are those of the command, which is not in the wheel, and those with peers: the wheel holds the tree, as
    `test_wheel` shows.
    """
    install(session, "--editable", ".", "--group", "test")
    neutral = Path(session.create_tmp()).resolve() / "built"
    shutil.rmtree(neutral, ignore_errors=True)
    build = ("python", "-m", "build", "--no-isolation", "--outdir", str(neutral), str(PROJECT))
    if session.run(*build, silent=True) is None:
        return  # nothing is run with --install-only
    (sdist,) = neutral.glob("*.tar.gz")
    (built,) = neutral.glob("*.whl")
    shutil.unpack_archive(sdist, neutral)
    tree = neutral / sdist.name.removesuffix(".tar.gz")
    session.install("--force-reinstall", "--no-deps", str(built))
    session.chdir(neutral)
    settings = ["--config-file", str(tree / "pyproject.toml"), "--rootdir", str(tree), "-o", "pythonpath="]
    parts = [f"buflend.{part}" for part in ("minimal", "maximal", "shared", "bench")]
    elsewhere = [f"--ignore={tree / 'tests' / f'test_{name}.py'}" for name in (*ON_ONE_PYTHON, *FED_BY_IT)]
    installed = {"BUFLEND_TEST_INSTALLED": "1"}  # makes the tests fail where they meet the checkout
    run = [*PYTEST, "-m", "not peers", *settings, *elsewhere, str(tree / "tests"), "--pyargs", *parts]
    session.run(*run, *session.posargs, env=installed)


def oldest(session: nox.Session) -> None:
    """Run the tests that need only NumPy, with the lowest that is supported and no peer."""
    install(session, "--editable", ".", "--group", "oldest")
    run = [*PYTEST, "-m", "not peers", *left_out(*ON_ONE_PYTHON), "tests", "minimal", "shared"]
    session.run(*run, *session.posargs)


def devices(session: nox.Session) -> None:
    """Run the tests of memory on devices with CuPy, cuda.core, numba-cuda, JAX and the CUDA runtime, without a device.

    Some 310 MB are downloaded, PyTorch is not among them, and no driver is needed.
    """
    install(session, "--editable", ".", "--group", "devices")
    paths = [str(Path("tests", f"test_{name}.py")) for name in OF_DEVICES]
    # Each file on the stand-in is one test of `test_fake_cuda`, a minute long: they are shared out one by one.
    session.run("pytest", "-n", "2", "--dist", "worksteal", "-m", "peers or fake_cuda", *paths, *session.posargs)


def register(name: str, function: object, version: str | None, *, default: bool = True) -> None:
    """Make a session for an interpreter that was found, one that says what is missing otherwise."""

    def missing(session: nox.Session) -> None:
        session.skip(NOT_FOUND)

    if version in FOUND:
        nox.session(function, name=name, python=FOUND[version], default=default)
    else:
        nox.session(missing, name=name, venv_backend="none", default=default)


for each in VERSIONS:
    register(f"tests-{each}", tests, each)
register("wheel", wheel, max(FOUND, default=None))
register("oldest", oldest, "3.11")
register("devices", devices, "3.12" if "3.12" in FOUND else "3.11", default=FRAMEWORKS)
