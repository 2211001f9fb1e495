"""The stand-in for every test of this folder: ids and marks say that no GPU was there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .hooks import Copies, StandIn

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("fake_cuda")


@pytest.fixture(scope="session")
def _library() -> StandIn:
    try:
        library = StandIn()
    except OSError:
        library = None
    if library is None or not library.is_stand_in:
        pytest.fail(
            "these tests need a process of their own, with a library that is built for it: run test_fake_cuda.py"
        )
    return library


@pytest.fixture(autouse=True, params=["fake-cuda"])
def stand_in(_library: StandIn) -> Iterator[StandIn]:
    """Return the stand-in: two devices, the first one current, nothing queued."""
    _library.reset()
    yield _library
    _library.reset()


@pytest.fixture
def copies(stand_in: StandIn) -> Copies:
    """Return 8 bytes of memory of device 0, each "0"."""
    return Copies(stand_in)
