"""The command `posenc tour`: measures, draws while it goes, and leaves a picture and a page to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from . import console

PICTURE = "posenc-tour.png"
PAGE = "posenc-tour.html"
PICTURE_ROWS = 48

HELP = """\
Show on a text why order needs an encoding, in numbers.

\b
  posenc tour
  posenc tour letter.txt --out pictures
  posenc tour --sentences "she told him" "him told she"

It shows that attention is blind to order, what the sinusoidal encoding does about it, and what a
small model learns with it and without. Everything is measured while you look, on torch's own layers.
It ends in a picture, and in a page with your two sentences to turn and to pass on: one file, opened
in a browser, without a network.
"""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("tour", help=HELP, short_help="Why order needs an encoding, in numbers.")(tour)


def tour(
    file: Path | None = typer.Argument(
        None, metavar="FILE", help="A UTF-8 text, or - for standard input. By default a short story."
    ),
    sentences: tuple[str, str] = typer.Option(
        ("man bites dog", "dog bites man"), metavar="A B", help="Two sentences to tell apart."
    ),
    out: Path | None = typer.Option(
        None, metavar="DIR", help=f"Where to put {PICTURE} and {PAGE}; made if missing. By default this folder."
    ),
    dim: int = typer.Option(64, help="Width of the encoding, an even number."),
    seed: int = typer.Option(0, help="Seed of layers, shuffle and training."),
    fast: bool = typer.Option(False, "--fast", help="Shorter text, shorter training: a few seconds."),
    as_json: bool = typer.Option(False, "--json", help="Print every number as one JSON document."),
) -> None:
    """Run the tour; its help is `HELP`."""
    from .progress import Bars, loading

    with loading():
        from .. import explorer, plots
        from .. import tour as job
        from .keepsake import Keepsake
        from .page import Page
        from .picture import Picture
        from .tour_view import NAMES, draw

    text = job.read_text(file)
    pace: job.Pace = "fast" if fast else "full"
    document = job.head(dim=dim, seed=seed, pace=pace)
    page = None if as_json else Page(console.out())
    with Bars() as bars:

        def on_step(name: str, done: int, steps: int) -> None:
            bars.step(f"training {NAMES[name]}", done, steps)

        stations = job.sections(text, sentences, dim=dim, seed=seed, pace=pace, on_step=on_step)
        picture = Picture(out, PICTURE)
        keepsake = Keepsake(out, PAGE, kind="page", is_ours=explorer.is_ours)
        for name, data in stations:
            bars.clear()
            document[name] = data
            if page is not None:
                draw(page, name, data)
    words = text.words[:PICTURE_ROWS]
    title = f"Sinusoidal encoding of the first {len(words)} words of {Path(text.name).name}, dim {dim}"
    document["files"] = picture.save(lambda: plots.heat_map(len(words), dim, labels=words, title=title))
    html = explorer.page(state=_shown(sentences, len(text.words), dim))
    pages = keepsake.save(lambda file: file.write(html.encode()))
    wrote = [f"Wrote {file}" for file in document["files"]]
    wrote += [f"Wrote {file}: open it in a browser, turn it, pass it on" for file in pages]
    document["files"] += pages
    if as_json:
        console.print_json(document)
    notes = [place.missing for place in (picture, keepsake) if place.missing]
    for note in [*notes, *wrote]:
        (console.err() if page is None else page.console).print(note)


def _shown(sentences: tuple[str, str], length: int, dim: int) -> dict[str, Any]:
    """What the page shows first: what the tour has shown, as far as a page goes."""
    from ..explorer import RANGES

    asked = {"dim": dim, "length": length}
    fitting = {key: min(max(asked[key], RANGES[key][0]), RANGES[key][1]) for key in asked}
    return {"sentences": list(sentences), **fitting}
