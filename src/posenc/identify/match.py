"""One answer of `identify`, and the words it is told in."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import torch

from ..convention import Convention, systems

Kind = Literal["named", "fitted", "drifted", "learned", "unknown"]


@dataclass(frozen=True)
class Match:
    """What a tensor speaks, or that nothing is known of it.

    name: of the convention, None where it has none. convention: None for "learned" and "unknown". start: position
    of the first row, in the numbering of the convention. error: the largest difference; relative_error: root mean
    square of the differences in that of the tensor. arithmetic: the recipe that gives the same bits, "exact",
    "float32" for errors that float32 explains, or the narrow dtype that phases were computed in.
    dtype: what the values were rounded to. rows: how many rows, or frequencies, decided.

    names: all names with the same values; padding: rows of zeros; arrangement: what was done to the shape;
    note: what else there is to say.
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
    padding: tuple[int, ...] = ()
    arrangement: str = ""
    note: str = ""
    is_ladder: bool = field(default=False, repr=False)

    def line(self, dim: int | str = "d_model") -> str:
        """The constructor line to paste; empty where there is nothing to build."""
        if self.convention is None or self.kind == "drifted":
            return ""
        system = systems.get(self.name or "")
        known = system is not None and system.convention == self.convention
        said = repr(self.name) if known else repr(_plain(self.convention))
        if self.convention.axes:
            return f"posenc.grid(sizes, {dim}, {said})"
        return f"posenc.PositionalEncoding({dim}, convention={said})"

    def __str__(self) -> str:
        return "; ".join(part for part in (self.sentence(), self.note, self.line()) if part)

    def sentence(self) -> str:
        """The answer in one sentence."""
        where = f" from position {self.start}" if self.start and not self.is_ladder else ""
        what = "frequencies" if self.is_ladder else "rows"
        size = f"off by at most {self.error:.2g} in {self.rows} {what}"
        label = repr(self.name) if self.name else "a convention without a name"
        if self.kind == "named":
            return f"{label}{where}, {size}"
        if self.kind == "fitted":
            return f"fitted{where}, {size}"
        if self.kind == "drifted":
            return f"drifted from {label}{where} by {self.relative_error:.2g} of its size ({size})"
        return self.kind

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON may hold it."""
        said = asdict(self)
        said["convention"] = self.convention.to_dict() if self.convention else None
        said["dtype"] = str(self.dtype).removeprefix("torch.") if self.dtype else None
        said["line"] = self.line()
        del said["is_ladder"]
        # JSON has no infinity.
        for number in ("error", "relative_error"):
            said[number] = said[number] if said[number] < float("inf") else None
        return said


def _plain(convention: Convention) -> Convention:
    """The convention without what does not decide values, for a short line."""
    from dataclasses import replace

    return replace(convention, name=None, released_as=None, state_names=(), numbering="columns")


def nothing(kind: Kind, note: str, *, rows: int = 0, dtype: torch.dtype | None = None, **more: Any) -> Match:
    """An answer without a convention."""
    return Match(None, None, None, float("inf"), float("inf"), None, dtype, kind, rows, note=note, **more)
