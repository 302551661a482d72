"""The picture of a spectrum: how many directions of the width the rows of an encoding fill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor

from ..convention import Convention
from ..encoding import encode
from ..errors import refuse
from .style import BRIGHT, DARK, FAINT, GREY, HATCH, INK, house_style, titled_figure, whole_ticks
from .subject import MOST_VALUES, Numbers, check_length, check_start, name_of, one_axis
from .words import count, percent, span

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What counts as filled: this part of the largest singular value.
SHARE = 1e-3
# An SVD of more takes minutes.
MOST_SIDE = 2048


@dataclass(frozen=True)
class Spectrum(Numbers):
    """Singular values of the rows (length, dim), the largest first: (min(length, dim),), and what they say.

    rounding: below it they are rounding of float64; directions: how many are above `SHARE` of the largest;
    mean_share: the part of the rows' squared length that is their common mean.
    """

    convention: str
    dim: int
    length: int
    start: int
    singular_values: Tensor
    rounding: float
    directions: int
    mean_share: float

    @classmethod
    def measured(cls, length: int, dim: int, convention: str | Convention = "transformer", *, start: int = 0) -> Self:
        """By a singular value decomposition in float64."""
        plan = one_axis(convention, dim, "a spectrum")
        length = check_length(length)
        start = check_start(start, length)
        if min(length, plan.dim) > MOST_SIDE or length * plan.dim > MOST_VALUES:
            refuse(
                f"length={length} at dim={plan.dim}",
                f"at most {MOST_VALUES} values, and {MOST_SIDE} rows or columns",
                "pass a smaller length",
            )
        positions = list(range(start, start + length))
        rows = encode(positions, plan.dim, plan.convention, dtype=torch.float64, device="cpu")
        found = torch.linalg.svdvals(rows)
        top = float(found[0])
        total = float(rows.square().sum())
        return cls(
            name_of(plan.convention),
            plan.dim,
            length,
            start,
            found,
            top * max(rows.shape) * torch.finfo(torch.float64).eps,
            int((found > SHARE * top).sum()) if top else 0,
            float(rows.mean(0).square().sum()) * length / total if total else 0.0,
        )

    def draw(self) -> Figure:
        """The figure."""
        found = self.singular_values
        seen = found[found > self.rounding]
        most = len(found)
        filled = f"{count(self.directions)} of {count(most)} direction{'s' if most > 1 else ''}"
        title = f"The rows fill {filled}: {self.convention}, width {self.dim}"
        what = f"Singular values of the rows of {span(self.start, self.length)}: how far they spread each way."
        notes = [f"{what} {percent(self.mean_share)} of their squared length is their common mean."]
        if len(seen) < most:
            notes.append("Hatched: rounding of float64, where nothing is drawn.")
        with house_style():
            figure = titled_figure(9, 4.2, title, notes)
            axes = figure.add_subplot()
            axes.set_yscale("log")
            dots = "o" if most <= 128 else ""
            index = range(1, len(seen) + 1)
            axes.plot(index, seen.numpy(), color=DARK, linewidth=1.6, marker=dots, markersize=3.5)
            axes.set_xlim(0.5, most + 0.5)
            if len(seen):
                top, low = float(seen[0]), float(seen[-1])
                axes.set_ylim(min(low, top * SHARE) / 5, top * 4)
                axes.axhline(top * SHARE, color=GREY, linewidth=1, linestyle=(0, (4, 2)))
                at = self.directions
                axes.plot([at], [float(found[at - 1])], "o", color=BRIGHT, markeredgecolor=INK, markersize=7)
                right = at > 0.6 * most
                axes.annotate(
                    f"{count(at)} above a thousandth of the largest",
                    (at, float(found[at - 1])),
                    xytext=(-10 if right else 12, 10),
                    textcoords="offset points",
                    ha="right" if right else "left",
                    va="bottom",
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
                )
            if len(seen) < most:
                axes.axvspan(len(seen) + 0.5, most + 0.5, facecolor=FAINT, hatch=HATCH, edgecolor="none", zorder=0)
            whole_ticks(axes.xaxis)
            axes.grid(which="major")
            axes.set_xlabel("direction, the widest first")
            axes.set_ylabel("singular value")
        return figure


def spectrum(length: int, dim: int, convention: str | Convention = "transformer", *, start: int = 0) -> Figure:
    """The singular values of the rows start .. start + length - 1: how many directions of the width they fill.

    Slow pairs hardly move within the length, so that rows of 512 columns fill far fewer directions: what a linear
    layer can read off. The frequencies themselves are drawn by `wavelengths`.

    >>> figure = spectrum(512, 512)
    >>> figure.axes[0].texts[0].get_text()
    '120 above a thousandth of the largest'
    """
    return Spectrum.measured(length, dim, convention, start=start).draw()
