"""The pictures of similarity: how alike two encodings are, by their distance and as a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor

from ..convention import Convention
from ..encode import similarity as similarity_at
from .style import BRIGHT, COLOURS, DARK, GREY, INK, boxed, house_style, titled_figure, whole_ticks
from .subject import Numbers, check_length, name_of, one_axis
from .words import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A line through all of them is drawn; none is left out.
MOST_OFFSETS = 100_000
# Two pixels each.
MOST_POSITIONS = 400
# A rise of the sum's own rounding is none.
_ROUNDING = 2.0**-48
_DIVIDED = "PE(p) · PE(p + offset), divided by PE(p) · PE(p)"


@dataclass(frozen=True)
class Similarity(Numbers):
    """PE(p) . PE(p + offset) for offsets 0, 1, ... (length,), divided by that of offset 0.

    first_rise is the first offset from which the next one is more alike, first_negative the first below zero; None
    where there is none up to the last offset.
    """

    convention: str
    dim: int
    at_zero: float
    values: Tensor
    first_rise: int | None
    first_negative: int | None

    @classmethod
    def measured(cls, dim: int, convention: str | Convention = "transformer", *, length: int = 128) -> Self:
        """The law of exact phases, which holds whatever p is."""
        plan = one_axis(convention, dim, "a curve of similarity")
        length = check_length(length, MOST_OFFSETS, "pass fewer offsets: all of them are drawn")
        values = similarity_at(torch.arange(length, device="cpu"), dim, plan.convention)
        top = float(values[0])
        values = values / top
        rises = (values[1:] > values[:-1] + _ROUNDING).nonzero()
        below = (values < 0).nonzero()
        return cls(
            name_of(plan.convention),
            plan.dim,
            top,
            values,
            int(rises[0]) if len(rises) else None,
            int(below[0]) if len(below) else None,
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
            low = min(0.0, float(self.values.min()))
            axes.set_ylim(low - 0.1, 1.12)
            if self.first_rise is not None:
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
            axes.set_ylabel(f"{_DIVIDED.replace(', divided', chr(10) + 'divided')}")
        return figure

    @property
    def notes(self) -> list[str]:
        """What the curve says, in words."""
        last = len(self.values) - 1
        if self.first_rise is None:
            falls = f"It falls all the way to offset {count(last)}." if last else "One offset alone: nothing rises."
        else:
            falls = "It does not fall all the way: it waves."
        zero = f" It is first below zero at offset {count(self.first_negative)}." if self.first_negative else ""
        return [f"PE(p) · PE(p) is {self.at_zero:.6g} for every p. {falls}{zero}"]


@dataclass(frozen=True)
class SimilarityMatrix(Numbers):
    """PE(p) . PE(q) of all positions below a length, divided by PE(p) . PE(p): (length, length)."""

    convention: str
    dim: int
    at_zero: float
    values: Tensor

    @classmethod
    def measured(cls, length: int, dim: int, convention: str | Convention = "transformer") -> Self:
        """From the law, since it depends on the distance alone."""
        plan = one_axis(convention, dim, "a matrix of similarity")
        fix = "draw posenc.plots.similarity: the matrix depends on the distance alone"
        length = check_length(length, MOST_POSITIONS, fix)
        places = torch.arange(length, device="cpu")
        row = similarity_at(places, dim, plan.convention)
        top = float(row[0])
        return cls(
            name_of(plan.convention), plan.dim, top, row[(places.unsqueeze(0) - places.unsqueeze(1)).abs()] / top
        )

    def draw(self) -> Figure:
        """The figure."""
        length = len(self.values)
        notes = ["One value along each diagonal: it depends on the distance alone."]
        with house_style():
            figure = titled_figure(7, 5.8, f"How alike encodings are: {self.convention}, width {self.dim}", notes)
            axes = figure.add_subplot()
            low = min(0.0, float(self.values.min()))
            image = axes.imshow(self.values.numpy(), cmap=COLOURS, vmin=low, vmax=1, interpolation="nearest")
            boxed(axes)
            whole_ticks(axes.xaxis)
            whole_ticks(axes.yaxis)
            axes.set_xlabel(f"position q, 0 to {count(length - 1)}")
            axes.set_ylabel("position p")
            figure.colorbar(image, ax=axes, pad=0.02, aspect=30).set_label("PE(p) · PE(q), divided by PE(p) · PE(p)")
        return figure


def similarity(dim: int, convention: str | Convention = "transformer", *, length: int = 128) -> Figure:
    """PE(p) . PE(p + offset) over offsets 0 .. length - 1, divided by that of offset 0, with its first rise marked.

    It does not fall monotonically: at width 512 it rises from offset 43 to 44. Every offset is drawn, none is left
    out. Odd widths and conventions without this law are refused, as by `posenc.similarity`.

    >>> figure = similarity(64)
    >>> figure.axes[0].texts[0].get_text()
    'first rise: from offset 5 to 6'
    """
    return Similarity.measured(dim, convention, length=length).draw()


def similarity_matrix(length: int, dim: int, convention: str | Convention = "transformer") -> Figure:
    """PE(p) . PE(q) of all positions below `length`, divided by PE(p) . PE(p).

    Beyond 400 positions it is refused: neighbours would share a pixel, and the curve says the same.

    >>> figure = similarity_matrix(3, 2)
    >>> figure.axes[0].images[0].get_array()[0].round(4).tolist()
    [1.0, 0.5403, -0.4161]
    """
    return SimilarityMatrix.measured(length, dim, convention).draw()
