"""What this machine is: its devices and why there are none, the CUDA runtime that is found, versions of libraries.

    python -m gpu_check.environment --report environment.json

Needs nothing but `buflend.shared`. The name of the device is asked of `nvidia-smi` where that is here.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from buflend.shared import DeviceError, __version__, cuda_library

from .check import no_device

LIBRARIES = (
    "numpy",
    "cupy",
    "torch",
    "jax",
    "numba",
    "numba-cuda",
    "cuda-core",
    "cuda-bindings",
    "pyarrow",
    "pytest",
    "hypothesis",
)
"""What is imported or installed under this name."""

ASKED = "name,driver_version,memory.total"


def libraries() -> dict[str, str]:
    """Return the version of each library that is installed, by the name of its package or of its distribution."""
    distributions = metadata.packages_distributions()
    found = {}
    for name in LIBRARIES:
        for candidate in (name, *distributions.get(name, ())):
            try:
                found[name] = metadata.version(candidate)
            except metadata.PackageNotFoundError:
                continue
            break
    return found


def cards() -> list[dict[str, str]]:
    """Return what `nvidia-smi` says of each device; nothing where it does not answer."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return []
    asked = [command, f"--query-gpu={ASKED}", "--format=csv,noheader"]
    try:
        said = subprocess.run(asked, capture_output=True, check=True, text=True, timeout=10).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [dict(zip(ASKED.split(","), map(str.strip, line.split(",")), strict=False)) for line in said.splitlines()]


def look() -> dict[str, Any]:
    """Return `reason` (empty where there is a device), `runtime` (its library), `devices`, and `machine`, JSON-able."""
    try:
        runtime = str(cuda_library.runtime()._name)  # noqa: SLF001 - what ctypes calls the path
    except DeviceError:
        runtime = ""
    return {
        "reason": no_device(),
        "runtime": runtime,
        "devices": cards(),
        "machine": {
            "system": platform.system(),
            "release": platform.release(),
            "processor": platform.machine(),
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "buflend": __version__,
            "libraries": libraries(),
        },
    }


def main() -> int:
    """Look, and write down what was seen."""
    parser = argparse.ArgumentParser(
        prog="python -m gpu_check.environment", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--report", type=Path, help="file for the JSON")
    arguments = parser.parse_args()
    text = json.dumps(look(), indent=1)
    if arguments.report is not None:
        arguments.report.write_text(text + "\n", "utf-8")
    sys.stdout.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
