"""Positions read back from their encodings."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..convention import Convention
from ..errors import ConventionError, InputError, refuse
from ..frequency import TURN
from ..layout import members
from ..trig.rounding import FORMATS
from .algebra import _check_rows, paired
from .arguments import check_int
from .values import rows_of


def _limit(slowest: float, limit: int | None) -> int:
    most = max(1, math.floor(slowest))
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
    """Rows (..., dim) -> the positions (...) in [0, limit) that they encode, int64.

    The slowest pair says roughly where, each faster one says it more exactly. Law: locate(encode(p)) == p in
    float32 up to any limit, and in 16 bits for ladders whose neighbouring wavelengths differ by at most 16 times.

    Args:
        encoding: rows as `encode` gives them.
        limit: positions to tell apart; at most, and by default, the slowest wavelength.

    Raises:
        InputError: where a row is further from every encoding than the rounding of its dtype explains.

    >>> from posenc.encode import encode
    >>> locate(encode([3, 41], 16))
    tensor([ 3, 41])
    """
    _check_rows(encoding)
    convention, columns = paired(convention, encoding.shape[-1], "locate")
    ladder = convention.ladder(columns.dim)
    if 0 in ladder.steps:
        refuse("a frequency of zero", "pairs that all turn", "pass another convention", error=ConventionError)
    turns = torch.tensor([step / TURN for step in ladder.steps], dtype=torch.float64)
    starts = torch.tensor([start / TURN for start in ladder.starts], dtype=torch.float64)
    wave, order = (1 / turns.abs()).sort(descending=True)
    limit = _limit(wave[0].item(), limit)
    rows = encoding.detach().cpu().double().reshape(-1, columns.dim)
    if not bool(rows.isfinite().all()):
        refuse("rows with NaN or infinite values", "encodings", "drop those rows first")
    sine, cosine = members(rows, columns)
    phase = (torch.atan2(sine, cosine) / (2 * math.pi) - starts) * turns.sign()
    # Near zero the slowest pair may say "one turn later": follow both.
    guess = (phase[:, order[:1]] % 1.0) * wave[0] - torch.tensor([0.0, 1.0], dtype=torch.float64) * wave[0]
    for k in range(1, len(wave)):
        here = phase[:, order[k : k + 1]] * wave[k]
        guess = here + ((guess - here) / wave[k]).round() * wave[k]
    found = guess.round().clamp(0, limit - 1).to(torch.int64)
    away = (rows_of(found, ladder, columns, encoding.dtype).double() - rows.unsqueeze(1)).abs().amax(-1)
    best = away.argmin(-1, keepdim=True)
    # One unit in the last place just below 1: half for the row that came, half for ours.
    allowed = 2.0 ** -FORMATS[encoding.dtype][0]
    worst = away.gather(-1, best).flatten()
    if worst.numel() and worst.max().item() > allowed:
        refuse(
            f"row {int(worst.argmax())}, whose nearest encoding in [0, {limit}) is {worst.max().item():.3g} away",
            f"rows within {allowed:.3g} of an encoding, the rounding of {encoding.dtype}",
            "pass the convention and the limit that made these rows",
            error=InputError,
        )
    return found.gather(-1, best).reshape(encoding.shape[:-1]).to(encoding.device)
