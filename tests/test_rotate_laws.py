"""Laws of rotary embeddings: lengths, distances, inverses, exactness, and pieces that equal the whole."""

import random
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rotations import frequencies, judged, largest_ratio

from posenc import Convention, RotaryEmbedding, rotate
from posenc.encoding import turn

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
LAYOUTS = ["halves", "interleaved"]
# Products and sums of float64 numbers below 10, and sines within 1e-15.
FLOAT64_ERROR = 1e-13
INT64 = [-(2**63), -(2**63) + 1, 2**63 - 2, 2**63 - 1]
FAR = [0, 1, -1, 255, 256, 257, 4095, 65535, 10**6 + 1, 2**31 - 1, 2**31, -(2**31), *INT64]
POSITIONS = st.integers(-(2**62), 2**62 - 1)


# ---- what a rotation is --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lengths_stay(layout):
    x = torch.randn(len(FAR), 64, dtype=torch.float64)
    made = rotate(x, FAR, Convention(layout=layout))

    assert (made.norm(dim=-1) / x.norm(dim=-1) - 1).abs().max() < FLOAT64_ERROR
    assert (made - x).abs().amax(-1)[1:].min() > 0.1


@settings(max_examples=50, deadline=None)
@given(p=POSITIONS, k=POSITIONS, distance=st.integers(-(2**31), 2**31))
def test_scores_depend_on_the_distance_alone(p, k, distance):
    q, key = torch.randn(2, 1, 16, dtype=torch.float64)
    here, there = ((rotate(q, [at]) * rotate(key, [at + distance])).sum() for at in (p, k))

    assert (here - there).abs() < FLOAT64_ERROR


def test_scores_tell_distances_and_directions_apart():
    q, key = torch.randn(2, 1, 16, dtype=torch.float64)
    scores = torch.stack([(rotate(q, [0]) * rotate(key, [at])).sum() for at in range(-8, 9)])

    assert scores.unique().numel() == 17


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_turn_back_is_the_inverse(dtype):
    x = torch.randn(len(FAR) - 4, 32).to(dtype)
    places = torch.tensor(FAR[:-4])
    back = rotate(rotate(x, places), -places)

    # Two turns, each within a unit and a half of what they turn.
    assert (back - x).abs().max() <= 8 * torch.finfo(dtype).eps * x.abs().max()


def test_turns_add_up():
    x = torch.randn(5, 16, dtype=torch.float64)
    one, two = torch.randint(-(2**61), 2**61, (2, 5))

    assert (rotate(rotate(x, one), two) - rotate(x, one + two)).abs().max() < FLOAT64_ERROR


def test_position_zero_leaves_all_as_it_is():
    x = torch.randn(3, 8)

    assert torch.equal(rotate(x, [0, 0, 0]), x)


# ---- how exact it is -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_the_error_is_within_its_bound(layout, dtype):
    x = torch.randn(len(FAR), 16).to(dtype)
    true = judged(x, FAR, frequencies(16), layout)

    ratio = largest_ratio(rotate(x, FAR, Convention(layout=layout)), true)
    assert 0.2 < ratio <= 1


def test_the_bound_is_tight_enough_to_see_a_unit():
    x = torch.randn(len(FAR), 16)
    true = judged(x, FAR, frequencies(16), "halves")
    made = rotate(x, FAR)
    made[0, 0] = made[0, 0].nextafter(torch.tensor(torch.inf)).nextafter(torch.tensor(torch.inf))

    assert largest_ratio(made, true) > 1


@pytest.mark.parametrize("gain", [1.0, 1.138629436111989])
def test_a_gain_costs_no_rounding(gain):
    rotary = RotaryEmbedding(16)
    rotary.attention_factor = gain
    x = torch.randn(1, 300, 16)
    true = judged(x[0], range(10**6, 10**6 + 300), frequencies(16), "halves", gain)

    assert largest_ratio(rotary(x, x, offset=10**6)[0][0], true) <= 1


def test_values_far_from_one():
    x = torch.tensor([[3e38, 1e-45, 1e30, 2e-40], [1e-38, 1e-45, -1e-39, 1e-44]]).repeat(1, 2)
    true = judged(x, [3, 10**5], frequencies(8), "halves")

    assert largest_ratio(rotate(x, [3, 10**5]), true) <= 1


def test_float64_is_turned_in_float64():
    x = torch.randn(len(FAR), 16, dtype=torch.float64)
    true = [[float(value) for value, _, _ in row] for row in judged(x, FAR, frequencies(16), "halves")]

    assert (rotate(x, FAR) - torch.tensor(true, dtype=torch.float64)).abs().max() < 1e-14


def test_fractions_of_positions():
    x = torch.randn(40, 16)
    places = [random.uniform(-1000, 1000) for _ in range(40)]

    assert largest_ratio(rotate(x, places), judged(x, places, frequencies(16), "halves")) <= 1


# ---- pieces equal the whole ----------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """The same ones on machines of one core and of many."""
    monkeypatch.setattr(turn, "_PIECE", 2**17 // torch.get_num_threads())


def whole(dtype, layout="halves", heads=3, length=700):
    """A rotary embedding, something to turn that is no single piece, and what comes out."""
    rotary = RotaryEmbedding(128, layout=layout)
    x = torch.randn(2, heads, length, 128).to(dtype)
    assert x.numel() > 2 * turn._PIECE * torch.get_num_threads() > 2 * turn.FEW
    return rotary, x, rotary(x, x)[1]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
class TestPieces:
    """Bit for bit, whichever way it is cut."""

    def test_rows(self, dtype, layout):
        rotary, x, made = whole(dtype, layout)
        ends = [0, 1, 2, 255, 256, 300, 699, 700]
        parts = [rotary(x[:, :, a:b], x[:, :, a:b], offset=a)[0] for a, b in pairwise(ends)]

        assert torch.equal(torch.cat(parts, 2), made)

    def test_one_token_at_a_time(self, dtype, layout):
        rotary, x, made = whole(dtype, layout)
        for i in (*range(0, 700, 41), 255, 256, 699):
            token = x[:, :, i : i + 1]
            assert torch.equal(rotary(token, token, offset=i)[0], made[:, :, i : i + 1])
            # One head of keys: only their number says where the token is.
            assert torch.equal(rotary(token, x[:, :1, : i + 1])[0], made[:, :, i : i + 1])
            assert torch.equal(rotary(token, token, positions=torch.tensor([i]))[1], made[:, :, i : i + 1])

    def test_heads_and_rows_of_the_batch(self, dtype, layout):
        rotary, x, made = whole(dtype, layout)

        assert torch.equal(torch.cat([rotary(x[:, h : h + 1], x[:, h : h + 1])[0] for h in range(3)], 1), made)
        assert torch.equal(torch.cat([rotary(x[b : b + 1], x[b : b + 1])[0] for b in range(2)]), made)
        assert torch.equal(torch.stack([rotate(x[1, h], range(700), rotary.convention) for h in range(3)]), made[1])

    def test_another_number_of_threads(self, dtype, layout):
        rotary, x, made = whole(dtype, layout)
        before = torch.get_num_threads()
        try:
            torch.set_num_threads(1 if before > 1 else 2)
            assert torch.equal(rotary(x, x)[0], made)
        finally:
            torch.set_num_threads(before)

    def test_positions_in_any_order(self, dtype, layout):
        rotary, x, made = whole(dtype, layout)
        order = torch.randperm(700)

        assert torch.equal(rotary(x[:, :, order], x[:, :, order], positions=order)[0], made[:, :, order])
        each = torch.stack([order, torch.arange(700)])
        turned = rotary(torch.stack([x[0][:, order], x[1]]), x, positions=each)[0]
        assert torch.equal(turned, torch.stack([made[0][:, order], made[1]]))

    def test_however_it_lies_in_memory(self, dtype, layout):
        rotary, x, made = whole(dtype, layout)
        wide = torch.randn(2, 700, 5, 3, 128).to(dtype)
        wide[:, :, 2] = x.transpose(1, 2)
        views = [
            x.transpose(1, 2).contiguous().transpose(1, 2),
            x.transpose(-1, -2).contiguous().transpose(-1, -2),
            wide[:, :, 2].transpose(1, 2),
            x.flip(0).flip(0),
        ]
        for view in views:
            assert torch.equal(rotary(view, view)[0], made)
        assert torch.equal(rotary(x[:1].expand(4, -1, -1, -1), x[:1].expand(4, -1, -1, -1))[1][3], made[0])

    def test_sequence_before_heads(self, dtype, layout):
        rotary, x, made = whole(dtype, layout)
        other = RotaryEmbedding(128, layout=layout, seq_dim=-3)
        y = x.transpose(1, 2).contiguous()

        assert torch.equal(other(y, y)[0].transpose(1, 2), made)
        assert torch.equal(rotate(y, range(700), rotary.convention, seq_dim=1).transpose(1, 2), made)
        order = torch.stack([torch.randperm(700), torch.randperm(700)])
        assert torch.equal(other(y, y, positions=order)[0].transpose(1, 2), rotary(x, x, positions=order)[0])


def test_pieces_cover_everything_once():
    for shape in [(1, 1), (4, 16, 2048, 128), (3, 700_000), (5, 2**18), (2, 3, 5, 7, 11), (2, 2, 90_000, 3)]:
        seen = torch.zeros(shape, dtype=torch.int8)
        for piece in turn._pieces(shape, 2**17):
            seen[piece] += 1
            assert seen[piece].numel() <= max(2**17, shape[-1])
        assert (seen == 1).all()


def test_the_result_lies_in_memory_as_what_came():
    rotary = RotaryEmbedding(64)
    x = torch.randn(2, 700, 3, 64).transpose(1, 2)
    assert rotary(x, x)[0].stride() == x.stride()
    assert rotary(x.contiguous(), x)[0].is_contiguous()
