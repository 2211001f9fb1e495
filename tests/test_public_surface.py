"""The public names: which there are, how they are called, what they are called in reprs, and that they are documented.

The tables are the contract. Whoever changes one changes what other libraries call.
"""

import inspect
import re
import sys
from types import ModuleType

import pytest

import buflend.maximal
import buflend.minimal
import buflend.shared

SHARED = {
    "BuflendError": (Exception,),
    "CPU": (),
    "CopyRequiredError": (buflend.shared.BuflendError, BufferError),
    "Device": (tuple,),
    "DeviceError": (buflend.shared.BuflendError, BufferError),
    "DeviceType": (int,),
    "InterpreterError": (buflend.shared.BuflendError, BufferError),
    "ProducerError": (buflend.shared.BuflendError, ValueError),
    "STATIC": (),
}
VIEW = "(buffer, dtype='uint8', *, shape=None, strides=None, offset=0)"
SIGNATURES = {
    "Buffer": "(ptr, bufsize, *, owner, device=CPU, readonly=False)",
    "as_buffer": "(obj)",
    "as_cupy": VIEW,
    "as_memoryview": "(buffer)",
    "as_ndarray": VIEW,
    "column_to_ndarray": "(column, *, allow_copy=True)",
    "dataframe_to_ndarrays": "(df, *, allow_copy=True)",
}
PROTOCOLS = {"InterchangeBuffer", "InterchangeColumn", "InterchangeFrame", "SupportsBuffer", "SupportsDataFrame"}
LENT_BY_SHARED = {"ColumnArrays", *PROTOCOLS}
BUFFER = {"bufsize", "device", "owner", "ptr", "readonly"}
COLUMN_ARRAYS = ("values", "valid", "categories", "ordered", "timezone")

PUBLIC = [
    (module, name)
    for module in (buflend.shared, buflend.minimal)
    for name in sorted(module.__all__)
    if callable(getattr(module, name))
]


def plain(function: object) -> str:
    """Return a signature without annotations, with `CPU` for the device."""
    signature = inspect.signature(function)  # type: ignore[arg-type]
    parameters = [item.replace(annotation=inspect.Parameter.empty) for item in signature.parameters.values()]
    bare = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    return str(bare).replace(repr(buflend.shared.CPU), "CPU")


def section(text: str, title: str) -> str:
    """Return a section of a numpydoc docstring, empty where there is none."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def test_names_of_shared() -> None:
    assert set(buflend.shared.__all__) == set(SHARED)


def test_names_of_minimal() -> None:
    assert set(buflend.minimal.__all__) == {"ColumnArrays", *SIGNATURES, *PROTOCOLS}


@pytest.mark.parametrize(
    "module", [buflend.shared, buflend.minimal, buflend.maximal], ids=lambda module: module.__name__
)
def test_all_is_complete_and_true(module: ModuleType) -> None:
    assert len(module.__all__) == len(set(module.__all__))
    assert set(module.__all__) <= set(dir(module))
    loaded = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "TYPE_CHECKING"
    }
    assert loaded == {name for name in module.__all__ if name in vars(module)}
    for name in module.__all__:
        getattr(module, name)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        buflend.minimal.no_such_name  # noqa: B018


@pytest.mark.parametrize(("name", "bases"), SHARED.items())
def test_classes_of_shared(name: str, bases: tuple[type, ...]) -> None:
    thing = getattr(buflend.shared, name)
    assert isinstance(thing, type) == bool(bases)
    for base in bases:
        assert issubclass(thing, base)


@pytest.mark.parametrize(("name", "signature"), SIGNATURES.items())
def test_signatures(name: str, signature: str) -> None:
    assert plain(getattr(buflend.minimal, name)) == signature


@pytest.mark.parametrize("name", sorted(BUFFER))
def test_attributes_of_a_buffer_are_read_only(name: str) -> None:
    buffer = buflend.minimal.as_buffer(b"lent")
    getattr(buffer, name)
    with pytest.raises(AttributeError):
        setattr(buffer, name, 0)


def test_a_buffer_has_no_other_public_attributes() -> None:
    public = {name for name in dir(buflend.minimal.Buffer) if not name.startswith("_")}
    assert public == BUFFER
    assert not hasattr(buflend.minimal.as_buffer(b"lent"), "__dict__")


def test_columns_are_named_tuples() -> None:
    assert issubclass(buflend.minimal.ColumnArrays, tuple)
    assert buflend.minimal.ColumnArrays._fields == COLUMN_ARRAYS


def test_a_device_is_a_pair() -> None:
    assert buflend.shared.Device._fields == ("type", "id")
    assert buflend.shared.CPU == (1, 0)
    assert type(buflend.shared.CPU) is buflend.shared.Device
    assert buflend.minimal.as_buffer(b"lent").__dlpack_device__() == (1, 0)


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=lambda value: getattr(value, "__name__", value))
def test_names_report_the_module_they_are_imported_from(module: ModuleType, name: str) -> None:
    thing = getattr(module, name)
    if name in LENT_BY_SHARED:  # both implementations offer the same object, loaded when it is asked for
        assert thing.__module__.startswith("buflend.shared.")
        assert getattr(sys.modules[thing.__module__], thing.__qualname__) is thing
    else:
        assert (thing.__module__, thing.__qualname__) == (module.__name__, name)


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=lambda value: getattr(value, "__name__", value))
def test_first_lines_are_sentences(module: ModuleType, name: str) -> None:
    first = (inspect.getdoc(getattr(module, name)) or "").split("\n\n")[0]
    assert first.endswith(".")
    assert len(first) > len(name)


@pytest.mark.parametrize("name", SIGNATURES)
def test_parameters_and_results_are_documented(name: str) -> None:
    thing = getattr(buflend.minimal, name)
    text = inspect.getdoc(thing) or ""
    described = re.findall(r"^(\w+) : ", section(text, "Parameters"), re.MULTILINE)
    assert described == list(inspect.signature(thing).parameters)
    assert isinstance(thing, type) or section(text, "Returns").strip()
    assert section(text, "Raises").strip()


@pytest.mark.parametrize("name", sorted(BUFFER))
def test_attributes_are_documented(name: str) -> None:
    assert inspect.getdoc(getattr(buflend.minimal.Buffer, name))


def test_sizes_have_units() -> None:
    for name in ("Buffer", "as_cupy", "as_ndarray"):
        assert re.search(
            r"\bbytes\b", section(inspect.getdoc(getattr(buflend.minimal, name)) or "", "Parameters"), re.IGNORECASE
        )


def test_sections_end_where_the_next_begins() -> None:
    assert section("Do.\n\nParameters\n----------\na : int\n    One.\n\nReturns\n-------\nint\n", "Parameters") == (
        "a : int\n    One.\n\n"
    )
