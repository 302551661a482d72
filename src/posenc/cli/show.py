"""The command `posenc show`: pictures of encodings, in a file or on the screen."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from ..errors import refuse
from . import console
from .position_list import Positions
from .progress import loading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELP = """\
Draw an encoding, on the screen or to a file.

\b
  posenc show
  posenc show heat-map --length 200 --dim 128 --out rows.png
  posenc show similarity --dim 512 --out similarity.svg
  posenc show clocks --positions 0,1,2,50 --offset 3
  posenc show compare --convention fairseq --against tensor2tensor

\b
  heat-map           one row a position, one column a dimension
  waves              sine and cosine of some pairs over the positions
  wavelengths        positions per turn, pair by pair
  similarity         how alike rows are, by their distance: PE(p) . PE(p + k)
  similarity-matrix  the same for all pairs of positions
  clocks             each pair as a hand that turns
  spectrum           how many directions of the width the rows fill
  error              the textbook's recipe against ours, by position
  compare            the rows of two conventions, and their difference

--out takes .png, .svg or .pdf, and replaces nothing but pictures of ours. --json prints the numbers
behind the picture, and draws nothing unless --out is there. Pictures need matplotlib:
pip install "posenc[plots]".
"""
SCHEMA = 1
Kind = Literal[
    "heat-map",
    "waves",
    "wavelengths",
    "similarity",
    "similarity-matrix",
    "clocks",
    "spectrum",
    "error",
    "compare",
]
# Where the numbers of a kind are measured, and the options that it takes beside --dim and --convention.
_KINDS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "heat-map": ("rows", "Rows", ("length", "start")),
    "waves": ("wave_lines", "Waves", ("length", "start")),
    "wavelengths": ("turns", "Turns", ()),
    "similarity": ("likeness", "Similarity", ("length",)),
    "similarity-matrix": ("likeness", "SimilarityMatrix", ("length",)),
    "clocks": ("dials", "Clocks", ("positions", "offset")),
    "spectrum": ("directions", "Spectrum", ("length", "start")),
    "error": ("errors_of", "Errors", ("positions",)),
    "compare": ("comparison", "Comparison", ("length", "start", "against")),
}
LENGTH, DIM = 100, 64
# What a convention is compared with, and what the first one is.
PAPER, OTHER = "transformer", "tensor2tensor"
MOST_POSITIONS = 1000


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("show", help=HELP, short_help="Draw an encoding, on the screen or to a file.")(show)


def show(
    kind: Kind = typer.Argument(
        "heat-map", metavar="KIND", show_choices=False, help="Which picture, of the list above."
    ),
    dim: int | None = typer.Option(None, help=f"Width of the encoding.  [default: {DIM}, or near it]"),
    length: int | None = typer.Option(None, help=f"How many positions or offsets.  [default: {LENGTH}]"),
    start: int | None = typer.Option(None, help="The first position.  [default: 0]"),
    positions: str | None = typer.Option(None, metavar="RANGES", help="Of clocks, at most 8, and of error."),
    offset: int | None = typer.Option(None, help="Clocks: hands so many positions on, too."),
    convention: str = typer.Option(PAPER, help="Name in posenc.conventions, as fairseq."),
    against: str | None = typer.Option(
        None, metavar="NAME", help=f"Compare: the other one.  [default: {PAPER}, or {OTHER} for it]"
    ),
    out: Path | None = typer.Option(None, metavar="FILE", help="A .png, .svg or .pdf.  [default: the screen]"),
    as_json: bool = typer.Option(False, "--json", help="Print the numbers as one JSON document."),
) -> None:
    """Draw; its help is `HELP`."""
    given = {"length": length, "start": start, "positions": positions, "offset": offset, "against": against}
    _check_usage(kind, given)
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if positions is not None:
        options["positions"] = _read(positions)
    with loading():
        from .. import __version__, plots
        from ..convention import fitting_dim, resolve
        from .plot_file import NO_MATPLOTLIB, PlotFile
        from .window import Window

    rule = resolve(convention)
    if dim is None:
        dim = fitting_dim(rule, DIM)
    place: PlotFile | Window | None = None
    if out is not None:
        place = PlotFile(out, "--out")
    elif not as_json:
        if not plots.can_draw():
            refuse("posenc show without matplotlib", "matplotlib, or --json", NO_MATPLOTLIB)
        place = Window()
    if kind == "compare":
        options.setdefault("against", OTHER if rule == resolve(PAPER) else PAPER)
    numbers = _measured(kind, dim, convention, options)
    written = None
    if place is not None:
        figure: Figure = numbers.draw()
        if isinstance(place, PlotFile):
            written = place.save(figure)
        else:
            place.show(figure)
    if as_json:
        head = {"schema": SCHEMA, "command": "show", "posenc": __version__, "kind": kind, "file": written}
        console.print_json({**head, **numbers.document()})
    elif written is not None:
        console.out().print(f"Wrote {written}")


def _check_usage(kind: str, given: dict[str, Any]) -> None:
    takes = _KINDS[kind][2]
    for name, value in given.items():
        if value is not None and name not in takes:
            kinds = [other for other, (_, _, options) in _KINDS.items() if name in options]
            refuse(f"--{name} with {kind}", f"it with {' or '.join(kinds)} alone", "leave it out")


def _read(text: str) -> list[int]:
    """The positions of a command line, a number of them that can be drawn."""
    found = Positions.read(text)
    if found.count > MOST_POSITIONS:
        refuse(f"--positions {text!r}, which are {found.count}", f"at most {MOST_POSITIONS}", "pass fewer")
    return list(found)


def _measured(kind: str, dim: int, convention: str, options: dict[str, Any]) -> Any:
    """The numbers behind the picture."""
    module, name, takes = _KINDS[kind]
    measured = getattr(importlib.import_module(f"..plots.{module}", __package__), name).measured
    if "length" in takes:
        options.setdefault("length", LENGTH)
    if kind == "clocks":
        from ..plots.dials import FIRST

        options.setdefault("positions", FIRST)
    return measured(dim=dim, convention=convention, **options)
