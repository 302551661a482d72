"""Positions from timestamps: what has passed since an origin, in a unit, counted in integers before any float."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, NoReturn, get_args

import torch
from torch import Tensor

from ..arguments.numbers import as_index
from ..encoding.arguments import INT64_MAX, INT64_MIN, is_readable, with_float64
from ..errors import DtypeError, refuse
from .arguments import as_integers, check_choice
from .quotients import are_multiples, floor_of, quotient_of
from .ticks import ATTOSECONDS, Unit, check_unit, ticks_of

Fractions = Literal["keep", "refuse", "drop"]


def positions_from_timestamps(
    timestamps: Any,
    unit: Unit | None = None,
    *,
    origin: Any = 0,
    resolution: Unit | None = None,
    fractions: Fractions = "keep",
) -> Tensor:
    """Timestamps (...) -> positions (...), the units that have passed since `origin`: int64 or float64.

    Law: the difference to the origin is taken in int64. Where the resolution is a multiple of the unit (days in
    hours) positions are int64, and exact. Else they are float64: below 2^53 each is within half a unit in its last
    place, plus 2^-54, of the exact quotient, and exact where that is whole. Seconds since 1970 that were float32
    before are up to 64 seconds off: pass the integers, as in positions_from_timestamps(seconds, "s", resolution="s").

    Every minute, hour, day and week has its fixed length; there are no leap seconds. The same origin must be given
    for every piece of a sequence, so that pieces equal the whole.

    Args:
        timestamps: an array of datetime64 or timedelta64, on the CPU, of any resolution of fixed length (datetime64
            of months and years too); datetime and timedelta objects and pandas' own, where a zone is brought to
            UTC; or integers, a tensor or a list, with their `resolution`.
        unit: what one position is, always to be said: "ns", "us", "ms", "s", "min", "h", "day" or "week", or the
            words "nanosecond" to "week", "seconds" and so on. Capitals do not matter, except in "M", which is months
            to numpy.
        origin: the timestamp of position 0, of the kind of the timestamps, or an int in their resolution; one for
            all (), or one for each row, as timestamps[:, 0] or timestamps[:, :1]. 0 is that of the timestamps, 1970
            for datetime64.
        resolution: what one count is where timestamps are integers, which do not say it: "s" for Unix seconds, "ms"
            for JavaScript's. Times know their own.
        fractions: "keep" gives float64 where the resolution is finer than the unit. There "refuse" gives int64 and
            refuses timestamps between two units, and "drop" gives int64 and takes the unit before (the day of an
            instant).

    Raises:
        PosencError: for NaT (an accelerator and a compiled graph give NaN instead, with fractions="keep"), floats,
            integers without a resolution, other units, differences beyond int64.

    >>> import numpy as np
    >>> days = np.array(["2024-03-01T00", "2024-03-01T18"], "datetime64[ns]")
    >>> positions_from_timestamps(days, "day", origin=np.datetime64("2024-02-28"))
    tensor([2.0000, 2.7500], dtype=torch.float64)
    >>> positions_from_timestamps(days, "h", origin=days[0], fractions="refuse")
    tensor([ 0, 18])
    >>> positions_from_timestamps(torch.tensor([3, 5]), "ms", resolution="s")
    tensor([3000, 5000])
    """
    each = check_unit(unit, "unit")
    check_choice(fractions, "fractions", get_args(Fractions))
    ticks, tick, kind = _counted(timestamps, resolution)
    missing = ticks == INT64_MIN
    if is_readable(ticks) and bool(missing.any()):
        refuse("timestamps with NaT", "timestamps that all exist", "drop those, or put others in their place")
    ticks, start, tick = _common(ticks, tick, kind, origin)
    passed = _difference(ticks, start)
    ratio = Fraction(tick, ATTOSECONDS[each])
    counted = _product(passed, ratio.numerator)
    if ratio.denominator == 1:
        return counted
    if fractions == "keep":
        positions = quotient_of(with_float64(counted), ratio.denominator)
        return torch.where(with_float64(missing), torch.nan, positions)
    if fractions == "refuse" and is_readable(counted) and not bool(are_multiples(counted, ratio.denominator).all()):
        fix = 'pass a smaller unit, or fractions="keep" or "drop"'
        refuse(f"timestamps between two units of {each}", "whole units since the origin", fix)
    return floor_of(counted, ratio.denominator)


def _counted(timestamps: Any, resolution: Any) -> tuple[Tensor, int, str]:
    """int64 counts, the attoseconds of one, and what they are: "int", "datetime64" or "timedelta64"."""
    known = None if resolution is None else check_unit(resolution, "resolution")
    if isinstance(timestamps, Tensor):
        if timestamps.is_floating_point():
            fix = "pass the integer timestamps; seconds in float64 are positions already"
            refuse(f"timestamps of {timestamps.dtype}", "integers", fix, error=DtypeError)
        ticks, tick, kind = as_integers(timestamps, "timestamps"), 0, "int"
    else:
        ticks, tick, kind = ticks_of(timestamps, "timestamps")
    if kind != "int" and known is not None:
        fix = "leave it out: times know their own"
        refuse(f"resolution={resolution!r} with timestamps of {kind}", "a resolution only for integers", fix)
    if kind == "int" and known is None:
        fix = 'pass resolution="s" where they are Unix seconds, or "ms", "us", "ns"'
        refuse("integer timestamps without a resolution", "what one count of them is", fix)
    return ticks, ATTOSECONDS[known] if known is not None else tick, kind


def _common(ticks: Tensor, tick: int, kind: str, origin: Any) -> tuple[Tensor, Tensor | int, int]:
    """Timestamps and origin in counts of one resolution, and the attoseconds of one."""
    number = as_index(origin)
    if number is not None:
        if kind != "int" and number:
            _refuse_origin(f"origin={number}", kind)
        return ticks, number, tick
    if isinstance(origin, Tensor):
        at, unit, other = as_integers(origin, "origin"), 0, "int"
    else:
        at, unit, other = ticks_of(origin, "origin")
    if kind not in ("int", other):
        _refuse_origin(f"origin of {other}", kind)
    if at.device != ticks.device:
        refuse(f"origin on {at.device}, timestamps on {ticks.device}", "one device", "move one of them")
    if is_readable(at) and bool((at == INT64_MIN).any()):
        refuse("origin=NaT", "a timestamp that exists", "pass another origin")
    start = _of_rows(at, tuple(ticks.shape[:-1]))
    if other == "int":
        return ticks, start, tick
    # Both in the coarsest resolution that holds both.
    shared = Fraction(tick, unit)
    return _product(ticks, shared.numerator), _product(start, shared.denominator), tick // shared.numerator


def _refuse_origin(said: str, kind: str) -> NoReturn:
    fix = f"pass numpy.{kind}, with its unit"
    refuse(f"{said} for timestamps of {kind}", f"an origin of {kind}", fix, error=DtypeError)


def _of_rows(at: Tensor, leading: tuple[int, ...]) -> Tensor:
    """An origin (), one for each row (...) or (..., 1) -> what is subtracted from timestamps (..., S)."""
    shapes = ((), (*leading, 1), leading)
    # Size by size: a set of shapes would fix what a graph has left open.
    fits = [at.ndim == len(shape) and all(a == b for a, b in zip(at.shape, shape, strict=True)) for shape in shapes]
    if not any(fits):
        wanted = " or ".join(dict.fromkeys(map(str, shapes)))
        refuse(f"origin of shape {tuple(at.shape)}", f"shape {wanted}", "pass one origin, or one for each row")
    return at if fits[0] or fits[1] else at.unsqueeze(-1)


def _difference(ticks: Tensor, start: Tensor | int) -> Tensor:
    if isinstance(start, int) and not INT64_MIN <= start <= INT64_MAX:
        _too_far()
    passed = ticks - start
    # A difference that wraps goes the wrong way.
    if is_readable(passed) and passed.numel() and bool(torch.ne(passed > ticks, torch.as_tensor(start) < 0).any()):
        _too_far()
    return passed


def _product(ticks: Tensor, factor: int) -> Tensor:
    """ticks * factor, refused where int64 does not hold it and that can be seen."""
    if factor == 1:
        return ticks
    if is_readable(ticks) and ticks.numel():
        low, high = (int(bound) for bound in torch.aminmax(ticks))
        if max(-low, high) > INT64_MAX // factor:
            _too_far()
    # A factor beyond int64 leaves zeros alone: where values can be seen, those are all that have come so far.
    return ticks if factor > INT64_MAX else ticks * factor


def _too_far() -> NoReturn:
    fix = "pass an origin nearer to them, a coarser resolution, or a larger unit"
    refuse("timestamps and an origin whose difference int64 does not hold", "differences within int64", fix)
