"""One rotary module shared by six layers: whole sequences, cross-attention, and a cache that its owner keeps."""

from __future__ import annotations

import pytest
import torch
from tests.scalings import DYNAMIC, LLAMA3, LONGROPE, YARN
from torch import nn
from torch.nn import functional

from posenc import RotaryEmbedding

SCALINGS = {"none": None, "yarn": YARN, "llama3": LLAMA3, "longrope": LONGROPE, "dynamic": DYNAMIC}


class Decoder(nn.Module):
    """Layers of causal self-attention and cross-attention over a memory, all with one rotary module."""

    def __init__(self, rotary: RotaryEmbedding, layers: int = 6):
        super().__init__()
        self.rotary = rotary
        self.projections = nn.ModuleList(nn.Linear(16, 16, bias=False) for _ in range(4 * layers))

    def forward(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        for q, k, cross_q, cross_k in zip(*(self.projections[i::4] for i in range(4)), strict=True):
            queries, keys = self.rotary(self.heads(q(x)), self.heads(k(x)))
            x = x + self.attended(queries, keys, self.heads(x), causal=True)
            length = max(x.shape[1], memory.shape[1])
            queries = self.rotary.rotate(self.heads(cross_q(x)), length=length)
            keys = self.rotary.rotate(self.heads(cross_k(memory)), length=length)
            x = x + self.attended(queries, keys, self.heads(memory), causal=False)
        return x

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (2, 8)).transpose(1, 2)

    def attended(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(-2)


@pytest.mark.slow
def test_six_layers_share_one_module_in_one_graph():
    torch._dynamo.reset()
    model = Decoder(RotaryEmbedding(8, scaling=YARN)).double()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    for length, memory in ((5, 7), (9, 12)):
        x, y = torch.randn(2, length, 16).double().requires_grad_(), torch.randn(2, memory, 16).double()
        upstream = torch.randn(2, length, 16).double()
        made, expected = compiled(x, y), model(x, y)
        assert (made - expected).abs().max() < 1e-12
        got, right = (torch.autograd.grad(out, x, upstream)[0] for out in (made, expected))
        assert (got - right).abs().max() < 1e-12


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("scaling", SCALINGS)
def test_six_layers_decode_from_caches_of_their_own_as_in_one_call(scaling, dtype):
    length, prompt = 40, 30
    rotary = RotaryEmbedding(8, scaling=SCALINGS[scaling])
    layers = torch.randn(6, 2, 2, 3, length, 8, dtype=torch.float64).to(dtype)
    wholes = [rotary(q, k) for q, k in layers]
    # The prompt through all layers, then token by token, the layers in turn.
    caches = [rotary.rotate(k[:, :, :prompt], length=length) for _, k in layers]
    for at in range(prompt, length):
        for i, ((q, k), (turned_q, turned_k)) in enumerate(zip(layers, wholes, strict=True)):
            new_q = rotary.rotate(q[:, :, at : at + 1], offset=at, length=length)
            new_k = rotary.rotate(k[:, :, at : at + 1], offset=torch.tensor([at, at]), length=length)
            caches[i] = torch.cat([caches[i], new_k], 2)
            assert torch.equal(new_q, turned_q[:, :, at : at + 1])
            assert torch.equal(caches[i], turned_k[:, :, : at + 1])


@pytest.mark.parametrize("scaling", SCALINGS)
def test_other_layers_and_lengths_in_between_change_nothing(scaling):
    rotary = RotaryEmbedding(8, scaling=SCALINGS[scaling])
    q, memory = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 12, 8)
    first = rotary.rotate(q, length=12), rotary.rotate(memory, length=12)
    for length in (1, 7, 8, 9, 600):
        other = torch.randn(2, 3, length, 8)
        rotary(other, other)
        rotary.rotate(other, offset=3, length=length + 3)
        again = rotary.rotate(q, length=12), rotary.rotate(memory, length=12)
        assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize("scaling", SCALINGS)
def test_scores_of_cross_attention_depend_on_distances(scaling):
    # Queries at 100 ... and keys at 90 ...: the same scores as at 10 ... and 0 ..., by the same ladder.
    rotary = RotaryEmbedding(8, scaling=SCALINGS[scaling])
    q, k = torch.randn(2, 3, 4, 8, dtype=torch.float64), torch.randn(2, 3, 9, 8, dtype=torch.float64)
    near = rotary.rotate(q, offset=10, length=200) @ rotary.rotate(k, length=200).mT
    far = rotary.rotate(q, offset=100, length=200) @ rotary.rotate(k, offset=90, length=200).mT

    assert (near - far).abs().max() < 1e-12
    plain = q @ k.mT * rotary.attention_factor**2
    same = rotary.rotate(q[:, :, :1], offset=7, length=200) @ rotary.rotate(k[:, :, :1], offset=7, length=200).mT
    assert (same - plain[:, :, :1, :1]).abs().max() < 1e-12
