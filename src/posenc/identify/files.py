"""Every table and every ladder of a file, found by name or by content, and read no further than needed."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ..readers import Entry, entries
from ..trig.rounding import FORMATS
from . import identify, identify_rows
from .ladders import LEAST as LEAST_PAIRS
from .ladders import looks_like_ladder
from .match import Match, nothing
from .sampled import MOST, Sample, sampled

# Names under which systems keep positions. Biases of relative positions are no encodings.
_POSITIONAL = re.compile(
    r"(^|[._])(pe|wpe|pos|positions?|inv_freq|freqs?(_cis)?|timing\w*|sinusoid\w*)([._]|\d|$)"
    r"|pos(ition(al)?)?_?(emb|enc|table|weight)|(emb|enc)\w*_?pos(ition(al)?s?)?s?([._]|$)|positional",
    re.IGNORECASE,
)
_NOT_POSITIONAL = re.compile(r"bias|index|position_ids|(^|\.)num_", re.IGNORECASE)
# Values that are loaded whole; of longer tables some rows are read.
_WHOLE = 1 << 22
_LONGEST_LADDER = 1 << 16
_WIDEST = 1 << 15
# Rows of fewer columns are paired by chance; and a glance reads this many rows.
_NARROWEST = 8
_GLANCE = 4
_SMALLEST = 1e-3
_ROUNDING = 2.0**-6


@dataclass(frozen=True)
class Finding:
    """What one tensor of a file speaks."""

    path: str
    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    matches: tuple[Match, ...]


def is_positional(name: str) -> bool:
    """Whether a key looks like that of a table of positions.

    >>> is_positional("bert.embeddings.position_embeddings.weight"), is_positional("encoder.0.weight")
    (True, False)
    """
    return bool(_POSITIONAL.search(name)) and not _NOT_POSITIONAL.search(name)


def findings(path: str | os.PathLike[str], *, every: bool = False, key: str | None = None) -> Iterator[Finding]:
    """The tables and ladders of a file, one after the other.

    A tensor counts by its name, as `pos_embed`, or by its content, where sines and cosines are seen in its first
    rows; with `every` each tensor of floats counts, with `key` each whose name contains that.
    Raises `FileError` where the file cannot be read.
    """
    listed = list(entries(path))
    alone = len(listed) == 1 or key is not None
    for entry in listed:
        if key is not None and key not in entry.name:
            continue
        if not isinstance(entry.dtype, torch.dtype) or entry.dtype not in FORMATS or 0 in entry.shape:
            continue
        if alone or every or is_positional(entry.name):
            yield _found(entry)
        elif _is_sinusoidal(entry):
            found = _found(entry)
            # A weight that only looked like one is no table of positions.
            if found.matches[0].kind in ("named", "fitted", "drifted"):
                yield found


def _found(entry: Entry) -> Finding:
    dtype = entry.dtype if isinstance(entry.dtype, torch.dtype) else torch.float32
    return Finding(entry.path, entry.name, entry.shape, dtype, _matches(entry))


def _matches(entry: Entry) -> tuple[Match, ...]:
    size = math.prod(entry.shape)
    if size <= _WHOLE:
        return identify(entry.load())
    if len(entry.shape) == 2 and entry.shape[1] <= _WIDEST:
        return identify_rows(_sample(entry))
    each = size // entry.shape[0]
    if each <= _WHOLE:
        # Batches of tables: the first one stands for all.
        return identify(entry.rows(0, 1))
    return (nothing("unknown", f"{size} values in rows of {each} are too many to look at", dtype=torch.float32),)


def _sample(entry: Entry) -> Sample:
    """The first and the last rows of a long table."""
    length, dim = entry.shape
    half = min(length, _WHOLE // dim, MOST) // 2
    table = torch.cat((entry.rows(0, half), entry.rows(length - half, length)))
    index = torch.cat((torch.arange(half, device="cpu"), torch.arange(length - half, length, device="cpu")))
    if not bool(table.isfinite().all()):
        table = torch.nan_to_num(table, nan=0.0, posinf=0.0, neginf=0.0)
    return sampled(table, index, length)


def _is_sinusoidal(entry: Entry) -> bool:
    """Whether the first rows hold sines and cosines of pairs, or a vector falls as a ladder does."""
    shape = entry.shape
    if len(shape) == 1:
        return LEAST_PAIRS <= shape[0] <= _LONGEST_LADDER and looks_like_ladder(entry.load())
    if len(shape) not in (2, 3) or not _NARROWEST <= shape[-1] <= _WIDEST or math.prod(shape[1:]) > _WHOLE:
        return False
    rows = entry.rows(0, min(_GLANCE, shape[0]))
    if len(shape) == 3:
        rows = rows[0, :_GLANCE] if shape[0] == 1 else rows[:, 0]
    return _on_circles(rows.double())


def _on_circles(rows: Tensor) -> bool:
    """Whether the columns pair up into points of one distance from the origin."""
    pairs = rows.shape[1] // 2
    views = (rows[:, 0 : 2 * pairs : 2], rows[:, 1 : 2 * pairs : 2]), (rows[:, :pairs], rows[:, pairs : 2 * pairs])
    for sine, cosine in views:
        size = (sine.square() + cosine.square()).sqrt()
        middle = size.median()
        # Of the rest only rows of padding and unpaired columns may differ.
        if middle > _SMALLEST and bool(((size - middle).abs() <= _ROUNDING * middle).double().mean() > 0.7):
            return True
    return False
