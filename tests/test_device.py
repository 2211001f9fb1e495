"""Devices: DLPack's numbers, and the spellings that become one."""

import copy
import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from buflend.shared import CPU, Device, DeviceError, DeviceType, ProducerError
from buflend.shared.device import device_name, require_host, to_device

# dlpack.h, DLDeviceType.
DLPACK = {
    "CPU": 1,
    "CUDA": 2,
    "CUDA_HOST": 3,
    "OPENCL": 4,
    "VULKAN": 7,
    "METAL": 8,
    "VPI": 9,
    "ROCM": 10,
    "ROCM_HOST": 11,
    "EXT_DEV": 12,
    "CUDA_MANAGED": 13,
    "ONEAPI": 14,
    "WEBGPU": 15,
    "HEXAGON": 16,
    "MAIA": 17,
    "TRN": 18,
}


def test_names_and_numbers_are_those_of_dlpack() -> None:
    assert {member.name: member.value for member in DeviceType} == DLPACK


def test_interchange_name_of_pinned_memory() -> None:
    assert DeviceType.CPU_PINNED is DeviceType.CUDA_HOST


@pytest.mark.parametrize("given", [(1, 0), (1, None), (1, -1), (1, 3), [1, 0], (DeviceType.CPU, None)])
def test_every_spelling_of_the_cpu_is_one(given: Sequence[Any]) -> None:
    assert to_device(given) is CPU


@pytest.mark.parametrize(
    ("given", "expected"), [((2, 1), (2, 1)), ((2, None), (2, -1)), ((99, 0), (99, 0)), ((13, 0), (13, 0))]
)
def test_other_devices_keep_their_numbers(given: tuple[int, int | None], expected: tuple[int, int]) -> None:
    device = to_device(given)
    assert device == expected
    assert device.type == expected[0]


@pytest.mark.parametrize(
    "given", [None, 1, (1,), (1, 0, 0), ("cpu", 0), (0, 0), (-1, 0), (2, -2), (2**31, 0), (2.0, 0)]
)
def test_what_is_no_device_is_the_producers_fault(given: object) -> None:
    with pytest.raises(ProducerError, match=r"^device: got .*the producer is at fault"):
        to_device(given)


def test_device_is_a_named_tuple() -> None:
    device = Device(DeviceType.CUDA, 1)
    kind, ordinal = device
    assert (kind, ordinal) == (2, 1) == (device.type, device.id)
    assert device.type is DeviceType.CUDA
    assert device._fields == ("type", "id")
    assert device._asdict() == {"type": DeviceType.CUDA, "id": 1}
    assert device._replace(id=3) == Device._make((2, 3)) == (2, 3)
    assert repr(device) == "Device(type=<DeviceType.CUDA: 2>, id=1)"
    assert pickle.loads(pickle.dumps(device)) == device == copy.deepcopy(device)  # noqa: S301 - our own pickle
    assert type(copy.copy(device)) is Device
    with pytest.raises(AttributeError):
        device.id = 2  # type: ignore[misc]


@pytest.mark.parametrize("kind", [1, 3, 11, 13])
def test_host_readable(kind: int) -> None:
    require_host(Device(kind, 0), "the data")


@pytest.mark.parametrize("kind", [2, 4, 7, 8, 9, 10, 12, 14, 15, 16, 17, 18, 5, 99])
def test_other_memory_is_refused_with_its_name(kind: int) -> None:
    name = device_name(Device(kind, 1))
    with pytest.raises(DeviceError, match="the data lies on") as caught:
        require_host(Device(kind, 1), "the data")
    assert name in str(caught.value)
    assert (DeviceType(kind).name if kind in DLPACK.values() else f"type {kind}") in name
