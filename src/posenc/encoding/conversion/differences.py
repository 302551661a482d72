"""Why no permutation of columns leads from one convention to another, and by how much they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NoReturn

from ...convention import Convention, Plan
from ...convention.options import AXES
from ...errors import ConventionError, refuse
from .gaps import Pairs, apart
from .held import held, starts, turns

_LONGEST = 100

_LADDER = (
    "base",
    "first",
    "last",
    "endpoint_shift",
    "spacing",
    "frequencies",
    "odd",
    "axis_shares",
    "position_scale",
)
_CELLS = ("cells", "cell_origin", "cell_epsilon", "trained_size")
_FREQUENCIES = "the same frequencies: a permutation moves columns and changes none"
_RECOMPUTE = "recompute tables with the target; weights that read one ladder cannot be made to read another"


def _wrong(got: str, wanted: str, fix: str) -> NoReturn:
    refuse(got, wanted, fix, error=ConventionError)


def said(convention: Convention) -> str:
    """The label of a convention, short enough for a message."""
    label = convention.label
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 3]}..."


def _both(source: Convention, target: Convention) -> str:
    return f"source {said(source)} and target {said(target)}"


def _against(source: Convention, target: Convention, options: Sequence[str]) -> str:
    """The options in which two conventions differ, as text."""
    found = []
    for option in options:
        one, other = getattr(source, option), getattr(target, option)
        if one != other:
            found.append("other frequencies" if option == "frequencies" else f"{option}={one!r} against {other!r}")
    return ", ".join(found)


def check_alike(source: Convention, target: Convention, dim: int) -> None:
    """Refuse what differs in the values themselves, whatever the columns.

    Raises:
        ConventionError: with what differs and, where there is one, the way to mend it.
    """
    _check_axes(source, target)
    _check_values(source, target)
    if (source.include_input == "none") != (target.include_input == "none"):
        _wrong(
            f"{_both(source, target)}, of which one alone holds the position itself "
            f"({_against(source, target, ('include_input',))})",
            "the same columns in both: a permutation adds none and drops none",
            "cut the columns of the position off and name conventions without it, or keep it in both",
        )
    one, other = source.plan(dim), target.plan(dim)
    if one.gain != other.gain:
        times = other.gain / one.gain
        _wrong(
            f"{_both(source, target)}, whose gains are {one.gain:.9g} and {other.gain:.9g} at dim={dim}",
            "one gain: a permutation changes no value",
            f"convert to target.replace(gain=source.gain), then multiply tables by {times:.9g}, and "
            "divide by it weights that read them",
        )


def _check_axes(one: Convention, other: Convention) -> None:
    if set(one.axes) == set(other.axes):
        return
    names = [", ".join(sorted(axes, key=AXES.index)) for axes in (one.axes, other.axes)]
    shown = [f"axes ({each})" if each else "one axis" for each in names]
    alike = len(one.axes) == len(other.axes)
    _wrong(
        f"{_both(one, other)}, whose positions have {shown[0]} and {shown[1]}",
        "positions of the same axes" if alike else "positions of as many axes",
        "name the axes of one as those of the other, with source.replace(axes=...)"
        if alike
        else "recompute tables with the target",
    )


def _check_values(one: Convention, other: Convention) -> None:
    cells = _against(one, other, _CELLS)
    if cells:
        _wrong(
            f"{_both(one, other)}, which make other coordinates of the cells of a map ({cells})",
            "one meaning of a cell: a permutation moves columns and changes no coordinate",
            "where both are fed the same coordinates, take these options of the source into the target with "
            "target.replace",
        )
    reasons = {
        "pairing": "of which one turns the sine and the cosine of a pair at different speeds",
        "position_sign": "of which one takes the sign from its positions",
        "standardised_rows": "of which mean and deviation are taken out over other tables",
    }
    for option, reason in reasons.items():
        differing = _against(one, other, (option,))
        if differing:
            _wrong(
                f"{_both(one, other)}, {reason} ({differing})",
                "the same values in both: a permutation changes none",
                "recompute tables with the target",
            )
    # With several axes rows of zeros are joined by the caller, and stay zero wherever their columns go.
    if not one.axes and set(one.zero_rows) != set(other.zero_rows):
        _wrong(
            f"{_both(one, other)}, which hold zeros at other positions ({_against(one, other, ('zero_rows',))})",
            "zeros in the same rows: a permutation changes no row",
            "give both the zero_rows of the source, and write those of the target yourself",
        )


def refuse_unlike(source: Convention, target: Convention, dim: int) -> NoReturn:
    """Say why the columns of two conventions do not hold the same waves, and by how much these differ.

    Raises:
        ConventionError: always.
    """
    both = f"{_both(source, target)} at dim={dim}"
    mine, theirs = _pairs(source.plan(dim)), _pairs(target.plan(dim))
    if set(mine) != set(theirs):
        _wrong(
            f"{both}, of which one adds the angles of its axes ({_against(source, target, ('axis_layout',))})",
            "pairs that turn with the same axes",
            _RECOMPUTE,
        )
    counts = [" + ".join(str(len(group[axis])) for axis in mine) for group in (mine, theirs)]
    if counts[0] != counts[1]:
        _wrong(
            f"{both}, which have {counts[0]} and {counts[1]} pairs"
            f"{_in_brackets(_against(source, target, ('odd', 'axis_shares')))}",
            "the same pairs: a permutation adds none and drops none",
            _RECOMPUTE,
        )
    if _counted(mine) == _counted(theirs):
        _refuse_starts(source, target, dim, both)
        _refuse_cuts(source, target, dim, both)
    if _counted(mine, _unsigned) == _counted(theirs, _unsigned):
        _wrong(
            f"{both}, some of whose frequencies have other signs{_in_brackets(_against(source, target, _LADDER))}",
            "the same signs: the sine of a frequency of another sign is another value",
            "change the sign of the columns of those sines, in tables and in weights that read them, and convert from "
            "a convention with the signs of the target",
        )
    _refuse_ladders(source, target, both, (mine, theirs))


def _pairs(plan: Plan) -> dict[int | None, list[tuple[int, ...]]]:
    return {block.axis: turns(block) for block in plan.blocks}


def _unsigned(steps: tuple[int, ...]) -> tuple[int, ...]:
    return max(steps, tuple(-step for step in steps))


def _counted(pairs: Pairs, key: Any = tuple) -> Counter[Any]:
    return Counter((axis, key(steps)) for axis, each in pairs.items() for steps in each)


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def _refuse_starts(source: Convention, target: Convention, dim: int, both: str) -> None:
    """Refuse the same turns from other starts."""
    begins = [
        Counter(
            (block.axis, pair)
            for block in convention.plan(dim).blocks
            for pair in zip(turns(block), starts(block), strict=True)
        )
        for convention in (source, target)
    ]
    if begins[0] == begins[1]:
        return
    offsets = source.position_offset, target.position_offset
    mend = "recompute tables with the target"
    if not isinstance(offsets[0], tuple) and not isinstance(offsets[1], tuple):
        rows = Fraction(offsets[0]) - Fraction(offsets[1])
        mend = (
            f"row p of the source is row p {'-' if rows < 0 else '+'} {float(abs(rows)):g} of the target: move the "
            f"rows, and convert from source.replace(position_offset={offsets[1]!r})"
        )
    _wrong(
        f"{both}, which start elsewhere ({_against(source, target, ('position_offset',))})",
        "one offset of the positions: a permutation moves columns, not rows",
        mend,
    )


def _refuse_cuts(source: Convention, target: Convention, dim: int, both: str) -> NoReturn:
    """Refuse the same pairs at a width that cuts other columns off."""
    mine, theirs = held(source.plan(dim)), held(target.plan(dim))
    alone = [
        f"the {column.kind} in column {list(columns).index(column)} of the {side}"
        for side, columns, others in (("source", mine, theirs), ("target", theirs, mine))
        for column in Counter(columns) - Counter(others)
    ]
    shown = f"{alone[0]} and {len(alone) - 1} more have no counterpart"
    _wrong(
        f"{both}, where the width cuts other columns off: {shown}",
        "the same waves in both",
        "recompute tables with the target, or take a width that cuts nothing off",
    )


def _refuse_ladders(source: Convention, target: Convention, both: str, pairs: tuple[Pairs, Pairs]) -> NoReturn:
    told, mend = apart(source, *pairs)
    ladders = _in_brackets(_against(source, target, _LADDER))
    _wrong(f"{both}, whose ladders differ{ladders}: {told}", _FREQUENCIES, mend or _RECOMPUTE)
