"""Traces of TorchScript: nothing that was kept, and no length, is frozen into them."""

from __future__ import annotations

import pytest
import torch
from tests.caches import forget

from posenc import (
    AlibiBias,
    EncoderBlock,
    LearnedPositionalEmbedding,
    PositionalEncoding,
    RotaryEmbedding,
    SequenceEmbedding,
    TimestepEmbedding,
)

# One unit in the last place below 4; without the last repair a value may be that far off.
UNIT = 2.0**-22


def vectors(length):
    return (torch.randn(2, length, 8),)


def heads(length):
    return torch.randn(1, 2, length, 8), torch.randn(1, 2, length, 8)


MODULES = {
    "layer": (lambda: PositionalEncoding(8, 0.0, 64), vectors),
    "layer beyond its table": (lambda: PositionalEncoding(8, 0.0, 4), vectors),
    "learned": (lambda: LearnedPositionalEmbedding(64, 8, 0.0), vectors),
    "rotary": (lambda: RotaryEmbedding(8), heads),
    "rotary in part": (lambda: RotaryEmbedding(8, "gptj-rotary", rotary_dim=4), heads),
    "front": (lambda: SequenceEmbedding(9, 8, 0.0), lambda length: (torch.randint(9, (2, length)),)),
    "times": (lambda: TimestepEmbedding(8), lambda length: (torch.randint(1000, (length,)),)),
    "block": (lambda: EncoderBlock(8, 2, 16, 0.0), vectors),
    "block with rotary": (lambda: EncoderBlock(8, 2, 16, 0.0, rotary=RotaryEmbedding(4)), vectors),
    "block with alibi": (lambda: EncoderBlock(8, 2, 16, 0.0, bias=AlibiBias(2)), vectors),
}


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("name", MODULES)
def test_a_trace_runs_at_other_lengths(name):
    make, given = MODULES[name]
    module = make().eval()
    for warm in (False, True):
        forget()
        if warm:
            module(*given(5))
        traced = torch.jit.trace(module, given(5))
        for length in (5, 7, 40):
            arguments = given(length)
            results = [
                made if isinstance(made, tuple) else (made,) for made in (traced(*arguments), module(*arguments))
            ]
            for got, wanted in zip(*results, strict=True):
                assert (got - wanted).abs().max() <= UNIT
