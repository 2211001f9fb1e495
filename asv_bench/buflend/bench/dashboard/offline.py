"""asv's own page without the network: what it loads from content networks is laid beside it.

The packages of `PACKAGES` are installed once, by name and version with npm, into a folder that git ignores; asv's pages
are then rewritten to the copies. A page that asks for anything else is an error: asv may change its pages.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from . import DashboardError

if TYPE_CHECKING:
    from collections.abc import Iterable


class Package(NamedTuple):
    """A package of npm: what of it asv's page needs, under the names that the page asks for, and its licence."""

    name: str
    version: str
    files: dict[str, str]
    licence: str = "MIT"

    @property
    def folder(self) -> str:
        """Return the name of the folder for its copies."""
        return f"{self.name}@{self.version}"


_FLOT = ("", ".categories", ".selection", ".time")
_FONTS = ("eot", "svg", "ttf", "woff")
PACKAGES = (
    Package("blueimp-md5", "2.19.0", {"js/md5.min.js": "md5.min.js"}),
    Package(
        "bootstrap",
        "3.1.1",
        {
            "dist/css/bootstrap.min.css": "bootstrap.min.css",
            "dist/js/bootstrap.min.js": "bootstrap.min.js",
            # The style sheet asks for ../fonts/.
            **{
                f"dist/fonts/glyphicons-halflings-regular.{kind}": f"../fonts/glyphicons-halflings-regular.{kind}"
                for kind in _FONTS
            },
        },
    ),
    # What content networks minify is in the package as it was written.
    Package("flot", "0.8.3", {f"jquery.flot{part}.js": f"jquery.flot{part}.min.js" for part in _FLOT}),
    Package("flot-orderbars", "1.0.0", {"js/jquery.flot.orderBars.js": "jquery.flot.orderBars.js"}),
    Package("jquery", "3.3.1", {"dist/jquery.min.js": "jquery-3.3.1.min.js"}),
    Package("stupid-table-plugin", "1.1.3", {"stupidtable.min.js": "stupidtable.min.js"}),
)
"""Package -> file in it -> file that asv's page asks for."""

LICENCES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "README.md")
"""Where a package may state its licence, the last where it has no file of its own for that."""

SECONDS = 300
"""How long npm may take."""

PLACE = "assets/files"
"""The folder of the copies, beside asv's page."""


class AssetsError(DashboardError):
    """The copies cannot be had here; the text says why, and what to do."""


def install(folder: Path) -> None:
    """Fill a folder with what asv's page needs, unless it is there already."""
    if all((folder / package.folder / "package.json").is_file() for package in PACKAGES):
        return
    npm = shutil.which("npm")
    if npm is None:
        raise AssetsError("npm is not installed, and asv's page needs scripts that come with it: install Node.js")
    with tempfile.TemporaryDirectory() as work:
        wanted = [package.folder for package in PACKAGES]
        options = ("--prefix", work, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        try:
            done = subprocess.run(
                [npm, "install", *options, *wanted],
                capture_output=True,
                check=False,
                cwd=work,
                encoding="utf-8",
                errors="replace",
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise AssetsError(f"npm took more than {SECONDS} s to install what asv's page needs: try again") from None
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).split())[:300]
            raise AssetsError(f"npm could not install what asv's page needs: {said}")
        for package in PACKAGES:
            _copy(package, Path(work, "node_modules", package.name), folder / package.folder)


def _copy(package: Package, source: Path, target: Path) -> None:
    """Copy what is needed of an installed package; `package.json` comes last, and says that all is there."""
    shutil.rmtree(target, ignore_errors=True)
    stated = next((source / name for name in LICENCES if (source / name).is_file()), None)
    for path in (*package.files, *((stated.name,) if stated else ()), "package.json"):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(source / path, target / path)
        except OSError as error:
            raise AssetsError(f"{package.folder}: {path} is not in the package that npm installed") from error


def licences(folder: Path) -> list[tuple[Package, str]]:
    """Return the packages, each with the text of its licence."""
    found = []
    for package in PACKAGES:
        stated = next((path for name in LICENCES if (path := folder / package.folder / name).is_file()), None)
        found.append((package, stated.read_text("utf-8", "replace").strip() if stated else ""))
    return found


def localise(site: Path, folder: Path, *, home: str) -> None:
    """Rewrite the pages of a published folder to copies of what they load; `home` is where their navigation leads back.

    Raises
    ------
    DashboardError
        When a page or a style sheet loads something of which there is no copy.
    """
    names = _lay(site, folder)
    for page in sorted(site.glob("*.html")):
        page.write_text(rewritten(page.read_text("utf-8"), names, page.name, home), "utf-8")
    for sheet in sorted(site.rglob("*.css")):
        for url in re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)", sheet.read_text("utf-8")):
            raise DashboardError(_unknown(url, sheet.name))


def _lay(site: Path, folder: Path) -> set[str]:
    """Copy what is needed beside the pages and return the names."""
    names = set()
    for package in PACKAGES:
        for source, name in package.files.items():
            target = site / PLACE / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / package.folder / source, target)
            names.add(name)
    return names


def rewritten(text: str, names: Iterable[str], page: str, home: str) -> str:
    """Return a page that loads copies of the files of these names instead, and whose navigation leads home."""
    known = set(names)

    def local(tag: str, url: str) -> str:
        name = url.partition("?")[0].rpartition("/")[2]
        if name not in known:
            raise DashboardError(_unknown(url, page))
        bare = re.sub(r"\s+(?:integrity|crossorigin|referrerpolicy)(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+))?", "", tag)
        return bare.replace(url, f"{PLACE}/{name}")

    for tag, url in loads(text):
        text = text.replace(tag, local(tag, url))
    for _, url in loads(text):  # written in a way that was not understood
        raise DashboardError(_unknown(url, page))
    entry = f'<li><a href="{home}">Side by side</a></li>'
    return re.sub(r'(<ul class="nav navbar-nav[^>]*>)', rf"\1{entry}", text, count=1)


def _unknown(url: str, page: str) -> str:
    return f"{page} of asv's loads {url}, of which there is no local copy: this asv is newer than the table of copies"


def loads(text: str) -> list[tuple[str, str]]:
    """Return the tags of a page that load something from elsewhere, as they are written, each with the address."""
    reader = _Loads()
    reader.feed(text)
    reader.close()
    return reader.found


class _Loads(HTMLParser):
    ATTRIBUTES = ("src", "href", "data", "poster", "srcset")
    LINKS = ("a", "area")
    """These lead elsewhere when somebody follows them, and load nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (
                tag not in self.LINKS
                and name in self.ATTRIBUTES
                and value
                and re.match(r"(?:[a-z]+:)?//", value, re.IGNORECASE)
            ):
                self.found.append((self.get_starttag_text() or "", value))
