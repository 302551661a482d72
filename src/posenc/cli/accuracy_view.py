"""Draws the accuracy of real systems: a table on the page, or a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from .. import plots
from .page import INDENT, Page, count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..verify.accuracy import Accuracy, Curve

NUMBER = 9


def curves_figure(curves: Sequence[Curve]) -> Figure:
    """The curves as a picture, ours being the last."""
    from ..verify.accuracy import DIM

    ours = curves[-1]
    lines = [(curve.names, curve.errors) for curve in curves[:-1]]
    return plots.accuracy_figure(ours.positions, lines, ours.errors, dim=DIM)


def draw(page: Page, found: Sequence[Accuracy]) -> None:
    """Largest errors, systems with the same ones together, the best first."""
    from ..verify.accuracy import DIM, POSITIONS

    page.console.print("posenc conventions --accuracy", style="bold")
    page.console.print()
    page.say(
        "The largest error of the systems as released, in their own order of operations on this machine, and of ours "
        "by name, both in float32. The truth is our float64 values, right to 1e-15 as posenc verify shows. "
        "posenc conventions NAME writes an order of operations out."
    )
    placed = [each for each in found if each.kind == "positions"]
    if placed:
        fits = f"width {placed[0].dim}" if len(placed) == 1 else f"width {DIM}, or the next below that fits"
        page.say(f"At positions: {placed[0].where}, on every axis alike; {fits}.")
        rows = [(each.recipe, each) for each in placed]
        _table(page, rows, [count(position) for position in POSITIONS])
    bounded = [each for each in found if each.kind == "coordinates"]
    if bounded:
        page.say("In coordinates of their own, which are bounded:")
        _table(page, [(f"{each.recipe}, {each.where}, width {each.dim}", each) for each in bounded], ["error"])


def _table(page: Page, found: Sequence[tuple[str, Accuracy]], header: Sequence[str]) -> None:
    """A line for each arithmetic that errs alike, and below it the systems that have it."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for label, each in sorted(found, key=lambda pair: pair[1].released[-1]):
        key = (label, *map(_short, each.released), _short(max(each.ours)))
        groups.setdefault(key, []).append(each.name)
    left = max(page.width - INDENT - NUMBER * (len(header) + 1), *(len(label) for label, _ in found))
    page.line(" " * left + "".join(f"{text:>{NUMBER}}" for text in [*header, "ours"]), "dim")
    for (label, *numbers), names in groups.items():
        page.line(f"{label:<{left}}" + "".join(f"{text:>{NUMBER}}" for text in numbers))
        for line in textwrap.wrap(", ".join(names), max(8, page.width - 2 * INDENT), break_on_hyphens=False):
            page.line(Text(" " * INDENT).append(line, "dim"))
    page.console.print()


def _short(error: float) -> str:
    return f"{error:.1e}".replace("e-0", "e-").replace("e+0", "e+")
