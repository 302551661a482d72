"""Axes, shapes and broadcasting: which axis is the sequence, and how wide are its vectors."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest
import torch

import posenc
from posenc import PositionalEncoding, RotaryEmbedding, rotate
from posenc.errors import InputError

from .formula import FLOAT32, FLOAT32_ROTATION, off, row, rows, turned
from .register import case


def layer(d_model: int = 8, **options) -> PositionalEncoding:
    return PositionalEncoding(d_model, 0.0, **options)


@case("B01")
def the_batch_never_enters_the_arithmetic():
    first, last = layer(max_len=64), layer(max_len=64, batch_first=False)
    for batch in (3, 7):
        out = first(torch.zeros(batch, 7, 8))
        assert torch.equal(out, last(torch.zeros(7, batch, 8)).transpose(0, 1))
        assert off(out, rows(range(7), 8).expand(batch, 7, 8)) <= FLOAT32
    # A square follows the flag.
    square = torch.zeros(7, 7, 8)
    assert off(first(square)[0, 3], row(3, 8)) <= FLOAT32
    assert off(first(square)[3, 0], row(0, 8)) == 0
    assert off(last(square)[0, 3], row(0, 8)) == 0
    assert off(last(square)[3, 0], row(3, 8)) <= FLOAT32


@case("B02")
def the_layout_is_said():
    last = layer(batch_first=False)
    assert "batch_first=False" in repr(last)
    assert "batch_first=True" in repr(layer())
    out = last(torch.zeros(4, 10, 8))
    assert off(out[:, 0], rows(range(4), 8)) <= FLOAT32
    assert torch.equal(out, out[:, :1].expand(4, 10, 8))
    with pytest.raises(InputError, match=r"\(S, B, 8\) with batch_first=False"):
        last(torch.zeros(2, 4, 10, 8))
    with pytest.raises(InputError, match=r"\(\.\.\., S, 8\) with batch_first=True"):
        layer()(torch.zeros(4, 10))


@case("B04")
def one_sequence_is_a_batch_of_one():
    x = torch.randn(2, 5, 8)
    assert torch.equal(layer()(x)[0], layer()(x[0]))


@case("B06")
def the_axis_of_the_sequence_is_named():
    x = torch.ones(1, 6, 3, 4)
    by_token, by_head = RotaryEmbedding(4, seq_dim=-3), RotaryEmbedding(4)
    assert "seq_dim=-3" in repr(by_token)
    assert "seq_dim=-2" in repr(by_head)
    made, _ = by_token(x, x)
    for head in range(3):
        assert off(made[0, :, head], [turned([1.0] * 4, t) for t in range(6)]) <= FLOAT32_ROTATION
    assert torch.equal(made[0, 0], x[0, 0])
    assert not torch.equal(made[0, 1], x[0, 0])
    swapped = x.transpose(1, 2)
    assert torch.equal(by_head(swapped, swapped)[0].transpose(1, 2), made)


@case("B07")
def the_length_comes_from_the_named_axis():
    rotary, q = RotaryEmbedding(8, seq_dim=1), torch.randn(2, 5, 3, 8)
    whole, _ = rotary(q, q)
    assert whole.shape == q.shape
    for head in range(3):
        assert torch.equal(whole[:, :, head], rotate(q[:, :, head], range(5)))
    # A step of a decoder: one token, three heads.
    step = q[:, 4:]
    assert torch.equal(rotary(step, step, offset=4)[0], whole[:, 4:])
    assert off(whole[1, 4, 2], turned(q[1, 4, 2].tolist(), 4)) <= FLOAT32_ROTATION
    with pytest.raises(InputError, match="seq_dim=-1"):
        RotaryEmbedding(8, seq_dim=-1)


@case("B09")
def any_number_of_leading_axes():
    alone = rows(range(6), 8)
    for shape in ((6, 8), (2, 6, 8), (2, 3, 6, 8)):
        out = layer()(torch.zeros(shape))
        assert out.shape == shape
        assert off(out, alone.expand(shape)) <= FLOAT32


@case("B10")
def another_width_is_refused_with_both():
    with pytest.raises(InputError, match=r"\(1, 6, 2, 12\).*\(\.\.\., S, 8\)"):
        layer()(torch.zeros(1, 6, 2, 12))
    with pytest.raises(InputError, match=r"\(1, 6, 2, 12\).*heads of 8 columns"):
        RotaryEmbedding(8)(torch.zeros(1, 6, 2, 12), torch.zeros(1, 6, 2, 12))
    with pytest.raises(InputError, match=r"\(6, 2, 12\).*8"):
        posenc.LearnedPositionalEmbedding(16, 8)(torch.zeros(6, 2, 12))
    with pytest.raises(InputError, match=r"\(6, 2, 12\).*8"):
        posenc.EncoderBlock(8, 2)(torch.zeros(6, 2, 12))


@case("B11")
def shapes_of_docstrings_are_run():
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    for name in posenc.__all__:
        thing = getattr(posenc, name)
        if not inspect.isroutine(thing) and not inspect.isclass(thing):
            continue
        home = importlib.import_module(thing.__module__)
        found = [test for test in finder.find(thing, name, globs=vars(home).copy()) if test.examples]
        assert found, f"{name} has no example that runs"
        for test in found:
            assert runner.run(test).failed == 0, name
