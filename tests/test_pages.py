"""Memory of the battery that is deadly to write, or to read past its end: a case that relies on it sees the end."""

import os
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from buflend.bench.battery.pages import guarded, read_only

DEADLY = {-signal.SIGSEGV, -signal.SIGBUS} if os.name != "nt" else {0xC0000005}


def dies(roots: list[str], code: str) -> int:
    """Run code in an interpreter of its own and return its exit code."""
    prelude = (
        f"import sys; sys.path[:0] = {roots!r}\nimport ctypes, numpy as np\nfrom buflend.bench.battery.pages import *\n"
    )
    return subprocess.run([sys.executable, "-c", prelude + code], check=False, timeout=60).returncode


@pytest.mark.parametrize("memory", [np.arange(3), np.arange(5000), np.frombuffer(b"abcd", np.uint8)], ids=len)
def test_pages_hold_what_was_put_there(memory: np.ndarray[Any, Any]) -> None:
    assert guarded(memory).tobytes() == memory.tobytes()
    assert read_only(memory).tobytes() == memory.tobytes()
    assert not read_only(memory).flags.writeable


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot cut a mapped file")
@pytest.mark.parametrize("size", [3, 4096, 5000])
def test_a_byte_behind_a_guarded_page_is_deadly(roots: list[str], size: int) -> None:
    code = f"a = guarded(np.ones({size}, np.uint8)); end = a.ctypes.data + {size}\n"
    assert dies(roots, code + f"assert ctypes.string_at(end - {size}, {size}) == bytes([1]) * {size}") == 0
    assert dies(roots, code + "ctypes.string_at(end, 1)") in DEADLY


def test_a_write_to_a_read_only_page_is_deadly(roots: list[str]) -> None:
    code = "a = read_only(np.ones(8)); address = a.ctypes.data\n"
    assert dies(roots, code + "ctypes.string_at(address, 64)") == 0
    assert dies(roots, code + "ctypes.memset(address, 0, 1)") in DEADLY
