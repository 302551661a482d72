"""What the layer refuses, before anything is computed: what came, what was wanted, what to do."""

from __future__ import annotations

import math

import pytest
import torch

import posenc
from posenc.errors import DtypeError, InputError, PosencError
from posenc.positions import decoding_positions

from .test_modules import layer

MERGED = [torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn]
X = torch.zeros(1, 2, 16)


class TestFloatsForIntegers:
    """A cast back cannot part what the first one has merged: 2049 in float16 is 2048, 17 in float8 is 16."""

    @pytest.mark.parametrize("dtype", MERGED, ids=str)
    @pytest.mark.parametrize(
        ("name", "call"),
        [
            ("offset", lambda given: layer()(X, offset=given)),
            ("offset", lambda given: posenc.LearnedPositionalEmbedding(8, 16)(X, offset=given)),
            ("offset", lambda given: posenc.SequenceEmbedding(8, 16)(torch.zeros(1, 2).long(), offset=given)),
            ("offset", lambda given: posenc.RotaryEmbedding(16).rotate(X, offset=given)),
            ("offset", lambda given: posenc.AlibiBias(2)(2, 2, offset=given)),
            ("offset", lambda given: posenc.RelativePositionBias(2)(2, 2, offset=given)),
            ("offset", lambda given: decoding_positions(2, given)),
            ("positions", lambda given: posenc.LearnedPositionalEmbedding(8, 16)(X, positions=given.expand(2))),
            ("positions", lambda given: posenc.RelativePositionBias(2)(2, 2, query_positions=given.expand(2))),
            ("lengths", lambda given: posenc.positions_from_lengths(given.expand(2))),
        ],
    )
    def test_the_advice_is_to_keep_integers(self, name, call, dtype):
        with pytest.raises(PosencError, match=rf"; make (query_)?{name} int64( or float32)? before any cast") as caught:
            call(torch.tensor([1.0]).to(dtype))

        assert ".long()" not in str(caught.value)

    @pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
    @pytest.mark.parametrize(
        "call",
        [
            lambda given: posenc.encode(given, 8),
            posenc.TimestepEmbedding(8),
            lambda given: layer()(X, positions=given),
            lambda given: posenc.RotaryEmbedding(16).rotate(X, positions=given),
            lambda given: posenc.AlibiBias(2)(2, 2, key_positions=given),
        ],
    )
    def test_positions_in_float8(self, call, dtype):
        with pytest.raises(DtypeError, match=r"make \w+ int64 or float32 before any cast\.") as caught:
            call(torch.tensor([0.0, 17.0]).to(dtype))

        assert ".long()" not in str(caught.value)


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
            torch.arange(5).to_sparse(),
            [0, 1, 2, 3, 4],
        ],
        ids=str,
    )
    def test_positions(self, positions):
        with pytest.raises(PosencError, match="got positions"):
            layer()(torch.zeros(2, 5, 16), positions=positions)

    @pytest.mark.parametrize(
        "offset",
        [
            torch.zeros(3).long(),
            torch.zeros(2, 1).long(),
            torch.zeros(2),
            torch.tensor([1, 2]).to_sparse(),
            torch.zeros(2, device="meta").long(),
            1.5,
            True,
            2**63,
            "0",
            None,
        ],
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

    @pytest.mark.parametrize(
        "mask",
        [
            torch.zeros(2, 5),
            torch.zeros(5) > 0,
            torch.zeros(5, 2) > 0,
            (torch.zeros(2, 5) > 0).to_sparse(),
            torch.zeros(2, 5, dtype=torch.bool, device="meta"),
            [[True]],
        ],
        ids=str,
    )
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
