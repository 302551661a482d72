"""The command `posenc identify`: which convention the tables of a checkpoint speak."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import FileError
from . import console
from .console import Exit
from .page import WIDEST
from .progress import loading

if TYPE_CHECKING:
    from ..identify import Match
    from ..identify.files import Finding

HELP = """\
Say which convention the position tables of a checkpoint speak.

FILE is a safetensors, torch.save, npy or npz file, told from its content, the JSON
index of a sharded checkpoint, or a folder of these. Nothing in it is executed.
Tables and ladders are found by their names or by their content.

\b
  posenc identify model.safetensors
  posenc identify checkpoint.pt --key pos_embed
  posenc identify models/ --json

Exit: 0 every table has an answer, 1 one is unknown or none was found,
2 wrong usage, 3 a file cannot be read.
"""
SCHEMA = 1
# Names with the same values that are shown; --json has all.
SHOWN_NAMES = 6


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

    documents: list[dict[str, Any]] = []
    unreadable = False
    for path in files:
        document: dict[str, Any] = {"path": str(path), "error": None, "tensors": []}
        documents.append(document)
        try:
            found = _look(path, key, every=every, shown=not as_json)
        except FileError as error:
            unreadable = True
            document["error"] = str(error)
            console.fail(error)
            continue
        document["tensors"] = [_described(finding) for finding in found]
    kinds = [tensor["matches"][0]["kind"] for document in documents for tensor in document["tensors"]]
    if as_json:
        versions = {"posenc": __version__, "torch": torch.__version__}
        console.print_json({"schema": SCHEMA, "command": "identify", **versions, "files": documents})
    elif not kinds and not unreadable:
        console.out().print("No table of positions was found; --all looks at every tensor, --key TEXT at some.")
    if unreadable:
        raise typer.Exit(Exit.UNREADABLE)
    if not kinds or "unknown" in kinds:
        raise typer.Exit(Exit.BAD_NEWS)


def _look(path: Path, key: str | None, *, every: bool, shown: bool) -> list[Finding]:
    from ..identify.files import findings

    found = []
    said = ""
    for finding in findings(path, every=every, key=key):
        found.append(finding)
        if shown:
            if finding.path != said:
                said = finding.path
                console.out().print(_safe(said))
            _say(finding)
    return found


def _safe(text: str) -> str:
    """A name of somebody else's, without characters that move the cursor."""
    return text if text.isprintable() else repr(text)[1:-1]


def _say(finding: Finding) -> None:
    best = finding.matches[0]
    dtype = str(finding.dtype).removeprefix("torch.")
    console.out().print(f"  {_safe(finding.name) or 'the array'}  {finding.shape} {dtype}")
    for line in _lines(best, finding):
        for piece in textwrap.wrap(line, WIDEST - 4, break_on_hyphens=False, break_long_words=False):
            console.out().print(f"    {piece}")
    line = best.line(_width(finding, best))
    if line:
        # Not wrapped: it is there to be copied.
        console.out().print(f"    {line}")


def _lines(best: Match, finding: Finding) -> list[str]:
    """The answer in sentences, each of which may be wrapped."""
    said = [best.sentence() + _recipe(best)]
    if best.names and best.kind == "named":
        shown = ", ".join(best.names[:SHOWN_NAMES])
        rest = len(best.names) - SHOWN_NAMES
        said.append(f"the same values: {shown}{f' and {rest} more' if rest > 0 else ''}")
    if best.dtype is not None and best.dtype != finding.dtype:
        said.append(f"its values were rounded to {str(best.dtype).removeprefix('torch.')}")
    if best.padding:
        rows = ", ".join(map(str, best.padding))
        said.append(f"rows of zeros, as for padding: {rows}")
    said += [text for text in (best.arrangement, best.note) if text]
    return said


def _recipe(best: Match) -> str:
    if best.kind != "named" or best.is_ladder or best.arithmetic == "float32":
        return ""
    if best.arithmetic == "exact":
        return ", bit for bit the exact values"
    return f", bit for bit as released (recipe {best.arithmetic})"


def _width(finding: Finding, best: Match) -> int | str:
    if best.is_ladder:
        return 2 * finding.shape[-1]
    axes = [size for size in finding.shape if size > 1] or [1]
    return axes[0] if "transposed" in best.arrangement and len(axes) > 1 else axes[-1]


def _described(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "path": finding.path,
        "shape": list(finding.shape),
        "dtype": str(finding.dtype).removeprefix("torch."),
        "matches": [match.to_dict() for match in finding.matches],
    }
