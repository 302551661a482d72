"""Units in the last place and nearest numbers, where rounding is delicate."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from posenc.verify.error import Exact, errors, scale

LOWER = [torch.float32, torch.bfloat16, torch.float16]


def neighbours(number, dtype):
    """A number of dtype with the two beside it, as fractions."""
    at = torch.tensor(number, dtype=dtype)
    beside = [torch.nextafter(at, torch.tensor(end, dtype=dtype)) for end in (-math.inf, math.inf)]
    return [Fraction(float(value)) for value in (beside[0], at, beside[1])]


def exact_of(value):
    high = float(value)
    return Exact(np.array([high]), np.array([float(value - Fraction(high))]))


ABOVE, BELOW = Fraction(1, 10**25), -Fraction(1, 10**25)
NUMBERS = [1.0, -1.0, 0.5, 0.75, -0.3, 2.0**-13, 3 * 2.0**-16, 2.0**-24, 1e-3]


@pytest.mark.parametrize("dtype", LOWER, ids=str)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("side", [ABOVE, BELOW], ids=["above", "below"])
def test_half_way_cases_are_decided_by_what_lies_below_float64(dtype, number, side):
    low, at, high = neighbours(number, dtype)

    for lower, upper in ((low, at), (at, high)):
        value = (lower + upper) / 2 + side
        found = scale(exact_of(value), dtype)
        assert Fraction(float(found.nearest[0])) == (upper if side > 0 else lower)
        assert Fraction(float(found.unit[0])) == upper - lower


@pytest.mark.parametrize("dtype", [torch.float64, *LOWER], ids=str)
def test_a_hair_below_a_power_of_two_the_unit_is_the_smaller_one(dtype):
    exact = Exact(np.array([1.0]), np.array([-1e-20]))
    wrong = torch.nextafter(torch.ones(1, dtype=dtype), torch.zeros(1, dtype=dtype))

    found = errors(wrong, exact, scale(exact, dtype))

    assert found.misrounded.all()
    assert found.units[0] == pytest.approx(1, abs=1e-3)


def test_zero_has_only_zero_near():
    exact = Exact(np.zeros(2), np.zeros(2))

    found = errors(torch.tensor([0.0, 1e-20], dtype=torch.float16), exact, scale(exact, torch.float16))
    assert found.misrounded.tolist() == [False, False]

    found = errors(torch.tensor([0.0, 1e-20]), exact, scale(exact, torch.float32))
    assert found.misrounded.tolist() == [False, True]
    assert found.units[1] > 1


def test_nan_is_no_small_error():
    exact = Exact(np.array([0.5]), np.array([0.0]))

    found = errors(torch.tensor([math.nan]), exact, scale(exact, torch.float32))

    assert found.misrounded.all()
    assert found.units[0] == math.inf
