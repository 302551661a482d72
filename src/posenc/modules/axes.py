"""How the axes of an input were read, for checks that follow and for messages that say it."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..arguments.tensors import check_dense
from ..errors import DtypeError, refuse


class Axes(NamedTuple):
    """The axes of an input: those before the sequence, as (batch,), and the sequence.

    name: what the caller calls it. order: "batch" or "sequence", which of them comes first; "heads" for queries and
    keys, "rows" for nested tensors.
    """

    name: str
    leading: tuple[int, ...]
    length: int
    device: torch.device
    order: str


def axes_of(x: Any, *, batch_first: bool) -> Axes:
    """The axes of x: (..., S, d_model) with `batch_first`, else (S, d_model) or (S, B, d_model).

    Ids come as (..., S, 1), and are called ids: they are integers, which embeddings never are.
    """
    if not isinstance(x, Tensor):
        refuse(f"x of type {type(x).__name__}", "a tensor", "pass embeddings", error=DtypeError)
    check_dense(x, "x")
    if x.ndim < 2 or (not batch_first and x.ndim > 3):
        wanted = "(..., S, d_model)" if batch_first else "(S, d_model) or (S, B, d_model)"
        refuse(
            f"x of shape {tuple(x.shape)}",
            f"{wanted} with batch_first={batch_first}",
            "add or remove axes, or set batch_first",
        )
    axis = x.ndim - 2 if batch_first else 0
    leading = tuple(x.shape[:axis]) if batch_first else tuple(x.shape[1:-1])
    name = "x" if x.is_floating_point() or x.is_complex() else "ids"
    return Axes(name, leading, x.shape[axis], x.device, "batch" if batch_first else "sequence")


def as_read(axes: Axes) -> str:
    """What to say of an input whose axes something else does not fit, and the way out where they were meant otherwise.

    >>> as_read(Axes("x", (5,), 2, torch.device("cpu"), "batch"))
    'x is read as (batch 5, sequence 2); if it is (sequence, batch, d_model), pass batch_first=False'
    """
    name, leading, length, _, order = axes
    read = f"{name} {'are' if name == 'ids' else 'is'} read as"
    batch = " x ".join(str(size) for size in leading)
    if not leading:
        return f"{read} one sequence of {length}"
    if order == "rows":
        return f"{read} {batch} rows"
    if order == "heads":
        said = f"{read} (batch {batch}, sequence {length}, heads and columns left out)"
        return f"{said}; if the sequence is on another axis, pass seq_dim"
    parts = (f"batch {batch}", f"sequence {length}")
    said = f"{read} ({', '.join(parts if order == 'batch' else parts[::-1])})"
    if len(leading) > 1:
        # Only batches of one axis may come second.
        return said
    width = "" if name == "ids" else ", d_model"
    other = f"(sequence, batch{width})" if order == "batch" else f"(batch, sequence{width})"
    return f"{said}; if it is {other}, pass batch_first={order != 'batch'}"
