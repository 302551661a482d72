"""The command `posenc identify`: which convention the tables of a checkpoint speak."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import FileError
from . import console
from .console import Exit
from .page import WIDEST, count
from .progress import loading

if TYPE_CHECKING:
    from ..identification import Match
    from ..identification.files import Finding

HELP = """\
Say which convention the position tables of a checkpoint speak.

FILE is a safetensors, torch.save, npy or npz file, told from its content, the JSON
index of a sharded checkpoint, or a folder of these. Nothing in it is executed.
Tables are found by their names or by their content, ladders by names as inv_freq.

\b
  posenc identify model.safetensors
  posenc identify checkpoint.pt --key pos_embed
  posenc identify models/ --json

Exit: 0 every table has an answer, 1 one is unknown or none was found,
2 wrong usage, 3 a file cannot be read.
"""
SCHEMA = 1
# Names with the same values, and runs of rows of zeros, that are shown; --json has all.
SHOWN_NAMES = 6
SHOWN_RUNS = 4


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("identify", help=HELP)(identify)


def identify(
    files: list[Path] = typer.Argument(..., metavar="FILE...", help="Files or folders to look into."),
    key: str | None = typer.Option(None, metavar="TEXT", help="Look at every tensor whose name contains this."),
    every: bool = typer.Option(False, "--all", help="Look at every tensor of floats, whatever its name."),
    as_json: bool = typer.Option(False, "--json", help="Print the answers as one JSON document."),
) -> None:
    """Look into the files; its help is `HELP`."""
    with loading():
        import torch

        from .. import __version__

    documents = [_looked(path, key, every=every, shown=not as_json) for path in _each(files)]
    kinds = [tensor["matches"][0]["kind"] for document in documents for tensor in document["tensors"]]
    unreadable = any(document["error"] for document in documents)
    if as_json:
        versions = {"posenc": __version__, "torch": torch.__version__}
        console.print_json({"schema": SCHEMA, "command": "identify", **versions, "files": documents})
    elif not kinds and not unreadable:
        console.out().print(_none_found(key, every=every))
    if unreadable:
        raise typer.Exit(Exit.UNREADABLE)
    if not kinds or "unknown" in kinds:
        raise typer.Exit(Exit.BAD_NEWS)


def _each(paths: list[Path]) -> Iterator[str]:
    """Every file of the paths; one that cannot be listed stands for itself, and is refused when it is read."""
    from ..readers import files_of

    for path in paths:
        try:
            yield from files_of(path)
        except FileError:
            yield str(path)


def _looked(path: str, key: str | None, *, every: bool, shown: bool) -> dict[str, Any]:
    """What was found in a file, as JSON may hold it; said at once where it is `shown`."""
    from ..identification.files import findings

    document: dict[str, Any] = {"path": path, "error": None, "tensors": []}
    try:
        for finding in findings(path, every=every, key=key):
            if shown and not document["tensors"]:
                console.out().print(_safe(path))
            document["tensors"].append(_described(finding))
            if shown:
                _say(finding)
    except FileError as error:
        document["error"] = str(error)
        console.fail(error)
    return document


def _none_found(key: str | None, *, every: bool) -> str:
    if key is not None:
        return f"No tensor of floats has a name that contains {key!r}."
    if every:
        return "No tensor of floats was found."
    return "No table of positions was found; --all looks at every tensor, --key TEXT at some."


def _safe(text: str) -> str:
    """A name of somebody else's, without characters that move the cursor."""
    return text if text.isprintable() else repr(text)[1:-1]


def _say(finding: Finding) -> None:
    best = finding.matches[0]
    dtype = str(finding.dtype).removeprefix("torch.")
    shape = " x ".join(map(count, finding.shape)) or "a number"
    console.out().print(f"  {_safe(finding.name) or 'the array'}  {shape}  {dtype}")
    for line in _lines(best, finding):
        for piece in textwrap.wrap(line, WIDEST - 4, break_on_hyphens=False, break_long_words=False):
            console.out().print(f"    {piece}")
    line = best.line()
    if line:
        # Not wrapped: it is there to be copied.
        console.out().print(f"    {line}")


def _lines(best: Match, finding: Finding) -> list[str]:
    """The answer in sentences, each of which may be wrapped."""
    if best.convention is None:
        said = [f"{best.sentence()}: {best.note}", best.arrangement]
    else:
        said = [best.sentence() + _recipe(best), best.arrangement, best.note]
    said = [text for text in said if text]
    for words, names in (("the same values", best.names), ("the same rows, counted from elsewhere", best.shifted)):
        if names and best.kind == "named":
            rest = len(names) - SHOWN_NAMES
            said.append(f"{words}: {', '.join(names[:SHOWN_NAMES])}{f' and {rest} more' if rest > 0 else ''}")
    if best.convention is not None and best.dtype != finding.dtype:
        said.append(f"its values were rounded to {str(best.dtype).removeprefix('torch.')}")
    if best.padding:
        said.append(_zeros(best.padding))
    return said


def _zeros(padding: tuple[int, ...]) -> str:
    """Rows of zeros, in runs."""
    runs = [[row for _, row in run] for _, run in groupby(enumerate(padding), lambda each: each[1] - each[0])]
    shown = ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs[:SHOWN_RUNS])
    more = ", ..." if len(runs) > SHOWN_RUNS else ""
    return f"zeros, as for padding, in row{'s' if len(padding) > 1 else ''} {shown}{more}"


def _recipe(best: Match) -> str:
    if best.kind != "named" or best.is_ladder or best.arithmetic in ("float32", None):
        return ""
    if best.arithmetic == "exact":
        return ", bit for bit the exact values"
    return f", bit for bit as released (recipe {best.arithmetic})"


def _described(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "shape": list(finding.shape),
        "dtype": str(finding.dtype).removeprefix("torch."),
        "matches": [match.to_dict() for match in finding.matches],
    }
