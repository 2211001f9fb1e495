"""A folder over HTTP, to this machine alone: a browser opens asv's page from no file, since it fetches its data."""

from __future__ import annotations

import functools
import http.server
from typing import TYPE_CHECKING, Any

from . import DashboardError

if TYPE_CHECKING:
    from pathlib import Path

HOST = "127.0.0.1"
PORT = 8765
"""The port where none is asked for and this one is free."""


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files, keeps no log, and lets browsers keep nothing: the next run writes files of the same names."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def opened(folder: Path, port: int | None) -> http.server.ThreadingHTTPServer:
    """Return a server of a folder, which listens and does not answer yet; on any free port where none is asked for."""
    handler = functools.partial(_Handler, directory=str(folder))
    last: OSError | None = None
    for one in (PORT, 0) if port is None else (port,):
        try:
            return http.server.ThreadingHTTPServer((HOST, one), handler)
        except OSError as error:
            last = error
    assert last is not None  # noqa: S101
    raise DashboardError(f"--port {port}: {last.strerror}; without --port a free one is taken")


def address(server: http.server.ThreadingHTTPServer) -> str:
    """Return where a server answers."""
    return f"http://{HOST}:{server.server_port}/"


def how_to(folder: Path) -> str:
    """Return the command that serves a folder without this one."""
    return f"python -m http.server --bind {HOST} --directory {folder} {PORT}"
