"""Rotary embeddings under autograd and torch.func: the gradient of a turn is the turn back."""

import pytest
import torch
from tests.rotations import by_hand
from torch.autograd import forward_ad, grad, gradcheck, gradgradcheck
from torch.utils.checkpoint import checkpoint

from posenc import RotaryEmbedding, rotate
from posenc.encoding import turn
from posenc.modules import rotary as module

LAYOUTS = ["halves", "interleaved"]
# One token for a decoder, one piece, and several.
LENGTHS = [1, 600, 4500]
FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """The same ones on machines of one core and of many."""
    monkeypatch.setattr(turn, "_PIECE", 2**17 // torch.get_num_threads())


@pytest.fixture(params=LAYOUTS)
def rotary(request):
    made = RotaryEmbedding(32, layout=request.param, rotary_dim=16)
    made.attention_factor = 1.5
    return made


def turned_back(upstream, layout):
    """The gradient of a turn of the first 16 of 32 columns, times 1.5."""
    length = upstream.shape[-2]
    back = by_hand(upstream, -torch.arange(length), layout, width=16)
    back[..., :16] *= 1.5
    return back


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_gradient_is_the_turn_back(rotary, length, dtype):
    x, upstream = torch.randn(2, 1, 2, length, 32).to(dtype)
    x.requires_grad_()
    made = rotary(x, x)[0]
    (got,) = grad(made, x, upstream)

    assert torch.equal(made, rotary(x.detach(), x.detach())[0])
    assert got.dtype == dtype
    assert torch.equal(got[..., 16:], upstream[..., 16:])
    # The judge's phases are those of float64.
    allowed = 8 * torch.finfo(dtype).eps + length * 2.0**-50
    assert (got.double() - turned_back(upstream, rotary.convention.layout)).abs().max() <= allowed


@pytest.mark.parametrize("length", [1, 2000])
def test_both_are_followed(rotary, length):
    q, k = torch.randn(2, 1, 2, length, 32, requires_grad=True).unbind()
    made = rotary(q, k)

    assert made[0].requires_grad
    assert made[1].requires_grad
    assert not rotary(q.detach(), k)[0].requires_grad
    assert rotary(q.detach(), k)[1].requires_grad


@pytest.mark.parametrize("few", [turn.FEW, 0], ids=["by columns", "by pieces"])
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_finite_differences(rotary, few, monkeypatch):
    monkeypatch.setattr(module, "FEW", few)
    # One head: the work grows with the square of the numbers, and heads are turned alike.
    x = torch.randn(1, 1, 3, 32, dtype=torch.float64, requires_grad=True)
    modes = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    assert gradcheck(lambda x: rotary(x, x * 2), x, **modes)
    assert gradgradcheck(lambda x: rotary(x, x * 2), x, check_fwd_over_rev=True, check_batched_grad=True)
    few = x[:, :, :, :4].detach().requires_grad_()
    assert gradcheck(lambda x: rotate(x, [5, 2**40, -1]), few)


def test_derivatives_of_long_sequences_to_the_second_order(rotary):
    x = torch.randn(1, 2, 4500, 32, dtype=torch.float64, requires_grad=True)
    (first,) = grad((rotary(x, x)[0] ** 3).sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x)
    y = x.detach().clone().requires_grad_()
    by_columns = torch.cat([rotary(y[:, :, i : i + 1], y[:, :, i : i + 1], offset=i)[0] for i in (0, 1, 4499)], 2)
    (other,) = grad((by_columns**3).sum(), y, create_graph=True)
    (again,) = grad(other.sum(), y)

    assert (second - again)[:, :, [0, 1, 4499]].abs().max() < 1e-12


@pytest.mark.parametrize("length", LENGTHS)
def test_forward_mode(rotary, length):
    x, tangent = torch.randn(2, 1, 2, length, 32)
    value, moved = torch.func.jvp(lambda x: rotary(x, x)[0], (x,), (tangent,))

    assert torch.equal(value, rotary(x, x)[0])
    assert torch.equal(moved, rotary(tangent, tangent)[0])
    with forward_ad.dual_level():
        for leaf in (x, x.clone().requires_grad_()):
            dual = forward_ad.make_dual(leaf, tangent)
            assert torch.equal(forward_ad.unpack_dual(rotary(dual, dual)[1]).tangent, moved)


@pytest.mark.parametrize("length", LENGTHS)
def test_torch_func(rotary, length):
    x = torch.randn(3, 2, length, 32)
    whole = rotary(x, x)[0]
    upstream = torch.randn_like(x)

    assert torch.equal(torch.func.vmap(lambda x: rotary(x, x)[0])(x), whole)
    assert torch.equal(torch.func.vmap(lambda q: rotary(q, x[0])[0])(x), whole)
    got = torch.func.grad(lambda x: (rotary(x, x)[0] * upstream).sum())(x)
    assert (got - turned_back(upstream, rotary.convention.layout)).abs().max() < 2.0**-19
    each = torch.func.vmap(torch.func.grad(lambda x, u: (rotary(x, x)[0] * u).sum()))(x, upstream)
    assert torch.equal(each, got)


def test_positions_of_each_row_under_vmap(rotary):
    x, positions = torch.randn(3, 2, 5, 32), torch.randint(0, 2**40, (3, 5))
    made = torch.func.vmap(lambda x, p: rotary(x, x, positions=p)[0])(x, positions)

    # Computed without a look at the positions, which may cost the last unit.
    assert (made - rotary(x, x, positions=positions)[0]).abs().max() < 2.0**-20


@pytest.mark.parametrize("length", [1, 4500])
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_gradients_in_batches(rotary, length):
    x = torch.randn(1, 2, length, 32, requires_grad=True)
    upstream = torch.randn(3, 1, 2, length, 32)
    made = rotary(x, x)[0]
    (got,) = grad(made, x, upstream, is_grads_batched=True, retain_graph=True)

    assert torch.equal(got, torch.stack([grad(made, x, u, retain_graph=True)[0] for u in upstream]))


@pytest.mark.parametrize("length", [1, 4500])
@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointing(rotary, length, reentrant):
    x = torch.randn(1, 2, length, 32, requires_grad=True)
    upstream = torch.randn_like(x)
    made = checkpoint(lambda x: rotary(x, x)[0], x, use_reentrant=reentrant)

    assert torch.equal(grad_of(made, x, upstream), grad_of(rotary(x, x)[0], x, upstream))


def grad_of(made, x, upstream):
    """The gradient by way of `backward`."""
    x.grad = None
    made.backward(upstream)
    return x.grad
