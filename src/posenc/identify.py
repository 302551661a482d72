"""Which convention does this table speak?"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .convention import Convention, conventions
from .encode import encode
from .errors import ConventionError
from .frequency import TURN
from .trig.rounding import FORMATS

# A float32 phase is a product of two rounded factors and rounds again: with the logarithm and the exponential
# that most systems take, its relative error stays below four units of 2^-24.
PHASE_ERROR = 2.0**-22
_TILE = 4096


def narrowest_dtype(table: Tensor) -> torch.dtype:
    """The dtype that a float table was rounded to: the narrowest one that holds every value of it.

    >>> narrowest_dtype(torch.tensor([0.5, 0.1]).bfloat16().double())
    torch.bfloat16
    """
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        if torch.equal(table.to(dtype).to(torch.float64), table.double()):
            return dtype
    return torch.float64


def misfit(table: Tensor, convention: Convention, start: int = 0) -> tuple[float, float]:
    """How far a table (length, dim) is from a convention whose rows begin at position `start`.

    Returns the largest error, and the largest ratio of an error to what is allowed: |phase in radians| * 2^-22
    plus one unit in the last place of the dtype. A ratio of at most 1 is the table of this convention.
    Raises `ConventionError` where the convention does not have this width.
    """
    length, dim = table.shape
    ladder, columns = convention.ladder(dim), convention.columns(dim)
    frequency = torch.tensor([step * (2 * math.pi / TURN) for step in ladder.steps], dtype=torch.float64).abs()
    unit = 2.0 ** -FORMATS[narrowest_dtype(table)][0]
    error = ratio = 0.0
    for begin in range(0, length, _TILE):
        part = table[begin : begin + _TILE].double()
        positions = torch.arange(start + begin, start + begin + len(part), dtype=torch.int64, device="cpu")
        away = (part - encode(positions, dim, convention, dtype=torch.float64)).abs()
        if not bool(away.isfinite().all()):
            return math.inf, math.inf
        phase = (positions.double() + convention.position_offset).abs().unsqueeze(-1) * frequency
        error = max(error, away.max().item())
        for span in (columns.sines, columns.cosines, columns.spare):
            there = away[:, span]
            if there.numel():
                allowed = unit if span == columns.spare else phase[:, : there.shape[1]] * PHASE_ERROR + unit
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
            if misfit(table, convention)[1] <= 1:
                found.append(name)
        except ConventionError:
            continue
    return tuple(found)
