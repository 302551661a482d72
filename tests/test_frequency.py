"""Ladders become integers that are right to the last bit."""

import decimal
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge import MP, real
from tests.strategies import modest

from posenc.frequency import TURN, TURN_BITS, Ladder, pi_scaled

PAPER = Ladder(pairs=256, base=Fraction(10000), span=Fraction(256))
LADDERS = {
    "paper": PAPER,
    "odd": Ladder(pairs=4, base=Fraction(10000), span=Fraction(7, 2)),
    "one": Ladder(pairs=1, base=Fraction(10000), span=Fraction(1)),
    "slow": Ladder(pairs=64, base=Fraction(10**12), span=Fraction(64)),
    "wide": Ladder(pairs=8192, base=Fraction(10000), span=Fraction(8192)),
    "rising": Ladder(pairs=8, base=Fraction(1, 64), span=Fraction(7)),
    "flat": Ladder(pairs=3, base=Fraction(1), span=Fraction(3)),
    "fraction": Ladder(pairs=16, base=Fraction(20001, 2), span=Fraction(15), first=Fraction(3, 7)),
    "backwards": Ladder(pairs=16, base=Fraction(10000), span=Fraction(16), scale=Fraction(-1000)),
    "fast": Ladder(pairs=4, base=Fraction(10000), span=Fraction(4), first=Fraction(2) ** 60),
    "given": Ladder(
        pairs=5,
        base=Fraction(10000),
        span=Fraction(5),
        scale=Fraction(-12.566370614359172),
        given=(Fraction(1), Fraction(-3, 7), Fraction(0), Fraction(10) ** 20, Fraction(1, 10**30)),
    ),
}
SAMPLE = [0, 1, 2, 3, 7, 100, 255, 4095, 8191]
# 2^128 / (2 pi) to the nearest integer, from sixty digits of pi and long division.
RADIAN = 54157620742477409023451113735280473968


def turns(ladder: Ladder, pair: int, bits: int):
    """2^bits times the part of a turn that a pair advances from one position to the next."""
    if ladder.given:
        return real(ladder.given[pair]) * real(ladder.scale) / (2 * MP.pi) * MP.mpf(2) ** bits
    ratio = real(ladder.base) ** -(MP.mpf(pair) / real(ladder.span))
    return real(ladder.first) * real(ladder.scale) * ratio / (2 * MP.pi) * MP.mpf(2) ** bits


@pytest.mark.parametrize("bits", [0, 1, 8, 64, 128, 300])
def test_pi_is_off_by_less_than_a_unit(bits):
    assert abs(MP.pi * MP.mpf(2) ** bits - pi_scaled(bits)) < 1


def test_one_radian():
    assert PAPER.steps[0] == RADIAN == int(MP.nint(2**128 / (2 * MP.pi)))


@pytest.mark.parametrize("ladder", LADDERS.values(), ids=LADDERS)
def test_steps_are_the_nearest_integers(ladder):
    pairs = [pair for pair in SAMPLE if pair < ladder.pairs]

    assert [ladder.steps[pair] for pair in pairs] == [int(MP.nint(turns(ladder, pair, TURN_BITS))) for pair in pairs]
    assert len(ladder.steps) == ladder.pairs


@pytest.mark.parametrize("ladder", LADDERS.values(), ids=LADDERS)
@pytest.mark.parametrize("bits", [TURN_BITS, 192, 280])
def test_a_precise_step_is_the_nearest_integer(ladder, bits):
    pairs = [pair for pair in SAMPLE if pair < ladder.pairs]

    assert [ladder.precise_step(pair, bits) for pair in pairs] == [
        int(MP.nint(turns(ladder, pair, bits))) for pair in pairs
    ]


@modest
@given(
    pairs=st.integers(1, 40),
    base=st.fractions(min_value="1/100", max_value=10**13, max_denominator=10**6),
    slack=st.fractions(min_value="1/4", max_value=3, max_denominator=8),
    first=st.fractions(min_value="1/1000", max_value=1000, max_denominator=10**6),
)
def test_any_ladder(pairs, base, slack, first):
    ladder = Ladder(pairs=pairs, base=base, span=pairs - 1 + slack, first=first)
    exact = [int(MP.nint(turns(ladder, pair, TURN_BITS))) for pair in range(pairs)]

    assert list(ladder.steps) == exact
    assert ladder.precise_step(pairs - 1, TURN_BITS) == exact[-1]


@modest
@given(given=st.lists(st.fractions(max_denominator=10**6), min_size=1, max_size=9))
def test_any_frequencies(given):
    ladder = Ladder(pairs=len(given), base=Fraction(2), span=Fraction(1), given=tuple(given))

    assert list(ladder.steps) == [int(MP.nint(turns(ladder, pair, TURN_BITS))) for pair in range(len(given))]


@pytest.mark.parametrize("exponent", [39, 80, 300])
def test_a_first_frequency_of_any_size_is_exact(exponent):
    ladder = Ladder(pairs=1, base=Fraction(2), span=Fraction(1), first=Fraction(10) ** exponent)
    with MP.workprec(2000):
        exact = int(MP.nint(turns(ladder, 0, TURN_BITS)))

    assert ladder.steps[0] == exact
    assert ladder.precise_step(0, TURN_BITS) == exact


@pytest.mark.parametrize("offset", [Fraction(2), Fraction(-3), Fraction(1, 2), Fraction(0.1), Fraction(2**40)])
def test_starts_are_the_phases_of_the_offset(offset):
    ladder = Ladder(pairs=8, base=Fraction(10000), span=Fraction(8), offset=offset)

    # Whole offsets are exact; a fraction may cost the last unit.
    for start, step in zip(ladder.starts, ladder.steps, strict=True):
        distance = (start - step * offset) % TURN
        assert 0 <= start < TURN
        assert min(distance, TURN - distance) < (1 if offset.denominator > 1 else Fraction(1, 2))


def test_no_offset_starts_at_zero():
    assert set(PAPER.starts) == {0}


def test_equal_ladders_are_one_key():
    again = Ladder(pairs=256, base=Fraction(10000), span=Fraction(256))

    assert again == PAPER
    assert hash(PAPER) == hash(again)
    assert len({PAPER, again}) == 1


@pytest.mark.parametrize("change", ["pairs", "base", "span", "first", "scale", "offset", "given"])
def test_every_parameter_is_part_of_the_key(change):
    options = {"pairs": 8, "base": Fraction(10000), "span": Fraction(8)}
    other = Ladder(**(options | {change: {"pairs": 9, "given": (Fraction(9),) * 8}.get(change, Fraction(9))}))

    assert other != Ladder(**options)
    assert hash(other) != hash(Ladder(**options))


def unkind(context: decimal.Context) -> None:
    context.traps[decimal.Inexact] = True


def coarse(context: decimal.Context) -> None:
    context.prec, context.rounding = 3, decimal.ROUND_UP


def narrow(context: decimal.Context) -> None:
    context.Emax, context.Emin = 9, -9


@pytest.mark.parametrize("habit", [unkind, coarse, narrow])
def test_the_callers_decimal_context_changes_nothing(habit):
    with decimal.localcontext() as context:
        habit(context)
        ladder = Ladder(pairs=256, base=Fraction(10000), span=Fraction(256))

        assert ladder.steps == PAPER.steps
        assert ladder.precise_step(5, 192) == PAPER.precise_step(5, 192)


def test_a_wide_ladder_is_cheap():
    # Milliseconds here; a power of the base for every pair would take seconds.
    began = time.perf_counter()
    assert len(Ladder(pairs=8192, base=Fraction(10001), span=Fraction(8192)).steps) == 8192

    assert time.perf_counter() - began < 1
