"""What a picture is of: a convention at a width, its pairs, and how fast each column turns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from torch import Tensor

from ..convention import Convention, Plan, check_dim, resolve
from ..encoding.arguments import INT64_MAX, INT64_MIN, check_int
from ..errors import ConventionError, DtypeError, refuse, shown
from ..frequency import TURN, Ladder

# A picture that takes more numbers than this takes minutes.
MOST_VALUES = 1 << 24
# As many as the widest models have; every one of them is computed before some are drawn.
MOST_DIM = 1 << 15


class Pair(NamedTuple):
    """Two columns that turn together; the last one of an odd width has no cosine.

    number: its index in the ladder; wavelength: positions per turn, infinite where the pair does not turn.
    """

    number: int
    sine: int
    cosine: int | None
    wavelength: float


def one_axis(convention: str | Convention, dim: int, picture: str) -> Plan:
    """The plan of a convention of one axis, others are refused with the reason."""
    plan = resolve(convention).plan(check_drawn_dim(dim))
    if plan.axes > 1:
        refuse(
            f"convention {plan.convention.label} with axes {plan.convention.axes}",
            f"one axis: {picture} has positions along one side",
            "draw posenc.plots.wavelengths, which knows several axes, or values of posenc.grid",
            error=ConventionError,
        )
    return plan


def check_no_length(picture: str, dim: object, convention: object, fix: str) -> None:
    """Refuse (length, dim), as most pictures take them, where a picture has only (dim, convention)."""
    if isinstance(convention, int):
        refuse(
            f"plots.{picture}({shown(dim)}, {shown(convention)})",
            "dim and a convention: this picture takes no length",
            fix,
            error=DtypeError,
        )


def check_drawn_dim(dim: int) -> int:
    """`dim` as an int that can be drawn."""
    width = check_dim(dim)
    if width > MOST_DIM:
        refuse(f"dim={width}", f"at most {MOST_DIM} columns, as many as the widest models have", "pass a smaller dim")
    return width


def check_length(length: int, most: int = INT64_MAX, why: str = "pass the number of positions") -> int:
    """`length` as an int from 1 to `most`."""
    return check_int(length, "length", 1, most, why)


def check_start(start: int, length: int) -> int:
    """`start` as an int from which that many positions lie within int64."""
    return check_int(start, "start", INT64_MIN, INT64_MAX - length + 1, "choose positions within int64")


def check_text(text: str, name: str) -> str:
    """`text` as it came, if it can be drawn."""
    if not isinstance(text, str):
        refuse(f"{name}={shown(text)} of type {type(text).__name__}", "text", "pass a str", error=DtypeError)
    try:
        text.encode()
    except UnicodeEncodeError:
        refuse(
            f"{name}={text!r}, which holds half a character (a lone surrogate)",
            "text that can be drawn",
            'replace it, as text.encode("utf-8", "replace").decode() does',
        )
    return text


def pairs_of(plan: Plan) -> list[Pair]:
    """The pairs of a convention of one axis, in the order of its ladder; those that count columns are none."""
    block = plan.blocks[0]
    if block.by_column:
        refuse(
            f"convention {plan.convention.label}, whose sines and cosines turn at speeds of their own",
            "pairs of columns that turn together",
            "draw posenc.plots.heat_map",
            error=ConventionError,
        )
    turns = wavelengths_of(block.ladder)
    cosines = [*range(*block.columns.cosines.indices(plan.dim))]
    sines = [*range(*block.columns.sines.indices(plan.dim))]
    return [
        Pair(index, sines[index], cosines[index] if index < len(cosines) else None, turns[index])
        for index in range(len(sines))
    ]


def wavelengths_of(ladder: Ladder) -> list[float]:
    """Positions per turn of every step of a ladder."""
    return [TURN / step if step else math.inf for step in map(abs, ladder.steps)]


def column_wavelengths(plan: Plan) -> list[float]:
    """Positions per turn of every column (dim,); infinite where a column holds no wave.

    Where the angles of several axes are added, those of the axis that turns fastest.
    """
    found = [math.inf] * plan.dim
    for block in plan.blocks:
        turns = [min(each) for each in zip(*map(wavelengths_of, block.ladders), strict=True)]
        for shift, columns in enumerate((block.columns.sines, block.columns.cosines)):
            own = turns[shift::2] if block.by_column else turns
            for column, wavelength in zip(range(*columns.indices(plan.dim)), own, strict=False):
                found[column] = wavelength
    return found


def evenly(count: int, most: int) -> list[int]:
    """At most so many indices below `count`, the first and the last among them, at even distances.

    >>> evenly(4, 8), evenly(256, 4)
    ([0, 1, 2, 3], [0, 85, 170, 255])
    """
    if count <= most:
        return list(range(count))
    return [round(index * (count - 1) / max(1, most - 1)) for index in range(most)]


def neighbours(count: int, most: int) -> list[int]:
    """At most so many indices below `count`, every so many twos of them: a pair of columns stays together.

    >>> neighbours(3, 8), neighbours(512, 6)
    ([0, 1, 2], [0, 1, 172, 173, 344, 345])
    """
    if count <= most:
        return list(range(count))
    return [2 * pair + member for pair in every(count // 2, most // 2) for member in (0, 1)]


def every(count: int, most: int) -> range:
    """At most so many indices below `count`, from 0 on, all at one distance.

    >>> every(4, 8), every(1536, 512)
    (range(0, 4), range(0, 1536, 3))
    """
    return range(0, count, -(-count // most))


def scale_of(magnitudes: Sequence[float]) -> float:
    """The end of a scale of values: 1, or what waves with a gain or a slow start reach.

    >>> scale_of([0.2, 0.99]), scale_of([0.125]), scale_of([])
    (1.0, 0.125, 1.0)
    """
    top = max(magnitudes, default=0.0)
    return 1.0 if 0.5 < top <= 1 or top == 0 else top


def name_of(convention: Convention) -> str:
    """What a title calls a convention: its name, or the constructor line."""
    return convention.label.replace("'", "") if convention.name else convention.label


def plain(value: Any) -> Any:
    """Numbers for `json`: tensors and tuples as lists, and None for what is not finite."""
    if isinstance(value, Tensor):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Numbers:
    """The numbers behind a picture; a class of them knows how to measure and how to draw."""

    def document(self) -> dict[str, Any]:
        """The same for `json`."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}
