"""Time in counts: arrays of datetime64 and timedelta64 as integers, and how long one count lasts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..errors import DtypeError, refuse
from .arguments import as_integers

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


def ticks_of(values: Any, name: str) -> tuple[Tensor, int, str]:
    """An array of time, or of integers -> int64 counts on the CPU, the attoseconds of one (0 for integers), its kind.

    >>> import numpy as np
    >>> ticks_of(np.timedelta64(90, "m"), "timestamps")
    (tensor(90), 60000000000000000000, 'timedelta64')
    """
    import numpy as np

    array = np.asarray(values)
    if array.dtype.kind not in "mM":
        if array.dtype.kind not in "iu":
            said = f"{array.dtype}" if array.dtype != object else type(values).__name__
            fix = 'convert them without a zone, as in numpy.array(times, "datetime64[ns]")'
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
