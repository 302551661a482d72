"""Rotary embeddings written out from the paper, in arbitrary precision and in float64: the judge of the tests."""

from collections.abc import Sequence

import torch
from tests.judge import MP, real, unit
from torch import Tensor

# The rounding of cosine and sine, of two products, and of their sum, in float32.
UNIT = 2.0**-24
# Where products fall below the normal numbers of float32, they are off by half of the smallest one.
LEAST = 2.0**-149


def places(width: int, layout: str) -> list[tuple[int, int]]:
    """The columns of the two members of every pair."""
    pairs = range(width // 2)
    return [(2 * k, 2 * k + 1) if layout == "interleaved" else (k, k + width // 2) for k in pairs]


def frequencies(width: int, base: float = 10000) -> list:
    """Radians per position, one a pair."""
    return [real(base) ** (-real(2 * k) / width) for k in range(width // 2)]


def judged(x: Tensor, positions: Sequence, waves: Sequence, layout: str, gain: float = 1) -> list[list[tuple]]:
    """Rows x (n, dim) turned: for each value (true value, |cosine product|, |sine product|)."""
    found = []
    for row, position in zip(x.tolist(), positions, strict=True):
        values = [(real(value), MP.mpf(0), MP.mpf(0)) for value in row]
        for (i, j), wave in zip(places(2 * len(waves), layout), waves, strict=True):
            angle = real(position) * wave
            c, s, a, b = MP.cos(angle) * gain, MP.sin(angle) * gain, real(row[i]), real(row[j])
            values[i] = (a * c - b * s, abs(a * c), abs(b * s))
            values[j] = (b * c + a * s, abs(b * c), abs(a * s))
        found.append(values)
    return found


def largest_ratio(made: Tensor, true: list[list[tuple]]) -> float:
    """The largest error of made (n, dim), in parts of the bound."""
    worst = 0.0
    for row, values in zip(made.tolist(), true, strict=True):
        for got, (value, c, s) in zip(row, values, strict=True):
            bound = UNIT * (2 * c + 2 * s + abs(value)) + 2 * LEAST
            if made.dtype in (torch.float16, torch.bfloat16):
                bound += unit(value, made.dtype) / 2
            worst = max(worst, float(abs(real(got) - value) / bound))
    return worst


def by_hand(
    x: Tensor, positions: Tensor, layout: str = "halves", base: float = 10000, width: int | None = None
) -> Tensor:
    """x (..., S, dim) turned in float64, positions (S,) or of a shape that broadcasts against x (..., S)."""
    width = x.shape[-1] if width is None else width
    wave = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = positions.double().unsqueeze(-1) * wave
    y = x.double().clone()
    first, second = zip(*places(width, layout), strict=True)
    a, b = x.double()[..., list(first)], x.double()[..., list(second)]
    y[..., list(first)] = a * angle.cos() - b * angle.sin()
    y[..., list(second)] = b * angle.cos() + a * angle.sin()
    return y
