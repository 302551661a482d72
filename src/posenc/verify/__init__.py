"""The values of this machine against the reference: every dtype, every path, positions of every size."""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import reference
from ..convention import Convention
from ..encoding import encode, table
from ..encoding.arguments import WITHOUT_FLOAT64
from ..encoding.prepared import prepared
from ..encoding.values import computed
from ..errors import refuse
from .error import Errors, Exact, Scale, errors, scale
from .sample import NEAR, Unit, units

VALUES = 1_000_000
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
# What float64 values may be off by, and what the values are off by that `computed` rounds.
FLOAT64_BOUND = 1e-15
_OPTIONS = (
    "base", "first", "endpoint_shift", "layout", "order", "odd", "position_offset", "position_scale", "gain",
)  # fmt: skip
TEXTBOOK_DIM = 64
TEXTBOOK_NEAR = (5_000, 10_000_000)
TEXTBOOK_ROWS = 200


@dataclass
class Row:
    """What was found on one path, in one dtype, at positions near one size.

    `largest_units` is in units in the last place, `beyond_half` is what an error exceeds half a unit by, and
    `worst` says where the largest error is.
    """

    path: str
    dtype: str
    near: str
    bound: str
    values: int = 0
    misrounded: int = 0
    largest_units: float = 0.0
    largest_absolute: float = 0.0
    beyond_half: float = -math.inf
    worst: dict[str, Any] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        """Whether the row keeps its bound."""
        return BOUNDS[self.bound](self)

    def add(self, found: Errors, at: Scale, unit: Unit, first_row: int) -> None:
        """Take in the errors (rows, dim) of rows from `first_row` of a unit."""
        self.values += found.units.size
        self.misrounded += int(found.misrounded.sum())
        top = int(found.units.argmax())
        self.largest_absolute = max(self.largest_absolute, float(found.absolute.max()))
        self.beyond_half = max(self.beyond_half, float((found.absolute - at.unit / 2).max()))
        if not self.worst or found.units.flat[top] > self.largest_units:
            self.largest_units = float(found.units.flat[top])
            row, column = divmod(top, unit.dim)
            self.worst = {
                "convention": unit.name,
                "dim": unit.dim,
                "position": unit.position(first_row + row),
                "column": column,
            }

    def document(self) -> dict[str, Any]:
        """The row for `json`, infinite errors as null."""
        plain = {k: v if v != math.inf and v != -math.inf else None for k, v in asdict(self).items()}
        return {**plain, "sound": self.is_sound}


# Where float64 is off by at most its bound and rounded once, the error is half a unit and at most that bound.
BOUNDS: dict[str, Callable[[Row], bool]] = {
    "nothing misrounded": lambda row: row.misrounded == 0,
    "half a unit + 1e-15": lambda row: row.beyond_half <= FLOAT64_BOUND,
    "one unit": lambda row: row.largest_units <= 1,
    "1e-15": lambda row: row.largest_absolute <= FLOAT64_BOUND,
}


def _bound(path: str, dtype: torch.dtype, device: torch.device) -> str:
    if dtype == torch.float64:
        return "1e-15"
    if device.type != "cpu":
        return "one unit"
    return "half a unit + 1e-15" if path == "computed" else "nothing misrounded"


def check_device(name: str) -> torch.device:
    """The device of this name, if tensors can live on it and come back."""
    try:
        with warnings.catch_warnings():
            # Of names that torch has given up: the refusal says enough.
            warnings.simplefilter("ignore")
            device = torch.device(name)
            torch.zeros(1, device=device).cpu()
    # A device whose part of torch is missing ends in an ImportError.
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = textwrap.shorten(str(error).split(". ")[0].rstrip("."), 80, placeholder=" ...")
        refuse(f"device {name!r} ({reason})", "a device of this machine", 'leave it out for "cpu"')
    return device


def options_of(convention: Convention) -> dict[str, Any]:
    """A convention as the keyword arguments of `reference`."""
    return {option: getattr(convention, option) for option in _OPTIONS}


def exact_rows(anchors: list[int], offsets: list[int], dim: int, convention: Convention) -> Exact:
    """The exact encodings of anchor + offset, (rows, dim)."""
    parts = reference.columns(anchors, offsets, dim, **options_of(convention))
    return Exact(np.ascontiguousarray(np.array(parts.high).T), np.ascontiguousarray(np.array(parts.low).T))


def _by_encode(unit: Unit, positions: Tensor, dtype: torch.dtype, device: torch.device, seed: int) -> Tensor:
    # Shuffled, so that a batch mixes positions of all sizes.
    order = torch.randperm(len(positions), generator=torch.Generator().manual_seed(seed))
    rows = torch.empty(len(positions), unit.dim, dtype=dtype)
    rows[order] = encode(positions[order].to(device), unit.dim, unit.convention, dtype=dtype).cpu()
    return rows


def _by_table(unit: Unit, _: Tensor, dtype: torch.dtype, device: torch.device, __: int) -> Tensor:
    runs = [
        table(unit.length, unit.dim, unit.convention, start=anchor, dtype=dtype, device=device).cpu()
        for anchor in unit.anchors
    ]
    return torch.cat(runs)


def _by_computed(unit: Unit, positions: Tensor, dtype: torch.dtype, device: torch.device, _: int) -> Tensor:
    return computed(positions.to(device), prepared(unit.convention, unit.dim, torch.device(device)), dtype).cpu()


PATHS = {"encode": _by_encode, "table": _by_table, "computed": _by_computed}


def measure(
    *,
    values: int = VALUES,
    device: str = "cpu",
    seed: int = 0,
    on_values: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Judge `encode`, `table` and the form of `encode` that compilers run: a row for each size of position.

    Conventions of one axis are judged, those with a gain too.

    Args:
        values: how many values of the reference, at least; each is compared on every path in every dtype.
        device: where the values are made. On the CPU `encode` and `table` may misround nothing; elsewhere
            values may be one unit in the last place away, which is counted.
        seed: of the positions.
        on_values: hears how many values are done, and how many there are.

    Raises:
        InputError: where the device is none of this machine.

    >>> rows = measure(values=1)
    >>> all(row.is_sound for row in rows), sum(row.misrounded for row in rows if row.dtype == "float32")
    (True, 0)
    """
    where = check_device(device)
    dtypes = [dtype for dtype in DTYPES if dtype != torch.float64 or where.type not in WITHOUT_FLOAT64]
    # Elsewhere `encode` runs what is computed here beside it.
    paths = ["encode", "table"] + ["computed"] * (where.type == "cpu")
    rows = {
        (path, dtype, near): Row(path, str(dtype).removeprefix("torch."), near, _bound(path, dtype, where))
        for path in paths
        for dtype in dtypes
        for near in NEAR
    }
    done = 0
    for unit in units(values, seed):
        exact = exact_rows(unit.anchors, list(range(unit.length)), unit.dim, unit.convention)
        positions = (torch.tensor(unit.anchors).unsqueeze(-1) + torch.arange(unit.length)).flatten()
        for dtype in dtypes:
            at = scale(exact, dtype)
            for path in paths:
                made = PATHS[path](unit, positions, dtype, where, seed)
                found = errors(made, exact, at)
                for near, span in _spans(unit):
                    rows[path, dtype, near].add(found.part(span), at.part(span), unit, span.start)
        done += exact.high.size
        if on_values is not None:
            on_values(min(done, values), values)
    return list(rows.values())


def _spans(unit: Unit) -> Iterator[tuple[str, slice]]:
    """The rows of a unit that are near each size."""
    for near in NEAR:
        first = unit.near.index(near)
        yield near, slice(first * unit.length, (first + unit.near.count(near)) * unit.length)


def textbook(positions: Tensor, dim: int) -> Tensor:
    """The recipe of the tutorials, float32 throughout: positions (n,) -> (n, dim), dim even.

    Source: pytorch/examples, word_language_model.
    """
    pe = torch.zeros(len(positions), dim)
    position = positions.float().unsqueeze(1)
    factors = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
    pe[:, 0::2] = torch.sin(position * factors)
    pe[:, 1::2] = torch.cos(position * factors)
    return pe


def measure_textbook() -> list[dict[str, Any]]:
    """What the recipe of the tutorials misrounds, for comparison, near each of `TEXTBOOK_NEAR`."""
    found = []
    for near in TEXTBOOK_NEAR:
        first = near - TEXTBOOK_ROWS // 2
        exact = exact_rows([first], list(range(TEXTBOOK_ROWS)), TEXTBOOK_DIM, Convention())
        positions = torch.arange(first, first + TEXTBOOK_ROWS)
        made = errors(textbook(positions, TEXTBOOK_DIM), exact, scale(exact, torch.float32))
        found.append(
            {
                "near": near,
                "dim": TEXTBOOK_DIM,
                "values": made.units.size,
                "misrounded": int(made.misrounded.sum()),
                "largest_units": float(made.units.max()),
                "largest_absolute": float(made.absolute.max()),
            }
        )
    return found
