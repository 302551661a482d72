"""Every argument of every pure function, given what it is not: an error of ours, in its three parts, or a result."""

import dataclasses
import warnings

import pytest
import torch

from posenc import (
    Convention,
    convert,
    encode,
    grid,
    locate,
    rotate,
    shift,
    shift_matrix,
    similarity,
    table,
    wavelengths,
)
from posenc.errors import PosencError

ROWS = torch.ones(3, 8)


def nested() -> torch.Tensor:
    """What calls its layout strided, and has no size."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nested.nested_tensor([torch.ones(2, 8), torch.ones(3, 8)])


def quantised() -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(ROWS, 0.1, 0, torch.qint8)


def compressed() -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ROWS.to_sparse_csr()


BAD = {
    "None": lambda: None,
    "a string": lambda: "x",
    "a lone surrogate": lambda: "\ud800",
    "bytes": lambda: b"a",
    "a list": lambda: [1.5],
    "a list of lists": lambda: [[1], [2, 3]],
    "a dictionary": dict,
    "a set": lambda: {1},
    "a generator": lambda: iter((1, 2)),
    "a function": lambda: len,
    "a class": lambda: int,
    "an object": object,
    "a dtype": lambda: torch.int8,
    "True": lambda: True,
    "-1": lambda: -1,
    "2^63": lambda: 2**63,
    "10^400": lambda: 10**400,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "2^1000": lambda: 2.0**1000,
    "a complex number": lambda: 1j,
    "a tensor": lambda: ROWS,
    "a tensor of integers": lambda: torch.arange(3),
    "a number in a tensor": lambda: torch.tensor(1.0),
    "no numbers": lambda: torch.ones(0),
    "a tensor of uint16": lambda: torch.arange(3).to(torch.uint16),
    "a tensor of uint32": lambda: torch.arange(3).to(torch.uint32),
    "a tensor of uint64": lambda: torch.arange(3).to(torch.uint64),
    "a tensor of float8": lambda: ROWS.to(torch.float8_e4m3fn),
    "complex tensors": lambda: ROWS * 1j,
    "no data": lambda: torch.ones(3, 8, device="meta"),
    "sparse": ROWS.to_sparse,
    "compressed": compressed,
    "nested": nested,
    "quantised": quantised,
}
CALLS = {
    "encode, positions": lambda bad: encode(bad, 8),
    "encode, dim": lambda bad: encode(1, bad),
    "encode, convention": lambda bad: encode(1, 8, bad),
    "encode, dtype": lambda bad: encode(1, 8, dtype=bad),
    "encode, device": lambda bad: encode(1, 8, device=bad),
    "table, length": lambda bad: table(bad, 8),
    "table, dim": lambda bad: table(3, bad),
    "table, convention": lambda bad: table(3, 8, bad),
    "table, start": lambda bad: table(3, 8, start=bad),
    "table, dtype": lambda bad: table(3, 8, dtype=bad),
    "table, device": lambda bad: table(3, 8, device=bad),
    "table, out": lambda bad: table(3, 8, out=bad),
    "grid, sizes": lambda bad: grid(bad, 16),
    "grid, a size": lambda bad: grid((bad, 2), 16),
    "grid, dim": lambda bad: grid((2, 2), bad),
    "grid, convention": lambda bad: grid((2, 2), 16, bad),
    "grid, trained sizes": lambda bad: grid((2, 2), 16, trained_sizes=bad),
    "grid, dtype": lambda bad: grid((2, 2), 16, dtype=bad),
    "grid, device": lambda bad: grid((2, 2), 16, device=bad),
    "shift, encoding": lambda bad: shift(bad, 1),
    "shift, offset": lambda bad: shift(ROWS, bad),
    "shift, convention": lambda bad: shift(ROWS, 1, bad),
    "shift_matrix, offset": lambda bad: shift_matrix(bad, 8),
    "shift_matrix, dim": lambda bad: shift_matrix(1, bad),
    "shift_matrix, dtype": lambda bad: shift_matrix(1, 8, dtype=bad),
    "similarity, offset": lambda bad: similarity(bad, 8),
    "similarity, dim": lambda bad: similarity(1, bad),
    "wavelengths, dim": wavelengths,
    "wavelengths, convention": lambda bad: wavelengths(8, bad),
    "locate, encoding": locate,
    "locate, convention": lambda bad: locate(ROWS, bad),
    "locate, limit": lambda bad: locate(ROWS, limit=bad),
    "convert, tensor": lambda bad: convert(bad, "transformer", "openai-whisper"),
    "convert, source": lambda bad: convert(ROWS, bad, "transformer"),
    "convert, target": lambda bad: convert(ROWS, "transformer", bad),
    "convert, axis": lambda bad: convert(ROWS, "transformer", "transformer", axis=bad),
    "convert, heads": lambda bad: convert(ROWS, "llama", "gptj-rotary", heads=bad),
    "convert, rotary_dim": lambda bad: convert(ROWS, "llama", "gptj-rotary", rotary_dim=bad),
    "rotate, x": lambda bad: rotate(bad, [0, 1, 2]),
    "rotate, positions": lambda bad: rotate(ROWS, bad),
    "rotate, convention": lambda bad: rotate(ROWS, [0, 1, 2], bad),
    "rotate, seq_dim": lambda bad: rotate(ROWS, [0, 1, 2], seq_dim=bad),
}
CALLS |= {
    f"Convention, {field.name}": lambda bad, name=field.name: encode(1, 8, Convention(**{name: bad}))
    for field in dataclasses.fields(Convention)
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("call", CALLS)
def test_it_is_a_result_or_an_error_of_ours(call, bad):
    given = BAD[bad]()
    try:
        CALLS[call](given)
    except PosencError as error:
        text = str(error)
        assert text.startswith("got ")
        assert ", but wanted " in text
        assert text.endswith((".", "?"))


def test_most_of_it_is_refused():
    refused = 0
    for call in CALLS.values():
        for bad in BAD.values():
            try:
                call(bad())
            except PosencError:
                refused += 1

    assert refused > 0.8 * len(CALLS) * len(BAD)


@pytest.mark.parametrize(
    "call",
    [
        lambda: encode(nested(), 8),
        lambda: similarity(nested(), 8),
        lambda: shift(nested(), 1),
        lambda: shift(ROWS, nested()),
        lambda: shift_matrix(nested(), 8),
        lambda: locate(nested()),
        lambda: rotate(nested(), [0, 1, 2]),
        lambda: rotate(ROWS, nested()),
        lambda: table(3, 8, out=nested()),
    ],
)
def test_a_strided_nested_tensor_is_answered_with_what_works(call):
    with pytest.raises(
        PosencError, match=r"got nested \w+, but wanted a dense tensor; pass torch.nested.to_padded_tensor\(\w+, 0\)"
    ):
        call()
    assert nested().to_padded_tensor(0.0).shape == (2, 3, 8)
    assert [tuple(part.shape) for part in nested().unbind()] == [(2, 8), (3, 8)]
