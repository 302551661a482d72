"""The error bounds of the code are those that docs/bounds.md derives, by interval arithmetic over the code itself.

A constant without a margin is held on both sides: what is derived is above all smaller ones of its kind.
"""

import math
import random
from fractions import Fraction
from itertools import pairwise

import pytest
import torch
from tests.intervals import IV, Rounded, U, top
from tests.strategies import EDGES, INT64_MAX

from posenc.encoding import decided
from posenc.frequency import TURN, TURN_BITS, Ladder
from posenc.phase import HIGH_BITS, LOW_BITS, PLACES, Phase, phase_of, step_limbs
from posenc.trig import blocks, certify, digits, exact, quarter, render, rows

# Where the squares of angles up to an eighth of a turn are cut: finely where errors are largest.
CUTS = [n / 96 for n in (*range(0, 88, 8), *range(88, 97))]
# One unit of 2^-128 turn, in radians.
TINY = 2 * IV.pi / TURN
# The bound of a complex product, relatively (Brent, Percival and Zimmermann, 2007).
PRODUCT = IV.sqrt(5) * U
PAPER = Ladder(pairs=4, base=Fraction(10000), span=Fraction(4))
SHIFTED = Ladder(pairs=4, base=Fraction(10000), span=Fraction(4), offset=Fraction(5, 2))
LADDERS = [
    PAPER,
    SHIFTED,
    Ladder(pairs=3, base=Fraction(7), span=Fraction(2), scale=Fraction(-1000), offset=Fraction(-(2**63) + 1)),
    Ladder(pairs=1, base=Fraction(2), span=Fraction(1), first=Fraction(1, 2**60)),
    Ladder(pairs=2, base=Fraction(1, 8), span=Fraction(2), first=Fraction(2) ** 60, offset=Fraction(1, 3)),
]


def holds(error, bound: float) -> bool:
    """Whether an error that was derived is within a bound of the code."""
    return bool(error <= IV.mpf(bound))


def ends(bound: float):
    """Of an interval about a value up to 1: both ends are rounded, and the upper one is made of the lower."""
    return 2 * U * (1 + 2 * IV.mpf(bound))


# Sine and cosine.


def series(name: str, squares, first: int) -> list[Rounded]:
    """The coefficients of the code, for the inverse factorials that they stand for."""
    signed = [IV.mpf((-1) ** n) / math.factorial(2 * n + first) for n in range(1, 1 + len(getattr(quarter, name)))]
    return [
        Rounded.constant(squares, number, true) for number, true in zip(getattr(quarter, name), signed, strict=True)
    ]


def angle_error():
    """Of the angle, relatively: two sums make the rest of a quarter turn, one product makes it radians."""
    unit = abs(IV.mpf(quarter._UNIT) * (1 << HIGH_BITS) / (2 * IV.pi) - 1)
    return top((1 + U) ** 2 * (1 + unit) * (1 + U) - 1)


@pytest.fixture(scope="module")
def waves():
    """The largest error of a cosine and of a sine, relatively, and of the two as a vector of length one."""
    angle, last, found = angle_error(), (IV.pi / 4) ** 2 * (1 + 8 * U), []
    for low, high in pairwise(CUTS):
        squares = IV.mpf([(last * low).a, (last * high).b])
        with pytest.MonkeyPatch.context() as patch:
            sines, cosines = series("_SINE", squares, 1), series("_COSINE", squares, 0)
            patch.setattr(quarter, "_SINE", sines)
            patch.setattr(quarter, "_COSINE", cosines)
            cosine, sine = quarter._waves(Rounded(squares, 1, power=1))
        # Where the terms fall and change their sign, the rest of a series is less than the next one.
        ends = [
            top(squares) ** (1 + len(part)) / math.factorial(2 * (1 + len(part)) + first)
            for part, first in ((cosines, 0), (sines, 1))
        ]
        x = top(IV.sqrt(squares))
        found.append(
            (
                cosine.relative(ends[0]) + x * IV.tan(x) * angle,
                sine.relative(ends[1]) + angle,
                IV.sqrt(cosine.absolute(ends[0]) ** 2 + sine.absolute(ends[1]) ** 2) + x * angle,
            )
        )
    return [max((top(each) for each in kind), key=lambda each: each.b) for kind in zip(*found, strict=True)]


def test_the_rest_of_a_quarter_turn_is_off_by_two_roundings():
    draw = random.Random(0)
    sizes = [0, 1, 2, *(2**k + d for k in range(2, HIGH_BITS - 3) for d in (-1, 0, 1)), 2 ** (HIGH_BITS - 3) - 1]
    parts = [0, draw.getrandbits(LOW_BITS), 2**LOW_BITS - 1]
    limbs = [(sign * size, m, low) for size in sizes for sign in (1, -1) for m in parts for low in parts]
    high, middle, low = (torch.tensor(part, dtype=torch.int64) for part in zip(*limbs, strict=True))
    quadrant, turn = quarter._reduced(Phase(high & (2**HIGH_BITS - 1), middle, low))

    for i, (h, m, rest) in enumerate(limbs):
        true = h + Fraction(m, 2**LOW_BITS) + Fraction(rest, 4**LOW_BITS)
        # The first sum is exact where the second one could cancel: below 2^11.
        least = 1 if abs(true) < 2**11 - 1 else 2
        assert abs(Fraction(turn[i].item()) - true) <= least * abs(true) / 2**53 * (1 + Fraction(1, 2**53))
    assert set((quadrant & 3).tolist()) == {0}


def test_sine_and_cosine_are_within_their_relative_error(waves):
    cosine, sine, _ = waves
    worst = max(cosine, sine, key=lambda each: each.b)

    assert holds(worst, quarter.RELATIVE_ERROR)
    assert not holds(worst, quarter.RELATIVE_ERROR - float(U.b))


def test_values_phase_by_phase_are_in_doubt_within_their_error_and_the_ends(waves):
    worst = max(waves[:2], key=lambda each: each.b)
    one = torch.ones(1, 1, 2, dtype=torch.float64)
    bound = render._direct_bound(one, torch.zeros(1, dtype=torch.int64), PAPER).max().item()

    # Relative to what was computed, which may be smaller than what is true.
    assert holds(worst / (1 - worst) + ends(bound), bound)


# Units of a turn by which the steps are off: half of one for each of a position and an offset below 2^63, one for the
# start, and less than one for each step of each of eight digits below the point.
STEPS = 2 * 2**63 + 1 + 8 * 255


def test_a_row_is_within_what_a_product_counts_for_it(waves):
    row = waves[2]
    steps = top(STEPS * TINY)
    sums = [(1 + row) ** n * (1 + PRODUCT) ** (n - 1) - 1 + ends(n * rows.ERROR_PER_ROW) + steps for n in range(1, 18)]

    assert all(holds(error, n * rows.ERROR_PER_ROW) for n, error in enumerate(sums, 1))
    assert not all(holds(error, n * (rows.ERROR_PER_ROW - float(U.b))) for n, error in enumerate(sums, 1))


def test_a_row_of_a_table_is_within_what_was_derived_for_it(waves):
    most = float(waves[2].b)
    for ladder, place in ((SHIFTED, 0), (PAPER, 7)):
        made = torch.view_as_real(rows.rows(ladder, slice(0, 2), place)).tolist()
        for digit in range(rows.RADIX):
            for pair in range(2):
                phase = digit * (ladder.steps[pair] << (rows.RADIX_BITS * place)) + (ladder.starts[pair] * (not place))
                angle = IV.mpf(phase % TURN) * TINY
                wave = (IV.sin(angle), IV.cos(angle)) if place == 0 else (IV.cos(angle), -IV.sin(angle))
                away = [IV.mpf(got) - true for got, true in zip(made[digit][pair], wave, strict=True)]
                assert holds(IV.sqrt(away[0] ** 2 + away[1] ** 2), most)


# Products of rows.


@pytest.fixture
def factors(monkeypatch):
    """How many rows are multiplied, one entry for each."""
    taken = []

    def counted(*arguments):
        taken.append(arguments)
        return rows_of(*arguments)

    rows_of, turned = rows.rows, blocks.cos_sin
    for module in (rows, blocks, digits):
        monkeypatch.setattr(module, "rows", counted)
    monkeypatch.setattr(blocks, "cos_sin", lambda phase: (taken.append(phase), turned(phase))[1])
    return taken


def product_error(row, count: int):
    """Of a product of rows as a vector of length one."""
    return (1 + row) ** count * (1 + PRODUCT) ** (count - 1) - 1 + STEPS * TINY


@pytest.mark.parametrize("count", [1, 40], ids=["few", "many"])
@pytest.mark.parametrize("position", [*EDGES, 0.5, -300.75, 2.0**-60, 1 / 3, 2.0**40 + 2.0**-12])
def test_a_row_of_any_position_counts_every_factor(position, count, factors, waves):
    apart = digits.Digits.of(torch.tensor([position] * count, dtype=torch.float64 if position % 1 else torch.int64))
    product = torch.empty(count, PAPER.pairs, dtype=torch.complex128)
    _, bound = apart.product(PAPER, slice(0, PAPER.pairs), product, torch.empty_like(product))

    assert holds(product_error(waves[2], len(factors)) + ends(bound), bound)


@pytest.mark.parametrize("count", [1, 3, blocks.FEW_BLOCKS])
@pytest.mark.parametrize("first", [0, -1, 250, 256, -(2**16), 2**40, 2**55 - blocks.FEW_BLOCKS, -(2**55)])
def test_a_table_is_in_doubt_within_the_errors_of_two_evaluations(first, count, factors, waves, monkeypatch):
    asked = []
    monkeypatch.setattr(certify, "doubtful", lambda values, bound, _: (asked.append(bound), values != values)[1])
    certify._look(first, first + count, PAPER, slice(0, PAPER.pairs), torch.float32)

    # The value that was looked at and the one that is written, each off by this; then an end is rounded.
    error = product_error(waves[2], len(factors))
    assert asked
    assert all(holds(2 * error + U * (1 + IV.mpf(bound)), bound) for bound in asked)


# Phases.


def drift(position: Fraction, ladder: Ladder, fraction: bool):
    """Of a phase, in radians: half a unit of 2^-128 turn for each step, and less than one for the start."""
    size = (abs(position) + abs(ladder.offset)) / 2 + 1
    units = IV.mpf(size.numerator) / size.denominator
    if fraction:
        # 2^-64 of a position is dropped, and each of four digits loses less than a unit behind its point.
        units += IV.mpf(max(map(abs, ladder.steps))) / 2**64 + PLACES * (2**16 - 1)
    return units * TINY


@pytest.mark.parametrize("ladder", LADDERS)
@pytest.mark.parametrize("dtype", [torch.int64, torch.float64], ids=str)
def test_the_drift_of_a_phase_is_no_power_of_two_too_large(ladder, dtype):
    places = torch.tensor(EDGES, dtype=torch.int64).to(dtype)
    places = places[places.double().abs() < 2.0**63] if dtype == torch.float64 else places
    for place, bound in zip(places.tolist(), render.drift_of(places, ladder).tolist(), strict=True):
        assert holds(drift(Fraction(place), ladder, dtype == torch.float64), bound)
    halved = render.drift_of(torch.zeros(1, dtype=dtype), ladder).item() / 2

    assert not holds(drift(Fraction(0), ladder, dtype == torch.float64), halved)


@pytest.mark.parametrize("ladder", LADDERS)
def test_phases_are_off_by_less_than_their_drift(ladder):
    places = torch.tensor(EDGES, dtype=torch.int64)
    made = phase_of(places.unsqueeze(-1), step_limbs(ladder))
    bounds = render.drift_of(places, ladder).tolist()
    for pair in range(ladder.pairs):
        step = Fraction(ladder.precise_step(pair, 400), 2 ** (400 - TURN_BITS))
        for i, place in enumerate(places.tolist()):
            limbs = (int(limb[i, pair]) for limb in made)
            phase = sum(limb << shift for limb, shift in zip(limbs, (2 * LOW_BITS, LOW_BITS, 0), strict=True))
            away = (phase - (place + ladder.offset) * step + TURN // 2) % TURN - TURN // 2
            assert holds(abs(IV.mpf(away.numerator) / away.denominator) * TINY, bounds[i])


def test_no_sum_of_limbs_leaves_int64():
    digits, limb = 2 * PLACES * (2**16 - 1), 2**HIGH_BITS - 1
    middle = digits * (2**LOW_BITS - 1) + 2**LOW_BITS
    carried = (middle + (middle >> LOW_BITS)) >> LOW_BITS

    assert digits * limb + limb + carried <= INT64_MAX


# The last word.


@pytest.mark.parametrize("bits", [64, 192, 384, 1536, 6144])
@pytest.mark.parametrize("swapped", [False, True], ids=["sine", "cosine"])
def test_the_integer_series_is_within_its_error(bits, swapped, monkeypatch):
    asked = []
    pi_scaled = exact.pi_scaled
    monkeypatch.setattr(exact, "pi_scaled", lambda work: (asked.append(work), pi_scaled(work))[1])
    exact.sine_fixed(1 << (bits - 4), bits)
    (work,) = asked

    # In units of 2^-work. The angle: a unit of pi for an eighth of a turn and more, then rounded down.
    x, off_x = IV.pi / 4, 2 / IV.mpf(8) + 1
    square, off_square = x**2, 2 * x * off_x + 1 + IV.mpf(2) ** -60
    term, off = (IV.mpf(1), IV.mpf(0)) if swapped else (x, off_x)
    total, n = off, 0 if swapped else 1
    while (term * 2**work).b >= 1:
        # Rounded down twice, once before it is divided.
        factor = (n + 1) * (n + 2)
        term, off = term * square / factor, (off * square + term * off_square + 1) / factor + 1 + IV.mpf(2) ** -60
        total, n = top(total + off), n + 2
    # What is left once a term is less than a unit, and the bits that are cut off in the end.
    total = (total + 2) / 2 ** (work - bits) + 1

    assert holds(total, exact._SERIES_ERROR)


@pytest.mark.parametrize(
    "place", [Fraction(1, 3), Fraction(1), Fraction(-3, 2), Fraction(2**63 - 1), Fraction(-(2**63))]
)
@pytest.mark.parametrize("bits", [192, 768])
def test_an_angle_in_integers_is_within_its_error(place, bits, monkeypatch):
    asked = []
    monkeypatch.setattr(exact, "_precise_step", lambda *of: asked.append(of[-1]) or 1)
    exact.Term(place, PAPER, 0).turn(bits)
    size = abs(IV.mpf(place.numerator) / place.denominator)
    # Half a unit of the step for each position, and less than one where the product is cut off.
    units = size / 2 / 2 ** (asked[0] - bits) + 1

    assert holds(units, 1.1)
    assert holds(2 * IV.pi * IV.mpf("1.1"), exact._ANGLE_ERROR)


# A wave times a gain.


def test_a_wave_times_a_gain_is_within_its_relative_error(waves):
    wave = max(waves[:2], key=lambda each: each.b)
    # A square root, a quotient, a product; then an end.
    error = (1 + wave) * (1 + U) ** 3 - 1 + U * (1 + IV.mpf(decided._RELATIVE))

    assert holds(error, decided._RELATIVE)
    assert not holds(error, decided._RELATIVE - float(U.b))
