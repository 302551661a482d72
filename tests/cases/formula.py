"""The formulas of the papers in plain Python and float64: what cases are compared with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import torch

Layout = Literal["interleaved", "halves"]
# Half a unit in the last place below 1 is 2^-25; what Python's float64 is off by at large angles is far less.
FLOAT32 = 2.0**-24
# Two products of numbers below 2 and their sum, with a cosine and a sine, each rounded to float32.
FLOAT32_ROTATION = 2.0**-21


def frequencies(dim: int, base: float = 10000.0) -> list[float]:
    """base^(-2k/dim) for every pair, the single sine of an odd width too."""
    return [base ** (-2 * k / dim) for k in range((dim + 1) // 2)]


def row(position: float, dim: int, base: float = 10000.0, layout: Layout = "interleaved") -> list[float]:
    """The encoding of one position."""
    angles = [position * frequency for frequency in frequencies(dim, base)]
    sines, cosines = [math.sin(a) for a in angles], [math.cos(a) for a in angles[: dim // 2]]
    if layout == "halves":
        return sines + cosines
    return [value for pair in zip(sines, [*cosines, 0.0], strict=False) for value in pair][:dim]


def rows(positions: Iterable[float], dim: int, base: float = 10000.0, layout: Layout = "interleaved") -> torch.Tensor:
    """The encodings of many positions, float64 (n, dim)."""
    return torch.tensor([row(p, dim, base, layout) for p in positions], dtype=torch.float64)


def turned(vector: Sequence[float], position: float, base: float = 10000.0, layout: Layout = "halves") -> list[float]:
    """One head, turned by its position, pair by pair."""
    dim, made = len(vector), list(vector)
    for k, frequency in enumerate(frequencies(dim, base)):
        i, j = (2 * k, 2 * k + 1) if layout == "interleaved" else (k, k + dim // 2)
        cosine, sine = math.cos(position * frequency), math.sin(position * frequency)
        made[i] = vector[i] * cosine - vector[j] * sine
        made[j] = vector[j] * cosine + vector[i] * sine
    return made


def off(got: torch.Tensor, wanted: torch.Tensor | Sequence) -> float:
    """The largest difference; shapes must agree."""
    wanted = torch.as_tensor(wanted, dtype=torch.float64)
    assert got.shape == wanted.shape, (got.shape, wanted.shape)
    return (got.detach().double() - wanted).abs().max().item()
