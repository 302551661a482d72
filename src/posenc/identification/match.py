"""One answer of `identify`, and the words it is told in."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import torch

from ..convention import Convention, systems

# Names with the same values that a text tells.
SHOWN_NAMES = 4
Kind = Literal["named", "fitted", "drifted", "learned", "unknown"]


@dataclass(frozen=True)
class Match:
    """What a tensor speaks, or that nothing is known of it.

    name: of the convention, None where it has none. convention: None for "learned" and "unknown". start: position
    of the first row, in the numbering of the convention. error: the largest difference; relative_error: root mean
    square of the differences in that of the tensor; both infinite where there is no convention. arithmetic: the
    recipe that gives the same bits, "exact", "float32" for errors that float32 explains, the 16-bit dtype that phases
    were computed in, or None where nothing explains them. dtype: what the values were rounded to.

    rows: how many rows, or frequencies, decided; names: all other names with the same values; shifted: names that
    have these rows too, but begin to count them elsewhere; padding: rows of zeros; arrangement: what was done to the
    shape; note: what else there is to say; dim: the width; sizes: those of a map.
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
    is_ladder: bool = field(default=False, repr=False)

    def line(self) -> str:
        """The line that builds it, to paste after `import posenc`; empty where it was learned or trained away.

        >>> from posenc import identify, table
        >>> identify(table(50, 16, "marian"))[0].line()
        "posenc.PositionalEncoding(16, convention='marian')"
        >>> identify(table(50, 16, start=7))[0].line()
        'posenc.PositionalEncoding(16, convention=posenc.Convention(position_offset=7))'
        """
        convention = self.from_first_row()
        if convention is None or (self.kind == "drifted" and self.arithmetic is None):
            return ""
        system = systems.get(self.name or "")
        known = system is not None and system.convention == convention
        said = repr(self.name) if known else written(convention)
        if self.is_ladder and (system is None or not known or system.family == "rotary"):
            return f"posenc.RotaryEmbedding({self.dim}, {said})"
        if self.sizes:
            return f"posenc.grid({self.sizes}, {self.dim}, {said})"
        return f"posenc.PositionalEncoding({self.dim}, convention={said})"

    def from_first_row(self) -> Convention | None:
        """The convention whose position 0 is the first row, wherever that stands in the numbering of the system.

        A table with the rows of padding that a system keeps below its offset is the system's own.
        """
        convention = self.convention
        if convention is None or not self.start or self.is_ladder or isinstance(convention.position_offset, tuple):
            return convention
        if self.start == -convention.position_offset:
            return convention
        return replace(convention, position_offset=convention.position_offset + self.start)

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


def written(convention: Convention) -> str:
    """The text that builds a convention, without what does not decide values."""
    plain = replace(convention, name=None, released_as=None, state_names=(), numbering="columns")
    return f"posenc.{plain!r}".replace("stretch=Stretch(", "stretch=posenc.frequency.Stretch(")


def nothing(kind: Kind, note: str, *, rows: int = 0, dtype: torch.dtype | None = None, **more: Any) -> Match:
    """An answer without a convention."""
    return Match(None, None, None, math.inf, math.inf, None, dtype, kind, rows, note=note, **more)
