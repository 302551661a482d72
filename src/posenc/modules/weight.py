"""The weight of a trained table: its memory, its shards, and what a checkpoint holds for it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..arguments.memory import made


def empty_table(rows: int, d_model: int, dtype: torch.dtype, device: torch.device | None) -> Tensor:
    """A table (rows, d_model) that holds nothing yet."""
    shape, fix = (rows, d_model), "pass a smaller max_len"
    return made(lambda: torch.empty(shape, dtype=dtype, device=device), shape, dtype, device, "a table", fix)


def sharded_like(rows: Tensor, weight: Tensor) -> Tensor:
    """The rows, sharded over ranks where the weight is."""
    mesh = getattr(weight, "device_mesh", None)
    if mesh is None:
        return rows
    from torch.distributed.tensor import DTensor, distribute_tensor

    sharded: DTensor = distribute_tensor(rows.to(weight.device), mesh, weight.placements)  # type: ignore[attr-defined]
    return sharded


def fitted(state_dict: dict[str, Any], key: str, weight: Tensor, before: int, max_len: int) -> str | None:
    """Bring a table of a checkpoint into the shape (L, d) in place, and say what is wrong with its length.

    before: how many of its rows belong to no position from 0 on.
    """
    value = state_dict.get(key)
    if not isinstance(value, Tensor):
        return None
    for axis in (0, 1):
        if value.ndim == 3 and value.shape[axis] == 1:
            value = state_dict[key] = value.squeeze(axis)
    if value.ndim != 2 or value.shape[1] != weight.shape[1] or len(value) == len(weight):
        return None
    state_dict[key] = weight
    return (
        f"{key}: got a table of {len(value)} rows, but wanted {len(weight)}, of which {before} come before position 0; "
        f"build the layer for the table, load it, and take layer.resize({max_len}, rule)."
    )
