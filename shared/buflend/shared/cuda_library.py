"""The CUDA runtime library: where it is found, and the prototypes of what is called.

Lives here: names, folders, argument types. Must not know: what the calls are for. Nothing is loaded before it is asked
for, and nothing of CUDA is needed to import this. Source: NVIDIA, "CUDA Runtime API", 12 and 13.
"""

import ctypes
import os
import sys
from typing import Any

from .errors import DeviceError

# Newest first; of one that another library has loaded, only the name counts.
NAMES = (
    ("cudart64_13.dll", "cudart64_12.dll")
    if sys.platform == "win32"
    else ("libcudart.so.13", "libcudart.so.12", "libcudart.so")
)

_DRIVER = "libcuda.so.1"  # every runtime loads it before its first call

# Folders in which NVIDIA's packages for pip put it, below an entry of `sys.path`; a toolkit's, below its own folder.
_IN_PACKAGES = (
    "nvidia/cu13/lib",
    "nvidia/cuda_runtime/lib",
    "nvidia/cu13/bin/x86_64",
    "nvidia/cuda_runtime/bin",
)
_IN_TOOLKIT = ("lib64", "lib", "bin")
_TOOLKIT = ("CUDA_PATH", "CUDA_HOME")

_pointer, _int, _size = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t

# Function -> arguments; all return a status.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cudaEventCreateWithFlags": (_pointer, ctypes.c_uint),
    "cudaEventDestroy": (_pointer,),
    "cudaEventRecord": (_pointer, _pointer),
    "cudaEventSynchronize": (_pointer,),
    "cudaGetDevice": (_pointer,),
    "cudaGetDeviceCount": (_pointer,),
    "cudaGetLastError": (),
    "cudaMemcpyAsync": (_pointer, _pointer, _size, _int, _pointer),
    "cudaPointerGetAttributes": (_pointer, _pointer),
    "cudaSetDevice": (_int,),
    "cudaStreamSynchronize": (_pointer,),
    "cudaStreamWaitEvent": (_pointer, _pointer, ctypes.c_uint),
}

_loaded: Any = None
_driver: Any = None


def runtime() -> Any:
    """Return the CUDA runtime library, with the lock of the interpreter given up in its calls.

    One that is already in the process comes first, then the system's, a toolkit's (`CUDA_PATH`, `CUDA_HOME`), and that
    of the package nvidia-cuda-runtime. What has the name and not the functions is passed over.

    Raises
    ------
    DeviceError
        When none can be loaded.
    """
    global _loaded  # noqa: PLW0603 - loaded once, on demand
    if _loaded is None:
        _loaded = _find()
    return _loaded


def in_use() -> bool:
    """Tell whether CUDA's driver is in this process: without it no work of a CUDA device can be pending.

    True where that cannot be told.
    """
    global _driver  # noqa: PLW0603 - it never goes again
    if _driver is None and sys.platform != "win32":
        try:
            _driver = ctypes.CDLL(_DRIVER, ctypes.DEFAULT_MODE | os.RTLD_NOLOAD)
        except OSError:
            return False
    return True


def _find() -> Any:
    already = getattr(os, "RTLD_NOLOAD", 0)
    tries = [(name, already) for name in NAMES if already] + [(name, 0) for name in NAMES]
    tries += [(os.path.join(folder, name), 0) for folder in _folders() for name in NAMES]  # noqa: PTH118 - no import
    unfit = ""
    for path, mode in tries:
        try:
            return _prepared(ctypes.CDLL(path, ctypes.DEFAULT_MODE | mode))
        except OSError:
            continue
        except AttributeError as error:  # "libcudart.so.13: undefined symbol: cudaEventRecord"
            unfit = unfit or f"; found one that cannot be used ({error})"
    raise DeviceError(
        f"no CUDA runtime library can be loaded: looked for {', '.join(NAMES)} where the system looks, below "
        f"{' and '.join(_TOOLKIT)}, and in NVIDIA's packages{unfit}; install the CUDA toolkit or the package "
        "nvidia-cuda-runtime"
    )


def _folders() -> list[str]:
    """Return the folders that exist in which the library may lie."""
    toolkits = [os.environ[name] for name in _TOOLKIT if os.environ.get(name)]
    found = [os.path.join(root, inner) for root in toolkits for inner in _IN_TOOLKIT]  # noqa: PTH118
    entries = [entry for entry in sys.path if entry and isinstance(entry, str)]  # others are not imported from
    found += [os.path.join(entry, inner) for entry in entries for inner in _IN_PACKAGES]  # noqa: PTH118
    return [folder for folder in found if os.path.isdir(folder)]  # noqa: PTH112


def _prepared(library: Any) -> Any:
    for name, arguments in _FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, _int
    library.cudaGetErrorString.argtypes, library.cudaGetErrorString.restype = (_int,), ctypes.c_char_p
    return library
