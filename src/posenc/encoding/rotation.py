"""What rotary embeddings need of a convention at one width of a head: which columns turn, by which ladders."""

from __future__ import annotations

import itertools
import operator
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from ..convention import Convention, Plan, resolve
from ..errors import ConventionError, refuse, shown
from ..frequency import Ladder, Stretch, stretched
from ..layout import Layout
from ..phase import Steps, steps_apart
from ..recipes import Recipe
from ..tracing import constant_in_graphs, with_fixed_sizes
from .prepared import closed, packed, unpacked


class Part(NamedTuple):
    """Pairs [begin, end) of a ladder, turned by one axis of the positions."""

    axis: int
    ladder: Ladder
    begin: int
    end: int

    @property
    def pairs(self) -> int:
        """Pairs that it turns."""
        return self.end - self.begin


class Rotation(NamedTuple):
    """How many columns of a head turn, how they lie, and by which ladders; parts stand in the order of the pairs."""

    width: int
    layout: Layout
    parts: tuple[Part, ...]
    axes: int
    recipe: Recipe | Literal["exact"]
    label: str

    @property
    def pairs(self) -> int:
        """Pairs that turn."""
        return self.width // 2


class Ready(NamedTuple):
    """A rotation as a constant of a graph: in the graph no number of `rotation` is read.

    A compiler that leaves sizes open leaves the numbers of a constant open too, and then misses them. So `steps`
    holds, for each axis of the positions, the steps that `phase_of` needs for each run of pairs that it turns, and
    `order` (pairs,) where each pair is among those of all runs side by side; None where they lie in that order.
    """

    rotation: Rotation
    steps: tuple[tuple[Steps, ...], ...]
    order: Tensor | None


def width_of(convention: Convention, head_dim: int) -> int:
    """How many columns of a head turn. Raises `ConventionError` where that is odd, or more than there are."""
    given = convention.rotary_dim
    width = head_dim if given is None else int(head_dim * given) if isinstance(given, float) else given
    if width % 2 or not 2 <= width <= head_dim:
        said = "" if given is None else f" from rotary_dim={given!r}"
        refuse(
            f"a rotary width of {width}{said} for heads of {head_dim}",
            f"an even width from 2 to {head_dim}, since columns turn in pairs" if head_dim > 1 else "wider heads",
            "pass rotary_dim with an even number of columns",
            error=ConventionError,
        )
    return width


def reach(rule: Stretch | None, length: int | None) -> int | None:
    """The length that a rule sees: the same one for all that make no difference to it."""
    if rule is None or not rule.needs_length or length is None:
        return None
    if rule.has_two_ladders:
        return rule.trained + 1 if length > rule.trained else rule.trained
    # In a graph that left it open, the length is fixed by this.
    return operator.index(length) if length > rule.trained else rule.trained


def rotation_of(
    convention: Convention,
    head_dim: int,
    sections: tuple[int, ...] | None = None,
    rule: Stretch | None = None,
    length: int | None = None,
) -> Rotation:
    """A convention at one width of a head, its ladder shared among axes, and stretched by a rule for a length."""
    return _rotation(convention, convention.name, head_dim, sections, rule, reach(rule, length))


def ready_rotation(
    convention: str | Convention,
    head_dim: int,
    device: torch.device,
    sections: tuple[int, ...] | None = None,
    rule: Stretch | None = None,
    length: int | None = None,
) -> Ready:
    """The same with its steps on a device, whole and constant also where a compiler looks on."""
    return _constant(packed(convention), closed(head_dim), device, sections, rule, reach(rule, length))


@constant_in_graphs
def _constant(
    convention: Any,
    head_dim: int,
    device: torch.device,
    sections: tuple[int, ...] | None,
    rule: Stretch | None,
    length: int | None,
) -> Ready:
    rotation = rotation_of(resolve(unpacked(convention)), head_dim, sections, rule, length)
    steps = tuple(
        tuple(steps_apart(part.ladder, device, part.begin, part.end) for part in run) for run in _runs(rotation)
    )
    return Ready(rotation, steps, _order(rotation, device) if len(rotation.parts) > 1 else None)


def _runs(rotation: Rotation) -> list[list[Part]]:
    """The parts of each axis."""
    return [[part for part in rotation.parts if part.axis == axis] for axis in range(rotation.axes)]


def _order(rotation: Rotation, device: torch.device) -> Tensor | None:
    """The columns of the parts, which stand in the order of the pairs, among those of the parts by axis."""
    parts = sorted(range(len(rotation.parts)), key=lambda index: rotation.parts[index].axis)
    if parts == list(range(len(parts))):
        return None
    begins = dict(zip(parts, itertools.accumulate((rotation.parts[i].pairs for i in parts), initial=0), strict=False))
    order = [begins[i] + column for i, part in enumerate(rotation.parts) for column in range(part.pairs)]
    return with_fixed_sizes(torch.tensor(order, dtype=torch.int64, device=device))


@lru_cache(maxsize=64)
def _rotation(
    convention: Convention,
    name: str | None,  # noqa: ARG001 - equal conventions may have other names, which messages tell
    head_dim: int,
    sections: tuple[int, ...] | None,
    rule: Stretch | None,
    length: int | None,
) -> Rotation:
    width = width_of(convention, head_dim)
    # Messages name the convention, whatever part of a head it turns.
    plan = replace(convention, rotary_dim=None, _named=None).plan(width)
    _check_plan(plan)
    parts = tuple(Part(block.axis or 0, block.ladder, 0, block.ladder.pairs) for block in plan.blocks)
    if rule is not None:
        parts = tuple(part._replace(ladder=stretched(part.ladder, rule, length)) for part in parts)
    if not plan.is_exact and any(part.ladder.stretch for part in parts):
        refuse(
            f"convention {convention.label} with frequencies that are scaled one by one",
            "exact arithmetic: no order of operations is recorded for them",
            "leave out as_released",
            error=ConventionError,
        )
    rotation = Rotation(width, convention.layout, parts, plan.axes, convention.arithmetic, convention.label)
    return rotation if sections is None else _sectioned(rotation, sections)


def _check_plan(plan: Plan) -> None:
    """Refuse what is no rotation of pairs that lie as `turn` expects them."""
    rule = plan.convention
    plain = plan.is_turned and plan.gain == 1 and rule.axis_layout != "sum" and not rule.zero_rows
    if not plain or rule.order != "sine-first":
        refuse(
            f"convention {rule.label}",
            "one whose pairs turn and nothing else: no gain, no included input, no rows of zeros, sine first",
            'pass a rotary name, as "llama"',
            error=ConventionError,
        )
    firsts, seconds = (
        [column for block in plan.blocks for column in range(plan.width)[getattr(block.columns, member)]]
        for member in ("sines", "cosines")
    )
    if plan.width != plan.dim or len(firsts) + len(seconds) != plan.dim or len(firsts) != len(seconds):
        refuse(
            f"a rotary width of {plan.dim} for {plan.axes} axes",
            f"a multiple of {2 * plan.axes}, so that each axis turns whole pairs",
            "pass rotary_dim with such a number of columns",
            error=ConventionError,
        )
    pairs = range(plan.dim // 2)
    wanted = [2 * k for k in pairs] if rule.layout == "interleaved" else list(pairs)
    partner = 1 if rule.layout == "interleaved" else len(pairs)
    if firsts != wanted or seconds != [k + partner for k in wanted]:
        refuse(
            f"convention {rule.label}, with layout={rule.layout!r} and axis_layout={rule.axis_layout!r}",
            "pairs of neighbours, axis after axis, or halves of the whole head with axis_layout='middle'",
            "turn the columns of each axis by themselves, each with a convention of one axis",
            error=ConventionError,
        )


def _sectioned(rotation: Rotation, counts: tuple[int, ...]) -> Rotation:
    """One ladder shared out among axes: `counts` holds the pairs of each axis of the positions, in their order."""
    if rotation.axes != 1 or len(counts) < 2 or sum(counts) != rotation.pairs or min(counts) < 1:
        refuse(
            f"sections={shown(counts)}",
            f"two or more positive numbers of pairs that add up to {rotation.pairs}, and a convention of one axis",
            "pass mrope_section of the model",
            error=ConventionError,
        )
    ladder, begin, parts = rotation.parts[0].ladder, 0, []
    for axis, count in enumerate(counts):
        parts.append(Part(axis, ladder, begin, begin + count))
        begin += count
    return rotation._replace(parts=tuple(parts), axes=len(parts))
