"""Positions that were rounded before they came, lists that mix kinds, endless ladders, memory: what a user sees."""

import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from tests.judge import MP, misrounded

from posenc import (
    AlibiBias,
    Convention,
    EncoderBlock,
    PositionalEncoding,
    RelativePositionBias,
    RotaryEmbedding,
    SequenceEmbedding,
    TimestepEmbedding,
    encode,
    rotate,
    shift,
    shift_matrix,
    similarity,
    table,
    wavelengths,
)
from posenc.errors import ConventionError, DtypeError, InputError

MERGED = {torch.bfloat16: 256, torch.float16: 2048}
Q = torch.ones(1, 2, 5, 8)
X, IDS = torch.zeros(1, 5, 8), torch.zeros(1, 5, dtype=torch.int64)
# Five positions, to everything that takes floats.
DOORS = {
    "encode": lambda p: encode(p, 8),
    "similarity": lambda p: similarity(p, 8),
    "shift": lambda p: shift(torch.ones(5, 8), p),
    "shift_matrix": lambda p: shift_matrix(p[-1], 8),
    "rotate": lambda p: rotate(Q[0], p),
    "RotaryEmbedding": lambda p: RotaryEmbedding(8)(Q, Q, positions=p),
    "PositionalEncoding": lambda p: PositionalEncoding(8, 0.0)(X, positions=p),
    "SequenceEmbedding": lambda p: SequenceEmbedding(3, 8)(IDS, positions=p),
    "EncoderBlock": lambda p: EncoderBlock(8, 2, 16, rotary=RotaryEmbedding(4))(X, positions=p),
    "AlibiBias, keys": lambda p: AlibiBias(2)(5, 5, key_positions=p),
    "AlibiBias, queries": lambda p: AlibiBias(2)(5, 5, query_positions=p),
    "RelativePositionBias": lambda p: RelativePositionBias(2)(5, 5, key_positions=p),
}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", MERGED, ids=str)
@pytest.mark.parametrize("door", DOORS)
def test_the_first_number_that_may_be_its_neighbour_is_refused(door, dtype, sign):
    top = MERGED[dtype]
    # 257 becomes 256 in bfloat16, 2049 becomes 2048 in float16.
    assert torch.tensor(top + 1).to(dtype).item() == top
    with pytest.raises(
        InputError, match=f"up to {top}, but wanted magnitudes below {top}, since {top} may be {top + 1}"
    ):
        DOORS[door](sign * torch.tensor([0, 1, 2, 3, top + 1]).to(dtype))


@pytest.mark.parametrize("dtype", MERGED, ids=str)
def test_up_to_there_halves_are_exact(dtype):
    top = MERGED[dtype]

    assert torch.equal(encode(torch.arange(top).to(dtype), 8), table(top, 8))


@pytest.mark.parametrize("dtype", MERGED, ids=str)
def test_times_are_taken_as_given_and_warned_of_once(dtype):
    top, layer = MERGED[dtype], TimestepEmbedding(8)
    layer(torch.tensor([3, top - 1]).to(dtype))
    with pytest.warns(UserWarning, match=f"up to {top} came: from {top} on neighbouring times are one number"):
        rows = layer(torch.tensor([3, top + 1]).to(dtype))
    layer(torch.tensor([3, top]).to(dtype))

    assert torch.equal(rows, TimestepEmbedding(8)(torch.tensor([3, top])))


LONG = 2**53 + 1
LISTS = {
    "a list": [LONG, 0.5],
    "a tuple": (0.5, LONG),
    "a negative one": [-LONG, 0.5],
    "nested": [[1, 2.0], [0.5, LONG]],
    "NumPy's int": [np.int64(LONG), 0.5],
    "NumPy's float": [LONG, np.float32(0.5)],
    "a tensor of none": [torch.tensor(LONG), 0.5],
    "arrays": [np.array([LONG, 1]), np.array([0.5, 1])],
}


@pytest.mark.parametrize("call", [lambda p: encode(p, 8), lambda p: similarity(p, 8), TimestepEmbedding(8)])
@pytest.mark.parametrize("given", LISTS.values(), ids=LISTS)
def test_an_integer_that_a_float_beside_it_would_change_is_named(given, call):
    with pytest.raises(InputError, match=rf"with -?{LONG} beside floats.*in two calls"):
        call(given)


def test_integers_that_float64_holds_may_stand_beside_floats():
    where = [2**53, 0.5, -(2**60), 7]

    assert misrounded(encode(where, 8), where, Convention()) == []
    assert torch.equal(encode([LONG, 2**62 + 1], 8), encode(torch.tensor([LONG, 2**62 + 1]), 8))


@pytest.mark.parametrize("given", [[True, 2], [[1.5, False]], (True,)], ids=repr)
def test_a_truth_value_in_a_list_is_no_position(given):
    with pytest.raises(DtypeError, match=r"with (True|False) in a list"):
        encode(given, 8)


@pytest.mark.parametrize("given", [[2**63], (1, -(2**63) - 1), [2**64, 0.5], [[10**400]]], ids=lambda _: "")
def test_an_integer_beyond_int64_in_a_list_is_refused_as_one_by_itself(given):
    with pytest.raises(InputError, match="numbers within int64; subtract a common offset first"):
        encode(given, 8)


FAR, WHOLE = torch.full((5,), -(2.0**53), dtype=torch.float64), torch.full((5,), 2**53 + 1)
MIXED = {
    "an int offset": lambda: PositionalEncoding(8, 0.0)(X, positions=FAR, offset=2**53 + 1),
    "an offset a row": lambda: PositionalEncoding(8, 0.0)(X, positions=FAR, offset=torch.tensor([2**53 + 1])),
    "rotary": lambda: RotaryEmbedding(8)(Q, Q, positions=FAR, offset=2**53 + 1),
    "rotary, an offset a row": lambda: RotaryEmbedding(8)(Q, Q, positions=FAR, offset=torch.tensor([2**53 + 1])),
    "keys": lambda: AlibiBias(2)(5, 5, query_positions=-FAR, key_positions=WHOLE),
    "queries": lambda: AlibiBias(2)(5, 5, query_positions=WHOLE, key_positions=-FAR),
}


@pytest.mark.parametrize("call", MIXED.values(), ids=MIXED)
def test_a_long_integer_beside_float_positions_is_refused(call):
    # 2^53 + 1 would become 2^53: a distance of 1 would be one of 0.
    with pytest.raises(InputError, match="float64 does not hold"):
        call()


# No float64 holds the fastest frequency of the first; all of the others are there at once.
ENDLESS = [
    {"base": 1e-300, "spacing": "powers"},
    {"base": 1e-300, "position_scale": 1e100},
    {"base": 0.5, "endpoint_shift": 64 - 1e-9},
    {"first": 1e300, "position_scale": 2.0**1000},
]
LADDERS = [
    {"base": 1e-300},
    {"base": 1e300},
    {"base": 1e300, "spacing": "powers"},
    {"base": 0.5, "spacing": "powers"},
    {"first": 1e-300},
    {"first": 1e300},
    {"first": 1e-300, "last": 1e300},
    {"first": 1e300, "last": 1e-300},
    {"first": 1e-300, "last": 1e300, "spacing": "linear"},
    {"spacing": "explicit", "frequencies": (1e300,) * 32 + (1e-300,) * 32},
    {"position_scale": 2.0**1000},
    {"position_scale": 2.0**-1000},
    {"endpoint_shift": 64 - 1e-9},
]


@pytest.mark.parametrize("said", ENDLESS, ids=str)
def test_a_ladder_without_end_is_refused_at_once(said):
    begun = time.process_time()
    with pytest.raises(ConventionError, match=r"frequencies below 2\^1024.*pass a larger base"):
        encode(0.1, 128, Convention(**said))

    # It took minutes.
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("said", LADDERS, ids=str)
def test_extreme_ladders_are_right_and_take_no_minutes(said):
    begun, convention = time.process_time(), Convention(**said)
    # Bits for a frequency of 2^1000 at 2^63, and 200 behind the point.
    with MP.workprec(1300):
        for where in ([0.1, -3.75], [3, -(2**63)]):
            assert misrounded(encode(where, 128, convention), where, convention) == []
    assert (wavelengths(128, convention) > 0).all()
    similarity([1, 0.5], 128, convention)

    assert time.process_time() - begun < 60


OVERFLOWS = [{"position_scale": 2.0**1000}, {"base": 1e-300}, {"first": 1e300}, {"gain": 1e300}]


@pytest.mark.parametrize("said", OVERFLOWS, ids=str)
def test_arithmetic_of_a_system_that_overflows_is_refused(said):
    convention = Convention(arithmetic="exp", **said)
    for make in (lambda: encode([1, 2], 8, convention, dtype=torch.float64), lambda: table(3, 8, convention)):
        with pytest.raises(ConventionError, match=r"arithmetic overflows|values that the dtype holds"):
            make()


MEASURE = """
import resource, torch, posenc
torch.set_num_threads(1)
{prepare}
posenc.similarity(torch.arange(3), 512), posenc.locate(posenc.encode(torch.arange(300), 512))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
{call}
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
PEAKS = {
    "similarity of 100 000 offsets": ("", "posenc.similarity(torch.arange(100_000), 512)"),
    "locate of 20 000 rows": ("rows = posenc.table(20_000, 512)", "posenc.locate(rows)"),
}


@pytest.mark.parametrize(("prepare", "call"), PEAKS.values(), ids=PEAKS)
def test_memory_grows_with_the_result_and_not_with_all_pairs(prepare, call):
    code = MEASURE.format(prepare=prepare, call=call)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    # Some 60 tensors of a tile, 3 guesses a row, 2^17 float64 values each; positions and results take 2 MB.
    assert int(ended.stdout) * 1024 < 60 * 3 * 2**20


def test_queries_that_go_beyond_int64_are_refused():
    with pytest.raises(ValueError, match="distance int64 does not hold"):
        AlibiBias(2)(2, 2, offset=2**63 - 1)
