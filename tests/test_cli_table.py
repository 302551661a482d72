"""`posenc table`: right rows, printed or in a file that is written whole or not at all."""

import json
import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

import posenc
from posenc import cli
from posenc.cli import table as command
from posenc.cli import table_file
from posenc.cli.position_list import Positions
from posenc.errors import InputError


def run(*arguments):
    """Exit code of the command line, in this process."""
    before, sys.argv = sys.argv, ["posenc", "table", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code
    finally:
        sys.argv = before


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Positions.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", [7]),
        ("-7", [-7]),
        ("0:3", [0, 1, 2]),
        (":3", [0, 1, 2]),
        ("-2:1", [-2, -1, 0]),
        ("0:7:3", [0, 3, 6]),
        (":7:3", [0, 3, 6]),
        ("5:0:-2", [5, 3, 1]),
        ("0, 5 ,-3", [0, 5, -3]),
        ("2:4,2:4,9", [2, 3, 2, 3, 9]),
        (f"{-(2**63)},{2**63 - 1}", [-(2**63), 2**63 - 1]),
    ],
)
def test_positions_are_read(text, expected):
    positions = Positions.read(text)

    assert list(positions) == expected
    assert positions.count == len(expected)
    assert [position for piece in positions.pieces(2) for position in piece] == expected


def test_all_of_int64_is_counted_without_being_made():
    assert Positions.read(f"{-(2**63)}:{2**63 - 1}").count == 2**64 - 1


NONSENSE = ["", ",", "a", "1.5", "5:5", "5:0", "0:5:0", "0:5:-1", "1:2:3:4", "5:", ":", "1,,2", "0:x", "::-1"]
BEYOND = [f"{2**63}", f"0:{2**63 + 1}", f"{-(2**63) - 1}:0"]


@pytest.mark.parametrize("text", [*NONSENSE, *BEYOND])
def test_nonsense_is_refused(text):
    with pytest.raises(InputError, match=r"^got --positions .*, but wanted integers, and ranges whose end is left"):
        Positions.read(text)


# Files.


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_npy_holds_the_rows(folder, dtype, capsys):
    assert run("--positions", "-3,0,5:9:2", "--dim", 7, "--dtype", dtype, "--out", "t.npy") == 0

    found = np.load("t.npy")
    expected = posenc.encode([-3, 0, 5, 7], 7, dtype=getattr(torch, dtype)).numpy()
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)
    assert "Wrote t.npy: 4 x 7 values" in capsys.readouterr().out


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_safetensors_holds_the_rows(folder, dtype):
    code = run("--positions", "0:4", "--dim", 6, "--convention", "marian", "--dtype", dtype, "--out", "t.safetensors")

    assert code == 0
    expected = posenc.table(4, 6, "marian", dtype=getattr(torch, dtype))
    assert torch.equal(load_file("t.safetensors")["pe"], expected)
    with safe_open("t.safetensors", "pt") as file:
        assert file.metadata()["convention"] == "marian"


def test_pieces_make_the_whole(folder, monkeypatch):
    monkeypatch.setattr(command, "PIECE_VALUES", 30)

    assert run("--positions", "0:100", "--dim", 8, "--out", "t.npy") == 0
    assert run("--positions", "0:100", "--dim", 8, "--out", "t.safetensors") == 0

    expected = posenc.table(100, 8)
    assert np.array_equal(np.load("t.npy"), expected.numpy())
    assert torch.equal(load_file("t.safetensors")["pe"], expected)


@pytest.mark.parametrize("name", ["t.npy", "t.safetensors"])
def test_a_file_is_replaced_only_by_force(folder, name, capsys):
    target = folder / name
    target.write_text("mine", encoding="utf-8")

    assert run("--dim", 4, "--positions", 5, "--out", name) == 3
    assert target.read_text(encoding="utf-8") == "mine"
    assert "add --force" in capsys.readouterr().err

    assert run("--dim", 4, "--positions", 5, "--out", name, "--force") == 0
    assert target.stat().st_size > 10


@pytest.mark.parametrize("name", ["t.npy", "t.safetensors"])
def test_a_failure_leaves_nothing_behind(folder, name, monkeypatch, capsys):
    def fail(*_):
        raise OSError(28, "No space left on device")
        yield

    monkeypatch.setattr(command, "_rows", fail)

    assert run("--out", name) == 3
    assert list(folder.iterdir()) == []
    assert "no space left on device" in capsys.readouterr().err


def test_an_interruption_leaves_what_was_there(folder, monkeypatch):
    (folder / "t.npy").write_text("mine", encoding="utf-8")

    def stop(*_):
        yield torch.zeros(1, 512)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_rows", stop)

    assert run("--out", "t.npy", "--force") != 0
    assert [(path.name, path.read_text(encoding="utf-8")) for path in folder.iterdir()] == [("t.npy", "mine")]


def test_a_file_that_came_meanwhile_is_not_lost(folder, monkeypatch):
    def late(*_):
        (folder / "t.npy").write_text("mine", encoding="utf-8")
        yield torch.zeros(1, 512)

    monkeypatch.setattr(command, "_rows", late)

    assert run("--out", "t.npy", "--positions", "0") == 3
    assert [(path.name, path.read_text(encoding="utf-8")) for path in folder.iterdir()] == [("t.npy", "mine")]


@pytest.mark.parametrize("name", ["t.npy", "t.safetensors"])
def test_others_can_read_what_was_written(folder, name):
    before = os.umask(0o022)
    try:
        assert run("--dim", 4, "--positions", 5, "--out", name) == 0
    finally:
        os.umask(before)

    assert (folder / name).stat().st_mode & 0o777 == 0o644


def test_a_table_without_room_is_refused_before_it_is_made(folder, monkeypatch, capsys):
    monkeypatch.setattr(table_file.shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))

    assert run("--positions", "0:5", "--out", "t.npy") == 3
    assert "that are free" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_a_table_beyond_memory_goes_out_in_pieces(folder, monkeypatch, capsys):
    monkeypatch.setattr(table_file.os, "sysconf", lambda _: 1)

    assert run("--out", "t.safetensors") == 2
    assert "write a .npy file" in capsys.readouterr().err


# Bad input.


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--convention", "transfomer"), 2, "did you mean 'transformer'"),
        (("--convention", "openai-whisper", "--dim", "3"), 2, "dim=3"),
        (("--dim", "0"), 2, "got dim=0"),
        (("--dim", "-4"), 2, "got dim=-4"),
        (("--dim", "x"), 2, "--dim"),
        (("--positions", "5:5"), 2, "'5:5' holds no position"),
        (("--dtype", "int8"), 2, "int8"),
        (("--out", "t.txt"), 2, ".npy or .safetensors"),
        (("--out", "t"), 2, ".npy or .safetensors"),
        (("--out", "t.npy", "--dtype", "bfloat16"), 2, "numpy has no bfloat16"),
        (("--out", "no/t.npy"), 3, "whose folder is not there"),
        (("--out", "folder.npy"), 3, "which is a folder"),
        (("--out", "/proc/t.npy"), 3, "--out '/proc/t.npy'"),
        (("--json", "--positions", "0:3000"), 2, "add --out FILE"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_input_is_refused_before_anything_is_written(folder, arguments, code, text, capsys):
    (folder / "folder.npy").mkdir()

    assert run(*arguments) == code

    said = capsys.readouterr()
    assert text in said.err
    assert said.out == ""
    assert [path.name for path in folder.iterdir()] == ["folder.npy"]


# What is printed.


def test_a_small_table_is_printed_whole(capsys):
    assert run("--positions", "-1:2", "--dim", 4) == 0

    said = capsys.readouterr()
    assert [line.split() for line in said.out.splitlines()] == [
        ["-1", "-0.841470957", "0.540302277", "-0.009999833", "0.999949992"],
        ["0", "0.000000000", "1.000000000", "0.000000000", "1.000000000"],
        ["1", "0.841470957", "0.540302277", "0.009999833", "0.999949992"],
    ]
    assert said.err == ""


def test_of_a_large_table_the_corner_is_printed(capsys):
    assert run() == 0

    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 16
    assert "16 of 5 000 rows and 6 of 512 columns" in said.err


def test_json_without_a_file_holds_every_value(capsys):
    assert run("--positions", "0:3", "--dim", 4, "--dtype", "bfloat16", "--json") == 0

    said = capsys.readouterr()
    document = json.loads(said.out)
    assert document["shape"] == [3, 4]
    assert document["values"] == posenc.table(3, 4, dtype=torch.bfloat16).tolist()
    assert said.err == ""


def test_json_with_a_file_says_what_was_written(folder, capsys):
    assert run("--positions", "0:3", "--dim", 4, "--out", "t.npy", "--json") == 0

    document = json.loads(capsys.readouterr().out)
    assert document["file"] == "t.npy"
    assert document["bytes"] == (folder / "t.npy").stat().st_size
    assert "values" not in document
