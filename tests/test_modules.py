"""The layer: what everyone writes, `x + pe[:, :x.size(1)]` and dropout, at any length, dtype and layout."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
from torch import nn

import posenc

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
