"""A table of rows brought into the form in which it is looked at: few rows of a long one, zeros set aside."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .tolerance import narrowest_dtype, unit_of

# Rows that decide, fewer where they are wide, and rows that are tried first.
MOST = 4096
LEAST = 64
FEW = 24
_VALUES = 1 << 21


@dataclass(frozen=True)
class Sample:
    """Rows (n, dim) of a table in float64, with their index in it; rows of zeros are listed and left out."""

    rows: Tensor
    index: Tensor
    padding: tuple[int, ...]
    dtype: torch.dtype
    length: int

    @property
    def unit(self) -> float:
        """One unit in the last place of the dtype of the values, just below 1."""
        return unit_of(self.dtype)

    @property
    def dim(self) -> int:
        """Columns of the table."""
        return int(self.rows.shape[1])

    def few(self) -> tuple[Tensor, Tensor]:
        """Some rows and their index: the first, the last, and some between."""
        chosen = chosen_rows(len(self.rows), FEW)
        return self.rows[chosen], self.index[chosen]


def chosen_rows(length: int, most: int) -> Tensor:
    """Indices of at most `most` rows: a third from the beginning, a third from the end, the rest between."""
    if length <= most:
        return torch.arange(length, device="cpu")
    part = most // 3
    between = torch.linspace(part, length - part - 1, most - 2 * part, device="cpu", dtype=torch.float64)
    ends = torch.arange(part, device="cpu"), torch.arange(length - part, length, device="cpu")
    chosen: Tensor = torch.cat((ends[0], between.round().long(), ends[1])).unique()
    return chosen


def enough_rows(dim: int) -> int:
    """How many rows of this width decide: some two million values are proof enough, and quick to look at."""
    return min(MOST, max(LEAST, _VALUES // dim))


def sampled(table: Tensor, index: Tensor | None = None, length: int | None = None) -> Sample:
    """A finite table (n, dim), whose rows have these indices in one of `length` rows; all of its own where none are."""
    if index is None:
        index = chosen_rows(len(table), enough_rows(table.shape[1]))
        table, length = table[index.to(table.device)], len(table)
    values = table.detach().cpu()
    dtype = narrowest_dtype(values)
    rows = values.double()
    blank = (rows == 0).all(1)
    padding = tuple(index[blank].tolist())
    return Sample(rows[~blank], index[~blank], padding, dtype, length or len(table))
