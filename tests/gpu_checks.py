"""The checks that only hardware can answer, found beside the tests, whatever of `buflend` is installed.

Imported by tests, as `from .gpu_checks import load`.
"""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "asv_bench" / "gpu_check"


def load(name: str) -> Any:
    """Return a module of the package."""
    if "gpu_check" not in sys.modules:
        package = ModuleType("gpu_check")
        package.__path__ = [str(FOLDER)]
        sys.modules["gpu_check"] = package
    return import_module(f"gpu_check.{name}")
