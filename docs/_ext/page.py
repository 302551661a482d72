"""What the pages of the lesson use behind the scenes: numbers for their sentences, and figures that show themselves."""

# ruff: noqa: INP001 - pages load it by its name

from __future__ import annotations

from typing import Any

from IPython import get_ipython
from IPython.core.pylabtools import select_figure_formats
from myst_nb import glue


def say(**values: Any) -> None:
    """Keep numbers and words under names that sentences may name, as in {glue:text}`name`; nothing is shown.

    A float is kept as it is, so that the sentence chooses its digits; words are shown without quotes.
    """
    for name, value in values.items():
        # A tensor of one number is that number.
        plain = value.item() if hasattr(value, "item") else value
        glue(name, Words(plain) if isinstance(plain, str) else plain, display=False)


class Words(str):
    """Text whose representation is itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


shell = get_ipython()
if shell is not None:
    select_figure_formats(shell, {"png"})
