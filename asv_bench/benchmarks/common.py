"""How the table of `implementations` becomes benchmarks: names are made, expressions become loops, what lacks is said.

Lives here: what is missing, the making of names, the loop, the class that benchmarks are made of. Must not know: any
implementation. Nothing is imported, and no device is looked for, before `setup` asks.
"""

import ast
import mmap
import tempfile
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from itertools import repeat
from typing import Any, ClassVar

from .implementations import IMPLEMENTATIONS, WAYS, No
from .implementations_gpu import MEMORY, PROBES, WAYS_GPU
from .things import CHOICES, MODULES, THINGS

TOPICS = WAYS | WAYS_GPU


class Only:
    """An object that offers some attributes of another one, which it holds, and nothing else."""

    def __init__(self, held: Any, *names: str) -> None:
        self._held = held
        for name in names:
            setattr(self, name, getattr(held, name))


class Exporter:
    """An object around the `__dlpack__` of memory of the host."""

    def __init__(self, export: Callable[..., object]) -> None:
        self.__dlpack__ = export

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def sparse(nbytes: int) -> mmap.mmap:
    """Return so many bytes of a file that has a length and no content; whoever reads them reads zeros."""
    with tempfile.TemporaryFile() as file:
        file.truncate(nbytes)
        return mmap.mmap(file.fileno(), nbytes, access=mmap.ACCESS_READ)


def device_memory() -> tuple[object, int]:
    """Return 4096 bytes of the first CUDA device, of the first library that is here and sees it, and their address."""
    for module, (thing, address) in MEMORY.items():
        if installed(MODULES[module]):
            try:
                owner = made(thing, {})
            except NotImplementedError:
                continue
            return owner, eval(address, {"owner": owner})  # noqa: S307 - an expression of the table
    raise NotImplementedError(f"none of {', '.join(MODULES[module] for module in MEMORY)} gives memory of a device")


HELPERS: dict[str, Any] = {"Exporter": Exporter, "Only": Only, "device_memory": device_memory, "sparse": sparse}


def installed(module: str) -> bool:
    """Tell whether a module can be found; of `a.b` only a is imported for that. Ours fails where it is not there."""
    if module.startswith("buflend."):
        return True
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def impls(topic: str) -> tuple[str, ...]:
    """Return the implementations of a topic in the order of the columns."""
    return tuple(name for name in IMPLEMENTATIONS if name in TOPICS[topic])


def way(topic: str, impl: str) -> str:
    """Return how an implementation does something.

    Raises
    ------
    NotImplementedError
        When it does not, or is not installed; asv shows that as n/a.
    """
    found = TOPICS[topic][impl]
    if isinstance(found, No):
        raise NotImplementedError(found.reason)
    if not installed(IMPLEMENTATIONS[impl]):
        raise NotImplementedError(f"{IMPLEMENTATIONS[impl]} is not installed")
    if topic in WAYS_GPU:
        look_for_a_device()
    return found


def look_for_a_device() -> None:
    """Raise NotImplementedError where there is no CUDA device."""
    from buflend.shared import DeviceError, cuda

    try:
        count = cuda.device_count()
    except DeviceError as error:
        raise NotImplementedError(f"no CUDA device: {error}") from error
    if not count:
        raise NotImplementedError("no CUDA device: the runtime counts 0")


def names_of(expression: str, given: dict[str, Any], things: dict[str, str] = THINGS) -> dict[str, Any]:
    """Return what an expression speaks of: modules, helpers, and the things that it names, made anew.

    Raises
    ------
    NotImplementedError
        When a module is not installed, or sees no CUDA device where it is asked for memory of one.
    """
    needed = [name for name in _needed(expression, things, {}) if name not in given]
    modules = {name: MODULES[name] for name in needed if name in MODULES}
    for module in modules.values():
        if not installed(module):
            raise NotImplementedError(f"{module} is not installed")
    found = {**HELPERS, **{name: import_module(module) for name, module in modules.items()}, **given}
    if any(name.startswith("gpu_") for name in needed):
        for name in PROBES.keys() & modules.keys():
            _probe(name)
    for name in needed:
        if name in things:
            found[name] = eval(things[name], found)  # noqa: S307 - an expression of the table
    return found


def _needed(expression: str, things: dict[str, str], seen: dict[str, None]) -> dict[str, None]:
    """Add the names of an expression, and those that its things are made of before them."""
    for node in ast.walk(ast.parse(expression, mode="eval")):
        if isinstance(node, ast.Name) and node.id not in seen:
            if node.id in things:
                _needed(things[node.id], things, seen)
            seen[node.id] = None
    return seen


def _probe(name: str) -> None:
    try:
        sees = made(PROBES[name], {})
    except Exception as error:
        raise NotImplementedError(f"{MODULES[name]} sees no CUDA device: {error}") from error
    if not sees:
        raise NotImplementedError(f"{MODULES[name]} sees no CUDA device")


def made(expression: str, given: dict[str, Any]) -> Any:
    """Return the value of an expression, with all that it speaks of."""
    return eval(expression, names_of(expression, given))  # noqa: S307 - an expression of the table


def chosen(values: dict[str, Any]) -> dict[str, str]:
    """Return the things, as the values of parameters make them."""
    things = dict(THINGS)
    for name, value in values.items():
        things |= CHOICES.get(name, {}).get(value, {})
    return things


def looped(expression: str, found: dict[str, Any]) -> Callable[[Iterable[None]], None]:
    """Return a function that evaluates an expression once for each of what it is given, and adds nothing to it."""
    exec(f"def body(times):\n    for _ in times:\n        {expression}\n", found)  # noqa: S102 - as above
    body: Callable[[Iterable[None]], None] = found["body"]
    return body


def function(expression: str, found: dict[str, Any], argument: str = "") -> Callable[..., Any]:
    """Return a function of an expression."""
    made: Callable[..., Any] = eval(f"lambda {argument}: {expression}", found)  # noqa: S307 - an expression of the table
    return made


class Benchmark:
    """What benchmarks are made of: the topic is the name of the class, its first parameter the implementation.

    A sample is one call of the method, since there is a `setup`: hence the loops in the methods, and their names. There
    are eight at least: between six and six asv never finds a difference.
    """

    version: ClassVar[str]
    param_names: ClassVar[tuple[str, ...]]
    params: ClassVar[tuple[tuple[Any, ...], ...]]

    rounds = 1
    repeat: int | tuple[int, int, float] = (8, 12, 0.3)
    warmup_time: float = 0.02
    timeout = 120

    def ready(self, impl: str, values: tuple[Any, ...] = (), **given: Any) -> tuple[str, dict[str, Any]]:
        """Return the expression of an implementation, and what it speaks of with these values of the parameters."""
        expression = way(type(self).__name__, impl)
        parameters = dict(zip(self.param_names[1:], values, strict=True))
        return expression, names_of(expression, given | parameters, chosen(parameters))


class Timed(Benchmark):
    """A benchmark that loops over the expression of its topic."""

    body: Callable[[Iterable[None]], None] | None = None

    def setup(self, impl: str, *values: Any) -> None:
        """Make what the expression speaks of, and evaluate it once, which fills caches; once for all samples."""
        if self.body is None:
            expression, found = self.ready(impl, values)
            self.body = looped(expression, found)
            self.loop(1)

    def loop(self, count: int) -> None:
        """Evaluate the expression so many times."""
        assert self.body is not None  # noqa: S101 - `setup` comes before
        self.body(repeat(None, count))


class TimedOnGpu(Timed):
    """The same with memory of a CUDA device: nothing is pending when the loop begins."""

    def setup(self, impl: str, *values: Any) -> None:
        """Make what the expression speaks of, evaluate it once, and wait for the device."""
        super().setup(impl, *values)
        from buflend.shared import cuda

        cuda.synchronize(cuda.DEFAULT_STREAM, 0)
