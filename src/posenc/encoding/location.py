"""Positions read back from their encodings."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..convention import Block, Convention
from ..errors import ConventionError, InputError, refuse
from ..frequency import TURN, Ladder
from ..layout import Columns, join, members
from ..phase import HIGH_BITS, LOW_BITS, phase_of, step_limbs
from ..trig.render import render
from ..trig.rounding import FORMATS, round_once
from .algebra import _check_rows, turned
from .arguments import check_int

# Values at once: the float64 temporaries of a tile stay in cache.
_VALUES = 1 << 17


def _limit(slowest: float, limit: int | None) -> int:
    most = max(1, math.floor(min(slowest, 2.0**62)))
    if limit is None:
        return most
    limit = check_int(limit, "limit", 1, (1 << 63) - 1, "pass the number of positions to search")
    if limit > most:
        refuse(
            f"limit={limit}",
            f"at most {most}, where the slowest pair has made one turn and positions begin to look alike",
            "pass a smaller limit, or use a larger base",
        )
    return limit


def locate(encoding: Tensor, convention: str | Convention = "transformer", *, limit: int | None = None) -> Tensor:
    """Rows (..., dim) -> the positions (...) in [0, limit) that they encode, int64; (..., axes) for several axes.

    The slowest pair says roughly where, each faster one says it more exactly. Law: locate(encode(p)) == p in
    float32 up to any limit, and in 16 bits for ladders whose neighbouring wavelengths differ by at most 16 times.

    Args:
        encoding: rows as `encode` gives them.
        limit: positions to tell apart; at most, and by default, the slowest wavelength.

    Raises:
        InputError: where a row is further from every encoding than the rounding of its dtype explains, or is the
            encoding of neighbouring positions alike.

    >>> from posenc.encoding import encode
    >>> locate(encode([3, 41], 16))
    tensor([ 3, 41])
    """
    _check_rows(encoding)
    plan = turned(convention, encoding.shape[-1], "locate").plan
    if any(block.axis is None for block in plan.blocks):
        refuse(
            f"convention {plan.convention.label}, which adds the angles of its axes",
            "axes with columns of their own",
            "compare with encodings of the positions in question",
            error=ConventionError,
        )
    if encoding.is_meta:
        refuse("encoding on meta, which has no values", "rows of numbers", "pass real ones")
    rows = encoding.detach().cpu().reshape(-1, plan.dim)
    if not bool(rows.isfinite().all()):
        refuse("rows with NaN or infinite values", "encodings", "drop those rows first")
    found = [torch.empty(0)] * plan.axes
    for block in plan.blocks:
        found[block.axis or 0] = _along(rows, block, limit, plan.gain)
    places = found[0] if plan.axes == 1 else torch.stack(found, -1)
    return places.reshape((*encoding.shape[:-1], *places.shape[1:])).to(encoding.device)


def _waves(ladder: Ladder) -> tuple[Tensor, Tensor, Tensor]:
    """Turns per position of the pairs, their wavelengths from the slowest on, and in which order these are."""
    turns = torch.tensor([step / TURN for step in ladder.steps], dtype=torch.float64, device="cpu")
    return turns, *(1 / turns.abs()).sort(descending=True)


def _along(rows: Tensor, block: Block, limit: int | None, gain: float) -> Tensor:
    """Positions (n,) along the axis of one block of rows (n, dim)."""
    ladder = block.ladder
    if 0 in ladder.steps:
        refuse("a frequency of zero", "pairs that all turn", "pass another convention", error=ConventionError)
    _, wave, _ = _waves(ladder)
    limit = _limit(wave[0].item(), limit)
    parts = [_searched(part, block, limit, gain) for part in rows.split(max(1, _VALUES // rows.shape[-1]))]
    chosen, worst, alike = map(torch.cat, zip(*parts, strict=True))
    # One unit in the last place just below the gain: half for the row that came, half for ours.
    allowed = 2.0 ** (math.ceil(math.log2(abs(gain))) - FORMATS[rows.dtype][0])
    if worst.numel() and worst.max().item() > allowed:
        refuse(
            f"row {int(worst.argmax())}, whose nearest encoding in [0, {limit}) is {worst.max().item():.3g} away",
            f"rows within {allowed:.3g} of an encoding, the rounding of {rows.dtype}",
            "pass rows as encode makes them, with their convention and limit",
            error=InputError,
        )
    if bool(alike.any()):
        refuse(
            f"row {int(alike.nonzero()[0])}, which is the encoding of neighbouring positions alike",
            "rows that differ from position to position",
            "pass them in a wider dtype, or use a faster ladder",
        )
    return chosen


def _searched(rows: Tensor, block: Block, limit: int, gain: float) -> tuple[Tensor, Tensor, Tensor]:
    """Of rows (n, dim) the nearest positions, how far these are away, and whether neighbours are no further (n,)."""
    ladder, dtype = block.ladder, rows.dtype
    turns, wave, order = _waves(ladder)
    sine, cosine = members(rows.double(), block.columns)
    columns = Columns(2 * ladder.pairs, ladder.pairs, "interleaved", "sine-first")
    rows = join(sine, cosine, columns)
    measured = torch.atan2(sine / gain, cosine / gain).unsqueeze(1) / (2 * math.pi)
    # From position 0 onwards; next to a full turn of the slowest pair it may be one turn more or less.
    phase = ahead(measured, torch.zeros(len(rows), 1, dtype=torch.int64, device="cpu"), ladder) * turns.sign()
    more = torch.tensor([0.0, -1.0, 1.0], dtype=torch.float64, device="cpu")
    guess = (phase[..., order[0]] % 1.0 + more) * wave[0]
    found = _clamped(refined(guess, phase, wave, order), 0, limit)
    # Float64 cannot count beyond 2^53: what the exact phase of the guess leaves is asked once more.
    left = ahead(measured, found, ladder) * turns.sign()
    step = _clamped(refined(torch.zeros_like(guess), left, wave, order), -(1 << 62), 1 << 62)
    found = found + step.clamp(min=-found, max=limit - 1 - found)
    away = _distance(rows, found, ladder, columns, dtype, gain)
    worst, best = away.min(-1)
    chosen = found.gather(-1, best.unsqueeze(-1))
    beside = (chosen + torch.tensor([-1, 1], device="cpu")).clamp(0, limit - 1)
    alike = (_distance(rows, beside, ladder, columns, dtype, gain) <= worst.unsqueeze(-1)) & (beside != chosen)
    return chosen.squeeze(-1), worst, alike.any(-1)


def ahead(measured: Tensor, positions: Tensor, ladder: Ladder, pairs: int | None = None) -> Tensor:
    """What measured turns (n, 1, pairs) are ahead of positions (n, m), in turns, (n, m, pairs), [-1/2, 1/2]."""
    there = phase_of(positions.unsqueeze(-1), step_limbs(ladder)[:, :, :pairs])
    turn = (there.high.double() + there.middle.double() * 2.0**-LOW_BITS) * 2.0**-HIGH_BITS
    rest = measured - turn
    return rest - rest.round()


def refined(guess: Tensor, phase: Tensor, wave: Tensor, order: Tensor) -> Tensor:
    """Guesses (n, m), pair by pair brought to the nearest place of that phase (n, m, pairs), slow pairs first."""
    for k in range(len(wave)):
        here = phase[..., order[k]] * wave[k]
        guess = here + ((guess - here) / wave[k]).round() * wave[k]
    return guess


def _clamped(guess: Tensor, low: int, high: int) -> Tensor:
    """Guesses as int64 in [low, high), high at most 2^63 - 1."""
    # The largest float64 that int64 holds; what it cannot say exactly the integers clamp.
    return guess.round().clamp(low, 2.0**63 - 1024).to(torch.int64).clamp(max=high - 1)


def _distance(
    rows: Tensor, positions: Tensor, ladder: Ladder, columns: Columns, dtype: torch.dtype, gain: float
) -> Tensor:
    """Largest difference (n, m) of rows (n, dim) to the encodings of positions (n, m) in dtype, times a gain."""
    made = torch.empty(positions.numel(), columns.dim, dtype=dtype if gain == 1 else torch.float64, device="cpu")
    render(made, positions.reshape(-1), ladder, columns)
    if gain != 1:
        made = round_once(made * gain, dtype)
    return (made.view(*positions.shape, columns.dim).double() - rows.unsqueeze(1)).abs().amax(-1)
