"""What wrappers of models do: DDP, DataParallel and FSDP copy, cast and compare buffers."""

from __future__ import annotations

import torch
from torch import nn

from posenc import (
    AlibiBias,
    EncoderBlock,
    LearnedPositionalEmbedding,
    PositionalEncoding,
    RelativePositionBias,
    RotaryEmbedding,
    SequenceEmbedding,
    TimestepEmbedding,
    encode,
)

from .formula import FLOAT32, off, rows
from .register import case

Q = torch.zeros(1, 2, 9, 8)


def _modules() -> list[tuple[nn.Module, tuple]]:
    """One of each class, and what it may be called with."""
    return [
        (PositionalEncoding(8, 0.0, 4), (torch.zeros(1, 9, 8),)),
        (SequenceEmbedding(10, 8, 0.0, 4), (torch.zeros(1, 9, dtype=torch.int64),)),
        (LearnedPositionalEmbedding(16, 8, 0.0), (torch.zeros(1, 9, 8),)),
        (RotaryEmbedding(8), (Q, Q)),
        (RotaryEmbedding(8, scaling={"rope_type": "dynamic", "factor": 2.0, "max_position_embeddings": 4}), (Q, Q)),
        (TimestepEmbedding(8), (torch.arange(9),)),
        (AlibiBias(2), (9, 9)),
        (RelativePositionBias(2), (9, 9)),
        (EncoderBlock(16, 2, rotary=RotaryEmbedding(8), bias=AlibiBias(2)), (torch.zeros(1, 9, 16),)),
    ]


def _buffers(module: nn.Module) -> dict[str, tuple]:
    return {name: (tuple(buffer.shape), buffer.dtype) for name, buffer in module.named_buffers()}


@case("B99")
def no_buffer_grows():
    for module, arguments in _modules():
        before = _buffers(module)
        module(*arguments)
        assert _buffers(module) == before
    layer = PositionalEncoding(8, 0.0, 4)
    for length in (4, 9, 400):
        layer(torch.zeros(1, length, 8))
        assert _buffers(layer) == {"pe": ((1, 4, 8), torch.float32)}


@case("B100")
def no_buffer_is_complex():
    for module, _ in _modules():
        assert all(buffer.dtype == torch.float32 for buffer in module.buffers())


@case("B102")
def no_tensor_lies_outside_the_buffers():
    for module, arguments in _modules():
        module(*arguments)
        for part in module.modules():
            for name, value in vars(part).items():
                held = value if isinstance(value, (list, tuple)) else [value]
                assert not any(isinstance(each, torch.Tensor) for each in held), name


@case("B103")
def a_buffer_cast_past_the_module_keeps_its_rounding():
    x = torch.zeros(1, 16, 8)

    def in_place(layer):
        for buffer in layer.buffers():
            buffer.data = buffer.data.half()
            buffer.data = buffer.data.float()

    def one_by_one(layer):
        for name, buffer in list(layer.named_buffers()):
            setattr(layer, name, buffer.half())
            setattr(layer, name, getattr(layer, name).float())

    def by_copying(layer):
        for buffer in layer.buffers():
            buffer.copy_(buffer.half().float())

    for cast in (in_place, one_by_one, by_copying):
        layer = PositionalEncoding(8, 0.0, 16)
        exact = layer(x)
        cast(layer)
        # Two roundings: those of half stay, at most half a unit in its last place below 1.
        assert torch.equal(layer(x), exact.half().float())
        layer.reset_parameters()
        assert torch.equal(layer(x), exact)
    layer = PositionalEncoding(8, 0.0, 16)
    assert off(layer.half().float()(x)[0], rows(range(16), 8)) <= FLOAT32
    # Left in half by the wrapper, it is the table of half: rounded once.
    layer = PositionalEncoding(8, 0.0, 16)
    layer.pe.data = layer.pe.data.half()
    assert torch.equal(layer(x.half())[0], encode(range(16), 8, dtype=torch.float16))
