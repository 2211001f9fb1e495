"""One case of the battery: a frame that a producer may hand out, and what the specification says it holds.

Lives here: the record. Must not know: any consumer.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..consumers import Reading
    from ..producer import Frame

NONE: Mapping[str, Any] = MappingProxyType({})


class Case(NamedTuple):
    """An input with its right value.

    Parameters
    ----------
    name : str
        Stable identifier in kebab case.
    title : str
        What is special about the input, in a few words.
    make : callable
        Makes the frame, afresh at each call.
    expect : mapping of str to list, or None
        The values of each column, in order, in the canonical form of `consumers.Reading`. None: nothing can be
        read from this frame, a consumer must refuse it.
    ordered : mapping of str to bool
        Of categorical columns, where it is part of the case.
    timezone : mapping of str to str
        Of zoned columns.
    may_refuse : bool, default False
        Whether refusing is right too, besides reading `expect`.
    errors : tuple of str
        Names of the exceptions of which buflend must raise one. Other consumers have their own.
    allow_copy : bool, default True
        What the consumer is asked for.
    outlives : int, optional
        Read the result only after the frame is dropped, from this row on, through a slice that outlives the result.
    intact : bool, default False
        Whether the producer's memory must be the same afterwards for the outcome to be right; else it is a remark.
    after : callable, optional
        Looks at the reading (None when refused) and at the frame afterwards; returns what is wrong, or None.
    """

    name: str
    title: str
    make: "Callable[[], Frame]"
    expect: Mapping[str, list[Any]] | None
    ordered: Mapping[str, bool] = NONE
    timezone: Mapping[str, str] = NONE
    may_refuse: bool = False
    errors: tuple[str, ...] = ()
    allow_copy: bool = True
    outlives: int | None = None
    intact: bool = False
    after: "Callable[[Reading | None, Frame], str | None] | None" = None

    def expects(self) -> str:
        """Say in a line what is right."""
        if self.expect is None:
            return "a refusal"
        values = ", ".join(f"{name}: {values}" for name, values in self.expect.items()) or "no column"
        if len(values) > 200:
            values = values[:197] + "..."
        return values + (", or a refusal" if self.may_refuse else "")
