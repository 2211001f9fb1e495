"""The real table read through the exchange protocol, column by column against its source.

Every consumer reads in a process of its own; where it refuses the whole frame, it is asked for each column alone. Right
is what the source's own library reads, never another consumer's reading; where a producer's frame differs from the
source already, the frame is what is expected, and the difference is told as the producer's. A column that offers no
buffers is held against nobody; whoever reads a column right that contradicts itself was lucky.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import consumers, processes, tables
from .producer import Kind
from .tables import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .cells import Cells

    Tell = Callable[[dict[str, Any]], None]

CHECKER = "minimal"
"""The consumer that checks what a producer says before it believes it."""

OUTCOMES = ("right", "lucky", "differing", "refused", "crashed", "hung")


def measure(
    file: str | None,
    progress: Callable[[str, float], None],
    extra: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Let every consumer read every producer's frame of a table and compare the columns with the source.

    `extra` are more consumers: name and `module:function`, which gets an object with `__dataframe__` and returns a
    frame of pandas, pyarrow or polars, or a dictionary of column arrays.
    """
    about = _about(file)
    if about["reason"]:
        return {"available": False, "reason": about["reason"]}
    table, makers = about["table"], about["producers"]
    present = consumers.availability() | {
        name: {"available": True, "reason": "", "version": ""} for name in extra or {}
    }
    places = consumers.READERS | dict(extra or {})
    wanted = [name for name, maker in makers.items() if maker["available"]]
    pairs = []
    for done, (name, found) in enumerate(present.items()):
        if found["available"]:
            progress(f"values: {name} reads", done / len(present))
            pairs += _read_all(name, places[name], file, makers, wanted)
    broken = {maker: _broken([pair for pair in pairs if pair["producer"] == maker]) for maker in wanted}
    for pair in pairs:
        for column in broken[pair["producer"]]:
            one = pair["columns"].get(column)
            if one is not None and one["outcome"] == "right":
                one |= {"outcome": "lucky", "detail": broken[pair["producer"]][column]}
        pair["count"] = {kind: sum(one["outcome"] == kind for one in pair["columns"].values()) for kind in OUTCOMES}
    nobody = {maker: _nobody([pair for pair in pairs if pair["producer"] == maker]) for maker in wanted}
    return {
        "available": True,
        "reason": "",
        "table": table,
        "producers": makers,
        "consumers": present,
        "pairs": pairs,
        "broken": broken,
        "nobody": {maker: [one for one in columns if one not in broken[maker]] for maker, columns in nobody.items()},
    }


def _about(file: str | None) -> dict[str, Any]:
    """Look at the table and its frames in a process of its own, since some are made by panicking libraries."""
    about, end = processes.answer(f"{__name__}:_describe", {"file": file})
    reason = f"the table could not be looked at: {end['end']}: {end['detail']}" if end else ""
    return {"reason": reason} | about


def _describe(payload: dict[str, Any], tell: Tell) -> None:
    try:
        source = tables.load(payload["file"])
    except tables.TableError as error:
        tell({"reason": str(error)})
    else:
        tell({"table": tables.describe(source), "producers": _producers(source)})


def _producers(source: tables.Source) -> dict[str, dict[str, Any]]:
    from .cells import cells_of, difference

    truth = cells_of(source.table)
    found = {}
    for name, producer in tables.producers(source).items():
        entry: dict[str, Any] = {
            "available": producer.frame is not None,
            "reason": producer.reason,
            "note": producer.note,
            "not_offered": {},
            "frame_differs": {},
        }
        if producer.frame is not None:
            own = cells_of(producer.frame)
            entry["not_offered"] = producer.left_out | not_offered(producer.frame)
            entry["frame_differs"] = {
                column: f"{unlike.expected} became {unlike.got}"
                for column, cells in own.items()
                if cells.kind != "other" and (unlike := difference(truth[column], cells)) is not None
            }
        found[name] = entry
        if producer.frame is not None and not hasattr(producer.frame, "__dataframe__"):
            entry |= {"available": False, "reason": "its frames have no __dataframe__"}
    return found


def not_offered(frame: Any) -> dict[str, str]:
    """Return the columns that a frame cannot describe through the protocol, with the producer's reasons."""
    if not hasattr(frame, "__dataframe__"):
        return {}
    exchange = frame.__dataframe__()
    reasons = {}
    for name in exchange.column_names():
        try:
            for chunk in exchange.get_column_by_name(name).get_chunks():
                _touch(chunk)
        except BaseException as error:  # noqa: BLE001 - polars' panics are no Exception
            reasons[name] = sentence(error)
    return reasons


def _touch(chunk: Any) -> None:
    """Ask a chunk, and its categories, for everything that a consumer needs."""
    kind, *_ = chunk.dtype
    _ = chunk.describe_null, chunk.size(), chunk.offset
    chunk.get_buffers()
    if kind == Kind.CATEGORICAL:
        categories = chunk.describe_categorical["categories"]
        if categories is not None:
            _touch(categories)


def _broken(pairs: list[dict[str, Any]]) -> dict[str, str]:
    """Return the columns in which a producer contradicts itself, as ours found when it looked, and how.

    What another consumer makes of such a column can be right by luck only: codes past the end of the categories, taken
    modulo their number, say.
    """
    return {
        column: one["detail"]
        for pair in pairs
        if pair["consumer"] == CHECKER
        for column, one in pair["columns"].items()
        if one["outcome"] == "refused" and one["detail"].startswith("ProducerError: ")
    }


def _nobody(pairs: list[dict[str, Any]]) -> list[str]:
    """Return the columns of a producer that no consumer read right: a sign that the producer is at fault."""
    names = {column for pair in pairs for column in pair["columns"]}
    right = {column for pair in pairs for column, one in pair["columns"].items() if one["outcome"] == "right"}
    order = list(dict.fromkeys(column for pair in pairs for column in pair["columns"]))
    return [name for name in order if name in names - right]


def _read_all(
    name: str, place: str, file: str | None, makers: dict[str, dict[str, Any]], wanted: list[str]
) -> list[dict[str, Any]]:
    """Let one consumer read all producers' frames; begin again behind whatever ended its process."""
    done: list[dict[str, Any]] = []
    found: dict[str, dict[str, Any]] = {}
    todo: list[dict[str, Any]] = [
        {
            "producer": producer,
            "columns": None,
            "not_offered": list(makers[producer]["not_offered"]),
            "differs": list(makers[producer]["frame_differs"]),
        }
        for producer in wanted
    ]
    while todo:
        now: dict[str, Any] = {}
        for message in processes.run(f"{__name__}:_job", {"place": place, "file": file, "todo": todo}):
            if "start" in message:
                now = message
            elif "column" in message:
                found.setdefault(message["producer"], {})[message["column"]] = message["one"]
            elif "frame" in message:
                pair = {"producer": message["frame"], "consumer": name, **message["result"]}
                pair["columns"] = found.pop(message["frame"], {}) | pair["columns"]
                done.append(pair)
                todo = [one for one in todo if one["producer"] != message["frame"]]
            elif message["end"] == "done":
                todo = []
            elif todo and now.get("start") == todo[0]["producer"]:
                todo = [_after(message, now, todo[0], found), *todo[1:]]
            else:  # it never came to read
                failed = {"whole": f"{message['end']}: {message['detail']}", "columns": {}, "written": {}}
                done += [{"producer": one["producer"], "consumer": name, **failed} for one in todo]
                todo = []
    return done


def _after(
    end: dict[str, Any], now: dict[str, Any], order: dict[str, Any], found: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return what is left to do of a producer's frame behind a process that ended while it read."""
    if now.get("alone") is None:  # it died on the whole frame: ask for each column alone
        return {**order, "columns": now["names"], "whole": f"{end['end']}: {end['detail']}"}
    outcome = "hung" if end["end"] == "hung" else "crashed"
    found.setdefault(order["producer"], {})[now["alone"]] = {"outcome": outcome, "type": "", "detail": end["detail"]}
    left = now["names"][now["names"].index(now["alone"]) + 1 :]
    return {**order, "columns": left, "whole": now["whole"]}


def _job(payload: dict[str, Any], tell: Tell) -> None:
    """Read producers' frames in this process: `todo` says which, and which columns alone."""
    read = consumers.find(payload["place"])
    source, truth = _fresh(payload["file"])
    for one in payload["todo"]:
        name = one["producer"]
        frame = tables.producer(name, source).frame
        result, changed = _frame(frame, truth, read, one, tell)
        tell({"frame": name, "result": result})
        if changed:  # the frames can share memory with the source
            source, truth = _fresh(payload["file"])


def _fresh(file: str | None) -> tuple[tables.Source, dict[str, Cells]]:
    from .cells import cells_of

    source = tables.load(file)
    # Copies, since a consumer may write into the memory that it is lent.
    return source, {
        name: cells._replace(values=cells.values.copy(), missing=cells.missing.copy())
        for name, cells in cells_of(source.table).items()
    }


def _frame(
    frame: Any, source: dict[str, Cells], read: Callable[[Any], Any], order: dict[str, Any], tell: Tell
) -> tuple[dict[str, Any], bool]:
    """Read one producer's frame, whole or column by column, and judge it; tell also whether it was written to."""
    from .cells import cells_of, difference

    name = order["producer"]
    truth = source
    if order["differs"]:
        own = cells_of(frame)
        truth = {**source, **{one: own[one]._replace(values=own[one].values.copy()) for one in order["differs"]}}
    names = [str(one) for one in frame.__dataframe__().column_names()]
    offered = [one for one in names if one not in order["not_offered"]]
    columns: dict[str, dict[str, Any]] = {}
    whole = order.get("whole", "")
    alone = order["columns"] if offered else []
    if not offered:
        whole = "no column is offered"
    if alone is None:
        tell({"start": name, "names": offered})
        try:
            exchange = frame.__dataframe__()
            if len(offered) < len(names):
                exchange = exchange.select_columns_by_name(offered)
            columns = _judge(read(consumers.Exchange(exchange)), truth, offered)
        except BaseException as error:  # noqa: BLE001 - polars' panics are no Exception
            whole, alone = f"refused: {sentence(error)}", offered
    for column in alone or ():
        tell({"start": name, "names": alone, "alone": column, "whole": whole})
        try:
            exchange = frame.__dataframe__().select_columns_by_name([column])
            one = _judge(read(consumers.Exchange(exchange)), truth, [column])[column]
        except BaseException as error:  # noqa: BLE001
            one = {"outcome": "refused", "type": "", "detail": sentence(error)}
        tell({"producer": name, "column": column, "one": one})
        columns[column] = one
    after = cells_of(frame)
    written = {
        column: f"row {unlike.row}: {unlike.expected} became {unlike.got}"
        for column in offered
        if truth[column].kind != "other" and (unlike := difference(truth[column], after[column])) is not None
    }
    return {"whole": whole or "read", "columns": columns, "written": written}, bool(written)


def _judge(result: Any, truth: Mapping[str, Cells], names: list[str]) -> dict[str, dict[str, Any]]:
    """Compare what a consumer made of some columns with what is true."""
    from .cells import cells_of, difference

    got = cells_of(result)
    nan_is_missing = type(result).__module__.partition(".")[0] == "pandas"
    judged: dict[str, dict[str, Any]] = {}
    for name in names:
        if name not in got:
            judged[name] = {"outcome": "differing", "type": "", "detail": "the column is not there"}
            continue
        unlike = difference(truth[name], got[name], nan_is_missing=nan_is_missing)
        one: dict[str, Any] = {"outcome": "right", "type": got[name].type, "detail": ""}
        if unlike is not None:
            where = "" if unlike.row is None else f"{unlike.rows} rows, first row {unlike.row}: "
            detail = f"{where}expected {unlike.expected}, got {unlike.got}"
            one |= {"outcome": "differing", "detail": detail, **unlike._asdict()}
        judged[name] = one
    return judged
