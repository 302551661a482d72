"""Positions as base-256 digits above and below the point, and the products of their rows."""

import random
from fractions import Fraction

import pytest
import torch

from posenc.frequency import Ladder
from posenc.phase import step_limbs
from posenc.trig.digits import Digits
from posenc.trig.quarter import RELATIVE_ERROR
from posenc.trig.render import direct
from posenc.trig.rows import groups

FLOATS = [0.0, 0.5, -0.5, 999.25, -300.75, 2.0**-60, -(2.0**-64), 1 / 3, 2.0**40 + 2.0**-12, -(2.0**62), 255.99999999]


@pytest.mark.parametrize("count", [1, 40], ids=["few", "many"])
@pytest.mark.parametrize("place", range(len(FLOATS)))
def test_digits_put_a_float_together_again(place, count):
    position = FLOATS[place]
    digits = Digits.of(torch.tensor([position] * count, dtype=torch.float64))

    def size(parts, signs, step):
        total = sum(int(digit[-1]) * Fraction(256) ** (step * number) for number, digit in enumerate(parts, 1))
        return total if signs is None else total * int(signs[-1])

    whole = int(digits.fine[-1]) + size(digits.blocks, digits.block_signs, 1)
    assert whole + size(digits.fractions, digits.fraction_signs, -1) == Fraction(position)
    assert digits.largest == abs(position)
    assert not digits.fractions or digits.fractions[-1].any()


@pytest.mark.parametrize("count", [1, 40], ids=["few", "many"])
def test_a_float_that_ends_beyond_the_digits_has_none(count):
    assert Digits.of(torch.tensor([2.0**-65] * count, dtype=torch.float64)) is None


@pytest.mark.parametrize("bits", [1, 20, 52])
def test_products_of_rows_below_the_point_are_within_the_bound(bits):
    draw = random.Random(bits)
    ladder = Ladder(pairs=70, base=Fraction(10000), span=Fraction(70), offset=Fraction(2))
    positions = torch.tensor(
        [draw.getrandbits(bits + 1) * draw.choice([1, -1]) / 2**bits for _ in range(300)], dtype=torch.float64
    )
    digits = Digits.of(positions)
    for group in groups(ladder):
        product = torch.empty(300, group.stop - group.start, dtype=torch.complex128)
        values, bound = digits.product(ladder, group, product, torch.empty_like(product))
        true = direct(positions, step_limbs(ladder)[:, :, group])

        assert (values - true).norm(dim=-1).max().item() <= bound + RELATIVE_ERROR
