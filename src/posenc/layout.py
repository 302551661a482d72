"""Where the two members of a pair sit among the columns of an encoding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from torch import Tensor

Layout = Literal["interleaved", "halves"]
Order = Literal["sine-first", "cosine-first"]
AxisLayout = Literal["outer", "middle", "inner"]


@dataclass(frozen=True)
class Columns:
    """The columns of `dim` that hold sines and cosines of `pairs` pairs.

    interleaved: s0 c0 s1 c1 ...        halves: s0 s1 ... c0 c1 ...
    With fewer columns than members the last column of the second member is missing; with more, the rest is zero.
    Where positions have several axes, each has columns of its own among those from `begin` on: a block of the
    above ("outer"), or the axes follow each other inside a half or a pair ("middle"), or under each member of a
    pair ("inner").

    >>> Columns(dim=6, pairs=3, layout="halves", order="sine-first").cosines
    slice(3, 6, 1)
    """

    dim: int
    pairs: int
    layout: Layout
    order: Order
    begin: int = 0
    axis: int = 0
    axes: int = 1
    axis_layout: AxisLayout = "outer"

    @cached_property
    def _filled(self) -> int:
        return min(self.dim, self.begin + 2 * self.pairs * self.axes)

    def _member(self, first: Order) -> slice:
        second, axes = int(self.order != first), self.axes
        interleaved = self.layout == "interleaved"
        # Where pair k stands: begin + start + k * step; the steps of member, axis and pair follow the nesting.
        if self.axis_layout == "outer":
            start, step = (second, 2) if interleaved else (second * self.pairs, 1)
        elif self.axis_layout == "middle":
            start = 2 * self.axis + second if interleaved else (second * axes + self.axis) * self.pairs
            step = 2 * axes if interleaved else 1
        else:
            start = (second if interleaved else second * self.pairs) * axes + self.axis
            step = 2 * axes if interleaved else axes
        start += self.begin
        end = start + (self.pairs - 1) * step + 1
        return slice(start, min(end, self._filled), step)

    @cached_property
    def sines(self) -> slice:
        """Columns of the sines, one a pair."""
        return self._member("sine-first")

    @cached_property
    def cosines(self) -> slice:
        """Columns of the cosines, one a pair; one fewer than the sines where an odd width has cut the last."""
        return self._member("cosine-first")

    @cached_property
    def spare(self) -> slice:
        """Columns that hold neither, and so zero."""
        return slice(self._filled, self.dim, 1)

    @cached_property
    def is_pairwise(self) -> bool:
        """Whether the columns are s0 c0 s1 c1 ... to the end, the order of the paper."""
        ordered = self.layout == "interleaved" and self.order == "sine-first"
        return ordered and self.axes == 1 and not self.begin and self.dim == 2 * self.pairs


def members(x: Tensor, columns: Columns) -> tuple[Tensor, Tensor]:
    """Split x (..., dim) into views of its sines (..., pairs) and cosines (..., pairs or one fewer)."""
    return x[..., columns.sines], x[..., columns.cosines]


def join(sines: Tensor, cosines: Tensor, columns: Columns) -> Tensor:
    """Put sines (..., pairs) and cosines back into columns (..., dim): the inverse of `members`."""
    out = sines.new_zeros((*sines.shape[:-1], columns.dim))
    for part, where in ((sines, columns.sines), (cosines, columns.cosines)):
        # Sliced one after the other: autograd knows no view that is older than a write to its base.
        into = out[..., where]
        into.copy_(part[..., : into.shape[-1]])
    return out
