"""Waves, wavelengths and similarity hold the numbers of the formula, and mark what they cannot show."""

import math

import mpmath
import numpy as np
import pytest

from posenc import Convention, plots
from posenc.errors import ConventionError, InputError
from posenc.plots.likeness import Similarity
from posenc.plots.wave_lines import Waves

pytest.importorskip("matplotlib", reason="matplotlib is an extra")

OCTAVES = Convention(base=0.5, spacing="powers")


def words(figure):
    return " ".join(text.get_text() for text in figure.texts)


def exact(position, pair, dim):
    """Cosine and sine of a pair, by mpmath at 60 digits."""
    with mpmath.workdps(60):
        angle = mpmath.mpf(position) / mpmath.mpf(10000) ** (mpmath.mpf(2 * pair) / dim)
        return float(mpmath.cos(angle)), float(mpmath.sin(angle))


# Waves.


def test_waves_are_the_formula_and_dots_stand_at_whole_positions():
    figure = plots.waves(5, 4, start=2)

    for pair, axes in enumerate(figure.axes):
        sine, sine_dots, cosine, cosine_dots = axes.lines[:4]
        for member, curve, dots in ((1, sine, sine_dots), (0, cosine, cosine_dots)):
            assert dots.get_xdata().tolist() == [2, 3, 4, 5, 6]
            for line in (dots, curve):
                for x, y in [*list(line.get_xydata())[::37], line.get_xydata()[-1]]:
                    assert abs(y - exact(x, pair, 4)[member]) <= 1e-15
    assert [len(axes.lines[0].get_xdata()) > 400 for axes in figure.axes] == [True, True]


def test_a_wave_has_points_enough_to_be_round():
    for wave in Waves.measured(1000, 64).waves:
        if wave.kind == "curve":
            assert float(wave.points[1] - wave.points[0]) <= wave.wavelength / 20


def test_what_turns_too_often_is_hatched_and_has_no_line():
    figure = plots.waves(10_000, 64)
    waves = Waves.measured(10_000, 64).waves

    for axes, wave in zip(figure.axes, waves, strict=True):
        is_band = wave.wavelength * 1000 / 10_000 < 12
        assert (wave.kind == "band") == is_band
        assert any(patch.get_hatch() for patch in axes.patches) == is_band
        assert any(len(line.get_xdata()) > 2 for line in axes.lines) != is_band
    assert [wave.kind for wave in waves[:2]] == ["band", "band"]
    assert waves[-1].kind == "curve"
    assert "too often to be drawn" in words(figure)


def test_the_picture_of_waves_has_the_pixels_that_it_counts_on():
    figure = plots.waves(100, 64)
    figure.draw_without_rendering()

    assert all(axes.get_window_extent().width >= 1000 for axes in figure.axes)


def test_a_pair_of_more_than_half_a_turn_a_position_is_said_to_be_one():
    titles = [axes.get_title("left") for axes in plots.waves(8, 8, OCTAVES).axes]

    assert ["more than half a turn" in title for title in titles] == [False, False, True, True]


def test_the_last_sine_of_an_odd_width_stands_alone():
    title = plots.waves(8, 7).axes[-1].get_title("left")

    assert title.startswith("pair 3: column 6; ")


def test_waves_far_out_are_refused_since_floats_have_gaps_there():
    with pytest.raises(InputError, match="heat_map"):
        plots.waves(8, 4, start=2**50)


# Wavelengths.


@pytest.mark.parametrize("dim", [1, 2, 7, 64])
def test_wavelengths_are_two_pi_by_powers_of_the_base(dim):
    line = plots.wavelengths(dim).axes[0].lines[0]
    expected = [2 * math.pi * 10000 ** (2 * pair / dim) for pair in range((dim + 1) // 2)]

    assert list(line.get_xdata()) == list(range(len(expected)))
    assert line.get_ydata().tolist() == pytest.approx(expected, rel=1e-14)


def test_the_ends_of_the_wavelengths_are_written_out():
    texts = [text.get_text() for text in plots.wavelengths(512).axes[0].texts]

    # 2 pi 10000^(510/512), not 10000 * 2 pi = 62 832.
    assert texts == ["6.28", "60 611"]


def test_frequencies_beyond_half_a_turn_are_in_the_hatching_and_counted():
    figure = plots.wavelengths(8, OCTAVES)
    (band,) = figure.axes[0].patches

    assert band.get_hatch()
    assert band.get_y() + band.get_height() == pytest.approx(2.0)
    assert "2 of 4 frequencies are there" in words(figure)


def test_axes_that_differ_have_lines_of_their_own():
    video = plots.wavelengths(64, Convention(axes=("row", "column"), last=(1e-4, 1e-2))).axes[0]
    image = plots.wavelengths(64, "mae-2d").axes[0]

    assert [text.get_text() for text in video.get_legend().get_texts()] == ["row", "column"]
    assert len({line.get_marker() for line in video.lines[:2]}) == 2
    assert image.get_legend() is None


def test_a_frequency_of_zero_is_said_and_not_drawn():
    figure = plots.wavelengths(4, Convention(spacing="explicit", frequencies=(1.0, 0.0)))

    assert "1 of 2 frequencies are zero" in words(figure)
    assert list(figure.axes[0].lines[0].get_xdata()) == [0]


# Similarity.

# Measured in float64 with the formula: the first k with K(k + 1) > K(k), and the first k with K(k) < 0.
FIRST_RISES = {8: 3, 16: 3, 32: 4, 64: 5, 128: 11, 256: 24, 512: 43}
FIRST_NEGATIVES = {8: 91, 32: 474, 64: 725, 512: 3284}


def kernel(k, dim):
    return math.fsum(math.cos(k / 10000 ** (2 * pair / dim)) for pair in range(dim // 2))


@pytest.mark.parametrize(("dim", "rise"), FIRST_RISES.items())
def test_the_curve_marks_where_it_first_rises(dim, rise):
    assert kernel(rise + 1, dim) > kernel(rise, dim)
    axes = plots.similarity(128, dim).axes[0]

    assert axes.texts[0].get_text() == f"first rise: from offset {rise} to {rise + 1}"
    (marks,) = (line for line in axes.lines if list(line.get_xdata()) == [rise, rise + 1])
    assert marks.get_marker() == "o"


@pytest.mark.parametrize(("dim", "first"), FIRST_NEGATIVES.items())
def test_the_curve_says_where_it_is_first_below_zero(dim, first):
    assert Similarity.measured(first + 1, dim).first_negative == first
    assert kernel(first, dim) < 0 <= kernel(first - 1, dim)
    assert f"below zero at offset {first:,}".replace(",", " ") in words(plots.similarity(first + 1, dim))


@pytest.mark.parametrize("dim", [2, 8, 64])
def test_every_offset_is_drawn_and_is_the_sum_of_cosines(dim):
    line = plots.similarity(300, dim).axes[0].lines[0]

    assert list(line.get_xdata()) == list(range(300))
    # Cosines, each of an angle up to 300 with a relative error of 2^-52, and their sum.
    assert np.abs(line.get_ydata() - [kernel(k, dim) for k in range(300)]).max() <= dim / 2 * 2.0**-52 * 302


@pytest.mark.parametrize("convention", ["transformer", Convention(gain=3)])
def test_curve_and_matrix_have_the_scale_of_the_function(convention):
    curve, matrix = plots.similarity(9, 64, convention), plots.similarity_matrix(9, 64, convention)
    square = 32 * (9 if convention != "transformer" else 1)

    assert curve.axes[0].lines[0].get_ydata()[0] == pytest.approx(square, rel=1e-15)
    assert curve.axes[0].get_ylim()[1] > square
    assert f"PE(p) · PE(p) is {square} for every p" in words(curve)
    assert curve.axes[0].get_ylabel() == "PE(p) · PE(p + offset)"
    assert matrix.axes[0].images[0].get_array()[4, 4] == pytest.approx(square, rel=1e-15)
    assert matrix.axes[0].images[0].get_clim()[1] == pytest.approx(square, rel=1e-15)
    assert matrix.axes[1].get_ylabel() == "PE(p) · PE(q)"


def test_a_curve_that_ends_before_its_first_rise_says_where_that_is():
    figure = plots.similarity(6, 64)

    assert list(figure.axes[0].texts) == []
    assert len(figure.axes[0].lines) == 2
    assert "no rise up to offset 5: the first is from offset 5 to 6" in words(figure)
    assert Similarity.measured(5, 64).first_rise == 5
    assert Similarity.measured(1, 512).first_negative == FIRST_NEGATIVES[512]


def test_what_is_not_found_is_told_with_how_far_it_was_looked_for():
    still = Convention(spacing="explicit", frequencies=(0.0, 0.0))
    found = Similarity.measured(3, 4, still)

    assert (found.first_rise, found.first_negative) == (None, None)
    assert found.looked_to == 99_999
    assert "no rise up to offset 99 999" in words(plots.similarity(3, 4, still))
    assert Similarity.measured(100_000, 4, still).looked_to == 99_999


@pytest.mark.parametrize(("dim", "convention", "why"), [(7, "transformer", "even width"), (8, "marian", None)])
def test_similarity_knows_what_it_cannot_say(dim, convention, why):
    if why is None:
        assert plots.similarity(128, dim, convention).axes
    else:
        with pytest.raises(ConventionError, match=why):
            plots.similarity(128, dim, convention)


def test_too_many_offsets_are_refused_and_never_thinned():
    with pytest.raises(InputError, match="fewer offsets"):
        plots.similarity(100_001, 8)
    with pytest.raises(InputError, match=r"plots\.similarity"):
        plots.similarity_matrix(401, 8)


def test_the_matrix_holds_the_products_of_all_rows():
    found = plots.similarity_matrix(20, 8).axes[0].images[0].get_array()
    rows = [[member for pair in range(4) for member in exact(p, pair, 8)] for p in range(20)]
    expected = [[math.fsum(a * b for a, b in zip(p, q, strict=True)) for q in rows] for p in rows]

    assert np.abs(found - expected).max() <= 4e-14
