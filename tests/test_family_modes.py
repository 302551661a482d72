"""Every module under the modes of torch: functional transforms, checkpointing, autocast, inference and training."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.func import functional_call, jvp, vjp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

from posenc import (
    AlibiBias,
    EncoderBlock,
    LearnedPositionalEmbedding,
    RelativePositionBias,
    RotaryEmbedding,
    SequenceEmbedding,
    TimestepEmbedding,
)

WIDTH, LENGTH, BATCH = 8, 5, 3
# Sums of a few hundred products of float64, some of them in another order.
TO_ROUNDING = 1e-12
# A block has six products of matrices and a norm, each of which rounds what comes in twice and what goes out once to
# bfloat16: half a unit each time. A turn that is wrong is off by the size of the values.
AUTOCAST = 7 * 3 * 2.0**-9


class Both(nn.Module):
    """Turns one tensor as queries and as keys, and gives their scores."""

    def __init__(self):
        super().__init__()
        self.rotary = RotaryEmbedding(WIDTH)

    def forward(self, x):
        q, k = self.rotary(x, x)
        return q @ k.transpose(-1, -2)


class Scores(nn.Module):
    """Adds a bias to scores (..., heads, S, S)."""

    def __init__(self, bias):
        super().__init__()
        self.bias = bias

    def forward(self, x):
        return x + self.bias(x.shape[-2], x.shape[-1])


def block(**slot):
    return EncoderBlock(WIDTH, 2, 16, dropout=0.0, **slot)


# What is built, and the shape of one row of its input; the ids of `sequence` are integers.
MODULES = {
    "rotary": (Both, (LENGTH, WIDTH)),
    "learned": (lambda: LearnedPositionalEmbedding(20, WIDTH, dropout=0.0), (LENGTH, WIDTH)),
    "sequence": (lambda: SequenceEmbedding(50, WIDTH, dropout=0.0), (LENGTH,)),
    "timestep": (lambda: TimestepEmbedding(WIDTH, dtype=torch.float64), (LENGTH,)),
    "alibi": (lambda: Scores(AlibiBias(2, dtype=torch.float64)), (2, LENGTH, LENGTH)),
    "relative": (lambda: Scores(RelativePositionBias(2)), (1, 2, LENGTH, LENGTH)),
    "block": (block, (LENGTH, WIDTH)),
    "block with rotary": (lambda: block(rotary=RotaryEmbedding(4)), (LENGTH, WIDTH)),
    "block with alibi": (lambda: block(bias=AlibiBias(2)), (LENGTH, WIDTH)),
    "block with relative": (lambda: block(bias=RelativePositionBias(2)), (LENGTH, WIDTH)),
}
FOLLOWED = [name for name in MODULES if name != "sequence"]


def made(name):
    """A module in float64 with an input of several rows."""
    torch.manual_seed(0)
    make, row = MODULES[name]
    module = make().double()
    x = torch.randint(50, (BATCH, *row)) if name == "sequence" else torch.randn(BATCH, *row, dtype=torch.float64)
    return module, x * 100 if name == "timestep" else x


def followed(x):
    """A leaf to derive by, where it has derivatives."""
    return x.detach().clone().requires_grad_() if x.is_floating_point() else x


def gradients(module, x, call=None):
    """Those of the input and of all parameters, by way of `backward`."""
    module.zero_grad()
    x = followed(x)
    out = (call or module)(x)
    upstream = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    out.backward(upstream)
    return [leaf.grad for leaf in (x, *module.parameters()) if leaf.grad is not None]


def assert_close(got, wanted):
    """As many gradients, the same to rounding, and not all of them zero."""
    size = max(slope.abs().max() for slope in wanted)
    assert size > 0
    assert all((a - b).abs().max() <= TO_ROUNDING * size for a, b in zip(got, wanted, strict=True))


@pytest.mark.parametrize("name", MODULES)
def test_rows_by_vmap_are_rows_of_the_batch(name):
    module, x = made(name)

    assert (vmap(module)(x) - module(x)).abs().max() <= TO_ROUNDING


@pytest.mark.parametrize("name", MODULES)
def test_forward_mode_is_the_adjoint_of_reverse_mode(name):
    module, x = made(name)
    values = {key: value.detach() for key, value in module.named_parameters()}
    if name in FOLLOWED:
        values["x"] = x

    def call(given):
        rest = dict(given)
        return functional_call(module, {k: v for k, v in rest.items() if k != "x"}, rest.get("x", x))

    tangents = {key: torch.randn_like(value) for key, value in values.items()}
    # The other kernels of torch's attention know no forward mode.
    with sdpa_kernel(SDPBackend.MATH):
        out, moved = jvp(call, (values,), (tangents,))
        upstream = torch.randn_like(out)
        _, back = vjp(call, values)
        (slopes,) = back(upstream)

    assert (out - module(x)).abs().max() <= TO_ROUNDING
    assert moved.abs().max() > 0
    one, other = (moved * upstream).sum(), sum((slopes[key] * tangents[key]).sum() for key in values)
    size = (moved * upstream).abs().sum() + sum((slopes[key] * tangents[key]).abs().sum() for key in values)
    assert (one - other).abs() <= TO_ROUNDING * size


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("name", MODULES)
def test_checkpointing_changes_no_gradient(name, reentrant):
    module, x = made(name)
    if name == "sequence" and reentrant:
        pytest.skip("ids have no gradient, without which the reentrant form of torch gives none to parameters")
    plain = gradients(module, x)
    again = gradients(module, x, lambda x: checkpoint(module, x, use_reentrant=reentrant))

    # Attention has another kernel where no derivative is taken.
    assert_close(again, plain)


@pytest.mark.parametrize("name", MODULES)
def test_inference_mode_then_training(name):
    module, x = made(name)
    with torch.inference_mode():
        before = module(x).clone()

    assert (module(x) - before).abs().max() <= TO_ROUNDING
    assert_close(gradients(module, x), gradients(*made(name)))


@pytest.mark.parametrize("name", MODULES)
def test_autocast(name):
    module, x = made(name)
    module = module.float()
    x = x.float() if x.is_floating_point() else x
    plain = module(x)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = module(x)

    if name in ("learned", "sequence", "timestep", "alibi", "relative"):
        # No product of matrices.
        assert torch.equal(mixed, plain)
    else:
        assert (mixed - plain).abs().max() <= AUTOCAST * plain.abs().max()
