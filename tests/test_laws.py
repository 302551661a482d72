"""The laws of the encoding: each over fixed cases, which its mutants must fail, then over whatever Hypothesis draws."""

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.judge import ROUNDED, axis_count
from tests.laws import (
    batches_are_equal,
    distance_alone_decides,
    layouts_are_permutations,
    phases_add,
    positions_are_read_back,
    rows_are_equal,
    shift_is_a_rotation,
    values_are_right,
)
from tests.named import distinct
from tests.strategies import (
    DTYPES,
    EDGES,
    INT64_MAX,
    INT64_MIN,
    dims,
    encodings,
    few,
    modest,
    near_ties,
    places,
    positions,
)
from tests.strategies import conventions as any_convention

from posenc import Convention, conventions
from posenc.frequency import Stretch

PLAIN = [
    (conventions["transformer"], 10),
    (conventions["transformer"], 7),
    (conventions["tensor2tensor"], 9),
    (conventions["fairseq"], 130),
    (conventions["musicgen"], 12),
    (Convention(base=1e12, first=3.5, position_scale=-1000, position_offset=-0.5, layout="halves"), 14),
]
# More than one axis of pairs of geometric frequencies, each 1 and no more.
TWO, THREE = ("column", "row"), ("z", "x", "y")
GAUSS = Convention(axes=TWO, spacing="explicit", layout="halves", axis_layout="sum", position_scale=12.5)
GENERAL = [
    (conventions["mae-2d"], 16),
    (conventions["detr-2d"], 12),
    (conventions["diffusers-3d"], 16),
    (conventions["gligen-box"], 16),
    (conventions["x-transformers"], 10),
    (Convention(spacing="linear", last=9.5, gain=-0.3, endpoint_shift=1), 8),
    (Convention(axes=THREE, axis_layout="middle", position_scale=(1, -2, 0.5), position_offset=(0, 0.5, 2)), 12),
    (Convention(spacing="explicit", frequencies=(0.7, -0.2, 1e-3), position_offset=2, order="cosine-first"), 6),
    (Convention(stretch=Stretch(kind="ntk", factor=4), position_scale=0.5), 8),
    (Convention(axes=TWO, stretch=Stretch(kind="linear", factor=3), layout="halves", axis_layout="middle"), 8),
    (Convention(base=500, stretch=Stretch(kind="llama3", factor=8, trained=512), position_offset=1), 12),
    (GAUSS.with_frequencies([[0.31, -1.2, 0.05], [0.77, 0.4, -2.0]]), 6),
]
# What is more than turned pairs.
CHANGED = [
    (conventions["kimi-k25-time"], 8),
    (conventions["lex-glue-hierbert"], 7),
    (conventions["speechbrain-relposencxl"], 8),
    (conventions["hf-perceiver"], 10),
    (Convention(axes=TWO, include_input="suffix-per-axis", layout="halves", odd="pad", gain=2), 11),
    (Convention(axes=THREE, axis_layout="inner", position_sign="dropped", position_offset=(1, 0, 2)), 17),
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


def at(convention, *steps):
    """One position as a convention takes it: a number, or these for its axes in turn, as often as it takes."""
    return [steps[i % len(steps)] for i in range(axis_count(convention))] if convention.axes else steps[0]


def law_1():
    # Every convention, dtype and start, in turn.
    for i, start in enumerate([*STARTS, 600]):
        convention, dim = PLAIN[i % len(PLAIN)]
        rows_are_equal(convention, dim, DTYPES[i % 4 - i // 4], start, 600)
    for dtype, ties in TIES:
        for convention in ties[:6]:
            rows_are_equal(convention, 2, dtype, -6, 300)


def every_law_1():
    for i, (convention, dim) in enumerate([*GENERAL, *CHANGED]):
        dtype = DTYPES[i % 4]
        if convention.axes:
            cells = torch.arange(40).unsqueeze(-1) * torch.tensor(at(convention, 1, 7, -300)) - 20
            batches_are_equal(convention, dim, dtype, cells)
        else:
            rows_are_equal(convention, dim, dtype, -20, 40)
    # Beyond one tile.
    rows_are_equal(conventions["x-transformers"], 4, torch.float32, -100, 2100)


def law_2():
    for convention, dim in PLAIN:
        for dtype in DTYPES:
            values_are_right(convention, min(dim, 16), dtype, EDGES)
    for dtype, ties in TIES:
        for convention in ties:
            values_are_right(convention, 2, dtype, [-1, 1])


def every_law_2():
    for i, (convention, dim) in enumerate([*GENERAL, *CHANGED]):
        where = [at(convention, *steps) for steps in ((0, 0), (3, -2, 7), (-2, 5), (1000, 31), (2**40, -(2**62)))]
        for dtype in (torch.float64, DTYPES[1 + i % 3]):
            values_are_right(convention, dim, dtype, where)


def law_3():
    for convention, dim in PLAIN:
        for p, k in ((1, 1), (-1, 1), (2**62, 2**62 - 1), (INT64_MIN, INT64_MAX), (-(2**62), -(2**62)), (65535, 1)):
            phases_add(convention, dim, p, k)


def law_4():
    for convention, dim in PLAIN:
        for dtype in DTYPES:
            for p, k in ((0, 1), (5, -3), (1000, 2**30), (-(2**62), 2**62 + 12345)):
                shift_is_a_rotation(convention, dim + dim % 2, dtype, p, k)


def every_law_4():
    for convention, dim in GENERAL:
        for dtype in DTYPES:
            shift_is_a_rotation(convention, dim, dtype, at(convention, 5, -9, 2**40), at(convention, 3, 0, -1000))


def law_5():
    for convention, dim in PLAIN:
        for p, k in ((0, 0), (7, 1), (-12345, 999), (2**40, -(2**19)), (2**62, -(2**62))):
            distance_alone_decides(convention, dim + dim % 2, p, k)


def every_law_5():
    for convention, dim in GENERAL:
        for p, k in (((0, 0), (0, 0)), ((7, -2), (1, 40)), ((2**40, 3, -9), (-(2**19), 5, 2**50))):
            distance_alone_decides(convention, dim, at(convention, *p), at(convention, *k))


# float16 and bfloat16 need neighbouring wavelengths that differ by at most 16 times.
DENSE = [*((conventions[name], dim) for name in distinct(8) for dim in (8, 64)), (Convention(base=256), 4)]
SPARSE = [(Convention(), 4), (Convention(base=1e12), 8), (Convention(position_scale=-1, position_offset=7.5), 6)]
WIDE = [(conventions["x-transformers"], 12), (conventions["mae-2d"], 16), (conventions["diffusers-3d"], 32)]
WIDE += [(Convention(axes=THREE, gain=-0.3, axis_layout="inner", position_scale=(1, -1, 0.5)), 18)]


def law_6():
    where = [1, 2, 37, 511, 5000, 123456789]
    for convention, dim in DENSE:
        for dtype in DTYPES:
            positions_are_read_back(convention, dim, dtype, where)
    for convention, dim in SPARSE:
        for dtype in (torch.float32, torch.float64):
            positions_are_read_back(convention, dim, dtype, where)


def every_law_6():
    for convention, dim in WIDE:
        for dtype in (torch.float32, torch.float64):
            positions_are_read_back(convention, dim, dtype, [1, 2, 37, 511, 5000])


def law_7():
    for convention, dim in PLAIN[:5]:
        for p in (0, 1, -5, 10**6):
            layouts_are_permutations(convention, dim, p)


def every_law_7():
    for axes in (TWO, THREE, ("x1", "y1", "x2", "y2")):
        convention = Convention(axes=axes)
        for dim in (2 * len(axes), 6 * len(axes), 6 * len(axes) - 1):
            layouts_are_permutations(convention, dim, at(convention, 3, -7, 100, 41))


LAWS = {law.__name__: law for law in (law_1, law_2, law_3, law_4, law_5, law_6, law_7)}
# The same of gains, several axes, sums of angles, linear and explicit ladders, inputs, zero rows, and slips.
LAWS |= {law.__name__: law for law in (every_law_1, every_law_2, every_law_4, every_law_5, every_law_6, every_law_7)}


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


@few
@given(case=encodings(), dtype=st.sampled_from(DTYPES), data=st.data())
def test_law_1_of_every_option(case, dtype, data):
    convention, dim = case
    if not convention.axes:
        rows_are_equal(convention, dim, dtype, data.draw(st.integers(-(2**62), 2**62)), 20)
    where = data.draw(st.lists(places(convention, positions()), min_size=6, max_size=6))
    batches_are_equal(convention, dim, dtype, torch.tensor(where))


@modest
@given(convention=any_convention(), dim=dims(4), dtype=st.sampled_from(DTYPES), where=st.lists(positions(), max_size=3))
def test_law_2_anywhere(convention, dim, dtype, where):
    values_are_right(convention, dim, dtype, where)


@modest
@given(case=encodings(), dtype=st.sampled_from(DTYPES), data=st.data())
def test_law_2_of_every_option(case, dtype, data):
    convention, dim = case
    near = st.one_of(st.integers(-5, 5), positions())
    values_are_right(convention, dim, dtype, data.draw(st.lists(places(convention, near), min_size=1, max_size=2)))


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
@given(case=encodings(turned=True), dtype=st.sampled_from(DTYPES), data=st.data())
def test_laws_4_and_5_of_every_option(case, dtype, data):
    convention, dim = case
    p, k = (data.draw(places(convention, st.integers(-(2**61), 2**61))) for _ in range(2))
    shift_is_a_rotation(convention, dim, dtype, p, k)
    distance_alone_decides(convention, dim, p, k)


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


@modest
@given(case=encodings(turned=True), where=st.lists(st.integers(0, 2**40), min_size=1, max_size=5))
def test_law_6_of_every_option(case, where):
    convention, dim = case
    steps = [step for block in convention.plan(dim).blocks for step in block.ladder.steps]
    assume(convention.axis_layout != "sum" and 0 not in steps)
    for dtype in (torch.float32, torch.float64):
        positions_are_read_back(convention, dim, dtype, where)
