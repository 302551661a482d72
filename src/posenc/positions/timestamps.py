"""Positions from timestamps: what has passed since an origin, in a unit, counted in integers before any float."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from ..convention import as_index
from ..encoding.arguments import INT64_MAX, INT64_MIN, is_readable, with_float64
from ..errors import DtypeError, refuse
from .arguments import as_integers, check_choice
from .ticks import ATTOSECONDS, ticks_of

Unit = Literal["ns", "us", "ms", "s", "min", "h", "day", "week"]
Fractions = Literal["keep", "refuse", "drop"]


def positions_from_timestamps(
    timestamps: Any,
    unit: Unit,
    *,
    origin: Any = 0,
    resolution: Unit | None = None,
    fractions: Fractions = "keep",
) -> Tensor:
    """Timestamps (...) -> positions (...), the units that have passed since `origin`: int64 or float64.

    Law: the difference to the origin is taken in int64. Where the resolution is a multiple of the unit (days in
    hours) positions are int64, and exact. Else they are float64: below 2^53 each is within half a unit in its last
    place, plus 2^-54, of the exact quotient, and exact where that is whole. Seconds since 1970 that were float32
    before are up to 64 seconds off: pass the integers.

    Every minute, hour, day and week has its fixed length; there are no leap seconds. The same origin must be given
    for every piece of a sequence, so that pieces equal the whole.

    Args:
        timestamps: an integer tensor, or an array of datetime64 or timedelta64, on the CPU, of any resolution of
            fixed length (datetime64 of months and years too).
        unit: what one position is: "ns", "us", "ms", "s", "min", "h", "day" or "week".
        origin: the timestamp of position 0: an int in the resolution of the timestamps, a datetime64 or
            timedelta64 as they are, or an integer tensor, one for all () or one for each row. 0 is that of the
            timestamps, 1970 for datetime64.
        resolution: what one count of an integer tensor is; None is "ns". Arrays of time know their own.
        fractions: "keep" gives float64 where the resolution is finer than the unit. There "refuse" gives int64 and
            refuses timestamps between two units, and "drop" gives int64 and takes the unit before (the day of an
            instant).

    Raises:
        PosencError: for NaT (an accelerator and a compiled graph give NaN instead, with fractions="keep"), floats,
            other units, differences beyond int64.

    >>> import numpy as np
    >>> days = np.array(["2024-03-01T00", "2024-03-01T18"], "datetime64[ns]")
    >>> positions_from_timestamps(days, "day", origin=np.datetime64("2024-02-28"))
    tensor([2.0000, 2.7500], dtype=torch.float64)
    >>> positions_from_timestamps(days, "h", origin=days[0], fractions="refuse")
    tensor([ 0, 18])
    >>> positions_from_timestamps(torch.tensor([3, 5]), "ms", resolution="s")
    tensor([3000, 5000])
    """
    check_choice(unit, "unit", get_args(Unit))
    check_choice(fractions, "fractions", get_args(Fractions))
    ticks, tick, kind = _counted(timestamps, resolution)
    missing = ticks == INT64_MIN
    if is_readable(ticks) and bool(missing.any()):
        refuse("timestamps with NaT", "timestamps that all exist", "drop those, or put others in their place")
    ticks, start, tick = _common(ticks, tick, kind, origin)
    passed = _difference(ticks, start)
    ratio = Fraction(tick, ATTOSECONDS[unit])
    counted = _product(passed, ratio.numerator)
    if ratio.denominator == 1:
        return counted
    if fractions == "keep":
        positions = _quotient(with_float64(counted), ratio.denominator)
        return torch.where(with_float64(missing), torch.nan, positions)
    if fractions == "refuse" and is_readable(counted) and bool((counted % ratio.denominator).any()):
        fix = 'pass a smaller unit, or fractions="keep" or "drop"'
        refuse(f"timestamps between two units of {unit}", "whole units since the origin", fix)
    return torch.div(counted, ratio.denominator, rounding_mode="floor")


def _counted(timestamps: Any, resolution: Any) -> tuple[Tensor, int, str]:
    """int64 counts, the attoseconds of one, and what they are: "int", "datetime64" or "timedelta64"."""
    if resolution is not None:
        check_choice(resolution, "resolution", get_args(Unit))
    if isinstance(timestamps, Tensor):
        if timestamps.is_floating_point():
            fix = "pass the integer timestamps; seconds in float64 are positions already"
            refuse(f"timestamps of {timestamps.dtype}", "integers", fix, error=DtypeError)
        return as_integers(timestamps, "timestamps"), ATTOSECONDS[resolution or "ns"], "int"
    ticks, tick, kind = ticks_of(timestamps, "timestamps")
    if kind != "int" and resolution is not None:
        fix = "leave it out: arrays of time know their own"
        refuse(f"resolution={resolution!r} with timestamps of {kind}", "a resolution for integers alone", fix)
    return ticks, tick or ATTOSECONDS[resolution or "ns"], kind


def _common(ticks: Tensor, tick: int, kind: str, origin: Any) -> tuple[Tensor, Tensor | int, int]:
    """Timestamps and origin in counts of one resolution, and the attoseconds of one."""
    if isinstance(origin, Tensor):
        start = as_integers(origin, "origin")
        if start.device != ticks.device:
            refuse(f"origin on {start.device}, timestamps on {ticks.device}", "one device", "move one of them")
        if start.ndim and start.shape != ticks.shape[:-1]:
            shapes = f"shape () or {tuple(ticks.shape[:-1])}"
            refuse(f"origin of shape {tuple(start.shape)}", shapes, "pass one origin, or one for each row")
        return ticks, start.unsqueeze(-1) if start.ndim else start, tick
    number = as_index(origin)
    if number is not None:
        if kind != "int" and number:
            fix = f"pass numpy.{kind}, with its unit"
            refuse(f"origin={number} for timestamps of {kind}", f"an origin of {kind}", fix, error=DtypeError)
        return ticks, number, tick
    at, unit, other = ticks_of(origin, "origin")
    if at.ndim or other == "int" or (kind != "int" and other != kind):
        wanted = "one int, datetime64 or timedelta64" if kind == "int" else f"one {kind}"
        refuse(f"origin={origin!r}", wanted, "pass an origin of the kind of the timestamps", error=DtypeError)
    number = int(at)
    if number == INT64_MIN:
        refuse("origin=NaT", "a timestamp that exists", "pass another origin")
    # Both in the coarsest resolution that holds both.
    shared = Fraction(tick, unit)
    shared_tick = tick // shared.numerator
    return _product(ticks, shared.numerator), number * shared.denominator, shared_tick


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
    return ticks * factor


def _too_far() -> None:
    fix = "pass an origin nearer to them, a coarser resolution, or a larger unit"
    refuse("timestamps and an origin whose difference int64 does not hold", "differences within int64", fix)


def _quotient(counted: Tensor, divisor: int) -> Tensor:
    """Whole units and the rest of one, of one sign, so that nothing cancels; each is exact until it is rounded."""
    whole = torch.div(counted, divisor, rounding_mode="trunc")
    return whole.double() + (counted - whole * divisor).double() / divisor
