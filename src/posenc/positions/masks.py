"""Positions from padding masks: a token's position is the number of real tokens before it in its row."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..arguments.tensors import check_dense
from ..encoding.arguments import INT64_MAX, INT64_MIN, is_readable
from ..errors import DtypeError, refuse
from ..trig.rounding import FORMATS
from .arguments import INTEGERS, check_count

_SWAP = "pass the mask under its other name if it is the other way round, or drop that"
_BOOL = "for a mask that is added to scores pass attention_mask=mask == 0, else a bool mask"


def real_tokens(
    mask: Any, padding: Any, names: tuple[str, str], axes: tuple[str, ...] = ("S",), row: str = "row"
) -> Tensor:
    """One of two masks, `mask` with non-zero for what is real or `padding` with zero for it -> bool, True for real.

    `axes` are the last ones, over which there must be something real; values are looked at only on the CPU in
    eager mode.
    """
    if (mask is None) == (padding is None):
        refuse(
            "no mask" if mask is None else f"both {names[0]} and {names[1]}",
            "one mask",
            f"pass {names[0]} where non-zero is real, or {names[1]} where True is padding",
        )
    given, name = (padding, names[1]) if mask is None else (mask, names[0])
    shape = f"(..., {', '.join(axes)})"
    if not isinstance(given, Tensor):
        fix = "wrap it in torch.tensor"
        refuse(f"{name} of type {type(given).__name__}", f"a tensor of shape {shape}", fix, error=DtypeError)
    if given.dtype != torch.bool and given.dtype not in INTEGERS and given.dtype not in FORMATS:
        refuse(f"{name} of {given.dtype}", "bool, or integers or floats of 0 and 1", "cast it", error=DtypeError)
    check_dense(given, name)
    if given.dtype in INTEGERS:
        # torch has no comparisons for unsigned integers of 16 and 32 bits.
        given = given.to(torch.int64)
    if given.ndim < len(axes):
        refuse(f"{name} of shape {tuple(given.shape)}", shape, "add an axis")
    readable = is_readable(given) and given.numel() > 0
    if readable and given.dtype != torch.bool:
        _check_values(given, name)
    real = given == 0 if mask is None else given != 0
    if readable:
        _check_rows(real.flatten(-len(axes)).any(-1), name, row)
    return real


def _check_values(given: Tensor, name: str) -> None:
    low = given.min().item()
    if not given.is_floating_point():
        if low < 0:
            refuse(f"{name} with the value {low}", "integers of at least 0", _BOOL)
        return
    wrong = given[(given != 0) & (given != 1)]
    if wrong.numel():
        refuse(f"{name} of {given.dtype} with the value {wrong[0].item():g}", "floats of 0 and 1 alone", _BOOL)


def _check_rows(filled: Tensor, name: str, row: str) -> None:
    if not bool(filled.all()):
        where = tuple(torch.nonzero(~filled)[0].tolist())
        place = f" at {where[0] if len(where) == 1 else where}" if where else ""
        refuse(f"{name} with a {row}{place} that is all padding", f"something real in every {row}", f"{_SWAP} {row}")


def positions_from_mask(
    attention_mask: Tensor | None = None, *, key_padding_mask: Tensor | None = None, filler: int = 0
) -> Tensor:
    """A padding mask (..., S) -> int64 positions (..., S), counted over the real tokens of each row.

    Padding may stand left, right, inside or nowhere. Law: the real tokens of a row get 0, 1, 2, ... in their order,
    as if the row held nothing else; without padding that is torch.arange(S). Systems that count columns instead
    number a row by torch.arange(S), padding and all: this function is for the others.

    Pass one of the two masks; they mean opposite things. In both, the values may be bool, or 0 and 1 of any integer
    or float dtype. Nothing is looked at on accelerators and inside compiled graphs; rows are never modified.

    Args:
        attention_mask: non-zero is a real token, as tokenizers of Hugging Face give it. Integers above 1 (numbers of
            documents) are real tokens too: to number each document from 0 use `positions_from_lengths`.
        key_padding_mask: True is padding, as `torch.nn.MultiheadAttention` takes it.
        filler: the position of padding. It is 0, which every table has, whatever the token id of padding is.

    Raises:
        PosencError: for no mask or two, a wrong dtype, floats other than 0 and 1, a row that is all padding (most
            often a mask under the wrong name).

    Source: transformers counts `attention_mask.cumsum(-1) - 1`, with filler 1 in some models and 0 in others. fairseq
    counts the same tokens from padding_idx + 1 on; here the offset belongs to the convention.

    >>> positions_from_mask(torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]))
    tensor([[0, 0, 0, 1, 2],
            [0, 1, 2, 3, 4]])
    >>> positions_from_mask(key_padding_mask=torch.tensor([False, False, True, False]), filler=1)
    tensor([0, 1, 1, 2])
    """
    real = real_tokens(attention_mask, key_padding_mask, ("attention_mask", "key_padding_mask"))
    filler = check_count(filler, "filler", INT64_MIN, INT64_MAX, "pass the position that padding gets, as in filler=0")
    return counted(real, filler)


def counted(real: Tensor, filler: int) -> Tensor:
    """True for real tokens (..., S) -> their numbers 0, 1, 2, ... in each row, and `filler` for the others."""
    return (real.to(torch.int64).cumsum(-1) - 1).masked_fill(~real, filler)


def next_positions(attention_mask: Tensor | None = None, *, key_padding_mask: Tensor | None = None) -> Tensor:
    """A padding mask (..., S) -> int64 (...), the position of the token that comes next in each row.

    Law: it is the number of real tokens in the row, wherever padding stands; the layer takes it as `offset`.
    Masks and errors as in `positions_from_mask`.

    >>> next_positions(torch.tensor([[1, 1, 1, 0, 0], [0, 1, 1, 1, 1]]))
    tensor([3, 4])
    """
    real = real_tokens(attention_mask, key_padding_mask, ("attention_mask", "key_padding_mask"))
    return real.sum(-1, dtype=torch.int64)
