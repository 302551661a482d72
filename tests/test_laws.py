"""The laws of the encoding: each over fixed cases, which its mutants must fail, then over whatever Hypothesis draws."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.caches import forget
from tests.judge import FORMATS, ROUNDED, largest_error, misrounded, places
from tests.strategies import DTYPES, EDGES, INT64_MAX, INT64_MIN, dims, few, modest, near_ties, positions
from tests.strategies import conventions as any_convention

from posenc import Convention, conventions, encode, locate, shift, shift_matrix, similarity, table, wavelengths
from posenc.phase import add, phase_of, step_limbs

UNIT = 2.0**-53
# Law 2: float64 values, absolute.
FLOAT64_ERROR = 1e-15
# The relative error that cosine and sine of a turn may have.
ENTRY = 8 * UNIT
# c^2 + s^2: two relative errors, three roundings. M_j M_k - M_(j+k): two products of two entries, and one entry.
ORTHOGONAL = 2 * ENTRY + 3 * UNIT
COMPOSED = 5 * ENTRY + 3 * UNIT
# s^2 + c^2 and s s' + c c' of one pair, each value off by law 2 and below 1; then the entry of the other side.
NORM_PER_PAIR = 2 * math.sqrt(2) * FLOAT64_ERROR + 3 * UNIT
PRODUCT_PER_PAIR = NORM_PER_PAIR + ENTRY

PLAIN = [
    (conventions["transformer"], 10),
    (conventions["transformer"], 7),
    (conventions["tensor2tensor"], 9),
    (conventions["fairseq"], 130),
    (conventions["musicgen"], 12),
    (Convention(base=1e12, first=3.5, position_scale=-1000, position_offset=-0.5, layout="halves"), 14),
]
STARTS = [0, 1, 255, 256, -3, -700, 2**24 - 300, -(2**40), 2**62 + 77, INT64_MIN, INT64_MAX - 599]
TIES = [(dtype, near_ties(dtype)) for dtype in ROUNDED]


@pytest.fixture(autouse=True)
def one_thread():
    # The tensors are small; how many threads share the work is asked elsewhere.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def half_unit(dtype: torch.dtype) -> float:
    """What one rounding to dtype costs a value below 1."""
    return 2.0 ** -(FORMATS[dtype][0] + 1)


def rows_are_equal(convention, dim, dtype, start, length):
    """Law 1: table(n)[p] == encode(p), bit for bit, whatever the start, batch, stride, split or path."""
    forget()
    where = torch.tensor(range(start, start + length), dtype=torch.int64)
    lone = [encode(where[i], dim, convention, dtype=dtype) for i in range(0, length, 97)]
    whole = table(length, dim, convention, start=start, dtype=dtype)
    cut = length // 3
    pieces = [table(n, dim, convention, start=s, dtype=dtype) for n, s in ((cut, start), (length - cut, start + cut))]
    mixed = torch.randperm(length)

    assert torch.equal(torch.stack(lone), whole[::97])
    assert torch.equal(torch.cat(pieces), whole)
    assert torch.equal(encode(where, dim, convention, dtype=dtype), whole)
    assert torch.equal(
        encode(where.view(-1, 2).t(), dim, convention, dtype=dtype), whole.view(-1, 2, dim).transpose(0, 1)
    )
    assert torch.equal(encode(where[mixed], dim, convention, dtype=dtype), whole[mixed])
    assert torch.equal(encode(where[::3], dim, convention, dtype=dtype), whole[::3])


def values_are_right(convention, dim, dtype, where):
    """Law 2: float32, bfloat16 and float16 are correctly rounded, float64 is within 1e-15."""
    rows = encode(where, dim, convention, dtype=dtype)
    if dtype == torch.float64:
        assert largest_error(rows, where, convention) <= FLOAT64_ERROR
    else:
        assert misrounded(rows, where, convention) == []


def phases_add(convention, dim, p, k):
    """Law 3: phase(p + k) == phase(p) + phase(k), exactly."""
    steps = step_limbs(convention.ladder(dim)).clone()
    steps[8] = 0
    at = [phase_of(torch.tensor([place]), steps) for place in (p, k, p + k)]

    assert all(torch.equal(a, b) for a, b in zip(add(at[0], at[1]), at[2], strict=True))


def shift_is_a_rotation(convention, dim, dtype, p, k):
    """Law 4: shift(encode(p), k) == encode(p + k); M_k does the same, is orthogonal, and M_j M_k == M_(j+k)."""
    row, there = encode([p, p + k], dim, convention, dtype=dtype)
    # The row's two values were rounded, the result and the other side are.
    allowed = (math.sqrt(2) + 2) * half_unit(dtype) + 2 * math.sqrt(2) * FLOAT64_ERROR
    assert (shift(row, k, convention).double() - there.double()).abs().max() <= allowed

    matrix, one = shift_matrix(k, dim, convention), torch.eye(dim, dtype=torch.float64)
    assert (matrix @ row.double() - there.double()).abs().max() <= allowed
    assert (matrix @ matrix.T - one).abs().max() <= ORTHOGONAL
    assert abs(torch.linalg.det(matrix).item() - 1) <= dim * ORTHOGONAL + dim**2 * UNIT
    j = -k // 3
    assert (shift_matrix(j, dim, convention) @ matrix - shift_matrix(j + k, dim, convention)).abs().max() <= COMPOSED


def distance_alone_decides(convention, dim, p, k):
    """Law 5: |PE|^2 == dim / 2, and PE(p) . PE(p + k) is the sum of cosines, whatever p."""
    row, there = encode([p, p + k], dim, convention, dtype=torch.float64)
    pairs = dim // 2
    turns = 2 * math.pi * k / wavelengths(dim, convention) if abs(k) < 2**20 else None

    assert abs((row @ row).item() - pairs) <= pairs * NORM_PER_PAIR + pairs**2 * UNIT
    assert (
        abs((row @ there).item() - similarity(k, dim, convention).item()) <= pairs * PRODUCT_PER_PAIR + pairs**2 * UNIT
    )
    assert torch.equal(similarity(k, dim, convention), similarity(-k, dim, convention))
    if turns is not None:
        # The plain formula: its phases are off by a few units of themselves.
        drift = 4 * UNIT * turns.abs().sum().item() + pairs * (ENTRY + 2 * UNIT)
        assert abs(turns.cos().sum().item() - similarity(k, dim, convention).item()) <= drift


def positions_are_read_back(convention, dim, dtype, where):
    """Law 6: locate(encode(p)) == p up to the slowest wavelength."""
    limit = math.floor(wavelengths(dim, convention).max().item())
    where = [0, limit - 1, *(place % limit for place in where)]

    assert locate(encode(where, dim, convention, dtype=dtype), convention).tolist() == where


def layouts_are_permutations(convention, dim, p):
    """Law 7: another layout or order holds the same values in other columns."""
    options = {"base": convention.base, "odd": convention.odd, "endpoint_shift": convention.endpoint_shift}
    paper = Convention(**options)
    found = dict(zip(places(dim, paper), encode(p, dim, paper).tolist(), strict=True))
    for layout in ("interleaved", "halves"):
        for order in ("sine-first", "cosine-first"):
            other = Convention(**options, layout=layout, order=order)
            row = dict(zip(places(dim, other), encode(p, dim, other).tolist(), strict=True))
            # An odd width cuts the second member of the last pair, which another order may keep.
            both = row.keys() & found.keys()
            assert {place: row[place] for place in both} == {place: found[place] for place in both}
            assert len(both) >= dim - 1


def law_1():
    # Every convention, dtype and start, in turn.
    for i, start in enumerate([*STARTS, 600]):
        convention, dim = PLAIN[i % len(PLAIN)]
        rows_are_equal(convention, dim, DTYPES[i % 4 - i // 4], start, 600)
    for dtype, ties in TIES:
        for convention in ties[:6]:
            rows_are_equal(convention, 2, dtype, -6, 300)


def law_2():
    for convention, dim in PLAIN:
        for dtype in DTYPES:
            values_are_right(convention, min(dim, 16), dtype, EDGES)
    for dtype, ties in TIES:
        for convention in ties:
            values_are_right(convention, 2, dtype, [-1, 1])


def law_3():
    for convention, dim in PLAIN:
        for p, k in ((1, 1), (-1, 1), (2**62, 2**62 - 1), (INT64_MIN, INT64_MAX), (-(2**62), -(2**62)), (65535, 1)):
            phases_add(convention, dim, p, k)


def law_4():
    for convention, dim in PLAIN:
        for dtype in DTYPES:
            for p, k in ((0, 1), (5, -3), (1000, 2**30), (-(2**62), 2**62 + 12345)):
                shift_is_a_rotation(convention, dim + dim % 2, dtype, p, k)


def law_5():
    for convention, dim in PLAIN:
        for p, k in ((0, 0), (7, 1), (-12345, 999), (2**40, -(2**19)), (2**62, -(2**62))):
            distance_alone_decides(convention, dim + dim % 2, p, k)


# float16 and bfloat16 need neighbouring wavelengths that differ by at most 16 times.
DENSE = [*((conventions[name], dim) for name in conventions for dim in (8, 64)), (Convention(base=256), 4)]
SPARSE = [(Convention(), 4), (Convention(base=1e12), 8), (Convention(position_scale=-1, position_offset=7.5), 6)]


def law_6():
    where = [1, 2, 37, 511, 5000, 123456789]
    for convention, dim in DENSE:
        for dtype in DTYPES:
            positions_are_read_back(convention, dim, dtype, where)
    for convention, dim in SPARSE:
        for dtype in (torch.float32, torch.float64):
            positions_are_read_back(convention, dim, dtype, where)


def law_7():
    for convention, dim in PLAIN[:5]:
        for p in (0, 1, -5, 10**6):
            layouts_are_permutations(convention, dim, p)


LAWS = {law.__name__: law for law in (law_1, law_2, law_3, law_4, law_5, law_6, law_7)}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_law(law):
    law()


@few
@given(
    convention=any_convention(),
    dim=dims(4),
    dtype=st.sampled_from(DTYPES),
    start=positions(),
    length=st.sampled_from([2, 98, 256, 700]),
)
def test_law_1_anywhere(convention, dim, dtype, start, length):
    rows_are_equal(convention, dim, dtype, max(INT64_MIN, min(start, INT64_MAX - length)), length)


@modest
@given(convention=any_convention(), dim=dims(4), dtype=st.sampled_from(DTYPES), where=st.lists(positions(), max_size=3))
def test_law_2_anywhere(convention, dim, dtype, where):
    values_are_right(convention, dim, dtype, where)


@modest
@given(convention=any_convention(), dim=dims(4), p=positions(), total=positions())
def test_law_3_anywhere(convention, dim, p, total):
    if INT64_MIN <= total - p <= INT64_MAX:
        phases_add(convention, dim, p, total - p)


@modest
@given(
    convention=any_convention(odd="truncate"),
    pairs=st.integers(2, 40),
    dtype=st.sampled_from(DTYPES),
    p=st.integers(-(2**62), 2**62),
    k=st.integers(-(2**61), 2**61),
)
def test_laws_4_and_5_anywhere(convention, pairs, dtype, p, k):
    shift_is_a_rotation(convention, 2 * pairs, dtype, p, k)
    distance_alone_decides(convention, 2 * pairs, p, k)


@modest
@given(
    base=st.floats(2, 1e8),
    scale=st.sampled_from([1, -1, 0.9]),
    pairs=st.integers(4, 40),
    offset=st.sampled_from([0, 2, -0.5]),
    where=st.lists(st.integers(0, 2**40), min_size=1, max_size=5),
)
def test_law_6_anywhere(base, scale, pairs, offset, where):
    convention = Convention(base=base, position_scale=scale, position_offset=offset)
    for dtype in (torch.float32, torch.float64):
        positions_are_read_back(convention, 2 * pairs, dtype, where)
