"""The stand-in CUDA library, built where a test wants it.

One file under the names of both of CUDA's libraries, so that the driver and the runtime share their state. A process
finds it there when `LD_LIBRARY_PATH` holds the folder as the process starts.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("stand_in.c")
DRIVER = "libcuda.so.1"
RUNTIME = "libcudart.so.13"
COMPILERS = ("cc", "gcc", "clang")


class CannotBuildError(Exception):
    """The library cannot be built on this machine; the message says what is missing."""


def compiler() -> list[str]:
    """Return the command of a C compiler: what `CC` names, else the first that is found."""
    named = shlex.split(os.environ.get("CC", ""))
    for command in [named] if named else [[name] for name in COMPILERS]:
        found = shutil.which(command[0])
        if found:
            return [found, *command[1:]]
    looked = f"CC={os.environ['CC']}" if named else ", ".join(COMPILERS)
    raise CannotBuildError(f"no C compiler to build the stand-in CUDA library with (looked for {looked})")


def build(folder: Path) -> Path:
    """Build the library into a folder, which is made, and return the folder.

    Raises
    ------
    CannotBuildError
        Where there is no C compiler, or no Linux.
    """
    if sys.platform != "linux":
        raise CannotBuildError(f"the stand-in CUDA library maps memory as Linux does; this is {sys.platform}")
    folder.mkdir(parents=True, exist_ok=True)
    options = ["-shared", "-fPIC", "-O1", "-fvisibility=hidden", f"-Wl,-soname,{DRIVER}"]
    command = [*compiler(), *options, str(SOURCE), "-o", str(folder / DRIVER), "-lpthread", "-ldl"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stderr}"
    runtime = folder / RUNTIME
    runtime.unlink(missing_ok=True)
    runtime.symlink_to(DRIVER)
    return folder
