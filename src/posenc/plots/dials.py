"""The picture of clocks: each pair is a hand that turns, the fast ones at the left."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from ..convention import Convention
from ..encoding import encode
from ..encoding.arguments import INT64_MAX, INT64_MIN, check_int
from ..errors import ConventionError, refuse
from .style import BRIGHT, DARK, GREY, INK, house_style, titled_figure
from .subject import Numbers, evenly, name_of, one_axis, pairs_of
from .words import count, places

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PAIRS = MOST_POSITIONS = 8
FIRST = (0, 1, 2, 3)
_RADIUS = 0.4


@dataclass(frozen=True)
class Clocks(Numbers):
    """Hands of some pairs at some positions.

    hands (positions, pairs, 2): sine, which is across, and cosine, which is up, of a hand of length 1; turned the
    same at position + offset, or None; wavelengths (pairs,): positions per turn.
    """

    convention: str
    dim: int
    of_pairs: int
    positions: list[int]
    offset: int | None
    pairs: list[int]
    wavelengths: list[float]
    hands: Tensor
    turned: Tensor | None

    @classmethod
    def measured(
        cls,
        positions: int | Iterable[int],
        dim: int,
        convention: str | Convention = "transformer",
        *,
        offset: int | None = None,
    ) -> Self:
        """Hands from the encodings themselves, in float64."""
        plan = one_axis(convention, dim, "a picture of clocks")
        chosen = list(positions) if isinstance(positions, Iterable) else [positions]
        if not 1 <= len(chosen) <= MOST_POSITIONS:
            refuse(f"{len(chosen)} positions", f"1 to {MOST_POSITIONS}, a row of clocks for each", "pass fewer")
        fix = "pass a position as an int"
        chosen = [check_int(position, "position", INT64_MIN, INT64_MAX, fix) for position in chosen]
        if offset is not None:
            offset = check_int(offset, "offset", INT64_MIN, INT64_MAX, "pass a number of positions")
        pairs = [pair for pair in pairs_of(plan) if pair.cosine is not None]
        if not pairs or plan.convention.standardised_rows:
            refuse(
                f"convention {plan.convention.label} at dim={dim}",
                "pairs of a sine and a cosine of one length, which are hands",
                "pass an even dim of at least 2, or draw posenc.plots.waves",
                error=ConventionError,
            )
        shown = [pairs[index] for index in evenly(len(pairs), MOST_PAIRS)]

        def hands(at: list[int]) -> Tensor:
            rows = encode(at, plan.dim, plan.convention, dtype=torch.float64, device="cpu") / plan.gain
            return torch.stack(
                [rows[:, [pair.sine for pair in shown]], rows[:, [pair.cosine or 0 for pair in shown]]], -1
            )

        return cls(
            name_of(plan.convention),
            plan.dim,
            len(pairs),
            chosen,
            offset,
            [pair.number for pair in shown],
            [pair.wavelength for pair in shown],
            hands(chosen),
            None if offset is None else hands([position + offset for position in chosen]),
        )

    def draw(self) -> Figure:
        """The figure."""
        rows, columns = len(self.positions), len(self.pairs)
        which = "all" if columns == self.of_pairs else f"{columns} of the {self.of_pairs}"
        first = "A clock is a pair: sine is how far its hand points to the right, cosine how far up."
        notes = [f"{first} Drawn are {which} pairs, with their positions per turn."]
        if self.dim % 2:
            notes.append("The last sine of an odd width has no cosine, and so no hand.")
        if self.offset is not None:
            notes.append(
                f"Light hand with a square: {count(self.offset)} positions on. The turn from dark to light, written "
                "below in turns, clockwise, is that of its column at every position: it depends on the offset alone."
            )
        width = max(6.5, 1.1 + 1.05 * columns)
        with house_style():
            figure = titled_figure(
                width, 1.0 + 1.22 * rows, f"Every pair is a clock: {self.convention}, width {self.dim}", notes
            )
            axes = figure.add_subplot()
            for row in range(rows):
                for column in range(columns):
                    self._clock(axes, row, column)
            axes.set_xlim(-0.6, columns - 0.4)
            axes.set_ylim(rows - 0.4, -0.6)
            axes.set_aspect("equal", anchor="N")
            axes.set_yticks(range(rows), [count(position) for position in self.positions])
            axes.set_xticks(
                range(columns),
                [f"pair {pair}\n{places(turn)}" for pair, turn in zip(self.pairs, self.wavelengths, strict=True)],
            )
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
            axes.set_ylabel("position")
            axes.set_xlabel("pair, and its positions per turn")
        return figure

    def _clock(self, axes: Axes, row: int, column: int) -> None:
        from matplotlib.patches import Circle

        axes.add_patch(Circle((column, row), _RADIUS, facecolor="white", edgecolor=GREY, linewidth=1))
        # Where every hand stands at position 0: twelve o'clock.
        axes.plot([column, column], [row - 0.85 * _RADIUS, row - _RADIUS], color=GREY, linewidth=1)
        if self.turned is not None:
            self._hand(axes, row, column, self.turned[row, column], BRIGHT, "s")
            turn = _turn_between(self.hands[row, column], self.turned[row, column])
            axes.text(column, row + 0.5, f"{turn:+.2g}", fontsize=7, ha="center", va="center", color=INK)
        self._hand(axes, row, column, self.hands[row, column], DARK, "o")

    def _hand(self, axes: Axes, row: int, column: int, hand: Tensor, colour: str, marker: str) -> None:
        across, up = (_RADIUS * 0.92 * float(part) for part in hand)
        # A rim, so that a light hand is seen on white.
        for rim, width in ((INK, 3.2), (colour, 2.2)):
            line = axes.plot([column, column + across], [row, row - up], color=rim, linewidth=width, zorder=3)
            line[0].set_solid_capstyle("round")
        style: dict[str, Any] = {"markersize": 4.5, "markeredgecolor": INK, "markeredgewidth": 0.5, "zorder": 4}
        axes.plot([column + across], [row - up], marker, color=colour, **style)


def _turn_between(first: Tensor, second: Tensor) -> float:
    """The part of a turn from one hand to the other, clockwise, above -1/2 and up to 1/2."""
    (sine, cosine), (later_sine, later_cosine) = first.tolist(), second.tolist()
    across, up = later_sine * cosine - later_cosine * sine, sine * later_sine + cosine * later_cosine
    return math.atan2(across, up) / (2 * math.pi)


def clocks(
    positions: int | Iterable[int],
    dim: int,
    convention: str | Convention = "transformer",
    *,
    offset: int | None = None,
) -> Figure:
    """Up to eight pairs as clocks, a row for each position.

    Sine is how far a hand points to the right, cosine how far up. So it stands at twelve at position 0 and runs
    clockwise, as the matrix M_k turns (sine, cosine).

    Args:
        positions: one position in int64, or up to eight.
        dim: width of the encoding.
        convention: a name in `posenc.conventions`, or a `Convention`; several axes are refused.
        offset: draw the hands at position + offset too. The turn between both is the same in every row: that is
            the matrix M_k of PE(p + k) = M_k PE(p).

    >>> figure = clocks([0, 1, 2], 8, offset=3)
    >>> figure.axes[0].texts[0].get_text() == figure.axes[0].texts[4].get_text()
    True
    """
    return Clocks.measured(positions, dim, convention, offset=offset).draw()
