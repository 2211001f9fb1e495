"""Mutants of errors, and of the list of what is lent.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
BUFFER = "tests/test_buffer.py::"
ERRORS = "tests/test_errors.py::"
EXPORT_CONSUMERS = "tests/test_export_consumers.py::"
INTERFACES_IMPORT = "tests/test_interfaces_import.py::"
LOANS = "tests/test_loans.py::"
REFUSALS = "tests/test_refusals.py::"

MUTANTS = [
    Mutant(
        "producer-errors-are-no-value-errors",
        SHARED + "errors.py",
        "class ProducerError(BuflendError, ValueError):",
        "class ProducerError(BuflendError, TypeError):",
        (ERRORS + "test_one_root_and_a_builtin_each[ProducerError-ValueError]",),
        "who catches ValueError misses it",
    ),
    Mutant(
        "device-errors-are-no-buffer-errors",
        SHARED + "errors.py",
        "class DeviceError(BuflendError, BufferError):",
        "class DeviceError(BuflendError, ValueError):",
        (ERRORS + "test_one_root_and_a_builtin_each[DeviceError-BufferError]",),
        "memoryview() and NumPy miss it",
    ),
    Mutant(
        "refusals-of-copies-are-no-buffer-errors",
        SHARED + "errors.py",
        "class CopyRequiredError(BuflendError, BufferError):",
        "class CopyRequiredError(BuflendError, ValueError):",
        (ERRORS + "test_one_root_and_a_builtin_each[CopyRequiredError-BufferError]",),
        "who catches BufferError misses it",
    ),
    Mutant(
        "producer-errors-without-a-root",
        SHARED + "errors.py",
        "class ProducerError(BuflendError, ValueError):",
        "class ProducerError(ValueError):",
        (ERRORS + "test_one_root_and_a_builtin_each[ProducerError-ValueError]",),
        "who catches BuflendError misses it",
    ),
    Mutant(
        "errors-that-cannot-be-pickled",
        SHARED + "errors.py",
        "        return _again, (type(self), self.field, got, self.expected, self.hint), notes\n",
        "        return type(self), (self.field, got, self.expected, self.hint), notes\n",
        (ERRORS + "test_errors_cross_processes",),
        "an error of a worker process ends the pool",
    ),
    Mutant(
        "absent-protocols-raise-for-hasattr",
        MAXIMAL + "offer.py",
        "class AbsentError(DeviceError, AttributeError):",
        "class AbsentError(DeviceError):",
        ("tests/test_column.py::test_a_device_is_told_without_looking_at_memory",),
        "hasattr raises where it should say no",
    ),
    Mutant(
        "absent-protocols-unknown-to-memoryview",
        MAXIMAL + "offer.py",
        "class AbsentError(DeviceError, AttributeError):",
        "class AbsentError(AttributeError):",
        ("tests/test_guard_pages.py::test_what_would_read_is_refused[method memoryview-CUDA-device-0]",),
        "memoryview() of a device's buffer raises AttributeError",
    ),
    Mutant(
        "keyboard-interrupt-is-a-producers-fault",
        SHARED + "memory.py",
        "        if isinstance(error, EXITS):\n            raise error\n",
        "",
        (BUFFER + "TestAsBuffer::test_an_interrupt_is_not_the_producers_fault",),
        "Ctrl-C does not end the program",
    ),
    Mutant(
        "keyboard-interrupt-says-no-offer",
        SHARED + "memory.py",
        "    except EXITS:\n        raise\n    except BaseException:  # noqa: BLE001 - an object whose",
        "    except BaseException:  # noqa: BLE001 - an object whose",
        (BUFFER + "TestAsBuffer::test_an_interrupt_is_no_attribute_that_is_not_there",),
        "Ctrl-C does not end the program",
    ),
    Mutant(
        "panics-go-through",
        SHARED + "memory.py",
        "        value = getattr(foreign, name)\n    except BaseException as error:",
        "        value = getattr(foreign, name)\n    except Exception as error:",
        (REFUSALS + "TestPanics::test_of_a_buffer[ptr]",),
        "panics of libraries written in Rust are no `Exception`",
    ),
    Mutant(
        "panics-of-columns-go-through",
        SHARED + "context.py",
        "            return getattr(foreign, name)\n        except BaseException as error:",
        "            return getattr(foreign, name)\n        except Exception as error:",
        (REFUSALS + "TestPanics::test_of_a_column[dtype]",),
        "panics of libraries written in Rust are no `Exception`",
    ),
    Mutant(
        "panics-of-methods-go-through",
        SHARED + "context.py",
        "(*args, **options)\n        except BaseException as error:",
        "(*args, **options)\n        except Exception as error:",
        (REFUSALS + "TestPanics::test_of_a_column[num_chunks]",),
        "panics of libraries written in Rust are no `Exception`",
    ),
    Mutant(
        "panics-of-capsules-go-through",
        MAXIMAL + "arrow_source.py",
        "            except BaseException as error:",
        "            except Exception as error:",
        (REFUSALS + "TestPanics::test_of_a_capsule",),
        "panics of libraries written in Rust are no `Exception`",
    ),
    Mutant(
        "our-own-errors-are-a-producers",
        SHARED + "context.py",
        "            if isinstance(error, BuflendError):\n                return error\n",
        "",
        (REFUSALS + "TestCopies::test_a_refusal_of_ours_stays_one",),
        "a refusal of a copy is told as a fault",
    ),
    Mutant(
        "recursion-is-a-refusal",
        SHARED + "context.py",
        "_OTHER = (NotImplementedError, RecursionError)",
        "_OTHER = (NotImplementedError,)",
        (REFUSALS + "TestCopies::test_too_much_recursion_is_no_refusal_to_copy",),
        "a copy is asked for that would not help",
    ),
    Mutant(
        "error-of-a-stream-untold",
        SHARED + "arrow_import.py",
        "text = get_last_error(address)",
        "text = 0",
        ("tests/test_arrow_stream_import.py::test_a_schema_that_fails",),
        "nobody knows why a stream failed",
    ),
    Mutant(
        "first-refusal-forgotten",
        MAXIMAL + "found.py",
        "refusal = refusal or error",
        "refusal = error",
        (REFUSALS + "test_of_several_refusals_the_first_is_told",),
        "the error names a protocol that was only the last resort",
    ),
    Mutant(
        "refusal-ends-the-ladder",
        MAXIMAL + "found.py",
        "                refusal = refusal or error\n                continue\n",
        "                refusal = refusal or error\n                break\n",
        ("tests/test_ladder.py::TestOrder::test_after_a_refusal_by_dlpack_the_next_is_asked[exporter]",),
        "an object that speaks another protocol is refused",
    ),
    Mutant(
        "refusals-swallowed",
        MAXIMAL + "found.py",
        "        if refusal is not None:\n            raise failed",
        "        if False:\n            raise failed",
        ("tests/test_dlpack_import.py::TestProducers::test_a_refusal_keeps_nothing[then refused]",),
        "nobody knows why an object is refused",
    ),
    Mutant(
        "interface-of-none",
        MAXIMAL + "found.py",
        "    if found is None:\n        raise ProducerError",
        "    if False:\n        raise ProducerError",
        (INTERFACES_IMPORT + "TestArrayInterface::test_what_is_no_dict[None-Cuda]",),
        "an object is asked no further, and nobody knows why",
    ),
    Mutant(
        "type-errors-of-a-subclass-asked-again",
        MAXIMAL + "dlpack.py",
        "            if type(error) is not TypeError:  #",
        "            if False:  #",
        (REFUSALS + "test_a_refusal_by_a_class_of_its_own_means_what_it_says",),
        "pyarrow's refusal is hidden by another one",
    ),
    Mutant(
        "block-of-a-producer-is-the-callers-fault",
        MAXIMAL + "buffer.py",
        "    except ValueError as error:\n        raise ProducerError(whose, got=(ptr, bufsize)",
        "    except ZeroDivisionError as error:\n        raise ProducerError(whose, got=(ptr, bufsize)",
        (
            (
                INTERFACES_IMPORT + "TestArrayInterface::test_more_than_there_is[{'data': "
                "(18446744073709551615, False)}-Cuda]"
            ),
        ),
        "the error names nobody's field",
    ),
    Mutant(
        "names-of-fields-lost",
        MAXIMAL + "sources.py",
        '        raise type(error)(f"column {name!r}: {error}") from error\n',
        "        raise\n",
        ("tests/test_column_arguments.py::test_errors_of_a_mapping_name_the_column",),
        "the error does not say which column",
    ),
    Mutant(
        "column-of-a-frame-unnamed",
        SHARED + "frame.py",
        'inner = Context(f"column {name!r}" +',
        'inner = Context("column" +',
        (REFUSALS + "TestContradictions::test_the_column_is_named",),
        "the error does not say which column",
    ),
    Mutant(
        "loans-of-dlpack-not-told",
        SHARED + "loan.py",
        "        elif kind is Loan:\n",
        "        elif False:\n",
        (EXPORT_CONSUMERS + "TestLiveExports::test_the_device_is_told",),
        "live_exports hides what is lent",
    ),
    Mutant(
        "loans-of-pyarrow-not-told",
        SHARED + "loan.py",
        "        if kind is Taken:\n",
        "        if False:\n",
        (LOANS + "test_what_pyarrow_holds",),
        "live_exports hides what is lent",
        peers=("pyarrow",),
    ),
    Mutant(
        "loans-of-bytes-not-told",
        SHARED + "loan.py",
        "        elif kind is ByteLoan:\n",
        "        elif False:\n",
        (EXPORT_CONSUMERS + "TestLiveExports::test_counts_when_the_buffer_is_gone[2-numpy]",),
        "live_exports hides what is lent",
    ),
    Mutant(
        "views-not-told",
        SHARED + "loan.py",
        '        elif kind is Anchor and hasattr(candidate, "owner"):\n',
        "        elif False:\n",
        (EXPORT_CONSUMERS + "TestLiveExports::test_views",),
        "live_exports hides what is lent",
    ),
    Mutant(
        "arrow-not-told",
        SHARED + "loan.py",
        "return found + _by_arrow()",
        "return found",
        (LOANS + "test_each_struct_that_was_not_released_counts",),
        "live_exports hides what is lent",
    ),
    Mutant(
        "arrays-not-told",
        SHARED + "loan.py",
        "        elif kind is view:",
        "        elif False:",
        (EXPORT_CONSUMERS + "TestLiveExports::test_an_imported_buffer_is_listed_with_its_owner",),
        "live_exports hides what is lent",
    ),
    Mutant(
        "kept-methods-told",
        SHARED + "loan.py",
        "_LOOKING - kept.get(id(array), 0))",
        "_LOOKING)",
        (EXPORT_CONSUMERS + "TestLiveExports::test_the_device_is_told",),
        "what waits for an export is told as one",
    ),
    Mutant(
        "one-export-too-few",
        SHARED + "loan.py",
        "_LOOKING = _looking()\n",
        "_LOOKING = _looking() + 1\n",
        (EXPORT_CONSUMERS + "TestLiveExports::test_counts_while_the_buffer_lives[device0-capsule]",),
        "live_exports hides what is lent",
    ),
    Mutant(
        "one-export-too-many",
        SHARED + "loan.py",
        "_LOOKING = _looking()\n",
        "_LOOKING = _looking() - 1\n",
        (EXPORT_CONSUMERS + "TestLiveExports::test_counts_while_the_buffer_lives[device0-capsule]",),
        "what was returned is told as lent",
    ),
    Mutant(
        "returned-arrays-told",
        SHARED + "loan.py",
        "return 0 if array is None else max(",
        "return 1 if array is None else max(",
        (EXPORT_CONSUMERS + "TestLiveExports::test_a_loan_that_somebody_holds_after_its_array",),
        "what was returned is told as lent",
    ),
    Mutant(
        "exports-of-arrow-counted-once",
        SHARED + "loan.py",
        "lent.get(id(buffer[1]), (None, 0))[1] + 1",
        "1",
        (LOANS + "test_each_struct_that_was_not_released_counts",),
        "live_exports tells too few",
    ),
    Mutant(
        "children-of-arrow-not-told",
        SHARED + "loan.py",
        "inner = kept[0] if type(kept) is tuple and type(kept[0]) is tuple else kept",
        "inner = kept",
        (LOANS + "test_what_a_struct_and_its_children_hold",),
        "live_exports hides what is lent",
    ),
    Mutant(
        "light-exports-not-told",
        SHARED + "dlpack_light.py",
        "        _live[number] = loan, address",
        "        _live[number] = None, address",
        ("tests/test_light_export.py::test_any_tensor_is_described_as_it_is",),
        "live_exports hides what is lent, and nobody keeps it",
    ),
    Mutant(
        "device-of-a-loan-lost",
        SHARED + "loan.py",
        "        self.device = device\n",
        "        self.device = CPU\n",
        (EXPORT_CONSUMERS + "TestLiveExports::test_the_device_is_told",),
        "live_exports says that it lies on the CPU",
    ),
    Mutant(
        "address-pickled",
        SHARED + "memory.py",
        '        raise TypeError(\n            f"cannot pickle or copy',
        '        return NotImplemented\n        raise TypeError(\n            f"cannot pickle or copy',
        (BUFFER + "TestObject::test_an_address_does_not_travel[deepcopy]",),
        "an address is read in another process",
    ),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mutants.Tree]:
    with mutants.planted(tmp_path_factory.mktemp("mutants"), MUTANTS) as made:
        yield made


def test_the_table_is_of_this_tree() -> None:
    assert list(mutants.faults(MUTANTS)) == []


@mutants.each(MUTANTS)
def test_is_killed(mutant: Mutant, tree: mutants.Tree) -> None:
    tree.kill(mutant)
