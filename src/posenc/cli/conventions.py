"""The command `posenc conventions`: who encodes positions how, and how far off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import refuse
from . import console
from .page import Page
from .progress import Bars, loading

if TYPE_CHECKING:
    from ..convention import System

HELP = """\
List the named conventions, or explain one.

\b
  posenc conventions
  posenc conventions openai-whisper
  posenc conventions --search nllb
  posenc conventions --accuracy
  posenc conventions --accuracy --plot accuracy.png

A name stands for what mathematics says of a real system's encoding. --accuracy measures what that
system's own arithmetic makes of it, on this machine; rotary names, whose values are queries and
keys, are left out. Exits with 1 where --search finds nothing.
"""
SCHEMA = 1


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("conventions", help=HELP)(conventions)


def conventions(
    name: str | None = typer.Argument(None, metavar="NAME", help="A name or an alias, to be explained."),
    search: str | None = typer.Option(None, metavar="WORD", help="Those whose name, alias or source holds this."),
    dim: int | None = typer.Option(None, help="Width for the numbers of NAME.  [default: 64, or near it]"),
    accuracy: bool = typer.Option(False, "--accuracy", help="Measure the systems' own arithmetic; takes seconds."),
    plot: Path | None = typer.Option(None, metavar="FILE", help="With --accuracy: draw ten famous ones."),
    as_json: bool = typer.Option(False, "--json", help="Print everything as one JSON document."),
) -> None:
    """List, explain or measure; its help is `HELP`."""
    _check_usage(name, search, dim, accuracy, plot)
    with loading():
        import torch

        from .. import __version__
        from ..convention import conventions as named
        from ..convention import resolve, systems
        from .plot_file import PlotFile

    picture = PlotFile(plot, "--plot") if plot is not None else None
    if name is not None:
        resolve(name)
        chosen = [systems[named.canonical(name) or name]]
    else:
        chosen = [system for system in systems.values() if search is None or _holds(system, search)]
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "command": "conventions",
        "posenc": __version__,
        "torch": torch.__version__,
    }
    if not chosen:
        console.err().print(f"No name, alias or source holds {search!r}; `posenc conventions` lists all.")
        if as_json:
            console.print_json({**document, "conventions": []})
        raise typer.Exit(console.Exit.BAD_NEWS)
    page = None if as_json else Page(console.out())
    if accuracy:
        _measure(document, chosen, page, picture)
    elif name is not None:
        from ..plots.subject import check_drawn_dim
        from .convention_facts import facts
        from .convention_view import explain

        document["convention"] = facts(chosen[0], None if dim is None else check_drawn_dim(dim))
        if page is not None:
            explain(page, document["convention"])
    else:
        from .convention_facts import summary
        from .convention_view import draw

        document["conventions"] = [summary(system) for system in chosen]
        if page is not None:
            draw(page, document["conventions"])
    if as_json:
        console.print_json(document)


def _check_usage(name: str | None, search: str | None, dim: int | None, accuracy: bool, plot: Path | None) -> None:
    if name is not None and search is not None:
        refuse(f"NAME {name!r} and --search {search!r}", "one of them", "leave one out")
    if plot is not None and not accuracy:
        refuse("--plot without --accuracy", "both", "add --accuracy")
    if plot is not None and (name is not None or search is not None):
        refuse("--plot with NAME or --search", "neither", "leave them out: ten famous systems are drawn")
    if dim is not None and (name is None or accuracy):
        refuse(f"--dim {dim}", "a NAME alone", "pass the name to be explained at that width")


def _holds(system: System, word: str) -> bool:
    texts = (system.name, system.family, system.subject, system.source, *system.aliases)
    plain = word.casefold().replace("_", "-")
    return any(plain in text.casefold().replace("_", "-") for text in texts)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Small tensors, the same bits every time: several threads would wait for each other and gain nothing."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _measure(document: dict[str, Any], chosen: list[System], page: Page | None, picture: Any) -> None:
    from ..verify.accuracy import POSITIONS, measure_curves, measure_systems
    from .accuracy_view import curves_figure, draw

    # Alone they are refused.
    chosen = [system for system in chosen if system.family != "rotary"] or chosen
    with Bars() as bars, _one_thread():
        found = list(
            measure_systems(
                [system.name for system in chosen],
                on_system=lambda done, steps: bars.step("Measuring systems", done, steps),
            )
        )
        document["positions"] = list(POSITIONS)
        document["accuracy"] = [each.document() for each in found]
        if picture is not None:
            curves = measure_curves(on_system=lambda done, steps: bars.step("Measuring curves", done, steps))
            document["curves"] = [curve.document() for curve in curves]
            document["plot"] = picture.save(curves_figure(curves))
    if page is not None:
        draw(page, found)
        if picture is not None:
            page.console.print(f"Wrote {document['plot']}")
