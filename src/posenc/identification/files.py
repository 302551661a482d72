"""Every table and every ladder of a file, found by name or by content, and read no further than needed."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..readers import Entry, entries
from ..trig.rounding import FORMATS
from .answers import answered, identify, identify_rows, wrong_values
from .match import Match, nothing
from .sampled import enough_rows, sampled

# Names under which systems keep positions. Biases of relative positions are no encodings.
_POSITIONAL = re.compile(
    r"(^|[._])(pe|wpe|pos|positions?|inv_freq|freqs?(_cis)?|timing\w*|sinusoid\w*)([._]|\d|$)"
    r"|pos(ition(al)?)?_?(emb|enc|table|weight)|(emb|enc)\w*_?pos(ition(al)?s?)?s?([._]|$)|positional",
    re.IGNORECASE,
)
_NOT_POSITIONAL = re.compile(r"bias|index|position_ids|(^|\.)num_", re.IGNORECASE)
# What a layer does with positions is no table of them; the layer is named before its weight.
_LAYER = re.compile(r"linear|proj|conv|norm|mlp|dense|gate", re.IGNORECASE)
_WEIGHT = re.compile(r"\.(weight|parametrizations)[^.]*$|\.original\d$")
# Values that are loaded whole; of longer tables some rows are read. Behind an axis of one they are loaded first.
_WHOLE = 1 << 22
_LONGEST = 1 << 26
_WIDEST = 1 << 15
# Rows of fewer columns are paired by chance; and a glance reads this many rows.
_NARROWEST = 8
_GLANCE = 4
_SMALLEST = 1e-3
_ROUNDING = 2.0**-6
_KNOWN = ("named", "fitted", "drifted")


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

    >>> is_positional("bert.embeddings.position_embeddings.weight"), is_positional("encoder.linear_pos.weight")
    (True, False)
    """
    layer = _WEIGHT.sub("", name).rpartition(".")[2]
    return bool(_POSITIONAL.search(name)) and not _NOT_POSITIONAL.search(name) and not _LAYER.search(layer)


def findings(path: str | os.PathLike[str], *, every: bool = False, key: str | None = None) -> Iterator[Finding]:
    """The tables and ladders of a file, one after the other.

    A tensor counts by its name, as `pos_embed`, or by its content, where sines and cosines are seen in its first
    rows; with `every` each tensor of floats counts, with `key` each whose name contains that. A vector is taken for
    frequencies only where a name says so, as `inv_freq`: its own, or that of a file of one array. Take the files of a
    folder one by one, by `readers.files_of`: the first that cannot be read ends it.

    Raises:
        FileError: where the file cannot be read.
    """
    listed = list(entries(path))
    alone = len(listed) == 1 or key is not None
    for entry in listed:
        if key is not None and key not in entry.name:
            continue
        if not isinstance(entry.dtype, torch.dtype) or entry.dtype not in FORMATS or 0 in entry.shape:
            continue
        if math.prod(entry.shape) == 1 and not (every or key):
            # A scale, or a buffer that tells a device.
            continue
        if alone or every or is_positional(entry.name):
            yield _found(entry)
        elif _is_sinusoidal(entry):
            found = _found(entry)
            # A weight that only looked like one is no table of positions.
            if found.matches[0].kind in _KNOWN:
                yield found


def _found(entry: Entry) -> Finding:
    dtype = entry.dtype if isinstance(entry.dtype, torch.dtype) else torch.float32
    return Finding(entry.path, entry.name, entry.shape, dtype, _matches(entry, dtype))


def _matches(entry: Entry, dtype: torch.dtype) -> tuple[Match, ...]:
    shape = entry.shape
    size = math.prod(shape)
    if size <= _WHOLE:
        return answered(entry.load(), "frequencies" if _is_named(entry) else "rows")
    if len(shape) == 2 and shape[1] <= _WIDEST:
        return _of_rows(entry.rows, shape[0], shape[1])
    each = size // shape[0]
    if len(shape) == 3 and shape[0] == 1 and shape[2] <= _WIDEST and size <= _LONGEST:
        table = entry.load()[0]
        return _of_rows(lambda start, stop: table[start:stop], *table.shape)
    if len(shape) == 3 and shape[1] == 1 and shape[2] <= _WIDEST:
        return _of_rows(lambda start, stop: entry.rows(start, stop)[:, 0], shape[0], shape[2])
    if len(shape) > 2 and each <= _WHOLE:
        words = f"the first of {shape[0]} along axis 0, the others were not read"
        return tuple(_said(match, words) for match in identify(entry.rows(0, 1)))
    return (nothing("unknown", f"{size} values in rows of {each} are too many to look at", dtype=dtype),)


def _is_named(entry: Entry) -> bool:
    """Whether a name says what a vector holds: every geometric one, as the slopes of ALiBi, may else be frequencies."""
    return is_positional(entry.name or os.path.splitext(os.path.basename(entry.path))[0])  # noqa: PTH119, PTH122


def _said(match: Match, words: str) -> Match:
    return replace(match, arrangement=", ".join(part for part in (words, match.arrangement) if part))


def _of_rows(rows: Callable[[int, int], Tensor], length: int, dim: int) -> tuple[Match, ...]:
    """The answer for the first and the last rows of a long table."""
    half = min(length, enough_rows(dim)) // 2
    table = torch.cat((rows(0, half), rows(length - half, length)))
    index = torch.cat((torch.arange(half, device="cpu"), torch.arange(length - half, length, device="cpu")))
    wrong = wrong_values(table, index)
    if wrong:
        return (nothing("unknown", wrong, rows=len(table), dtype=table.dtype, dim=dim),)
    return identify_rows(sampled(table, index, length))


def _is_sinusoidal(entry: Entry) -> bool:
    """Whether the first rows hold sines and cosines of pairs."""
    shape = entry.shape
    if len(shape) == 1:
        return False
    if not _NARROWEST <= shape[-1] <= _WIDEST:
        return False
    if len(shape) == 2 or (len(shape) == 3 and shape[1] == 1):
        rows = entry.rows(0, min(_GLANCE, shape[0]))
    elif len(shape) == 3 and shape[0] == 1 and math.prod(shape) <= _WHOLE:
        rows = entry.load()[0, :_GLANCE]
    else:
        return False
    return _on_circles(rows.reshape(-1, shape[-1]).double())


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
