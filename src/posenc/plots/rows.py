"""The heat map: one row a position, one column a dimension."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from ..convention import Convention, Plan
from ..encoding import encode
from ..errors import DtypeError, refuse, shown
from .style import COLOURS, FAINT, HATCH, boxed, house_style, titled_figure, whole_ticks
from .subject import (
    Numbers,
    check_length,
    check_start,
    check_text,
    column_wavelengths,
    every,
    name_of,
    neighbours,
    one_axis,
    scale_of,
)
from .words import count, places, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

# Each has two pixels of a figure at least.
MOST_ROWS, MOST_COLUMNS = 400, 512
MOST_LABELS = 64
LONGEST_LABEL = 16
# Beyond it ticks count from the start.
LARGE = 10_000_000


@dataclass(frozen=True)
class Rows(Numbers):
    """Rows of an encoding as a heat map shows them.

    positions (rows,) are every `step`-th from the first on; columns (shown,) of all `dim`; values (rows, shown) in
    float64; wavelengths (shown,) in positions; hidden: those of `columns` that turn in less than two rows, so that
    what the rows hold of them looks like a slower wave; inputs: those that hold the position itself.
    """

    convention: str
    dim: int
    length: int
    step: int
    positions: list[int]
    columns: list[int]
    wavelengths: list[float]
    hidden: list[int]
    inputs: list[int]
    layout: str
    order: str
    values: Tensor

    @classmethod
    def measured(
        cls,
        length: int,
        dim: int,
        convention: str | Convention = "transformer",
        *,
        start: int = 0,
        most_rows: int = MOST_ROWS,
        columns: list[int] | None = None,
    ) -> Self:
        """The rows start .. start + length - 1, or every so many of them, and columns likewise or those given."""
        plan = one_axis(convention, dim, "a heat map")
        length = check_length(length)
        start = check_start(start, length)
        step = -(-length // most_rows)
        positions = list(range(start, start + length, step))
        columns = _columns_shown(plan) if columns is None else columns
        turns = column_wavelengths(plan)
        values = encode(positions, plan.dim, plan.convention, dtype=torch.float64, device="cpu")
        return cls(
            name_of(plan.convention),
            plan.dim,
            length,
            step,
            positions,
            columns,
            [turns[column] for column in columns],
            [column for column in columns if turns[column] < 2 * step],
            [column for _, column in plan.inputs if column in columns],
            plan.convention.layout,
            _order(plan),
            values[:, columns],
        )

    @property
    def largest(self) -> float:
        """The magnitude at both ends of the colours: 1, or what waves with a gain reach."""
        waves = [index for index, column in enumerate(self.columns) if column not in self.inputs]
        return scale_of([float(self.values[:, waves].abs().max())] if waves else [])

    def draw(self, *, labels: Sequence[str] = (), title: str = "") -> Figure:
        """The figure."""
        shown = len(self.positions)
        with house_style():
            figure = titled_figure(
                10,
                min(9.5, max(1.5, 0.9 + 0.19 * shown)),
                title or f"Encoding of {self.said_positions}: {self.convention}, width {self.dim}",
                self.notes,
            )
            axes = figure.add_subplot()
            image = self.paint(axes)
            if labels:
                self._name_rows(axes, labels)
            bar = figure.colorbar(image, ax=axes, pad=0.015, aspect=30, extend="both" if self.inputs else "neither")
            bar.set_label("value")
        return figure

    @property
    def said_positions(self) -> str:
        """Which positions there are, in words."""
        return span(self.positions[0], self.length)

    @property
    def notes(self) -> list[str]:
        """What is left out, and why."""
        notes = []
        if self.step > 1:
            notes.append(f"Drawn is every {_th(self.step)} position, {count(len(self.positions))} rows.")
        if len(self.columns) < self.dim:
            notes.append(f"Drawn are {len(self.columns)} of the {count(self.dim)} columns, at even distances.")
        if self.hidden:
            notes.append(
                f"Hatched: {len(self.hidden)} columns turn in less than two {'rows' if self.step > 1 else 'positions'};"
                " drawn, they would look like slower waves."
            )
        if self.inputs:
            notes.append(f"Column {', '.join(map(str, self.inputs))} holds the position itself, beyond the colours.")
        return notes

    def paint(
        self, axes: Axes, *, ticks: int = 9, top: float | None = None, letters: int = 120, speeds: bool = True
    ) -> AxesImage:
        """The cells up to a magnitude, the hatching over hidden columns, and both axes with so many ticks.

        `letters` fit below the picture in one line; the upper axis has `speeds`, where each column has one.
        """
        values = self.values.clone()
        values[:, [self.columns.index(column) for column in self.hidden]] = math.nan
        first, last = self.positions[0], self.positions[-1]
        start = first if max(abs(first), abs(last)) > LARGE else 0
        edges = (-0.5, len(self.columns) - 0.5, last - start + self.step / 2, first - start - self.step / 2)
        top = self.largest if top is None else top
        image = axes.imshow(
            values.numpy(), cmap=COLOURS, vmin=-top, vmax=top, aspect="auto", interpolation="nearest", extent=edges
        )
        boxed(axes)
        for low, high in _runs([self.columns.index(column) for column in self.hidden]):
            axes.axvspan(low - 0.5, high + 0.5, facecolor=FAINT, hatch=HATCH, edgecolor="none")
        whole_ticks(axes.yaxis)
        axes.set_ylabel(f"position − {count(start)}" if start else "position")
        at = _regular(len(self.columns), ticks)
        axes.set_xticks(at, [count(self.columns[index]) for index in at])
        axes.set_xlabel(textwrap.fill(f"column: {self.order}", letters))
        if speeds:
            self._tell_speeds(axes, at)
        return image

    def _tell_speeds(self, axes: Axes, at: Sequence[int]) -> None:
        turning = axes.twiny()
        turning.set_xlim(axes.get_xlim())
        boxed(turning)
        turning.set_xticks(at, [_turn(self.wavelengths[index]) for index in at])
        turning.tick_params(length=2, labelsize=8)
        halves = ", half by half" if self.layout == "halves" and len(self.columns) > 1 else ""
        turning.set_xlabel(f"positions per turn{halves}", fontsize=9)

    def _name_rows(self, axes: Axes, labels: Sequence[str]) -> None:
        places = self.positions[:: math.ceil(len(self.positions) / MOST_LABELS)]
        names = [f"{_short(labels[p])}  {p}" if 0 <= p < len(labels) else f"{p}" for p in places]
        # A dollar sign in a word is no formula.
        axes.set_yticks(places, [name.replace("$", r"\$") for name in names], fontsize=8)
        axes.set_ylabel("word and position")


def heat_map(
    length: int,
    dim: int,
    convention: str | Convention = "transformer",
    *,
    start: int = 0,
    labels: Sequence[str] = (),
    title: str = "",
) -> Figure:
    """The encodings of positions start .. start + length - 1: one row a position, one column a dimension.

    Values are float64, in cividis from -1 to 1. More rows or columns than can be seen are thinned, and the picture
    says so; columns that turn in less than two rows are hatched, since they would look like slower waves.

    Args:
        length: number of positions.
        dim: width of the encoding.
        convention: a name in `posenc.conventions`, or a `Convention`; several axes are refused.
        start: the first position.
        labels: words of the positions from 0 on, written beside their rows.
        title: instead of the one that says what is drawn; plain text.

    Returns:
        A matplotlib figure of its own, which no pyplot knows of.

    >>> figure = heat_map(100, 16)
    >>> figure.axes[0].images[0].get_array().shape
    (100, 16)
    """
    if isinstance(labels, str) or not isinstance(labels, Sequence):
        refuse(
            f"labels={shown(labels)} of type {type(labels).__name__}",
            "a list of words",
            "pass one for each row",
            error=DtypeError,
        )
    labels = [check_text(label, f"labels[{index}]") for index, label in enumerate(labels)]
    return Rows.measured(length, dim, convention, start=start).draw(labels=labels, title=check_text(title, "title"))


def _columns_shown(plan: Plan) -> list[int]:
    """All columns, or some at even distances where they are too many to be seen; a sine stays with its cosine."""
    if plan.convention.layout == "interleaved":
        return neighbours(plan.dim, MOST_COLUMNS)
    return list(every(plan.dim, MOST_COLUMNS))


def _regular(count: int, most: int) -> range:
    """At most so many ticks, from 0 on, a power of two apart: widths are full of those, and so a tick starts a pair.

    >>> _regular(64, 9), _regular(7, 9)
    (range(0, 64, 8), range(0, 7))
    """
    step = 1
    while -(-count // step) > most:
        step *= 2
    return range(0, count, step)


def _order(plan: Plan) -> str:
    """Where a reader finds what: sines, cosines, and the fast side."""
    convention = plan.convention
    first, second = ("sine", "cosine") if convention.order == "sine-first" else ("cosine", "sine")
    turns = column_wavelengths(plan)
    block = plan.blocks[0].columns
    ends = [turns[column] for column in range(*block.sines.indices(plan.dim))]
    if len(ends) == 1:
        return f"{first}, {second}" if plan.dim > 1 else first
    sides = ("fast", "slow") if ends[0] <= ends[-1] else ("slow", "fast")
    way = f"{sides[0]} at the left, {sides[1]} at the right"
    if ends[0] == ends[-1]:
        way = "of one speed"
    if convention.layout == "interleaved":
        lone = "" if len(ends) == len(range(*block.cosines.indices(plan.dim))) else "; the last sine has no cosine"
        return f"{way}; each pair is a {first}, then its {second}{lone}"
    return f"{first}s, then {second}s; in each half {way}"


def _runs(indices: list[int]) -> list[tuple[int, int]]:
    """First and last of each run of neighbours.

    >>> _runs([0, 1, 2, 7])
    [(0, 2), (7, 7)]
    """
    groups = groupby(enumerate(sorted(indices)), lambda pair: pair[1] - pair[0])
    found: list[list[Any]] = [[index for _, index in group] for _, group in groups]
    return [(run[0], run[-1]) for run in found]


def _th(number: int) -> str:
    """An ordinal, in digits.

    >>> _th(2), _th(3), _th(11), _th(21)
    ('2nd', '3rd', '11th', '21st')
    """
    tail = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{count(number)}{tail}"


def _turn(wavelength: float) -> str:
    return "–" if math.isinf(wavelength) else places(wavelength)


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
