"""Figures from numbers; matplotlib is imported inside the functions, and is an extra."""

from __future__ import annotations

import importlib.util
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

COLOURS = "cividis"  # red and blue are the same grey at -1 and +1, so the sign would be lost
MOST_LABELS = 64
LONGEST_LABEL = 16
MARK = "posenc"  # in the file, so that a later run knows its own picture


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
    with _no_backend():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    rows, dim = len(values), len(values[0])
    # A figure of its own, not pyplot: no window, no global state, no style of the caller's.
    figure = Figure(figsize=(10, min(12.0, 2.2 + 0.19 * rows)), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
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
    with warnings.catch_warnings():
        # A script that the font lacks is drawn as boxes, and the picture is whole all the same.
        warnings.filterwarnings("ignore", message="Glyph")
        figure.savefig(path, metadata={"Software": MARK})


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
