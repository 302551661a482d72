"""Rotary conventions: which columns are a pair, how many turn, by which base, and how weights move between them."""

from __future__ import annotations

import pytest
import torch

from posenc import RotaryEmbedding, convert, rotate

from .formula import FLOAT32_ROTATION, off, turned
from .register import case


@case("B131")
def layouts_are_two_rotations():
    x = [1.0, 2.0, 3.0, 4.0]
    wanted = {
        "gptj-rotary": [-1.142640, 1.922076, 2.959851, 4.029799],
        "llama": [-1.984111, 1.959901, 2.462378, 4.019800],
    }
    for name, values in wanted.items():
        assert off(rotate(torch.tensor([x]), [1], name)[0], values) <= 1e-6  # six digits are given
    assert off(rotate(torch.tensor([x]), [1], "gptj-rotary")[0], turned(x, 1, layout="interleaved")) <= FLOAT32_ROTATION
    assert "layout='interleaved'" in repr(RotaryEmbedding(4, "gptj-rotary"))
    assert "layout='halves'" in repr(RotaryEmbedding(4))
    there = convert(torch.tensor([x]), "interleaved", "halves")
    back = convert(rotate(there, [1]), "halves", "interleaved")
    assert torch.equal(back, rotate(torch.tensor([x]), [1], "gptj-rotary"))


@case("B132")
def weights_and_biases_move_in_the_span_alone():
    # Two heads of four, two columns of each turn: nothing to move there, so take four of six as well.
    for head, span in ((4, 2), (6, 4)):
        weight = torch.arange(2 * head).view(-1, 1).expand(-1, 3)
        bias = torch.arange(2 * head)
        for tensor in (weight, bias):
            there = convert(tensor, "interleaved", "halves", axis=0, heads=2, rotary_dim=span)
            split = there.reshape(2, head, -1)
            whole = tensor.reshape(2, head, -1)
            assert torch.equal(split[:, span:], whole[:, span:])
            order = [*range(0, span, 2), *range(1, span, 2)]
            assert torch.equal(split[:, :span], whole[:, order])
            back = convert(there, "halves", "interleaved", axis=0, heads=2, rotary_dim=span)
            assert torch.equal(back, tensor)
    # Scores of a converted projection are those that the old layout gives.
    x, q, k = torch.randn(5, 3), torch.randn(12, 3), torch.randn(12, 3)

    def scores(q, k, layout):
        rotary = RotaryEmbedding(6, layout=layout, rotary_dim=4)
        made = rotary(*((x @ w.T).view(5, 2, 6).transpose(0, 1) for w in (q, k)))
        return made[0] @ made[1].transpose(-1, -2)

    moved = [convert(w, "interleaved", "halves", axis=0, heads=2, rotary_dim=4) for w in (q, k)]
    assert (scores(*moved, "halves") - scores(q, k, "interleaved")).abs().max() < 1e-4


@case("B135")
def no_base_is_taken_in_silence():
    q = torch.ones(1, 1, 1, 4)
    wanted = turned([1.0] * 4, 1000, base=500000.0)
    for options in ({"base": 500000}, {"scaling": {"rope_type": "default", "rope_theta": 500000.0}}):
        rotary = RotaryEmbedding(4, **options)
        assert "base=500000" in repr(rotary)
        assert off(rotary(q, q, offset=1000)[0][0, 0, 0], wanted) <= 4 * FLOAT32_ROTATION
    for nested in (
        {"rope_type": "default", "theta": 500000.0},
        {"full_attention": {"rope_theta": 500000.0}},
        {"rope_type": "default", "rope_parameters": {"rope_theta": 500000.0}},
    ):
        with pytest.raises(ValueError, match=r"theta|rope_parameters|full_attention"):
            RotaryEmbedding(4, scaling=nested)
    with pytest.raises(ValueError, match=r"base=10000.*rope_theta=500000"):
        RotaryEmbedding(4, base=10000, scaling={"rope_type": "default", "rope_theta": 500000.0})


@case("B136")
def a_part_of_a_head_turns_when_that_is_said():
    with pytest.raises(ValueError, match="rotary_dim=3"):
        RotaryEmbedding(4, rotary_dim=3)
    rotary, k = RotaryEmbedding(4, rotary_dim=2), torch.randn(1, 1, 5, 4)
    assert "rotary_dim=2" in repr(rotary)
    assert "rotary_dim=4" in repr(RotaryEmbedding(4))
    q = torch.randn(1, 1, 2, 4)
    made_q, made_k = rotary(q, k)
    assert torch.equal(made_q[..., 2:], q[..., 2:])
    assert torch.equal(made_k[..., 2:], k[..., 2:])
    for i, position in enumerate((3, 4)):
        wanted = turned(q[0, 0, i, :2].tolist(), position)
        assert off(made_q[0, 0, i, :2], wanted) <= 4 * FLOAT32_ROTATION
    assert off(made_k[0, 0, 4, :2], turned(k[0, 0, 4, :2].tolist(), 4)) <= 4 * FLOAT32_ROTATION


@case("B137")
def cosines_stand_where_the_layout_says():
    # A vector of ones in the first members alone leaves cosines there, and sines in the second.
    cosines = {"interleaved": [0, 0, 1, 1], "halves": [0, 1, 0, 1]}
    angle = torch.tensor([1.0, 0.01], dtype=torch.float64)
    for layout, pair in cosines.items():
        rotary = RotaryEmbedding(4, layout=layout)
        turn = torch.stack([rotary(e.view(1, 1, 4), e.view(1, 1, 4), offset=1)[0].view(4) for e in torch.eye(4)], 1)
        assert off(turn.diagonal(), angle.cos()[pair]) <= FLOAT32_ROTATION
        # What the first member gives to the second is the sine, and its opposite comes back.
        sines = turn - torch.diag(turn.diagonal())
        signs = torch.tensor([1, -1, 1, -1] if layout == "interleaved" else [1, 1, -1, -1])
        assert off(sines.sum(0), angle.sin()[pair] * signs) <= FLOAT32_ROTATION


@case("B138")
def some_heads_may_turn():
    q = torch.randn(2, 3, 5, 8)
    made = q.clone()
    made[:, :1] = rotate(q[:, :1], range(5))
    assert torch.equal(made[:, 1:], q[:, 1:])
    assert torch.equal(rotate(q[:, :1], range(5)), rotate(q, range(5))[:, :1])
    assert off(made[1, 0, 4], turned(q[1, 0, 4].tolist(), 4)) <= 4 * FLOAT32_ROTATION
