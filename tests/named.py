"""Named conventions, made ready to be encoded: those that random ones lack are given, at a width that they fit."""

import torch

from posenc import Convention, conventions
from posenc.convention import systems
from posenc.errors import ConventionError

# A width for each number of columns that hold the position itself: it fits axes of one to four pairs.
WIDTHS = (24, 16, 25, 26, 27, 28)
# The names whose values are an encoding; the others turn queries and keys.
TABLES = [name for name, system in systems.items() if system.family != "rotary"]
ROTARY = [name for name in systems if name not in TABLES]


def ready(name: str, pairs: int = 8) -> Convention:
    """The convention of a name, with frequencies where its system draws or learns them."""
    convention = conventions[name]
    if convention.spacing != "explicit":
        return convention
    rows = torch.sin(torch.arange(1.0, 1 + max(1, len(convention.axes)) * pairs)).view(-1, pairs)
    return convention.with_frequencies(rows if convention.axes else rows[0])


def fits(convention: Convention, dim: int) -> bool:
    """Whether a convention knows a width."""
    try:
        convention.plan(dim)
    except ConventionError:
        return False
    return True


def width(convention: Convention) -> int:
    """A small width that a convention knows."""
    widths = [2 * len(convention.frequencies)] if convention.spacing == "explicit" and not convention.axes else []
    return next(dim for dim in (*widths, *WIDTHS) if fits(convention, dim))


def distinct(dim: int = 8) -> list[str]:
    """The names of tables of one axis of plain pairs that hold different values at a width: the first of each."""
    found: dict = {}
    for name, convention in ((name, conventions[name]) for name in TABLES):
        if convention.spacing != "explicit" and fits(convention, dim) and convention.plan(dim).is_plain:
            found.setdefault(convention.plan(dim).blocks, name)
    return list(found.values())


def turned() -> list[str]:
    """The names of tables whose pairs turn with the position, of any number of axes, that hold different values."""
    found: dict = {}
    for name in TABLES:
        convention = ready(name)
        plan = convention.plan(width(convention))
        if plan.is_turned:
            found.setdefault((plan.blocks, plan.gain), name)
    return list(found.values())
