"""asv's own page without the network: each address that it loads has a copy beside it, or is an error that names it."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from buflend.bench.dashboard import DashboardError, offline

pytestmark = pytest.mark.peers  # npm is no part of Python, and asv's pages are not either

HOME = "../index.html"
NAMES = {"jquery.min.js", "bootstrap.min.css"}
NAVIGATION = '<ul class="nav navbar-nav navbar-left"><li id="nav-li-">grid</li></ul>'
ENTRY = f'<li><a href="{HOME}">Side by side</a></li>'


@pytest.mark.parametrize(
    ("tag", "local"),
    [
        (
            '<script src="https://a.example/3/jquery.min.js" integrity="sha256-x/y+z=" crossorigin="a" onerror="f()">',
            '<script src="assets/files/jquery.min.js" onerror="f()">',
        ),
        (
            "<SCRIPT\n  SRC='//a.example/jquery.min.js?v=1'\n  referrerpolicy='no-referrer' crossorigin>",
            "<SCRIPT\n  SRC='assets/files/jquery.min.js'>",
        ),
        (
            '<link integrity="sha" rel="stylesheet" href="http://b.example/css/bootstrap.min.css">',
            '<link rel="stylesheet" href="assets/files/bootstrap.min.css">',
        ),
        ('<script src="asv.js">', '<script src="asv.js">'),
        ('<a href="https://c.example/">', '<a href="https://c.example/">'),
        ('<link rel="icon" href="data:,">', '<link rel="icon" href="data:,">'),
        ('<!-- <script src="https://c.example/x.js"> -->', '<!-- <script src="https://c.example/x.js"> -->'),
    ],
)
def test_what_is_loaded_from_elsewhere_is_loaded_from_beside(tag: str, local: str) -> None:
    page = f"<html>{tag}{NAVIGATION}</html>"
    made = offline.rewritten(page, NAMES, "index.html", HOME)
    assert made == f"<html>{local}{NAVIGATION}</html>".replace("<li id", f"{ENTRY}<li id")


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="https://a.example/new.min.js">',
        '<link rel="stylesheet" href="//a.example/new.css">',
        '<img src="http://a.example/new.png">',
        '<iframe src="https://a.example/">',
        '<script src="https://a.example/jquery.min.js?a=1&amp;b=2">',  # is not found as it is written
    ],
)
def test_what_has_no_copy_is_an_error_that_names_it(tag: str) -> None:
    with pytest.raises(DashboardError, match=r"index\.html of asv's loads \S*//a\.example/\S*, of which there is no"):
        offline.rewritten(f"<html>{tag}</html>", NAMES, "index.html", HOME)


@pytest.fixture
def assets(tmp_path: Path) -> Path:
    """Return a folder with all copies, made by hand."""
    for package in offline.PACKAGES:
        for path in (*package.files, "package.json", "LICENSE"):
            file = tmp_path / "assets" / package.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{package.name} {path}", "utf-8")
    return tmp_path / "assets"


def test_the_pages_of_the_installed_asv_need_nothing_else(assets: Path, tmp_path: Path) -> None:
    asv = pytest.importorskip("asv", reason="needs asv, which comes with the group dashboard")
    site = tmp_path / "site"
    shutil.copytree(Path(asv.__file__).parent / "www", site)
    offline.localise(site, assets, home=HOME)
    pages = sorted(site.glob("*.html"))
    assert [page.name for page in pages] == ["error.html", "index.html"]
    for page in pages:
        assert offline.loads(page.read_text("utf-8")) == []
    index = (site / "index.html").read_text("utf-8")
    assert ENTRY in index
    assert "integrity" not in index
    names = {name for package in offline.PACKAGES for name in package.files.values()}
    scripts = {name for name in names if name.endswith((".js", ".css"))}
    assert all(f'"assets/files/{name}"' in index for name in scripts)  # asv asks for each of them
    assert all((site / "assets/files" / name).is_file() for name in names)
    assert (site / "assets/fonts/glyphicons-halflings-regular.woff").is_file()


def test_a_style_sheet_that_loads_something_is_an_error(assets: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "asv.css").write_text("a { background: url( 'https://a.example/b.png' ) }", "utf-8")
    with pytest.raises(DashboardError, match=r"asv\.css of asv's loads https://a\.example/b\.png"):
        offline.localise(site, assets, home=HOME)


def test_copies_that_are_there_are_used_again(assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    offline.install(assets)
    (assets / offline.PACKAGES[0].folder / "package.json").unlink()
    with pytest.raises(offline.AssetsError, match="npm is not installed"):
        offline.install(assets)


NPM = """
import pathlib, sys
arguments = sys.argv[1:]
place = pathlib.Path(arguments[arguments.index("--prefix") + 1])
BODY
"""
GOOD = """
for package in PACKAGES:
    for path in (*package.files, "package.json", "LICENSE.txt"):
        file = place / "node_modules" / package.name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path)
"""
Fake = Callable[[str], None]


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Return a function that puts another npm in the place of the real one."""

    def put(body: str) -> None:
        table = f"from buflend.bench.dashboard.offline import PACKAGES\n{body}" if "PACKAGES" in body else body
        code = f"import sys; sys.path[:0] = {sys.path!r}\n" + NPM.replace("BODY", table)
        script = tmp_path / "npm"
        script.write_text(f"#!{sys.executable}\n{code}", "utf-8")
        script.chmod(0o755)
        monkeypatch.setattr(shutil, "which", lambda _name: str(script))

    return put


def test_what_npm_installs_is_copied_by_the_table(npm: Fake, tmp_path: Path) -> None:
    npm(GOOD)
    offline.install(tmp_path / "assets")
    found = {str(path.relative_to(tmp_path / "assets")) for path in (tmp_path / "assets").rglob("*") if path.is_file()}
    wanted = {
        f"{package.name}@{package.version}/{path}"
        for package in offline.PACKAGES
        for path in (*package.files, "LICENSE.txt", "package.json")
    }
    assert found == wanted
    assert [text for _, text in offline.licences(tmp_path / "assets")] == ["LICENSE.txt"] * len(offline.PACKAGES)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit('no network\\nat all')", "npm could not install what asv's page needs: no network at all"),
        (GOOD + "\n(place / 'node_modules/flot/jquery.flot.time.js').unlink()", "jquery.flot.time.js is not in the"),
    ],
)
def test_an_npm_that_fails_is_said(npm: Fake, tmp_path: Path, body: str, said: str) -> None:
    npm(body)
    with pytest.raises(offline.AssetsError) as caught:
        offline.install(tmp_path / "assets")
    assert said in str(caught.value)


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_the_real_packages_hold_what_the_table_says(tmp_path: Path) -> None:
    offline.install(tmp_path)
    for package, text in offline.licences(tmp_path):
        assert package.licence == "MIT"
        assert "MIT" in text or "Permission is hereby granted" in text or package.name == "flot-orderbars"
        stated = (tmp_path / package.folder / "package.json").read_text("utf-8")
        assert f'"version": "{package.version}"' in stated or package.name == "flot"
