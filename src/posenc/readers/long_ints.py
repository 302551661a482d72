"""Looks through a pickle, before torch reads it, for integers that make a dictionary slow."""

from __future__ import annotations

import pickletools
from io import BufferedIOBase
from typing import IO, cast

from .faults import deny

# Python hashes an int modulo 2^61 - 1, so that any number of multiples of it meet in one place of a dictionary. Names,
# sizes and steps of checkpoints are shorter; a few seeds may be as long.
_BITS = 40
_MOST = 1000


def check_long_ints(path: str, stream: BufferedIOBase, pickles: int) -> None:
    """Refuse a file whose first pickles hold more than 1000 integers of more than 40 bits; none of it is executed."""
    found = 0
    for _ in range(pickles):
        for _, value, _ in pickletools.genops(cast("IO[bytes]", stream)):
            found += type(value) is int and value.bit_length() > _BITS
            if found > _MOST:
                what = f"which holds more than {_MOST} integers of more than {_BITS} bits"
                deny(path, what, "names as keys, and tensors", "save one flat dict of tensors by their names")
