"""The command `posenc explore`: the page in a browser, or in a file to pass on."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

import typer

from . import console
from .place import Place

NAME = "posenc-explorer.html"

HELP = """\
Open the explorer: the encoding to look at, to turn and to break.

\b
  posenc explore
  posenc explore --sentences "she told him" "him told she"
  posenc explore --convention fairseq --dim 128 --out fairseq.html

One HTML file that needs no network and no server. Without --out it goes to a temporary folder and is
opened in your browser; with --out it is written and not opened, to be passed on. What you turn is
kept in the address, so that a view can be shared too.
"""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("explore", help=HELP, short_help="The encoding to turn and to break, in a browser.")(explore)


def explore(
    sentences: tuple[str, str] | None = typer.Option(None, metavar="A B", help="Two sentences to tell apart."),
    length: int | None = typer.Option(None, help="How many positions are shown."),
    dim: int | None = typer.Option(None, help="Width of the encoding, an even number."),
    base: float | None = typer.Option(None, help="Ratio of the first frequency to that at the ladder's end."),
    convention: str | None = typer.Option(None, help="Name in posenc.conventions that the page knows, as fairseq."),
    position: int | None = typer.Option(None, help="Row of the cell that is read out."),
    dimension: int | None = typer.Option(None, help="Column of the cell that is read out."),
    offset: int | None = typer.Option(None, help="The distance k of M_k, which takes PE(p) to PE(p + k)."),
    broken: str | None = typer.Option(None, "--break", help="What is broken, as bfloat16-positions."),
    colours: str | None = typer.Option(None, help="cividis, or red-blue, which hides the sign in grey."),
    out: Path | None = typer.Option(None, metavar="FILE", help="Write the page there, or to stdout for -."),
) -> None:
    """Make the page and open it; its help is `HELP`."""
    from .. import explorer

    asked: dict[str, Any] = {
        "sentences": sentences,
        "length": length,
        "dim": dim,
        "base": base,
        "convention": convention,
        "position": position,
        "dimension": dimension,
        "offset": offset,
        "break": broken,
        "colours": colours,
    }
    html = explorer.page(state={key: value for key, value in asked.items() if value is not None})
    if out is None:
        _open(html)
    elif str(out) == "-":
        sys.stdout.buffer.write(html.encode())
    else:
        Place(out, "page", explorer.is_ours).write(lambda file: file.write(html.encode()))
        console.out().print(f"Wrote {out}: open it in a browser.")


def _open(html: str) -> None:
    """Put the page into a folder of its own, where nobody else writes, and open it."""
    path = Path(tempfile.mkdtemp(prefix="posenc-")) / NAME
    Place(path, "page", "nothing", option=None).write(lambda file: file.write(html.encode()))
    browser = _browser()
    if browser is not None and browser.open(path.as_uri()):
        console.out().print(f"Opened {path}")
        console.err().print("If no page has come up, open that file, or take it elsewhere with --out FILE.")
        return
    console.out().print(f"Wrote {path}")
    console.err().print(
        "No browser was found here. Open that file in one, or write it with --out FILE and take it to one."
    )


def _browser() -> webbrowser.BaseBrowser | None:
    """The browser of this machine; None where there is none that shows more than text."""
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return None
    # Without a screen Python falls back on the browsers of terminals, which run no scripts.
    is_text = type(found) is webbrowser.GenericBrowser and not os.environ.get("BROWSER")
    return None if is_text else found
