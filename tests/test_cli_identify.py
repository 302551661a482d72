"""`posenc identify`: what a reader of the terminal and a reader of the JSON get, and how it ends."""

from __future__ import annotations

import json
import sys

import pytest
import torch
from safetensors.torch import save_file

import posenc
from posenc import cli

TRANSFORMER = {"encoder.pe": posenc.table(64, 32)}


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """The command in a folder of its own: run(arguments...) -> exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["posenc", "identify", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return int(stopped.value.code or 0), *capsys.readouterr()

    return call


def test_a_known_table_ends_well_on_lines_of_eighty(run):
    save_file(TRANSFORMER, "m.safetensors")

    code, out, err = run("m.safetensors")

    assert (code, err) == (0, "")
    assert "encoder.pe" in out
    assert "transformer" in out
    assert "64 x 32" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_line_to_paste_builds_the_layer(run):
    save_file({"pe": posenc.table(64, 32, posenc.Convention(base=777))}, "m.safetensors")

    _, out, _ = run("m.safetensors")

    (line,) = [line.strip() for line in out.splitlines() if "PositionalEncoding(" in line]
    layer = eval(
        line.split("= ")[-1], {"posenc": posenc, **vars(posenc), "PositionalEncoding": posenc.PositionalEncoding}
    )
    assert layer.convention.base == 777


def test_an_unknown_table_is_bad_news(run):
    save_file({"pos_embed": torch.randn(64, 32)}, "m.safetensors")

    code, out, _ = run("m.safetensors")

    assert code == 1
    assert "pos_embed" in out


def test_a_learned_table_is_an_answer(run):
    walk = torch.randn(200, 32).cumsum(0)
    save_file({"pos_embed": walk}, "m.safetensors")

    code, out, _ = run("m.safetensors")

    assert code == 0
    assert "learned" in out


def test_no_table_at_all_is_bad_news_that_says_what_to_do(run):
    save_file({"head.weight": torch.randn(8, 8), "head.bias": torch.randn(8)}, "m.safetensors")

    code, out, _ = run("m.safetensors")

    assert code == 1
    assert "--all" in out


def test_one_file_that_cannot_be_read_keeps_no_other_from_its_answer(run, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{")
    save_file(TRANSFORMER, tmp_path / "models" / "b.safetensors")

    code, out, err = run("models")

    assert code == 3
    assert "encoder.pe" in out
    assert "a.safetensors" in err
    assert "Traceback" not in err


def test_a_file_that_is_not_there(run):
    code, out, err = run("nowhere.pt")

    assert (code, out) == (3, "")
    assert "nowhere.pt" in err


def test_json_is_one_document(run):
    save_file(TRANSFORMER, "m.safetensors")

    code, out, err = run("m.safetensors", "nowhere.pt", "--json")
    document = json.loads(out)

    assert code == 3
    assert "nowhere.pt" in err
    assert document["command"] == "identify"
    first, second = document["files"]
    assert first["error"] is None
    assert first["tensors"][0]["matches"][0]["name"] == "transformer"
    assert second["tensors"] == []
    assert "nowhere.pt" in second["error"]


def test_wrong_usage(run):
    assert run()[0] == 2
    assert run("m.pt", "--nonsense")[0] == 2


def test_a_name_that_moves_the_cursor_is_shown_harmlessly(run):
    save_file({"pos\x1b[2Jembed": posenc.table(64, 32)}, "m.safetensors")

    _, out, _ = run("m.safetensors")

    assert "\x1b" not in out
