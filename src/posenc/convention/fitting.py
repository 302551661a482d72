"""The width that a convention knows near a wanted one."""

from __future__ import annotations

from itertools import chain

from ..errors import ConventionError
from .record import Convention


def fitting_dim(convention: Convention, widest: int) -> int:
    """The largest width up to `widest` that a convention knows, or else the smallest above it.

    >>> from .names import conventions
    >>> fitting_dim(conventions["nerf"], 64)
    63
    """
    for dim in chain(range(widest, 1, -1), range(widest + 1, max(64, 4 * widest))):
        try:
            return convention.plan(dim).dim
        except ConventionError:
            continue
    return convention.plan(widest).dim
