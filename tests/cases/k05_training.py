"""Initialisation, training and gradients: a computed encoding is right at once, and stays as it is."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from posenc import AlibiBias, PositionalEncoding, RotaryEmbedding, TimestepEmbedding, rotate

from .formula import FLOAT32, FLOAT32_ROTATION, off, rows
from .register import case


@case("B34")
def a_file_without_the_table_leaves_it_right():
    layer = PositionalEncoding(8, 0.0, 16)
    for strict in (True, False):
        layer.load_state_dict({}, strict=strict)
        assert off(layer.pe[0], rows(range(16), 8)) <= FLOAT32
    # What loaders do that start from empty memory.
    with torch.device("meta"):
        empty = PositionalEncoding(8, 0.0, 16)
    empty.to_empty(device="cpu").load_state_dict({}, strict=False)
    assert torch.equal(empty.pe, layer.pe)


@case("B35")
def nothing_of_it_is_trained():
    layer, linear = PositionalEncoding(8, 0.0, 16), nn.Linear(8, 1)
    assert sum(p.numel() for p in layer.parameters()) == 0
    for module in (RotaryEmbedding(8), TimestepEmbedding(8), AlibiBias(4)):
        assert sum(p.numel() for p in module.parameters()) == 0
    model = nn.Sequential(layer, linear)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, weight_decay=0.1)
    model(torch.randn(2, 16, 8)).sum().backward()
    optimizer.step()
    assert off(layer.pe[0], rows(range(16), 8)) <= FLOAT32


@case("B36")
def the_gradient_of_the_input_is_one():
    layer, x = PositionalEncoding(8, 0.0, 16), torch.randn(2, 5, 8, requires_grad=True)
    assert not any(buffer.requires_grad for buffer in layer.buffers())
    for options in ({}, {"offset": 100}, {"positions": torch.arange(5) * 3}):
        out = layer(x, **options)
        (grad,) = torch.autograd.grad(out.sum(), x)
        assert torch.equal(grad, torch.ones_like(x))
    assert layer.pe.grad_fn is None
    assert layer.pe.grad is None


@case("B37")
def it_is_built_under_any_gradient_mode():
    modes = [torch.enable_grad, torch.no_grad, lambda: torch.set_grad_enabled(True), torch.inference_mode]
    for mode in modes:
        with mode():
            layer = PositionalEncoding(8, 0.0, 16)
        assert off(layer.pe[0], rows(range(16), 8)) <= FLOAT32
        assert not layer.pe.is_inference()
        x = torch.zeros(1, 5, 8, requires_grad=True)
        layer(x).sum().backward()


@case("B39")
def the_gradient_of_a_turn_is_the_turn_back():
    q = torch.randn(2, 3, 8, dtype=torch.float64, requires_grad=True)
    for layout in ("halves", "interleaved"):
        rotary = RotaryEmbedding(8, layout=layout)
        assert torch.autograd.gradcheck(lambda x, turn=rotary: turn(x, x), q)
    out, upstream = rotate(q, [5, 6, 700]), torch.randn(2, 3, 8, dtype=torch.float64)
    (grad,) = torch.autograd.grad(out, q, upstream)
    assert off(grad.norm(dim=-1), upstream.norm(dim=-1)) < 1e-14
    assert off(rotate(grad, [5, 6, 700]), upstream) < 1e-14


@case("B40")
def what_comes_in_is_left_alone():
    q = torch.randn(2, 3, 5, 8)
    kept, rotary = q.clone(), RotaryEmbedding(8)
    rotary(q, q)
    rotate(q, range(5))
    PositionalEncoding(8, 0.0)(q)
    assert torch.equal(q, kept)
    grads = []
    for run in (lambda x: rotary(x, x)[0], lambda x: checkpoint(lambda y: rotary(y, y)[0], x, use_reentrant=False)):
        x = q.clone().requires_grad_()
        run(x).square().sum().backward()
        grads.append(x.grad)
    assert torch.equal(grads[0], grads[1])
    # A turn keeps lengths: the gradient of the square is twice the input.
    assert off(grads[0], 2 * q.double()) <= 16 * FLOAT32_ROTATION


@case("B41")
def it_is_right_when_it_is_built():
    out = PositionalEncoding(8, 0.0)(torch.zeros(1, 5, 8))
    assert off(out[0], rows(range(5), 8)) <= FLOAT32
