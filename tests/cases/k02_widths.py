"""Odd or indivisible widths: supported where they mean something, else refused where the object is built."""

from __future__ import annotations

import pytest
import torch

from posenc import (
    Convention,
    LearnedPositionalEmbedding,
    PositionalEncoding,
    RotaryEmbedding,
    conventions,
    encode,
    grid,
    rotate,
    table,
)
from posenc.errors import InputError

from .formula import FLOAT32, FLOAT32_ROTATION, off, row, rows, turned
from .register import case


@case("B12")
def the_last_sine_of_an_odd_width_has_no_partner():
    wanted = [0.841471, 0.540302, 0.025116, 0.999685, 0.000631]
    for got in (encode(1, 5), table(2, 5)[1], PositionalEncoding(5, 0.0)(torch.zeros(1, 2, 5))[0, 1]):
        assert off(got, wanted) <= 5e-7  # six digits are given
        assert off(got, row(1, 5)) <= FLOAT32
    assert table(3, 29).shape == (3, 29)


@case("B13")
def every_width_has_its_own_exponents():
    for dim in (1, 2, 3, 5, 7, 127):
        assert off(table(4, dim), rows(range(4), dim)) <= FLOAT32
        assert PositionalEncoding(dim, 0.0)(torch.zeros(2, 4, dim)).shape == (2, 4, dim)
    assert encode(1, 5)[2].item() == pytest.approx(0.025116, abs=5e-7)
    assert encode(1, 6)[2].item() == pytest.approx(0.0464, abs=5e-5)


@case("B15")
def maps_have_the_width_that_was_asked_for():
    # Systems that know multiples of 4, and systems that cut or fill.
    for dim in (4, 6, 7, 169):
        for name in ("positional-encodings-2d", "tensor2tensor-2d"):
            assert grid((2, 3), dim, name).shape == (2, 3, dim)
        for name in ("mae-2d", "detr-2d"):
            if dim == 4:
                assert grid((2, 3), dim, name).shape == (2, 3, dim)
                continue
            # Before any tensor is built: the plan knows.
            for build in (conventions[name].plan, lambda width, name=name: grid((2, 3), width, name)):
                with pytest.raises(ValueError, match=f"dim={dim}, but wanted a multiple of 4"):
                    build(dim)


@case("B16")
def rotary_turns_pairs():
    for make in (lambda: RotaryEmbedding(9), lambda: rotate(torch.zeros(1, 1, 4, 9), range(4))):
        with pytest.raises(ValueError, match=r"width of 9 .* an even width from 2 to 9, since columns turn in pairs"):
            make()
    # The even part alone, when it is asked for.
    q = torch.randn(1, 1, 4, 9)
    made, _ = RotaryEmbedding(9, rotary_dim=8)(q, q)
    assert torch.equal(made[..., 8], q[..., 8])
    assert off(made[..., :8].norm(dim=-1), q[..., :8].double().norm(dim=-1)) <= FLOAT32_ROTATION * 4
    assert off(made[0, 0, 3, :8], turned(q[0, 0, 3, :8].tolist(), 3)) <= FLOAT32_ROTATION * 4


@case("B17")
def an_odd_part_of_a_head_is_refused_at_once():
    with pytest.raises(ValueError, match=r"width of 3 .*even"):
        RotaryEmbedding(4, rotary_dim=0.75)
    with pytest.raises(ValueError, match=r"width of 3 .*even"):
        RotaryEmbedding(4, scaling={"rope_type": "default", "partial_rotary_factor": 0.75})
    with pytest.raises(ValueError, match=r"width of 65 .*even"):
        RotaryEmbedding(65)
    with pytest.raises(ValueError, match=r"rotary_dim=3.*even"):
        RotaryEmbedding(4, Convention(layout="halves", rotary_dim=3))


@case("B18")
def nothing_is_read_outside_a_table():
    with pytest.raises(ValueError, match=r"width of 6 .* heads of 4"):
        RotaryEmbedding(4, rotary_dim=6)
    # A table of 16 rows, and one offset beyond: the trained one is refused, the computed one has no end.
    offsets, x = torch.tensor([5, 60]), torch.zeros(2, 3, 8)
    with pytest.raises(InputError, match=r"positions from 5 to 62.*from 0 to 15"):
        LearnedPositionalEmbedding(16, 8)(x, offset=offsets)
    got = PositionalEncoding(8, 0.0, 16)(x, offset=offsets)
    assert off(got, [rows(range(5, 8), 8).tolist(), rows(range(60, 63), 8).tolist()]) <= FLOAT32
    q = torch.randn(2, 1, 3, 4)
    made, _ = RotaryEmbedding(4)(q, q, offset=offsets)
    assert off(made[1, 0, 2], turned(q[1, 0, 2].tolist(), 62)) <= FLOAT32_ROTATION * 4
