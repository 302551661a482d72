"""The named conventions of one axis that differ at a width, each with all names that share its values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from ..convention import Plan, conventions, systems
from ..errors import ConventionError
from ..frequency import Ladder
from ..layout import Columns


@dataclass(frozen=True)
class Candidate:
    """Rows that some names share, whatever position they begin at and whichever way they run.

    `plan` is that of the simplest of them; `names` are all, those whose own numbering it is first.
    """

    plan: Plan
    names: tuple[str, ...]

    def others(self, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The other names: those with the values of this one, and those that count positions from elsewhere."""
        own = _counting(name)
        others = [other for other in self.names if other != name]
        equal = tuple(other for other in others if _counting(other) == own)
        return equal, tuple(other for other in others if other not in equal)

    @property
    def key(self) -> object:
        """What decides the values up to the start and the direction of the positions."""
        return key_of(self.plan)

    @property
    def ladder(self) -> Ladder:
        """The ladder of the one block."""
        return self.plan.blocks[0].ladder

    @property
    def columns(self) -> Columns:
        """The columns of the one block."""
        return self.plan.blocks[0].columns

    @property
    def is_paired(self) -> bool:
        """Whether sine and cosine of a pair stand in two columns, so that a row shows its phases."""
        return self.plan.is_turned and self.plan.dim >= 2


def _counting(name: str) -> object:
    """Where positions begin and which way they run, for a name of one axis."""
    convention = conventions[name]
    return convention.position_offset, convention.position_scale, convention.position_sign


def key_of(plan: Plan) -> object:
    """What decides the values of a plan up to the start and the direction of its positions."""
    block, rule = plan.blocks[0], plan.convention
    # A multiple of the position shows; where positions begin and which way they run does not.
    ladder = replace(block.ladder, offset=Fraction(0), scale=abs(block.ladder.scale))
    return ladder, block.columns, block.by_column, plan.gain, rule.standardised_rows, plan.inputs


def _simplicity(plan: Plan) -> tuple[bool, ...]:
    rule = plan.convention
    ladder = plan.blocks[0].ladder
    return (rule.position_sign == "dropped", bool(rule.zero_rows), ladder.scale < 0, ladder.offset != 0)


@lru_cache(maxsize=128)
def candidates(dim: int) -> tuple[Candidate, ...]:
    """Every distinct named convention of one axis at this width, the paper's first.

    >>> [candidate.names[0] for candidate in candidates(64)][:3]
    ['transformer', 'tensor2tensor', 'marian']
    """
    groups: dict[object, list[tuple[str, Plan]]] = {}
    for name, convention in conventions.items():
        if systems[name].family == "rotary":
            # What turns queries and keys is no table.
            continue
        try:
            plan = convention.plan(dim)
        except ConventionError:
            continue
        if plan.axes == 1 and not plan.inputs:
            groups.setdefault(key_of(plan), []).append((name, plan))
    made = []
    for named in groups.values():
        ordered = sorted(named, key=lambda each: _simplicity(each[1]))
        made.append(Candidate(ordered[0][1], tuple(name for name, _ in ordered)))
    return tuple(made)
