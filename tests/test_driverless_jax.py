"""JAX with several devices of the CPU, in a process of its own: how many there are is said before it is imported.

Its capsules number them, (1, 3) is the fourth, while `__dlpack_device__` says (1, 0). All is the host's memory, in one
address space, and read as such (`dlpack.h` 1.3: the CPU's id is 0). An array over several devices is no one block.
"""

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.peers

DEVICES = 4
PATIENCE = 300  # seconds
CODE = r"""
import ctypes, gc, json, sys, warnings
sys.path[:0] = json.loads(sys.argv[1])
import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from buflend import minimal
from buflend.maximal import Buffer, as_buffer, as_column, as_memoryview, as_ndarray, as_table, column_to_ndarray

warnings.simplefilter("error")
VALUES = np.arange(8, dtype="i4")
devices = jax.devices()
said = {"devices": len(devices)}

def one(name, take, obj):
    try:
        return take(obj)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def each(obj):
    return {name: one(name, take, obj) for name, take in TAKES.items()}

TAKES = {
    "as_buffer": lambda x: [as_buffer(x).ptr, as_buffer(x).bufsize, list(as_buffer(x).device), as_buffer(x).readonly],
    "as_column": lambda x: [as_column(x).tolist(), list(as_column(x).device), as_column(x).dtype.format],
    "as_table": lambda x: as_table({"n": x})["n"].tolist(),
    "as_ndarray": lambda x: as_ndarray(x, "i4").tolist(),
    "as_memoryview": lambda x: as_memoryview(x).cast("i").tolist(),
    "column_to_ndarray": lambda x: column_to_ndarray(x).tolist(),
    "minimal": lambda x: minimal.as_ndarray(x, "i4").tolist(),
    "numpy": lambda x: np.from_dlpack(as_column(x)).tolist(),
}

prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
pointer = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))

def struct_says(array):
    # A DLManagedTensor: the address, then the two numbers of the device.
    capsule = array.__dlpack__()
    return list((ctypes.c_int32 * 2).from_address(pointer(capsule, b"dltensor") + 8))

said["placed"] = []
for device in devices:
    array = jax.device_put(VALUES, device)
    announced = list(map(int, array.__dlpack_device__()))
    about = {"ptr": array.unsafe_buffer_pointer(), "announced": announced, "struct": struct_says(array)}
    said["placed"].append(about | each(array))

mesh = jax.sharding.Mesh(np.array(devices), ("d",))
sharded = jax.device_put(VALUES, NamedSharding(mesh, PartitionSpec("d")))
said["sharded"] = each(sharded)
said["replicated"] = each(jax.device_put(VALUES, NamedSharding(mesh, PartitionSpec())))
said["shards"] = [each(shard.data) for shard in sharded.addressable_shards]
gone = jax.device_put(VALUES, devices[3])
gone.delete()
said["deleted"] = each(gone)

held = as_buffer(jax.device_put(VALUES, devices[3]))
gc.collect()
spoilt = [jax.device_put(VALUES + 1, devices[3]) for _ in range(50)]
said["held"] = as_ndarray(held, "i4").tolist()

class Owner:
    def __init__(self):
        self.memory = np.arange(4096, dtype="u1")
    def __del__(self):
        returned.append(1)

returned = []
def lend(device):
    owner = Owner()
    start = owner.memory.ctypes.data
    return Buffer(start + -start % 64, 64, owner=owner, device=device)

taken = jax.dlpack.from_dlpack(lend((1, 3)))
said["taken"] = {"values": np.asarray(taken).tolist()[1:] == np.arange(int(taken[0]) + 1, int(taken[0]) + 64).tolist()}
del taken
gc.collect()
said["taken"]["returned"] = list(returned)
said["refused"] = {}
for device in ((2, 0), (2, 1), (3, 0), (13, 0)):
    returned.clear()
    text = one("", jax.dlpack.from_dlpack, lend(device))
    gc.collect()
    said["refused"][str(device)] = [text, list(returned)]
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(roots: list[str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("jax")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES}", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-I", "-X", "utf8", "-c", CODE, json.dumps(roots)],
        capture_output=True,
        check=False,
        cwd=tmp_path_factory.mktemp("jax"),
        encoding="utf-8",
        env=kept | flags,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


VALUES = list(range(8))
READS = ("as_table", "as_ndarray", "as_memoryview", "column_to_ndarray", "minimal", "numpy")
REFUSED = ("sharded", "replicated", "deleted")


def test_jax_numbers_its_devices(said: Any) -> None:
    assert said["devices"] == DEVICES
    assert [each["announced"] for each in said["placed"]] == [[1, 0]] * DEVICES
    assert [each["struct"] for each in said["placed"]] == [[1, number] for number in range(DEVICES)]


@pytest.mark.parametrize("number", range(DEVICES))
def test_all_of_them_are_the_cpu(said: Any, number: int) -> None:
    found = said["placed"][number]
    assert found["as_buffer"] == [found["ptr"], 32, [1, 0], True]
    assert found["as_column"] == [VALUES, [1, 0], "i"]
    assert {name: found[name] for name in READS} == dict.fromkeys(READS, VALUES)


def test_the_memory_of_one_is_held(said: Any) -> None:
    assert said["held"] == VALUES


@pytest.mark.parametrize("number", range(DEVICES))
def test_a_shard_is_one_block(said: Any, number: int) -> None:
    found, values = said["shards"][number], VALUES[2 * number : 2 * number + 2]
    assert found["as_buffer"][1:] == [8, [1, 0], True]
    assert found["as_column"] == [values, [1, 0], "i"]
    assert {name: found[name] for name in READS} == dict.fromkeys(READS, values)


@pytest.mark.parametrize("name", ["as_buffer", "as_column", *READS])
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_block_is_refused_with_its_own_words(said: Any, kind: str, name: str) -> None:
    text = said[kind][name]
    assert text.startswith("ProducerError: "), text
    words = {"deleted": "TypeError|null|deleted"}.get(kind, "unsharded|single shard")
    assert re.search(words, text), text


def test_a_capsule_of_another_device_of_the_cpu_is_taken(said: Any) -> None:
    assert said["taken"] == {"values": True, "returned": [1]}


@pytest.mark.parametrize("device", [(2, 0), (2, 1), (3, 0), (13, 0)], ids=str)
def test_what_it_refuses_is_returned_once(said: Any, device: tuple[int, int]) -> None:
    text, returned = said["refused"][str(device)]
    assert "cuda" in text or "DLDeviceType: 13" in text
    assert returned == [1]
