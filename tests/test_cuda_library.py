"""Where the CUDA runtime is looked for, and in which order: small libraries under its names, in processes of their own.

The names and the folders are those in which NVIDIA's toolkit and packages have it, the functions those of "CUDA Runtime
API". What a process has found is read from its maps, not asked of the library.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from .fake_cuda.build import CannotBuildError, compiler

NAMES = ("libcudart.so.13", "libcudart.so.12", "libcudart.so")
PACKAGES = ("nvidia/cu13/lib", "nvidia/cuda_runtime/lib")
FUNCTIONS = (
    "EventCreateWithFlags", "EventDestroy", "EventRecord", "EventSynchronize", "GetDevice", "GetDeviceCount",
    "GetErrorString", "GetLastError", "MemcpyAsync", "PointerGetAttributes", "SetDevice", "StreamSynchronize",
    "StreamWaitEvent",
)  # fmt: skip
DRIVER = "libcuda.so.1"
NOT_FOUND = "no CUDA runtime library can be loaded"
PATIENCE = 120  # seconds

CODE = r"""
import json, sys
request = json.loads(sys.argv[1])
sys.path[:] = request["roots"] + sys.path
import ctypes, os
from pathlib import Path
held = [ctypes.CDLL(path) for path in request["loaded"]]
sys.path += [each for each in (Path("x"), b"x", 1, None, "", "no such folder") if request["odd"]] + request["path"]

def mapped():
    return sorted({line.split()[-1] for line in open("/proc/self/maps") if "libcud" in line})

def said(function):
    try:
        return repr(function())
    except Exception as error:
        return f"{type(error).__name__}: {error}"

from buflend.shared import cuda, cuda_library
answers = {}
exec(request["code"])
answers["mapped"] = mapped()
print(json.dumps(answers))
"""
LOOK = """
answers["said"] = said(cuda.device_count)
answers["again"] = said(cuda.device_count)
"""


class Libraries(NamedTuple):
    """The libraries, by the name that they have written in them, and a folder for a test."""

    built: Callable[..., Path]
    roots: list[str]
    folder: Path

    def put(self, place: str, *names: str, without: str = "") -> Path:
        """Put a library into a folder, under each of the names, and return the folder."""
        into = self.folder / place
        into.mkdir(parents=True, exist_ok=True)
        for name in names or NAMES[:1]:
            shutil.copy(self.built(name, without), into / name)
        return into

    def find(self, code: str = LOOK, *, system: Path | None = None, **options: Any) -> dict[str, Any]:
        """Return what a process answers; its environment has the other options and nothing of this one's CUDA.

        `system` is a folder where the system looks. It looks there before its own, so that what it may have is hidden
        by files that are no libraries.
        """
        request = {"loaded": [], "path": [], "odd": False} | {
            name: options.pop(name) for name in ("loaded", "path", "odd") if name in options
        }
        hidden = self.folder / "hidden"
        hidden.mkdir(exist_ok=True)
        for name in (*NAMES, DRIVER):
            (hidden / name).write_text("no library", "utf-8")
        options["LD_LIBRARY_PATH"] = os.pathsep.join(map(str, [system or hidden, hidden]))
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("CUDA", "LD_", "PYTHON"))}
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", CODE,
             json.dumps(request | {"code": code, "roots": self.roots}, default=str)],
            capture_output=True,
            check=False,
            cwd=self.folder,
            encoding="utf-8",
            env=kept | {name: str(value) for name, value in options.items()},
            timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def found(self, **options: Any) -> str:
        """Return the only runtime that a process has loaded, as seen from the folder; `loaded` is not counted."""
        answers = self.find(**options)
        assert answers["said"] == answers["again"] == "7", answers
        (path,) = answers["mapped"]
        return str(Path(path).relative_to(self.folder.resolve()))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that builds a library of a name, once; of `without`, a function that it lacks."""
    if sys.platform != "linux":
        pytest.skip("these names are those of Linux")
    try:
        command = compiler()
    except CannotBuildError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("built")

    def build(name: str, without: str = "") -> Path:
        path = folder / f"{name}-{without}"
        if not path.exists():
            source = folder / "source.c"
            functions = [each for each in FUNCTIONS if each not in {without, "GetDeviceCount", "GetErrorString"}]
            text = "".join(f"int cuda{each}(void) {{ return 0; }}\n" for each in functions)
            if without != "GetDeviceCount":
                text += "int cudaGetDeviceCount(int *out) { *out = 7; return 0; }\n"
            if without != "GetErrorString":
                text += 'const char *cudaGetErrorString(int status) { return "none"; }\n'
            source.write_text(text, "utf-8")
            options = ["-shared", "-fPIC", f"-Wl,-soname,{name}"]
            subprocess.run([*command, *options, str(source), "-o", str(path)], check=True)
        return path

    return build


@pytest.fixture
def libraries(built: Callable[..., Path], roots: list[str], tmp_path: Path) -> Libraries:
    return Libraries(built, roots, tmp_path)


ORDER = ("loaded", "system", "path", "home", *PACKAGES)


@pytest.mark.parametrize("first", ORDER)
def test_the_order_of_places(first: str, libraries: Libraries) -> None:
    has = ORDER[ORDER.index(first) :]
    toolkits = {name: libraries.put(f"{name}/lib64").parent for name in ("path", "home") if name in has}
    options: dict[str, Any] = {f"CUDA_{name.upper()}": folder for name, folder in toolkits.items()}
    for package in PACKAGES:
        if package in has:
            libraries.put(f"site/{package}")
    if "system" in has:
        options["system"] = libraries.put("system")
    if "loaded" in has:
        options["loaded"] = [libraries.put("loaded", NAMES[1]) / NAMES[1]]
    expected = {
        "loaded": f"loaded/{NAMES[1]}",
        "system": f"system/{NAMES[0]}",
        "path": f"path/lib64/{NAMES[0]}",
        "home": f"home/lib64/{NAMES[0]}",
    }
    found = libraries.found(path=[libraries.folder / "site"], **options)
    assert found == expected.get(first, f"site/{first}/{NAMES[0]}")


@pytest.mark.parametrize("place", ["system", "toolkit/lib64", f"site/{PACKAGES[0]}"])
@pytest.mark.parametrize("newest", NAMES)
def test_newer_before_older(place: str, newest: str, libraries: Libraries) -> None:
    folder = libraries.put(place, *NAMES[NAMES.index(newest) :])
    options: dict[str, Any] = {
        "system": {"system": folder},
        "toolkit/lib64": {"CUDA_PATH": folder.parent},
    }.get(place, {"path": [libraries.folder / "site"]})
    assert libraries.found(**options) == f"{place}/{newest}"


@pytest.mark.parametrize("name", NAMES)
def test_one_that_is_loaded_by_any_name(name: str, libraries: Libraries) -> None:
    loaded = libraries.put("loaded", name) / name
    assert libraries.found(loaded=[loaded], system=libraries.put("system", *NAMES)) == f"loaded/{name}"


def test_the_folders_of_a_toolkit(libraries: Libraries) -> None:
    for inner in ("bin", "lib", "lib64"):
        folder = libraries.put(f"toolkit/{inner}")
        assert libraries.found(CUDA_HOME=folder.parent) == f"toolkit/{inner}/{NAMES[0]}"


def test_earlier_entries_of_the_path_come_first(libraries: Libraries) -> None:
    libraries.put(f"a/{PACKAGES[1]}", NAMES[1])
    libraries.put(f"b/{PACKAGES[0]}")
    entries = [libraries.folder / name for name in ("none", "a", "b")]
    assert libraries.found(path=entries) == f"a/{PACKAGES[1]}/{NAMES[1]}"
    assert libraries.found(path=entries[::-1]) == f"b/{PACKAGES[0]}/{NAMES[0]}"


@pytest.mark.peers
def test_where_nvidias_package_has_put_it(libraries: Libraries) -> None:
    try:
        package = metadata.distribution("nvidia-cuda-runtime")
    except metadata.PackageNotFoundError:
        pytest.skip("needs the package nvidia-cuda-runtime")
    (library,) = [str(file.locate()) for file in package.files or () if file.name in NAMES]
    answers = libraries.find(path=[package.locate_file("")])
    assert answers["mapped"] == [str(Path(library).resolve())]


def test_entries_that_are_no_folders(libraries: Libraries) -> None:
    libraries.put(f"site/{PACKAGES[0]}")
    assert libraries.found(path=[libraries.folder / "site"], odd=True) == f"site/{PACKAGES[0]}/{NAMES[0]}"


def test_the_current_folder_is_none_of_the_places(libraries: Libraries) -> None:
    libraries.put(PACKAGES[0])
    libraries.put("lib64")
    libraries.put(".")
    answers = libraries.find(odd=True, CUDA_PATH="")
    assert answers["mapped"] == []
    assert answers["said"].startswith(f"DeviceError: {NOT_FOUND}")


def test_what_is_no_library_is_passed_over(libraries: Libraries) -> None:
    system = libraries.put("system", NAMES[1])
    (system / NAMES[0]).write_text("INPUT(libcudart.so)", "utf-8")
    assert libraries.found(system=system) == f"system/{NAMES[1]}"
    broken = libraries.folder / "path" / "lib64"
    (broken / NAMES[0]).mkdir(parents=True)
    home = libraries.put("home/lib64").parent
    assert libraries.found(CUDA_PATH=broken.parent, CUDA_HOME=home) == f"home/lib64/{NAMES[0]}"


@pytest.mark.parametrize("lacks", ["EventCreateWithFlags", "GetDeviceCount", "GetErrorString"])
def test_one_without_a_function_is_told(lacks: str, libraries: Libraries) -> None:
    system = libraries.put("system", without=lacks)
    answers = libraries.find(system=system)
    assert answers["said"] == answers["again"]
    assert answers["said"].startswith(f"DeviceError: {NOT_FOUND}: looked for ")
    assert "found one that cannot be used (" in answers["said"]
    assert f"undefined symbol: cuda{lacks})" in answers["said"]
    assert answers["said"].endswith("install the CUDA toolkit or the package nvidia-cuda-runtime")


def test_one_without_a_function_is_passed_over(libraries: Libraries) -> None:
    system = libraries.put("system", without=FUNCTIONS[0])
    home = libraries.put("home/lib64").parent
    answers = libraries.find(system=system, CUDA_HOME=home)
    assert answers["said"] == "7"
    assert str(home.resolve() / "lib64" / NAMES[0]) in answers["mapped"]


def test_without_any_it_is_said_what_was_looked_for(libraries: Libraries) -> None:
    answers = libraries.find(path=[libraries.folder], CUDA_PATH=libraries.folder)
    assert answers["said"] == answers["again"]
    assert answers["said"] == (
        f"DeviceError: {NOT_FOUND}: looked for libcudart.so.13, libcudart.so.12, libcudart.so where the system looks, "
        "below CUDA_PATH and CUDA_HOME, and in NVIDIA's packages; install the CUDA toolkit or the package "
        "nvidia-cuda-runtime"
    )


def test_one_that_comes_later_is_found_then(libraries: Libraries) -> None:
    libraries.put("toolkit/lib64")
    code = """
answers["before"] = said(cuda.device_count)
os.environ["CUDA_PATH"] = "toolkit"
answers["said"] = answers["again"] = said(cuda.device_count)
answers["same"] = cuda_library.runtime() is cuda_library.runtime()
"""
    answers = libraries.find(code)
    assert answers["before"].startswith("DeviceError: ")
    assert (answers["said"], answers["same"]) == ("7", True)


@pytest.mark.parametrize("spoken", [False, True])
def test_nothing_is_loaded_before_it_is_asked_for(spoken: bool, libraries: Libraries) -> None:
    code = """
from buflend.maximal import Buffer, as_buffer
from buflend.shared import STATIC
lent = [as_buffer(b"abc"), Buffer(64, 8, owner=STATIC, device=(2, 1)), Buffer(64, 8, owner=STATIC, device=(13, 0))]
kept = [each.__dlpack__(max_version=(1, 3)) for each in lent] + [repr(each) for each in lent]
kept += [each.__arrow_c_device_array__() for each in lent]
answers["driver"] = cuda_library.in_use()
""" + ("cuda.device_count()" if spoken else "")
    answers = libraries.find(code, system=libraries.put("system", NAMES[0], DRIVER))
    assert answers["driver"] is False, "looking for it must not load it"
    assert answers["mapped"] == [str(libraries.folder.resolve() / "system" / NAMES[0])] * spoken


def test_a_driver_that_somebody_loaded_is_seen(libraries: Libraries) -> None:
    driver = libraries.put("driver", DRIVER) / DRIVER
    code = """
answers["before"] = cuda_library.in_use()
held.append(ctypes.CDLL(DRIVER))
answers["after"] = cuda_library.in_use()
""".replace("DRIVER", repr(str(driver)))
    answers = libraries.find(code)
    assert (answers["before"], answers["after"]) == (False, True)
