"""The command `posenc show`: a file, a window or numbers, and a clear line where there is none of them."""

import json
import math
import subprocess
import sys

import pytest

from posenc import cli, plots
from posenc.cli.show import _KINDS

needs_matplotlib = pytest.mark.skipif(not plots.can_draw(), reason="matplotlib is an extra")

EXTRA = {"compare": ["--against", "fairseq"], "error": ["--positions", "10,1000"]}

# A backend that opens no window, but tells what it was given.
BACKEND = """
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

shown = []


class Manager(FigureManagerBase):
    @classmethod
    def start_main_loop(cls):
        shown.append("waited")

    def show(self):
        shown.append(len(self.canvas.figure.axes))


class FigureCanvas(FigureCanvasAgg):
    manager_class = Manager
"""


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """The command in a folder of its own without a screen: run(arguments...) -> exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["posenc", "show", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return int(stopped.value.code or 0), *capsys.readouterr()

    return call


@needs_matplotlib
@pytest.mark.parametrize("kind", _KINDS)
def test_every_kind_is_drawn_to_a_file_of_ours(run, tmp_path, kind):
    assert run(kind, *EXTRA.get(kind, []), "--dim", "16", "--out", "a.png") == (0, "Wrote a.png\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    assert plots.is_ours(tmp_path / "a.png")


@needs_matplotlib
@pytest.mark.parametrize(("name", "head"), [("a.svg", b"<?xml"), ("a.pdf", b"%PDF"), ("a.PNG", b"\x89PNG")])
def test_the_name_says_the_format(run, tmp_path, name, head):
    run("wavelengths", "--out", name)

    assert (tmp_path / name).read_bytes().startswith(head)


@pytest.mark.parametrize("kind", _KINDS)
def test_json_is_one_document_of_numbers_and_nothing_is_drawn(run, tmp_path, monkeypatch, kind):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = run(kind, *EXTRA.get(kind, []), "--dim", "16", "--json")
    found = json.loads(out)

    assert (code, err) == (0, "")
    assert (found["command"], found["kind"], found["file"]) == ("show", kind, None)
    assert list(tmp_path.iterdir()) == []


def test_the_numbers_are_those_of_the_formula(run):
    found = json.loads(run("heat-map", "--dim", "4", "--length", "2", "--start", "3", "--json")[1])

    assert found["positions"] == [3, 4]
    assert found["values"][1] == pytest.approx(
        [math.sin(4), math.cos(4), math.sin(0.04), math.cos(0.04)], rel=0, abs=1e-15
    )


def test_a_similarity_of_few_offsets_has_one_scale_and_knows_its_first_rise(run):
    found = json.loads(run("similarity", "--length", "5", "--json")[1])
    products = [math.fsum(math.cos(k / 10000 ** (pair / 32)) for pair in range(32)) for k in range(5)]

    assert found["values"] == pytest.approx(products, rel=1e-14)
    assert (found["first_rise"], found["first_negative"]) == (5, 725)
    assert "at_zero" not in found


@needs_matplotlib
def test_json_and_a_file_go_together(run):
    code, out, _ = run("--dim", "4", "--json", "--out", "a.png")

    assert code == 0
    assert json.loads(out)["file"] == "a.png"


def test_a_convention_without_the_usual_width_gets_one_that_fits(run):
    assert json.loads(run("wavelengths", "--convention", "nerf", "--json")[1])["dim"] == 63


def test_a_comparison_begins_with_the_convention_and_ends_with_what_it_is_against(run):
    found = json.loads(run("compare", "--convention", "tensor2tensor", "--against", "fairseq", "--json")[1])

    assert (found["first"]["convention"], found["second"]["convention"]) == ("tensor2tensor", "fairseq")


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], ("transformer", "tensor2tensor")),
        (["--convention", "fairseq"], ("fairseq", "transformer")),
        (["--convention", "tensor2tensor"], ("tensor2tensor", "transformer")),
    ],
)
def test_a_comparison_has_something_to_compare_with(run, arguments, names):
    found = json.loads(run("compare", *arguments, "--json")[1])

    assert (found["first"]["convention"], found["second"]["convention"]) == names


WRONG = [
    (["pie"], "is not one of"),
    (["--against", "fairseq"], "got --against with heat-map, but wanted it with compare alone"),
    (["clocks", "--length", "5"], "got --length with clocks"),
    (["waves", "--offset", "5"], "wanted it with clocks alone"),
    (["--dim", "0"], "got dim=0"),
    (["--dim", "99999"], "got dim=99999, but wanted at most 32768 columns"),
    (["--length", "0"], "got length=0"),
    (["--convention", "fairsek"], "did you mean 'fairseq'"),
    (["--convention", "mae-2d"], "one axis"),
    (["clocks", "--positions", "0:9"], "9 positions"),
    (["clocks", "--positions", "x"], "is no integer"),
    (["error", "--positions", "1:5000"], "at most 1000"),
    (["similarity", "--dim", "7"], "even width"),
    (["similarity-matrix", "--length", "401"], "length=401"),
    (["waves", "--start", str(2**60)], "start="),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_usage_is_said_in_one_line_and_exits_with_2(run, tmp_path, arguments, message):
    code, out, err = run(*arguments, "--json")

    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


@needs_matplotlib
@pytest.mark.parametrize(
    ("place", "code", "message"),
    [
        ("theirs.png", 3, "which posenc did not make"),
        ("no/a.png", 3, "whose folder is not there"),
        ("folder.svg", 3, "which is a folder"),
        ("a.jpg", 2, "ends in .png, .svg or .pdf"),
        ("a", 2, "ends in .png, .svg or .pdf"),
    ],
)
def test_a_place_that_cannot_be_used_is_refused_and_left_alone(run, tmp_path, place, code, message):
    (tmp_path / "theirs.png").write_bytes(b"mine")
    (tmp_path / "folder.svg").mkdir()
    found = run("--out", place)

    assert found[:2] == (code, "")
    assert message in found[2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.svg", "theirs.png"]
    assert (tmp_path / "theirs.png").read_bytes() == b"mine"


@needs_matplotlib
def test_a_picture_of_ours_is_drawn_again(run, tmp_path):
    run("--out", "a.svg")
    first = (tmp_path / "a.svg").read_bytes()

    assert run("waves", "--out", "a.svg")[0] == 0
    assert (tmp_path / "a.svg").read_bytes() != first


@pytest.mark.parametrize("arguments", [[], ["--out", "a.png"]])
def test_without_matplotlib_one_line_says_how_to_get_it(run, tmp_path, monkeypatch, arguments):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = run(*arguments)

    assert (code, out) == (2, "")
    assert err.endswith('pip install "posenc[plots]" brings it.\n')
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@needs_matplotlib
@pytest.mark.parametrize("backend", [None, "agg", "svg", "module://no.such.backend"])
def test_without_a_screen_nothing_is_written_and_the_way_out_is_named(run, tmp_path, monkeypatch, backend):
    if backend is not None:
        monkeypatch.setenv("MPLBACKEND", backend)
    code, out, err = run()

    assert (code, out) == (2, "")
    assert "add --out picture.png, or --json" in err
    assert list(tmp_path.iterdir()) == []


@needs_matplotlib
def test_a_screen_that_is_not_there_is_one_line_too(run, monkeypatch):
    pytest.importorskip("tkinter", reason="this Python has no Tk")
    monkeypatch.setenv("DISPLAY", ":54321")
    monkeypatch.setenv("MPLBACKEND", "tkagg")
    code, out, err = run()

    assert (code, out) == (2, "")
    assert err.startswith("posenc: got a screen on which no window opens")
    assert err.count("\n") == 1


@needs_matplotlib
def test_the_figure_goes_to_a_window_and_is_waited_for(run, tmp_path, monkeypatch):
    (tmp_path / "told.py").write_text(BACKEND)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "module://told")

    assert run("waves", "--dim", "6") == (0, "", "")
    assert sys.modules.pop("told").shown == [3, "waited"]


def test_help_names_every_kind_within_eighty_columns(run):
    code, out, _ = run("--help")

    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert all(f"\n    {kind} " in out for kind in _KINDS)
    assert out.index("posenc show heat-map --length") < out.index("Options:")


def test_help_loads_neither_torch_nor_matplotlib():
    code = (
        "import atexit, runpy, sys; sys.argv = ['posenc', 'show', '--help']; "
        "atexit.register(lambda: print(sorted({'torch', 'numpy', 'matplotlib'} & set(sys.modules)))); "
        "runpy.run_module('posenc', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
