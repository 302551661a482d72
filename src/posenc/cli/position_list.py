"""Reads positions from a command line: ranges a:b and a:b:step, single numbers, and lists of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NoReturn

from ..errors import refuse

_FIRST, _LAST = -(1 << 63), (1 << 63) - 1


class Positions:
    """Integer positions in the order in which they were written, never all in memory.

    >>> positions = Positions.read("0:4,100,-3")
    >>> positions.count, list(positions)
    (6, [0, 1, 2, 3, 100, -3])
    """

    def __init__(self, ranges: Sequence[range]) -> None:
        self._ranges = ranges

    @classmethod
    def read(cls, text: str) -> Positions:
        """Positions of a text, or `InputError`."""
        return cls([_read_range(part.strip(), text) for part in text.split(",")])

    @property
    def count(self) -> int:
        """How many there are; more than `len` could say, perhaps."""
        return sum((found[-1] - found[0]) // found.step + 1 for found in self._ranges)

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self._ranges)

    def pieces(self, size: int) -> Iterator[list[int]]:
        """The positions in lists of at most `size`."""
        rest = iter(self)
        while piece := list(islice(rest, size)):
            yield piece


def _read_range(part: str, text: str) -> range:
    numbers = [_read_int(word, text) if word else None for word in part.split(":")]
    match numbers:
        case [int(position)]:
            found = range(position, position + 1)
        case [first, int(end)] | [first, int(end), None]:
            found = range(first or 0, end)
        case [None, int(end), int(step)] if step > 0:
            found = range(0, end, step)
        case [int(first), int(end), int(step)] if step:
            found = range(first, end, step)
        case _:
            _refuse(text, f"{part!r} is neither a number nor a range")
    if not found:
        _refuse(text, f"{part!r} holds no position")
    for position in (found[0], found[-1]):
        if not _FIRST <= position <= _LAST:
            _refuse(text, f"{position} is beyond int64")
    return found


def _read_int(word: str, text: str) -> int:
    try:
        return int(word)
    except ValueError:
        _refuse(text, f"{word!r} is no integer")


def _refuse(text: str, reason: str) -> NoReturn:
    refuse(
        f"--positions {text!r}, in which {reason}",
        "integers, and ranges whose end is left out",
        "write it as in 0:128, 0:5000:100 or 0,5,-3",
    )
