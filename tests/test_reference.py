"""The judge is judged: against constants of the literature, another arithmetic, and itself at more bits."""

import inspect
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import mpmath
import pytest
from tests.named import distinct, fits

import posenc
from posenc import reference

# OEIS A049469 and A049470.
SINE_OF_ONE = "0.84147098480789650665250232163029899962256306079837106567275"
COSINE_OF_ONE = "0.54030230586813971740093660744297660373231042061792222767009"

UNIT = mpmath.mpf(2) ** -reference.BITS
# `columns` promises 2^-180, and what two floats can hold of a value.
JOINED = mpmath.mpf(2) ** -180


def series(x: Fraction, first: int) -> mpmath.mpf:
    """Sine (first = 1) or cosine (first = 0) of a small x by its series in decimal arithmetic."""
    with localcontext() as context:
        context.prec = 120
        decimal = Decimal(x.numerator) / Decimal(x.denominator)
        term = total = decimal if first else Decimal(1)
        n = first
        while abs(term) > Decimal(10) ** -100:
            term = -term * decimal * decimal / ((n + 1) * (n + 2))
            n += 2
            total += term
        with mpmath.workdps(100):
            return mpmath.mpf(str(total))


def off(a: mpmath.mpf, b: mpmath.mpf) -> mpmath.mpf:
    with mpmath.workprec(600):
        return abs(mpmath.mpf(a) - mpmath.mpf(b))


def test_constants_of_the_literature():
    with mpmath.workdps(70):
        assert off(reference.value(1, 0, 512), mpmath.mpf(SINE_OF_ONE)) < 10**-58
        assert off(reference.value(1, 1, 512), mpmath.mpf(COSINE_OF_ONE)) < 10**-58


@pytest.mark.parametrize("position", [0, 1, -1, 2, 22, -30])
@pytest.mark.parametrize(
    ("dim", "options", "sine", "cosine", "frequency"),
    [
        (8, {}, 4, 5, Fraction(1, 100)),
        (8, {"layout": "halves"}, 2, 6, Fraction(1, 100)),
        (8, {"order": "cosine-first"}, 5, 4, Fraction(1, 100)),
        (8, {"layout": "halves", "order": "cosine-first"}, 6, 2, Fraction(1, 100)),
        (4, {"endpoint_shift": 1}, 2, 3, Fraction(1, 10000)),
        (4, {"base": 16, "first": 3}, 2, 3, Fraction(3, 4)),
        (4, {"position_scale": -2}, 2, 3, Fraction(-2, 100)),
        (7, {"odd": "round-up"}, 4, 5, Fraction(1, 100)),
        (5, {"odd": "pad"}, 2, 3, Fraction(1, 100)),
        (1, {}, 0, None, Fraction(1)),
        (2, {"endpoint_shift": 1}, 0, 1, Fraction(1)),
    ],
)
def test_another_arithmetic_agrees(position, dim, options, sine, cosine, frequency):
    angle = position * frequency

    assert off(reference.value(position, sine, dim, **options), series(angle, 1)) < UNIT
    if cosine is not None:
        assert off(reference.value(position, cosine, dim, **options), series(angle, 0)) < UNIT


def test_an_odd_width_keeps_its_real_half_in_the_ladder():
    with mpmath.workprec(300):
        frequency = mpmath.mpf(10000) ** (-mpmath.mpf(2) / 3)
        expected = mpmath.sin(5 * frequency)

    assert off(reference.value(5, 2, 3), expected) < UNIT
    assert off(reference.value(5, 1, 3, layout="halves"), expected) < UNIT


def test_a_padded_column_is_zero():
    assert reference.value(5, 4, 5, odd="pad") == 0
    assert reference.columns([5], [0, 1], 5, odd="pad").high[4] == [0.0, 0.0]


def test_the_offset_comes_before_the_scale():
    shifted = reference.value(3, 2, 8, position_offset=2, position_scale=10)

    assert off(shifted, reference.value(50, 2, 8)) < UNIT


@pytest.mark.parametrize("position", [0.5, Fraction(1, 2)])
def test_fractions_are_taken_exactly(position):
    assert off(reference.value(position, 0, 2), series(Fraction(1, 2), 1)) < UNIT


@pytest.mark.parametrize("position", [2**62, -(2**63), 2**63 - 1, 10**30])
@pytest.mark.parametrize("options", [{}, {"base": 0.001}, {"position_scale": 1000.0}], ids=str)
def test_more_bits_change_nothing(position, options, monkeypatch):
    found = [reference.value(position, column, 6, **options) for column in range(6)]
    monkeypatch.setattr(reference, "_GUARD", 400)

    again = [reference.value(position, column, 6, **options) for column in range(6)]

    assert max(map(off, found, again)) < UNIT


CASES = [(name, dim) for name in distinct() for dim in (2, 3, 6, 16) if fits(posenc.conventions[name], dim)]


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_many_values_are_the_scalar_ones(name, dim):
    convention = posenc.conventions[name]
    options = {
        option: getattr(convention, option)
        for option in inspect.signature(reference._Convention).parameters
        if option != "dim"
    }
    draw = random.Random(dim)
    anchors = [0, -(2**63), 2**63 - 9, *(draw.randrange(-(2**62), 2**62) for _ in range(3))]
    offsets = [0, 1, 7]

    found = reference.columns(anchors, offsets, dim, **options)

    places = [anchor + offset for anchor in anchors for offset in offsets]
    for column in range(dim):
        for row, position in enumerate(places):
            exact = reference.value(position, column, dim, **options)
            high, low = found.high[column][row], found.low[column][row]
            with mpmath.workprec(600):
                assert abs(mpmath.mpf(high) + low - exact) < JOINED + abs(exact) * mpmath.mpf(2) ** -106
            assert high == float(exact) or abs(exact) < JOINED


def test_a_far_anchor_makes_no_value_worse():
    """Near a multiple of pi the sine is small, and what is left of it must still be right."""
    # Convergents of pi: this many radians are very nearly a whole number of half turns.
    position = 411557987

    found = reference.columns([position - 5], [5], 2)

    assert found.high[0][0] == float(reference.value(position, 0, 2))
    assert abs(found.high[0][0]) < 1e-8


@pytest.mark.parametrize(("anchor", "offset", "start"), [(-7, 7, 0), (-9, 7, 2), (3, 1, -4)])
def test_phase_zero_is_exact(anchor, offset, start):
    found = reference.columns([anchor, 1], [0, offset], 6, position_offset=start)

    assert [column[1] for column in found.high] == [0, 1] * 3
    assert [column[1] for column in found.low] == [0, 0] * 3


def test_odd_widths_are_refused_where_a_convention_refuses_them():
    with pytest.raises(ValueError, match=r"got dim=3, but wanted an even width; pass dim=4\."):
        reference.value(0, 0, 3, odd="refuse")


@pytest.mark.parametrize("options", [{"layout": "half"}, {"order": "sin"}, {"offset": 2}], ids=str)
def test_an_unknown_option_is_no_default(options):
    with pytest.raises((KeyError, TypeError)):
        reference.value(0, 0, 4, **options)


def test_nobody_elses_precision_is_touched():
    before = mpmath.mp.prec

    reference.value(2**62, 0, 2)

    assert mpmath.mp.prec == before


@pytest.mark.parametrize("gain", [0.1, -3, Fraction(2, 7), "inverse-root"])
def test_a_gain_multiplies_every_value(gain):
    times = (
        1 / mpmath.sqrt(6)
        if gain == "inverse-root"
        else mpmath.mpf(Fraction(gain).numerator) / Fraction(gain).denominator
    )
    found = reference.columns([10**15], [0, 7], 6, gain=gain)

    for column in range(6):
        for row, position in enumerate((10**15, 10**15 + 7)):
            with mpmath.workprec(256):
                exact = reference.value(position, column, 6, gain=gain)
                assert abs(exact / reference.value(position, column, 6) - times) < abs(times) * mpmath.mpf(2) ** -50
                joined = mpmath.mpf(found.high[column][row]) + mpmath.mpf(found.low[column][row])
                assert abs(joined - exact) <= abs(exact) * mpmath.mpf(2) ** -106
