"""Heat maps hold the numbers of the formula, and mark what rows and pixels cannot show."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from posenc import Convention, conventions, encode, plots
from posenc.errors import ConventionError, InputError, PosencError
from posenc.plots.cividis import CIVIDIS, palette
from posenc.plots.rows import MOST_ROWS, Rows
from posenc.plots.style import BRIGHT, DARK, GREY, INK

mpl = pytest.importorskip("matplotlib", reason="matplotlib is an extra")


def bound(position):
    """What plain Python is off by: a quotient and a power round the phase, at a unit each; a sine rounds once more."""
    return 2.0**-52 * (position + 2)


def textbook(position, column, dim):
    """The formula of the paper in plain Python."""
    angle = position / 10000 ** (2 * (column // 2) / dim)
    return math.cos(angle) if column % 2 else math.sin(angle)


def cells(figure):
    return figure.axes[0].images[0].get_array()


def words(figure):
    """All that is written above the picture."""
    return " ".join(text.get_text() for text in figure.texts)


def hatched(axes):
    """First and last column of each hatched run."""
    runs = [patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches if patch.get_hatch()]
    return [(round(run.x0 + 0.5), round(run.x1 - 0.5)) for run in runs]


@pytest.mark.parametrize(("length", "dim", "start"), [(20, 6, 0), (3, 7, 40), (1, 1, 5), (2, 2, -3)])
def test_every_cell_is_the_formula(length, dim, start):
    found = cells(plots.heat_map(length, dim, start=start))

    assert found.shape == (length, dim)
    for row in range(length):
        for column in range(dim):
            position = start + row
            assert abs(found[row, column] - textbook(position, column, dim)) <= bound(abs(position))


def test_columns_that_turn_in_less_than_two_rows_are_hatched_and_their_values_are_not_drawn():
    figure = plots.heat_map(10_000, 64)
    found = cells(figure)
    step = 10_000 // MOST_ROWS
    fast = [column for column in range(64) if 2 * math.pi * 10000 ** (2 * (column // 2) / 64) < 2 * step]

    assert fast == list(range(16))
    assert hatched(figure.axes[0]) == [(0, 15)]
    assert np.isnan(np.ma.filled(found[:, fast], math.nan)).all()
    assert f"every {step}th position, {MOST_ROWS} rows" in words(figure)
    assert "Hatched: 16 columns turn in less than two rows" in words(figure)
    for row, column in ((1, 16), (399, 63), (200, 40)):
        assert abs(found[row, column] - textbook(step * row, column, 64)) <= bound(step * row)


def test_columns_of_more_than_half_a_turn_a_position_are_hatched_at_any_length():
    octaves = Convention(base=0.5, spacing="powers")
    figure = plots.heat_map(4, 8, octaves)

    # Frequencies 1, 2, 4 and 8 in radians: the last two are beyond pi.
    assert hatched(figure.axes[0]) == [(4, 7)]
    assert "turn in less than two positions" in words(figure)


def test_nothing_is_hatched_where_every_row_is_there():
    assert hatched(plots.heat_map(MOST_ROWS, 64).axes[0]) == []


@pytest.mark.parametrize(("length", "rows"), [(MOST_ROWS, 400), (401, 201), (10_000, 400), (10**15, 400)])
def test_no_more_rows_are_drawn_than_half_the_pixels(length, rows):
    figure = plots.heat_map(length, 8)
    figure.draw_without_rendering()

    assert cells(figure).shape == (rows, 8)
    assert figure.axes[0].get_window_extent().height >= 2 * rows


def test_columns_that_have_no_pixels_are_left_out_and_counted():
    figure = plots.heat_map(4, 2048)
    figure.draw_without_rendering()
    rows = Rows.measured(4, 2048)

    assert cells(figure).shape == (4, 512)
    assert figure.axes[0].get_window_extent().width >= 2 * 512
    assert "512 of the 2 048 columns" in words(figure)
    # A sine stays with its cosine.
    assert all(
        even % 2 == 0 and odd == even + 1 for even, odd in zip(rows.columns[::2], rows.columns[1::2], strict=True)
    )
    # And their distances are all alike.
    assert rows.columns[::2] == list(range(0, 2048, 8))


SIDES = [
    ("transformer", 8, "fast at the left, slow at the right; each pair is a sine, then its cosine"),
    ("transformer", 7, "the last sine has no cosine"),
    ("tensor2tensor", 8, "sines, then cosines; in each half fast at the left"),
    ("stable-diffusion-timestep", 8, "cosines, then sines"),
    (Convention(base=0.5, spacing="powers"), 4, "slow at the left, fast at the right"),
    (Convention(base=1), 4, "of one speed"),
    ("transformer", 1, "column: sine"),
]


@pytest.mark.parametrize(("convention", "dim", "said"), SIDES)
def test_the_axis_says_what_stands_where_and_which_side_is_fast(convention, dim, said):
    assert said in plots.heat_map(4, dim, convention).axes[0].get_xlabel()


@pytest.mark.parametrize(
    ("dim", "convention", "step"),
    [
        (9, "transformer", 1),
        (64, "transformer", 8),
        (100, "transformer", 16),
        (512, "transformer", 64),
        (768, "transformer", 128),
        (2048, "transformer", 256),
        (384, "openai-whisper", 64),
        (1536, "tensor2tensor", 192),
    ],
)
def test_ticks_of_columns_stand_at_regular_steps(dim, convention, step):
    axes = plots.heat_map(4, dim, convention).axes[0]
    columns = [int(tick.get_text().replace(" ", "")) for tick in axes.get_xticklabels()]
    shown = Rows.measured(4, dim, convention).columns

    assert columns == list(range(0, dim, step))
    assert [shown[int(place)] for place in axes.get_xticks()] == columns


def test_the_upper_axis_says_how_long_a_turn_takes():
    (upper,) = (axes for axes in plots.heat_map(4, 4).axes if axes.get_xlabel() == "positions per turn")

    assert [tick.get_text() for tick in upper.get_xticklabels()] == ["6.28", "6.28", "628.32", "628.32"]


def test_the_upper_axis_says_that_it_begins_again_where_there_are_halves():
    (upper,) = (axes for axes in plots.heat_map(4, 4, Convention(layout="halves")).axes if "turn" in axes.get_xlabel())

    assert [tick.get_text() for tick in upper.get_xticklabels()] == ["6.28", "628.32", "6.28", "628.32"]
    assert upper.get_xlabel() == "positions per turn, half by half"


def test_far_positions_are_exact_and_the_axis_counts_from_the_first():
    first = 2**62
    figure = plots.heat_map(3, 8, start=first)

    assert cells(figure).tolist() == encode([first, first + 1, first + 2], 8, dtype=torch.float64).tolist()
    assert figure.axes[0].get_ylabel() == "position − 4 611 686 018 427 387 904"
    assert tuple(figure.axes[0].get_ylim()) == (2.5, -0.5)


def test_a_gain_changes_the_ends_of_the_colours():
    figure = plots.heat_map(8, 4, Convention(gain=0.25))

    assert figure.axes[0].images[0].get_clim() == pytest.approx((-0.25, 0.25), abs=1e-15)


def test_a_column_that_holds_the_position_is_said_to_go_beyond_the_colours():
    figure = plots.heat_map(8, 5, Convention(include_input="prefix", odd="refuse"))

    assert "Column 0 holds the position itself" in words(figure)
    assert figure.axes[0].images[0].get_clim() == (-1, 1)


@pytest.mark.parametrize("name", ["mae-2d", "nerf", "detr-2d"])
def test_several_axes_are_refused_with_the_reason(name):
    assert conventions[name].axes
    for draw in (plots.heat_map, plots.waves, plots.spectrum, plots.similarity_matrix):
        with pytest.raises(ConventionError, match="one axis"):
            draw(4, 63 if name == "nerf" else 64, name)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0, 4), {}, "length=0"),
        ((4, 0), {}, "dim=0"),
        ((4, 4, "fairsek"), {}, "did you mean 'fairseq'"),
        ((4.5, 4), {}, "length=4.5"),
        ((3, 4), {"start": 2**63 - 2}, "int64"),
    ],
)
def test_wrong_arguments_are_refused(arguments, options, message):
    with pytest.raises(PosencError, match=message):
        plots.heat_map(*arguments, **options)


def test_words_stand_beside_their_rows():
    figure = plots.heat_map(3, 4, labels=["man", "$bites", "averyveryverylongword"], title="Three $words")
    said = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]

    assert said == ["man  0", r"\$bites  1", "averyveryverylo…  2"]
    assert words(figure) == "Three $words"


def lightness(colour):
    """Relative luminance, 0 to 1 (WCAG 2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_colours_keep_their_order_in_grey():
    steps = [lightness("#{:02x}{:02x}{:02x}".format(*colour)) for colour in palette(255)]
    assert steps == sorted(steps)
    # The ends are further apart than black is from mid-grey on white paper.
    assert (steps[-1] + 0.05) / (steps[0] + 0.05) > 7
    lines = [lightness(colour) for colour in (DARK, GREY, BRIGHT)]
    assert lines == sorted(lines)
    assert all((light + 0.05) / (dark + 0.05) > 3 for dark, light in pairwise(lines))
    # What is bright stands on white with a dark rim.
    assert 1.05 / (lightness(INK) + 0.05) > 7


def test_our_cividis_is_that_of_matplotlib():
    theirs = mpl.colormaps["cividis"](np.linspace(0, 1, 255))
    ours = ["#{:02x}{:02x}{:02x}".format(*colour) for colour in palette(255)]
    apart = [abs(lightness(a) - lightness(mpl.colors.to_hex(b))) for a, b in zip(ours, theirs, strict=True)]

    # Two shades can be told apart from a hundredth of the range on; straight lines between seventeen are nearer.
    assert max(apart) < 0.01
    assert [mpl.colors.to_hex(mpl.colormaps["cividis"](step / 16)) for step in range(17)] == list(CIVIDIS)


def test_lengths_beyond_int64_are_refused():
    with pytest.raises(InputError):
        plots.heat_map(2**63, 4)
