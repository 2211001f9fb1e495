"""The methods of Arrow's protocols, which columns and tables have alike.

Lives here: the wiring. Must not know: how either becomes Arrow's.
"""

from collections.abc import Callable
from typing import Any

from ..shared.device import Device
from . import column_arrow
from .arrow_form import Form
from .offer import ARROW, HOST, ONE_PIECE, offered


class ArrowDunders:
    """The base of what has a form in Arrow: `_form` where it is kept, `_make_form` to make it."""

    __slots__ = ()

    _form: Any
    _make_form: Callable[[], Form]
    __dlpack_device__: Callable[[], tuple[int, int]]

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Return what a pickle or a copy takes over: not the form, which has addresses of this one's buffers."""
        state: Any = super().__getstate__()
        return None, state[1] | {"_form": None}

    @property
    def device(self) -> Device:
        """Where the memory lies."""
        raise NotImplementedError

    @offered(ARROW | HOST)
    def __arrow_array__(self, type: Any = None) -> Any:  # noqa: A002 - pyarrow's name
        """Return a pyarrow array, of several chunks a chunked one, of a table one of structs; imports pyarrow."""
        return column_arrow.pyarrow_array(self._form or self._make_form(), type)

    @offered(ARROW)
    def __arrow_c_schema__(self) -> object:
        """Return the `arrow_schema` capsule."""
        return column_arrow.schema(self._form or self._make_form())

    @offered(ARROW | ONE_PIECE | HOST)
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Return what is in one piece as `arrow_schema` and `arrow_array` capsules."""
        return column_arrow.array(self._form or self._make_form(), requested_schema)

    @offered(ARROW | ONE_PIECE)
    def __arrow_c_device_array__(self, requested_schema: object = None, **kwargs: Any) -> tuple[object, object]:
        """Return what is in one piece as `arrow_schema` and `arrow_device_array` capsules."""
        device = Device(*self.__dlpack_device__())
        return column_arrow.device_array(self._form or self._make_form(), device, requested_schema, **kwargs)

    @offered(ARROW | HOST)
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the chunks as an `arrow_array_stream` capsule, a fresh one each time."""
        return column_arrow.stream(self._form or self._make_form(), requested_schema)
