"""How far a table may be from the convention it speaks: what float32 arithmetic and rounding explain."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..convention import Convention, Plan
from ..encoding.released import coordinate
from ..encoding.values import rows_of
from ..frequency import Ladder
from ..trig.rounding import FORMATS

TILE = 1024
NARROW = (torch.bfloat16, torch.float16)


def narrowest_dtype(table: Tensor) -> torch.dtype:
    """The dtype that a float table was rounded to: the narrowest one that holds every value of it.

    >>> narrowest_dtype(torch.tensor([0.5, 0.1]).bfloat16().double())
    torch.bfloat16
    """
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        if torch.equal(table.to(dtype).to(torch.float64), table.double()):
            return dtype
    return torch.float64


def unit_of(dtype: torch.dtype) -> float:
    """One unit in the last place of a dtype, just below 1."""
    return 2.0 ** -FORMATS[dtype][0]


def scaled_unit(unit: float, gain: float) -> float:
    """One unit in the last place of values up to the gain, which is rounded itself, as is its product."""
    return unit if gain == 1 else 2 * abs(gain) * unit


def frequencies(ladder: Ladder) -> Tensor:
    """The ladder in radians per position (pairs,), as checkpoints hold it: float64, to a few of its last bits."""
    scale = float(ladder.scale)
    if ladder.given:
        values = torch.tensor([float(w) * scale for w in ladder.given], dtype=torch.float64, device="cpu")
    else:
        k = torch.arange(ladder.pairs, dtype=torch.float64, device="cpu")
        values = (k * (-math.log(ladder.base) / float(ladder.span))).exp() * (float(ladder.first) * scale)
    if ladder.stretch:
        values = values * torch.tensor([float(factor) for factor in ladder.stretch], dtype=torch.float64, device="cpu")
    return values


def phase_error(frequency: Tensor) -> Tensor:
    """Relative error (pairs,) that the phases of a float32 table may have: (4 + 2 |ln(first / frequency)|) 2^-24.

    Most systems take the exponential of k * -(ln(base) / span): that argument is rounded twice, and its absolute
    error is the relative error of the frequency. The exponential adds at most two units of 2^-24, the product
    with the position one, one is spare. The snippet that everybody copies comes to 2.4 * 2^-22 at dim 512.
    """
    sizes = frequency.abs().clamp(min=2.0**-1000)
    return (4 + 2 * (sizes.max() / sizes).log().abs()) * 2.0**-24


def allowed(plan: Plan, positions: Tensor, unit: float) -> Tensor:
    """What rows of positions (n,) or (n, axes) may be off by (n, dim), whatever recipe made them.

    |phase in radians| times `phase_error`, and `unit`, one unit in the last place of their dtype, both times the gain.
    """
    out = torch.full((len(positions), plan.width), scaled_unit(unit, plan.gain), dtype=torch.float64, device="cpu")
    for block in plan.blocks:
        for entry, ladder in enumerate(block.ladders):
            frequency = frequencies(ladder).abs()
            places = coordinate(positions, plan, entry if block.axis is None else block.axis).double()
            reach = (places + float(ladder.offset)).abs().unsqueeze(-1) * (frequency * phase_error(frequency))
            for member, where in enumerate((block.columns.sines, block.columns.cosines)):
                part = reach[:, member::2] if block.by_column else reach
                into = out[:, where]
                into.add_(part[:, : into.shape[1]] * abs(plan.gain))
    return out[:, : plan.dim]


@dataclass(frozen=True)
class Distance:
    """How far rows are from a convention: the largest error, its ratio to what is allowed, sums of squares."""

    error: float
    ratio: float
    squares: float
    size: float

    @property
    def relative(self) -> float:
        """The error of the root mean square, in those of the rows."""
        return math.sqrt(self.squares / self.size) if self.size else math.inf


def distance(table: Tensor, plan: Plan, positions: Tensor, unit: float, *, stop: float = math.inf) -> Distance:
    """Rows (n, dim) against a convention at positions (n,) or (n, axes), ended where the ratio passes `stop`."""
    error = ratio = squares = size = 0.0
    for begin in range(0, len(table), TILE):
        part, places = table[begin : begin + TILE].double(), positions[begin : begin + TILE]
        away = (part - rows_of(places, plan, torch.float64)).abs()
        if not bool(away.isfinite().all()):
            return Distance(math.inf, math.inf, math.inf, 1.0)
        error = max(error, away.max().item())
        ratio = max(ratio, (away / allowed(plan, places, unit)).max().item())
        squares += away.square().sum().item()
        size += part.square().sum().item()
        if ratio > stop:
            break
    return Distance(error, ratio, squares, size)


def misfit(table: Tensor, convention: Convention, start: int = 0, *, stop: float = math.inf) -> tuple[float, float]:
    """How far a table (length, dim) is from a convention whose rows begin at position `start`.

    Returns the largest error, and the largest ratio of an error to what is allowed. A ratio of at most 1 is the
    table of this convention. Ends early where that ratio passes `stop`. Raises `ConventionError` where the
    convention does not have this width.
    """
    plan = convention.plan(table.shape[1])
    positions = torch.arange(start, start + len(table), dtype=torch.int64, device="cpu")
    found = distance(table, plan, positions, unit_of(narrowest_dtype(table)), stop=stop)
    return found.error, found.ratio
