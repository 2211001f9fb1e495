"""Categoricals: codes, and the categories they stand for.

Lives here: the reading and checking of codes, and the joining of dictionaries that differ from chunk to chunk. Must not
know: how categories themselves are read (that is a column again, read by `column`).
"""

from collections.abc import Hashable, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .chunk import Chunk, settle_order, settle_width
from .context import Context
from .interchange import INDEX_KINDS, DtypeKind
from .memory import offers
from .numbers import number_type, view
from .text import to_strings
from .validity import Present


def read_codes(chunk: Chunk) -> NDArray[Any]:
    """Return the codes: sign and byte order are those of the buffer's own tuple."""
    part = chunk.part("data")
    kind, _, text, _ = part.dtype
    order = settle_order(chunk, part, DtypeKind.CATEGORICAL, DtypeKind.INT, DtypeKind.UINT)
    return view(chunk, part, index_type(chunk, kind, settle_width(chunk, part), text), order)


def index_type(chunk: Chunk, kind: int, bits: int, text: str) -> str:
    """Return NumPy's type of codes; where the kind does not say whether they are signed, the format string does."""
    if kind == DtypeKind.CATEGORICAL:
        kind = INDEX_KINDS.get(text, DtypeKind.INT)
    if kind not in (DtypeKind.INT, DtypeKind.UINT):
        raise chunk.context.broken("data dtype", (kind, bits), "integers, the codes of a categorical column")
    return number_type(chunk, kind, bits)


def describe_categories(chunk: Chunk) -> tuple[Any, bool]:
    """Return the column of categories and whether they are ordered."""
    context, field = chunk.context, "describe_categorical"
    described = context.get(chunk.column, field)
    if not offers(described, "keys"):
        raise context.broken(field, described, "a dict with 'is_ordered', 'is_dictionary' and 'categories'")
    ordered, dictionary, column = (
        context.item(described, key, field) for key in ("is_ordered", "is_dictionary", "categories")
    )
    if not context.truth(dictionary, f"{field}['is_dictionary']") or column is None:
        raise context.broken(
            field,
            {"is_dictionary": dictionary, "categories": column},
            "is_dictionary True and a column of categories; no other mapping is defined",
        )
    return column, context.truth(ordered, f"{field}['is_ordered']")


def check_codes(chunk: Chunk, codes: NDArray[Any], present: Present, categories: int, known: Present) -> Present:
    """Return what is present once codes of missing categories are taken out.

    Parameters
    ----------
    chunk : Chunk
        Where the codes come from.
    codes : ndarray of n integers
        Codes; those of missing elements may be anything.
    present : ndarray of n bool, or None
        What is present by the chunk's own nulls.
    categories : int
        How many categories there are.
    known : ndarray of bool, or None
        Which categories are present.

    Raises
    ------
    ProducerError
        When the code of a present element is no category's.
    """
    wild = (codes < 0) | (codes >= categories)
    if present is not None:
        wild &= present
    if wild.any():
        row = int(np.argmax(wild))
        raise chunk.context.broken(f"code of element {row}", int(codes[row]), f"0 to {categories - 1}, the categories")
    if known is None or not len(codes):
        return present
    there = known[np.where(present, codes, 0)] if present is not None else known[codes]
    if present is not None:
        there &= present
    if there.all():
        return None
    chunk.context.copy("codes of a missing category are missing")
    return there


def without_missing(
    codes: NDArray[Any], present: Present, categories: NDArray[Any], known: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return codes and categories once missing categories are taken out of the dictionary; both are new memory."""
    new = np.cumsum(known) - 1
    there = slice(None) if present is None else present
    recoded = np.zeros_like(codes)
    recoded[there] = new[codes[there]]
    return recoded, categories[known]


def unite(
    dictionaries: Sequence[NDArray[Any]], context: Context, *, ordered: bool
) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """Join dictionaries of several chunks into one.

    Parameters
    ----------
    dictionaries : sequence of ndarray
        The categories of each chunk, of one type.
    context : Context
        For errors.
    ordered : bool
        Whether the order of the categories means something.

    Returns
    -------
    categories : ndarray
        Each category once, in the order of first appearance; of ordered ones, in the order that all chunks follow.
    maps : list of ndarray of int64
        For each chunk, the new code of each old code.

    Raises
    ------
    ProducerError
        When the chunks contradict one another's order, or leave it open.
    """
    if dictionaries[0].dtype.kind in "Mm":  # datetimes of an array become numbers, which lose their type
        texts = [d.view(np.int64).tolist() for d in dictionaries]
    else:
        texts = [d.tolist() for d in dictionaries]
    merged: list[Hashable] = _in_order(texts, context) if ordered else list(dict.fromkeys(c for t in texts for c in t))
    position = {category: code for code, category in enumerate(merged)}
    maps = [np.array([position[category] for category in t], dtype=np.int64) for t in texts]
    kind = dictionaries[0].dtype
    if kind.kind in "Mm":
        return np.array(merged, dtype=np.int64).view(kind), maps
    return to_strings(merged) if kind.hasobject else np.array(merged, dtype=kind), maps  # type: ignore[arg-type]


def _in_order(texts: list[list[Hashable]], context: Context) -> list[Hashable]:
    """Return the one order that all lists follow."""
    sorter: TopologicalSorter[Hashable] = TopologicalSorter()
    for t in texts:
        once = list(dict.fromkeys(t))
        for before, after in pairwise(once):
            sorter.add(after, before)
        if len(once) == 1:
            sorter.add(once[0])
    merged: list[Hashable] = []
    try:
        sorter.prepare()
        while sorter:
            ready = sorter.get_ready()
            if len(ready) > 1:
                raise context.broken(
                    "categories",
                    ready,
                    "an order: the dictionaries of the chunks leave open which of these comes first",
                )
            merged += ready
            sorter.done(*ready)
    except CycleError as error:
        raise context.broken(
            "categories", error.args[1], "one order: the dictionaries of the chunks contradict it"
        ) from None
    return merged
