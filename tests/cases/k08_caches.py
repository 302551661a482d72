"""What is kept between calls: under every parameter that changes a value, on no graph, for any device."""

from __future__ import annotations

from unittest import mock

import torch
from tests.caches import forget

from posenc import PositionalEncoding, RotaryEmbedding, TimestepEmbedding, conventions, encode
from posenc.encoding import angles
from posenc.modules import beyond

from .formula import FLOAT32, FLOAT32_ROTATION, off, rows, turned
from .register import case


@case("B63")
def dtypes_do_not_meet():
    one, other = PositionalEncoding(8, 0.0, 4), PositionalEncoding(8, 0.0, 4)
    rotary, q = RotaryEmbedding(8), torch.randn(1, 1, 40, 8)
    for _ in range(3):
        for layer, dtype, half_unit in ((one, torch.float16, 2.0**-12), (other, torch.bfloat16, 2.0**-9)):
            out = layer(torch.zeros(1, 40, 8, dtype=dtype))
            assert out.dtype == dtype
            assert off(out[0], rows(range(40), 8)) <= half_unit
            turn, _ = rotary(q.to(dtype), q.to(dtype))
            assert turn.dtype == dtype
            # Half a unit of numbers below 8.
            given = q.to(dtype)[0, 0, 39].tolist()
            assert off(turn[0, 0, 39], turned(given, 39)) <= 8 * half_unit
    assert encode(7, 8, dtype=torch.float64).dtype == torch.float64
    assert encode(7, 8).dtype == torch.float32


@case("B64")
def shorter_lengths_build_nothing():
    forget()
    layer, rotary, q = PositionalEncoding(8, 0.0, 2), RotaryEmbedding(8), torch.randn(1, 1, 8, 8)
    with (
        mock.patch.object(beyond, "table", side_effect=beyond.table) as tables,
        mock.patch.object(angles, "tabulate", side_effect=angles.tabulate) as turns,
    ):
        for length in (8, 4, 8, 6):
            out = layer(torch.zeros(1, length, 8))
            assert off(out[0], rows(range(length), 8)) <= FLOAT32
            part = q[:, :, :length]
            assert torch.equal(rotary(part, part)[0], RotaryEmbedding(8)(part, part)[0])
    assert tables.call_count == 1
    assert turns.call_count == 1


@case("B66")
def nothing_that_is_kept_hangs_on_a_graph():
    layer, rotary = PositionalEncoding(8, 0.0, 4), RotaryEmbedding(8)
    weight = torch.nn.Parameter(torch.randn(8, 8))
    for _ in range(2):
        q = (layer(torch.zeros(1, 40, 8)) @ weight).unsqueeze(1)
        weight.grad = None
        rotary(q, q)[0].square().sum().backward()
        assert weight.grad is not None
        assert bool(weight.grad.any())
    # Frequencies are numbers here: those of a checkpoint are put in, and times keep their gradient.
    drawn = conventions["gaussian-fourier"].with_frequencies(torch.nn.Parameter(torch.tensor([1.5, 0.25])))
    embed, t = TimestepEmbedding(4, drawn), torch.tensor([0.3, 2.0], requires_grad=True)
    for _ in range(2):
        t.grad = None
        embed(t).square().sum().backward()
        assert t.grad is not None


@case("B68")
def results_follow_the_device():
    layer, rotary = PositionalEncoding(8, 0.0, 4), RotaryEmbedding(8)
    for device in ("cpu", "meta", "cpu"):
        x = torch.zeros(1, 1, 40, 8, device=device)
        assert layer(x).device.type == device
        assert rotary(x, x)[0].device.type == device
        assert encode(torch.arange(3, device=device), 8).device.type == device
    assert off(rotary(x + 1, x + 1)[0][0, 0, 39], turned([1.0] * 8, 39)) <= FLOAT32_ROTATION
