"""Memory and speed: what is held is what was asked for, shared where it can be, and a call is a sum."""

from __future__ import annotations

from unittest import mock

import torch
from tests.caches import forget, held_bytes
from torch.utils._python_dispatch import TorchDispatchMode

from posenc import PositionalEncoding, RotaryEmbedding
from posenc.encoding import angles
from posenc.modules import beyond, buffer
from posenc.trig import rows as digit_rows

from .formula import FLOAT32, off, rows
from .register import case

MIB = 1 << 20


def _bytes(module: torch.nn.Module) -> int:
    return sum(each.numel() * each.element_size() for each in (*module.parameters(), *module.buffers()))


@case("B178")
def nothing_is_held_that_was_not_asked_for():
    # The table that is asked for, and no copy of it.
    assert _bytes(PositionalEncoding(128, max_len=1_000_000, device="meta")) == 1_000_000 * 128 * 4
    # A million positions need none: one row, and what rows are made of.
    forget()
    small = PositionalEncoding(128, 0.0, max_len=1)
    assert _bytes(small) == 128 * 4
    for offset in (0, 999_999):
        got = small(torch.zeros(1, 1, 128), offset=offset)
    # Python's own angles are off by p * 2^-53 and more.
    assert off(got[0], rows([999_999], 128)) <= FLOAT32 + 1e6 * 2.0**-51
    assert sum(held_bytes().values()) < MIB
    assert _bytes(RotaryEmbedding(128)) == 0


@case("B179")
def layers_share_what_they_keep():
    q, grown = torch.randn(1, 1, 1000, 64), []
    for layers in (1, 32):
        forget()
        stack = [RotaryEmbedding(64) for _ in range(layers)]
        for rotary in stack:
            rotary(q, q)
            rotary(q[:, :, :1], q[:, :, :1], offset=999)
        assert sum(map(_bytes, stack)) == 0
        grown.append(sum(held_bytes().values()))
    assert grown[0] == grown[1] > 0


class _Calls(TorchDispatchMode):
    """The operations that reach a kernel; views move no memory."""

    def __init__(self):
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if not any(view in str(func) for view in ("view", "slice", "narrow", "expand", "unsqueeze", "detach", "alias")):
            self.names.append(str(func))
        return func(*args, **(kwargs or {}))


@case("B180")
def a_call_is_one_sum():
    layer, x = PositionalEncoding(256, 0.0, 1024).eval(), torch.randn(8, 512, 256)
    for options in ({}, {"offset": 100}):
        with _Calls() as calls:
            layer(x, **options)
        assert calls.names == ["aten.add.Tensor"]
    with mock.patch("numpy.array", side_effect=AssertionError("numpy")):
        layer(x)
        layer(x, positions=torch.arange(512))


@case("B181")
def beyond_the_table_nothing_is_built_twice():
    forget()
    layer = PositionalEncoding(8, 0.0, max_len=64)
    with mock.patch.object(digit_rows, "_make", side_effect=digit_rows._make) as built:
        for length in (70, 71, 72):
            assert off(layer(torch.zeros(1, length, 8))[0], rows(range(length), 8)) <= FLOAT32
        assert built.call_count <= 2
    # A decoder that goes on beyond it, a token at a time: one block of rows.
    with mock.patch.object(beyond, "table", side_effect=beyond.table) as blocks:
        for offset in range(70, 200):
            layer(torch.zeros(1, 1, 8), offset=offset)
        assert blocks.call_count <= 1


@case("B182")
def a_step_of_four_layers_makes_its_waves_once():
    forget()
    layers, q = [RotaryEmbedding(64) for _ in range(4)], torch.randn(1, 2, 300, 64)
    front, x = PositionalEncoding(64, 0.0, 512), torch.randn(1, 300, 64)
    with (
        mock.patch.object(angles, "tabulate", side_effect=angles.tabulate) as waves,
        mock.patch.object(buffer, "table", side_effect=buffer.table) as filled,
    ):
        for _ in range(2):
            front(x)
            for rotary in layers:
                rotary(q, q)
    assert waves.call_count == 1
    assert filled.call_count == 0
