"""A page of the terminal: numbered headings, sentences that wrap, and numbers that stand in columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ..plots.words import count, percent, places

__all__ = ["INDENT", "NARROWEST", "WIDEST", "Page", "bar", "count", "number", "percent", "places"]

INDENT = 3
NARROWEST = 20
WIDEST = 80  # a longer line is harder to read, however wide the terminal


class Page:
    """Prints to one console, top to bottom."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = max(NARROWEST, min(console.width, WIDEST))
        self.section = 0

    @property
    def colour(self) -> str:
        """The colours of pictures: "cividis", or "none" where the console has no colour."""
        return "cividis" if self.console.is_terminal and not self.console.no_color else "none"

    def heading(self, title: str) -> None:
        """An empty line, then the number of the section and its title."""
        self.section += 1
        self.console.print()
        self.console.print(Text(f"{self.section:<{INDENT - 1}} {title}", "bold"))
        self.console.print()

    def say(self, sentence: str, style: str = "") -> None:
        """A sentence or more, wrapped, with an empty line after it."""
        for line in textwrap.wrap(sentence, self.width - INDENT, break_on_hyphens=False):
            self.line(line, style)
        self.console.print()

    def line(self, text: str | Text, style: str = "") -> None:
        """One line as it is, indented."""
        self.console.print(Text(" " * INDENT, style).append(text))

    def columns(self, rows: Sequence[Sequence[str]], *, header: Sequence[str] = ()) -> None:
        """The first column at the left, the others at the right, each as wide as it needs."""
        table = [list(header), *rows] if header else list(rows)
        widths = [max(cell_len(row[i]) for row in table) for i in range(len(table[0]))]
        for i, row in enumerate(table):
            first = row[0] + " " * (widths[0] - cell_len(row[0]))
            rest = [" " * (width - cell_len(text)) + text for width, text in zip(widths[1:], row[1:], strict=True)]
            self.line("   ".join([first, *rest]).rstrip(), "dim" if header and i == 0 else "")
        self.console.print()


def number(value: float) -> str:
    """A number as people write it: four decimals, or a power of ten where that would hide it.

    >>> number(0.123456), number(1.5e-7), number(0.0), number(47117.3)
    ('0.1235', '1.5e-07', '0', '47 117')
    """
    if value == 0:
        return "0"
    if abs(value) >= 10_000:
        return count(round(value))
    return f"{value:.4f}" if abs(value) >= 1e-3 else f"{value:.1e}"


def bar(share: float, width: int) -> str:
    """A bar for a fraction of the width.

    >>> bar(0.5, 8)
    '####....'
    """
    full = round(min(max(share, 0.0), 1.0) * width)
    return "#" * full + "." * (width - full)
