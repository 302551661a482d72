"""The picture of waves: sine and cosine of some pairs over the positions, the fast ones above."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from ..convention import Convention
from ..encoding import encode
from ..encoding.arguments import check_int
from .style import BRIGHT, DARK, FAINT, GREY, HATCH, INK, house_style, titled_figure, whole_ticks
from .subject import Numbers, Pair, check_length, evenly, name_of, one_axis, pairs_of, scale_of
from .words import places, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PAIRS = 8
PER_TURN = 24  # points of a curve, so that it looks round
FEWEST = 400
# The axes have so many pixels at least, and a line is some three of them wide: what turns in less is a block.
PIXELS, TOO_FEW = 1000, 12
MOST_DOTS = 64
_DOT: dict[str, Any] = {"markersize": 3.5, "markeredgecolor": INK, "markeredgewidth": 0.4, "clip_on": False}
# Beyond it float64 has no points between the positions.
FURTHEST = 1 << 40


@dataclass(frozen=True)
class Wave(Numbers):
    """One pair: its columns and wavelength, its values at every whole position that is drawn as a dot, its curve.

    `kind` is "curve", or "band" where it turns too often to be drawn; then there are no points.
    """

    pair: int
    columns: list[int]
    wavelength: float
    kind: str
    points: Tensor
    sine: Tensor
    cosine: Tensor | None


@dataclass(frozen=True)
class Waves(Numbers):
    """Some pairs of a convention over positions start .. start + length - 1."""

    convention: str
    dim: int
    pairs: int
    start: int
    length: int
    waves: list[Wave]

    @classmethod
    def measured(cls, length: int, dim: int, convention: str | Convention = "transformer", *, start: int = 0) -> Self:
        """Curves at real positions between the whole ones."""
        plan = one_axis(convention, dim, "a picture of waves")
        check_length(length, FURTHEST, "pass the number of positions")
        check_int(start, "start", -FURTHEST, FURTHEST, "draw posenc.plots.heat_map, which knows every position")
        pairs = pairs_of(plan)
        chosen = [pairs[index] for index in evenly(len(pairs), MOST_PAIRS)]

        def wave(pair: Pair) -> Wave:
            columns = [pair.sine] if pair.cosine is None else [pair.sine, pair.cosine]
            if pair.wavelength * PIXELS / length < TOO_FEW:
                nothing = torch.empty(0, dtype=torch.float64)
                return Wave(pair.number, columns, pair.wavelength, "band", nothing, nothing, None)
            turns = 0.0 if math.isinf(pair.wavelength) else (length - 1) / pair.wavelength
            points = _points(start, length, max(FEWEST, math.ceil(PER_TURN * turns)))
            rows = encode(points, plan.dim, plan.convention, dtype=torch.float64)[:, columns]
            cosine = None if pair.cosine is None else rows[:, 1]
            return Wave(pair.number, columns, pair.wavelength, "curve", points, rows[:, 0], cosine)

        return cls(name_of(plan.convention), plan.dim, len(pairs), start, length, [wave(pair) for pair in chosen])

    def document(self) -> dict[str, Any]:
        """The same for `json`."""
        return {**super().document(), "waves": [wave.document() for wave in self.waves]}

    def draw(self) -> Figure:
        """The figure."""
        last = self.start + self.length - 1
        title = f"Waves of {self.convention}, width {self.dim}, over {span(self.start, self.length)}"
        which = "all" if len(self.waves) == self.pairs else f"{len(self.waves)} of the {self.pairs}"
        notes = [f"Drawn are {which} pairs, from the first to the last; dark: sine, light with dashes: cosine."]
        if any(wave.kind == "band" for wave in self.waves):
            notes.append(f"Hatched: turns in less than {TOO_FEW} pixels, too often to be drawn.")
        with house_style():
            figure = titled_figure(9, 0.75 + 0.95 * len(self.waves), title, notes)
            grid = figure.subplots(len(self.waves), 1, sharex=True, squeeze=False)
            for axes, wave in zip(grid[:, 0], self.waves, strict=True):
                self._paint(axes, wave)
            bottom = grid[-1, 0]
            if self.length > 1:
                bottom.set_xlim(self.start, last)
            else:
                bottom.set_xlim(self.start - 0.5, self.start + 0.5)
            whole_ticks(bottom.xaxis)
            bottom.set_xlabel("position")
        return figure

    @property
    def largest(self) -> float:
        """The magnitude at both ends of the scale: 1, or what waves with a gain reach."""
        members = [values for wave in self.waves for values in (wave.sine, wave.cosine) if values is not None]
        return scale_of([float(values.abs().max()) for values in members if len(values)])

    def _paint(self, axes: Axes, wave: Wave) -> None:
        last = self.start + self.length - 1
        top = self.largest
        if wave.kind == "band":
            axes.axhspan(-top, top, facecolor=FAINT, hatch=HATCH, edgecolor="none")
        else:
            members = [wave.sine] if wave.cosine is None else [wave.sine, wave.cosine]
            lines = ((DARK, 1.8, "-", "o"), (GREY, 1.3, (0, (4, 2)), "s"))
            for values, (colour, width, dashes, marker) in zip(members, lines, strict=False):
                axes.plot(wave.points.numpy(), values.numpy(), color=colour, linewidth=width, linestyle=dashes)
                if self.length <= MOST_DOTS:
                    # Whole positions, which are what a model sees.
                    every = max(1, (len(values) - 1) // max(1, self.length - 1))
                    fill = colour if marker == "o" else BRIGHT
                    axes.plot(wave.points[::every].numpy(), values[::every].numpy(), marker, color=fill, **_DOT)
        axes.set_ylim(-1.15 * top, 1.15 * top)
        axes.set_yticks([-top, 0, top], [f"{-top:.3g}", "0", f"{top:.3g}"])
        axes.set_ylabel("value", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.tick_params(axis="x", length=0 if axes.get_subplotspec() is None else 3)
        names = (
            "columns " + " and ".join(map(str, wave.columns)) if len(wave.columns) > 1 else f"column {wave.columns[0]}"
        )
        speed = "does not turn" if math.isinf(wave.wavelength) else f"{places(wave.wavelength)} positions per turn"
        more = "; more than half a turn a position: the dots lie on a slower wave too" if wave.wavelength < 2 else ""
        axes.set_title(f"pair {wave.pair}: {names}; {speed}{more}", fontsize=9, loc="left", pad=3, color=INK)
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
        axes.set_xlim(self.start, max(last, self.start + 1))


def _points(start: int, length: int, fewest: int) -> Tensor:
    """Real positions from the first to the last one; the whole ones are among them where they are drawn as dots."""
    if length > MOST_DOTS:
        return torch.linspace(start, start + length - 1, fewest, dtype=torch.float64, device="cpu")
    between = -(-fewest // max(1, length - 1))
    return start + torch.arange((length - 1) * between + 1, dtype=torch.float64, device="cpu") / between


def waves(length: int, dim: int, convention: str | Convention = "transformer", *, start: int = 0) -> Figure:
    """Sine and cosine of up to eight pairs over positions start .. start + length - 1, the first pair above.

    The curves are values at real positions; the dots, where there are few, are the whole positions that a model
    sees. A pair that turns in less than twelve pixels is hatched, not drawn.

    Args:
        length: number of positions.
        dim: width of the encoding.
        convention: a name in `posenc.conventions`, or a `Convention`; several axes are refused.
        start: the first position, within 2^40 of zero.

    >>> figure = waves(32, 8)
    >>> [axes.get_title("left") for axes in figure.axes][-1]
    'pair 3: columns 6 and 7; 6 283 positions per turn'
    """
    return Waves.measured(length, dim, convention, start=start).draw()
