"""The picture that compares two conventions: the rows of each, and their difference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import torch
from torch import Tensor

from ..convention import Convention, resolve
from ..encoding import convert, encode
from ..errors import ConventionError
from .rows import Rows
from .style import house_style, titled_figure
from .subject import Numbers, check_drawn_dim, neighbours
from .words import count, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Two pixels each, in a third of the figure.
MOST_COLUMNS = 256
MOST_ROWS = 256
# What values may differ by that are equal: float64 ones are within 1e-15 of mathematics, each.
SAME = 2e-15

# Letters that fit below each of the three pictures.
LETTERS = 52

Relation = Literal["equal", "other order", "other start", "other start and order", "other values"]


@dataclass(frozen=True)
class Comparison(Numbers):
    """Rows of two conventions at one width, and what differs.

    difference (rows, shown): second minus first; largest: its largest magnitude in the rows that are drawn, over
    all columns, at `position` and `column`; relation: "equal", "other order" where columns stand elsewhere and hold
    the same, "other start" where row p of the second is row p + `apart` of the first, both, or "other values".
    """

    first: Rows
    second: Rows
    relation: Relation
    apart: float | None
    largest: float
    position: int
    column: int
    difference: Tensor

    @classmethod
    def measured(
        cls, length: int, dim: int, convention: str | Convention, against: str | Convention, *, start: int = 0
    ) -> Self:
        """Both in float64."""
        columns = neighbours(check_drawn_dim(dim), MOST_COLUMNS)
        one, two = (
            Rows.measured(length, dim, each, start=start, most_rows=MOST_ROWS, columns=columns)
            for each in (convention, against)
        )
        positions = one.positions
        whole = [encode(positions, dim, each, dtype=torch.float64, device="cpu") for each in (convention, against)]
        difference = whole[1] - whole[0]
        place = int(difference.abs().argmax())
        relation, apart = _relation(positions, whole[1], resolve(convention), resolve(against))
        return cls(
            one,
            two,
            relation,
            apart,
            float(difference.abs().max()),
            positions[place // dim],
            place % dim,
            difference[:, columns],
        )

    def document(self) -> dict[str, Any]:
        """The same for `json`."""
        return {**super().document(), "first": self.first.document(), "second": self.second.document()}

    def draw(self) -> Figure:
        """The figure."""
        one, two = self.first, self.second
        apart = replace(one, values=self.difference, hidden=sorted({*one.hidden, *two.hidden}))
        notes = [self.said, *dict.fromkeys([*one.notes, *two.notes])]
        with house_style():
            figure = titled_figure(
                13,
                min(6.8, max(2.2, 1.5 + 0.16 * len(one.positions))),
                f"{one.convention} and {two.convention}, width {one.dim}, {one.said_positions}",
                notes,
            )
            panels = figure.subplots(1, 3, sharey=True)
            titles = (one.convention, two.convention, "second minus first")
            # Rounding is no difference to be seen.
            scale = 1.0 if self.largest <= SAME else self.largest
            for axes, rows, title, top in zip(panels, (one, two, apart), titles, (None, None, scale), strict=True):
                image = rows.paint(axes, ticks=4, top=top, letters=LETTERS, speeds=rows is not apart)
                axes.set_title(title if len(title) <= 40 else f"{title[:39]}…", fontsize=10, weight="bold", pad=6)
                if rows is apart:
                    axes.set_xlabel("column")
                figure.colorbar(image, ax=axes, pad=0.02, aspect=30)
                if axes is not panels[0]:
                    axes.set_ylabel("")
        return figure

    @property
    def said(self) -> str:
        """The relation of the two, in words."""
        if self.relation == "equal":
            return f"The same values: none differ by more than {short(SAME)}."
        far = f"by up to {short(self.largest, 3)}, at position {count(self.position)} in column {self.column}"
        if self.relation == "other order":
            return f"The same values in another order of columns; column by column they differ {far}."
        if self.apart is not None:
            one, two = self.first.convention, self.second.convention
            early, late = (one, two) if self.apart > 0 else (two, one)
            moved = ", in another order of columns" if self.relation == "other start and order" else ""
            same = (
                f"The same rows at other positions: row p of {late} is row p + {abs(self.apart):g} of {early}{moved}."
            )
            return f"{same} At one position they differ {far}."
        return f"Other values: they differ {far}."


def _relation(
    positions: list[int], rows: Tensor, source: Convention, target: Convention
) -> tuple[Relation, float | None]:
    """How `rows` of the target are made of those of the source, and how many positions further on these are."""

    def order(first: Convention) -> Literal["equal", "other order"] | None:
        found = encode(positions, rows.shape[-1], first, dtype=torch.float64, device="cpu")
        if float((rows - found).abs().max()) <= SAME:
            return "equal"
        try:
            moved = convert(found, first, target)
        except ConventionError:
            return None
        return "other order" if float((rows - moved).abs().max()) <= SAME else None

    here = order(source)
    if here is not None:
        return here, None
    before, after = source.position_offset, target.position_offset
    if isinstance(before, tuple) or isinstance(after, tuple) or before == after:
        return "other values", None
    there = order(replace(source, position_offset=after))
    if there is None:
        return "other values", None
    return "other start" if there == "equal" else "other start and order", after - before


def compare(
    length: int, dim: int, convention: str | Convention, against: str | Convention, *, start: int = 0
) -> Figure:
    """Rows of two conventions side by side, and the second minus the first.

    The picture says whether they are equal, hold the same values in another order of columns (`posenc.convert`
    moves them) or at other positions, or differ, by how much and where.

    Args:
        length: number of positions.
        dim: width of both.
        convention, against: names in `posenc.conventions`, or `Convention`s; several axes are refused.
        start: the first position.

    >>> figure = compare(32, 16, "transformer", "tensor2tensor")
    >>> len(figure.axes[2].images)
    1
    """
    return Comparison.measured(length, dim, convention, against, start=start).draw()
