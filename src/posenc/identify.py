"""What convention a table speaks, and how far it is from one."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .convention import Convention, conventions
from .encode import encode
from .errors import ConventionError
from .frequency import TURN, Ladder
from .trig.rounding import FORMATS

_TILE = 1024


def narrowest_dtype(table: Tensor) -> torch.dtype:
    """The dtype that a float table was rounded to: the narrowest one that holds every value of it.

    >>> narrowest_dtype(torch.tensor([0.5, 0.1]).bfloat16().double())
    torch.bfloat16
    """
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        if torch.equal(table.to(dtype).to(torch.float64), table.double()):
            return dtype
    return torch.float64


def frequencies(ladder: Ladder) -> Tensor:
    """The ladder in radians per position (pairs,), float64, as checkpoints hold it."""
    return torch.tensor([step * (2 * math.pi / TURN) for step in ladder.steps], dtype=torch.float64, device="cpu")


def phase_error(frequency: Tensor) -> Tensor:
    """Relative error (pairs,) that the phases of a float32 table may have: (4 + 2 |ln(first / frequency)|) 2^-24.

    Most systems take the exponential of k * -(ln(base) / span): that argument is rounded twice, and its absolute
    error is the relative error of the frequency. The exponential adds at most two units of 2^-24, the product
    with the position one, one is spare. The snippet that everybody copies comes to 2.4 * 2^-22 at dim 512.
    """
    return (4 + 2 * (frequency[0] / frequency).abs().log().abs()) * 2.0**-24


def misfit(table: Tensor, convention: Convention, start: int = 0, *, stop: float = math.inf) -> tuple[float, float]:
    """How far a table (length, dim) is from a convention whose rows begin at position `start`.

    Returns the largest error, and the largest ratio of an error to what is allowed: |phase in radians| times
    `phase_error` plus one unit in the last place of the dtype. A ratio of at most 1 is the table of this convention.
    Ends early where that ratio passes `stop`. Raises `ConventionError` where the convention does not have this
    width.
    """
    length, dim = table.shape
    ladder, columns = convention.ladder(dim), convention.columns(dim)
    frequency = frequencies(ladder).abs()
    per_position = frequency * phase_error(frequency)
    unit = 2.0 ** -FORMATS[narrowest_dtype(table)][0]
    error = ratio = 0.0
    for begin in range(0, length, _TILE):
        if ratio > stop:
            break
        part = table[begin : begin + _TILE].double()
        positions = torch.arange(start + begin, start + begin + len(part), dtype=torch.int64, device="cpu")
        away = (part - encode(positions, dim, convention, dtype=torch.float64)).abs()
        if not bool(away.isfinite().all()):
            return math.inf, math.inf
        drift = (positions.double() + convention.position_offset).abs().unsqueeze(-1) * per_position
        error = max(error, away.max().item())
        for span in (columns.sines, columns.cosines, columns.spare):
            there = away[:, span]
            if there.numel():
                allowed = unit if span == columns.spare else drift[:, : there.shape[1]] + unit
                ratio = max(ratio, (there / allowed).max().item())
    return error, ratio


def names_of(table: Tensor) -> tuple[str, ...]:
    """The named conventions whose first rows a table (length, dim) is, in the order of `conventions`.

    >>> names_of(encode(range(8), 16, "openai-whisper"))
    ('tensor2tensor', 'openai-whisper')
    """
    found = []
    for name, convention in conventions.items():
        try:
            if misfit(table, convention, stop=1)[1] <= 1:
                found.append(name)
        except ConventionError:
            continue
    return tuple(found)
