"""Time in counts: arrays of datetime64 and timedelta64 as integers, and how long one count lasts."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from datetime import date, datetime, timedelta
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
_SPOKEN = {name: short for short, long in zip(_SHORT, _LONG, strict=True) for name in (short, long, f"{long}s")}
# What else people write; m, d and w are numpy's letters.
_WRITTEN = {
    "\u00b5s": "us", "\u03bcs": "us", "sec": "s", "secs": "s", "m": "min", "mins": "min",
    "hr": "h", "hrs": "h", "d": "day", "w": "week",
}  # fmt: skip
# Capitals that mean something else.
_OTHERWISE = {
    "M": "'M' is months to numpy; pass 'min' for minutes, or 'day': months differ in length",
    "MS": "'MS' is the start of a month to pandas; pass 'ms' for milliseconds",
    "Ms": "'Ms' is a million seconds; pass 'ms' for milliseconds",
}
_UNEQUAL = {"y", "year", "years", "month", "months", "q", "quarter", "quarters"}

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
# What numpy holds for a time that does not exist.
_NAT = -(1 << 63)
# The letters of numpy that differ.
_NUMPY = {"m": "min", "D": "day", "W": "week"}


def check_unit(value: Any, name: str) -> str:
    """The short name of a unit, by any of its names, in capitals or not."""
    typed = value if isinstance(value, str) else ""
    key = typed.lower()
    unit = None if typed in _OTHERWISE else _SPOKEN.get(key, _WRITTEN.get(key))
    if unit is None:
        said = f"no {name}" if value is None else f"{name}={shown(value)}"
        words = " or ".join(repr(each) for each in _SHORT)
        fix = f"pass one, as in {name}='day'" if value is None else _fix(typed)
        refuse(said, f"{words}, or a word as 'hour' or 'hours'", fix)
    return unit


def _fix(typed: str) -> str:
    """What to pass instead of a unit that is not there."""
    if typed in _OTHERWISE:
        return _OTHERWISE[typed]
    if typed.lower() in _UNEQUAL:
        return "pass 'day', or count them yourself: months and years differ in length"
    near = difflib.get_close_matches(typed.lower(), _LONG + tuple(f"{long}s" for long in _LONG), n=1, cutoff=0.75)
    return f"pass {near[0]!r}" if near else "choose one of these"


def ticks_of(values: Any, name: str) -> tuple[Tensor, int, str]:
    """Times or integers, one or an array -> int64 counts on the CPU, the attoseconds of one (0 for integers), a kind.

    >>> import numpy as np
    >>> ticks_of(np.timedelta64(90, "m"), "timestamps")
    (tensor(90), 60000000000000000000, 'timedelta64')
    """
    import numpy as np

    try:
        array = np.asarray(values)
    except ValueError as error:
        said = str(error).splitlines()[0].partition(". ")[0]
        refuse(f"{name} of type {type(values).__name__} ({said})", "rows of one length", "pad them first")
    if array.dtype == object and array.size:
        return _of_objects(array, name)
    if array.dtype.kind in "mM" and isinstance(values, (list, tuple)):
        # numpy brings what is in a list to its finest resolution, and wraps without a word.
        return _of_objects(_leaves(values, name).reshape(array.shape), name)
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


def _leaves(values: Any, name: str) -> Any:
    """The times in nested lists, one by one, as an array of objects (n,)."""
    import numpy as np

    def each(part: Any) -> Iterator[Any]:
        if not isinstance(part, (list, tuple, np.ndarray)):
            yield part
            return
        for inner in part:
            yield from each(inner)

    found = list(each(values))
    out = np.empty(len(found), dtype=object)
    for index, leaf in enumerate(found):
        out[index] = leaf
    if not found:
        refuse(f"{name} without times", "at least one", "pass integers with their resolution for none")
    return out


def _of_objects(array: Any, name: str) -> tuple[Tensor, int, str]:
    """What `ticks_of` gives, of an array of times of Python, numpy or pandas: exact, in the finest of their counts."""
    import numpy as np

    zoned = {each.tzinfo is not None for each in array.flat if isinstance(each, datetime)}
    if len(zoned) > 1:
        refuse(f"{name} with and without a zone", "all with one, or all without", "give each its zone")
    found = [_exact(each, name) for each in array.flat]
    kinds = {kind for _, _, kind in found}
    if len(kinds) > 1 or "" in kinds:
        said = ", ".join(dict.fromkeys(type(each).__name__ for each in array.flat))
        refuse(f"{name} of {said}", "times, or spans of time", "pass one kind of them", error=DtypeError)
    tick = math.gcd(*(unit for _, unit, _ in found)) or ATTOSECONDS["s"]
    counts = [count if count == _NAT else count * (unit // tick) for count, unit, _ in found]
    if max(map(abs, counts)) > -_NAT or any(c == _NAT != count for c, (count, _, _) in zip(counts, found, strict=True)):
        refuse(
            f"{name} that int64 does not hold in the finest of their resolutions",
            "times within int64",
            "pass them in a coarser one, or nearer ones",
        )
    return torch.from_numpy(np.array(counts, dtype=np.int64).reshape(array.shape)), tick, kinds.pop()


def _exact(value: Any, name: str) -> tuple[int, int, str]:
    """A time as a count, the attoseconds of one, and its kind; '' for what is not a time."""
    import numpy as np

    for way in ("to_datetime64", "to_timedelta64"):
        if hasattr(value, way):
            value = getattr(value, way)()
    if isinstance(value, (np.datetime64, np.timedelta64)):
        if np.isnat(value):
            return _NAT, 0, "datetime64" if isinstance(value, np.datetime64) else "timedelta64"
        counts, unit, kind = ticks_of(np.array(value), name)
        return int(counts), unit, kind
    if isinstance(value, datetime):
        # The zone is taken off by itself: the same instant in UTC may lie beyond the last year.
        passed = value.replace(tzinfo=None) - datetime(1970, 1, 1)  # noqa: DTZ001
        return _microseconds(passed) - _microseconds(value.utcoffset() or timedelta()), ATTOSECONDS["us"], "datetime64"
    if isinstance(value, date):
        return value.toordinal() - date(1970, 1, 1).toordinal(), ATTOSECONDS["day"], "datetime64"
    if isinstance(value, timedelta):
        return _microseconds(value), ATTOSECONDS["us"], "timedelta64"
    return 0, 1, ""


def _microseconds(span: timedelta) -> int:
    return span // timedelta(microseconds=1)
