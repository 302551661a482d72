"""Devices and empty memory: results lie where the input lies, and no value is taken from memory that nobody filled."""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from posenc import AlibiBias, PositionalEncoding, RotaryEmbedding, TimestepEmbedding, encode, grid

from .formula import FLOAT32, FLOAT32_ROTATION, off, rows, turned
from .register import case


@case("B92")
def a_buffer_of_nan_gives_nan_until_it_is_reset():
    layer, rotary = PositionalEncoding(8, 0.0, 16), RotaryEmbedding(8)
    x, q = torch.zeros(2, 5, 8), torch.ones(1, 1, 5, 8)
    for module in (layer, rotary, TimestepEmbedding(8), AlibiBias(2)):
        for buffer in module.buffers():
            buffer.fill_(torch.nan)
    # The layer adds what its buffer holds, and NaN is never a silent error; the other parts hold no buffer.
    assert bool(layer(x).isnan().all())
    layer.reset_parameters()
    assert off(layer(x)[0], rows(range(5), 8)) <= FLOAT32
    assert off(rotary(q, q)[0][0, 0], [turned([1.0] * 8, t) for t in range(5)]) <= FLOAT32_ROTATION
    # Memory that was never filled: built on meta, and emptied onto the CPU.
    with torch.device("meta"):
        empty = PositionalEncoding(8, 0.0, 16)
    assert off(empty.to_empty(device="cpu")(x)[1], rows(range(5), 8)) <= FLOAT32


class _Copies(TorchDispatchMode):
    """Counts tensors that go from the CPU to meta, which plays another device."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        given = [arg for arg in args if isinstance(arg, torch.Tensor)]
        moved = isinstance(out, torch.Tensor) and out.is_meta and any(not arg.is_meta for arg in given)
        self.count += moved
        return out


@case("B94")
def a_second_call_copies_nothing_to_the_device():
    layer = PositionalEncoding(8, 0.0, 16).to("meta")
    assert [name for name, _ in layer.named_buffers()] == ["pe"]
    rotary, x, q = RotaryEmbedding(8), torch.zeros(1, 5, 8, device="meta"), torch.zeros(1, 1, 5, 8, device="meta")
    calls = [
        lambda: layer(x),
        lambda: layer(x, positions=torch.arange(5, device="meta")),
        lambda: rotary(q, q),
    ]
    for call in calls:
        call()
        with _Copies() as copies:
            call()
        assert copies.count == 0
    for module in (layer, rotary, TimestepEmbedding(8), AlibiBias(2)):
        assert not [name for name, value in vars(module).items() if isinstance(value, torch.Tensor)]


@case("B95")
def maps_of_every_size_lie_where_they_are_asked_for():
    for sizes in ((2, 3), (300, 200)):
        for device in ("cpu", "meta"):
            made = grid(sizes, 8, device=device)
            assert made.shape == (*sizes, 8)
            assert made.device.type == device
    layer = PositionalEncoding(8, 0.0, 16)
    for length in (4, 4000):
        assert layer(torch.zeros(1, length, 8, device="meta")).is_meta


@case("B96")
def a_module_on_the_cpu_follows_its_input():
    x, q = torch.zeros(2, 5, 8, device="meta"), torch.zeros(2, 3, 5, 8, device="meta")
    out = PositionalEncoding(8, 0.0)(x)
    assert (out.device.type, out.shape) == ("meta", x.shape)
    for made in RotaryEmbedding(8)(q, q):
        assert (made.device.type, made.shape) == ("meta", q.shape)
    assert TimestepEmbedding(8)(torch.zeros(3, device="meta")).is_meta


@case("B97")
def one_shape_on_two_devices():
    layer, rotary = PositionalEncoding(8, 0.0, 2), RotaryEmbedding(8)
    for _ in range(2):
        for batch in (8, 1):
            for device in ("cpu", "meta"):
                x = torch.zeros(batch, 1, 5, 8, device=device)
                assert layer(x).device.type == device
                assert [made.device.type for made in rotary(x, x)] == [device] * 2


@case("B98")
def frequencies_go_where_the_positions_are():
    positions = torch.arange(5, device="meta")
    layer, rotary = PositionalEncoding(8, 0.0), RotaryEmbedding(8)
    assert layer(torch.zeros(1, 5, 8, device="meta"), positions=positions).is_meta
    q = torch.zeros(1, 1, 5, 8, device="meta")
    assert rotary(q, q, positions=positions)[0].is_meta
    assert encode(positions, 8).is_meta
    # An offloaded layer: its table is elsewhere, and rows are right all the same.
    away = PositionalEncoding(8, 0.0).to("meta")
    out = away(torch.zeros(1, 5, 8), positions=torch.tensor([3, 1, 4, 1, 5]))
    assert off(out[0], rows([3, 1, 4, 1, 5], 8)) <= FLOAT32
    assert off(away(torch.zeros(1, 5, 8), offset=2)[0], rows(range(2, 7), 8)) <= FLOAT32
