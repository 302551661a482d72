"""The command `posenc explore`: where the page goes, what is said of it, and what is left alone."""

import json
import re
import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from posenc import cli, explorer
from posenc.cli import explore
from posenc.explorer.state import STATE

ALL = {
    "--sentences": ("she told him", "him told she"),
    "--dim": ("32",),
    "--length": ("100",),
    "--base": ("500",),
    "--convention": ("fairseq",),
    "--position": ("99",),
    "--dimension": ("31",),
    "--offset": ("7",),
    "--break": ("halves",),
    "--colours": ("red-blue",),
}


class Browser(webbrowser.BaseBrowser):
    """A browser that opens nothing and remembers it."""

    def __init__(self, opens=True):
        super().__init__("test")
        self.opens, self.seen = opens, []

    def open(self, url, *_window):
        self.seen.append(url)
        return self.opens


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """The command line in a folder of its own: run(arguments...) -> exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["posenc", "explore", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return int(stopped.value.code or 0), *capsys.readouterr()

    return call


@pytest.fixture
def found(monkeypatch):
    """Makes this the browser of the machine; None for a machine without."""

    def choose(browser):
        def get():
            if browser is None:
                raise webbrowser.Error("could not locate runnable browser")
            return browser

        monkeypatch.setattr(webbrowser, "get", get)
        return browser

    return choose


def state_of(html):
    return json.loads(re.search(r'<script id="posenc-state" type="application/json">(.*?)</script>', html)[1])


def test_it_opens_the_page_in_the_browser_and_says_where_it_is(run, found):
    browser = found(Browser())
    code, out, err = run()
    path = Path(out.removeprefix("Opened ").strip())

    assert code == 0
    assert browser.seen == [path.as_uri()]
    assert path.read_text(encoding="utf-8") == explorer.page()
    assert path.parent.stat().st_mode & 0o077 == 0, "nobody else may write there"
    assert "--out FILE" in err


@pytest.mark.parametrize("browser", [None, Browser(opens=False), webbrowser.GenericBrowser("w3m")])
def test_without_a_browser_it_says_where_the_page_is_and_what_to_do(run, found, monkeypatch, browser):
    monkeypatch.delenv("BROWSER", raising=False)
    found(browser)
    code, out, err = run()

    assert code == 0
    assert explorer.is_ours(Path(out.removeprefix("Wrote ").strip()))
    assert err == (
        "No browser was found here. Open that file in one, or write it with --out FILE and take it to one.\n"
    )


def test_a_browser_that_the_user_has_named_is_taken_whatever_it_is(monkeypatch):
    named = webbrowser.GenericBrowser("w3m")
    monkeypatch.setattr(webbrowser, "get", lambda: named)
    monkeypatch.setenv("BROWSER", "w3m")
    assert explore._browser() is named

    monkeypatch.delenv("BROWSER")
    assert explore._browser() is None


def test_every_part_of_the_state_is_an_option(run, tmp_path):
    words = [word for option, values in ALL.items() for word in (option, *values)]
    code, out, err = run(*words, "--out", "a.html")

    assert (code, out, err) == (0, "Wrote a.html: open it in a browser.\n", "")
    assert {option.removeprefix("--") for option in ALL} == set(STATE)
    assert state_of((tmp_path / "a.html").read_text(encoding="utf-8")) == {
        "sentences": ["she told him", "him told she"],
        "dim": 32,
        "length": 100,
        "base": 500.0,
        "convention": "fairseq",
        "position": 99,
        "dimension": 31,
        "offset": 7,
        "break": "halves",
        "colours": "red-blue",
    }


def test_out_opens_nothing(run, found):
    browser = found(Browser())
    run("--out", "a.html")

    assert browser.seen == []


def test_a_page_of_ours_is_written_again_and_nothing_else_is_left(run, tmp_path):
    run("--out", "a.html")
    assert run("--dim", "8", "--out", "a.html")[0] == 0

    assert state_of((tmp_path / "a.html").read_text(encoding="utf-8")) == {"dim": 8}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "temporary"]


def test_a_link_to_a_page_of_ours_stays_a_link(run, tmp_path):
    run("--out", "page.html")
    (tmp_path / "link.html").symlink_to("page.html")
    before = (tmp_path / "page.html").read_text()

    code, *_ = run("--out", "link.html", "--dim", "32")

    assert code == 0
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "page.html").read_text() != before


def test_a_dash_is_standard_output_and_nothing_else_is_there(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "posenc", "explore", "--sentences", "狗 咬 人", "人 咬 狗", "--out", "-"],
        capture_output=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == explorer.page(state={"sentences": ["狗 咬 人", "人 咬 狗"]})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("thesis.html", "posenc did not make"),
        ("link.html", "posenc did not make"),
        ("folder", "which is a folder"),
        ("no/such/folder.html", "whose folder is not there"),
        ("thesis.html/a.html", "not a directory|whose folder is not there"),
        ("a" * 300 + ".html", "name too long"),
    ],
)
def test_a_file_that_is_not_ours_is_left_alone(run, tmp_path, place, reason):
    (tmp_path / "thesis.html").write_text("<!doctype html> my thesis", encoding="utf-8")
    (tmp_path / "link.html").symlink_to("nowhere.html")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.iterdir())
    code, out, err = run("--out", place)

    assert (code, out) == (3, "")
    assert re.search(f"^posenc: got --out .*({reason}).*, but wanted a new file, or a page of ours; .*\n$", err)
    assert (tmp_path / "thesis.html").read_text(encoding="utf-8") == "<!doctype html> my thesis"
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dim", "63"], "got dim=63, but wanted an even width"),
        (["--convention", "llama"], "got convention='llama', but wanted 'transformer' or"),
        (["--sentences", "dog"], "--sentences"),
        (["--position", "64"], "got position=64, but wanted less than length=64"),
        (["thesis.txt"], "extra argument"),
    ],
)
def test_wrong_usage_exits_with_2_and_leaves_nothing(run, tmp_path, arguments, message):
    code, out, err = run("--out", "a.html", *arguments)

    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert not (tmp_path / "a.html").exists()


def test_a_page_is_made_without_torch(tmp_path):
    code = (
        "import atexit, runpy, sys\n"
        "sys.argv = ['posenc', 'explore', '--out', 'a.html']\n"
        "atexit.register(lambda: print(sorted({'torch', 'numpy', 'matplotlib', 'mpmath'} & set(sys.modules))))\n"
        "runpy.run_module('posenc', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path
    )

    assert done.stdout.splitlines()[-1] == "[]"
