"""An encoding as lines for the terminal: in colour where there is colour, else in characters."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from ..plots.cividis import CIVIDIS

CHARACTERS = " .:-=+*#@"  # the same from -1 to 1, in nine steps
LABEL = 14  # columns before the picture: the word, the position, a space
MOST_PAIRS = 32


def heat_map(words: Sequence[str], values: Sequence[Sequence[float]], *, width: int, colour: str) -> list[Text]:
    """A line of titles, then one line a position: the sines of all pairs, and the cosines of all pairs.

    In the vector a sine and its cosine stand side by side; apart, one sees the waves.
    `colour` is "cividis" or "none".
    """
    pairs = pairs_shown(len(values[0]), width)
    titles = "".join(f"{title:{len(pairs)}} "[: len(pairs) + 1] for title in ("sin", "cos"))
    lines = [Text(" " * LABEL + titles.rstrip(), "dim")]
    for position, (word, row) in enumerate(zip(words, values, strict=True)):
        line = Text(f"{label(word, LABEL - 5)} {position:3d} ")
        for member in (0, 1):
            for pair in pairs:
                line.append_text(cell(row[2 * pair + member], colour=colour))
            line.append(" " if member == 0 else "")
        lines.append(line)
    return lines


def key(dim: int, *, width: int, colour: str) -> str:
    """How to read the picture.

    >>> key(512, width=80, colour="none")
    "32 of the 256 pairs, fast ones at the left; from -1 to 1: ' .:-=+*#@'."
    """
    shown, pairs = len(pairs_shown(dim, width)), dim // 2
    which = f"All {pairs} pairs" if shown == pairs else f"{shown} of the {pairs} pairs"
    scale = "dark is -1, bright is 1" if colour != "none" else f"from -1 to 1: '{CHARACTERS}'"
    return f"{which}, fast ones at the left; {scale}."


def pairs_shown(dim: int, width: int) -> list[int]:
    """The pairs that fit into the width: all of them, or some at even distances.

    >>> pairs_shown(8, 80)
    [0, 1, 2, 3]
    >>> pairs_shown(512, 80)[:4], len(pairs_shown(512, 80))
    ([0, 8, 16, 24], 32)
    """
    pairs = dim // 2
    fit = max(1, min(MOST_PAIRS, (width - LABEL - 1) // 2))
    return list(range(pairs)) if pairs <= fit else [i * pairs // fit for i in range(fit)]


def label(word: str, width: int) -> str:
    """The word at the right of so many terminal columns, cut where it is longer.

    >>> label("librarian", 12), label("librarian", 6)
    ('   librarian', 'libra…')
    """
    if cell_len(word) > width:
        return set_cell_size(word, width - 1) + "…"
    return " " * (width - cell_len(word)) + word


def cell(value: float, *, colour: str) -> Text:
    """One character for a value in [-1, 1]."""
    share = min(max((value + 1) / 2, 0.0), 1.0)
    if colour == "none":
        return Text(CHARACTERS[round(share * (len(CHARACTERS) - 1))])
    return Text(" ", Style(bgcolor=CIVIDIS[round(share * (len(CIVIDIS) - 1))]))
