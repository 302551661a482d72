"""Figures from numbers; matplotlib is imported inside the functions, and is an extra."""

from __future__ import annotations

import importlib.util
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The names of systems that share a line, and its errors, one a position.
Line: TypeAlias = tuple[Sequence[str], Sequence[float]]

COLOURS = "cividis"  # red and blue are the same grey at -1 and +1, so the sign would be lost
MOST_LABELS = 64
LONGEST_LABEL = 16
MARK = "posenc"  # in the file, so that a later run knows its own picture
# Both ends of cividis, and greys: the picture loses nothing without colour.
DARK, BRIGHT, GREY, INK, FAINT = "#00204d", "#ffea46", "#7c7b78", "#333333", "#ededed"


def can_draw() -> bool:
    """Whether matplotlib is installed; looked up, not imported."""
    return importlib.util.find_spec("matplotlib") is not None


def is_ours(path: Path) -> bool:
    """Whether the file is a picture that this module has written."""
    with path.open("rb") as file:
        head = file.read(1024)
    return head.startswith(b"\x89PNG") and b"Software\0" + MARK.encode() in head


def save_heat_map(
    values: Sequence[Sequence[float]],
    path: str | Path,
    *,
    labels: Sequence[str] = (),
    title: str = "",
) -> None:
    """Draw an encoding as a PNG: one row a position, one column a dimension, cividis from -1 to 1.

    Args:
        values: (positions, dim), in [-1, 1].
        labels: words of the first positions, written beside their rows.
        title: above the picture, plain text.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two.png"
    >>> save_heat_map([[0.0, 1.0], [0.84, 0.54]], path, labels=["dog", "bites"])
    >>> is_ours(path)
    True
    """
    rows, dim = len(values), len(values[0])
    figure = _figure(10, min(12.0, 2.2 + 0.19 * rows), dpi=150)
    figure.set_layout_engine("constrained")
    axes = figure.add_subplot()
    image = axes.imshow(values, cmap=COLOURS, vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    places = range(0, rows, math.ceil(rows / MOST_LABELS))
    names = [f"{_short(labels[p])}  {p}" if p < len(labels) else f"{p}" for p in places]
    # A dollar sign in a word is no formula.
    axes.set_yticks(list(places), [name.replace("$", r"\$") for name in names], fontsize=8)
    axes.set_xlabel(f"dimension (0 to {dim - 1}; each pair is a sine, then its cosine)")
    axes.set_ylabel("word and position" if labels else "position")
    axes.set_title(title.replace("$", r"\$"), loc="left")
    bar = figure.colorbar(image, ax=axes, pad=0.015, aspect=30)
    bar.ax.set_title("value", fontsize=9)
    bar.set_ticks([-1, -0.5, 0, 0.5, 1])
    save_figure(figure, path)


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as a PNG that `is_ours` knows again."""
    with warnings.catch_warnings():
        # A script that the font lacks is drawn as boxes, and the picture is whole all the same.
        warnings.filterwarnings("ignore", message="Glyph")
        figure.savefig(path, format="png", metadata={"Software": MARK})


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
    figure = _figure(9, 5, dpi=200)
    axes = figure.add_axes((0.06, 0.11, 0.89, 0.75))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(positions[0], positions[-1])
    # Room for the words above the lines and below ours.
    axes.set_ylim(min(ours) / 4.5, 2 * max(max(errors) for _, errors in lines))
    decades = [10**k for k in range(len(str(positions[-1])))]
    axes.set_xticks(decades, [f"{decade:,}".replace(",", " ") for decade in decades])
    axes.set_xlabel("position", color=INK)
    axes.tick_params(which="both", colors=INK, labelsize=9)
    axes.tick_params(which="minor", length=0)
    axes.grid(which="major", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
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
        _name_values(axes, positions, [max(errors) for errors in zip(*(errors for _, errors in rising), strict=True)])
    figure.text(0.012, 0.945, "How far encodings are off, as released and by posenc", fontsize=13, weight="bold")
    figure.text(0.012, 0.9, f"largest error of a value near each position; width {dim}, float32", color=INK)
    return figure


def _name_lines(axes: Axes, rising: Sequence[Line], flat: Sequence[Line]) -> None:
    """Words beside the lines: a block above those that rise, one line of words on each side of ours."""
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    text = partial(axes.text, transform=axes.transAxes, fontsize=9.5, color=INK, va="top", bbox=ground)
    count = sum(len(names) for names, _ in rising)
    text(0.2, 0.97, f"{count} systems as released, in float32; equal ones share a line", weight="bold")
    for row, (names, _) in enumerate(rising):
        text(0.2, 0.915 - 0.05 * row, " = ".join(names))
    if flat:
        names = ", ".join(name for group, _ in flat for name in group)
        text(0.985, 0.155, f"dots: {names} as released, which compute in float64", ha="right")
    text(0.985, 0.06, "posenc, by any name: half a unit in the last place", weight="bold", color=DARK, ha="right")


def _name_values(axes: Axes, positions: Sequence[int], errors: Sequence[float]) -> None:
    """Points on a line at every second power of ten, with the error there."""
    for place in range(2, len(str(positions[-1])), 2):
        at = min(range(len(positions)), key=lambda i: abs(positions[i] - 10**place))
        axes.plot([positions[at]], [errors[at]], "o", color=INK, markersize=4.5)
        axes.annotate(
            f"{errors[at]:.1g}".replace("e-0", "e-"),
            (positions[at], errors[at]),
            xytext=(7, -4),
            textcoords="offset points",
            va="top",
            color=INK,
        )


def _figure(width: float, height: float, dpi: int) -> Figure:
    """A figure of its own, not pyplot: no window, no global state, no style of the caller's."""
    with _no_backend():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=dpi)
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def _no_backend() -> Iterator[None]:
    """Import matplotlib without the backend that the environment names: notebooks name one that is not here."""
    named = os.environ.pop("MPLBACKEND", None)
    try:
        yield
    finally:
        if named is not None:
            os.environ["MPLBACKEND"] = named


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
