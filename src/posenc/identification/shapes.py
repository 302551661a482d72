"""The tables that a tensor may hold: transposed, batched, repeated, or maps."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

# Axes of a map: rows and columns, and time or depth before them.
_MAPS = (2, 3)


@dataclass(frozen=True)
class Reading:
    """A table (n, dim) taken out of a tensor; `sizes` where it is a map, and in words what was done."""

    table: Tensor
    words: str = ""
    sizes: tuple[int, ...] | None = None


def _reduced(tensor: Tensor) -> tuple[Tensor, list[str]]:
    """Without axes of one, and without axes along which everything is repeated."""
    words = []
    shape = list(range(tensor.ndim))
    axis = 0
    while tensor.ndim > 2 and axis < tensor.ndim:
        size = tensor.shape[axis]
        first = tensor.select(axis, 0)
        if size == 1:
            tensor, _ = first, shape.pop(axis)
        elif axis < tensor.ndim - 1 and bool((tensor == first.unsqueeze(axis)).all()):
            words.append(f"{size} times the same along axis {shape.pop(axis)}")
            tensor = first
        else:
            axis += 1
    return tensor, words


def readings(tensor: Tensor) -> list[Reading]:
    """Every table that a tensor of two or more axes may hold, the likeliest first."""
    table, words = _reduced(tensor)
    said = ", ".join(words)
    if table.ndim == 2:
        return [Reading(table, said), Reading(table.transpose(0, 1), ", ".join([*words, "transposed"]))]
    if table.ndim - 1 not in _MAPS:
        return []
    *sizes, dim = table.shape
    found = [Reading(table.reshape(-1, dim), said, tuple(sizes))]
    dim, *sizes = table.shape
    channels_first = table.flatten(1).transpose(0, 1)
    found.append(Reading(channels_first, ", ".join([*words, "channels first"]), tuple(sizes)))
    if table.ndim == 3 and math.prod(table.shape[1:]) > 1:
        first = ", ".join([*words, f"the first of {table.shape[0]} tables, which differ"])
        found += [Reading(table[0], first), Reading(table[0].transpose(0, 1), f"{first}, transposed")]
    return found
