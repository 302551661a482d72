"""Positions times steps: exact phases, 2^128 to the turn, in integer tensors.

This is the last exact floor.
A phase is held in three limbs, so that no product and no sum can overflow:
compilers may not be trusted with integers that wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .cache import Cache
from .frequency import TURN, Ladder
from .tracing import with_fixed_sizes

HIGH_BITS, LOW_BITS = 44, 42
_HIGH_MASK, _LOW_MASK = (1 << HIGH_BITS) - 1, (1 << LOW_BITS) - 1
_DIGIT_BITS = 16
_DIGIT_MASK = (1 << _DIGIT_BITS) - 1
PLACES = 4


# Nine places of three limbs (pairs,).
Steps = tuple[tuple[Tensor, ...], ...]


class Phase(NamedTuple):
    """A part of a turn: (high * 2^84 + middle * 2^42 + low) / 2^128, limbs of 44, 42 and 42 bits, int64."""

    high: Tensor
    middle: Tensor
    low: Tensor


def limbs(values: Sequence[int], places: int = 1) -> Tensor:
    """Integers, 2^128 to the turn -> (places, 3, len(values)) int64, entry j holding value * 2^(16 j)."""
    shifted = [[(value << (_DIGIT_BITS * j)) % TURN for value in values] for j in range(places)]
    rows = [
        [
            [value >> (2 * LOW_BITS) for value in row],
            [value >> LOW_BITS & _LOW_MASK for value in row],
            [value & _LOW_MASK for value in row],
        ]
        for row in shifted
    ]
    return torch.tensor(rows, dtype=torch.int64, device="cpu")


def _step_limbs(ladder: Ladder, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        # A fraction of a position is four digits below the point: the same product with steps / 2^64.
        below = [limbs([step >> (64 - _DIGIT_BITS * j) for step in ladder.steps]) for j in range(PLACES)]
        return torch.cat([limbs(ladder.steps, PLACES), *below, limbs(ladder.starts)]).to(device)


STEPS = Cache(4 << 20)
_CPU = torch.device("cpu")


def step_limbs(ladder: Ladder, device: torch.device = _CPU) -> Tensor:
    """The steps of a ladder as an int64 tensor (9, 3, pairs): four places, four of the fraction, the start.

    It is all that `phase_of` needs, and holds no float. Shared by all: not to be written to.
    """
    return STEPS.get((ladder, device), lambda: _step_limbs(ladder, device), lambda made: made.nbytes)


def steps_apart(ladder: Ladder, device: torch.device = _CPU, begin: int = 0, end: int | None = None) -> Steps:
    """The same of pairs [begin, end) as tensors (pairs,), which a graph reads without an operation on constants.

    A compiler runs such an operation itself, and where it leaves sizes open, those of the result have no source.
    """

    def make() -> Steps:
        with torch.inference_mode(False):
            # Copies: of a view, compilers take the sizes of what it is a view of for open ones.
            limbs_ = step_limbs(ladder, device)[..., begin:end]
            return tuple(tuple(with_fixed_sizes(limb.clone()) for limb in row) for row in limbs_)

    return STEPS.get((ladder, device, begin, end), make, lambda made: sum(limb.nbytes for row in made for limb in row))


def _carry(high: Tensor, middle: Tensor, low: Tensor) -> Phase:
    middle = middle + (low >> LOW_BITS)
    high = high + (middle >> LOW_BITS)
    return Phase(high & _HIGH_MASK, middle & _LOW_MASK, low & _LOW_MASK)


def _product(digits: list[Tensor], places: Tensor | Steps) -> list[Tensor]:
    """Sum over the places of digit * limb: 16 bits times 44, four times, stays below 2^62."""
    totals = []
    for limb in range(3):
        total = digits[0] * places[0][limb]
        for j in range(1, len(digits)):
            total = total + digits[j] * places[j][limb]
        totals.append(total)
    return totals


def _whole_digits(positions: Tensor) -> list[Tensor]:
    """Four base-65536 digits of int64 positions, the last one signed."""
    inner = [positions >> (_DIGIT_BITS * j) & _DIGIT_MASK for j in range(PLACES - 1)]
    return [*inner, positions >> (_DIGIT_BITS * (PLACES - 1))]


def _fraction_digits(fraction: Tensor) -> list[Tensor]:
    """Four base-65536 digits below the point of float64 fractions in (-1, 1), of their sign: each step is exact."""
    digits = []
    for _ in range(PLACES):
        fraction = fraction * float(1 << _DIGIT_BITS)
        whole = fraction.trunc()
        digits.append(whole.to(torch.int64))
        fraction = fraction - whole
    return digits[::-1]


def phase_of(positions: Tensor, steps: Tensor | Steps) -> Phase:
    """Positions (..., 1) int64 or float64, steps from `step_limbs` or `steps_apart` -> phases (..., pairs).

    Positions of shape (n,) with the steps of n pairs give n phases, one position to a pair.

    Laws: phase(p + k) == phase(p) + phase(k) modulo one turn, exactly, for all int64 p, k, p + k (position
    offset zero). A float position is split into integer and fraction; what lies below 2^-64 of a position
    is dropped. Nothing is read on the host. |position| must be below 2^63.

    >>> from fractions import Fraction
    >>> steps = step_limbs(Ladder(pairs=4, base=Fraction(10000), span=Fraction(4)))
    >>> p, k = torch.tensor([2**62]), torch.tensor([-5])
    >>> sums = add(phase_of(p, steps), phase_of(k, steps)), phase_of(p + k, steps)
    >>> all(torch.equal(a, b) for a, b in zip(*sums))
    True
    """
    start = steps[2 * PLACES]
    if positions.dtype == torch.int64:
        totals = _product(_whole_digits(positions), steps[:PLACES])
    else:
        # Towards zero: the fraction of a small negative number would drown in 1 - fraction.
        whole = positions.trunc()
        digits = _whole_digits(whole.to(torch.int64))
        digits += _fraction_digits(positions - whole)
        totals = [
            a + b
            for a, b in zip(
                _product(digits[:PLACES], steps[:PLACES]),
                _product(digits[PLACES:], steps[PLACES:]),
                strict=True,
            )
        ]
    return _carry(totals[0] + start[0], totals[1] + start[1], totals[2] + start[2])


def add(a: Phase, b: Phase) -> Phase:
    """The sum of two phases, exact modulo one turn."""
    return _carry(a.high + b.high, a.middle + b.middle, a.low + b.low)


def negate(a: Phase) -> Phase:
    """The phase turned the other way, exact modulo one turn."""
    return _carry(-a.high, -a.middle, -a.low)
