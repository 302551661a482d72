"""Ints beyond float64, and beyond what Python writes in digits, wherever a number is taken: an error of ours."""

import re

import pytest
import torch

import posenc
from posenc import (
    AlibiBias,
    Convention,
    EncoderBlock,
    LearnedPositionalEmbedding,
    PositionalEncoding,
    RelativePositionBias,
    RotaryEmbedding,
    SequenceEmbedding,
    TimestepEmbedding,
)
from posenc.arguments.numbers import LARGEST, is_number
from posenc.errors import PosencError, shown
from posenc.frequency import Stretch

# float64 ends at 2^1024, and Python writes no int of more than 4300 digits.
LONG = {"401 digits": 10**400, "5001 digits": 10**5000}
X, ROW = torch.zeros(1, 2, 8), posenc.encode(1, 8)
YARN = {"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 64}
LLAMA3 = {**YARN, "rope_type": "llama3", "low_freq_factor": 1, "high_freq_factor": 4}
LONGROPE = {"rope_type": "longrope", "original_max_position_embeddings": 64, "factor": 2,
            "short_factor": [1] * 4, "long_factor": [1] * 4}  # fmt: skip
TWO = ("row", "column")
OPTIONS = ("base", "first", "last", "endpoint_shift", "position_offset", "position_scale", "cell_origin",
           "cell_epsilon", "rotary_dim", "gain", "name", "layout", "state_names", "axes", "released_as")  # fmt: skip
SCALINGS = {
    "rope_theta": {}, "partial_rotary_factor": {}, "rope_type": {}, "factor": {"rope_type": "linear"},
    "original_max_position_embeddings": YARN, "max_position_embeddings": {**YARN, "factor": None},
    "attention_factor": YARN, "beta_fast": YARN, "beta_slow": YARN, "truncate": YARN,
    "mscale": {**YARN, "mscale_all_dim": 1}, "low_freq_factor": LLAMA3, "high_freq_factor": LLAMA3,
}  # fmt: skip


def factor_set(n):
    RotaryEmbedding(8).attention_factor = n


CALLS = {f"Convention({name}=)": lambda n, name=name: Convention(**{name: n}) for name in OPTIONS}
CALLS |= {f"scaling {name}": lambda n, name=name, rest=rest: RotaryEmbedding(8, scaling={**rest, name: n})
          for name, rest in SCALINGS.items()}  # fmt: skip
CALLS |= {
    "Convention(zero_rows=)": lambda n: Convention(zero_rows=(n,)),
    "Convention(frequencies=)": lambda n: Convention(spacing="explicit", frequencies=(n, 1)),
    "Convention(axis_shares=)": lambda n: Convention(axes=TWO, axis_shares=(-n, 1)),
    "Convention.with_frequencies": lambda n: Convention().with_frequencies([n, 1]),
    "Stretch(factor=)": lambda n: Stretch(kind="linear", factor=n),
    "Stretch(trained=)": lambda n: Stretch(kind="dynamic", factor=2, trained=n),
    "Stretch(turning=)": lambda n: Stretch(kind="proportional", turning=n),
    "Stretch(short=)": lambda n: Stretch(kind="longrope", trained=8, short=(n,), long=(1,)),
    "Stretch(kind=)": lambda n: Stretch(kind=n),
    "scaling of dynamic": lambda n: RotaryEmbedding(8, scaling={"rope_type": "dynamic", "factor": 2,
                                                                "max_position_embeddings": n}),
    "scaling of llama3": lambda n: RotaryEmbedding(8, scaling={**LLAMA3, "original_max_position_embeddings": n}),
    "scaling of longrope": lambda n: RotaryEmbedding(8, scaling={**LONGROPE, "original_max_position_embeddings": n}),
    "scaling short_factor": lambda n: RotaryEmbedding(8, scaling={**LONGROPE, "short_factor": [n] * 4}),
    "scaling mrope_section": lambda n: RotaryEmbedding(8, scaling={"mrope_section": [n, 1]}),
    "attention_factor": factor_set,
    "RotaryEmbedding(base=)": lambda n: RotaryEmbedding(8, base=n),
    "RotaryEmbedding(base=) beside rope_theta": lambda n: RotaryEmbedding(8, base=n, scaling={"rope_theta": 2.0}),
    "RotaryEmbedding(rotary_dim=)": lambda n: RotaryEmbedding(8, rotary_dim=n),
    "RotaryEmbedding(sections=)": lambda n: RotaryEmbedding(8, sections=(n, 1)),
    "RotaryEmbedding(seq_dim=)": lambda n: RotaryEmbedding(8, seq_dim=n)(X, X),
    "RotaryEmbedding(dim)": RotaryEmbedding,
    "rotary(offset=)": lambda n: RotaryEmbedding(8)(X, X, offset=n),
    "rotary(length=)": lambda n: RotaryEmbedding(8)(X, X, length=n),
    "rotary(positions=)": lambda n: RotaryEmbedding(8)(X, X, positions=[n, 1]),
    "rotate": lambda n: posenc.rotate(X, [n, 1]),
    "encode": lambda n: posenc.encode(n, 8),
    "encode, a list": lambda n: posenc.encode([n, 1], 8),
    "encode, a list with floats": lambda n: posenc.encode([n, 0.5], 8),
    "encode(dim)": lambda n: posenc.encode(0, n),
    "table": lambda n: posenc.table(n, 8),
    "table(start=)": lambda n: posenc.table(1, 8, start=n),
    "grid": lambda n: posenc.grid((n, 1), 8),
    "grid(trained_sizes=)": lambda n: posenc.grid((1, 1), 8, trained_sizes=n),
    "grid(trained_sizes=) of two": lambda n: posenc.grid((1, 1), 8, trained_sizes=(n, 1)),
    "shift": lambda n: posenc.shift(ROW, n),
    "shift_matrix": lambda n: posenc.shift_matrix(n, 8),
    "similarity": lambda n: posenc.similarity(n, 8),
    "locate": lambda n: posenc.locate(ROW, limit=n),
    "convert(heads=)": lambda n: posenc.convert(X, "halves", "interleaved", heads=n),
    "convert(rotary_dim=)": lambda n: posenc.convert(X, "halves", "interleaved", rotary_dim=n),
    "convert(axis=)": lambda n: posenc.convert(X, "halves", "interleaved", axis=n),
    "PositionalEncoding(dropout=)": lambda n: PositionalEncoding(8, dropout=n),
    "PositionalEncoding(max_len=)": lambda n: PositionalEncoding(8, max_len=n),
    "PositionalEncoding(trained_length=)": lambda n: PositionalEncoding(8, trained_length=n),
    "PositionalEncoding(batch_first=)": lambda n: PositionalEncoding(8, batch_first=n),
    "layer(offset=)": lambda n: PositionalEncoding(8)(X, offset=n),
    "LearnedPositionalEmbedding(std=)": lambda n: LearnedPositionalEmbedding(8, 8, std=n),
    "LearnedPositionalEmbedding(max_len)": lambda n: LearnedPositionalEmbedding(n, 8),
    "LearnedPositionalEmbedding(position_offset=)": lambda n: LearnedPositionalEmbedding(8, 8, position_offset=n),
    "RelativePositionBias(std=)": lambda n: RelativePositionBias(8, std=n),
    "RelativePositionBias(max_distance=)": lambda n: RelativePositionBias(8, 32, n),
    "RelativePositionBias(heads)": RelativePositionBias,
    "AlibiBias(heads)": AlibiBias,
    "AlibiBias(form=)": lambda n: AlibiBias(2, form=n),
    "bias(lengths)": lambda n: AlibiBias(2)(n, n),
    "bias(offset=)": lambda n: AlibiBias(2)(2, 2, offset=n),
    "times": TimestepEmbedding(8),
    "a list of times": lambda n: TimestepEmbedding(8)([n]),
    "SequenceEmbedding(num_embeddings)": lambda n: SequenceEmbedding(n, 8),
    "SequenceEmbedding(padding_idx=)": lambda n: SequenceEmbedding(8, 8, padding_idx=n),
    "lengths": lambda n: posenc.positions_from_lengths([n]),
    "lengths, total=": lambda n: posenc.positions_from_lengths([1], total=n),
    "a mask, filler=": lambda n: posenc.positions_from_mask(torch.ones(1, 2), filler=n),
    "shards": lambda n: posenc.shard_positions(n, 0, 1),
    "shards, rank": lambda n: posenc.shard_positions(8, n, n),
    "EncoderBlock(dim_feedforward)": lambda n: EncoderBlock(8, 2, n),
    "EncoderBlock(dropout=)": lambda n: EncoderBlock(8, 2, dropout=n),
}  # fmt: skip


@pytest.mark.parametrize("digits", LONG)
@pytest.mark.parametrize("call", CALLS)
def test_an_error_of_ours(call, digits):
    with pytest.raises(PosencError, match=r"^got .+, but wanted .+; .+\.$"):
        CALLS[call](LONG[digits])


@pytest.mark.parametrize("digits", LONG)
def test_the_message_is_short(digits):
    bits = f"an int of {LONG[digits].bit_length()} bits"
    for name in ("rope_theta", "factor"):
        with pytest.raises(PosencError, match=re.escape(f"got {name}={bits}, but wanted")):
            CALLS[f"scaling {name}"](LONG[digits])


def test_numbers_are_those_that_float64_holds():
    assert all(map(is_number, (0, -1, 2**1023 - 1, 1e308 / 2, -0.5)))
    assert not any(map(is_number, (LARGEST, 2**1023, -(2**1023), True, "1", None, 1j, float("nan"), float("-inf"))))


def test_values_are_shown_as_they_are_but_long_ints():
    for value in (5, -3, True, None, "x", 0.5, (1,), (1, 2), [1, "a"], (), [], 2**256 - 1, {1: 2}):
        assert shown(value) == repr(value)
    assert shown((2**256, [-(2**300)])) == "(an int of 257 bits, [an int of 301 bits])"


# ---- widths ----------------------------------------------------------------------------------------------------------

WIDE = {
    "encode": lambda n: posenc.encode(0, n),
    "table": lambda n: posenc.table(1, n),
    "wavelengths": posenc.wavelengths,
    "shift_matrix": lambda n: posenc.shift_matrix(1, n),
    "similarity": lambda n: posenc.similarity(1, n),
    "grid": lambda n: posenc.grid((1, 1), n),
    "ladder": lambda n: Convention().ladder(n),
    "PositionalEncoding": PositionalEncoding,
    "LearnedPositionalEmbedding": lambda n: LearnedPositionalEmbedding(1, n),
    "SequenceEmbedding": lambda n: SequenceEmbedding(1, n),
    "RotaryEmbedding": RotaryEmbedding,
    "TimestepEmbedding": TimestepEmbedding,
    "EncoderBlock": lambda n: EncoderBlock(n, 1),
}


@pytest.mark.parametrize("width", [2**20 + 4, 2**40])
@pytest.mark.parametrize("call", WIDE)
def test_a_width_that_no_model_has_is_refused_before_its_ladder_is_made(call, width):
    with pytest.raises(PosencError, match=rf"={width}, but wanted a width of at most 1048576; pass the width"):
        WIDE[call](width)
