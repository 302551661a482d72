"""The command `posenc verify`: this machine's values against exact ones, and how far they are off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from . import console
from .page import Page, count, number, percent
from .progress import Bars, loading
from .verify_rotary import verify_rotary

if TYPE_CHECKING:
    from ..verify import Row

HELP = """\
Compare this machine's values with exact ones.

The judge computes in arbitrary precision. Half a million values take some ten seconds.

\b
  posenc verify
  posenc verify --values 10000000
  posenc verify --device cuda

Every named convention of one axis, gains, several widths, four dtypes, positions near zero up to both ends of int64.
On the CPU nothing may be misrounded; on another device nothing may be more than one unit in the
last place away. Exits with 1 where that does not hold.

\b
  posenc verify --family rotary

judges turned queries instead, in three dtypes, against the error that rotary embeddings promise.
"""
SCHEMA = 1
# Some minutes and 1.5 GB for rotary, whose memory grows with it.
MOST_VALUES = 100_000_000


class Family(StrEnum):
    """What `posenc verify` judges."""

    ENCODINGS = "encodings"
    ROTARY = "rotary"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("verify", help=HELP)(verify)


def verify(
    values: int = typer.Option(500_000, min=1, max=MOST_VALUES, help="How many values to compare, at least."),
    device: str = typer.Option("cpu", help="Where values are made, as torch names it."),
    seed: int = typer.Option(0, min=0, max=2**63 - 1, help="Seed of the positions."),
    family: Family = typer.Option(Family.ENCODINGS, help="What is judged."),
    as_json: bool = typer.Option(False, "--json", help="Print every number as one JSON document."),
) -> None:
    """Run the comparison; its help is `HELP`."""
    if family == Family.ROTARY:
        is_sound = verify_rotary(values, device, seed, as_json=as_json)
        raise typer.Exit(console.Exit.SOUND if is_sound else console.Exit.BAD_NEWS)
    with loading():
        import torch

        from .. import __version__
        from .. import verify as job
        from ..verify.sample import fitting

    with Bars() as bars:
        rows = job.measure(
            values=values,
            device=device,
            seed=seed,
            on_values=lambda done, total: bars.step("Comparing values", done, total),
        )
        textbook = job.measure_textbook()
    is_sound, judged = all(row.is_sound for row in rows), fitting()
    document = {
        "schema": SCHEMA,
        "command": "verify",
        "posenc": __version__,
        "torch": torch.__version__,
        "device": device,
        "seed": seed,
        "encodings": len(judged),
        "with_gain": sum(convention.gain != 1 for _, convention, _ in judged),
        "values": sum(row.values for row in rows if (row.path, row.dtype) == (rows[0].path, rows[0].dtype)),
        "sound": is_sound,
        "rows": [row.document() for row in rows],
        "textbook": textbook,
    }
    if as_json:
        console.print_json(document)
    else:
        _draw(Page(console.out()), document, rows)
    raise typer.Exit(console.Exit.SOUND if is_sound else console.Exit.BAD_NEWS)


def _draw(page: Page, document: dict[str, Any], rows: Sequence[Row]) -> None:
    page.console.print(f"posenc verify: values made on {document['device']}, torch {document['torch']}", style="bold")
    page.console.print()
    page.say(
        f"{count(document['values'])} exact values of {document['encodings']} encodings, {document['with_gain']} of "
        "them with a gain, at positions of every size up to both ends of int64. "
        "The largest error, in units in the last place and as it is:"
    )
    kinds = list(dict.fromkeys((row.path, row.dtype) for row in rows))
    page.columns(
        [_summary([row for row in rows if (row.path, row.dtype) == kind]) for kind in kinds],
        header=["", "misrounded", "units", "error", "bound"],
    )
    if any(row.path == "computed" for row in rows):
        page.say("computed: what compilers and exporters run in place of encode, without the last repair.")
    for row in rows:
        if not row.is_sound:
            _complain(page, row)
    page.say("For comparison, the recipe of the tutorials, in float32:")
    header = ["", "misrounded", "largest error"]
    page.columns([_textbook(found) for found in document["textbook"]], header=header)
    if document["sound"]:
        page.say("Every bound holds: the values of this machine are right.", style="green")
    else:
        page.say("A bound is broken: do not trust the values of this machine.", style="red")


def _summary(rows: Sequence[Row]) -> list[str]:
    misrounded = sum(row.misrounded for row in rows)
    units = max(row.largest_units for row in rows)
    # float64 is promised as an absolute error: its last bits are nobody's business.
    by_units = rows[0].dtype != "float64"
    return [
        f"{rows[0].path:9} {rows[0].dtype}",
        count(misrounded) if by_units else "",
        _cut(units) if by_units else "",
        number(max(row.largest_absolute for row in rows)),
        rows[0].bound if all(row.is_sound for row in rows) else f"BROKEN: {rows[0].bound}",
    ]


def _cut(units: float) -> str:
    """Six digits, cut and not rounded: 0.49999998 must not look like a half."""
    return f"{math.floor(units * 1e6) / 1e6:.6f}" if units < 1000 else number(units)


def _complain(page: Page, row: Row) -> None:
    worst = row.worst
    page.say(
        f"{row.path}, {row.dtype}, positions near {row.near}: {count(row.misrounded)} of {count(row.values)} "
        f"misrounded, at worst by {_cut(row.largest_units)} units at position {worst['position']}, "
        f"column {worst['column']} of {worst['convention']}, dim {worst['dim']}.",
        style="red",
    )


def _textbook(found: dict[str, Any]) -> list[str]:
    share = percent(found["misrounded"] / found["values"])
    return [f"near {count(found['near'])}, dim {found['dim']}", share, number(found["largest_absolute"])]
