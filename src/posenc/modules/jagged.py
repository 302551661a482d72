"""Rows of unlike lengths, as nested tensors of layout torch.jagged hold them: each is counted from its own start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..encoding.arguments import as_positions, with_float64
from ..errors import refuse
from ..positions.packed import document_of, positions_from_lengths
from .arguments import check_offset, sum_of
from .axes import Axes


def is_jagged(x: Any, name: str = "x") -> bool:
    """Whether x is nested, with its rows one after the other in memory; nested ones of strided layout are refused."""
    layout = getattr(x, "layout", None)
    if layout is torch.strided and x.is_nested:
        refuse(
            f"nested {name} of strided layout",
            "layout torch.jagged, or a dense tensor",
            f"pass torch.nested.to_padded_tensor({name}, 0), or make {name} with layout=torch.jagged",
        )
    return layout is torch.jagged


def by_row(
    forward: Callable[..., Tensor], x: Tensor, *, positions: Any, offset: Any, padding_mask: Any = None
) -> Tensor:
    """What a layer makes of x (B, S*, d_model), or of ids (B, S*): all tokens at once, as one sequence."""
    name = "x" if x.is_floating_point() else "ids"
    if padding_mask is not None:
        refuse(f"padding_mask with nested {name}", "rows without padding", "leave it out")
    _check_rows(x, name, 1)
    if x.ndim > 3:
        refuse(f"{name} of shape {tuple(x.shape)}", "(batch, S*, d_model), or ids (batch, S*)", "drop the other axes")
    return _joined(forward(x.values(), positions=_places(x, name, 1, positions, offset)), x, 1)


def turned_by_row(forward: Callable[..., Tensor], x: Tensor, seq_dim: int, positions: Any, offset: Any) -> Tensor:
    """What a rotary embedding makes of x (B, S*, heads, dim) or (B, heads, S*, dim): all tokens, as one sequence."""
    axis = seq_dim % x.ndim
    _check_rows(x, "x", axis)
    turned = forward(x.values().unsqueeze(0), positions=_places(x, "x", axis, positions, offset))
    return _joined(turned.squeeze(0), x, axis)


def check_rows_alike(q: Tensor, k: Tensor, seq_dim: int) -> None:
    """Refuse queries and keys of which only one is nested, or whose rows may differ in length."""
    for name, x in (("q", q), ("k", k)):
        if not is_jagged(x):
            refuse(
                f"{name} that is not nested, beside one that is", "both nested", f"nest {name} with the same offsets"
            )
        _check_rows(x, name, seq_dim % x.ndim)
    axis = seq_dim % q.ndim
    if q.ndim != k.ndim or q.shape[axis] != k.shape[axis]:
        fix = "make k with nested_tensor_from_jagged(..., offsets=q.offsets()), or turn each with rotate"
        refuse("q and k whose rows are not known to be of the same lengths", "the offsets of one tensor in both", fix)


def _check_rows(x: Any, name: str, axis: int) -> None:
    if x.lengths() is not None:
        refuse(f"{name} whose rows have gaps between them", "rows without gaps", f"pass {name}.contiguous()")
    # In eager mode only the axis of unlike lengths has a size that is not a number.
    if not torch.compiler.is_compiling() and isinstance(x.shape[axis], int):
        refuse(f"{name} of shape {tuple(x.shape)}", f"rows of unlike lengths along axis {axis}", "transpose it")


def _joined(values: Tensor, like: Any, axis: int) -> Tensor:
    """Values of all tokens as rows of the very lengths of `like`, so that the two may be added."""
    return torch.nested.nested_tensor_from_jagged(values, offsets=like.offsets(), jagged_dim=axis)


def _places(x: Any, name: str, axis: int, positions: Any, offset: Any) -> Tensor:
    """The position of every token of x, (total,)."""
    starts, total = x.offsets(), x.values().shape[axis - 1]
    if positions is None:
        places = with_float64(positions_from_lengths(cu_seqlens=starts, total=total))
    elif is_jagged(positions) and positions.shape[0] == x.shape[0] and positions.shape[1] == x.shape[axis]:
        places = as_positions(positions.values())
    else:
        fix = f"make them with torch.nested.nested_tensor_from_jagged(positions, offsets={name}.offsets())"
        refuse(f"positions that do not have the rows of {name}", f"nested ones with the offsets of {name}", fix)
    more = check_offset(offset, Axes(name, (x.shape[0],), total, x.device, "rows"))
    if not isinstance(more, Tensor) or not more.ndim:
        return sum_of(places, more)
    each = more[document_of(starts, total)]
    return sum_of(places.unsqueeze(-1), each).squeeze(-1)
