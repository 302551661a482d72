"""The frozen record that describes an encoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, Literal

from torch import Tensor

from ..errors import ConventionError, refuse
from ..frequency import Ladder, Stretch
from ..layout import Columns, Layout, Order
from ..recipes import Recipe
from .arguments import check_dim, listed
from .bearers import bears_its_name, signature_of
from .options import (
    AxesLayout,
    Cells,
    Gain,
    IncludeInput,
    Numbering,
    Odd,
    Pairing,
    Sign,
    Spacing,
    check,
)
from .plan import Plan, plan_of

PerAxis = float | tuple[float, ...]
# What is built by hand: its name is still to be checked.
_NEW: tuple[Any, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Convention:
    """Everything that decides the values of a sinusoidal encoding, except the width.

    Pair k of n turns by frequency(k) = first * base^(-k / (span - endpoint_shift)) radians for each position,
    where span is dim / 2 divided by the axes, and holds sin and cos of
    frequency(k) * position_scale * (position + position_offset). Numbers are taken exactly as they are written.

    Args:
        base: ratio of the first frequency to the one at the end of the ladder.
        first: first frequency, in radians per position.
        last: the frequency at the end, instead of `base`; one for each axis where they differ.
        endpoint_shift: 0 leaves the end of the ladder out, as in the paper; 1 takes it in, as in tensor2tensor.
        spacing: "geometric"; "powers", first / base^k whatever the width; "linear" from first to last; "explicit".
        frequencies: explicit ones, a tuple, or one tuple for each axis in the order of `axes`.
        layout: "interleaved" (s c s c) or "halves" (s s c c).
        order: "sine-first" or "cosine-first".
        odd: what becomes of a width that does not divide: "truncate" drops the last columns and keeps the real
            span in the ladder, "pad" adds columns of zeros, "round-up" cuts the encoding of the next width that
            divides, "refuse" raises.
        pairing: "pairs", or "columns" where a system counts columns in the exponent by mistake (lex-glue).
        axes: () for one axis, or names of `options.AXES` in the order of their columns. Positions hold them in
            the order of that list: (row, column), (time, row, column), (x, y, z).
        axis_layout: "outer", a block for each axis; "middle", axes inside the halves or pairs; "inner", axes
            under each member; "sum", the angles of all axes added, as random features do.
        axis_shares: parts of the width for each axis, in the order of `axes`; () for equal ones.
        position_offset: added to every position, as fairseq adds 2; one number, or one for each axis.
        position_scale: multiplies every position; may be negative; one number, or one for each axis.
        position_sign: "dropped" where a system encodes |position| by mistake (SpeechBrain).
        cells: what `grid` makes of index i of a map: "corners" i, "centres" i + 1/2, both times
            trained / size where another size was trained, "first-to-last" i, times (trained - 1) / (size - 1) there,
            "fractions" (i + cell_origin) / (size + cell_epsilon), "ends" -1 to 1. Offsets and scale come after.
        trained_size: the size that cells are brought to, where the system has one (diffusers: 16).
        gain: what values are multiplied by; "inverse-root" is dim^-0.5.
        zero_rows: positions that hold zeros; with several axes, rows before the grid that the caller joins.
        include_input: where the position itself is held beside its waves.
        rotary_dim: for rotary alone: how many columns of a head are turned, a number or a fraction of its width;
            None for all of them.
        stretch: a rule that stretches the ladder to longer contexts, or None.
        standardised_rows: length of the table whose mean and ten deviations were taken out (PatchTST).
        numbering: what counts as a position where a sequence is padded: its "columns", or only real "tokens".
        state_names: names under which checkpoints of the system hold the table, beside "pe".
        arithmetic: "exact", or the order of operations of `posenc.recipes` that values are computed with.
        released_as: the recipe of the system; no part of equality. `as_released` uses it.
        name: what to call it in messages; no part of equality. A changed convention has none, unless it is given one.
            Names in `posenc.conventions` belong to the values of those systems.

    Raises:
        ConventionError: where an option is of the wrong kind, or means nothing beside the others; for the name of a
            system with other values than that system's.

    >>> from posenc import conventions
    >>> Convention() == conventions["transformer"]
    True
    >>> Convention(base=500)
    Convention(base=500)
    """

    base: float = 10000
    first: float = 1
    last: PerAxis | None = None
    endpoint_shift: float = 0
    spacing: Spacing = "geometric"
    frequencies: tuple[float, ...] | tuple[tuple[float, ...], ...] | None = None
    layout: Layout = "interleaved"
    order: Order = "sine-first"
    odd: Odd = "truncate"
    pairing: Pairing = "pairs"
    axes: tuple[str, ...] = ()
    axis_layout: AxesLayout = "outer"
    axis_shares: tuple[int, ...] = ()
    position_offset: PerAxis = 0
    position_scale: PerAxis = 1
    position_sign: Sign = "kept"
    cells: Cells = "corners"
    cell_origin: float = 0
    cell_epsilon: float = 0
    trained_size: int | None = None
    gain: Gain = 1
    zero_rows: tuple[int, ...] = ()
    include_input: IncludeInput = "none"
    rotary_dim: float | None = None
    stretch: Stretch | None = None
    standardised_rows: int | None = None
    numbering: Numbering = "columns"
    state_names: tuple[str, ...] = ()
    arithmetic: Recipe | Literal["exact"] = "exact"
    released_as: Recipe | None = field(default=None, compare=False)
    name: str | None = field(default=None, compare=False)
    # What the name was given to. `dataclasses.replace` and `copy.replace` hand it on, so that a change shows.
    # None takes the name as it is.
    _named: InitVar[tuple[Any, ...] | None] = _NEW

    def __post_init__(self, _named: tuple[Any, ...] | None) -> None:
        check({f.name: getattr(self, f.name) for f in fields(self)}, _DEFAULTS)
        if self.name is None:
            return
        own = signature_of(self)
        if _named and _named[0] == self.name:
            if _named != own:
                object.__setattr__(self, "name", None)
                return
        elif _named is not None and not bears_its_name(self):
            refuse(
                f"name={self.name!r} with other options than that system's",
                "its own options under the name of a system",
                f"leave name out, pass another, or take posenc.conventions[{self.name!r}]",
                error=ConventionError,
            )
        object.__setattr__(self, "_named", own)

    def __repr__(self) -> str:
        # Only what differs from the paper: the shortest text that builds it again.
        said = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Convention({', '.join(said)})"

    @property
    def label(self) -> str:
        """The name, or the constructor line where there is none."""
        if not self.name:
            return repr(self)
        return repr(self.name) if self.arithmetic == "exact" else f"{self.name!r} as released"

    def as_released(self) -> Convention:
        """The same convention with the system's own order of operations, so that its tables come out bit for bit.

        Raises `ConventionError` where no recipe is known. The laws of exact conventions are not promised for it.

        >>> from posenc import conventions
        >>> conventions["openai-whisper"].as_released().arithmetic
        'exp'
        """
        if self.arithmetic != "exact":
            return self
        if self.released_as is None:
            refuse(
                f"as_released of {self.label}",
                "a convention of a system whose arithmetic is known",
                'take one of posenc.conventions, or pass arithmetic="exp" or another recipe',
                error=ConventionError,
            )
        return replace(self, arithmetic=self.released_as)

    def replace(self, **changes: Any) -> Convention:
        """The same convention with other options. It has no name, unless nothing changes or a name is given.

        The same as `dataclasses.replace`, and `copy.replace` of Python 3.13.

        Raises:
            ConventionError: where an option does not exist, is of the wrong kind, or contradicts the others.

        >>> from posenc import conventions
        >>> whisper = conventions["openai-whisper"]
        >>> whisper.replace(base=500.0).label
        "Convention(base=500.0, endpoint_shift=1, layout='halves', odd='refuse', \
state_names=('positional_embedding',), released_as='exp')"
        >>> whisper.replace(base=10000).label, whisper.replace(base=500.0, name="ours").label
        ("'openai-whisper'", "'ours'")
        """
        _check_options(changes)
        return replace(self, **changes)

    def with_frequencies(self, frequencies: Tensor | tuple[Any, ...] | list[Any]) -> Convention:
        """The same convention with explicit frequencies (pairs,), or (axes, pairs) in the order of `axes`.

        For systems that draw or learn them: pass the buffer of your checkpoint as it is. Such a convention keeps its
        name, since its frequencies were left open.

        Raises:
            ConventionError: for anything but real numbers in a tensor of known values, a list or a tuple.

        >>> import torch
        >>> Convention(spacing="explicit", layout="halves").with_frequencies(torch.tensor([1.0, 0.5])).frequencies
        (1.0, 0.5)
        """
        rows = tuple(tuple(row) if isinstance(row, (list, tuple)) else row for row in listed(frequencies))
        is_open = self.spacing == "explicit" and self.frequencies is None
        more: dict[str, Any] = {"_named": None} if is_open else {}
        return replace(self, spacing="explicit", frequencies=rows, **more)

    def to_dict(self) -> dict[str, Any]:
        """What differs from the paper, as JSON may hold it. Law: Convention.from_dict(c.to_dict()) == c.

        >>> Convention(layout="halves", zero_rows=(0,)).to_dict()
        {'layout': 'halves', 'zero_rows': [0]}
        """
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Convention:
        """The convention of a dictionary as `to_dict` gives it. Unknown options are refused.

        >>> Convention.from_dict({"layout": "halves"}).layout
        'halves'
        """
        if not isinstance(options, Mapping):
            refuse(f"a {type(options).__name__}", "a dictionary of options", "pass what to_dict gave")
        _check_options(options)
        made = {name: _frozen(value) for name, value in options.items()}
        if isinstance(made.get("stretch"), Mapping):
            made["stretch"] = Stretch.from_dict({name: _frozen(value) for name, value in made["stretch"].items()})
        found = cls(**made, _named=None)
        # A dictionary may be older than the table of systems: its values hold, and the name goes.
        return found if bears_its_name(found) else replace(found, name=None)

    def plan(self, dim: int) -> Plan:
        """Blocks, ladders and columns at this width. Raises `ConventionError` where the width does not fit."""
        return _plan(self, check_dim(dim), self.name)

    def columns(self, dim: int) -> Columns:
        """The columns of sines and cosines at this width, for one axis."""
        return self._single(dim).blocks[0].columns

    def ladder(self, dim: int) -> Ladder:
        """The exact frequencies at this width, for one axis."""
        return self._single(dim).blocks[0].ladder

    def _single(self, dim: int) -> Plan:
        if self.axes:
            refuse(
                f"convention {self.label} with axes {self.axes}",
                "one axis",
                "use posenc.encode or posenc.grid for several",
                error=ConventionError,
            )
        return self.plan(dim)


_DEFAULTS = {f.name: f.default for f in fields(Convention)}


def _check_options(options: Mapping[str, Any]) -> None:
    for option in options:
        if option not in _DEFAULTS:
            refuse(f"option {option!r}", f"one of {', '.join(sorted(_DEFAULTS))}", "remove it", error=ConventionError)


@lru_cache(maxsize=512)
def _plan(convention: Convention, dim: int, name: str | None) -> Plan:  # noqa: ARG001
    # Equal conventions may have other names, which messages tell: `name` is part of the key alone.
    return plan_of(convention, dim)


def _plain(value: Any) -> Any:
    if isinstance(value, Stretch):
        said = {f.name: getattr(value, f.name) for f in fields(value) if getattr(value, f.name) != f.default}
        return {name: _plain(each) for name, each in said.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(each) for each in value) if isinstance(value, (list, tuple)) else value
