"""The rotary module: what it takes, what it leaves alone, and how it lives in a model."""

import copy
import pickle
from itertools import pairwise

import pytest
import torch
from tests.caches import forget
from tests.rotations import by_hand
from torch import nn

from posenc import RotaryEmbedding, positions_from_mask, rotate

# Cosine, sine, two products and a sum of float32 numbers below 5.
FLOAT32_ERROR = 2.0**-20
FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def heads(*shape, dtype=torch.float32):
    """A query and a key."""
    return torch.randn(*shape).to(dtype), torch.randn(*shape).to(dtype)


# ---- what it takes -------------------------------------------------------------------------------------------------


def test_queries_and_keys_turn_by_their_positions():
    rotary = RotaryEmbedding(8)
    q, k = heads(2, 3, 5, 8)
    turned_q, turned_k = rotary(q, k)

    for made, x in ((turned_q, q), (turned_k, k)):
        assert (made - by_hand(x, torch.arange(5))).abs().max() < FLOAT32_ERROR
        assert torch.equal(made, rotate(x, range(5)))


@pytest.mark.parametrize("shape", [(5, 8), (2, 5, 8), (2, 3, 5, 8), (2, 1, 3, 5, 8)])
def test_any_number_of_leading_axes(shape):
    q, k = heads(*shape)

    assert (RotaryEmbedding(8)(q, k)[0] - by_hand(q, torch.arange(5))).abs().max() < FLOAT32_ERROR


def test_fewer_heads_of_keys():
    rotary, (q, _), (_, k) = RotaryEmbedding(8), heads(2, 6, 5, 8), heads(2, 2, 5, 8)
    made = rotary(q, k)

    assert torch.equal(made[0], rotary(q, q)[0])
    assert torch.equal(made[1], rotary(k, k)[0])


@pytest.mark.parametrize("length", [5, 300, 2000])
def test_fewer_queries_than_keys_take_the_last_positions(length):
    rotary, (_, k) = RotaryEmbedding(8), heads(1, 2, length, 8)
    q = torch.randn(1, 2, 2, 8)
    for options in ({}, {"offset": 7}, {"positions": torch.arange(length) * 3}, {"offset": torch.tensor([9])}):
        places = options.get("positions", torch.arange(length)) + options.get("offset", 0)
        made = rotary(q, k, **options)
        assert torch.equal(made[0], rotate(q, places[-2:]))
        assert torch.equal(made[1], rotate(k, places))


@pytest.mark.parametrize("length", [3, 900])
@pytest.mark.parametrize("kind", [torch.int64, torch.int32, torch.uint8, torch.float64, torch.float32])
def test_positions_of_every_row(length, kind):
    rotary, (q, k) = RotaryEmbedding(8), heads(2, 3, length, 8)
    positions = torch.randint(0, 200, (2, length)).to(kind)
    made = rotary(q, k, positions=positions)[0]

    assert (made - by_hand(q, positions.unsqueeze(1))).abs().max() < FLOAT32_ERROR
    assert torch.equal(made[1], rotary(q[1:], k[1:], positions=positions[1])[0][0])
    assert torch.equal(rotary(q, k, positions=positions[:1])[0], rotary(q, k, positions=positions[0])[0])
    assert torch.equal(rotary(q, k, positions=positions.tolist())[0], made)


def test_offsets():
    rotary, (q, k) = RotaryEmbedding(8), heads(2, 3, 4, 8)
    each = torch.tensor([5, -7])
    places = torch.arange(4) + each.unsqueeze(-1)

    assert (rotary(q, k, offset=each)[0] - by_hand(q, places.unsqueeze(1))).abs().max() < FLOAT32_ERROR
    assert torch.equal(rotary(q, k, offset=torch.tensor(5))[0], rotary(q, k, offset=5)[0])
    assert torch.equal(rotary(q, k, offset=each)[0][0], rotary(q, k, offset=5)[0][0])
    positions = torch.tensor([3, 1, 4, 1])
    assert torch.equal(
        rotary(q, k, positions=positions, offset=each)[0], rotary(q, k, positions=positions + each.unsqueeze(-1))[0]
    )
    assert torch.equal(rotary(q, k, offset=-3)[0], rotary(q, k, positions=torch.arange(-3, 1))[0])


def test_positions_at_the_ends_of_int64():
    rotary, (q, k) = RotaryEmbedding(8), heads(1, 1, 3, 8)
    for offset in (-(2**63), 2**63 - 3):
        made = rotary(q, k, offset=offset)[0]
        assert torch.equal(made, rotate(q, [offset, offset + 1, offset + 2]))
    more = torch.randn(2, 4, 5000, 8)
    assert torch.equal(rotary(more, more, offset=2**63 - 5000)[0][:, :, -1:], rotate(more[:, :, -1:], [2**63 - 1]))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_dtype_stays(dtype):
    rotary, (q, k) = RotaryEmbedding(8), heads(1, 2, 5, 8, dtype=dtype)
    made = rotary(q, k)

    assert made[0].dtype == made[1].dtype == dtype
    # As if turned in a wider dtype and rounded once, but for what that dtype itself rounds.
    assert (made[0].double() - by_hand(q, torch.arange(5))).abs().max() <= 4 * torch.finfo(dtype).eps


def test_dtypes_of_queries_and_keys_may_differ():
    rotary = RotaryEmbedding(16)
    for one in FLOATS:
        for other in FLOATS:
            q, k = torch.randn(1, 2, 400, 16).to(one), torch.randn(1, 2, 400, 16).to(other)
            made = rotary(q, k)
            assert torch.equal(made[0], rotary(q, q)[0])
            assert torch.equal(made[1], rotary(k, k)[1])


def test_nothing_to_turn():
    rotary = RotaryEmbedding(8)
    for shape in ((0, 2, 5, 8), (2, 0, 5, 8), (2, 2, 0, 8)):
        assert rotary(*heads(*shape))[0].shape == shape
    assert rotary(torch.ones(2, 2, 0, 8), torch.ones(2, 2, 5, 8))[0].shape == (2, 2, 0, 8)


def test_what_came_is_left_alone():
    rotary = RotaryEmbedding(8)
    for length in (3, 5000):
        q, k = heads(2, 4, length, 8)
        before = q.clone(), k.clone()
        made = rotary(q, k)
        made[0].zero_()
        made[1].mul_(2)
        assert torch.equal(q, before[0])
        assert torch.equal(k, before[1])
        # Nor is anything kept changed.
        assert torch.equal(rotary(q, k)[0], rotate(q, range(length)))


def test_results_do_not_depend_on_what_was_asked_before():
    rotary, (q, k) = RotaryEmbedding(8), heads(1, 2, 9, 8)
    forget()
    first = rotary(q, k, offset=250)
    for offset, length in ((0, 3), (256, 200), (1000, 16), (3, 5000)):
        rotary(*heads(1, 2, length, 8), offset=offset)

    assert torch.equal(rotary(q, k, offset=250)[0], first[0])


# ---- several axes --------------------------------------------------------------------------------------------------


def multimodal(x, cosine, sine, sections):
    """Qwen2-VL's rule: cosines (axes, B, S, dim), the sections of each axis taken in turn, in both halves."""
    parts = [sum(sections[:i]) for i in range(len(sections) + 1)]
    chosen = [
        torch.cat([wave[i, ..., half + a : half + b] for half in (0, x.shape[-1] // 2)
                   for i, (a, b) in enumerate(pairwise(parts))], -1)
        for wave in (cosine, sine)
    ]  # fmt: skip
    cosine, sine = (wave.unsqueeze(1) for wave in chosen)
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat((-second, first), -1) * sine


@pytest.mark.parametrize("length", [4, 900])
def test_sections_of_one_ladder(length):
    sections, base = (2, 3, 3), 1e6
    rotary = RotaryEmbedding(16, base=base, sections=sections)
    q, k = heads(2, 3, length, 16)
    positions = torch.randint(0, 50, (3, 2, length))
    angles = positions.double().unsqueeze(-1) * base ** (-torch.arange(0, 16, 2, dtype=torch.float64) / 16)
    angles = torch.cat((angles, angles), -1)
    expected = multimodal(q.double(), angles.cos(), angles.sin(), sections)
    made = rotary(q, k, positions=positions.movedim(0, -1))

    assert (made[0] - expected).abs().max() < FLOAT32_ERROR
    by_config = RotaryEmbedding(16, scaling={"type": "mrope", "mrope_section": [2, 3, 3], "rope_theta": base})
    assert torch.equal(by_config(q, k, positions=positions.movedim(0, -1))[0], made[0])


@pytest.mark.parametrize("length", [4, 900])
def test_text_has_one_position_on_all_axes(length):
    q, k = heads(2, 3, length, 16)
    rotary = RotaryEmbedding(16, sections=(2, 3, 3))
    made = rotary(q, k, offset=5)

    assert torch.equal(made[0], RotaryEmbedding(16)(q, k, offset=5)[0])
    everywhere = torch.arange(5, 5 + length).unsqueeze(-1).expand(length, 3)
    assert torch.equal(rotary(q, k, positions=everywhere)[0], made[0])
    assert torch.equal(rotary(q, k, positions=everywhere - 5, offset=5)[0], made[0])
    assert torch.equal(rotary(q, k, positions=everywhere - 5, offset=torch.tensor([5, 5]))[0], made[0])
    assert torch.equal(rotary(q, k, offset=torch.tensor([5, 6]))[0][1], rotary(q, k, offset=6)[0][1])


def test_axes_of_a_convention():
    rotary = RotaryEmbedding(16, "timm-axial-2d", seq_dim=-3)
    q, k = heads(2, 6, 3, 16)
    places = torch.tensor([[row, column] for row in range(2) for column in range(3)])
    made = rotary(q, k, positions=places)[0]

    assert torch.equal(made, rotate(q, places, "timm-axial-2d", seq_dim=-3))
    assert torch.equal(rotary(q, k, positions=places.expand(2, 6, 2))[0], made)


# ---- how it lives in a model ---------------------------------------------------------------------------------------


def test_it_holds_nothing():
    rotary = RotaryEmbedding(8)

    assert not [*rotary.parameters(), *rotary.buffers()]
    assert rotary.state_dict() == {}
    assert rotary.load_state_dict({}) == nn.modules.module._IncompatibleKeys([], [])


def test_casts_and_copies_change_no_value():
    q, k = heads(1, 2, 900, 16)
    rotary = RotaryEmbedding(16, layout="interleaved", scaling={"type": "linear", "factor": 2})
    expected = rotary(q, k)[0]
    for other in (copy.deepcopy(rotary), pickle.loads(pickle.dumps(rotary)), rotary.half(), rotary.bfloat16().eval()):
        assert torch.equal(other(q, k)[0], expected)
    assert torch.equal(rotary.to("meta")(q, k)[0], expected)


def test_the_meta_device():
    rotary = RotaryEmbedding(8)
    q = torch.empty(2, 3, 5, 8, device="meta")
    for options in ({}, {"positions": torch.empty(5, dtype=torch.int64, device="meta")}):
        assert rotary(q, q, **options)[0].shape == q.shape
        assert rotary(q, q, **options)[0].is_meta
    assert rotate(q, [1, 2, 3, 4, 5]).is_meta


def test_autocast_changes_nothing():
    rotary, (q, k) = RotaryEmbedding(8), heads(1, 2, 5, 8)
    expected = rotary(q, k)[0]
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(rotary(q, k)[0], expected)


def test_inference_mode_then_training():
    rotary, (q, k) = RotaryEmbedding(8), heads(1, 2, 700, 8)
    forget()
    with torch.inference_mode():
        first = rotary(q, k)[0]
        few = rotary(q[:, :, :1], k[:, :, :1], offset=3)[0]
    q.requires_grad_()
    made = rotary(q, k)[0]
    made.sum().backward()

    assert torch.equal(made, first)
    assert torch.equal(rotary(q[:, :, :1], k[:, :, :1], offset=3)[0], few)


def test_left_padding_changes_no_score():
    rotary, (q, k) = RotaryEmbedding(8), heads(1, 1, 4, 8)
    pad = torch.randn(1, 1, 3, 8)
    mask = torch.tensor([[0, 0, 0, 1, 1, 1, 1]])
    alone = rotary(q, k)
    padded = rotary(torch.cat([pad, q], 2), torch.cat([pad, k], 2), positions=positions_from_mask(mask))

    assert torch.equal(padded[0][:, :, 3:], alone[0])
    shifted = rotary(torch.cat([pad, q], 2), torch.cat([pad, k], 2))
    scores = (shifted[0] @ shifted[1].mT)[..., 3:, 3:]
    assert (scores - alone[0] @ alone[1].mT).abs().max() < 1e-5
