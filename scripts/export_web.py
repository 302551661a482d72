"""Writes what the page in web/ takes from Python: the weights of its attention layer, and values to be equal to."""

# ruff: noqa: INP001 - a script, not a package
from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import torch

from posenc import conventions
from posenc.explorer import attention
from posenc.reference import columns

FOLDER = Path(__file__).parents[1] / "web" / "src" / "data"

# Options of a convention that the reference takes; the page's conventions differ from the paper in these alone.
OPTIONS = ("first", "endpoint_shift", "order", "position_offset")
DIM = 16
BASE = 10000
# The first rows, a long text, the ends of int32, both sides of what a float64 counts to, and the end of int64.
POSITIONS = (0, 1, 2, 20, 511, 4095, 65_536, 10**6, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -1, -(2**63))
NAMES = ("transformer", "tensor2tensor", "fairseq", "marian", "openai-whisper", "musicgen")
# Of the paper: other bases, other widths, odd ones among them, and the width of the paper at a few positions.
BASES = (1.5, 100, 500000)
WIDTHS = (1, 2, 3, 7, 64)
WIDE, WIDE_POSITIONS = 512, (20, 5000)
# From here on JavaScript's numbers skip some integers, so positions are written as strings.
FIRST_STRING = 2**31


def golden() -> list[dict[str, Any]]:
    """Rows in arbitrary precision, rounded once to float64: convention, position, dim, base, layout, values."""
    plan = [(name, DIM, BASE, POSITIONS) for name in NAMES]
    plan += [("transformer", DIM, base, POSITIONS) for base in BASES]
    plan += [("transformer", dim, BASE, POSITIONS) for dim in WIDTHS]
    plan += [("transformer", WIDE, BASE, WIDE_POSITIONS)]
    return [row for name, dim, base, positions in plan for row in _rows(name, dim, base, positions)]


def _rows(name: str, dim: int, base: float, positions: tuple[int, ...]) -> list[dict[str, Any]]:
    rule = conventions[name]
    options = {option: getattr(rule, option) for option in OPTIONS}
    exact = columns(positions, [0], dim, base=base, layout=rule.layout, odd=rule.odd, **options).high
    return [
        {
            "convention": name,
            "position": position if abs(position) < FIRST_STRING else str(position),
            "dim": dim,
            "base": base,
            "layout": rule.layout,
            "values": [column[row] for column in exact],
        }
        for row, position in enumerate(positions)
    ]


def weights() -> dict[str, Any]:
    """The layer of `posenc.explorer.attention`: its size, and its float32 weights as base64, little-endian."""
    layer = attention.layer()
    held = dict(layer.named_parameters())
    found: dict[str, Any] = {"dim": attention.DIM, "heads": attention.HEADS}
    for name in attention.WEIGHTS:
        values = held[name].detach().to(torch.float32).contiguous().numpy().astype("<f4")
        found[name.replace(".", "_")] = base64.b64encode(values.tobytes()).decode("ascii")
    return found


def files() -> dict[str, str]:
    """The name of each file and its text."""
    rows = ",\n".join(json.dumps(row, allow_nan=False) for row in golden())
    return {"attention.json": json.dumps(weights(), indent=1) + "\n", "golden.json": f"[\n{rows}\n]\n"}


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {(FOLDER / name).relative_to(FOLDER.parents[2])}, {len(text)} bytes\n")


if __name__ == "__main__":
    main()
