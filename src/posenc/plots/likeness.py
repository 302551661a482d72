"""The pictures of similarity: how alike two encodings are, by their distance and as a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor

from ..convention import Convention
from ..encoding import similarity as similarity_at
from .style import BRIGHT, COLOURS, DARK, GREY, INK, boxed, house_style, titled_figure, whole_ticks
from .subject import Numbers, check_length, name_of, one_axis
from .words import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A line through all of them is drawn; none is left out.
MOST_OFFSETS = 100_000
# Two pixels each.
MOST_POSITIONS = 400
# So many values are looked through, beyond those drawn, for the first rise and the first one below zero: a second.
_LOOKED_THROUGH = 1 << 21
# A rise of the sum's own rounding is none; a part of PE(p) . PE(p).
_ROUNDING = 2.0**-48


@dataclass(frozen=True)
class Similarity(Numbers):
    """PE(p) . PE(p + offset) for offsets 0, 1, ... (length,): dim / 2 at offset 0, times the square of a gain.

    first_rise is the first offset from which the next one is more alike, first_negative the first below zero, both
    also beyond the length; None where there is none up to the offset `looked_to`.
    """

    convention: str
    dim: int
    values: Tensor
    first_rise: int | None
    first_negative: int | None
    looked_to: int

    @classmethod
    def measured(cls, length: int, dim: int, convention: str | Convention = "transformer") -> Self:
        """The law of exact phases, which holds whatever p is."""
        plan = one_axis(convention, dim, "a curve of similarity")
        length = check_length(length, MOST_OFFSETS, "pass fewer offsets: all of them are drawn")
        furthest = max(length, min(MOST_OFFSETS, 2 * _LOOKED_THROUGH // plan.dim))
        looked = length
        while True:
            values = similarity_at(torch.arange(looked, device="cpu"), dim, plan.convention)
            rises = (values[1:] > values[:-1] + _ROUNDING * values[0]).nonzero()
            below = (values < 0).nonzero()
            if looked == furthest or (len(rises) and len(below)):
                break
            looked = min(furthest, max(256, 2 * looked))
        return cls(
            name_of(plan.convention),
            plan.dim,
            values[:length].clone(),
            int(rises[0]) if len(rises) else None,
            int(below[0]) if len(below) else None,
            looked - 1,
        )

    def draw(self) -> Figure:
        """The figure."""
        length = len(self.values)
        with house_style():
            figure = titled_figure(
                9, 4.2, f"How alike encodings are, by their distance: {self.convention}, width {self.dim}", self.notes
            )
            axes = figure.add_subplot()
            dots = "o" if length <= 65 else ""
            axes.plot(
                range(length),
                self.values.numpy(),
                color=DARK,
                linewidth=1.6,
                marker=dots,
                markersize=3.5,
                clip_on=not dots,
            )
            axes.axhline(0, color=GREY, linewidth=0.8)
            axes.set_xlim(0, max(1, length - 1))
            top, low = float(self.values[0]), min(0.0, float(self.values.min()))
            axes.set_ylim(low - 0.1 * top, 1.12 * top)
            if self.first_rise is not None and self.first_rise + 1 < length:
                at = self.first_rise
                value = float(self.values[at])
                axes.plot(
                    [at, at + 1], self.values[at : at + 2].numpy(), "o", color=BRIGHT, markeredgecolor=INK, markersize=6
                )
                left = at > 0.7 * length
                axes.annotate(
                    f"first rise: from offset {count(at)} to {count(at + 1)}",
                    (at, value),
                    xytext=(-14 if left else 14, 44),
                    textcoords="offset points",
                    ha="right" if left else "left",
                    arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.8},
                    color=INK,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
                )
            whole_ticks(axes.xaxis)
            axes.grid(which="major")
            axes.set_xlabel("offset, in positions; the same for −offset, and whatever p is")
            axes.set_ylabel("PE(p) · PE(p + offset)")
        return figure

    @property
    def notes(self) -> list[str]:
        """What the curve says, in words."""
        last, at = len(self.values) - 1, self.first_rise
        if at is None:
            falls = f"There is no rise up to offset {count(self.looked_to)}."
        elif at < last:
            falls = "It does not fall all the way: it waves."
        else:
            falls = (
                f"There is no rise up to offset {count(last)}: the first is from offset {count(at)} to {count(at + 1)}."
            )
        zero = f" It is first below zero at offset {count(self.first_negative)}." if self.first_negative else ""
        return [f"PE(p) · PE(p) is {float(self.values[0]):.6g} for every p. {falls}{zero}"]


@dataclass(frozen=True)
class SimilarityMatrix(Numbers):
    """PE(p) . PE(q) of all positions below a length: (length, length)."""

    convention: str
    dim: int
    values: Tensor

    @classmethod
    def measured(cls, length: int, dim: int, convention: str | Convention = "transformer") -> Self:
        """From the law, since it depends on the distance alone."""
        plan = one_axis(convention, dim, "a matrix of similarity")
        fix = "draw posenc.plots.similarity: the matrix depends on the distance alone"
        length = check_length(length, MOST_POSITIONS, fix)
        places = torch.arange(length, device="cpu")
        row = similarity_at(places, dim, plan.convention)
        return cls(name_of(plan.convention), plan.dim, row[(places.unsqueeze(0) - places.unsqueeze(1)).abs()])

    def draw(self) -> Figure:
        """The figure."""
        length = len(self.values)
        notes = ["One value along each diagonal: it depends on the distance alone."]
        with house_style():
            figure = titled_figure(7, 5.8, f"How alike encodings are: {self.convention}, width {self.dim}", notes)
            axes = figure.add_subplot()
            top, low = float(self.values[0, 0]), min(0.0, float(self.values.min()))
            image = axes.imshow(self.values.numpy(), cmap=COLOURS, vmin=low, vmax=top, interpolation="nearest")
            boxed(axes)
            whole_ticks(axes.xaxis)
            whole_ticks(axes.yaxis)
            axes.set_xlabel(f"position q, 0 to {count(length - 1)}")
            axes.set_ylabel("position p")
            figure.colorbar(image, ax=axes, pad=0.02, aspect=30).set_label("PE(p) · PE(q)")
        return figure


def similarity(length: int, dim: int, convention: str | Convention = "transformer") -> Figure:
    """PE(p) . PE(p + offset) over offsets 0 .. length - 1, as `posenc.similarity` gives it; its first rise is marked.

    It begins at dim / 2, times the square of a gain. It does not fall monotonically: at width 512 it rises from offset
    43 to 44. Every offset is drawn, none is left out. Odd widths and conventions without this law are refused, as by
    `posenc.similarity`.

    >>> figure = similarity(128, 64)
    >>> figure.axes[0].texts[0].get_text()
    'first rise: from offset 5 to 6'
    """
    return Similarity.measured(length, dim, convention).draw()


def similarity_matrix(length: int, dim: int, convention: str | Convention = "transformer") -> Figure:
    """PE(p) . PE(q) of all positions below `length`: dim / 2 where p = q, times the square of a gain.

    Beyond 400 positions it is refused: neighbours would share a pixel, and the curve says the same.

    >>> figure = similarity_matrix(3, 2)
    >>> figure.axes[0].images[0].get_array()[0].round(4).tolist()
    [1.0, 0.5403, -0.4161]
    """
    return SimilarityMatrix.measured(length, dim, convention).draw()
