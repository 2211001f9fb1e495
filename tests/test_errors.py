"""Errors: whose fault it is, and what a message says."""

import copy
import pickle

import pytest

from buflend.shared import BuflendError, CopyRequiredError, DeviceError, ProducerError
from buflend.shared.errors import raised


@pytest.mark.parametrize(
    ("error", "builtin"), [(ProducerError, ValueError), (DeviceError, BufferError), (CopyRequiredError, BufferError)]
)
def test_one_root_and_a_builtin_each(error: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(error, BuflendError)
    assert issubclass(error, builtin)
    assert error.__module__ == "buflend.shared"


def test_a_message_names_field_got_expected_fault_and_remedy() -> None:
    error = ProducerError("column 'a': bufsize", got=16, expected="at least 24 bytes", hint="update the producer")
    assert (error.field, error.got, error.expected, error.hint) == (
        "column 'a': bufsize",
        16,
        "at least 24 bytes",
        "update the producer",
    )
    assert str(error) == (
        "column 'a': bufsize: got 16, expected at least 24 bytes (the producer is at fault; update the producer)"
    )


class _Shy:
    def __repr__(self) -> str:
        raise RuntimeError


def test_a_producer_whose_repr_fails_still_gets_its_message() -> None:
    assert "an object of type _Shy whose repr raised RuntimeError" in str(ProducerError("x", got=_Shy(), expected="y"))


def test_a_long_repr_is_cut() -> None:
    assert len(str(ProducerError("x", got="y" * 10_000, expected="z"))) < 300


def test_errors_cross_processes() -> None:
    error = ProducerError("x", got=_Shy(), expected="y", hint="z")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - our own pickle
        assert type(again) is ProducerError
        assert str(again) == str(error)
        assert again.field == "x"


class _RudeError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class _Panic(BaseException):
    """What pyo3 raises for a panic."""


def test_an_exception_without_text_still_gets_its_message() -> None:
    assert "_RudeError: (its text raised RuntimeError)" in str(
        ProducerError("x", got=raised(_RudeError()), expected="y")
    )


def test_a_repr_that_panics() -> None:
    class Panicking:
        def __repr__(self) -> str:
            raise _Panic

    assert "whose repr raised _Panic" in str(ProducerError("x", got=Panicking(), expected="y"))


def test_who_raised_is_not_said_to_have_lied() -> None:
    error = ProducerError("x", got=raised(NotImplementedError("no lists")), expected="an answer")
    assert str(error) == "x: the producer raised NotImplementedError: no lists where an answer was expected"


def test_notes_cross_processes() -> None:
    error = ProducerError("x", got=1, expected="y")
    error.add_note("do this")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["do this"]  # noqa: S301 - our own pickle
