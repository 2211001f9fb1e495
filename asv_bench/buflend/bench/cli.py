"""The command `buflend`: it reads arguments, checks what can be checked before minutes are spent, and hands on.

Exit code 0: what was asked for was done; 2: it could not be, with a sentence on standard error; 130: it was
interrupted. Nothing beyond the standard library is imported before it is known to be there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import compare, peers

if TYPE_CHECKING:
    from collections.abc import Sequence

ALWAYS = ("numpy", "rich")
FOR_PAGE = ("jinja2", "plotly")


class CannotError(Exception):
    """What was asked for cannot be done; the text says why."""


def main(argv: list[str] | None = None) -> int:
    """Run the command, by default with the arguments of the process, and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        return (_dashboard if arguments.command == "dashboard" else _compare)(arguments)
    except CannotError as error:
        sys.stderr.write(f"buflend: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("buflend: interrupted\n")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="buflend", description="Lend a buffer, keep its owner alive: comparisons measured here and now."
    )
    parser.add_argument("--version", action="version", version=f"buflend {peers.our_version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    one = commands.add_parser(
        "compare",
        help="compare buflend with pandas, pyarrow and polars on this machine",
        description="Compare buflend with pandas, pyarrow and polars: everything shown is measured while you wait, "
        "in about three minutes. A package that is not installed is named.",
        epilog="Parts: " + "; ".join(f"{name} ({text})" for name, text in compare.PARTS.items()) + ".",
    )
    one.add_argument(
        "--data",
        metavar="FILE",
        action=_Once,
        help="your own table: Parquet, Arrow, Feather or CSV (default: the flights)",
    )
    one.add_argument("--json", metavar="FILE", type=Path, action=_Once, help="write every number to this file")
    one.add_argument(
        "--html",
        metavar="FILE",
        type=Path,
        action=_Once,
        help="write a page with plots, complete in itself, to this file",
    )
    one.add_argument(
        "--only",
        metavar="PART",
        action="append",
        default=[],
        choices=list(compare.PARTS),
        help="measure this part only (repeatable)",
    )
    commands.add_parser("dashboard", description="The dashboard is not built yet.")  # no help: it is not listed
    return parser


class _Once(argparse.Action):
    """Store a value, and refuse a second one, of which argparse would silently keep the last."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, _option: str | None = None
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{'/'.join(self.option_strings)}: given twice, expected once")
        setattr(namespace, self.dest, values)


def _dashboard(_arguments: argparse.Namespace) -> int:
    raise CannotError("the dashboard is not built yet; `buflend compare` is")


def _compare(arguments: argparse.Namespace) -> int:
    _require(ALWAYS if arguments.html is None else ALWAYS + FOR_PAGE)
    _check_distinct({f"--{name}": getattr(arguments, name) for name in ("data", "json", "html")})
    for path in filter(None, (arguments.json, arguments.html)):
        _check_writable(path)
    from . import terminal

    terminal.tame()
    if arguments.data is not None:
        from . import tables

        try:
            tables.load(arguments.data)
        except tables.TableError as error:
            raise CannotError(str(error)) from error
    with terminal.progress() as told:
        report = compare.measure(arguments.data, arguments.only, told)
    terminal.show(report)
    try:
        if arguments.json is not None:
            arguments.json.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", "utf-8")
            terminal.say(f"written: {arguments.json}")
        if arguments.html is not None:
            from . import page

            arguments.html.write_text(page.render(report), "utf-8", "replace")
            terminal.say(f"written: {arguments.html}")
    except OSError as error:
        raise CannotError(f"{error.filename}: {error.strerror}") from error
    return 0


def _require(packages: Sequence[str]) -> None:
    missing = [name for name in packages if not peers.peer(name).available]
    if missing:
        raise CannotError(f"this command needs {', '.join(missing)}: pip install {' '.join(missing)}")


def _check_distinct(paths: dict[str, str | Path | None]) -> None:
    """Refuse to write one file over another."""
    seen: dict[Path, str] = {}
    for option, path in paths.items():
        if path is not None:
            other = seen.setdefault(Path(path).resolve(), option)
            if other != option:
                raise CannotError(f"{path}: named by {other} and by {option}, expected two files")


def _check_writable(path: Path) -> None:
    folder = path.absolute().parent
    if path.is_dir():
        raise CannotError(f"{path}: this is a folder, expected the name of a file to write")
    if not folder.is_dir():
        raise CannotError(f"{path}: there is no folder {folder}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise CannotError(f"{path}: may not be written")


if __name__ == "__main__":
    sys.exit(main())
