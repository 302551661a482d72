"""What follows from phases without any table: shifts, rotation matrices, similarity, wavelengths."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..arguments.memory import made
from ..arguments.numbers import LARGEST
from ..arguments.tensors import check_dense
from ..convention import Block, Convention, Plan, check_dim, resolve
from ..errors import ConventionError, DtypeError, InputError, refuse
from ..frequency import TURN
from ..layout import members
from ..phase import PLACES, Phase, Steps, add, phase_of
from ..trig.quarter import cos_sin
from ..trig.rounding import FORMATS, round_once
from .arguments import PositionsLike, as_positions, check_dtype, is_readable, with_float64
from .prepared import Prepared, prepared
from .released import coordinate
from .rotation import width_of

# Values at once: the float64 temporaries of a tile stay in cache.
_VALUES = 1 << 17


def turned(convention: str | Convention, dim: int, what: str) -> Prepared:
    """A convention at a width, refused where a shift of the position is no turn of its pairs."""
    ready = prepared(convention, dim)
    plan = ready.plan
    if not plan.is_turned:
        refuse(
            f"convention {plan.convention.label}",
            f"one whose rows turn with the position: {what} turns pairs, and this one changes rows beyond that",
            "use encode at the new positions",
            error=ConventionError,
        )
    if 2 * sum(block.columns.pairs for block in plan.blocks) != plan.dim:
        unit = 2 * len(plan.blocks)
        refuse(
            f"dim={plan.dim}",
            f"an even width: {what} turns pairs, and the last sine of an odd width has no cosine"
            if unit == 2
            else f"a multiple of {unit}: {what} turns pairs, and the last columns are cut or zero here",
            f"pass dim={plan.dim + unit - plan.dim % unit}",
            error=ConventionError,
        )
    return ready


def turn(offset: Tensor, plan: Plan, block: Block, steps: tuple[Steps, ...]) -> tuple[Tensor, Tensor]:
    """Cosine and sine (..., pairs) of the turn of one block between p and p + offset, float64, on its device.

    offset: (...) for one axis, else (..., axes).
    """
    total: Phase | None = None
    for number, whole in enumerate(steps):
        axis = number if block.axis is None else block.axis
        # A difference of positions knows nothing of where positions start.
        none = torch.zeros((), dtype=torch.int64, device=offset.device)
        places = whole[: 2 * PLACES]
        if offset.device.type != "cpu":
            places = tuple(tuple(limb.to(offset.device) for limb in row) for row in places)
        phase = phase_of(coordinate(offset, plan, axis).unsqueeze(-1), (*places, (none, none, none)))
        total = phase if total is None else add(total, phase)
    return cos_sin(phase if total is None else total)


def _offsets(offset: PositionsLike, plan: Plan) -> tuple[Tensor, tuple[int, ...]]:
    """Offsets as a tensor, and their leading shape: they hold one number an axis where there are several."""
    places = as_positions(offset, "offset")
    if plan.axes == 1:
        return places, tuple(places.shape)
    if places.ndim == 0 or places.shape[-1] != plan.axes:
        refuse(
            f"offset of shape {tuple(places.shape)}",
            f"(..., {plan.axes}), one number for each axis of convention {plan.convention.label}",
            "pass a list of that many numbers",
        )
    return places, tuple(places.shape[:-1])


def shift(encoding: Tensor, offset: PositionsLike, convention: str | Convention = "transformer") -> Tensor:
    """Rows of PE(p) (..., dim) -> rows of PE(p + offset) (..., dim), in O(dim), p unknown.

    Turned in float64 and rounded once to the dtype that came. `offset` is a number, or a tensor that broadcasts
    against the leading axes; with several axes it holds one number for each in its last axis.
    Law: shift(encode(p), k) == encode(p + k) to rounding of the rows that were given.
    Odd widths are refused: the last sine has no cosine to turn with.

    >>> from posenc.encoding import encode
    >>> torch.allclose(shift(encode(5, 8), -3), encode(2, 8))
    True
    """
    _check_rows(encoding)
    ready = turned(convention, encoding.shape[-1], "shift")
    places, leading = _offsets(offset, ready.plan)
    if isinstance(offset, Tensor) and offset.ndim and offset.device != encoding.device:
        refuse(f"offset on {offset.device} and encoding on {encoding.device}", "one device", "move one of them")
    rows = with_float64(encoding)
    try:
        torch.broadcast_shapes(leading, encoding.shape[:-1])
    except RuntimeError:
        refuse(
            f"offset of shape {leading} for rows of shape {tuple(encoding.shape)}",
            "a shape that broadcasts against the leading axes",
            "pass one offset, or one for each row",
        )
    rows = rows.double()
    shape = torch.broadcast_shapes(leading, encoding.shape[:-1])
    out: Tensor | None = None
    for block, steps in zip(ready.plan.blocks, ready.steps, strict=True):
        cosine, sine = (part.to(rows.device) for part in turn(places, ready.plan, block, steps))
        s, c = members(rows, block.columns)
        sines, cosines = s * cosine + c * sine, c * cosine - s * sine
        if out is None:
            # Of the values' own kind, so that under vmap it is batched as they are.
            out = sines.new_zeros((*shape, ready.plan.dim))
        for where, values in ((block.columns.sines, sines), (block.columns.cosines, cosines)):
            into = out[..., where]
            into.copy_(values)
    return round_once(rows if out is None else out, encoding.dtype).to(encoding.device)


def _check_rows(encoding: Any) -> None:
    if not isinstance(encoding, Tensor) or encoding.dtype not in FORMATS:
        kind = encoding.dtype if isinstance(encoding, Tensor) else type(encoding).__name__
        refuse(f"encoding of {kind}", "a float tensor", "pass rows as encode gives them", error=DtypeError)
    check_dense(encoding, "encoding")
    if encoding.ndim == 0 or encoding.shape[-1] == 0:
        refuse(
            f"encoding of shape {tuple(encoding.shape)}",
            "(..., dim)",
            "pass at least one row",
            error=InputError,
        )


def shift_matrix(
    offset: int | float,
    dim: int,
    convention: str | Convention = "transformer",
    *,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """M_k (dim, dim) with PE(p + k) == M_k @ PE(p), whatever p.

    Laws: orthogonal, determinant 1, M_(j+k) == M_j @ M_k, all to rounding. Odd widths are refused.

    >>> shift_matrix(1, 2)
    tensor([[ 0.5403,  0.8415],
            [-0.8415,  0.5403]], dtype=torch.float64)
    """
    ready = turned(convention, dim, "shift_matrix")
    plan = ready.plan
    dtype = check_dtype(dtype)
    places, leading = _offsets(offset, plan)
    if leading:
        refuse(f"offset of shape {leading}", "one number", "call once for each offset")
    index = torch.arange(plan.dim, device="cpu")
    whole = (plan.dim, plan.dim)
    matrix = made(
        lambda: torch.zeros(whole, dtype=torch.float64, device="cpu"),
        whole,
        torch.float64,
        places.device,
        "a matrix",
        "pass a smaller dim, or turn rows with posenc.shift",
    )
    for block, steps in zip(plan.blocks, ready.steps, strict=True):
        cosine, sine = (part.cpu() for part in turn(places, plan, block, steps))
        sines, cosines = members(index, block.columns)
        matrix[sines, sines] = cosine
        matrix[sines, cosines] = sine
        matrix[cosines, sines] = -sine
        matrix[cosines, cosines] = cosine
    return round_once(matrix, dtype)


def similarity(offset: PositionsLike, dim: int, convention: str | Convention = "transformer") -> Tensor:
    """PE(p) . PE(p + offset), whatever p: offsets (...) -> (...), float64.

    Law: the sum of cos(frequency * offset) over the pairs, times the square of a gain; dim / 2 at offset 0; the
    same for -offset. With several axes offsets are (..., axes). It does not
    fall monotonically: at dim 512 it first rises from offset 43 to 44. Odd widths are refused.

    >>> similarity([0, 1, -1], 4)
    tensor([2.0000, 1.5403, 1.5403], dtype=torch.float64)
    """
    ready = turned(convention, dim, "similarity")
    plan, gain = ready.plan, ready.plan.gain
    if abs(gain) > LARGEST**0.5:
        refuse(
            f"gain={gain:.6g}, which similarity squares",
            f"a gain of at most {LARGEST**0.5:.6g}",
            "compare rows without it",
            error=ConventionError,
        )
    places, leading = _offsets(offset, plan)
    if not is_readable(places):
        return _products(places, ready)
    flat = places.reshape(-1) if plan.axes == 1 else places.reshape(-1, plan.axes)
    # A tile at a time: cosines of all pairs would take a hundred times the memory of the result.
    return torch.cat([_products(part, ready) for part in flat.split(max(2, _VALUES // plan.dim))]).view(leading)


def _products(places: Tensor, ready: Prepared) -> Tensor:
    """Offsets (...) or (..., axes) -> products of rows that are so far apart (...), float64."""
    leading = places.shape if ready.plan.axes == 1 else places.shape[:-1]
    total = torch.zeros(leading, dtype=torch.float64, device=places.device)
    for block, steps in zip(ready.plan.blocks, ready.steps, strict=True):
        total = total + turn(places, ready.plan, block, steps)[0].sum(-1)
    return total * ready.plan.gain**2 if ready.plan.gain != 1 else total


def wavelengths(dim: int, convention: str | Convention = "transformer") -> Tensor:
    """Positions per full turn, for each pair -> (pairs,), float64; (axes, pairs) for a convention of several axes.

    For the paper from 2 pi to 2 pi * 10000^((dim - 2) / dim): the last one is below 10000 * 2 pi. For rotary, dim is
    the width of a head, and the pairs are those that turn.

    >>> wavelengths(4)
    tensor([  6.2832, 628.3185], dtype=torch.float64)
    """
    rule, dim = resolve(convention), check_dim(dim)
    plan = rule.plan(dim if rule.rotary_dim is None else width_of(rule, dim))
    ladders = [ladder for block in plan.blocks for ladder in block.ladders]
    if len({ladder.pairs for ladder in ladders}) > 1:
        refuse(
            f"convention {plan.convention.label}, whose axes have unlike numbers of pairs",
            "one number of pairs",
            "read the steps of plan(dim).blocks",
            error=ConventionError,
        )
    turns = [[TURN / step if step else math.inf for step in map(abs, ladder.steps)] for ladder in ladders]
    waves = torch.tensor(turns, dtype=torch.float64, device="cpu")
    return waves[0] if plan.axes == 1 else waves
