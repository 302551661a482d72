"""The figures: a PNG that shows what it was given, knows its maker, and leaves pyplot alone."""

import subprocess
import sys

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
