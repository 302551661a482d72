"""Notebooks: conventions and layers have a small true picture, without matplotlib, and a repr never fails."""

import base64
import copy
import math
import pickle
import re
import struct
import subprocess
import sys
import zlib
from types import SimpleNamespace

import pytest
import torch

import posenc
from posenc.plots import notebook
from posenc.plots.cividis import palette


def pixels(png):
    """Rows of red, green and blue of an indexed PNG, read by the specification."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, parts = 8, {}
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + data)
        parts[kind] = data
        at += 12 + size
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert (depth, colour, rest) == (8, 3, [0, 0, 0])
    colours = [tuple(parts[b"PLTE"][i : i + 3]) for i in range(0, len(parts[b"PLTE"]), 3)]
    raw = zlib.decompress(parts[b"IDAT"])
    lines = [raw[i * (width + 1) : (i + 1) * (width + 1)] for i in range(height)]
    assert all(line[0] == 0 for line in lines)
    return [[colours[index] for index in line[1:]] for line in lines]


def shade(value):
    return palette(255)[round((value + 1) / 2 * 254)]


SHOWN = {
    "convention": posenc.Convention,
    "whisper": lambda: posenc.conventions["openai-whisper"],
    "partial convention": lambda: posenc.conventions["gpt-neox-rotary"],
    "layer": lambda: posenc.PositionalEncoding(512),
    "meta layer": lambda: posenc.PositionalEncoding(16, device="meta"),
    "half layer": lambda: posenc.PositionalEncoding(7, batch_first=False).bfloat16(),
    "sequence": lambda: posenc.SequenceEmbedding(10, 8),
    "learned": lambda: posenc.LearnedPositionalEmbedding(100, 48),
    "rotary": lambda: posenc.RotaryEmbedding(64),
    "partial rotary": lambda: posenc.RotaryEmbedding(64, "gpt-j", rotary_dim=32, layout="interleaved", seq_dim=-3),
    "rotary of several axes": lambda: posenc.RotaryEmbedding(128, sections=(16, 24, 24), seq_dim=1),
    "dynamic rotary": lambda: posenc.RotaryEmbedding(
        64, scaling={"rope_type": "dynamic", "factor": 2.0, "max_position_embeddings": 16}
    ),
    "timestep": lambda: posenc.TimestepEmbedding(320, "stable-diffusion-timestep"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_everything_that_encodes_has_its_text_and_a_picture(name):
    shown = SHOWN[name]()
    said = notebook.html_of(shown)
    (held,) = re.findall('src="data:image/png;base64,([^"]+)"', said)
    (alt,) = re.findall('alt="([^"]+)"', said)

    assert base64.b64decode(held) == notebook.png_of(shown)
    assert alt.startswith("Positions 0 to 31 downwards")
    assert said.startswith("<pre>")
    rows = pixels(base64.b64decode(held))
    assert len(rows) == 32 * notebook.CELL_HEIGHT
    assert 300 <= len(rows[0]) <= 600


def test_the_pixels_are_the_formula():
    rows = pixels(notebook.png_of(posenc.PositionalEncoding(4)))
    wide, high = notebook.WIDTH // 4, notebook.CELL_HEIGHT
    values = posenc.table(32, 4, dtype=torch.float64)

    # Hand-made: sin 0, cos 0; at position 3 sin 3 = 0.14112, cos 3 = -0.98999.
    assert rows[0][0] == shade(0.0)
    assert rows[0][wide] == shade(1.0)
    assert (rows[3 * high][0], rows[4 * high - 1][2 * wide - 1]) == (shade(0.14112), shade(-0.98999))
    assert [[row[column * wide] for column in range(4)] for row in rows[::high]] == [
        [shade(value) for value in row] for row in values.tolist()
    ]


@pytest.mark.parametrize(("name", "sizes"), [("mae-2d", (6, 6)), ("diffusers-3d", (3, 3, 4))])
def test_a_convention_of_maps_shows_the_cells_of_one(name, sizes):
    rows = pixels(notebook.png_of(posenc.conventions[name]))
    values = posenc.grid(sizes, 64, name, dtype=torch.float64).flatten(0, -2)
    wide = notebook.WIDTH // values.shape[1]

    assert [[row[column * wide] for column in range(values.shape[1])] for row in rows[:: notebook.CELL_HEIGHT]] == [
        [shade(value) for value in row] for row in values.tolist()
    ]
    assert f"a map of {' x '.join(map(str, sizes))} downwards" in notebook.html_of(posenc.conventions[name])


def test_what_turns_too_fast_between_the_cells_of_a_map_is_white():
    # Cells at -1, -0.6, ... 1 are 0.4 apart: pi rad/position takes 2, 8 pi takes 0.25, less than two cells.
    fourier = posenc.Convention(
        axes=("row", "column"), cells="ends", spacing="explicit", frequencies=(math.pi, 8 * math.pi)
    )
    wide = notebook.WIDTH // 8
    rows = pixels(png := notebook._png(notebook._mapped(fourier, 8)))

    assert png.startswith(b"\x89PNG")
    assert [rows[0][column * wide] == (255, 255, 255) for column in range(8)] == [False, False, True, True] * 2


def test_a_learned_weight_is_shown_as_it_is():
    layer = posenc.LearnedPositionalEmbedding(2, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[4.0, -4.0], [0.0, 2.0]]))
    rows = pixels(notebook.png_of(layer))

    assert (rows[0][0], rows[0][-1], rows[-1][0], rows[-1][-1]) == (shade(1), shade(-1), shade(0), shade(0.5))
    assert "Dark is −4, bright is 4." in notebook.html_of(layer)


@pytest.mark.parametrize("layout", ["halves", "interleaved"])
def test_a_rotary_layer_shows_the_cosines_and_sines_of_its_turns(layout):
    layer = posenc.RotaryEmbedding(4, layout=layout)
    rows = pixels(notebook.png_of(layer))
    wide = notebook.WIDTH // 4
    found = [rows[notebook.CELL_HEIGHT][column * wide] for column in range(4)]
    # Position 1: pair 0 turns by 1 radian, pair 1 by 0.01.
    cosines, sines = [0.5403, 0.99995], [0.84147, 0.0099998]
    by_pair = [cosines[0], sines[0], cosines[1], sines[1]]

    assert found == [shade(value) for value in (by_pair if layout == "interleaved" else cosines + sines)]


def test_no_hook_of_the_model_is_run():
    layer = posenc.RotaryEmbedding(4)
    layer.register_forward_pre_hook(lambda *_: pytest.fail("a repr ran the model"))

    assert notebook.png_of(layer)


def test_what_turns_too_fast_is_white_and_said_to_be():
    octaves = posenc.Convention(base=0.5, spacing="powers")
    rows = pixels(notebook.png_of(octaves))

    assert rows[0][0] != (255, 255, 255)
    assert rows[0][-1] == (255, 255, 255)
    assert "White is not drawn." in notebook.html_of(octaves)
    assert "White" not in notebook.html_of(posenc.Convention())


WITHOUT = {
    "random": lambda: next(c for c in posenc.conventions.values() if c.spacing == "explicit" and c.frequencies is None),
    "boxes": lambda: posenc.Convention(axes=("x1", "y1", "x2", "y2")),
    "meta weight": lambda: posenc.LearnedPositionalEmbedding(10, 4, device="meta"),
    "broken": torch.nn.Module,
    "none": lambda: None,
}


@pytest.mark.parametrize("name", WITHOUT)
def test_what_has_no_picture_keeps_its_text(name):
    assert notebook.html_of(WITHOUT[name]()) is None
    assert notebook.png_of(WITHOUT[name]()) is None


def test_markup_in_a_repr_stays_text():
    shown = posenc.Convention(name="<script>alert(1)</script>")
    said = notebook.html_of(posenc.PositionalEncoding(4, convention=shown))

    assert "<script>" not in said
    assert "&lt;script&gt;" in said


def test_a_picture_changes_nothing():
    layer = posenc.RotaryEmbedding(8)
    torch.manual_seed(3)
    before = torch.get_rng_state()
    notebook.html_of(layer)
    notebook.html_of(posenc.Convention())

    assert torch.equal(torch.get_rng_state(), before)
    assert repr(copy.deepcopy(layer)) == repr(pickle.loads(pickle.dumps(layer))) == repr(layer)
    assert not [name for name in dir(posenc.Convention) if name.startswith("_repr_")]


def test_without_ipython_nothing_is_registered_and_nothing_is_loaded():
    code = "import posenc, sys; print([name for name in sys.modules if 'posenc.plots' in name or 'IPython' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "[]\n"


@pytest.mark.parametrize("shell", [None, SimpleNamespace()])
def test_an_ipython_that_runs_no_notebook_is_left_alone(monkeypatch, shell):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))

    notebook.register()


IN_A_NOTEBOOK = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.display_formatter.active_types = ["text/plain", "text/html", "image/png"]
import posenc
print("torch" in sys.modules, "matplotlib" in sys.modules)
for shown in (posenc.Convention(), posenc.PositionalEncoding(8), posenc.AlibiBias(4), posenc.conventions["mae-2d"]):
    print(sorted(shell.display_formatter.format(shown)[0]))
print("matplotlib" in sys.modules)
figure = posenc.plots.heat_map(2, 2)
print(sorted(shell.display_formatter.format(figure)[0]))
"""


def test_ipython_learns_of_the_pictures_when_posenc_is_imported():
    pytest.importorskip("IPython", reason="IPython comes with the extra docs")
    pytest.importorskip("matplotlib", reason="matplotlib is an extra")
    done = subprocess.run(
        [sys.executable, "-c", IN_A_NOTEBOOK], capture_output=True, text=True, timeout=120, check=True
    )
    whole, text = "['image/png', 'text/html', 'text/plain']", "['text/plain']"

    assert done.stdout.splitlines() == [
        "False False", whole, whole, text, whole, "False", "['image/png', 'text/plain']",
    ]  # fmt: skip
