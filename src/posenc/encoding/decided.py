"""Waves times a gain, of positions without their sign or of several axes, each rounded once and correctly."""

from __future__ import annotations

from fractions import Fraction

import torch
from torch import Tensor

from ..convention import Block, Plan
from ..frequency import Ladder
from ..trig.exact import Factor, Term, nearest
from ..trig.quarter import RELATIVE_ERROR
from ..trig.render import are, drift_of
from ..trig.rounding import FORMATS, round_decided
from .released import coordinate

# Of a wave times a gain: the wave's own, two roundings of dim^-0.5, that of the product and that of an end.
_RELATIVE = RELATIVE_ERROR + 4 * 2.0**-53


def _factor(plan: Plan) -> Factor:
    """The gain, exactly: `plan.gain` is its nearest float."""
    gain = plan.convention.gain
    return Factor(1, Fraction(1, plan.dim)) if isinstance(gain, str) else Factor.of(gain)


def _places(positions: Tensor, plan: Plan, axis: int) -> Tensor:
    places = coordinate(positions, plan, axis)
    return places if plan.convention.position_sign == "kept" else places.abs()


def _axes(block: Block) -> list[tuple[int, Ladder]]:
    """The axes whose angles a block adds up, with their ladders."""
    return list(enumerate(block.ladders)) if block.axis is None else [(block.axis, block.ladder)]


def _drift(positions: Tensor, plan: Plan, block: Block) -> Tensor:
    """Error of the phases of a block (n,), in radians: none at the origin, where every angle is zero."""
    drift = torch.zeros(len(positions), dtype=torch.float64, device="cpu")
    origin = torch.ones(len(positions), dtype=torch.bool, device="cpu")
    for axis, ladder in _axes(block):
        places = _places(positions, plan, axis)
        drift += drift_of(places, ladder)
        origin &= are(places, -ladder.offset)
    return drift.masked_fill_(origin, 0)


def _moving(block: Block) -> Tensor:
    """1 for each frequency that turns, 0 for what is zero exactly and has no error, float64."""
    ladders = block.ladders
    still = [all(ladder.is_still(pair) for ladder in ladders) for pair in range(ladders[0].pairs)]
    return 1 - torch.tensor(still, dtype=torch.float64, device="cpu")


def decided_waves(out: Tensor, waves: tuple[Tensor, Tensor], positions: Tensor, plan: Plan, block: Block) -> None:
    """Write sines and cosines (n, pairs) of a block, float64 from `waves`, into their columns of out (n, width)."""
    step = 2 if block.by_column else 1
    drift, moving = _drift(positions, plan, block).unsqueeze(-1), _moving(block)
    for member, (wave, columns) in enumerate(zip(waves, (block.columns.sines, block.columns.cosines), strict=True)):
        into = out[:, columns]
        values = wave[:, : into.shape[1]]
        if plan.gain != 1:
            values = values * plan.gain
        if out.dtype == torch.float64:
            into.copy_(values)
            continue
        # With a frequency for every column, sines have the even ones and cosines the odd ones.
        numbers = range(block.ladder.pairs)[member * block.by_column :: step][: into.shape[1]]
        error = drift * (moving[numbers] * abs(plan.gain))
        decide = _Decide(positions, plan, block, member, numbers, out.dtype)
        into.copy_(round_decided(values, values.abs().mul_(_RELATIVE).add_(error), out.dtype, decide))


class _Decide:
    """Values of one member, decided in integers, each but once."""

    def __init__(
        self, positions: Tensor, plan: Plan, block: Block, member: int, numbers: range, dtype: torch.dtype
    ) -> None:
        self.member, self.numbers, self.format = ("sine", "cosine")[member], numbers, FORMATS[dtype]
        self.factor, self.known = _factor(plan), dict[tuple[Term, ...], float]()
        self.axes = [(_places(positions, plan, axis), ladder) for axis, ladder in _axes(block)]

    def __call__(self, row: int, column: int) -> float:
        number = self.numbers[column]
        terms = tuple(Term(Fraction(places[row].item()), ladder, number) for places, ladder in self.axes)
        if terms not in self.known:
            self.known[terms] = nearest(terms, self.member, *self.format, self.factor)
        return self.known[terms]
