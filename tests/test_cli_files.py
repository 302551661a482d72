"""Files that commands write: never through somebody else's link, whole or not at all, gone after a signal."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from posenc import plots
from posenc.cli import make_app
from posenc.cli.place import Place
from posenc.errors import FileError
from posenc.plots.whole import whole

COMMANDS = {
    "page.html": ["explore", "--out", "page.html"],
    "rows.png": ["show", "--length", "4", "--dim", "4", "--out", "rows.png"],
    "rows.npy": ["table", "--positions", "0:3", "--dim", "4", "--out", "rows.npy"],
    "rows.safetensors": ["table", "--positions", "0:3", "--dim", "4", "--out", "rows.safetensors"],
}
BIG = ["table", "--positions", "0:4000000", "--dim", "64"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder that is worked in, with somebody's file beside it."""
    (tmp_path / "theirs").write_text("my thesis")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_link_laid_for_the_temporary_file_is_not_followed(folder, name):
    for trap in (f".{name}.{os.getpid()}.part", f".{name}.part", f"{name}.tmp"):
        (folder / trap).symlink_to(folder.parent / "theirs")

    assert CliRunner().invoke(make_app(), COMMANDS[name]).exit_code == 0

    assert (folder.parent / "theirs").read_text() == "my thesis"
    assert (folder / name).is_file()


@pytest.mark.parametrize("trap", ["a link", "a link to nowhere", "a file"])
def test_a_temporary_file_that_is_there_already_is_not_written_to(folder, monkeypatch, trap):
    monkeypatch.setattr(secrets, "token_hex", lambda _: "guessed")
    part = folder / ".posenc-guessed.part"
    if trap == "a file":
        part.write_text("my thesis")
    else:
        part.symlink_to(folder.parent / ("theirs" if trap == "a link" else "nowhere"))

    with pytest.raises(FileError, match="file exists"):
        Place(folder / "a.html", "page", "nothing").write(lambda file: file.write(b"dog"))

    assert [path.name for path in folder.iterdir()] == [part.name]
    assert [path.name for path in folder.parent.iterdir() if path.is_file()] == ["theirs"]
    assert (folder.parent / "theirs").read_text() == "my thesis"


def test_two_temporary_files_of_one_place_have_two_names(folder):
    with whole(folder / "a") as first, whole(folder / "a") as second:
        assert first.name != second.name


def test_a_file_that_appears_meanwhile_is_kept(folder):
    place = Place(folder / "a.html", "page", "nothing")

    with pytest.raises(FileError, match="which is there already"):
        place.write(lambda _: (folder / "a.html").write_text("my thesis"))

    assert [path.name for path in folder.iterdir()] == ["a.html"]
    assert (folder / "a.html").read_text() == "my thesis"


def test_a_link_of_the_users_own_stays_one_and_its_picture_is_replaced(folder):
    plots.save(plots.heat_map(2, 2), folder.parent / "kept.png")
    (folder / "rows.png").symlink_to(folder.parent / "kept.png")
    before = (folder.parent / "kept.png").read_bytes()

    assert CliRunner().invoke(make_app(), COMMANDS["rows.png"]).exit_code == 0

    assert (folder / "rows.png").is_symlink()
    assert (folder.parent / "kept.png").read_bytes() != before


@pytest.mark.parametrize("name", ["rows.npy", "rows.png", "page.html"])
def test_a_loop_of_links_is_refused_in_words(folder, name):
    (folder / name).symlink_to(name)
    ended = CliRunner().invoke(make_app(), COMMANDS[name])

    assert isinstance(ended.exception, FileError)
    assert (folder / name).is_symlink()


def started(folder, *arguments, **options):
    command = [sys.executable, "-m", "posenc", *BIG, "--out", "t.npy", *arguments]
    # Where the tests themselves run under nohup, a hang-up would be ignored here too.
    options |= {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)}
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, **options)
    end = time.monotonic() + 60
    # The temporary file is there, and the rows take a while longer.
    while not list(folder.glob(".*.part")) and time.monotonic() < end:
        time.sleep(0.005)
    return process


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_nothing_behind_and_its_exit_code(folder, name):
    number = getattr(signal, name)
    process = started(folder)
    assert [path.suffix for path in folder.iterdir()] == [".part"]
    process.send_signal(number)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 128 + number
    assert b"Traceback" not in err
    assert list(folder.iterdir()) == []


def test_a_hang_up_under_nohup_does_not_end_it(folder):
    code = (
        "import os, signal\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from posenc.cli.process import prepare\n"
        "prepare()\n"
        "os.kill(os.getpid(), signal.SIGHUP)\n"
        "print('still here')"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"still here\n"


@pytest.mark.parametrize("arguments", [["table", "--nope"], ["table", "--dim", "0"], ["nope"], ["tour", "--dim", "x"]])
def test_wrong_usage_exits_with_2_where_nobody_can_hear_of_it(arguments):
    command = [sys.executable, "-m", "posenc", *arguments]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stderr=full, stdout=subprocess.DEVNULL, check=False)

    assert ended.returncode == 2


@pytest.mark.parametrize("columns", ["0", "-1", "abc", "", "1", "00", "9" * 5000, "²"])
def test_a_window_of_no_width_hides_nothing(columns):
    ended = subprocess.run(
        [sys.executable, "-m", "posenc", "conventions", "--search", "whisper"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": columns, "LINES": columns},
    )

    assert ended.returncode == 0
    assert "openai-whisper" in ended.stdout
    assert ended.stderr == ""
