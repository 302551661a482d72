"""The tables that a tensor may hold: transposed, batched, repeated, or maps."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Reading:
    """A table (n, dim) taken out of a tensor; `sizes` where it is a map, and in words what was done."""

    table: Tensor
    words: str = ""
    sizes: tuple[int, int] | None = None


def _reduced(tensor: Tensor) -> tuple[Tensor, list[str]]:
    """Without axes of one, and without axes along which everything is repeated."""
    words = []
    axis = 0
    while tensor.ndim > 2 and axis < tensor.ndim:
        size = tensor.shape[axis]
        first = tensor.select(axis, 0)
        if size == 1:
            tensor = first
        elif axis < tensor.ndim - 1 and bool((tensor == first.unsqueeze(axis)).all()):
            words.append(f"{size} times the same along axis {axis}")
            tensor = first
        else:
            axis += 1
    return tensor, words


def readings(tensor: Tensor) -> list[Reading]:
    """Every table that a tensor of two or more axes may hold, the likeliest first."""
    shape = tuple(tensor.shape)
    table, words = _reduced(tensor)
    said = ", ".join(words)
    if table.ndim == 2:
        found = [Reading(table, said)]
        if min(shape) > 0:
            found.append(Reading(table.transpose(0, 1), ", ".join([*words, "transposed"])))
        return found
    if table.ndim == 3:
        rows, columns, dim = table.shape
        channels_first = Reading(
            table.permute(1, 2, 0).reshape(columns * dim, rows), ", ".join([*words, "channels first"]), (columns, dim)
        )
        return [Reading(table.reshape(rows * columns, dim), said, (rows, columns)), channels_first]
    return []
