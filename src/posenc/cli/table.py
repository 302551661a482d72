"""The command `posenc table`: rows of an encoding, to look at or to keep in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from ..errors import refuse
from . import console
from .page import count
from .position_list import Positions
from .progress import loading

if TYPE_CHECKING:
    from torch import Tensor

HELP = """\
Print rows of an encoding, or write them to a file.

\b
  posenc table --positions 0:8 --dim 6
  posenc table --positions 0:5000 --dim 512 --out table.npy
  posenc table --positions -3,0,2:10:4 --convention fairseq --out a.npy

A .npy file holds the rows, a .safetensors file holds them under "pe". Printed are the first rows
and columns; with --json all of them.
"""
SCHEMA = 1
PIECE_VALUES = 1 << 20
SHOWN_ROWS, SHOWN_COLUMNS = 16, 6
# More makes a JSON document that nothing reads with pleasure.
MOST_IN_JSON = 1 << 20


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("table", help=HELP)(table)


def table(
    positions: str = typer.Option("0:5000", metavar="RANGES", help="a:b, a:b:step, or a list of them and of numbers."),
    dim: int = typer.Option(512, help="Width of the encoding."),
    convention: str = typer.Option("transformer", help="Name in posenc.conventions, as fairseq."),
    dtype: Literal["float64", "float32", "bfloat16", "float16"] = typer.Option(
        "float32", help="What values are rounded to."
    ),
    out: Path | None = typer.Option(None, metavar="FILE", help="A new .npy or .safetensors file. [default: print]"),
    force: bool = typer.Option(False, "--force", help="Replace the file if it is there."),
    as_json: bool = typer.Option(False, "--json", help="Print what was made as one JSON document."),
) -> None:
    """Make the rows; its help is `HELP`."""
    places = Positions.read(positions)
    with loading():
        import torch

        from .. import __version__
        from ..convention import resolve
        from .table_file import TableFile

    rule = resolve(convention)
    shape = (places.count, rule.columns(dim).dim)
    kind = getattr(torch, dtype)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "command": "table",
        "posenc": __version__,
        "torch": torch.__version__,
        "convention": convention,
        "dim": dim,
        "dtype": dtype,
        "positions": positions,
        "shape": list(shape),
        "file": None,
        "bytes": None,
    }
    if out is not None:
        file = TableFile(out, kind, "replace" if force else "refuse")
        notes = {name: str(document[name]) for name in ("convention", "positions", "posenc")}
        document |= {
            "file": str(out),
            "bytes": file.write(shape, _rows(places, dim, convention, kind), notes),
        }
        if not as_json:
            rows, columns = (count(size) for size in shape)
            size = count(document["bytes"])
            console.out().print(f"Wrote {out}: {rows} x {columns} values of {dtype}, {size} bytes.")
    elif as_json:
        if shape[0] * shape[1] > MOST_IN_JSON:
            refuse(
                f"--json for {count(shape[0] * shape[1])} values",
                f"at most {count(MOST_IN_JSON)} of them in a document",
                "add --out FILE, or choose fewer --positions",
            )
        document["values"] = [row for rows in _rows(places, dim, convention, kind) for row in rows.tolist()]
    else:
        _draw(places, dim, convention, kind)
    if as_json:
        console.print_json(document)


def _rows(places: Positions, dim: int, convention: str, dtype: Any) -> Iterator[Tensor]:
    from ..encoding import encode

    for piece in places.pieces(max(1, PIECE_VALUES // dim)):
        yield encode(piece, dim, convention, dtype=dtype)


def _draw(places: Positions, dim: int, convention: str, dtype: Any) -> None:
    from ..encoding import encode

    shown = next(places.pieces(SHOWN_ROWS))
    width = max(len(str(position)) for position in shown)
    for position, row in zip(shown, encode(shown, dim, convention, dtype=dtype).tolist(), strict=True):
        numbers = " ".join(f"{number:12.9f}" for number in row[:SHOWN_COLUMNS])
        console.out().print(f"{position:>{width}} {numbers}{' ...' if dim > SHOWN_COLUMNS else ''}")
    if places.count > SHOWN_ROWS or dim > SHOWN_COLUMNS:
        console.err().print(
            f"These are {len(shown)} of {count(places.count)} rows and {min(dim, SHOWN_COLUMNS)} of "
            f"{count(dim)} columns; --out FILE writes all of them."
        )
