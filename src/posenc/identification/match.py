"""One answer of `identify`, and the words it is told in."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from textwrap import shorten
from typing import Any, Literal

import torch

from ..convention import Convention, Family, systems

# Names with the same values that a text tells.
SHOWN_NAMES = 4
# Letters of a repr.
_WIDEST = 200
Kind = Literal["named", "fitted", "drifted", "learned", "unknown"]


@dataclass(frozen=True, repr=False)
class Match:
    """What a tensor speaks, or that nothing is known of it. Its repr is one line, without other names.

    name: of the convention, None where it has none. convention: None for "learned" and "unknown". start: position
    of the first row, in the numbering of the convention. error: the largest difference; relative_error: root mean
    square of the differences in that of the tensor; both infinite where there is no convention. arithmetic: the
    recipe that gives the same bits, "exact", "float32" for errors that float32 explains, the 16-bit dtype that phases
    were computed in, or None where nothing explains them. dtype: what the values were rounded to.

    rows: how many rows, or frequencies, decided; names: all other names with the same values; shifted: names that
    have these rows too, but begin to count them elsewhere; padding: rows of zeros; arrangement: what was done to the
    shape; note: what else there is to say; dim: the width; sizes: those of a map; length: rows of the table; order:
    "steady" where row i is that of position start + i, "other" where `note` says which positions the rows have.

    Law: where the order is steady, `posenc.table(length, dim, convention, start=start)` is the table within `error`,
    its rows of `padding` aside.
    """

    name: str | None
    convention: Convention | None
    start: int | None
    error: float
    relative_error: float
    arithmetic: str | None
    dtype: torch.dtype | None
    kind: Kind
    rows: int = 0
    names: tuple[str, ...] = ()
    shifted: tuple[str, ...] = ()
    padding: tuple[int, ...] = ()
    arrangement: str = ""
    note: str = ""
    dim: int | None = None
    sizes: tuple[int, ...] = ()
    length: int | None = None
    order: Literal["steady", "other"] = "steady"
    is_ladder: bool = False

    def line(self) -> str:
        """The line that builds it, to paste after `import posenc`; empty where it was learned or trained away.

        Row 0 of the layer is the first row of the table, except where that is a row of padding that the system keeps
        below its offset, and where rows have another order.

        >>> from posenc import identify, table
        >>> identify(table(50, 16, "marian"))[0].line()
        "posenc.PositionalEncoding(16, convention='marian')"
        >>> identify(table(50, 16, start=7))[0].line()
        'posenc.PositionalEncoding(16, convention=posenc.Convention(position_offset=7))'
        >>> identify(table(50, 16, "patchtst", start=7))[0].line()
        "posenc.table(50, 16, 'patchtst', start=7)"
        """
        if self.convention is None or (self.kind == "drifted" and self.arithmetic is None):
            return ""
        if self.is_ladder:
            return self._ladder_line(self.convention)
        if self.sizes:
            return f"posenc.grid({self.sizes}, {self.dim}, {written(self.convention, 'map')})"
        convention = self.from_first_row()
        if convention is None:
            return f"posenc.table({self.length}, {self.dim}, {written(self.convention)}, start={self.start})"
        return f"posenc.PositionalEncoding({self.dim}, convention={written(convention, 'additive')})"

    def _ladder_line(self, convention: Convention) -> str:
        system = systems.get(convention.name or "")
        if system is not None and system.family != "rotary":
            return f"posenc.PositionalEncoding({self.dim}, convention={written(convention, 'additive')})"
        share = convention.rotary_dim
        # Of a wider head only a share is turned, by a ladder of that width.
        dim = round((self.dim or 0) / share) if isinstance(share, float) else self.dim
        return f"posenc.RotaryEmbedding({dim}, {written(convention, 'rotary')})"

    def from_first_row(self) -> Convention | None:
        """The convention whose position 0 is the first row, wherever that is in the numbering of the system.

        A table with the rows of padding that a system keeps below its offset is the system's own, and so are rows in
        another order. None where no convention begins there.
        """
        convention = self.convention
        if convention is None or not self.start or self.is_ladder or self.sizes or self.order == "other":
            return convention
        if not isinstance(convention.position_offset, tuple) and self.start == -convention.position_offset < 0:
            return convention
        return moved(convention, self.start)

    def __repr__(self) -> str:
        own = repr(self.convention) if self.convention is not None and self.name is None else ""
        plain = self.kind == "named" and self.order == "steady" and not self.sizes
        said = (self.sentence(), own, "" if plain else self.note)
        return f"<Match: {shorten('; '.join(part for part in said if part), _WIDEST)}>"

    def __str__(self) -> str:
        shown = ", ".join(map(repr, self.names[:SHOWN_NAMES]))
        more = len(self.names) - SHOWN_NAMES
        equal = f"equally {shown}{f' and {more} more' if more > 0 else ''}" if shown and self.kind == "named" else ""
        said = self.sentence(), equal, self.arrangement, self.note, self.line()
        return "; ".join(part for part in said if part)

    def sentence(self) -> str:
        """The answer in one sentence."""
        if self.convention is None:
            return self.kind
        where = f" from position {self.start}" if self.start and not self.is_ladder else ""
        what = "frequencies" if self.is_ladder else "row" if self.rows == 1 else "rows"
        size = f"off by {f'at most {self.error:.2g}' if self.error else 'nothing'} in {self.rows} {what}"
        if self.kind == "named":
            return f"{'frequencies of ' if self.is_ladder else ''}{self.name!r}{where}, {size}"
        if self.kind == "fitted":
            return f"fitted{where}, {size}"
        return f"drifted from {self.name!r}{where} by {self.relative_error:.2g} of its size ({size})"

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON may hold it."""
        said = asdict(replace(self, convention=None, dtype=None))
        said["convention"] = self.convention.to_dict() if self.convention else None
        said["dtype"] = str(self.dtype).removeprefix("torch.") if self.dtype else None
        said["line"] = self.line()
        # JSON has no infinity, and lists for tuples.
        for option, value in said.items():
            if isinstance(value, float) and not math.isfinite(value):
                said[option] = None
            if isinstance(value, tuple):
                said[option] = list(value)
        return said


class Matches(tuple[Match, ...]):
    """Matches, best first; an interpreter shows one in a line, each name once."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))


def moved(convention: Convention, start: int, step: int = 1) -> Convention | None:
    """The convention of one axis whose position 0 is position `start` of this one; None where there is none.

    With a step, everything but offset and scale, of which rows of every `step`-th position need others.
    """
    if isinstance(convention.position_offset, tuple) or convention.standardised_rows:
        # The mean of other rows would be taken out.
        return None
    if convention.position_sign == "dropped" and (start < 0 or step < 0):
        return None
    zeros = tuple((row - start) // step for row in convention.zero_rows if (row - start) % step == 0)
    # Rows of zeros below the first one are not of this table.
    zeros = tuple(row for row in zeros if row >= 0)
    offset = convention.position_offset + start if step == 1 else convention.position_offset
    if Fraction(offset) != Fraction(convention.position_offset) + (start if step == 1 else 0) or abs(offset) >= 2**63:
        return None
    return convention.replace(position_offset=offset, zero_rows=zeros)


def written(convention: Convention, family: Family | None = None) -> str:
    """The text that builds a convention, without what does not decide values: its name, where it has one.

    Doors of a family take the names of others as objects.
    """
    system = systems.get(convention.name or "")
    if system is not None and system.convention == convention:
        known = family in (None, system.family)
        return repr(system.name) if known else f"posenc.conventions[{system.name!r}]"
    plain = convention.replace(name=None, released_as=None, state_names=(), numbering="columns")
    return f"posenc.{plain!r}".replace("stretch=Stretch(", "stretch=posenc.frequency.Stretch(")


def nothing(kind: Kind, note: str, *, rows: int = 0, dtype: torch.dtype | None = None, **more: Any) -> Match:
    """An answer without a convention."""
    return Match(None, None, None, math.inf, math.inf, None, dtype, kind, rows, note=note, **more)
