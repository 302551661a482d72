"""The picture of errors: the textbook's float32 recipe against ours, position by position."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from .. import reference
from ..convention import Convention, Plan
from ..encoding import encode
from ..encoding.arguments import INT64_MAX, check_int
from ..errors import ConventionError, refuse
from .accuracy import error_axes, name_values
from .style import DARK, GREY, INK, house_style, titled_figure
from .subject import Numbers, check_no_length, name_of, one_axis
from .words import short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Rows from each position on: the error of one row has large and small moments.
ROWS = 8
FURTHEST = 10_000_000
PER_DECADE = 5
# The options of a convention that the reference knows; all others must be those of the paper.
_KNOWN = ("base", "first", "endpoint_shift", "layout", "order", "odd", "position_offset", "position_scale")
# These change no value of a row.
_SILENT = ("numbering", "state_names", "released_as", "name")
# What arbitrary precision does in some seconds.
MOST_VALUES = 1 << 20


@dataclass(frozen=True)
class Errors(Numbers):
    """The largest error of the values of `ROWS` rows from each position on, in float32: textbook and ours.

    The truth is the formula in arbitrary precision.
    """

    convention: str
    dim: int
    recipe: str
    rows: int
    positions: list[int]
    textbook: list[float]
    ours: list[float]

    @classmethod
    def measured(
        cls,
        dim: int,
        convention: str | Convention = "transformer",
        *,
        positions: int | Iterable[int] | None = None,
    ) -> Self:
        """Both against the reference."""
        plan = one_axis(convention, dim, "a picture of errors")
        options = _options_of(plan)
        chosen = _positions(positions)
        if len(chosen) * ROWS * plan.dim > MOST_VALUES:
            refuse(
                f"{len(chosen)} positions at dim={plan.dim}",
                f"at most {MOST_VALUES} values, {ROWS} rows from each position on",
                "pass fewer positions or a smaller dim",
            )
        exact = reference.columns(chosen, list(range(ROWS)), plan.dim, **options)
        places = [position + row for position in chosen for row in range(ROWS)]
        recipe = plan.convention.released_as or "exp"

        def largest(rule: Convention) -> list[float]:
            rows = encode(places, plan.dim, rule, dtype=torch.float32, device="cpu").double()
            return _errors(rows, exact).view(len(chosen), -1).amax(1).tolist()

        return cls(
            name_of(plan.convention),
            plan.dim,
            recipe,
            ROWS,
            chosen,
            largest(replace(plan.convention, arithmetic=recipe)),
            largest(plan.convention),
        )

    def draw(self) -> Figure:
        """The figure."""
        what = f"Largest error of a value in {self.rows} rows from each position on, float32"
        notes = [f"{what}; the truth is the formula in arbitrary precision."]
        title = f"How far the textbook's recipe is off, and posenc: {self.convention}, width {self.dim}"
        with house_style():
            figure = titled_figure(9, 4.4, title, notes)
            axes = figure.add_subplot()
            # Nothing is off by less than this: a bar of zero has no logarithm.
            drawn = [[max(error, 1e-18) for error in errors] for errors in (self.textbook, self.ours)]
            low, high = min(map(min, drawn)), max(map(max, drawn))
            alone = len(self.positions) == 1
            span = self.positions if not alone else [self.positions[0], self.positions[0] + 1]
            error_axes(axes, span, low / 8, high * 8)
            dots = "o" if len(self.positions) <= 12 else ""
            axes.plot(self.positions, drawn[0], color=GREY, linewidth=1.8, marker=dots, clip_on=not dots)
            axes.plot(self.positions, drawn[1], color=DARK, linewidth=4, marker=dots, clip_on=not dots)
            if not alone:
                name_values(axes, self.positions, drawn[0])
            ground: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
            axes.text(
                0.03,
                0.95,
                f"textbook: float32 from start to end; at most {short(max(self.textbook), 2)}",
                transform=axes.transAxes,
                va="top",
                color=INK,
                weight="bold",
                bbox=ground,
            )
            axes.text(
                0.98,
                0.04,
                f"posenc: rounded once, at most {short(max(self.ours), 2)}",
                transform=axes.transAxes,
                ha="right",
                va="bottom",
                color=DARK,
                weight="bold",
                bbox=ground,
            )
            axes.set_ylabel("largest error of a value in [−1, 1]")
        return figure


def _options_of(plan: Plan) -> dict[str, Any]:
    """The convention as the reference takes it, or `ConventionError` where it knows nothing like it."""
    convention = plan.convention
    others = Convention(**{option: getattr(convention, option) for option in (*_KNOWN, *_SILENT)})
    if others != convention:
        refuse(
            f"convention {convention.label}",
            "one that the reference of arbitrary precision knows: a geometric ladder with nothing done to its values",
            "see `posenc conventions --accuracy`, which measures the others",
            error=ConventionError,
        )
    return {option: getattr(convention, option) for option in _KNOWN}


def _positions(positions: int | Iterable[int] | None) -> list[int]:
    if positions is None:
        decades = len(str(FURTHEST)) - 1
        return sorted({round(10 ** (step / PER_DECADE)) for step in range(decades * PER_DECADE + 1)})
    found = {
        check_int(position, "position", 1, INT64_MAX - ROWS, "errors stand on a logarithmic axis")
        for position in (positions if isinstance(positions, Iterable) else [positions])
    }
    if not found:
        refuse("no positions", "at least one", "leave positions out for 1 to 10 000 000")
    return sorted(found)


def _errors(rows: Tensor, exact: reference.Split) -> Tensor:
    """The error of each value (rows, dim); both differences are exact where values are right to half their bits."""
    high = torch.tensor(exact.high, dtype=torch.float64, device="cpu").T
    low = torch.tensor(exact.low, dtype=torch.float64, device="cpu").T
    return ((rows - high) - low).abs()


def error(
    dim: int, convention: str | Convention = "transformer", *, positions: int | Iterable[int] | None = None
) -> Figure:
    """Error against position of the textbook's float32 recipe and of ours, both axes logarithmic.

    The textbook computes in float32 from start to end, in the order of operations of the convention's own system
    where one is recorded. The truth is the formula in arbitrary precision, which knows geometric ladders of one
    axis; others are refused.

    Args:
        dim: width of the encoding.
        convention: a name in `posenc.conventions`, or a `Convention`.
        positions: where to measure, above zero; None is 1 to 10 000 000.

    >>> figure = error(8, positions=[1, 10_000])
    >>> textbook, ours = (float(line.get_ydata()[1]) for line in figure.axes[0].lines[:2])
    >>> textbook > 1000 * ours, ours <= 2**-25
    (True, True)
    """
    fix = "pass the width first and positions by name, as in plots.error(64, positions=[1, 100])"
    check_no_length("error", dim, convention, fix)
    return Errors.measured(dim, convention, positions=positions).draw()
