"""The figures: a PNG that shows what it was given, knows its maker, and leaves pyplot alone."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from posenc import plots, table

image = pytest.importorskip("matplotlib.image")

WORDS = ["man", "bites", "dog"]


def luminance(path):
    """Red, green and blue of every pixel as one lightness, 0 to 1."""
    return image.imread(path)[..., :3] @ np.array([0.2126, 0.7152, 0.0722])


def drawn(tmp_path, values, **options):
    path = tmp_path / "picture.png"
    plots.save_heat_map(values, path, **options)
    return path


def test_the_picture_is_a_png_of_a_size_to_look_at(tmp_path):
    height, width = luminance(drawn(tmp_path, table(48, 64).tolist())).shape

    assert 1000 <= width <= 2000
    assert 800 <= height <= 2000


def test_dark_is_minus_one_and_bright_is_one(tmp_path):
    dark = luminance(drawn(tmp_path, [[-1.0] * 4] * 4))
    bright = luminance(drawn(tmp_path, [[1.0] * 4] * 4))
    y, x = dark.shape[0] // 2, dark.shape[1] // 2

    assert dark[y, x] < 0.2
    assert bright[y, x] > 0.7


def test_rows_go_down_and_columns_go_right(tmp_path):
    picture = luminance(drawn(tmp_path, [[-1.0, -1.0], [1.0, -1.0]]))
    height, width = picture.shape
    top, bottom = int(height * 0.3), int(height * 0.65)
    left, right = int(width * 0.3), int(width * 0.7)

    assert picture[bottom, left] > 0.7
    assert max(picture[top, left], picture[top, right], picture[bottom, right]) < 0.2


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
    plots.save_figure(errors_drawn([*RISING, FLAT]), tmp_path / "a.png")

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

    assert widest.get_color() == plots.DARK
    assert list(widest.get_ydata()) == OURS


@pytest.mark.parametrize("lines", [RISING, [FLAT]])
def test_a_picture_of_errors_needs_no_line_of_either_kind(lines):
    assert errors_drawn(lines).axes[0].lines


def test_a_picture_of_ours_is_known_again(tmp_path):
    assert plots.is_ours(drawn(tmp_path, [[0.0, 1.0]], labels=WORDS[:1]))


def test_a_picture_of_somebody_else_is_not_ours(tmp_path):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    figure.savefig(tmp_path / "theirs.png")
    (tmp_path / "note.png").write_text("Software\0posenc")

    assert not plots.is_ours(tmp_path / "theirs.png")
    assert not plots.is_ours(tmp_path / "note.png")


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout


def test_matplotlib_waits_until_something_is_drawn():
    assert run("import sys, posenc.plots as p; p.can_draw(); print('matplotlib' in sys.modules)") == "False\n"


def test_pyplot_is_never_loaded(tmp_path):
    code = f"import sys, posenc.plots as p; p.save_heat_map([[0, 1]], {str(tmp_path / 'a.png')!r})"

    assert run(f"{code}; print('matplotlib.pyplot' in sys.modules)") == "False\n"


def test_a_missing_matplotlib_is_seen(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert not plots.can_draw()
