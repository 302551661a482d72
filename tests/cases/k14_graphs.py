"""Compilers and exporters: no break, no length or device or offset that is frozen, and the values of eager mode."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch._dynamo.testing import CompileCounter
from torch.export import Dim, export

from posenc import PositionalEncoding, RotaryEmbedding

from .formula import FLOAT32, off, rows
from .register import case


@case("B115", pytest.mark.slow)
def one_graph_for_all_lengths():
    layer, rotary = PositionalEncoding(8, 0.0, 64), RotaryEmbedding(8)
    calls = {
        "layer": lambda x, p: layer(x, positions=p),
        "rotary": lambda x, p: rotary(x.unsqueeze(1), x.unsqueeze(1), positions=p)[0],
    }
    for call in calls.values():
        torch._dynamo.reset()
        counter = CompileCounter()
        compiled = torch.compile(call, backend=counter, fullgraph=True)
        for length in (5, 6, 7, 70):
            x, positions = torch.randn(1, length, 8), torch.arange(length) + 1000
            assert torch.equal(compiled(x, positions), call(x, positions))
        assert counter.frame_count <= 2
        torch._dynamo.reset()
        told = torch._dynamo.explain(call)(torch.randn(1, 5, 8), torch.arange(5))
        assert (told.graph_count, told.graph_break_count) == (1, 0)


@case("B117")
def a_length_without_a_bound_is_exported():
    layer, x = PositionalEncoding(8, 0.0, 64), torch.zeros(2, 5, 8)
    program = export(layer, (x,), dynamic_shapes={"x": {1: Dim("length")}})
    for length in (7, 100):
        assert off(program.module()(torch.zeros(2, length, 8))[1], rows(range(length), 8)) <= FLOAT32
    q = torch.randn(1, 1, 5, 8)
    shape = {2: Dim("length")}
    program = export(RotaryEmbedding(8), (q, q), dynamic_shapes={"q": shape, "k": shape})
    for length in (7, 100):
        q = torch.randn(1, 1, length, 8)
        eager = RotaryEmbedding(8)(q, q)[0]
        assert (program.module()(q, q)[0] - eager).abs().max() <= 8 * FLOAT32


@case("B118")
def a_trace_holds_the_table_and_no_device():
    layer = PositionalEncoding(8, 0.0, 64).eval()
    with warnings.catch_warnings():
        # torch tells users of traces that there is something newer, and that checks are not traced.
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(layer, torch.zeros(1, 5, 8))
        graph = str(traced.inlined_graph)
        assert "Device" not in graph.replace("device=cpu", "")
        assert "aten::arange" not in graph
        assert [name for name, _ in traced.named_buffers()] == ["pe"]
        # Lengths are not frozen, up to those of the table.
        for length in (5, 7, 64):
            assert off(traced(torch.zeros(1, length, 8))[0], rows(range(length), 8)) <= FLOAT32
        # Beyond it rows are computed, of any length, on the device of the tracing: its documentation says so.
        beyond = torch.jit.trace(PositionalEncoding(8, 0.0, 4).eval(), torch.zeros(1, 5, 8))
        assert "aten::arange" in str(beyond.inlined_graph)
        assert off(beyond(torch.zeros(1, 64, 8))[0], rows(range(64), 8)) <= FLOAT32
    assert "on the device that it was traced on" in " ".join((PositionalEncoding.__doc__ or "").split())


@case("B119", pytest.mark.slow)
def fusion_has_nothing_to_round_otherwise():
    torch._dynamo.reset()
    rotary, q = RotaryEmbedding(16), torch.randn(2, 3, 50, 16).bfloat16()
    eager, _ = rotary(q, q)
    compiled, _ = torch.compile(rotary, fullgraph=True)(q, q)
    # One unit in the last place of bfloat16 is 2^-8 of the value and less.
    assert bool(((compiled.double() - eager.double()).abs() <= eager.double().abs() * 2.0**-7).all())
    assert (compiled != eager).double().mean() < 0.01
    layer, x = PositionalEncoding(16, 0.0).bfloat16(), torch.randn(2, 50, 16).bfloat16()
    assert torch.equal(torch.compile(layer, fullgraph=True)(x), layer(x))


@case("B120")
def an_offset_of_a_tensor_is_read_at_every_call():
    layer, rotary = PositionalEncoding(8, 0.0, 64), RotaryEmbedding(8)
    x = torch.zeros(1, 3, 8)
    q = torch.randn(1, 1, 3, 8)
    for call in (lambda o: layer(x, offset=o), lambda o: rotary(q, q, offset=o)[0]):
        torch._dynamo.reset()
        counter = CompileCounter()
        compiled, offset = torch.compile(call, backend=counter, fullgraph=True), torch.tensor(5)
        first = compiled(offset)
        assert torch.equal(first, call(torch.tensor(5)))
        offset.fill_(9000)
        assert torch.equal(compiled(offset), call(torch.tensor(9000)))
        assert counter.frame_count == 1
    assert off(layer(x, offset=torch.tensor(9000))[0], rows(range(9000, 9003), 8)) <= FLOAT32
