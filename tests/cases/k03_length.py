"""Longer than was planned: any length is computed, and what a model was trained on is another matter."""

from __future__ import annotations

import warnings

import pytest
import torch

from posenc import LearnedPositionalEmbedding, PositionalEncoding, SequenceEmbedding, table
from posenc.errors import InputError

from .formula import FLOAT32, off, row, rows
from .register import case


@case("B19")
def a_table_of_200_takes_207_tokens_and_loads_into_one_of_300():
    layer = PositionalEncoding(8, 0.0, 200)
    assert off(layer(torch.zeros(1, 207, 8))[0], rows(range(207), 8)) <= FLOAT32
    other = PositionalEncoding(8, 0.0, 300)
    found = other.load_state_dict(layer.state_dict())
    assert (found.missing_keys, found.unexpected_keys) == ([], [])
    assert off(other.pe[0], rows(range(300), 8)) <= FLOAT32


@case("B21")
def lengths_that_were_not_trained_are_warned_of_once():
    layer, x = PositionalEncoding(8, 0.0, trained_length=1024), torch.zeros(1, 1042, 8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = [layer(x), layer(x)]
    assert len(caught) == 1
    assert "1041" in str(caught[0].message)
    assert "trained_length=1024" in str(caught[0].message)
    for result in results:
        assert off(result[0], rows(range(1042), 8)) <= FLOAT32
    # A trained table has an end, and says so with both numbers.
    with pytest.raises(InputError, match="from 0 to 1041, but wanted positions from 0 to 1023"):
        LearnedPositionalEmbedding(1024, 8)(x)


@case("B22")
def old_checkpoints_with_or_without_their_table_load():
    # The table is in the state dict, under the name that everyone gives it; whatever a file holds of it loads.
    for options in ({}, {"persistent": False}):
        layer = PositionalEncoding(8, 0.0, 25, **options)
        for state in ({"pe": table(10, 8)}, {"pe": table(10, 8).unsqueeze(1)}, {}):
            layer.load_state_dict(dict(state))
            out = layer(torch.zeros(1, 25, 8))
            assert off(out[0, 20], row(20, 8)) <= FLOAT32


@case("B24")
def growing_keeps_the_dtype():
    # In the layer's own dtype, and beside a table in float32.
    for layer in (PositionalEncoding(8, 0.0, 8).half(), PositionalEncoding(8, 0.0, 8)):
        short, long = layer(torch.zeros(1, 4, 8).half()), layer(torch.zeros(1, 40, 8).half())
        assert short.dtype == long.dtype == torch.float16
        assert torch.equal(short, long[:, :4])
        # Half a unit in the last place below 1.
        assert off(long[0], rows(range(40), 8)) <= 2.0**-12


@case("B25")
def two_limits_are_two_things():
    layer = PositionalEncoding(8, 0.0, max_len=64, trained_length=512)
    with pytest.warns(UserWarning, match="trained_length=512") as caught:
        out = layer(torch.zeros(1, 600, 8))
    assert len(caught) == 1
    assert off(out[0], rows(range(600), 8)) <= FLOAT32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PositionalEncoding(8, 0.0, max_len=64)(torch.zeros(1, 600, 8))
        layer(torch.zeros(1, 512, 8))


@case("B26")
def the_maximum_is_in_no_value():
    short, long = PositionalEncoding(8, 0.0, 40), PositionalEncoding(8, 0.0, 10000)
    assert torch.equal(short.pe[0], long.pe[0, :40])
    assert torch.equal(table(40, 8), table(10000, 8)[:40])
    # Nor is the size of the vocabulary.
    fronts = [SequenceEmbedding(size, 8, 0.0) for size in (40, 10000)]
    assert torch.equal(fronts[0].encoding.pe, fronts[1].encoding.pe)
