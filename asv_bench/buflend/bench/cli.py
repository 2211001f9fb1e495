"""The command `buflend`: it reads arguments, checks what can be checked before minutes are spent, and hands on.

Exit code 0: what was asked for was done; 1: it was, and a benchmark failed; 2: it could not be, with a sentence on
standard error; 130: it was interrupted. Nothing beyond the standard library is imported before it is known to be there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import compare, peers

if TYPE_CHECKING:
    from collections.abc import Sequence

ALWAYS = ("numpy", "rich")
FOR_PAGE = ("jinja2", "plotly")
FOR_DASHBOARD = ("asv",)
WITHOUT_EFFECT = {"no-publish": ("add", "output", "port"), "no-serve": ("port",), "history": ("commit",)}


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
        epilog="Parts: "
        + "; ".join(f"{name} ({text})" for name, text in compare.PARTS.items())
        + f". With --device cuda: {', '.join(compare.ON_CUDA)}.",
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
    one.add_argument(
        "--device",
        choices=compare.DEVICES,
        action=_Once,
        help="where the memory lies that is exchanged: cpu (the default), or cuda, which compares with CuPy, PyTorch, "
        "JAX, numba-cuda and cuda.core; where there is no such device, the reason is all that is shown",
    )
    _add_dashboard(commands)
    return parser


def _add_dashboard(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    one = commands.add_parser(
        "dashboard",
        help="measure the benchmark suite, and show every implementation side by side",
        description="Measure the benchmark suite with asv and the running Python, write a page that sets every "
        "implementation side by side, with asv's own page of history beside it, and serve both on this machine.",
        epilog="Results of machines that lie in asv_bench/results are always shown. To add one of a machine with a "
        "GPU: there, buflend dashboard --no-publish --bench Gpu; here, --add with the folder that it names.",
    )
    one.add_argument("--quick", action="store_true", help="three samples of each, which are not kept: for a look")
    one.add_argument("--bench", metavar="RE", action="append", default=[], help="only what this finds (repeatable)")
    one.add_argument("--machine", metavar="NAME", action=_Once, help="what to call this machine (default: its name)")
    one.add_argument("--gpu", metavar="NAME", action=_Once, help="what to call its GPU (default: what CUDA tells)")
    one.add_argument("--commit", metavar="HASH", action=_Once, help="what is measured, where there is no git history")
    one.add_argument(
        "--add",
        metavar="RESULTS",
        type=Path,
        action="append",
        default=[],
        help="results of another machine: a folder with a machine.json in it, or one of such folders (repeatable)",
    )
    one.add_argument(
        "--history",
        metavar="RANGE",
        action=_Once,
        help="measure these commits (A..B, as git writes it) instead, each in an environment that asv makes",
    )
    one.add_argument("--no-publish", action="store_true", help="measure and keep the results, write no page")
    one.add_argument("--no-serve", action="store_true", help="write the pages and end")
    one.add_argument("--output", metavar="DIR", type=Path, action=_Once, help="the folder for the pages")
    one.add_argument("--port", type=_port, action=_Once, help="where to serve (default: 8765, or one that is free)")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"got {text}, expected a number up to 65535")
    return int(text)


class _Once(argparse.Action):
    """Store a value, and refuse a second one, of which argparse would silently keep the last."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, _option: str | None = None
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{'/'.join(self.option_strings)}: given twice, expected once")
        setattr(namespace, self.dest, values)


def _dashboard(arguments: argparse.Namespace) -> int:
    _require(ALWAYS + FOR_PAGE + FOR_DASHBOARD)
    _check_combination(arguments)
    from . import terminal
    from .dashboard import DashboardError, command

    terminal.tame()
    options = command.Options(
        quick=arguments.quick,
        bench=arguments.bench,
        machine=_machine() if arguments.machine is None else arguments.machine,
        gpu=arguments.gpu,
        commit=arguments.commit,
        add=arguments.add,
        history=arguments.history,
        publish=not arguments.no_publish,
        serve=not (arguments.no_publish or arguments.no_serve),
        output=arguments.output,
        port=arguments.port,
    )
    try:
        made = command.Dashboard(options, terminal.say)
        made.check()
        made.measure(terminal.progress)
        made.show()
    except DashboardError as error:
        raise CannotError(str(error)) from error
    except OSError as error:
        raise CannotError(_cause(error)) from error
    return 1 if made.failed else 0


def _machine() -> str:
    """Return the name of this machine, as one of results may be written."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", platform.node()).strip("-._") or "here"


def _cause(error: OSError) -> str:
    """Say what could not be done with which file; a full disk names none."""
    return f"{error.filename}: {error.strerror}" if error.filename is not None else str(error.strerror or error)


def _check_combination(arguments: argparse.Namespace) -> None:
    """Refuse options of which one would be without effect."""
    given = {name: getattr(arguments, name.replace("-", "_")) for name in ("add", "commit", "output", "port")}
    for option, others in WITHOUT_EFFECT.items():
        for other in others:
            if getattr(arguments, option.replace("-", "_")) and given[other] not in (None, []):
                raise CannotError(f"--{option} and --{other}: expected one of them, since the other has no effect then")


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
        report = compare.measure(arguments.data, arguments.only, told, arguments.device or compare.DEVICES[0])
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
        raise CannotError(_cause(error)) from error
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
