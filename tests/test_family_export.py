"""Every module that embeds or attends under torch.export and ONNX Runtime, at lengths that were left open."""

from __future__ import annotations

import logging
import warnings

import pytest
import torch
from torch.export import Dim, export

from posenc import (
    AlibiBias,
    EncoderBlock,
    RelativePositionBias,
    RotaryEmbedding,
    SequenceEmbedding,
    TimestepEmbedding,
)

pytestmark = pytest.mark.slow

WIDTH = 16
# Sums of at most a few hundred products of float32 in another order, of numbers below 8.
TO_ROUNDING = 300 * 8 * 2.0**-24


def block(**slot):
    return EncoderBlock(WIDTH, 4, 32, **slot)


# What is built, whether it takes ids, times or vectors, and how far kernels may be apart.
MODULES = {
    "sequence": (lambda: SequenceEmbedding(50, WIDTH), "ids", 0),
    "sequence that counts tokens": (
        lambda: SequenceEmbedding(50, WIDTH, convention="fairseq", padding_idx=1),
        "ids",
        0,
    ),
    "timestep": (lambda: TimestepEmbedding(WIDTH, "dit-timestep"), "times", 0),
    "block": (block, "vectors", TO_ROUNDING),
    "block with rotary": (lambda: block(rotary=RotaryEmbedding(4)), "vectors", TO_ROUNDING),
    "block with alibi": (lambda: block(bias=AlibiBias(4)), "vectors", TO_ROUNDING),
    "block with relative": (lambda: block(bias=RelativePositionBias(4)), "vectors", TO_ROUNDING),
}


def given(kind, length, batch=2):
    if kind == "ids":
        return torch.randint(50, (batch, length))
    return torch.rand(batch, length) * 1000 if kind == "times" else torch.randn(batch, length, WIDTH)


def exported(name):
    torch.manual_seed(0)
    make, kind, _ = MODULES[name]
    module = make().eval()
    shapes = ({0: Dim("batch", min=1, max=64), 1: Dim("length", min=2, max=4096)},)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return module, export(module, (given(kind, 5),), dynamic_shapes=shapes)


@pytest.mark.parametrize("name", MODULES)
def test_exported_programs_run_at_any_length(name):
    module, program = exported(name)
    _, kind, apart = MODULES[name]

    for batch, length in ((2, 5), (1, 33), (7, 300)):
        x = given(kind, length, batch)
        assert (program.module()(x) - module(x)).abs().max() <= apart


@pytest.mark.parametrize("name", MODULES)
def test_onnx_runtime_at_any_length(name):
    runtime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    pytest.importorskip("onnxscript", reason="the ONNX exporter of torch needs onnxscript")
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    module, program = exported(name)
    _, kind, apart = MODULES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own, about its own internals
        made = torch.onnx.export(program, dynamo=True, verbose=False)
    session = runtime.InferenceSession(made.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])

    for batch, length in ((2, 5), (1, 33), (3, 300)):
        x = given(kind, length, batch)
        got = torch.from_numpy(session.run(None, {session.get_inputs()[0].name: x.numpy()})[0])
        # The exporter writes constants as float32: 5e-7, and one unit in the last place below 4.
        assert (got - module(x)).abs().max() <= 5e-7 + 4 * 2.0**-23 + apart
