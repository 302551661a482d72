"""The command `posenc tour`: what it prints where, what it leaves behind, and what it leaves alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from posenc import cli, tour
from posenc.cli import tour_view
from posenc.cli.tour import PAGE, PICTURE
from posenc.explorer import is_ours, page
from posenc.tour import roles

TURN = ": open it in a browser, turn it, pass it on"

ROLES = {
    "question": "who bit whom?",
    "twins": {"sentences": ["the man bites the dog", "the dog bites the man"], "labels": [1, 0]},
    "train_sentences": 10,
    "test_sentences": 4,
    "steps": 1,
    "bound_without_order": {"lowest": 0.5, "highest": 0.5},
    **{
        name: {"accuracy": accuracy, "parameters": 5289, "last_loss": 0.1, "seconds": 0.0}
        for name, accuracy in (("none", 0.5), ("sinusoidal", 0.99996))
    },
}


@pytest.fixture
def untrained(monkeypatch):
    """The tour without its training."""
    monkeypatch.setattr(roles, "measure", lambda **_options: ROLES)


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


def process(*arguments, cwd, stdin=None, **variables):
    return subprocess.run(
        [sys.executable, "-m", "posenc", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=cwd,
        input=stdin,
        env=os.environ | variables,
    )


def test_the_tour_fits_eighty_plain_columns(run, untrained):
    code, out, err = run("tour")

    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out
    assert [line[0] for line in out.splitlines() if line[:1].isdigit()] == list("123456789")
    assert out.endswith(f"Wrote {PICTURE}\nWrote {PAGE}{TURN}\n")


def test_json_is_one_document_and_nothing_else(run, untrained):
    code, out, err = run("tour", "--json", "--seed", "7", "--dim", "8", "--sentences", "a b", "b a")
    found = json.loads(out)

    assert code == 0
    assert err == f"Wrote {PICTURE}\nWrote {PAGE}{TURN}\n"
    assert found["files"] == [PICTURE, PAGE]
    assert (found["seed"], found["dim"], found["pace"]) == (7, 8, "full")
    assert found["roles"]["none"]["accuracy"] == 0.5
    assert found["order"]["sentences"]["first"] == ["a", "b"]
    assert list(found)[7:17] == list(tour_view.STATIONS)


def test_standard_input_is_a_text_too(tmp_path):
    done = process("tour", "-", "--fast", "--json", "--dim", "8", cwd=tmp_path, stdin="a dog bites a man")
    found = json.loads(done.stdout)

    assert (done.returncode, found["text"]["words"]) == (0, 5)
    assert found["roles"]["none"]["accuracy"] == 0.5


def test_the_picture_and_the_page_go_where_they_are_wanted(run, untrained, tmp_path):
    code, out, _ = run("tour", "--out", "deep/er")

    assert code == 0
    assert out.endswith(f"Wrote {Path('deep/er') / PICTURE}\nWrote {Path('deep/er') / PAGE}{TURN}\n")
    assert is_ours(tmp_path / "deep" / "er" / PAGE)
    assert (tmp_path / "deep" / "er" / PICTURE).read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_ours_is_drawn_again(run, untrained, tmp_path):
    run("tour")
    first = (tmp_path / PICTURE).read_bytes()
    assert run("tour", "--dim", "8")[0] == 0

    assert (tmp_path / PICTURE).read_bytes() != first


def test_the_page_holds_the_sentences_and_as_much_of_the_rest_as_it_can_show(run, untrained, tmp_path):
    (tmp_path / "text.txt").write_text("dog " * 100)
    run("tour", "text.txt", "--dim", "1024", "--sentences", "A </script> b", "b a")
    html = (tmp_path / PAGE).read_text(encoding="utf-8")

    assert html == page(state={"sentences": ["A </script> b", "b a"], "dim": 512, "length": 100})
    assert "A </script> b" not in html


@pytest.mark.parametrize(("name", "kind", "other"), [(PICTURE, "picture", PAGE), (PAGE, "page", PICTURE)])
def test_a_file_that_is_not_ours_is_left_alone(run, untrained, tmp_path, name, kind, other):
    (tmp_path / name).write_text("my thesis")
    code, out, _ = run("tour")

    assert code == 0
    assert f"No {kind}: got {name}, which posenc did not make, but wanted a new file" in out.splitlines()[-2]
    assert out.splitlines()[-1] == f"Wrote {other}{TURN if other == PAGE else ''}"
    assert run("tour", "--out", tmp_path)[0] == 3
    assert (tmp_path / name).read_text() == "my thesis"


def test_a_file_is_no_folder_to_write_to(run, untrained, tmp_path):
    (tmp_path / "file").write_text("x")
    code, out, err = run("tour", "--out", "file")

    assert (code, out) == (3, "")
    assert err.startswith("posenc: got --out 'file', which the system answers with 'file exists', but wanted a folder")


def test_without_matplotlib_the_tour_is_whole_and_says_how_to_get_the_picture(run, untrained, monkeypatch, tmp_path):
    whole = run("tour")[1].splitlines()
    (tmp_path / PICTURE).unlink()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = run("tour", "--out", "kept")

    assert (code, err) == (0, "")
    assert out.splitlines()[:-2] == whole[:-2]
    assert out.splitlines()[-2].endswith('pip install "posenc[plots]" brings it.')
    assert out.splitlines()[-1] == f"Wrote {Path('kept') / PAGE}{TURN}"
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [PAGE]


def test_sentences_that_are_no_permutations_are_told(run, untrained):
    text = " ".join(run("tour", "--sentences", "the cat sat", "a dog ran")[1].split())

    assert "do not hold the same words" in text
    assert "do not hold the same words" not in " ".join(run("tour")[1].split())


def test_words_that_look_like_commands_are_only_words(run, untrained, tmp_path):
    (tmp_path / "odd.txt").write_text("[bold]man[/bold] \x1b[31mbites {dog} 狗咬人 $x$ :smile: averyveryverylongword")
    _, out, _ = run("tour", "odd.txt")

    assert "\x1b" not in out
    assert " bold]man[/bold " not in out
    assert "{dog" not in out
    assert "averyver…" in out


def test_a_terminal_without_the_characters_gets_question_marks(tmp_path):
    done = process("tour", "--help", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")

    (tmp_path / "text.txt").write_text("狗 咬 人", encoding="utf-8")
    code = (
        "import sys; from posenc import cli; from posenc.tour import roles;"
        "sys.argv = ['posenc', 'tour', 'text.txt'];"
        "roles.measure = lambda **_: sys.exit(0); cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "? ?" in done.stdout or "  ?   0" in done.stdout


def test_an_interrupt_leaves_130(run, monkeypatch):
    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(tour, "sections", interrupted)
    assert run("tour")[0] == 130
