"""The house's style of figures: colours, title, scale of colours, and nothing of the caller's settings."""

from __future__ import annotations

import os
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .words import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLOURS = "cividis"  # red and blue are the same grey at -1 and +1, so the sign would be lost
# Both ends of cividis, and greys: the picture loses nothing without colour.
DARK, BRIGHT, GREY, INK, FAINT = "#00204d", "#ffea46", "#7c7b78", "#333333", "#ededed"
HATCH = "////"

_RULES: Any = {
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "font.size": 10,
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    "hatch.color": GREY,
    "hatch.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": 9,
    "ytick.color": INK,
    "ytick.labelsize": 9,
    # Files are the same at every run, and journals take their letters.
    "svg.hashsalt": "posenc",
    "pdf.fonttype": 42,
}
TITLE, NOTE = 13, 10  # points
_MARGIN = 0.14  # inches
_LEADING = 1.45
# Letters to the inch, of the widest texts that we write.
_TITLE_LETTERS, _NOTE_LETTERS = 9.5, 13.5


@contextmanager
def house_style() -> Iterator[None]:
    """Draw, or save, by the house's rules: no style and no settings of the caller's, which are back afterwards."""
    with without_backend():
        import matplotlib as mpl
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(_RULES)
        # A script that the font lacks is drawn as boxes, and the picture is whole all the same.
        warnings.filterwarnings("ignore", message="Glyph")
        yield


@contextmanager
def without_backend() -> Iterator[None]:
    """Import matplotlib without the backend that the environment names: notebooks name one that is not here."""
    named = os.environ.pop("MPLBACKEND", None)
    try:
        yield
    finally:
        if named is not None:
            os.environ["MPLBACKEND"] = named


def new_figure(width: float, height: float, *, dpi: int = 150) -> Figure:
    """A figure of its own, not pyplot: no window, no global state. Sizes in inches."""
    from .figure import Figure

    return Figure(figsize=(width, height), dpi=dpi)


def titled_figure(width: float, height: float, title: str, notes: Sequence[str] = ()) -> Figure:
    """A figure with its title, and what is to know beside it, above `height` inches for the picture itself."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    room = width - 2 * _MARGIN
    # A title with a constructor line in it wraps too.
    heads = textwrap.wrap(title, int(room * _TITLE_LETTERS), break_on_hyphens=False)
    lines = [line for note in notes for line in textwrap.wrap(note, int(room * _NOTE_LETTERS), break_on_hyphens=False)]
    words = [(TITLE, "bold", line) for line in heads] + [(NOTE, "normal", line) for line in lines]
    head = _MARGIN + sum(size * _LEADING / 72 for size, _, _ in words) + 0.06
    figure = new_figure(width, height + head)
    y = height + head - _MARGIN
    for size, weight, line in words:
        place = (_MARGIN / width, y / (height + head))
        # A dollar sign in a word is no formula.
        figure.text(*place, line, fontsize=size, weight=weight, va="top", color=INK, parse_math=False)
        y -= size * _LEADING / 72
    rect = (0.0, 0.0, 1.0, height / (height + head))
    figure.set_layout_engine(ConstrainedLayoutEngine(rect=rect, w_pad=0.09, h_pad=0.07))
    return figure


def boxed(axes: Axes) -> None:
    """All four edges, for pictures of cells."""
    axes.spines[:].set_visible(True)


def whole_ticks(axis: Axis) -> None:
    """Whole numbers alone, with gaps between the thousands."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axis.set_major_formatter(FuncFormatter(_whole))


def turn_ticks(axis: Axis) -> None:
    """Positions per turn on a logarithmic axis, written out."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(_turn))
    axis.set_minor_formatter(NullFormatter())


# Named, so that figures can be pickled.
def _whole(value: float, _: int | None) -> str:
    return count(round(value))


def _turn(value: float, _: int | None) -> str:
    return count(round(value)) if 1 <= value < 1e9 else f"{value:g}"
