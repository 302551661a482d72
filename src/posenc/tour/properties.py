"""Measures what makes the sinusoidal encoding useful, on as many positions as a text has words."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..encoding import encode, shift_matrix, similarity, table, wavelengths

BLOCK = 256  # rows at a time, so that memory stays small
HAIR = 1e-9  # relative; rounding in float64 is a millionth of it
DISTANCES = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)


def clocks(length: int, dim: int) -> dict[str, Any]:
    """The wavelengths, in positions a turn, against the formula and against the text's length."""
    turns = wavelengths(dim).double()
    return {
        "words": length,
        "dim": dim,
        "pairs": dim // 2,
        "first": turns[0].item(),
        "last": turns[-1].item(),
        "formula_first": 2 * math.pi,
        "formula_last": 2 * math.pi * 10000 ** ((dim - 2) / dim),
        "longer_than_text": int((turns > length).sum()),
        "all": turns.tolist(),
    }


def uniqueness(rows: Tensor) -> dict[str, Any]:
    """The two rows (of at least two) that lie closest: their distance and their positions."""
    nearest, pair = math.inf, (0, 0)
    for start in range(0, len(rows), BLOCK):
        # Differences, not the product of norms, which loses half the digits near zero.
        apart = torch.cdist(rows[start : start + BLOCK], rows, compute_mode="donot_use_mm_for_euclid_dist")
        index = torch.arange(len(apart))
        apart[index, index + start] = math.inf
        smallest = apart.min().item()
        # Many pairs are equally close but for rounding: the first of them is named.
        if smallest < nearest * (1 - HAIR):
            nearest = smallest
            place = int((apart <= smallest * (1 + HAIR)).flatten().nonzero()[0])
            pair = (start + place // len(rows), place % len(rows))
    return {
        "pairs_compared": len(rows) * (len(rows) - 1) // 2,
        "smallest_distance": nearest,
        "positions": sorted(pair),
    }


def size(rows: Tensor) -> dict[str, Any]:
    """The range of the values, and the norms of the rows against sqrt(dim / 2)."""
    norms = rows.norm(dim=1)
    return {
        "dim": rows.shape[1],
        "smallest_value": rows.min().item(),
        "largest_value": rows.max().item(),
        "smallest_norm": norms.min().item(),
        "largest_norm": norms.max().item(),
        "formula_norm": math.sqrt(rows.shape[1] / 2),
    }


def rotation(rows: Tensor) -> dict[str, Any]:
    """How well M_k, made from the offset k alone, takes every row to the row k later."""
    length, dim = rows.shape
    identity = torch.eye(dim, dtype=torch.float64)
    offsets = []
    for offset in sorted({1, max(1, length // 10), max(1, length // 2)}):
        matrix = shift_matrix(offset, dim)
        offsets.append(
            {
                "offset": offset,
                "rows": length - offset,
                "residual": (rows[:-offset] @ matrix.T - rows[offset:]).abs().max().item(),
                "orthogonality": (matrix.T @ matrix - identity).abs().max().item(),
            }
        )
    one = shift_matrix(1, dim)
    return {"offsets": offsets, "first_block_of_M_1": one[:2, :2].tolist()}


def likeness(rows: Tensor) -> dict[str, Any]:
    """PE(p)·PE(p + k) for some distances k, over every p of the text, and where it first rises."""
    length, dim = rows.shape
    products = rows @ rows.T
    mean, spread = [], []
    for distance in range(length):
        diagonal = products.diagonal(distance)
        mean.append(diagonal.mean().item())
        spread.append((diagonal.max() - diagonal.min()).item())
    law = similarity(torch.arange(length), dim).double()
    rises = [k for k in range(length - 1) if mean[k + 1] > mean[k]]
    return {
        "distances": [{"distance": k, "similarity": mean[k], "spread": spread[k]} for k in DISTANCES if k < length],
        "largest_spread": max(spread),
        "error_against_law": (torch.tensor(mean, dtype=torch.float64) - law).abs().max().item(),
        "first_rise": rises[0] + 1 if rises else None,
        "before_first_rise": mean[rises[0]] if rises else None,
        "at_first_rise": mean[rises[0] + 1] if rises else None,
    }


def rows_of(length: int, dim: int) -> Tensor:
    """The rows that are measured: (length, dim), float64."""
    return table(length, dim, dtype=torch.float64)


def shown(words: tuple[str, ...], dim: int, count: int = 16) -> dict[str, Any]:
    """The rows that are drawn: the text's first words with their vectors, float32."""
    few = words[:count]
    values = encode(torch.arange(len(few)), dim, dtype=torch.float32)
    return {"words": list(few), "values": values.tolist()}
