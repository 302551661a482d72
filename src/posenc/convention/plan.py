"""What a convention comes to at one width: blocks of pairs with exact ladders, and what is done to their values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from ..errors import ConventionError, refuse
from ..frequency import Ladder, stretched
from ..layout import Columns
from ..recipes import Recipe
from .options import AXES

if TYPE_CHECKING:
    from .record import Convention


@dataclass(frozen=True)
class Block:
    """Pairs that turn with one axis of the positions, or with all of them together, and where they stand.

    `ladders` holds one ladder, or one an axis where their angles are added; then `axis` is None. With `by_column`
    the ladder has a frequency for every column: sines take every other one, cosines those between.
    """

    axis: int | None
    ladders: tuple[Ladder, ...]
    columns: Columns
    by_column: bool = False

    @property
    def ladder(self) -> Ladder:
        """The ladder of a block of one axis."""
        return self.ladders[0]


@dataclass(frozen=True)
class Plan:
    """A convention at one width.

    Plain fields alone, so that compilers can read it.

    width: columns before the last ones are cut off, `dim` of them stay; axes: of a position; inputs: (axis, column)
    where the position itself is held; gain: what values are multiplied by.
    is_plain: one axis, exact, with nothing done to the values; is_turned: a shift of the position turns every pair;
    is_rendered: values are those of exact ladders alone, each rounded once; is_exact: no recipe of a system.
    """

    convention: Convention
    dim: int
    width: int
    axes: int
    blocks: tuple[Block, ...]
    inputs: tuple[tuple[int, int], ...]
    gain: float
    is_plain: bool
    is_turned: bool
    is_rendered: bool
    is_exact: bool

    @property
    def recipe(self) -> Recipe:
        """The recipe of values that are not exact."""
        return cast(Recipe, self.convention.arithmetic)


def _plan(
    convention: Convention, dim: int, width: int, blocks: tuple[Block, ...], inputs: tuple[tuple[int, int], ...] = ()
) -> Plan:
    gain = 1 / math.sqrt(dim) if isinstance(convention.gain, str) else float(convention.gain)
    by_column = any(block.by_column for block in blocks)
    changed = by_column or bool(convention.standardised_rows) or convention.position_sign == "dropped"
    exact = convention.arithmetic == "exact"
    summed = any(block.axis is None for block in blocks)
    return Plan(
        convention,
        dim,
        width,
        max(1, len(convention.axes)),
        blocks,
        inputs,
        gain,
        is_plain=exact and len(blocks) == 1 and not (changed or inputs or summed or convention.zero_rows) and gain == 1,
        is_turned=not (changed or inputs or (convention.zero_rows and not convention.axes)),
        is_rendered=exact and gain == 1 and not (changed or summed),
        is_exact=exact,
    )


@lru_cache(maxsize=256)
def shared(ladder: Ladder) -> Ladder:
    """The first of all equal ladders: caches then compare objects, not fractions."""
    return ladder


def _wrong(got: str, wanted: str, fix: str) -> Any:
    refuse(got, wanted, fix, error=ConventionError)


def _each(value: Any, axes: int) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,) * axes


def _ladders(convention: Convention, pairs: tuple[int, ...], spans: tuple[Fraction, ...], dim: int) -> list[Ladder]:
    """One exact ladder for each axis in the order of the columns."""
    axes = len(pairs)
    scales, offsets = _each(convention.position_scale, axes), _each(convention.position_offset, axes)
    lasts = _each(convention.last, axes)
    found = []
    for axis in range(axes):
        # One pair has the first frequency, whatever the ladder; a shift of 1 would otherwise divide by zero.
        end = spans[axis] - Fraction(convention.endpoint_shift) if pairs[axis] > 1 else Fraction(1)
        if end <= 0:
            _wrong(
                f"endpoint_shift={convention.endpoint_shift} at dim={dim}",
                f"a shift below {spans[axis]}, so that the ladder has a length",
                "pass a larger dim or a smaller endpoint_shift",
            )
        first = Fraction(convention.first)
        base, given = Fraction(convention.base), _given(convention, axis, pairs[axis], dim)
        if lasts[axis] is not None:
            base = first / Fraction(lasts[axis])
        if convention.spacing == "powers":
            end = Fraction(1)
        elif convention.spacing == "linear":
            rise = (Fraction(lasts[axis]) - first) / end
            given = tuple(first + rise * k for k in range(pairs[axis]))
        # Cells that are divided by the size of their map have had their origin added before.
        offset = Fraction(offsets[axis])
        scale = Fraction(scales[axis])
        ladder = Ladder(pairs[axis], base, end, first, scale, offset, given)
        if convention.stretch is not None:
            if convention.stretch.needs_length:
                _wrong(
                    f"convention {convention.label}, whose frequencies depend on the length of the sequence",
                    "frequencies of their own",
                    "use posenc.RotaryEmbedding, which knows the length",
                )
            ladder = stretched(ladder, convention.stretch)
        if ladder.stretch and convention.arithmetic != "exact":
            _wrong(
                f"convention {convention.label} with frequencies that are scaled one by one",
                "exact arithmetic: no order of operations is recorded for them",
                "leave out as_released",
            )
        found.append(shared(ladder))
    return found


def _given(convention: Convention, axis: int, pairs: int, dim: int) -> tuple[Fraction, ...]:
    if convention.spacing != "explicit":
        return ()
    if convention.frequencies is None:
        _wrong(
            f"convention {convention.label}, whose frequencies are drawn at random or learned",
            "those of your model",
            "pass conventions[name].with_frequencies(tensor)",
        )
    rows: Any = convention.frequencies
    row = (
        rows[axis] if isinstance(rows[0], tuple) and len(rows) > 1 else rows[0] if isinstance(rows[0], tuple) else rows
    )
    if len(row) != pairs:
        _wrong(
            f"dim={dim} with {len(row)} explicit frequencies",
            f"{pairs} of them at that width",
            "pass the dim that they belong to",
        )
    return tuple(map(Fraction, row))


def plan_of(convention: Convention, dim: int) -> Plan:
    """The plan of a convention at a width. Raises `ConventionError` where the width does not fit."""
    axes = max(1, len(convention.axes))
    inputs = axes if convention.include_input != "none" else 0
    unit = 2 * (1 if convention.axis_layout == "sum" else axes)
    rest = dim - inputs
    if convention.axis_shares:
        return _plan_by_shares(convention, dim, rest)
    if rest % unit and convention.odd == "refuse":
        what = (
            "an even width"
            if unit == 2 and not inputs
            else f"{inputs} and a multiple of {unit}"
            if inputs
            else f"a multiple of {unit}"
        )
        _wrong(
            f"dim={dim}",
            f"{what}, which is all that {convention.label} knows",
            f"pass dim={dim + unit - rest % unit}, or a Convention with another rule for odd widths",
        )
    pairs = rest // unit if convention.odd == "pad" else -(-rest // unit)
    if pairs < 1:
        _wrong(
            f"dim={dim}",
            f"at least one pair of columns{' for each axis' if axes > 1 else ''}",
            f"pass dim={inputs + unit} or more",
        )
    span = Fraction(rest, unit) if convention.odd == "truncate" else Fraction(pairs)
    if convention.pairing == "columns":
        # The slip of counting columns in the exponent: the ladder has a frequency for every column.
        (ladder,) = _ladders(convention, (2 * pairs,), (span,), dim)
        block = Block(0, (ladder,), Columns(dim, pairs, convention.layout, convention.order), by_column=True)
        return _plan(convention, dim, max(dim, 2 * pairs), (block,))
    ladders = _ladders(convention, (pairs,) * axes, (span,) * axes, dim)
    columns = _columns(convention, dim, pairs, axes)
    width = max(dim, inputs + pairs * unit)
    if convention.axis_layout == "sum":
        blocks: tuple[Block, ...] = (Block(None, _by_input(convention, ladders), columns[0]),)
    else:
        order = _input_order(convention)
        blocks = tuple(Block(order[a], (ladders[a],), columns[a]) for a in range(axes))
    return _plan(convention, dim, width, blocks, _inputs(convention, pairs, axes))


def _input_order(convention: Convention) -> tuple[int, ...]:
    """For each axis in the order of the columns, which entry of a position it is."""
    given = sorted(convention.axes, key=AXES.index)
    return tuple(given.index(axis) for axis in convention.axes) or (0,)


def _by_input(convention: Convention, ladders: list[Ladder]) -> tuple[Ladder, ...]:
    """Ladders of added angles, in the order in which positions hold their axes."""
    order = _input_order(convention)
    return tuple(ladders[order.index(entry)] for entry in range(len(order)))


def _columns(convention: Convention, dim: int, pairs: int, axes: int) -> list[Columns]:
    """For each axis in the order of the columns, where its pairs stand."""
    layout, order = convention.layout, convention.order
    if axes == 1 and convention.include_input == "none":
        return [Columns(dim, pairs, layout, order)]
    begin = axes if convention.include_input == "prefix" else 0
    gap = int(convention.include_input == "suffix-per-axis")
    if convention.axis_layout in ("outer", "sum"):
        width = begin + axes * (2 * pairs + gap)
        return [
            Columns(max(dim, width), pairs, layout, order, begin + axis * (2 * pairs + gap)) for axis in range(axes)
        ]
    width = begin + 2 * pairs * axes
    where: Any = convention.axis_layout
    return [Columns(max(dim, width), pairs, layout, order, begin, axis, axes, where) for axis in range(axes)]


def _inputs(convention: Convention, pairs: int, axes: int) -> tuple[tuple[int, int], ...]:
    """(axis, column) of the positions that are held beside their waves, axes as positions hold them."""
    if convention.include_input == "none":
        return ()
    order = range(axes) if convention.include_input != "suffix-per-axis" else _input_order(convention)
    if convention.include_input == "prefix":
        return tuple((axis, i) for i, axis in enumerate(order))
    pairs_of_all = 2 * pairs * (1 if convention.axis_layout == "sum" else axes)
    if convention.include_input == "suffix":
        return tuple((axis, pairs_of_all + i) for i, axis in enumerate(order))
    return tuple((axis, i * (2 * pairs + 1) + 2 * pairs) for i, axis in enumerate(order))


def _plan_by_shares(convention: Convention, dim: int, rest: int) -> Plan:
    """Axes of unequal widths, one block after the other."""
    total = sum(convention.axis_shares)
    if any(rest * share % (2 * total) for share in convention.axis_shares):
        _wrong(
            f"dim={dim}",
            f"a width that divides into even parts of {convention.axis_shares}",
            "pass a multiple of twice their sum",
        )
    pairs = tuple(rest * share // (2 * total) for share in convention.axis_shares)
    ladders = _ladders(convention, pairs, tuple(map(Fraction, pairs)), dim)
    order, begin, blocks = _input_order(convention), 0, []
    for axis, count in enumerate(pairs):
        columns = Columns(dim, count, convention.layout, convention.order, begin)
        blocks.append(Block(order[axis], (ladders[axis],), columns))
        begin += 2 * count
    return _plan(convention, dim, dim, tuple(blocks))
