"""The command line: help at once, wrong usage in one line, and colour only where it is wanted."""

import io
import subprocess
import sys

import pytest

from posenc import __version__, cli
from posenc.cli import console
from posenc.cli.tour import PICTURE


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """The command line in a folder of its own: run(arguments...) -> exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["posenc", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return int(stopped.value.code or 0), *capsys.readouterr()

    return call


def test_help_costs_less_than_half_a_second():
    usage = pytest.importorskip("resource")
    before = usage.getrusage(usage.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "posenc", "--help"], capture_output=True, check=True)
    after = usage.getrusage(usage.RUSAGE_CHILDREN)

    # Of the processor's time, which other programs on the machine do not lengthen as they do the clock's.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["tour", "--help"]], ids=" ".join)
def test_help_begins_with_examples_that_keep_their_lines(run, arguments):
    code, out, err = run(*arguments)
    lines = [line for line in out.splitlines() if line.strip()]

    assert (code, err) == (0, "")
    assert lines[2].strip().startswith("posenc tour")
    assert lines[3].strip().startswith("posenc tour letter.txt")


def test_help_is_plain_in_a_pipe(run):
    assert run("tour", "--help")[1].isascii()


def test_the_version_is_that_of_the_package(run):
    assert run("--version") == (0, f"posenc {__version__}\n", "")


WRONG = [
    (["dinner"], "No such command"),
    (["tour", "--dinner"], "No such option"),
    (["tour", "--dim", "x"], "--dim"),
    (["tour", "--dim", "63"], "got dim=63, but wanted an even width"),
    (["tour", "--seed", "-1"], "got seed=-1, but wanted"),
    (["tour", "--seed", "9" * 30], "got seed=9999"),
    (["tour", "a", "b"], "extra argument"),
    (["tour", "--sentences", "man", "dog"], "got a sentence of 1 word"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_usage_is_said_in_one_line_and_exits_with_2(run, arguments, message):
    code, out, err = run(*arguments)

    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.parametrize("content", [None, b"", b"a\0b", b"one"])
def test_an_unreadable_text_exits_with_3_and_leaves_nothing(run, tmp_path, content):
    if content is not None:
        (tmp_path / "text.txt").write_bytes(content)
    code, out, err = run("tour", "text.txt")

    assert (code, out) == (3, "")
    assert err.startswith("posenc: got text.txt: ")
    assert err.count("\n") == 1
    assert not (tmp_path / PICTURE).exists()


@pytest.mark.parametrize(
    ("is_terminal", "variables", "expected"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(monkeypatch, is_terminal, variables, expected):
    stream = io.StringIO()
    stream.isatty = lambda: is_terminal
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert console.wants_colour(stream) is expected
