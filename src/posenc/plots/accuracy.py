"""Error against position: systems as released as thin lines, posenc as a thick one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from .style import BRIGHT, DARK, GREY, INK, house_style, new_figure
from .words import count, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The names of systems that share a line, and its errors, one a position.
Line: TypeAlias = tuple[Sequence[str], Sequence[float]]


@house_style()
def accuracy_figure(
    positions: Sequence[int],
    lines: Sequence[Line],
    ours: Sequence[float],
    *,
    dim: int,
) -> Figure:
    """Error against position on logarithmic axes: systems as released as thin lines, posenc as a thick one.

    Args:
        positions: (points,), rising.
        lines: names and errors (points,) of each; worst first.
        ours: errors (points,).
        dim: width of the encodings, to be said.

    >>> figure = accuracy_figure([1, 1000], [(("a", "b"), [5e-8, 7e-6])], [3e-8, 3e-8], dim=64)
    >>> "a = b" in [text.get_text() for text in figure.axes[0].texts]
    True
    """
    figure = new_figure(9, 5, dpi=200)
    axes = figure.add_axes((0.06, 0.11, 0.89, 0.75))
    # Room for the words above the lines and below ours.
    error_axes(axes, positions, min(ours) / 4.5, 2 * max(max(errors) for _, errors in lines))
    # What stays as flat as ours computes in float64; it lies on our line, and is drawn on it.
    flat = [line for line in lines if line[1][-1] < 2 * ours[-1]]
    rising = [line for line in lines if line not in flat]
    axes.plot(positions, ours, color=DARK, linewidth=4.5)
    for _, errors in flat:
        axes.plot(positions, errors, color=BRIGHT, linewidth=1.2, linestyle=(0, (1, 4)), dash_capstyle="round")
    for _, errors in rising:
        axes.plot(positions, errors, color=GREY, linewidth=1.3, solid_joinstyle="round")
    _name_lines(axes, rising, flat)
    if rising:
        name_values(axes, positions, [max(errors) for errors in zip(*(errors for _, errors in rising), strict=True)])
    figure.text(0.012, 0.945, "How far encodings are off, as released and by posenc", fontsize=13, weight="bold")
    figure.text(0.012, 0.9, f"largest error of a value near each position; width {dim}, float32", color=INK)
    return figure


def error_axes(axes: Axes, positions: Sequence[int], low: float, high: float) -> None:
    """Errors from low to high over positions, both logarithmic, a line at every power of ten."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(positions[0], positions[-1])
    axes.set_ylim(low, high)
    decades = [10**k for k in range(len(str(positions[-1]))) if 10**k >= positions[0]]
    # Within one decade the ends are the only round numbers.
    ticks = decades if len(decades) > 1 else sorted({positions[0], positions[-1]})
    axes.set_xticks(ticks, [count(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("position")
    axes.tick_params(which="minor", length=0)
    axes.grid(which="major")


def _name_lines(axes: Axes, rising: Sequence[Line], flat: Sequence[Line]) -> None:
    """Words beside the lines: a block above those that rise, one line of words on each side of ours."""
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    text = partial(axes.text, transform=axes.transAxes, fontsize=9.5, color=INK, va="top", bbox=ground)
    systems = sum(len(names) for names, _ in rising)
    text(0.2, 0.97, f"{systems} systems as released, in float32; equal ones share a line", weight="bold")
    for row, (names, _) in enumerate(rising):
        text(0.2, 0.915 - 0.05 * row, " = ".join(names))
    if flat:
        names = ", ".join(name for group, _ in flat for name in group)
        text(0.985, 0.155, f"dots: {names} as released, which compute in float64", ha="right")
    text(0.985, 0.06, "posenc, by any name: half a unit in the last place", weight="bold", color=DARK, ha="right")


def name_values(axes: Axes, positions: Sequence[int], errors: Sequence[float]) -> None:
    """Points on a line at every second power of ten, with the error there."""
    for place in range(2, len(str(positions[-1])), 2):
        at = min(range(len(positions)), key=lambda i: abs(positions[i] - 10**place))
        axes.plot([positions[at]], [errors[at]], "o", color=INK, markersize=4.5)
        axes.annotate(
            short(errors[at]),
            (positions[at], errors[at]),
            xytext=(7, -4),
            textcoords="offset points",
            va="top",
            color=INK,
        )
