"""What only a CUDA device can show: the checks of `asv_bench/gpu_check`, each as a test.

`make gpu-check` runs them on a machine with a GPU; elsewhere each is skipped, with the reason.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from .gpu_checks import load

check = load("check")
CHECKS: dict[str, Any] = load("checks").CHECKS

pytestmark = [
    pytest.mark.gpu,
    # Libraries of the device warn of what is theirs.
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture(scope="module", autouse=True)
def _device() -> Iterator[None]:
    """Skip without a device, before any library is imported; JAX is not to take all memory of one."""
    reason = check.no_device()
    if reason:
        pytest.skip(f"no CUDA device: {reason}")
    with pytest.MonkeyPatch.context() as patch:
        if "XLA_PYTHON_CLIENT_PREALLOCATE" not in os.environ:
            patch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        yield


@pytest.mark.parametrize("name", CHECKS)
def test_check(name: str) -> None:
    row = check.judge(CHECKS[name])
    if row["verdict"] == "SKIP":
        pytest.skip(row["reason"])
    assert row["verdict"] == "PASS", row["reason"]
