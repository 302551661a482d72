"""Phases are integers, equal to those of Python's own integers."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import EDGES, INT64_MAX, INT64_MIN, float_positions, modest, positions

from posenc.frequency import TURN, Ladder
from posenc.phase import HIGH_BITS, LOW_BITS, Phase, add, limbs, negate, phase_of, step_limbs

LADDERS = [
    Ladder(pairs=5, base=Fraction(10000), span=Fraction(5)),
    Ladder(pairs=3, base=Fraction(10000), span=Fraction(2), offset=Fraction(2)),
    Ladder(pairs=4, base=Fraction(10**12), span=Fraction(4), scale=Fraction(-1000), offset=Fraction(-1, 2)),
    Ladder(pairs=2, base=Fraction(1, 8), span=Fraction(2), first=Fraction(2) ** 60),
]
# Below 2^-64 of a position nothing is kept, and every piece of the fraction drops less than a unit.
FRACTION_BITS = 64


def whole(phase: Phase) -> list[int]:
    """Phases as Python integers, 2^128 to the turn."""
    parts = zip(phase.high.flatten(), phase.middle.flatten(), phase.low.flatten(), strict=True)
    return [(int(h) << (2 * LOW_BITS)) + (int(m) << LOW_BITS) + int(low) for h, m, low in parts]


def exact(position, ladder: Ladder) -> list[int]:
    """The phases of an integer position, by Python's integers."""
    pairs = zip(ladder.steps, ladder.starts, strict=True)
    return [(position * step + start) % TURN for step, start in pairs]


def at(*places: int) -> torch.Tensor:
    return torch.tensor(places, dtype=torch.int64).unsqueeze(-1)


@pytest.mark.parametrize("ladder", LADDERS)
def test_every_edge_of_int64_is_exact(ladder):
    phases = phase_of(at(*EDGES), step_limbs(ladder))

    assert whole(phases) == [phase for position in EDGES for phase in exact(position, ladder)]


@pytest.mark.parametrize("ladder", LADDERS)
@modest
@given(position=positions())
def test_every_int64_is_exact(ladder, position):
    assert whole(phase_of(at(position), step_limbs(ladder))) == exact(position, ladder)


@pytest.mark.parametrize("digit", [0x7FFF, 0x8000, 0xFFFF])
@pytest.mark.parametrize("step", [0, 1, TURN // 2, TURN - 1, sum(0xFFFF << (16 * j) for j in range(0, 128, 32))])
def test_the_largest_digits_and_limbs_do_not_overflow(digit, step):
    position = sum(digit << (16 * j) for j in range(4))
    position -= 2**64 if position > INT64_MAX else 0
    steps = torch.cat([limbs([step], 4), torch.zeros(4, 3, 1, dtype=torch.int64), limbs([TURN - 1])])

    assert whole(phase_of(at(position), steps)) == [(position * step + TURN - 1) % TURN]


@pytest.mark.parametrize("ladder", LADDERS)
def test_limbs_stay_within_their_bits(ladder):
    phase = phase_of(at(*EDGES), step_limbs(ladder))

    for limb, bits in zip(phase, (HIGH_BITS, LOW_BITS, LOW_BITS), strict=True):
        assert limb.dtype == torch.int64
        assert int(limb.min()) >= 0
        assert int(limb.max()) < 2**bits


@pytest.mark.parametrize("ladder", LADDERS)
@modest
@given(position=float_positions())
def test_floats_are_off_by_what_lies_below_the_last_digit(ladder, position):
    where = torch.tensor([[position]], dtype=torch.float64)

    # For each of four digits less than a unit, which it multiplies, and one for the start.
    lost, units = Fraction(1, 2**FRACTION_BITS), 4 * (2**16 - 1) + 1
    for phase, step, start in zip(whole(phase_of(where, step_limbs(ladder))), ladder.steps, ladder.starts, strict=True):
        distance = (phase - Fraction(position) * step - start) % TURN
        assert min(distance, TURN - distance) <= lost * abs(step) + units


@pytest.mark.parametrize("position", [-0.1, -1e-10, -1e-16, -(2.0**-60), -1.1, -1234.567])
def test_a_negative_float_keeps_its_fraction(position):
    ladder = LADDERS[0]
    there, back = (
        whole(phase_of(torch.tensor([[sign * position]], dtype=torch.float64), step_limbs(ladder))) for sign in (1, -1)
    )

    for phase, mirrored in zip(there, back, strict=True):
        distance = (phase + mirrored) % TURN
        # Each of the four digits below the point may drop a unit, on either side.
        assert min(distance, TURN - distance) <= 8


@pytest.mark.parametrize("ladder", LADDERS)
def test_a_whole_float_is_that_integer(ladder):
    places = [position for position in EDGES if abs(position) <= 2**53]
    floats = phase_of(at(*places).double(), step_limbs(ladder))

    assert whole(floats) == whole(phase_of(at(*places), step_limbs(ladder)))


def test_one_position_to_a_pair():
    ladder = LADDERS[0]
    places = [3, -7, 2**40, 0, INT64_MIN]
    phases = phase_of(torch.tensor(places), step_limbs(ladder))

    assert whole(phases) == [exact(position, ladder)[pair] for pair, position in enumerate(places)]


@modest
@given(a=st.integers(0, TURN - 1), b=st.integers(0, TURN - 1))
def test_sums_and_negatives_wrap_at_the_turn(a, b):
    (high, middle, low), other = limbs([a])[0], limbs([b])[0]
    phase = Phase(high, middle, low)

    assert whole(phase) == [a]
    assert whole(add(phase, Phase(*other))) == [(a + b) % TURN]
    assert whole(negate(phase)) == [-a % TURN]


@pytest.mark.parametrize("a", [0, 1, 2**42, 2**84, TURN // 2, TURN - 1])
def test_a_phase_and_its_negative_cancel(a):
    phase = Phase(*limbs([a])[0])

    assert whole(add(phase, negate(phase))) == [0]


def test_steps_come_as_integers_and_on_the_cpu():
    with torch.device("meta"):
        steps = step_limbs(Ladder(pairs=6, base=Fraction(77), span=Fraction(6)))

    assert steps.shape == (9, 3, 6)
    assert steps.dtype == torch.int64
    assert steps.device.type == "cpu"
