"""The picture of wavelengths: how many positions a pair takes for one turn, pair by pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ..convention import Convention, resolve
from .style import BRIGHT, DARK, FAINT, GREY, HATCH, INK, house_style, titled_figure, turn_ticks, whole_ticks
from .subject import Numbers, check_drawn_dim, check_no_length, name_of, wavelengths_of
from .words import places

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Below it a pair makes more than half a turn from one position to the next.
NYQUIST = 2.0
# In grey they differ by their shape.
_LINES = (("o", DARK), ("s", GREY), ("^", BRIGHT), ("D", INK))
MOST_MARKERS = 64


@dataclass(frozen=True)
class Turns(Numbers):
    """Positions per turn (pairs,) for each axis of a convention; infinite where a pair does not turn."""

    convention: str
    dim: int
    axes: list[str]
    wavelengths: list[list[float]]

    @classmethod
    def measured(cls, dim: int, convention: str | Convention = "transformer") -> Self:
        """The wavelengths at this width."""
        plan = resolve(convention).plan(check_drawn_dim(dim))
        names = list(plan.convention.axes) or ["position"]
        ladders = [ladder for block in plan.blocks for ladder in block.ladders]
        return cls(name_of(plan.convention), plan.dim, names, [wavelengths_of(ladder) for ladder in ladders])

    def draw(self) -> Figure:
        """The figure."""
        all_turns = [each for axis in self.wavelengths for each in axis]
        moving = [each for each in all_turns if math.isfinite(each)]
        with house_style():
            figure = titled_figure(
                9, 4.2, f"Positions per turn of each pair: {self.convention}, width {self.dim}", self.notes
            )
            axes = figure.add_subplot()
            axes.set_yscale("log")
            # Axes of one ladder share a line.
            groups: dict[tuple[float, ...], list[str]] = {}
            for name, turns in zip(self.axes, self.wavelengths, strict=True):
                groups.setdefault(tuple(turns), []).append(name)
            for (shared, names), (marker, colour) in zip(groups.items(), _LINES * len(groups), strict=False):
                pairs = [pair for pair, turn in enumerate(shared) if math.isfinite(turn)]
                axes.plot(
                    pairs,
                    [shared[pair] for pair in pairs],
                    marker=marker if len(pairs) <= MOST_MARKERS else "",
                    markersize=4.5,
                    linewidth=1.2 if len(pairs) <= MOST_MARKERS else 2.5,
                    color=colour,
                    markeredgecolor=INK,
                    markeredgewidth=0.5,
                    label=", ".join(names),
                )
            axes.set_xlim(-0.5, max(map(len, self.wavelengths)) - 0.5)
            if moving:
                axes.set_ylim(min(min(moving) / 2.2, 1.0), max(max(moving) * 2.5, 40.0))
                self._name_ends(axes)
            axes.axhspan(axes.get_ylim()[0], NYQUIST, facecolor=FAINT, hatch=HATCH, edgecolor="none", zorder=0)
            axes.axhline(NYQUIST, color=GREY, linewidth=0.8)
            whole_ticks(axes.xaxis)
            turn_ticks(axes.yaxis)
            axes.grid(which="major")
            axes.set_xlabel("pair: an index i, for two columns that turn together")
            axes.set_ylabel("positions per turn  (fast below, slow above)")
            if len(groups) > 1:
                axes.legend(title="axis", frameon=False, loc="upper left")
        return figure

    @property
    def notes(self) -> list[str]:
        """What the hatching is, and what is not drawn."""
        all_turns = [each for axis in self.wavelengths for each in axis]
        fast = sum(each < NYQUIST for each in all_turns)
        still = sum(math.isinf(each) for each in all_turns)
        notes = [
            "Hatched: more than half a turn from one position to the next, where whole positions see a slower wave."
        ]
        if fast:
            notes.append(f"{fast} of {len(all_turns)} frequencies are there.")
        if still:
            notes.append(f"{still} of {len(all_turns)} frequencies are zero, and are not drawn.")
        return notes

    def _name_ends(self, axes: Axes) -> None:
        """The number at the first and at the last pair of the first axis, beside the line."""
        turns = self.wavelengths[0]
        rises = turns[-1] >= turns[0]
        for pair in {0, len(turns) - 1}:
            if math.isfinite(turns[pair]):
                first = pair == 0
                axes.annotate(
                    places(turns[pair]),
                    (pair, turns[pair]),
                    xytext=(8 if first else -8, -4 if first == rises else 4),
                    textcoords="offset points",
                    ha="left" if first else "right",
                    va="top" if first == rises else "bottom",
                )


def wavelengths(dim: int, convention: str | Convention = "transformer") -> Figure:
    """Positions per turn, pair by pair, on a logarithmic axis; a line for each axis that differs.

    Where a pair makes more than half a turn from one position to the next the picture is hatched. The last
    wavelength of the paper is 2 pi 10000^((dim - 2) / dim), which is below 10000 * 2 pi.

    >>> figure = wavelengths(4)
    >>> figure.axes[0].lines[0].get_ydata().round(2).tolist()
    [6.28, 628.32]
    """
    check_no_length("wavelengths", dim, convention, "pass the width first, as in plots.wavelengths(64)")
    return Turns.measured(dim, convention).draw()
