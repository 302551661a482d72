"""The numbers of the page, as a browser computes them: those of arbitrary precision, and of torch."""

import json
import random
import re

import pytest
import torch
from tests.browser.opened import ROOT

import posenc
from posenc.explorer.attention import DIM, attend
from posenc.explorer.sentence import split_words
from posenc.explorer.state import CHOICES
from posenc.explorer.words import vector

# What the page and Python promise each other.
PARITY = 1e-12
TORCH = 1e-6

SENTENCES = [
    "man bites dog",
    "dog bites man",
    "ha ha ha",
    "one",
    "The «Dog», (well-read)\tdidn't — bite…",
    "狗 咬 人",
    "שלום עולם, מה שלומך?",
    "مرحبا بالعالم",
    "नमस्ते, दुनिया!",
    "🐕 bites 👨‍👩‍👧 and ❤️ 🇫🇷 x🐕x",
    "İstanbul ΟΔΟΣ ẞ Ŀ",
    "a\u200fb \u2028 c\u0085d \x1c e\ufeff \u3000 f\u00adg half\ud83d",
    " ".join(f"word{i}" for i in range(499)) + " end",
    "",
    " ... !!! ",
]


def test_python_and_javascript_agree_on_the_golden_rows(core):
    rows = json.loads((ROOT / "web" / "src" / "data" / "golden.json").read_text(encoding="utf-8"))
    found = core.evaluate(
        """rows => rows.map(({ position, dim, convention, base, layout }) => Array.from(window.posenc.encode(
            typeof position === "string" ? BigInt(position) : position, dim, { convention, base, layout })))""",
        rows,
    )
    wanted = [value for row in rows for value in row["values"]]
    values = [value for row in found for value in row]

    assert len(wanted) > 4000
    assert max(abs(a - b) for a, b in zip(values, wanted, strict=True)) < PARITY


@pytest.mark.parametrize("convention", CHOICES["convention"])
def test_random_rows_are_those_of_torch(core, convention):
    draw = random.Random(convention)
    rows = [
        {"position": str(draw.randrange(-(2**bits), 2**bits)), "dim": 2 * draw.randrange(1, 257)}
        for bits in (3, 10, 20, 31, 53, 62)
        for _ in range(10)
    ]
    found = core.evaluate(
        """([rows, convention]) => rows.map(({ position, dim }) =>
            Array.from(window.posenc.encode(BigInt(position), dim, { convention })))""",
        [rows, convention],
    )

    for row, values in zip(rows, found, strict=True):
        wanted = posenc.encode(int(row["position"]), row["dim"], convention, dtype=torch.float64)
        assert (torch.tensor(values, dtype=torch.float64) - wanted).abs().max() < PARITY, row


CELL = re.compile(r"position (\d+), \w+ (\d+): .* = (-?\d\.\d+)$")


def test_two_hundred_cells_are_told_as_torch_has_them(core):
    draw = random.Random(2017)
    cells = []
    for _ in range(200):
        dim = 2 * draw.randrange(1, 257)
        convention = draw.choice(CHOICES["convention"])
        cells.append([draw.randrange(8192), draw.randrange(dim), dim, {"convention": convention}])
    told = core.evaluate("cells => cells.map(cell => window.posenc.cellText(...cell))", cells)

    for (position, column, dim, options), text in zip(cells, told, strict=True):
        wanted = posenc.encode(position, dim, options["convention"], dtype=torch.float64)[column].item()
        said = CELL.fullmatch(text)
        assert (int(said[1]), int(said[2])) == (position, column), text
        # All decimals that are told are right, and there are six.
        assert said[3].replace("-0.000000", "0.000000") == f"{wanted:.6f}".replace("-0.000000", "0.000000"), text


def test_what_the_cursor_says_is_a_formula_that_comes_out(core):
    draw = random.Random(7)
    cells = [[draw.randrange(512), draw.randrange(64), 64] for _ in range(200)]
    told = core.evaluate("cells => cells.map(cell => window.posenc.cellText(...cell))", cells)

    for (position, column, _), text in zip(cells, told, strict=True):
        formula, value = text.split(": ")[1].rsplit(" = ", 1)
        said = re.fullmatch(r"(sin|cos)\((\d+) / 10000\^\((\d+)/64\)\)", formula)
        wave = {"sin": torch.sin, "cos": torch.cos}[said[1]]
        angle = torch.tensor(int(said[2]) / 10000 ** (int(said[3]) / 64), dtype=torch.float64)
        assert (int(said[2]), int(said[3])) == (position, column - column % 2)
        # Half of the last decimal that is told.
        assert abs(wave(angle).item() - float(value)) < 0.5e-6 + 1e-12


@pytest.mark.parametrize("sentence", SENTENCES, ids=range(len(SENTENCES)))
def test_words_and_their_vectors_are_those_of_python(core, sentence):
    found = core.evaluate(
        """([sentence, dim]) => { const words = window.posenc.splitWords(sentence);
            return { words, vectors: words.map(word => Array.from(window.posenc.wordVector(word, dim))) } }""",
        [sentence, DIM],
    )

    assert found["words"] == split_words(sentence)
    # To the last bit: integers, and two operations that both languages round alike.
    assert found["vectors"] == [vector(word, DIM) for word in found["words"]]


@pytest.mark.parametrize("sentence", SENTENCES, ids=range(len(SENTENCES)))
@pytest.mark.parametrize("encoding", ["none", "sinusoidal"])
def test_attention_is_that_of_torch(core, sentence, encoding):
    found = core.evaluate(
        """([sentence, encoding]) => (({ words, output }) => ({ words, output }))(
            window.posenc.attention(sentence, { encoding }))""",
        [sentence, encoding == "sinusoidal"],
    )
    outputs = torch.tensor(found["output"], dtype=torch.float64).view(-1, DIM)

    assert found["words"] == split_words(sentence)
    for dtype, bar in ((torch.float32, TORCH), (torch.float64, PARITY)):
        wanted = attend(sentence, encoding, dtype=dtype)
        assert outputs.shape == wanted.shape
        assert torch.allclose(outputs, wanted.double(), rtol=0, atol=bar)
