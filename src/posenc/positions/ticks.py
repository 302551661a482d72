"""Time in counts: arrays of datetime64 and timedelta64 as integers, and how long one count lasts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

import torch
from torch import Tensor

from ..errors import DtypeError, refuse, shown
from .arguments import as_integers

Unit = Literal[
    "ns", "us", "ms", "s", "min", "h", "day", "week",
    "nanosecond", "microsecond", "millisecond", "second", "minute", "hour",
    "nanoseconds", "microseconds", "milliseconds", "seconds", "minutes", "hours", "days", "weeks",
]  # fmt: skip
_SHORT = ("ns", "us", "ms", "s", "min", "h", "day", "week")
_LONG = ("nanosecond", "microsecond", "millisecond", "second", "minute", "hour", "day", "week")
_SPOKEN = {**dict(zip(_LONG, _SHORT, strict=True)), **{f"{long}s": at for long, at in zip(_LONG, _SHORT, strict=True)}}

# What one count of a unit lasts; the finest that numpy has is the attosecond.
ATTOSECONDS = {
    "as": 1,
    "fs": 10**3,
    "ps": 10**6,
    "ns": 10**9,
    "us": 10**12,
    "ms": 10**15,
    "s": 10**18,
    "min": 60 * 10**18,
    "h": 3600 * 10**18,
    "day": 86400 * 10**18,
    "week": 7 * 86400 * 10**18,
}
# The letters of numpy that differ.
_NUMPY = {"m": "min", "D": "day", "W": "week"}


def check_unit(value: Any, name: str) -> str:
    """The short name of a unit, by any of its names."""
    unit = _SPOKEN.get(value, value) if isinstance(value, str) else None
    if unit not in _SHORT:
        words = " or ".join(repr(each) for each in _SHORT)
        refuse(f"{name}={shown(value)}", f"{words}, or a word as 'hour' or 'hours'", "choose one of these")
    return unit


def ticks_of(values: Any, name: str) -> tuple[Tensor, int, str]:
    """Times or integers, one or an array -> int64 counts on the CPU, the attoseconds of one (0 for integers), a kind.

    >>> import numpy as np
    >>> ticks_of(np.timedelta64(90, "m"), "timestamps")
    (tensor(90), 60000000000000000000, 'timedelta64')
    """
    import numpy as np

    array = np.asarray(values)
    if array.dtype == object and array.size:
        array = _of_objects(array, name)
    if array.dtype.kind not in "mM":
        if array.dtype.kind not in "iu":
            said = f"{array.dtype}" if array.dtype != object else type(values).__name__
            fix = 'convert them, as in numpy.array(times, "datetime64[ns]")'
            refuse(f"{name} of {said}", "integers, datetime64 or timedelta64", fix, error=DtypeError)
        return as_integers(array, name), 0, "int"
    kind = "datetime64" if array.dtype.kind == "M" else "timedelta64"
    unit, count = np.datetime_data(array.dtype)
    if unit in "YM":
        if kind == "timedelta64":
            refuse(f"{name} of {array.dtype}", "units of one length, up to weeks", "pass days, or dates")
        days = array.astype("datetime64[D]")
        if bool((days.astype(array.dtype) != array)[~np.isnat(array)].any()):
            refuse(f"{name} of {array.dtype} beyond int64 in days", "dates within int64", "pass nearer dates")
        array, unit, count = days, "D", 1
    if unit == "generic":
        refuse(f"{name} of {array.dtype} without a unit", "a unit", 'pass it, as in numpy.timedelta64(5, "s")')
    # A copy: torch takes no reversed arrays, and the bytes may be in another order.
    counts = torch.from_numpy(np.array(array.astype(array.dtype.newbyteorder("=")).view("int64")))
    return counts, ATTOSECONDS[_NUMPY.get(unit, unit)] * count, kind


def _of_objects(array: Any, name: str) -> Any:
    """An array of datetime, timedelta or pandas' own objects as one of datetime64 or timedelta64."""
    import numpy as np

    zoned = {each.tzinfo is not None for each in array.flat if isinstance(each, datetime)}
    if len(zoned) > 1:
        refuse(f"{name} with and without a zone", "all with one, or all without", "give each its zone")
    times = [_plain_time(each) for each in array.flat]
    if len({type(each) for each in times}) > 1 or not isinstance(times[0], (np.datetime64, np.timedelta64)):
        kinds = ", ".join(dict.fromkeys(type(each).__name__ for each in array.flat))
        refuse(f"{name} of {kinds}", "times, or spans of time", "pass one kind of them", error=DtypeError)
    return np.array(times).reshape(array.shape)


def _plain_time(value: Any) -> Any:
    """numpy's own form of a time, in UTC, or what came."""
    import numpy as np

    for way in ("to_datetime64", "to_timedelta64"):
        if hasattr(value, way):
            return getattr(value, way)()
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, (datetime, date)):
        return np.datetime64(value)
    return np.timedelta64(value) if isinstance(value, timedelta) else value
