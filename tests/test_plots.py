"""Figures as files, and the picture of accuracy: what was given is drawn, known again, and pyplot left alone."""

import pickle
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from posenc import plots
from posenc.errors import InputError
from posenc.plots.rows import Rows
from posenc.plots.style import DARK

mpl = pytest.importorskip("matplotlib", reason="matplotlib is an extra")
from matplotlib import image  # noqa: E402 - after the skip

WORDS = ["man", "bites", "dog"]


def luminance(path):
    """Red, green and blue of every pixel as one lightness, 0 to 1."""
    return image.imread(path)[..., :3] @ np.array([0.2126, 0.7152, 0.0722])


def drawn(tmp_path, values, **options):
    """The heat map of values as they are."""
    path = tmp_path / "picture.png"
    rows = Rows.measured(len(values), len(values[0]))
    plots.save(replace(rows, values=torch.tensor(values, dtype=torch.float64)).draw(**options), path)
    return path


def test_the_picture_is_a_png_of_a_size_to_look_at(tmp_path):
    height, width = luminance(drawn(tmp_path, torch.zeros(48, 64).tolist())).shape

    assert 1000 <= width <= 2000
    assert 800 <= height <= 2000


def test_dark_is_minus_one_and_bright_is_one(tmp_path):
    dark = luminance(drawn(tmp_path, [[-1.0] * 4] * 4))
    bright = luminance(drawn(tmp_path, [[1.0] * 4] * 4))
    y, x = dark.shape[0] // 2, dark.shape[1] // 2

    assert dark[y, x] < 0.2
    assert bright[y, x] > 0.7


def test_rows_go_down_and_columns_go_right(tmp_path):
    values = torch.tensor([[-1.0, -1.0], [1.0, -1.0]])
    figure = replace(Rows.measured(2, 2), values=values).draw()
    plots.save(figure, tmp_path / "a.png")
    picture = luminance(tmp_path / "a.png")
    cells = figure.axes[0].get_window_extent()
    at_x = [int(cells.x0 + cells.width * share) for share in (0.25, 0.75)]
    at_y = [int(len(picture) - cells.y1 + cells.height * share) for share in (0.25, 0.75)]

    assert [[float(picture[y, x]) > 0.5 for x in at_x] for y in at_y] == (values > 0).tolist()


@pytest.mark.parametrize("label", ["$x_", r"$\frac$", "狗", "w" * 5000, "[bold]", "a\ufffdb"])
def test_a_strange_word_is_a_label_too(tmp_path, label):
    path = drawn(tmp_path, [[0.0, 1.0]], labels=[label], title=label[:50])

    assert luminance(path).shape[1] > 1000


POSITIONS = [10**k for k in range(8)]
OURS = [3e-8] * 8
NAMES = [
    ("gptj", "xlnet-relative"),
    ("detr-2d",),
    ("openai-whisper", "fairseq", "tensor2tensor"),
    ("annotated-transformer", "stable-diffusion-timestep"),
]
RISING = [(names, [8e-8 * p / (1 + i / 10) for p in POSITIONS]) for i, names in enumerate(NAMES)]
FLAT = (("marian", "mae-2d"), [3e-8] * 8)


def errors_drawn(lines):
    return plots.accuracy_figure(POSITIONS, lines, OURS, dim=512)


def test_the_picture_of_errors_is_a_png_of_ours_for_sharp_screens(tmp_path):
    plots.save(errors_drawn([*RISING, FLAT]), tmp_path / "a.png")

    assert luminance(tmp_path / "a.png").shape == (1000, 1800)
    assert plots.is_ours(tmp_path / "a.png")


def test_the_picture_of_errors_names_every_system_and_counts_those_that_rise():
    said = " ".join(text.get_text() for text in errors_drawn([*RISING, FLAT]).axes[0].texts)

    assert all(name in said for names, _ in [*RISING, FLAT] for name in names)
    assert "8 systems as released, in float32" in said
    assert "marian, mae-2d as released, which compute in float64" in said


def test_no_words_in_the_picture_of_errors_lie_on_others_or_on_a_line():
    figure = errors_drawn([*RISING, FLAT])
    figure.draw_without_rendering()
    axes = figure.axes[0]
    boxes = [text.get_window_extent() for text in axes.texts]
    points = [axes.transData.transform(line.get_xydata()) for line in axes.lines]

    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert all(figure.bbox.containsx(box.x0) and figure.bbox.containsx(box.x1) for box in boxes)
    for line in points:
        dense = np.concatenate([np.linspace(a, b, 50) for a, b in pairwise(line)] or [line])
        assert not any(box.contains(*point) for box in boxes for point in dense)


def test_ours_is_the_darkest_line_of_the_picture_of_errors():
    lines = errors_drawn([*RISING, FLAT]).axes[0].lines
    widest = max(lines, key=lambda line: line.get_linewidth())

    assert widest.get_color() == DARK
    assert list(widest.get_ydata()) == OURS


@pytest.mark.parametrize("lines", [RISING, [FLAT]])
def test_a_picture_of_errors_needs_no_line_of_either_kind(lines):
    assert errors_drawn(lines).axes[0].lines


SUFFIXES = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_is_what_its_name_says_the_same_every_time_and_known_again(tmp_path, suffix):
    places = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for place in places:
        plots.save(plots.heat_map(8, 4), place)
    first, second = (place.read_bytes() for place in places)

    assert first.startswith(SUFFIXES[suffix])
    assert first == second
    assert all(map(plots.is_ours, places))
    assert sorted(tmp_path.iterdir()) == places


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_picture_of_somebody_else_is_not_ours(tmp_path, suffix):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    figure.savefig(tmp_path / f"theirs{suffix}")

    assert not plots.is_ours(tmp_path / f"theirs{suffix}")


@pytest.mark.parametrize(
    "content", [b"", b"Software\0posenc", b"<dc:title>posenc</dc:title>", b"/Creator (posenc)", b"<svg>posenc</svg>"]
)
def test_a_file_that_speaks_of_us_is_not_ours(tmp_path, content):
    (tmp_path / "note").write_bytes(content)

    assert not plots.is_ours(tmp_path / "note")


@pytest.mark.parametrize("name", ["a.jpg", "a", "png", "a.svg.gz"])
def test_another_kind_of_file_is_refused_before_it_is_written(tmp_path, name):
    with pytest.raises(InputError, match=r"ends in \.png, \.svg or \.pdf"):
        plots.save(plots.heat_map(1, 2), tmp_path / name)

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "a.png").write_bytes(b"old")
    figure = plots.heat_map(1, 2)

    def half(file, **_options):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure, "savefig", half)
    with pytest.raises(OSError, match="No space left"):
        plots.save(figure, tmp_path / "a.png")

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.png", b"old")]


def test_the_settings_of_the_caller_change_no_picture_and_are_kept(tmp_path):
    plots.save(plots.similarity(128, 8), tmp_path / "a.svg")
    with mpl.rc_context({"axes.facecolor": "red", "font.size": 30, "svg.hashsalt": "theirs", "lines.linewidth": 9}):
        plots.save(plots.similarity(128, 8), tmp_path / "b.svg")

        assert mpl.rcParams["font.size"] == 30
        assert mpl.rcParams["svg.hashsalt"] == "theirs"
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_figure_shows_itself_in_a_notebook_and_can_be_copied():
    figure = plots.heat_map(4, 4)

    assert figure._repr_png_().startswith(b"\x89PNG")
    assert pickle.loads(pickle.dumps(figure)).axes[0].images[0].get_array().shape == (4, 4)


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout


def test_matplotlib_waits_until_something_is_drawn():
    code = "import sys, posenc; posenc.plots.can_draw(); print({'matplotlib', 'torch'} & set(sys.modules))"

    assert run(code) == "set()\n"


def test_pyplot_is_never_loaded(tmp_path):
    code = f"import sys; from posenc import plots as p; p.save(p.waves(3, 2), {str(tmp_path / 'a.pdf')!r})"

    assert run(f"{code}; print('matplotlib.pyplot' in sys.modules)") == "False\n"


def test_a_missing_matplotlib_is_seen(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert not plots.can_draw()


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_picture"):
        _ = plots.no_such_picture


def test_every_public_name_is_there():
    assert all(callable(getattr(plots, name)) for name in plots.__all__)
    assert dir(plots) == sorted(plots.__all__)
