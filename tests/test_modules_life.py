"""The layer through casts, copies, devices, initialisers and transforms: its values stay right."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
import torch
from torch import nn

import posenc

from .test_modules import FLOATS, layer


class TestDtypes:
    @pytest.mark.parametrize("buffer", FLOATS)
    @pytest.mark.parametrize("given", FLOATS)
    @pytest.mark.parametrize("offset", [0, 100])
    def test_sum_in_the_wider_and_rounded_once(self, buffer, given, offset):
        made = layer(dtype=buffer)
        x = torch.randn(3, 5, 16, dtype=torch.float64).to(given)
        rows = posenc.table(5, 16, start=offset, dtype=buffer)
        # float64 holds every sum that float32 rounds; what is wanted is that sum, rounded once to the wider
        # dtype and once to that of x, except float64 to 16 bits, where the wider one is exact enough.
        wide = torch.promote_types(buffer, given)
        wanted = posenc_sum(x, rows, wide).to(given)

        got = made(x, offset=offset)

        assert got.dtype == given
        if wide == torch.float64 and given in (torch.bfloat16, torch.float16):
            exact = x.double() + rows.double()
            spacing = torch.nextafter(got.float().abs(), torch.tensor(math.inf)).double() * 0
            half = (2.0 ** (exact.abs().clamp(min=2.0**-14).log2().floor() - bits_of(given))).double() / 2
            assert ((got.double() - exact).abs() <= half + spacing).all()
        else:
            assert torch.equal(got, wanted)

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_cast_computes_the_table_afresh(self, dtype):
        assert torch.equal(layer().to(dtype).pe[0], posenc.table(32, 16, dtype=dtype))
        assert torch.equal(layer().half().float().pe, layer().pe)
        assert torch.equal(nn.Sequential(layer()).type(dtype)[0].pe[0], posenc.table(32, 16, dtype=dtype))

    def test_rows_beyond_the_table_survive_casts(self):
        made = layer().bfloat16().type(torch.float32)

        assert torch.equal(made(torch.zeros(1, 4, 16), offset=4096)[0], posenc.table(4, 16, start=4096))

    def test_autocast_changes_nothing(self):
        x = torch.randn(2, 5, 16)
        with torch.autocast("cpu", torch.bfloat16):
            got = layer()(x, offset=100)

        assert torch.equal(got, layer()(x, offset=100))


def bits_of(dtype):
    return {torch.bfloat16: 7, torch.float16: 10}[dtype]


def posenc_sum(x, rows, wide):
    return x.to(wide) + rows.to(wide)


class TestLife:
    def test_copies_and_pickles(self):
        made = layer()
        x = torch.randn(2, 5, 16)
        for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            assert torch.equal(other(x, offset=30), made(x, offset=30))
            assert other.pe.data_ptr() != made.pe.data_ptr()

    def test_meta_device_and_back(self):
        made = layer(device="meta")

        assert made.pe.is_meta
        assert made(torch.zeros(2, 5, 16, device="meta")).shape == (2, 5, 16)
        assert torch.equal(made.to_empty(device="cpu").pe, layer().pe)
        made.pe.fill_(7.0)
        made.reset_parameters()
        assert torch.equal(made.pe, layer().pe)
        assert torch.equal(made(torch.zeros(1, 2, 16), positions=torch.tensor([3, 99]))[0], posenc.encode([3, 99], 16))

    def test_follows_the_device_of_its_input(self):
        assert layer()(torch.zeros(2, 5, 16, device="meta"), offset=40).device.type == "meta"
        assert layer()(torch.zeros(2, 5, 16, device="meta")).device.type == "meta"

    def test_generic_initialiser_leaves_it_alone(self):
        made = nn.Sequential(layer(), nn.Linear(16, 4))

        def initialise(module):
            for name in ("weight", "bias"):
                if getattr(module, name, None) is not None:
                    nn.init.normal_(getattr(module, name))

        made.apply(initialise)
        for parameter in made.parameters():
            nn.init.zeros_(parameter)

        assert torch.equal(made[0].pe, layer().pe)

    def test_made_under_other_defaults(self):
        torch.set_default_dtype(torch.float64)
        try:
            assert layer().pe.dtype == torch.float64
        finally:
            torch.set_default_dtype(torch.float32)
        with torch.device("meta"):
            assert layer().pe.is_meta
        with torch.inference_mode():
            made = layer()
        x = torch.randn(1, 4, 16, requires_grad=True)
        made(x, offset=2).sum().backward()
        assert torch.equal(made.pe, layer().pe)

    def test_inference_then_training(self):
        made = layer()
        with torch.inference_mode():
            made(torch.zeros(1, 4, 16), offset=100)
        x = torch.randn(1, 4, 16, requires_grad=True)
        made(x, offset=100).sum().backward()
        assert torch.equal(x.grad, torch.ones_like(x))

    def test_nobody_reaches_the_numbers_of_others(self):
        x, positions = torch.zeros(1, 2, 16), torch.tensor([5, 99])
        for buffer in layer().buffers():
            buffer.zero_()

        assert torch.equal(layer()(x, positions=positions)[0], posenc.encode(positions, 16))
        assert torch.equal(posenc.encode([0.5], 16, dtype=torch.float64)[0, 0], torch.tensor(0.5).double().sin())

    def test_no_tensor_outside_its_buffers(self):
        made = layer()
        made(torch.zeros(1, 40, 16))

        assert not [key for key, value in vars(made).items() if isinstance(value, torch.Tensor)]
        assert {name: tuple(buffer.shape) for name, buffer in made.named_buffers()} == {
            "pe": (1, 32, 16),
        }

    def test_vmap_and_functional_call(self):
        made, x = layer(), torch.randn(4, 5, 16)
        positions = torch.randint(0, 99, (4, 5))

        got = torch.func.vmap(lambda x, p: made(x, positions=p))(x, positions)

        assert torch.equal(got, made(x, positions=positions))
        assert torch.equal(torch.func.vmap(made)(x), made(x))
        assert torch.equal(torch.func.functional_call(made, dict(made.named_buffers()), (x,)), made(x))
