"""What there is to say of a named convention, as data: its formula at a width, its columns, its equals."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from .convention_words import angle, differs, frequency, stretch, turning

if TYPE_CHECKING:
    from ..convention import Convention, Plan, System
    from ..frequency import Ladder

Start = Literal["kept", "free"]

# The pattern of the columns is shown whole, at the first width from here on that has two pairs of everything.
PATTERN = 8
# What encodes whole maps, by what they are of.
_MAPS = {
    "image": 'posenc.grid((rows, columns), dim, "{name}")',
    "fourier": 'posenc.grid((rows, columns), dim, "{name}")',
    "video": 'posenc.grid((frames, rows, columns), dim, "{name}")',
    "volume": 'posenc.grid((planes, rows, columns), dim, "{name}")',
}


def _with_some(convention: Convention, dim: int) -> Convention:
    """A convention without frequencies of its own gets some, so that it has columns to show."""
    if convention.spacing != "explicit" or convention.frequencies is not None:
        return convention
    return convention.with_frequencies([1.0] * max(1, dim // 2))


def _plan_near(convention: Convention, dim: int) -> Plan:
    """The plan at the largest width up to `dim` that the convention knows."""
    from ..convention import fitting_dim

    known = fitting_dim(_with_some(convention, dim), dim) if convention.spacing != "explicit" else dim
    return _with_some(convention, known).plan(known)


def _values(plan: Plan, start: Start) -> tuple[Any, ...]:
    """What decides values at one width, with the start of the positions or without."""
    c = plan.convention
    keep = start == "kept"
    blocks = tuple(
        (block.axis, tuple(x if keep else replace(x, offset=type(x.offset)(0)) for x in block.ladders), block.columns)
        for block in plan.blocks
    )
    rest = (c.standardised_rows, c.zero_rows if keep else (), c.position_sign)
    cells = (c.cells, c.cell_origin, c.cell_epsilon, c.trained_size)
    return (plan.dim, blocks, plan.inputs, plan.gain, rest, cells)


@lru_cache(maxsize=2)
def equals(dim: int, start: Start) -> dict[str, list[str]]:
    """Name -> the other names whose values are the same near a width; start "kept", or "free" to differ.

    Systems whose frequencies are drawn equal nobody. What turns queries and keys equals no table.
    """
    from ..convention import systems
    from . import convention_rotary

    groups: dict[Any, list[str]] = {}
    for system in systems.values():
        drawn = system.convention.spacing == "explicit" and system.convention.frequencies is None
        if system.family == "rotary":
            key: Any = convention_rotary.values(system.convention, dim)
        else:
            key = system.name if drawn else _values(_plan_near(system.convention, dim), start)
        groups.setdefault(key, []).append(system.name)
    return {name: [other for other in group if other != name] for group in groups.values() for name in group}


def band(convention: Convention, ladder: Ladder, axis: str | None) -> dict[str, Any]:
    """Of one ladder: its pairs, formula, first and last frequency, and their wavelengths."""
    ends = [_radians(ladder.precise_step(pair, 128)) for pair in (0, ladder.pairs - 1)]
    if convention.spacing == "explicit":
        ends = [None, None]
    # One that counts columns has a frequency for each of them.
    pairs = ladder.pairs if convention.pairing == "pairs" else ladder.pairs // 2
    return {
        "axis": axis,
        "pairs": pairs,
        "formula": frequency(convention, pairs, float(ladder.span)),
        "frequencies": ends,
        "wavelengths": [2 * math.pi / end if end else None for end in ends],
    }


def _radians(step: int) -> float | None:
    """Radians per position of a step; None where float64 holds no such number."""
    from ..frequency import TURN

    try:
        return 2 * math.pi * abs(step) / TURN
    except OverflowError:
        return None


def _bands(plan: Plan) -> list[dict[str, Any]]:
    """Of each axis in the order of its columns: formula, first and last frequency, and their wavelengths."""
    convention = plan.convention
    found = [
        band(convention, ladder, convention.axes[index] if convention.axes and block.axis is not None else None)
        for index, block in enumerate(plan.blocks)
        for ladder in block.ladders
    ]
    return found[:1] if any(block.axis is None for block in plan.blocks) else found


def _pattern(convention: Convention) -> list[str]:
    """What each column holds, at the smallest width that shows how they follow each other."""
    from ..convention.options import AXES
    from ..errors import ConventionError

    inputs = sorted(convention.axes, key=AXES.index)
    for dim in range(PATTERN, 8 * PATTERN):
        try:
            plan = _with_some(convention, dim).plan(dim)
        except ConventionError:
            continue
        if plan.width == dim and all(block.columns.pairs > 1 for block in plan.blocks):
            break
    names = ["0"] * plan.dim
    for index, block in enumerate(plan.blocks):
        of = f" {convention.axes[index]}" if convention.axes and block.axis is not None else ""
        for member, columns, shift in (("sin", block.columns.sines, 0), ("cos", block.columns.cosines, 1)):
            for pair, column in enumerate(range(*columns.indices(plan.dim))):
                names[column] = f"{member} w{2 * pair + shift if block.by_column else pair}{of}"
    for axis, column in plan.inputs:
        names[column] = inputs[axis] if inputs else "p"
    return names


def odd_widths(convention: Convention) -> str:
    """What becomes of a width that does not divide."""
    axes = max(1, len(convention.axes))
    unit = 2 * (1 if convention.axis_layout == "sum" else axes)
    inputs = axes if convention.include_input != "none" else 0
    good = f"{f'{inputs} + ' if inputs else ''}a multiple of {2 * sum(convention.axis_shares) or unit}"
    others = "odd widths" if good == "a multiple of 2" else f"widths that are not {good}"
    does = {
        "truncate": "keep their width in the ladder; the last sine has no cosine",
        "pad": "end in columns of zeros" if axes > 1 else "end in a column of zeros",
        "round-up": "are the next one that divides, cut",
        "refuse": "are refused",
    }
    return f"{others} {does[convention.odd]}"


def paste(system: System) -> str:
    """The line that uses it."""
    c, name = system.convention, system.name
    if c.spacing == "explicit" and c.frequencies is None:
        return f'posenc.conventions["{name}"].with_frequencies(w)'
    if system.family == "rotary":
        return f'posenc.RotaryEmbedding(dim, "{name}")'
    if system.family == "timestep":
        return f'posenc.TimestepEmbedding(dim, "{name}")'
    if system.subject == "text":
        return f'posenc.PositionalEncoding(d_model, convention="{name}")'
    if c.axes and system.subject in _MAPS and (system.subject != "fourier" or c.cells == "ends"):
        return _MAPS[system.subject].format(name=name)
    what = "points" if c.axes else "distances" if system.subject == "relative" else "positions"
    return f'posenc.encode({what}, dim, "{name}")'


def facts(system: System, dim: int | None) -> dict[str, Any]:
    """All of it, for `json`; at `dim`, which must fit, or near 64."""
    from ..convention.options import AXES
    from ..recipes import MEANING
    from . import convention_rotary

    c, near = system.convention, dim or 64
    if system.family == "rotary":
        said = convention_rotary.facts(c, near)
    else:
        plan = _plan_near(c, 64) if dim is None else _with_some(c, dim).plan(dim)
        said = {
            "dim": plan.dim,
            "bands": _bands(plan),
            "gain": plan.gain,
            "columns": _pattern(c),
            "odd_widths": odd_widths(c),
        }
    same = equals(near, "kept")[system.name]
    # No order of operations is known where pairs are stretched one by one.
    recipe = c.released_as if c.stretch is None or c.stretch.kind == "ntk" else None
    return {
        **summary(system),
        "positions": sorted(c.axes, key=AXES.index) or None,
        "angle": angle(c, "p"),
        "stretch": stretch(c),
        **said,
        "recipe": {"name": recipe, "meaning": MEANING[recipe] if recipe else None},
        "equal": same,
        "equal_up_to_start": [name for name in equals(near, "free")[system.name] if name not in same],
        "constructor": repr(c),
        "paste": paste(system),
    }


def summary(system: System) -> dict[str, Any]:
    """What the list says of it, for `json`."""
    return {
        "name": system.name,
        "family": system.family,
        "subject": system.subject,
        "aliases": list(system.aliases),
        "source": system.source,
        "version": system.version or None,
        "note": system.note or None,
        "mistake": system.mistake or None,
        "differs": differs(system.convention),
        "turning": turning(system.convention) if system.family == "rotary" else None,
        "options": system.convention.to_dict(),
    }
