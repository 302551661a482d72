"""Derivatives of the time embedding, and the module inside compilers, exporters and torch.func."""

from __future__ import annotations

import pytest
import torch
from tests.test_timestep import PRESETS, TIMES, by_hand
from torch.autograd import forward_ad, grad, gradcheck, gradgradcheck
from torch.export import Dim, export

from posenc import Convention, TimestepEmbedding, conventions, encode
from posenc.errors import ConventionError, InputError

# Products and a sum of float32 numbers up to 1.
FLOAT32_ERROR = 2.0**-22
MIDDLE = torch.tensor([0.3, 5.7, 999.0])


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()


# ---- derivatives ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_derivatives_in_reverse(name):
    embed = TimestepEmbedding(8, name, dtype=torch.float64)
    t = (1 + torch.rand(3, dtype=torch.float64)).requires_grad_()
    # The finite differences of gradcheck want slow waves.
    slow = not name.startswith(("pi0", "diffusers-timestep-scaled"))

    assert torch.equal(embed(t), embed(t.detach()))
    assert gradcheck(embed, t, eps=1e-6 if slow else 1e-9, atol=1e-5 if slow else 1e-2)
    assert not slow or gradgradcheck(embed, t)


def test_derivatives_are_those_of_the_formula_to_the_third_order():
    embed = TimestepEmbedding(8, "dit-timestep")
    t, exact = MIDDLE.clone().requires_grad_(), MIDDLE.double().requires_grad_()
    weights = torch.randn(8)
    ours, theirs = (embed(t) * weights).sum(), (by_hand(exact, 8) * weights).sum()

    for _ in range(3):
        ours, theirs = (grad(value.sum(), of, create_graph=True)[0] for value, of in ((ours, t), (theirs, exact)))
        assert (ours.double() - theirs).abs().max() <= 8 * FLOAT32_ERROR


def test_derivatives_forward():
    embed = TimestepEmbedding(8, "dit-timestep")
    value, tangent = torch.func.jvp(embed, (MIDDLE,), (torch.ones(3),))
    _, exact = torch.func.jvp(lambda t: by_hand(t, 8), (MIDDLE,), (torch.ones(3),))

    assert torch.equal(value, embed(MIDDLE))
    assert (tangent.double() - exact).abs().max() <= FLOAT32_ERROR
    with forward_ad.dual_level():
        dual = embed(forward_ad.make_dual(MIDDLE, torch.ones(3)))
        assert torch.equal(forward_ad.unpack_dual(dual).tangent, tangent)


def test_every_mode_agrees():
    embed = TimestepEmbedding(8, "dit-timestep")
    forward, reverse = torch.func.jacfwd(embed)(MIDDLE), torch.func.jacrev(embed)(MIDDLE)

    assert (forward - reverse).abs().max() <= FLOAT32_ERROR
    each = torch.func.vmap(torch.func.jacrev(embed))(MIDDLE)
    assert (each - torch.stack([reverse[i, :, i] for i in range(3)])).abs().max() <= FLOAT32_ERROR
    assert torch.equal(torch.func.vmap(embed)(MIDDLE), embed(MIDDLE))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_derivatives_of_half_precision(dtype):
    t = torch.tensor([0.5, 3.0]).to(dtype).requires_grad_()
    embed = TimestepEmbedding(8, "dit-timestep", dtype=dtype)
    (got,) = grad(embed(t)[:, 4].sum(), t)

    assert torch.equal(embed(t), embed(t.detach()))
    assert (got.double() - t.detach().double().cos()).abs().max() <= 2 * torch.finfo(dtype).eps


def test_an_odd_width_keeps_its_derivative():
    convention = Convention(odd="truncate")
    t = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)

    assert gradcheck(TimestepEmbedding(5, convention, dtype=torch.float64), t)
    assert gradcheck(TimestepEmbedding(5, Convention(gain=3, odd="pad"), dtype=torch.float64), t)


def test_no_derivative_where_rows_do_more_than_turn():
    t = torch.tensor([2.0], requires_grad=True)
    for convention in (Convention(zero_rows=(0,)), Convention(position_sign="dropped"), conventions["patchtst"]):
        embed = TimestepEmbedding(8, convention)
        with pytest.raises(InputError, match=r"times that require a gradient.*pass t.detach\(\)"):
            embed(t)
        assert torch.equal(embed(t.detach()), encode([2.0], 8, convention))
    with torch.no_grad():
        assert not TimestepEmbedding(8)(t).requires_grad


def test_encode_never_drops_a_derivative_in_silence():
    with pytest.raises(InputError, match="positions that require a gradient"):
        torch.func.jvp(lambda t: encode(t, 8), (MIDDLE,), (torch.ones(3),))


# ---- graphs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [TIMES, torch.arange(7), torch.rand(4, 2).half() * 100], ids=["float", "int", "half"])
def test_one_graph(t):
    embed = TimestepEmbedding(8, "dit-timestep")
    compiled = torch.compile(embed, backend="aot_eager", fullgraph=True)

    assert torch.equal(compiled(t), embed(t))
    followed = t.float().requires_grad_()
    got, wanted = (grad(call(followed)[..., 4].sum(), followed)[0] for call in (compiled, embed))
    assert torch.equal(got, wanted)


def test_a_graph_looks_at_no_value():
    embed = TimestepEmbedding(8)
    compiled = torch.compile(embed, backend="aot_eager", fullgraph=True)
    got = compiled(torch.tensor([0.5, torch.nan, torch.inf, 2.0]))

    assert got[1:3].isnan().all()
    assert torch.equal(got[[0, 3]], embed(torch.tensor([0.5, 2.0])))
    # bfloat16 above 256: nothing is read, so nothing is warned of.
    compiled(torch.tensor([999.0]).bfloat16())
    released = TimestepEmbedding(8, conventions["dit-timestep"].as_released())
    with pytest.raises(Exception, match=ConventionError.__name__):
        torch.compile(released, backend="aot_eager", fullgraph=True)(TIMES)


@pytest.mark.slow
def test_inductor():
    embed = TimestepEmbedding(64, "dit-timestep")
    compiled = torch.compile(embed, fullgraph=True)

    for n in (3, 5, 64):
        t = torch.rand(n) * 1000
        assert (compiled(t) - embed(t)).abs().max() <= 2.0**-24


def test_export():
    embed = TimestepEmbedding(8, "pi0-timestep")
    program = export(embed, (torch.rand(3),), dynamic_shapes=({0: Dim("batch", min=1, max=4096)},)).module()

    for n in (1, 3, 100):
        t = torch.rand(n)
        assert torch.equal(program(t), embed(t))
