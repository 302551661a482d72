"""Values times a gain, of dropped signs, added angles and slips in the ladder: each rounded once and correctly."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.judge import MP, compare, misrounded, moments, real, rounded
from tests.laws import rows_are_equal
from tests.strategies import DTYPES, few, modest, positions

from posenc import Convention, PositionalEncoding, conventions, encode, table
from posenc.errors import ConventionError

HALVES = [torch.float32, torch.bfloat16, torch.float16]
SUMMED = Convention(
    axes=("y", "x"), axis_layout="sum", layout="halves", spacing="explicit", frequencies=((3.0, 0.1), (0.5, -1.0))
)
GAINS = st.sampled_from(["inverse-root", 0.1, -3, 2.0**-140, 1e-39, 6e4, 1 + 2.0**-24])


# Each turns by `first` from position 0 to the one beside it.
KINDS = {
    "a gain": lambda first: (Convention(first=first, gain=-3), -1),
    "inverse-root": lambda first: (Convention(first=first, gain="inverse-root"), 1),
    "a dropped sign": lambda first: (Convention(first=first, position_sign="dropped"), -1),
    "columns in the exponent": lambda first: (Convention(first=first, pairing="columns"), 1),
    "a sum of axes": lambda first: (replace(SUMMED, frequencies=((0.5,), (first,))), [-1, 0]),
}


def beside_a_tie(dtype: torch.dtype, gain, number: int) -> float:
    """The frequency whose sine times a gain is nearer to a tie of dtype than float64 can tell."""
    precision = {torch.float32: 24, torch.bfloat16: 8, torch.float16: 11}[dtype]
    size = 1 / MP.sqrt(2) if gain == "inverse-root" else abs(real(gain))
    half_units = 2**precision + 2 * (number * 7919 % 2 ** (precision - 2)) + 1
    exponent = int(MP.floor(MP.log(size, 2))) - precision - 1
    return float(MP.asin(MP.ldexp(half_units, exponent) / size))


def test_the_value_that_float64_rounds_to_the_wrong_side():
    # 512^-0.5 cos(505324 * 10000^(-193/256)), by mpmath: -0x1.3a38030000000065...p-5.
    assert encode(505324, 512, "x-transformers")[449].item().hex() == "-0x1.3a38020000000p-5"
    with MP.workprec(300):
        angle = 505324 * MP.mpf(10000) ** (-MP.mpf(193) / 256)
        assert rounded(MP.cos(angle) / MP.sqrt(512), torch.float32) == float.fromhex("-0x1.3a3802p-5")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_what_float64_cannot_decide(dtype, kind):
    for number in range(40):
        convention, position = KINDS[kind](beside_a_tie(dtype, KINDS[kind](1.0)[0].gain, number))
        assert misrounded(encode([position], 2, convention, dtype=dtype), [position], convention) == []


@modest
@given(gain=GAINS, dim=st.sampled_from([2, 9, 64, 130]), dtype=st.sampled_from(DTYPES), where=positions())
def test_law_1_and_2_of_any_gain(gain, dim, dtype, where):
    largest = torch.finfo(dtype).max
    convention = Convention(gain=gain)
    if gain != "inverse-root" and abs(gain) > largest:
        return
    rows = encode([where], dim, convention, dtype=dtype)
    if dtype != torch.float64:
        assert misrounded(rows, [where], convention) == []
    start = min(max(where, -(2**63)), 2**63 - 3)
    assert torch.equal(table(3, dim, convention, start=start, dtype=dtype)[where - start], rows[0])


@few
@given(
    said=st.sampled_from([{"gain": 0.1}, {"position_sign": "dropped"}, {"gain": -3, "position_sign": "dropped"}]),
    dtype=st.sampled_from(DTYPES),
    start=st.one_of(st.integers(-40, 10), st.integers(-(2**62), 2**62)),
)
def test_law_1_of_what_is_done_to_values(said, dtype, start):
    rows_are_equal(Convention(**said), 10, dtype, start, 300)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", ["x-transformers", "patchtst", "lex-glue-hierbert", "speechbrain-relposencxl"])
def test_rows_of_the_table_the_layer_and_encode_are_one(name, threads):
    before = torch.get_num_threads()
    where = torch.randperm(600)
    try:
        torch.set_num_threads(threads)
        general_moments().cache_clear()
        rows = table(600, 64, name, dtype=torch.float64), table(600, 64, name)
        layer = PositionalEncoding(64, 0.0, 500, convention=name)
        assert torch.equal(layer(torch.zeros(1, 600, 64))[0], rows[1])
        assert torch.equal(encode(where, 64, name, dtype=torch.float64), rows[0][where])
        assert torch.equal(encode(where, 64, name), rows[1][where])
    finally:
        torch.set_num_threads(before)
    known = FIRST.setdefault(name, rows)
    assert all(torch.equal(a, b) for a, b in zip(rows, known, strict=True))


FIRST: dict = {}


def general_moments():
    import importlib

    return importlib.import_module("posenc.encoding.general")._moments


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_slips_are_rounded_once(dtype):
    where = [0, 1, -1, 77, 10**7 + 3, -(2**62), 2**63 - 1, -(2**63)]
    for name in ("lex-glue-hierbert", "speechbrain-relposencxl"):
        rows = encode(where, 64, name, dtype=dtype)
        assert misrounded(rows, where, conventions[name]) == []


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_sums_of_axes_are_rounded_once(dtype):
    near = [-(2**63), -3, 0, 1, 6, 2**53 + 1, 2**63 - 1]
    cells = [[a, b] for a in near for b in near]
    for gain in (1, 0.1):
        convention = replace(SUMMED, gain=gain)
        assert misrounded(encode(cells, 4, convention, dtype=dtype), cells, convention) == []


def test_angles_that_cancel_exactly():
    # 3 y + x / 2 is zero where x is -6 y: sine 0, cosine 1, whatever the gain.
    rows = encode([[-6, 1], [12, -2]], 4, replace(SUMMED, frequencies=((3.0, 0.1), (0.5, -1.0)), gain=0.1))

    assert rows[:, 0].tolist() == [0.0, 0.0]
    assert rows[:, 2].tolist() == [float(torch.tensor(0.1))] * 2


@pytest.mark.parametrize("gain", [1 + 2.0**-24, -(1 + 2.0**-24), 1 + 3 * 2.0**-24])
def test_a_gain_that_is_a_tie_itself_goes_to_even(gain):
    right = math.copysign(1.0 if abs(gain) < 1 + 2.0**-23 else 1 + 2.0**-22, gain)

    assert encode(0, 2, Convention(gain=gain)).tolist() == [0.0, right]


def test_a_standardised_table_is_within_its_bound():
    convention = replace(conventions["patchtst"], standardised_rows=20)
    where = [0, 1, 19, 31, -5, 10**7, 2**62]
    _, deviation = moments(8, convention)
    assert deviation >= 0.5
    for _, _, got, true in compare(encode(where, 8, convention, dtype=torch.float64), where, convention):
        assert abs(got - true) <= 2.0**-48


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_a_gain_beyond_the_dtype_is_refused(dtype):
    for make in (lambda c: encode([1], 8, c, dtype=dtype), lambda c: table(3, 8, c, dtype=dtype)):
        with pytest.raises(ConventionError, match=r"gain=1e\+39 in torch\."):
            make(Convention(gain=1e39))
    assert encode([1], 8, Convention(gain=1e39), dtype=torch.float64).isfinite().all()


def origin():
    return Convention(position_offset=2**53 + 1, position_scale=1e15)


def test_a_float_beside_the_origin_is_not_the_origin():
    # sin and cos of 1e15 * 10000^(-k / 4): the position and the offset differ by one.
    angles = [MP.mpf(10) ** 15 / MP.mpf(10) ** k for k in range(4)]
    expected = [float(turn(angle)) for angle in angles for turn in (MP.sin, MP.cos)]

    assert encode(-(2.0**53), 8, origin()).tolist() == pytest.approx(expected, abs=2.0**-25)
    assert encode(-(2**53) - 1, 8, origin()).tolist() == [0, 1] * 4


def test_a_float_beside_a_row_of_zeros_is_not_that_row():
    convention = Convention(zero_rows=(2**53 + 1,))

    assert torch.equal(encode(2.0**53, 8, convention), encode(2**53, 8))
    assert encode(2**53 + 1, 8, convention).count_nonzero() == 0
