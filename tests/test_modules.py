"""The layer: what everyone writes, `x + pe[:, :x.size(1)]` and dropout, at any length, dtype and layout."""

from __future__ import annotations

import copy
import math
import pickle
import warnings

import pytest
import torch
from torch import nn

import posenc
from posenc.errors import DtypeError, InputError, PosencError

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def layer(d_model=16, dropout=0.0, **options):
    return posenc.PositionalEncoding(d_model, dropout, **{"max_len": 32, **options})


def snippet(d_model, max_len):
    """The table of the snippet that everybody copies (harvardnlp/annotated-transformer, pytorch/examples)."""
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


class TestTheMainUse:
    def test_is_what_everyone_writes(self):
        made = posenc.PositionalEncoding(512)
        x = torch.randn(2, 10, 512)

        assert made.pe.shape == (1, 5000, 512)
        assert made.dropout.p == 0.1
        assert torch.equal(made.eval()(x), x + made.pe[:, : x.size(1)])

    def test_buffer_is_saved_and_not_trained(self):
        made = layer()

        assert list(made.state_dict()) == ["pe"]
        assert list(made.parameters()) == []
        assert not made.pe.requires_grad
        assert list(layer(persistent=False).state_dict()) == []

    def test_values_are_those_of_the_function(self):
        assert torch.equal(layer().pe[0], posenc.table(32, 16))

    def test_input_is_left_alone(self):
        x = torch.randn(2, 5, 16)
        before = x.clone()

        for options in (
            {},
            {"offset": 40},
            {"positions": torch.arange(5)},
            {"padding_mask": torch.ones(2, 5) > 0},
        ):
            layer()(x, **options)

        assert torch.equal(x, before)

    def test_gradient_of_the_input_is_one(self):
        x = torch.randn(2, 5, 16, requires_grad=True)

        layer()(x, offset=40).sum().backward()

        assert torch.equal(x.grad, torch.ones_like(x))

    def test_maximum_length_enters_no_value(self):
        assert torch.equal(layer(max_len=10000).pe[0, :40], layer(max_len=40).pe[0])

    def test_repr_says_everything(self):
        made = layer(convention="marian", batch_first=False, persistent=False, trained_length=8)

        assert made.extra_repr() == (
            "16, max_len=32, convention='marian', batch_first=False, dtype=torch.float32, persistent=False, "
            "trained_length=8"
        )


class TestDropout:
    def test_comes_after_the_sum_and_only_in_training(self):
        made = posenc.PositionalEncoding(16, dropout=0.5, max_len=8)
        x = torch.randn(2, 8, 16)

        torch.manual_seed(0)
        trained = made(x)
        torch.manual_seed(0)
        assert torch.equal(trained, nn.functional.dropout(x + made.pe, 0.5))
        assert torch.equal(made.eval()(x), x + made.pe)

    def test_follows_its_own_switch(self):
        made = posenc.PositionalEncoding(16, dropout=1.0, max_len=8).eval()
        made.dropout.train()

        assert made(torch.randn(2, 8, 16)).abs().max() == 0


class TestLayouts:
    @pytest.mark.parametrize("shape", [(6, 16), (2, 6, 16), (2, 3, 6, 16)])
    def test_batch_first_takes_any_leading_axes(self, shape):
        x = torch.randn(shape)

        assert torch.equal(layer()(x), x + posenc.table(6, 16))

    @pytest.mark.parametrize("shape", [(7, 16), (7, 3, 16), (7, 7, 16)])
    def test_sequence_first_reads_axis_zero(self, shape):
        made = layer(batch_first=False)
        x = torch.zeros(shape)
        rows = posenc.table(7, 16)

        assert made.pe.shape == (32, 1, 16)
        assert torch.equal(made(x), (rows if x.ndim == 2 else rows[:, None]).expand(shape))

    def test_both_agree_for_every_argument(self):
        x = torch.randn(3, 7, 16)
        arguments = [
            {},
            {"offset": 3},
            {"offset": torch.tensor([0, 5, 100])},
            {"positions": torch.randint(-50, 50, (3, 7))},
            {"positions": torch.randint(-50, 50, (7,)), "offset": -4},
            {"padding_mask": torch.rand(3, 7) < 0.5},
        ]
        for options in arguments:
            batch_first = layer()(x, **options)
            sequence_first = layer(batch_first=False)(x.transpose(0, 1), **options)

            assert torch.equal(batch_first, sequence_first.transpose(0, 1)), options


class TestPositions:
    @pytest.mark.parametrize("dtype", FLOATS)
    @pytest.mark.parametrize("offset", [0, 5, 27, 28, 1000, -3, 2**62, -(2**63)])
    def test_any_length_and_any_offset(self, dtype, offset):
        made = layer(dtype=dtype)

        got = made(torch.zeros(1, 5, 16, dtype=dtype), offset=offset)[0]

        assert torch.equal(got, posenc.table(5, 16, start=offset, dtype=dtype))

    def test_one_offset_for_each_row(self):
        got = layer()(torch.zeros(2, 2, 16), offset=torch.tensor([3, 5]))

        assert torch.equal(got, posenc.encode([[3, 4], [5, 6]], 16))

    def test_every_given_position_is_honoured(self):
        positions = torch.tensor([[0, 1, 0, 1, 2], [7, 3, 3, 0, 100]])

        got = layer()(torch.zeros(2, 5, 16), positions=positions)

        assert torch.equal(got, posenc.encode(positions, 16))

    def test_inside_the_table_and_outside_it_are_one_thing(self):
        made, x = layer(), torch.zeros(1, 4, 16)
        inside = torch.tensor([[3, 31, 0, 9]])
        outside = torch.tensor([[3, 31, 0, 40]])

        assert torch.equal(made(x, positions=inside)[0, :3], made(x, positions=outside)[0, :3])

    def test_positions_and_offset_add(self):
        made, x = layer(), torch.zeros(2, 3, 16)
        positions = torch.tensor([0, 1, 5])

        assert torch.equal(made(x, positions=positions, offset=4), made(x, positions=positions + 4))

    def test_fractions(self):
        positions = torch.tensor([0.0, 0.5, 2.0])

        got = layer()(torch.zeros(1, 3, 16), positions=positions)[0]

        assert torch.equal(got, posenc.encode(positions, 16))
        assert torch.equal(got[2], posenc.encode(2, 16))

    def test_token_by_token_equals_all_at_once(self):
        made, x = layer(max_len=4), torch.randn(2, 9, 16)

        steps = [made(x[:, t : t + 1], offset=t) for t in range(9)]

        assert torch.equal(torch.cat(steps, 1), made(x))

    def test_padding_gets_no_encoding_and_is_counted(self):
        x = torch.randn(2, 4, 16)
        mask = torch.tensor([[True, True, False, False], [False, False, False, True]])

        got = layer()(x, padding_mask=mask)

        assert torch.equal(got[mask], x[mask])
        assert torch.equal(got[~mask], (x + posenc.table(4, 16))[~mask])

    def test_warns_once_beyond_the_trained_length(self):
        made = layer(trained_length=8)

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            made(torch.zeros(1, 8, 16))
            assert not seen
            long = made(torch.zeros(1, 40, 16))
            made(torch.zeros(1, 4, 16), offset=20)
            made(torch.zeros(1, 4, 16), positions=torch.full((4,), 99))

        assert len(seen) == 1
        assert "trained_length=8" in str(seen[0].message)
        assert torch.equal(long[0], posenc.table(40, 16))

    @pytest.mark.parametrize(
        "options", [{"offset": 6}, {"positions": torch.tensor([0, 9])}, {"offset": torch.tensor(7)}]
    )
    def test_warning_knows_every_way_to_come_there(self, options):
        with pytest.warns(UserWarning, match="trained_length=7"):
            layer(trained_length=7)(torch.zeros(1, 2, 16), **options)


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
        assert made.steps.dtype == torch.int64

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

    def test_no_tensor_outside_its_buffers(self):
        made = layer()
        made(torch.zeros(1, 40, 16))

        assert not [key for key, value in vars(made).items() if isinstance(value, torch.Tensor)]
        assert {name: tuple(buffer.shape) for name, buffer in made.named_buffers()} == {
            "pe": (1, 32, 16),
            "steps": (9, 3, 8),
        }

    def test_vmap_and_functional_call(self):
        made, x = layer(), torch.randn(4, 5, 16)
        positions = torch.randint(0, 99, (4, 5))

        got = torch.func.vmap(lambda x, p: made(x, positions=p))(x, positions)

        assert torch.equal(got, made(x, positions=positions))
        assert torch.equal(torch.func.vmap(made)(x), made(x))
        assert torch.equal(torch.func.functional_call(made, dict(made.named_buffers()), (x,)), made(x))


class TestRefusals:
    @pytest.mark.parametrize("d_model", [0, -4, 2.0, True, "8", None])
    def test_width(self, d_model):
        with pytest.raises(PosencError, match="got d_model="):
            posenc.PositionalEncoding(d_model)

    @pytest.mark.parametrize("options", [{"max_len": 0}, {"max_len": 2.5}, {"max_len": True}, {"trained_length": 0}])
    def test_lengths(self, options):
        with pytest.raises(PosencError, match="got " + next(iter(options))):
            layer(**options)

    @pytest.mark.parametrize("dropout", [-0.1, 1.5, math.nan, "0.1", True, None])
    def test_dropout(self, dropout):
        with pytest.raises(PosencError, match="got dropout="):
            posenc.PositionalEncoding(16, dropout)

    @pytest.mark.parametrize("options", [{"batch_first": 1}, {"persistent": None}, {"dtype": torch.int64}])
    def test_options(self, options):
        with pytest.raises(DtypeError, match="got " + next(iter(options))):
            layer(**options)

    def test_unknown_convention_suggests_one(self):
        with pytest.raises(PosencError, match="did you mean 'transformer'"):
            layer(convention="transfomer")

    @pytest.mark.parametrize("shape", [(), (16,), (2, 5, 8), (2, 5, 17)])
    def test_shape_of_x(self, shape):
        with pytest.raises(InputError, match="got x of shape"):
            layer()(torch.zeros(shape))

    def test_rank_of_sequence_first_x(self):
        with pytest.raises(InputError, match=r"\(S, B, 16\) with batch_first=False"):
            layer(batch_first=False)(torch.zeros(2, 3, 5, 16))

    @pytest.mark.parametrize("x", [torch.zeros(2, 5, 16).long(), torch.zeros(2, 5, 16) > 0, [[0.0] * 16], None])
    def test_kind_of_x(self, x):
        with pytest.raises(DtypeError, match="got x of"):
            layer()(x)

    @pytest.mark.parametrize(
        "positions",
        [
            torch.zeros(4),
            torch.zeros(3, 5),
            torch.zeros(2, 4).long(),
            torch.zeros(()).long(),
            torch.zeros(1, 2, 5).long(),
            torch.zeros(5) > 0,
            torch.zeros(5, dtype=torch.complex64),
            torch.zeros(5, dtype=torch.uint64),
            torch.tensor([0.0, 1.0, math.nan, 3.0, 4.0]),
            torch.tensor([0.0, 1.0, math.inf, 3.0, 4.0]),
            torch.tensor([0.0, 1.0, 2.0**63, 3.0, 4.0]),
            torch.arange(5).bfloat16() + 512,
            torch.zeros(5, device="meta").long(),
            [0, 1, 2, 3, 4],
        ],
        ids=str,
    )
    def test_positions(self, positions):
        with pytest.raises(PosencError, match="got positions"):
            layer()(torch.zeros(2, 5, 16), positions=positions)

    @pytest.mark.parametrize(
        "offset",
        [torch.zeros(3).long(), torch.zeros(2, 1).long(), torch.zeros(2), 1.5, True, 2**63, "0", None],
        ids=str,
    )
    def test_offset(self, offset):
        with pytest.raises(PosencError, match="got offset"):
            layer()(torch.zeros(2, 5, 16), offset=offset)

    def test_positions_that_leave_int64(self):
        top = torch.full((5,), 2**63 - 2)
        for options in (
            {"offset": 2**63 - 2},
            {"positions": top, "offset": 2},
            {"offset": torch.tensor(2**63 - 2)},
        ):
            with pytest.raises(InputError, match="int64"):
                layer()(torch.zeros(1, 5, 16), **options)

    @pytest.mark.parametrize("mask", [torch.zeros(2, 5), torch.zeros(5) > 0, torch.zeros(5, 2) > 0, [[True]]], ids=str)
    def test_padding_mask(self, mask):
        with pytest.raises(PosencError, match="got padding_mask"):
            layer()(torch.zeros(2, 5, 16), padding_mask=mask)

    def test_cast_to_what_holds_no_encoding(self):
        with pytest.raises(DtypeError, match="cast of the layer"):
            layer().to(torch.float8_e4m3fn)

    def test_unknown_arguments(self):
        with pytest.raises(TypeError):
            posenc.PositionalEncoding(16, theta=10000)
        with pytest.raises(TypeError):
            layer()(torch.zeros(1, 2, 16), mask=None)
