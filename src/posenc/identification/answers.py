"""What convention a tensor, or a checkpoint, speaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor

from ..convention import WIDEST
from ..errors import DtypeError, refuse
from ..trig.rounding import FORMATS
from .drifted import drifted
from .fitted import fitted
from .ladders import ladder_matches, looks_like_ladder
from .learned import constant, learned
from .maps import map_matches
from .match import Match, Matches, nothing
from .named import named
from .sampled import Sample, sampled
from .shapes import Reading, readings
from .tolerance import NARROW

__all__ = ["Match", "identify", "identify_rows"]

Vectors = Literal["frequencies", "rows"]
_NAMELESS = (
    "falls or rises as frequencies do, but only a name as inv_freq says that it is them: posenc.identify(tensor)"
)
# Sums of squares of larger values, and of the inverse of that, may leave float64.
_LARGEST = 2.0**400


def identify(tensor: Tensor) -> tuple[Match, ...]:
    """A table, or a ladder, of positional encodings -> what it speaks, best answer first, never empty.

    Tables (length, dim) in any dtype, transposed, batched or repeated, rows in any order, beginning at any
    position up to 10 000 and more; maps flattened or not; one row; ladders (pairs,). Rows of zeros are taken for
    padding. `kind` says how sure the answer is: "named" and "fitted" are within what float arithmetic explains,
    "drifted" began as the convention and moved away, "learned" has neighbours that are alike, "unknown" none.
    Names with the same values all come, those that give the same bits first. An interpreter shows one in a line.

    Raises:
        DtypeError: for anything but a dense tensor of floats.
        InputError: for a tensor without values.

    >>> from posenc import table
    >>> match = identify(table(64, 64, "openai-whisper"))[0]
    >>> match.kind, match.start, "openai-whisper" in (match.name, *match.names)
    ('named', 0, True)
    """
    return Matches(answered(tensor, "frequencies"))


def answered(tensor: Tensor, vectors: Vectors) -> tuple[Match, ...]:
    """What `identify` answers, where vectors may be frequencies, or are rows of an encoding only."""
    values = _checked(tensor)
    if not values.ndim:
        return (nothing("unknown", "a single number is no table", dtype=values.dtype),)
    wrong = wrong_values(values)
    if wrong:
        return (nothing("unknown", wrong, rows=len(values), dtype=values.dtype),)
    if values.ndim == 1:
        return _best_of_vector(values, vectors)
    return _best(values, vectors)


def _checked(tensor: Any) -> Tensor:
    fix = "pass a table (length, dim) of floats, or frequencies (pairs,)"
    if not isinstance(tensor, Tensor):
        refuse(f"an object of type {type(tensor).__name__}", "a tensor of floats", fix, error=DtypeError)
    if tensor.layout != torch.strided or tensor.is_nested:
        kind = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
        refuse(f"a {kind} tensor", "a dense tensor of floats", fix, error=DtypeError)
    if tensor.dtype not in FORMATS:
        known = ", ".join(str(dtype).removeprefix("torch.") for dtype in FORMATS)
        refuse(f"a tensor of {tensor.dtype}", f"one of {known}", fix, error=DtypeError)
    if tensor.is_meta or not tensor.numel():
        what = "on meta, which has no values" if tensor.is_meta else f"of shape {tuple(tensor.shape)}, which is empty"
        refuse(f"a tensor {what}", "at least one row", fix)
    return tensor.detach()


def wrong_values(values: Tensor, index: Tensor | None = None) -> str:
    """What is said of rows, of this index, with values that are no numbers, or not of an encoding; '' where all are."""
    wrong = ~values.isfinite()
    count = int(wrong.sum())
    if not count:
        largest = values.abs().max().item()
        if largest and not 1 / _LARGEST <= largest <= _LARGEST:
            return f"its largest value is {largest:.3g}, beyond what an encoding holds"
        return ""
    first = wrong.reshape(len(values), -1).any(1).nonzero().flatten()[0]
    row = int(first if index is None else index[first])
    what = "1 value is" if count == 1 else f"{count} values are"
    return f"{what} NaN or infinite, the first in row {row}"


def _best_of_vector(values: Tensor, vectors: Vectors) -> tuple[Match, ...]:
    """The answer for one axis: frequencies, or one row."""
    if len(values) > WIDEST:
        return (_too_wide(values),)
    row = sampled(values.unsqueeze(0))
    if not looks_like_ladder(values):
        return identify_rows(row)
    if vectors == "rows":
        return tuple(named_rows(row)) or (nothing("unknown", _NAMELESS, rows=len(values), dtype=row.dtype),)
    ladder = ladder_matches(values)
    return tuple(ladder) if ladder[0].kind != "unknown" else tuple(named_rows(row)) or tuple(ladder)


def _best(values: Tensor, vectors: Vectors) -> tuple[Match, ...]:
    """The answer of the best reading of a tensor of two or more axes: names before maps, both before fits."""
    found = readings(values)
    tables = [(each, sampled(each.table)) for each in found if each.table.shape[-1] <= WIDEST]
    if found and not tables:
        return (_too_wide(values),)
    if not tables:
        note = f"{values.ndim} axes of shape {tuple(values.shape)} are no table"
        return (nothing("unknown", note, dtype=values.dtype),)
    stages = (_by_name, _by_map, _by_ladder, _by_fit) if vectors == "frequencies" else (_by_name, _by_map, _by_fit)
    for stage in stages:
        for reading, sample in tables:
            matches = stage(reading, sample)
            if matches:
                return tuple(replace(match, arrangement=reading.words) for match in matches)
    return (_unexplained(tables[0][1]),)


def _by_name(_: Reading, sample: Sample) -> list[Match]:
    return named_rows(sample)


def _by_map(reading: Reading, sample: Sample) -> list[Match]:
    return map_matches(reading.table, reading.sizes) if _is_varied(sample) else []


def _by_ladder(reading: Reading, _: Sample) -> list[Match]:
    """Frequencies that are kept with an axis of one."""
    vector = reading.table.reshape(-1)
    if 1 not in reading.table.shape or not looks_like_ladder(vector):
        return []
    return [match for match in ladder_matches(vector) if match.kind != "unknown"]


def _by_fit(_: Reading, sample: Sample) -> tuple[Match, ...]:
    return nameless_rows(sample)


def identify_rows(sample: Sample) -> tuple[Match, ...]:
    """The answer for rows that were taken out of a table."""
    return tuple(named_rows(sample)) or nameless_rows(sample) or (_unexplained(sample),)


def _is_varied(sample: Sample) -> bool:
    return len(sample.rows) == 1 or (len(sample.rows) > 1 and not constant(sample.rows))


def named_rows(sample: Sample) -> list[Match]:
    """The names that explain a sample, or []."""
    return named(sample) if _is_varied(sample) else []


def nameless_rows(sample: Sample) -> tuple[Match, ...]:
    """Sinusoids without a name that explain a sample, or those that it began as, or ()."""
    return tuple(_nameless(sample)) if _is_varied(sample) else ()


def _nameless(sample: Sample) -> Iterator[Match]:
    """At most one match."""
    fit = fitted(sample)
    if fit and fit.convention and fit.convention.spacing != "explicit":
        yield fit
        return
    # Frequencies without a law may be those of a convention, rounded to 16 bits.
    other = drifted(sample)
    damaged = other is not None and other.arithmetic in {str(dtype).removeprefix("torch.") for dtype in NARROW}
    best = other if damaged or fit is None else fit
    if best:
        yield best


def _too_wide(values: Tensor) -> Match:
    return nothing("unknown", f"{values.shape[-1]} columns are more than any encoding has", dtype=values.dtype)


def _unexplained(sample: Sample) -> Match:
    if not len(sample.rows):
        return nothing("unknown", "holds zeros alone", rows=0, dtype=sample.dtype, padding=sample.padding)
    if len(sample.rows) > 1 and constant(sample.rows):
        return nothing("unknown", "holds the same row again and again", rows=len(sample.rows), dtype=sample.dtype)
    return learned(sample)
