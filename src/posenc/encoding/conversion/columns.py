"""Tensors moved from one convention to another by a permutation of their columns."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, get_args

import torch
from torch import Tensor

from ...arguments.numbers import as_index
from ...convention import Convention, resolve
from ...errors import ConventionError, DtypeError, refuse, shown
from ...layout import Layout
from ...tracing import constant_in_graphs
from ..prepared import closed, packed, unpacked
from ..rotation import width_of
from .differences import check_alike, refuse_unlike
from .held import held, permutation

LAYOUTS: tuple[Layout, ...] = get_args(Layout)


def convert(
    tensor: Tensor,
    source: str | Convention,
    target: str | Convention,
    *,
    axis: int = -1,
    heads: int | None = None,
    rotary_dim: int | None = None,
) -> Tensor:
    """Move a tensor from one convention to another: the same values with the columns along `axis` in another order.

    - A table of encodings (..., dim), or an embedding that was trained beside one (vocabulary, dim): axis=-1.
    - A weight that reads encodings, as `nn.Linear` holds it (out, dim): axis=-1, its in-features.
    - A projection of queries or keys that rotary turns, weight (heads * head_dim, in) or bias (heads * head_dim,):
      axis=0 with `heads`; the number of key heads where keys have fewer. Split a fused projection first.

    Laws: convert(encode(p, dim, a), a, b) == encode(p, dim, b) where both are exact, bit for bit (to rounding
    where tables are standardised); convert(convert(x, a, b), b, a) == x, bit for bit. Queries and keys that are
    both converted on their out-features give equal scores, to rounding.

    Sines and cosines may change places, pairs may be interleaved or lie in halves, axes may follow each other in any
    order, included inputs may stand before or behind. Everything else differs in values and is refused with what
    differs: ladders, and by how much; offsets, signs, gains, axes, rows of zeros, a column that an odd width cuts off
    in one of them alone. Columns of padding go to columns of padding. `arithmetic` plays no part.

    Args:
        tensor: any dtype that is not quantised, any device, any strides. It is never changed; the result is new,
            plain, and differentiable.
        source: what the columns are now: a name, a `Convention`, or the words "halves" or "interleaved".
            Two words speak of layouts alone, as rotary does: pair k is columns (k, k + dim / 2) or (2k, 2k + 1).
            One word beside a convention is that convention in this layout.
        target: what they are to be, said likewise.
        axis: of the columns; they fill it, head by head.
        heads: how many heads the axis holds, one after the other; None is one.
        rotary_dim: how many columns at the beginning of each head are moved; the others stay. None is what source
            and target say, where one of them is a rotary convention that turns a part of each head, else all.

    Raises:
        ConventionError: where no permutation leads from source to target, or the width does not fit one of them.
        InputError: where axis, heads or rotary_dim do not fit the tensor.
        DtypeError: where an argument is of the wrong kind.

    Sources: the layouts are those of `posenc.conventions`; that queries and keys may be permuted together is used
    by the script that brings Llama's weights to transformers.

    >>> import torch
    >>> from posenc import encode
    >>> row = encode(1, 4)
    >>> row, convert(row, "transformer", "halves")
    (tensor([0.8415, 0.5403, 0.0100, 0.9999]), tensor([0.8415, 0.0100, 0.5403, 0.9999]))
    >>> whisper = encode(7, 8, "openai-whisper")
    >>> torch.equal(convert(whisper, "openai-whisper", "audiocraft"), encode(7, 8, "audiocraft"))
    True
    >>> query = torch.arange(8).view(8, 1)  # (heads * head_dim, in): two heads of four
    >>> convert(query, "interleaved", "halves", axis=0, heads=2).view(2, 4)
    tensor([[0, 2, 1, 3],
            [4, 6, 5, 7]])
    >>> convert(encode(7, 64), "transformer", "tensor2tensor")
    Traceback (most recent call last):
    posenc.errors.ConventionError: got source 'transformer' and target 'tensor2tensor' at dim=64, whose ladders ...
    """
    axis = _check_axis(tensor, axis)
    size = tensor.shape[axis]
    head = _check_head(tensor, axis, heads)
    moved = None if rotary_dim is None else _check_rotary_dim(rotary_dim, head)
    order = _constant(packed(source), packed(target), closed(head), None if moved is None else closed(moved))
    index = torch.tensor(order, dtype=torch.int64, device=tensor.device)
    if head < size:
        index = (torch.arange(0, size, head, device=tensor.device).unsqueeze(-1) + index).reshape(-1)
    return tensor.index_select(axis, index)


@constant_in_graphs
def _constant(source: Any, target: Any, head: int, moved: int | None) -> tuple[int, ...]:
    """For each column of a head of the target, the column of the source that goes there."""
    said = _spoken(unpacked(source), "source"), _spoken(unpacked(target), "target")
    moved = _moved(*said, head, moved)
    one, other = (
        replace(each, rotary_dim=None, _named=None) if isinstance(each, Convention) else each for each in said
    )
    return (*_order(one, other, moved), *range(moved, head))


def _moved(source: Convention | Layout, target: Convention | Layout, head: int, given: int | None) -> int:
    """How many columns of each head are moved: as many as were asked for, and as both conventions turn.

    A convention without a width holds whole heads, or what was asked for.
    """
    wanted = {} if given is None else {"rotary_dim": given}
    for name, rule in (("source", source), ("target", target)):
        if isinstance(rule, Convention) and (rule.rotary_dim is not None or given is None):
            wanted[f"{name} {rule.label}"] = head if rule.rotary_dim is None else width_of(rule, head)
    if len(set(wanted.values())) > 1:
        refuse(
            f"{' and '.join(f'{who} of {width}' for who, width in wanted.items())} columns, heads of {head}",
            "one number of columns that turn",
            "leave rotary_dim out, or pass heads so that each head has its own width",
            error=ConventionError,
        )
    return next(iter(wanted.values()), head)


def _spoken(given: Any, name: str) -> Convention | Layout:
    """A convention, or a layout where its word alone was said."""
    for layout in LAYOUTS:
        if isinstance(given, str) and given == layout:
            return layout
    if not isinstance(given, (str, Convention)):
        refuse(
            f"{name}={given!r} of type {type(given).__name__}",
            'a name, a Convention, or "halves" or "interleaved"',
            "see posenc.conventions for the names",
            error=DtypeError,
        )
    return resolve(given)


@lru_cache(maxsize=64)
def _order(source: Convention | Layout, target: Convention | Layout, dim: int) -> tuple[int, ...]:
    """For each of `dim` columns of the target, the column of the source that goes there."""
    if isinstance(source, Convention):
        one, other = source, target if isinstance(target, Convention) else replace(source, layout=target, name=None)
    elif isinstance(target, Convention):
        one, other = replace(target, layout=source, name=None), target
    else:
        if dim % 2:
            refuse(
                f"{dim} columns to be laid out as {target}",
                "an even number, since rotary turns pairs of columns",
                "pass heads, and rotary_dim where only the beginning of each head is turned",
                error=ConventionError,
            )
        # Any ladder will do: it is the same on both sides.
        one, other = Convention(layout=source), Convention(layout=target)
    check_alike(one, other, dim)
    columns = held(one.plan(dim)), held(other.plan(dim))
    order = permutation(*columns)
    return order if order is not None else refuse_unlike(one, other, dim)


def _check_axis(tensor: Any, axis: Any) -> int:
    """The axis of the columns, counted from the front."""
    if not isinstance(tensor, Tensor):
        refuse(f"tensor of type {type(tensor).__name__}", "a tensor", "pass it as torch.tensor(...)", error=DtypeError)
    if tensor.is_quantized or tensor.layout != torch.strided or tensor.is_nested:
        kind = "quantised" if tensor.is_quantized else "nested" if tensor.is_nested else str(tensor.layout)
        fix = "convert before quantising" if tensor.is_quantized else "convert its dense tensors"
        refuse(f"a tensor that is {kind}", "a dense tensor with plain values", fix, error=DtypeError)
    number = as_index(axis)
    if number is None:
        refuse(
            f"axis={shown(axis)} of type {type(axis).__name__}",
            "an int",
            "pass the axis of the columns",
            error=DtypeError,
        )
    if not -tensor.ndim <= number < tensor.ndim:
        wanted = f"an axis from {-tensor.ndim} to {tensor.ndim - 1}" if tensor.ndim else "at least one axis"
        refuse(
            f"axis={shown(number)} of a tensor of shape {tuple(tensor.shape)}", wanted, "pass the axis of the columns"
        )
    if not tensor.shape[number]:
        refuse(f"a tensor of shape {tuple(tensor.shape)} with axis={number}", "columns along it", "pass another axis")
    return number % tensor.ndim


def _check_head(tensor: Tensor, axis: int, heads: Any) -> int:
    """How many columns a head has."""
    size = int(tensor.shape[axis])
    if heads is None:
        return size
    number = as_index(heads)
    if number is None:
        refuse(
            f"heads={shown(heads)} of type {type(heads).__name__}", "an int", "leave it out for one", error=DtypeError
        )
    if number < 1 or size % number:
        refuse(
            f"heads={shown(number)} with {size} columns along axis {axis} of shape {tuple(tensor.shape)}",
            "a number of heads that divides them",
            "pass the number of query heads for a query and of key heads for a key, and the axis that holds them",
        )
    return size // number


def _check_rotary_dim(rotary_dim: Any, head: int) -> int:
    """How many columns of each head are to be moved."""
    number = as_index(rotary_dim)
    if number is None:
        refuse(
            f"rotary_dim={shown(rotary_dim)} of type {type(rotary_dim).__name__}",
            "an int",
            "pass a number of columns, not a share",
            error=DtypeError,
        )
    if not 1 <= number <= head:
        refuse(
            f"rotary_dim={shown(number)} with heads of {head} columns",
            f"an int from 1 to {head}",
            "pass heads too, or leave rotary_dim out where whole heads are turned",
        )
    return number
