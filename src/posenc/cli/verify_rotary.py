"""What `posenc verify --family rotary` measures and prints: turned queries against what rotary promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import console
from .page import Page, count, number, percent
from .progress import Bars, loading

if TYPE_CHECKING:
    from ..verify.rotary import Row

SCHEMA = 1
RELEASED_NEAR = (100, 5_000, 100_000)


def verify_rotary(values: int, device: str, seed: int, *, as_json: bool) -> bool:
    """Judge, print, and say whether every bound holds."""
    with loading():
        import torch

        from .. import __version__
        from ..verify import rotary as job

    with Bars() as bars:
        rows = job.measure(
            values=values,
            device=device,
            seed=seed,
            on_values=lambda done, total: bars.step("Comparing values", done, total),
        )
        released = [job.measure_released(near) for near in RELEASED_NEAR]
    is_sound = all(row.is_sound for row in rows)
    document = {
        "schema": SCHEMA,
        "command": "verify",
        "family": "rotary",
        "posenc": __version__,
        "torch": torch.__version__,
        "device": device,
        "seed": seed,
        "values": sum(row.values for row in rows if (row.path, row.dtype) == (rows[0].path, rows[0].dtype)),
        "bound": job.BOUND,
        "sound": is_sound,
        "rows": [row.document() for row in rows],
        "released": released,
    }
    if as_json:
        console.print_json(document)
    else:
        _draw(Page(console.out()), document, rows)
    return is_sound


def _draw(page: Page, document: dict[str, Any], rows: Sequence[Row]) -> None:
    page.console.print(
        f"posenc verify: queries turned on {document['device']}, torch {document['torch']}", style="bold"
    )
    page.console.print()
    page.say(
        f"{count(document['values'])} values of queries, turned at positions of every size up to both ends of int64. "
        f"Promised: an error within {document['bound']}. The largest error, in parts of that and as it is:"
    )
    kinds = list(dict.fromkeys((row.path, row.dtype) for row in rows))
    page.columns(
        [_summary([row for row in rows if (row.path, row.dtype) == kind]) for kind in kinds],
        header=["", "part", "error", ""],
    )
    if any(row.path == "computed" for row in rows):
        page.say("computed: what compilers and exporters run.")
    for row in rows:
        if not row.is_sound:
            worst = row.worst
            page.say(
                f"{row.path}, {row.dtype}, positions near {row.near}: {number(row.largest_part)} times the bound at "
                f"position {worst['position']}, column {worst['column']} of {worst['convention']}, dim {worst['dim']}.",
                style="red",
            )
    page.say("For comparison, Llama in the float32 arithmetic that it was released with:")
    page.columns([_released(found) for found in document["released"]], header=["", "beyond", "largest error"])
    if document["sound"]:
        page.say("Every bound holds: this machine turns queries and keys as promised.", style="green")
    else:
        page.say("A bound is broken: do not trust the rotary embeddings of this machine.", style="red")


def _summary(rows: Sequence[Row]) -> list[str]:
    return [
        f"{rows[0].path:9} {rows[0].dtype}",
        number(max(row.largest_part for row in rows)),
        number(max(row.largest_absolute for row in rows)),
        "kept" if all(row.is_sound for row in rows) else "BROKEN",
    ]


def _released(found: dict[str, Any]) -> list[str]:
    share = percent(found["beyond"] / found["values"])
    return [f"near {count(found['near'])}, dim {found['dim']}", share, number(found["largest_absolute"])]
