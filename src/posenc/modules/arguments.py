"""What a layer is called with, checked on the host before anything is computed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..encode.arguments import INT64_MAX, INT64_MIN, as_positions, check_int, is_readable
from ..errors import DtypeError, InputError, refuse
from ..trig.rounding import FORMATS


def check_bool(value: Any, name: str) -> bool:
    """A flag that is really one."""
    if not isinstance(value, bool):
        refuse(f"{name}={value!r}", "True or False", f"write {name}=True", error=DtypeError)
    return value


def check_probability(value: Any, name: str) -> float:
    """A probability in [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        refuse(
            f"{name}={value!r} of type {type(value).__name__}",
            "a float",
            f"write {name}=0.1",
            error=DtypeError,
        )
    if not 0 <= value <= 1:
        refuse(f"{name}={value}", "a probability from 0 to 1", f"write {name}=0.1")
    return float(value)


def check_input(x: Any, d_model: int, *, batch_first: bool) -> None:
    """Embeddings of the declared layout and width."""
    wanted = f"(..., S, {d_model})" if batch_first else f"(S, {d_model}) or (S, B, {d_model})"
    wanted += f" with batch_first={batch_first}"
    if not isinstance(x, Tensor):
        refuse(
            f"x of type {type(x).__name__}",
            f"a tensor of shape {wanted}",
            "pass embeddings",
            error=DtypeError,
        )
    if x.dtype not in FORMATS:
        fix = "embed token ids first, or use SequenceEmbedding" if not x.is_complex() else "pass real embeddings"
        refuse(f"x of {x.dtype}", "float64, float32, bfloat16 or float16 embeddings", fix, error=DtypeError)
    if x.ndim < 2 or (not batch_first and x.ndim > 3):
        refuse(f"x of shape {tuple(x.shape)}", wanted, "add or remove axes, or set batch_first")
    if x.shape[-1] != d_model:
        refuse(f"x of shape {tuple(x.shape)}, width {x.shape[-1]}", wanted, "build the layer with the width of x")


def check_offset(offset: Any, leading: tuple[int, ...], device: torch.device) -> int | Tensor:
    """An int, or an int64 tensor of shape () or `leading`."""
    if not isinstance(offset, Tensor):
        if torch.compiler.is_compiling() and isinstance(offset, (int, torch.SymInt)):
            # Symbolic: what its value may be is for the guards to say.
            return offset  # type: ignore[return-value]
        return check_int(offset, "offset", INT64_MIN, INT64_MAX, "pass the position of the first token")
    if offset.is_floating_point():
        refuse(
            f"offset of {offset.dtype}",
            "integers",
            "pass offset.long(), or float positions",
            error=DtypeError,
        )
    _check_shape(offset, "offset", [(), leading] if leading else [(), (1,)], "pass one offset for each row")
    _check_device(offset, "offset", device)
    return as_positions(offset, "offset")


def check_positions(positions: Any, leading: tuple[int, ...], length: int, device: torch.device) -> Tensor:
    """An int64 or float64 tensor of shape (S,) or (*leading, S)."""
    if not isinstance(positions, Tensor):
        refuse(
            f"positions of type {type(positions).__name__}",
            "a tensor of integers or floats",
            "wrap them in torch.tensor",
            error=DtypeError,
        )
    full = (*leading, length)
    shapes = [(length,), full, (*(1 for _ in leading), length)]
    _check_shape(positions, "positions", shapes, "pass one position for each token")
    _check_device(positions, "positions", device)
    return as_positions(positions)


def check_mask(mask: Any, leading: tuple[int, ...], length: int, device: torch.device) -> Tensor:
    """A bool tensor of shape (*leading, S), True where there is padding."""
    full = (*leading, length)
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        fix = "for a mask in which 1 is a real token pass mask == 0"
        refuse(f"padding_mask of {kind}", "a bool tensor, True where there is padding", fix, error=DtypeError)
    _check_shape(mask, "padding_mask", [full], "pass one value for each token")
    _check_device(mask, "padding_mask", device)
    return mask


def sum_of(positions: Tensor, offset: int | Tensor) -> Tensor:
    """positions (..., S) + offset, refused on the host where the sum leaves int64."""
    if isinstance(offset, Tensor):
        if positions.dtype == torch.int64 and is_readable(offset) and offset.numel():
            low, high = (int(bound) for bound in torch.aminmax(offset))
            _check_sum(positions, low, high)
        return positions + offset.unsqueeze(-1)
    if offset == 0:
        return positions
    if positions.dtype == torch.int64 and not isinstance(offset, torch.SymInt):
        _check_sum(positions, offset, offset)
    return positions + offset


def _check_sum(positions: Tensor, low: int, high: int) -> None:
    if not is_readable(positions) or not positions.numel():
        return
    first, last = (int(bound) for bound in torch.aminmax(positions))
    if first + low < INT64_MIN or last + high > INT64_MAX:
        refuse(
            f"positions from {first} to {last} and an offset of {low if low == high else (low, high)}",
            "a sum within int64",
            "pass smaller numbers",
        )


def _check_shape(tensor: Tensor, name: str, shapes: list[tuple[int, ...]], fix: str) -> None:
    for shape in shapes:
        if tensor.ndim == len(shape) and all(a == b for a, b in zip(tensor.shape, shape, strict=True)):
            return
    # Written out only here: to print a size is to fix it, in a graph that left it open.
    wanted = " or ".join(dict.fromkeys(str(tuple(shape)) for shape in shapes))
    refuse(f"{name} of shape {tuple(tensor.shape)}", f"shape {wanted}", fix)


def _check_device(tensor: Tensor, name: str, device: torch.device) -> None:
    if tensor.device != device:
        refuse(
            f"{name} on {tensor.device} and x on {device}",
            "one device",
            f"pass {name}.to(x.device)",
            error=InputError,
        )
