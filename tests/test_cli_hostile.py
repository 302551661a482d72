"""The command line where the world is against it: one line and an exit code, never a traceback."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

ROWS = "table --positions 0:3 --dim 4"


def run(command, **environment):
    """Run `posenc command` in a shell, so that streams can be closed and redirected."""
    line = f"{shlex.quote(sys.executable)} -m posenc {command}"
    env = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", **environment}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120, check=False, env=env)


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (f"{ROWS} > /dev/full", 3, "No space left"),
        (f"{ROWS} --json > /dev/full", 3, "No space left"),
        (f"{ROWS} >&-", 3, ""),
        ("tour - <&-", 3, "closed standard input"),
        (f"{ROWS} --out {'a' * 252}.npy", 3, "too long"),
        (
            "table --positions 0:3 --dim 1000000000000",
            2,
            "got dim=1000000000000, but wanted a width of at most 1048576",
        ),
        ("conventions fairseq > /dev/full", 3, "No space left"),
        (f"conventions --accuracy --plot {'a' * 252}.png", 3, "too long"),
    ],
    ids=["full disk", "full disk, json", "no stdout", "no stdin", "long name", "huge width", "full list", "long plot"],
)
def test_one_line_and_a_code(command, code, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    ended = run(command)

    assert ended.returncode == code
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.iterdir())


def test_a_file_that_the_system_cuts_short(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = f"{shlex.quote(sys.executable)} -m posenc table --positions 0:3000 --dim 64 --out x.safetensors"

    ended = subprocess.run(
        ["bash", "-c", f"ulimit -f 8; {line}"], capture_output=True, text=True, timeout=120, check=False
    )

    assert ended.returncode == 3
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.iterdir())


def test_a_terminal_of_two_columns():
    assert run("verify --values 1000", COLUMNS="2").returncode == 0
    assert run("conventions fairseq", COLUMNS="2").returncode == 0


def test_a_picture_under_the_backend_of_a_notebook(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is an extra")
    from posenc.plots import is_ours

    code = (
        "from posenc import plots; plots.save(plots.heat_map(1, 2), 'x.png'); "
        "import os; assert os.environ['MPLBACKEND'] == 'module://no_such.backend'"
    )
    env = {**os.environ, "MPLBACKEND": "module://no_such.backend"}

    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env=env, timeout=60)

    assert is_ours(tmp_path / "x.png")
