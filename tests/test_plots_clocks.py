"""Clocks, spectra, errors and comparisons hold the numbers of mpmath, of numpy and of the tutorials' snippet."""

import math

import mpmath
import numpy as np
import pytest
import torch

from posenc import Convention, conventions, plots
from posenc.errors import InputError, PosencError
from posenc.plots.comparison import Comparison
from posenc.plots.dials import Clocks
from posenc.plots.directions import Spectrum
from posenc.plots.errors_of import Errors
from posenc.plots.style import GREY

pytest.importorskip("matplotlib", reason="matplotlib is an extra")

OCTAVES = Convention(base=0.5, spacing="powers")


def words(figure):
    return " ".join(text.get_text() for text in figure.texts)


def exact(position, pair, dim):
    """Sine and cosine of a pair, by mpmath at 60 digits."""
    with mpmath.workdps(60):
        angle = mpmath.mpf(position) / mpmath.mpf(10000) ** (mpmath.mpf(2 * pair) / dim)
        return float(mpmath.sin(angle)), float(mpmath.cos(angle))


# Clocks.


def test_hands_are_sine_across_and_cosine_up_at_any_position():
    positions = [0, 1, -7, 2**62 + 1]
    clocks = Clocks.measured(positions, 8, offset=5)

    assert clocks.pairs == [0, 1, 2, 3]
    for row, position in enumerate(positions):
        for pair in range(4):
            assert clocks.hands[row, pair].tolist() == pytest.approx(exact(position, pair, 8), abs=1e-15)
            assert clocks.turned[row, pair].tolist() == pytest.approx(exact(position + 5, pair, 8), abs=1e-15)


def test_the_drawn_hand_points_where_the_numbers_say():
    axes = plots.clocks(2, 4).axes[0]
    hands = [line for line in axes.lines if line.get_marker() == "o"]

    for pair, hand in enumerate(hands):
        across, up = hand.get_xdata()[0] - pair, 0 - hand.get_ydata()[0]
        assert (across / 0.368, up / 0.368) == pytest.approx(exact(2, pair, 4), abs=1e-12)
        (line, rim) = (each for each in axes.lines if list(each.get_xdata()) == [pair, pair + across])
        assert list(line.get_ydata()) == list(rim.get_ydata()) == [0, -up]
    # Rows go down, so that up on the clock is a smaller y.
    assert axes.get_ylim()[0] > axes.get_ylim()[1]


def test_clocks_start_at_twelve_and_run_clockwise():
    figure = plots.clocks([0, 1], 2)
    first, second = (line for line in figure.axes[0].lines if line.get_marker() == "o")
    (start, _) = (line for line in figure.axes[0].lines if line.get_color() == GREY)

    # At position 0 straight up, where the mark is; one radian later at the right of it, and still above the middle.
    assert (first.get_xdata()[0], first.get_ydata()[0]) == pytest.approx((0, -0.368), abs=1e-15)
    assert list(start.get_xdata()) == [0, 0]
    assert (second.get_xdata()[0], second.get_ydata()[0] - 1) == pytest.approx(
        (0.368 * math.sin(1), -0.368 * math.cos(1)), abs=1e-15
    )
    assert "sine is how far its hand points to the right, cosine how far up" in words(figure)


def test_the_turn_of_an_offset_is_the_same_in_every_row_and_is_written_there():
    axes = plots.clocks([0, 3, 10**12], 4, offset=1).axes[0]
    said = [text.get_text() for text in axes.texts]

    # One radian is 0.159 of a turn; a hundredth of it 0.00159.
    assert said == ["+0.16", "+0.0016"] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], 8), "0 positions"),
        ((range(9), 8), "9 positions"),
        ((0, 1), "even dim"),
        ((2.5, 8), "position=2.5"),
        (([2**63], 8), "position"),
        ((0, 8, "lex-glue-hierbert"), "speeds of their own"),
        ((0, 64, "mae-2d"), "one axis"),
    ],
)
def test_clocks_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(PosencError, match=message):
        plots.clocks(*arguments)


# Spectrum. The ranks of the rows 0 .. length - 1, measured with numpy on the formula.


@pytest.mark.parametrize(("length", "dim"), [(512, 512), (512, 64), (64, 64), (1, 8), (8, 1)])
def test_the_spectrum_is_that_of_the_rows(length, dim):
    angles = np.arange(length)[:, None] / 10000 ** (2 * np.arange((dim + 1) // 2) / dim)
    rows = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(length, -1)[:, :dim]
    values = np.linalg.svd(rows, compute_uv=False)
    found = Spectrum.measured(length, dim)

    assert np.abs(found.singular_values.numpy() - values).max() <= 1e-13 * max(1, values[0])
    assert found.directions == (values > 1e-3 * values[0]).sum()
    assert found.mean_share == pytest.approx((rows.mean(0) ** 2).sum() / (rows**2).sum(1).mean(), abs=1e-12)


def test_the_published_ranks_are_on_the_picture():
    assert "fill 120 of 512 directions" in words(plots.spectrum(512, 512))
    assert "42.09 % of their squared length" in words(plots.spectrum(512, 512))


def test_rounding_is_hatched_and_not_drawn():
    axes = plots.spectrum(512, 512).axes[0]
    found = Spectrum.measured(512, 512)
    seen = int((found.singular_values > found.rounding).sum())

    assert 120 < seen < 200
    assert len(axes.lines[0].get_ydata()) == seen
    assert [patch.get_x() for patch in axes.patches if patch.get_hatch()] == [seen + 0.5]


def test_a_spectrum_that_takes_minutes_is_refused():
    with pytest.raises(InputError, match="smaller length"):
        plots.spectrum(4096, 4096)


# Errors.


def snippet(positions, dim):
    """The recipe of the tutorials, float32 throughout."""
    position = torch.tensor(positions).float().unsqueeze(1)
    factors = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
    return torch.stack([torch.sin(position * factors), torch.cos(position * factors)], -1).flatten(1)


def test_errors_are_those_of_the_snippet_and_ours_against_mpmath():
    positions = [1, 1000, 1_000_000]
    found = Errors.measured(8, positions=positions)

    for index, first in enumerate(positions):
        places = list(range(first, first + 8))
        truth = [[value for pair in range(4) for value in exact(p, pair, 8)] for p in places]
        worst = (snippet(places, 8).double() - torch.tensor(truth, dtype=torch.float64)).abs().max().item()
        assert found.textbook[index] == pytest.approx(worst, abs=1e-15)
        # Half a unit in the last place of a number below 1.
        assert found.ours[index] <= 2.0**-25 * (1 + 2.0**-20)
        # And float32 it is: of 64 values some lie a fourth of a unit off.
        assert found.ours[index] > 2.0**-27
    assert found.textbook[2] > 1e-3


def test_the_lines_are_the_errors():
    figure = plots.error(8, positions=[10, 100])
    found = Errors.measured(8, positions=[10, 100])

    assert figure.axes[0].lines[0].get_ydata().tolist() == found.textbook
    assert figure.axes[0].lines[1].get_ydata().tolist() == found.ours
    assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"


@pytest.mark.parametrize(
    ("convention", "options", "message"),
    [
        (OCTAVES, {}, "reference"),
        (Convention(gain=2), {}, "reference"),
        ("mae-2d", {}, "one axis"),
        ("transformer", {"positions": [0]}, "logarithmic"),
        ("transformer", {"positions": []}, "at least one"),
        ("transformer", {"positions": range(1, 100_000)}, "fewer positions"),
    ],
)
def test_errors_that_have_no_judge_are_refused(convention, options, message):
    with pytest.raises(PosencError, match=message):
        plots.error(64, convention, **options)


# Comparison.

RELATIONS = [
    ("transformer", "annotated-transformer", "equal", "The same values"),
    ("transformer", Convention(layout="halves"), "other order", "another order of columns"),
    ("transformer", Convention(order="cosine-first"), "other order", "another order of columns"),
    ("transformer", "tensor2tensor", "other values", "Other values"),
    ("transformer", conventions["transformer"].as_released(), "other values", "Other values"),
    (
        "transformer",
        Convention(position_offset=1),
        "other start",
        "row p of Convention(position_offset=1) is row p + 1",
    ),
    ("fairseq", "tensor2tensor", "other start", "row p of fairseq is row p + 2 of tensor2tensor"),
    ("tensor2tensor", "fairseq", "other start", "row p of fairseq is row p + 2 of tensor2tensor"),
    ("transformer", Convention(position_offset=0.5), "other start", "is row p + 0.5 of transformer"),
    (
        "transformer",
        Convention(position_offset=-3, layout="halves"),
        "other start and order",
        "row p of transformer is row p + 3 of Convention(layout='halves', position_offset=-3), in another order of",
    ),
    ("transformer", Convention(position_offset=1, base=100), "other values", "Other values"),
    (Convention(zero_rows=(3,)), Convention(position_offset=1), "other values", "Other values"),
]


@pytest.mark.parametrize(("first", "second", "relation", "said"), RELATIONS)
def test_a_comparison_tells_equal_from_moved_from_other(first, second, relation, said):
    assert Comparison.measured(16, 8, first, second).relation == relation
    assert said in words(plots.compare(16, 8, first, second))


def test_rows_that_are_apart_are_told_with_how_far_and_with_the_difference_at_one_position():
    found = Comparison.measured(16, 8, "fairseq", "tensor2tensor", start=2**63 - 20)

    assert (found.relation, found.apart) == ("other start", -2)
    assert Comparison.measured(16, 8, "transformer", "tensor2tensor").apart is None
    # Two positions on, the fastest pair turns by two radians: as far as a chord of that is long, in one of its columns.
    assert 1 < found.largest <= 2 * math.sin(1)
    assert "At one position they differ by up to" in words(plots.compare(16, 8, "fairseq", "tensor2tensor"))


def test_halves_say_so_on_both_axes_and_a_difference_has_no_speed():
    figure = plots.compare(16, 64, "transformer", "tensor2tensor")
    upper = [axes for axes in figure.axes if axes.get_xlabel().startswith("positions per turn")]
    panels = figure.axes[:3]

    assert [axes.get_xlabel() for axes in upper] == ["positions per turn", "positions per turn, half by half"]
    assert panels[0].get_xlabel().replace("\n", " ").endswith("each pair is a sine, then its cosine")
    assert "sines, then cosines" in panels[1].get_xlabel()
    assert panels[2].get_xlabel() == "column"
    assert [tick.get_text() for tick in panels[0].get_xticklabels()] == ["0", "16", "32", "48"]


def test_the_difference_is_second_minus_first():
    figure = plots.compare(3, 4, "transformer", Convention(base=100))
    one, two, apart = (axes.images[0].get_array() for axes in figure.axes[:3])

    assert np.array_equal(apart, two - one)
    # Pair 1 turns by 1/100 and by 1/10 a position.
    assert apart[2, 2] == pytest.approx(math.sin(0.2) - math.sin(0.02), abs=1e-15)
    assert "at position 2 in column 2" in words(figure)


def test_a_difference_of_rounding_is_no_picture():
    figure = plots.compare(8, 8, "transformer", "annotated-transformer")

    assert figure.axes[2].images[0].get_clim() == (-1, 1)
