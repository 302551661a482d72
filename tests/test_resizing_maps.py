"""Tables of images are maps: resizing them as a line is warned of, and lines are not."""

import warnings
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn.utils import parametrize

import posenc
from posenc import LearnedPositionalEmbedding, grid, table
from posenc.errors import InputError
from posenc.modules.map_like import map_size

MINILM = next(iter(load_file(Path(__file__).parent / "data/learned/minilm_positions.safetensors").values())).float()
SIZES = [(14, 14), (7, 7), (10, 16), (16, 10), (12, 101), (32, 32)]
LENGTHS = [9, 16, 64, 100, 144, 196, 197, 198, 512, 1024]


def layer_of(rows, **options):
    layer = LearnedPositionalEmbedding(len(rows) - options.get("position_offset", 0), rows.shape[1], **options)
    with torch.no_grad():
        layer.weight.copy_(rows)
    return layer


def drawn(height, width):
    """What training makes of a map: fields that are smooth along both axes."""
    field = nn.functional.interpolate(torch.randn(1, 32, 3, 3), size=(height, width), mode="bicubic")
    return field.flatten(2).squeeze(0).T


MAPS = {
    "columns": lambda h, w: (torch.arange(h * w) % w).float().unsqueeze(1),
    "rows and columns": lambda h, w: torch.stack([torch.arange(h * w) // w, torch.arange(h * w) % w], 1).float(),
    "sinusoidal": lambda h, w: grid((h, w), 64).flatten(0, 1),
    "trained": drawn,
}
NOISY = {
    "sinusoidal": lambda h, w: MAPS["sinusoidal"](h, w) + 0.2 * torch.randn(h * w, 64),
    "trained": lambda h, w: drawn(h, w) + 0.2 * torch.randn(h * w, 32),
}
LINES = {
    "sinusoidal": table,
    "sinusoidal, every pair fast": lambda length, dim: table(length, dim, posenc.Convention(base=10)),
    "sinusoidal, in halves": lambda length, dim: table(length, 2 * dim, "openai-whisper"),
    "drawn": lambda length, dim: 0.02 * torch.randn(length, dim),
    "counting": lambda length, dim: torch.arange(length).float().unsqueeze(1).expand(-1, dim),
    "powers": lambda length, dim: torch.linspace(0, 1, length).unsqueeze(1) ** torch.arange(1, dim + 1),
    "smooth": lambda length, dim: nn.functional.interpolate(torch.randn(1, dim, 8), size=length, mode="linear")[0].T,
    "wandering": lambda length, dim: torch.randn(length, dim).cumsum(0),
    "constant": torch.ones,
    "half trained": lambda length, dim: torch.randn(length, dim) * (torch.arange(length) < length // 2).unsqueeze(1),
    "one for each": lambda length, dim: torch.eye(length)[:, :dim],
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("before", [0, 1, 2])
@pytest.mark.parametrize("kind", MAPS)
def test_a_map_is_seen_with_and_without_rows_before_it(kind, size, before):
    rows = MAPS[kind](*size)
    rows = torch.cat([rows.std() * torch.randn(before, rows.shape[1]), rows])

    assert map_size(rows) == (before, *size)


def test_the_smallest_map():
    assert map_size(MAPS["columns"](4, 4)) == (0, 4, 4)
    assert map_size(MAPS["rows and columns"](4, 4)) == (0, 4, 4)


@pytest.mark.parametrize("size", [(14, 14), (16, 10), (32, 32)])
@pytest.mark.parametrize("kind", NOISY)
def test_a_map_is_seen_through_noise(kind, size):
    assert map_size(NOISY[kind](*size)) == (0, *size)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dim", [3, 8, 64])
@pytest.mark.parametrize("kind", LINES)
def test_a_line_is_none(kind, dim, length):
    assert map_size(LINES[kind](length, dim)) is None


def test_what_text_has_trained_is_none():
    for rows in (MINILM, MINILM[1:], MINILM[:100], MINILM[:, :16]):
        assert map_size(rows) is None


@pytest.mark.parametrize("rows", [torch.zeros(1, 4), torch.full((196, 4), float("nan")), torch.ones(196, 4) / 0])
def test_what_holds_no_pattern_is_none(rows):
    assert map_size(rows) is None


class TestResize:
    CELLS = (torch.arange(196.0) % 14).unsqueeze(1)

    @pytest.mark.parametrize("rule", ["draw", "repeat", "stretch-ends", "stretch-cells"])
    @pytest.mark.parametrize("before", [0, 1])
    def test_warns_where_the_table_is_that_of_an_image(self, rule, before):
        layer = layer_of(torch.cat([torch.full((before, 1), 50.0), self.CELLS]))
        said = r"look like a map of 14 x 14 cells" + (", after 1 of another kind" if before else "")

        with pytest.warns(UserWarning, match=rf"{said}: rows 14 apart are alike") as caught:
            layer.resize(784 + before, rule)
        assert caught[0].filename == __file__

    def test_rows_before_position_0_are_not_of_the_map(self):
        with pytest.warns(UserWarning, match=r"a map of 14 x 14 cells: rows"):
            layer_of(torch.cat([torch.full((3, 1), 50.0), self.CELLS]), position_offset=3).resize(784, "draw")

    def test_the_line_is_wrong_and_the_map_is_right(self):
        with pytest.warns(UserWarning, match="map"):
            as_line = layer_of(self.CELLS).resize(784, "stretch-cells").weight.detach()
        image = self.CELLS.T.reshape(1, -1, 14, 14)

        larger = nn.functional.interpolate(image, (28, 28), mode="bilinear").flatten(2).squeeze(0).T
        smoother = nn.functional.interpolate(image, (28, 28), mode="bicubic", antialias=True).flatten(2).squeeze(0).T

        # The last cell of the first row, which is in the last column, 13.
        assert (larger[27, 0], as_line[27, 0]) == (13, 6.375)
        # At 13.25 columns 12 and 13 are inside, with weights -9/128 and 111/128, which are made to add up to 1.
        assert smoother[27, 0].item() == pytest.approx(13 + 9 / 102, abs=1e-5)
        layer_of(larger).load_state_dict({"weight": smoother})

    @pytest.mark.parametrize("rule", ["draw", "repeat", "stretch-ends", "stretch-cells"])
    def test_is_silent_on_lines(self, rule):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for rows in (MINILM, torch.randn(196, 16), table(196, 16), self.CELLS.sort(0).values):
                layer_of(rows).resize(300, rule)
            LearnedPositionalEmbedding(196, 4, device="meta").resize(300, "draw")

    def test_of_a_parametrised_weight_says_what_to_do(self):
        layer = layer_of(MINILM)
        parametrize.register_parametrization(layer, "weight", nn.Hardtanh())

        with pytest.raises(InputError, match=r"call .+ first") as caught:
            layer.resize(200, "draw")
        line = str(caught.value).rpartition("; call ")[2].removesuffix(" first.")
        eval(line, {"torch": torch, "layer": layer})

        assert layer.resize(200, "draw").weight.shape == (200, 384)
