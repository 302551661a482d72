"""Where the two members of a pair sit among the columns of an encoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

Layout = Literal["interleaved", "halves"]
Order = Literal["sine-first", "cosine-first"]


@dataclass(frozen=True)
class Columns:
    """The columns of `dim` that hold sines and cosines of `pairs` pairs.

    interleaved: s0 c0 s1 c1 ...        halves: s0 s1 ... c0 c1 ...
    With fewer columns than members the last column of the second member is missing; with more, the rest is zero.

    >>> Columns(dim=6, pairs=3, layout="halves", order="sine-first").cosines
    slice(3, 6, 1)
    """

    dim: int
    pairs: int
    layout: Layout
    order: Order

    @property
    def _filled(self) -> int:
        return min(self.dim, 2 * self.pairs)

    def _member(self, first: Order) -> slice:
        second = int(self.order != first)
        if self.layout == "interleaved":
            return slice(second, self._filled, 2)
        return slice(self.pairs, self._filled, 1) if second else slice(0, self.pairs, 1)

    @property
    def sines(self) -> slice:
        """Columns of the sines, one a pair."""
        return self._member("sine-first")

    @property
    def cosines(self) -> slice:
        """Columns of the cosines, one a pair; one fewer than the sines where an odd width has cut the last."""
        return self._member("cosine-first")

    @property
    def spare(self) -> slice:
        """Columns that hold neither, and so zero."""
        return slice(self._filled, self.dim, 1)

    @property
    def is_pairwise(self) -> bool:
        """Whether the columns are s0 c0 s1 c1 ... to the end, the order of the paper."""
        return self.layout == "interleaved" and self.order == "sine-first" and self.dim == 2 * self.pairs


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
