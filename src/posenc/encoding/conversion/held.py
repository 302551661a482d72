"""What each column of a convention holds, and which column of one arrangement goes where in another."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Literal, NamedTuple

from ...convention import Block, Plan
from ...frequency import TURN
from ...layout import Columns


class Column(NamedTuple):
    """A wave of exact steps, one an entry of the position, and a start; or an entry itself; or zero."""

    kind: Literal["sine", "cosine", "input", "zero"]
    steps: tuple[int, ...] = ()
    start: int = 0


def turns(block: Block) -> list[tuple[int, ...]]:
    """The steps of each pair of a block, one for each of its ladders."""
    return list(zip(*(ladder.steps for ladder in block.ladders), strict=True))


def starts(block: Block) -> list[int]:
    """The phase of position 0 of each pair of a block, up to whole turns."""
    return [sum(each) % TURN for each in zip(*(ladder.starts for ladder in block.ladders), strict=True)]


def _put(out: list[Column], columns: Columns, sines: Sequence[Column], cosines: Sequence[Column]) -> None:
    for waves, where in ((sines, columns.sines), (cosines, columns.cosines)):
        # An odd width leaves one cosine without a column.
        for wave, column in zip(waves, range(columns.dim)[where], strict=False):
            out[column] = wave


def _by_entry(block: Block, steps: tuple[int, ...], axes: int) -> tuple[int, ...]:
    """Steps for every entry of a position: zero for those that the block does not turn with."""
    return steps if block.axis is None else tuple(steps[0] if entry == block.axis else 0 for entry in range(axes))


def held(plan: Plan) -> list[Column]:
    """What each column of a plan holds, from the first to the last.

    >>> from posenc import Convention
    >>> [column.kind for column in held(Convention(layout="halves").plan(4))]
    ['sine', 'sine', 'cosine', 'cosine']
    """
    columns = [Column("zero")] * plan.width
    for block in plan.blocks:
        waves = [
            (_by_entry(block, steps, plan.axes), start)
            for steps, start in zip(turns(block), starts(block), strict=True)
        ]
        step = 1 + block.by_column
        sines = [Column("sine", *wave) for wave in waves[::step]]
        cosines = [Column("cosine", *wave) for wave in waves[step - 1 :: step]]
        _put(columns, block.columns, sines, cosines)
    for entry, column in plan.inputs:
        columns[column] = Column("input", tuple(int(other == entry) for other in range(plan.axes)))
    return columns[: plan.dim]


def permutation(source: Sequence[Column], target: Sequence[Column]) -> tuple[int, ...] | None:
    """For each column of the target the one of the source that holds the same; None where one has no counterpart.

    Columns that hold the same keep their order, so that the way back undoes the way there.

    >>> sine, cosine, zero = Column("sine", (7,)), Column("cosine", (7,)), Column("zero")
    >>> permutation([sine, cosine, zero], [cosine, sine, zero])
    (1, 0, 2)
    """
    places: defaultdict[Column, deque[int]] = defaultdict(deque)
    for place, column in enumerate(source):
        places[column].append(place)
    found = [places[column].popleft() if places[column] else None for column in target]
    taken = tuple(place for place in found if place is not None)
    return taken if len(taken) == len(source) == len(target) else None
