"""What a layer is called with, checked on the host before anything is computed."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch import Tensor

from ..arguments.tensors import check_dense
from ..encoding.arguments import INT64_MAX, INT64_MIN, as_positions, check_int, is_readable, uncast
from ..errors import DtypeError, InputError, refuse, shown
from ..trig.rounding import FORMATS
from .axes import Axes, as_read


def check_bool(value: Any, name: str) -> bool:
    """A flag that is really one."""
    if not isinstance(value, bool):
        refuse(f"{name}={shown(value)}", "True or False", f"write {name}=True", error=DtypeError)
    return value


def check_probability(value: Any, name: str) -> float:
    """A probability in [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        refuse(
            f"{name}={shown(value)} of type {type(value).__name__}",
            "a float",
            f"write {name}=0.1",
            error=DtypeError,
        )
    if not 0 <= value <= 1:
        refuse(f"{name}={shown(value)}", "a probability from 0 to 1", f"write {name}=0.1")
    return float(value)


def check_input(x: Any, d_model: int, *, batch_first: bool) -> None:
    """Embeddings of the declared layout and width."""
    if not isinstance(x, Tensor):
        refuse(
            f"x of type {type(x).__name__}",
            f"a tensor of shape {_shapes(d_model, batch_first=batch_first)}",
            "pass embeddings",
            error=DtypeError,
        )
    if x.dtype not in FORMATS:
        fix = "embed token ids first, or use SequenceEmbedding" if not x.is_complex() else "pass real embeddings"
        refuse(f"x of {x.dtype}", "float64, float32, bfloat16 or float16 embeddings", fix, error=DtypeError)
    check_dense(x, "x")
    if x.ndim < 2 or (not batch_first and x.ndim > 3):
        wanted = _shapes(d_model, batch_first=batch_first)
        refuse(f"x of shape {tuple(x.shape)}", wanted, "add or remove axes, or set batch_first")
    if x.shape[-1] != d_model:
        wanted = _shapes(d_model, batch_first=batch_first)
        refuse(f"x of shape {tuple(x.shape)}, width {x.shape[-1]}", wanted, "build the layer with the width of x")


def _shapes(d_model: int, *, batch_first: bool) -> str:
    shapes = f"(..., S, {d_model})" if batch_first else f"(S, {d_model}) or (S, B, {d_model})"
    return f"{shapes} with batch_first={batch_first}"


def refuse_misplaced(others: tuple[Any, ...], name: str, options: str) -> NoReturn:
    """Refuse what was passed after `name` without saying what it is."""
    given = others[0]
    kind = f"a tensor of {given.dtype}" if isinstance(given, Tensor) else shown(given)
    likely = "offset" if isinstance(given, int) else "positions"
    if isinstance(given, Tensor) and given.dtype == torch.bool and "padding_mask" in options:
        likely = "padding_mask"
    refuse(f"{kind} after {name}", f"{options} by name", f"write {likely}=... if it is that", error=DtypeError)


def check_offset(offset: Any, axes: Axes) -> int | Tensor:
    """An int, or an int64 tensor of shape (), or of that of the axes before the sequence."""
    if not isinstance(offset, Tensor):
        if torch.compiler.is_compiling() and isinstance(offset, (int, torch.SymInt)):
            # Symbolic: what its value may be is for the guards to say.
            return offset  # type: ignore[return-value]
        fix = "pass the position of the first token, or a tensor with one for each row"
        return check_int(offset, "offset", INT64_MIN, INT64_MAX, fix)
    if offset.is_floating_point():
        refuse(
            f"offset of {offset.dtype}",
            "integers",
            f"{uncast('offset')}, or pass float positions",
            error=DtypeError,
        )
    check_dense(offset, "offset")
    leading = axes.leading
    _check_shape(offset, "offset", [(), leading] if leading else [()], "pass one offset for each row", axes)
    _check_device(offset, "offset", axes)
    return as_positions(offset, "offset")


def check_positions(positions: Any, axes: Axes) -> Tensor:
    """An int64 or float64 tensor of shape (S,) or (..., S)."""
    if not isinstance(positions, Tensor):
        refuse(
            f"positions of type {type(positions).__name__}",
            "a tensor of integers or floats",
            "wrap them in torch.tensor",
            error=DtypeError,
        )
    check_dense(positions, "positions")
    leading, length = axes.leading, axes.length
    shapes = [(length,), (*leading, length), (*(1 for _ in leading), length)]
    _check_shape(positions, "positions", shapes, "pass one position for each token", axes)
    _check_device(positions, "positions", axes)
    return as_positions(positions)


def check_mask(mask: Any, axes: Axes) -> Tensor:
    """A bool tensor of shape (..., S), True where there is padding."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        fix = "for a mask in which 1 is a real token pass mask == 0"
        refuse(f"padding_mask of {kind}", "a bool tensor, True where there is padding", fix, error=DtypeError)
    check_dense(mask, "padding_mask")
    _check_shape(mask, "padding_mask", [(*axes.leading, axes.length)], "pass one value for each token", axes)
    _check_device(mask, "padding_mask", axes)
    return mask


def sum_of(positions: Tensor, offset: int | Tensor) -> Tensor:
    """positions (..., S) + offset, refused on the host where int64 or float64 does not hold the sum."""
    if not isinstance(offset, Tensor) and offset == 0:
        return positions
    more = offset.unsqueeze(-1) if isinstance(offset, Tensor) else offset
    total = positions + more
    if is_readable(total) and total.numel() and not bool(_is_exact(positions, more, total).all()):
        refuse(
            f"positions and an offset whose sum {positions.dtype} does not hold",
            "sums within int64, or within 2^52 for float positions",
            "pass integer positions, or smaller numbers",
        )
    return total


def is_held(whole: Tensor | int) -> bool:
    """Whether float64 holds these integers exactly, values readable on the host."""
    if not isinstance(whole, Tensor):
        return int(float(whole)) == whole
    near = whole.double()
    return bool(((near < 2.0**63) & (near.to(torch.int64) == whole)).all())


def _is_exact(positions: Tensor, more: int | Tensor, total: Tensor) -> Tensor:
    if positions.dtype == torch.int64:
        # A sum that wraps goes the wrong way.
        below = more < 0
        return torch.eq(total < positions, below)
    # Beside floats the offset becomes one first.
    if not is_held(more):
        return torch.zeros_like(total, dtype=torch.bool)
    # Up to 2^52 float64 still tells halves apart, and rounds no worse than the caller's own sum would be.
    exact = ((total - more) == positions) & ((total - positions) == more) & (total.abs() < 2.0**63)
    return (total.abs() <= 2.0**52) | exact


def _check_shape(tensor: Tensor, name: str, shapes: list[tuple[int, ...]], fix: str, axes: Axes) -> None:
    for shape in shapes:
        if tensor.ndim == len(shape) and all(a == b for a, b in zip(tensor.shape, shape, strict=True)):
            return
    # Written out only here: to print a size is to fix it, in a graph that left it open.
    wanted = " or ".join(dict.fromkeys(str(tuple(shape)) for shape in shapes))
    refuse(f"{name} of shape {tuple(tensor.shape)}", f"shape {wanted}", f"{fix}: {as_read(axes)}")


def _check_device(tensor: Tensor, name: str, axes: Axes) -> None:
    if tensor.device != axes.device:
        refuse(
            f"{name} on {tensor.device} and {axes.name} on {axes.device}",
            "one device",
            f"pass {name}.to({axes.name}.device)",
            error=InputError,
        )
