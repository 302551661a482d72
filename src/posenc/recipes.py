"""The orders of floating-point operations that real systems were released with, from ladder to sines and cosines.

Each recipe repeats one order step by step with torch's own kernels, so that a released table comes out bit for bit.
Which systems use which is said in their rows of `posenc.conventions`. Nothing here is exact, on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import torch
from torch import Tensor

from .frequency import Ladder

Recipe = Literal[
    "exp",
    "exp-div",
    "recip-pow",
    "pow",
    "pow-recip-base",
    "div",
    "float64",
    "float64-div",
    "octaves",
    "octaves-shifted",
    "linspace-pi",
    "bands-pi",
    "log-bands-pi",
    "periods",
    "turns",
]
RECIPES: tuple[Recipe, ...] = get_args(Recipe)

MEANING: dict[Recipe, str] = {
    "exp": "p * (first * exp(k * -(ln(base) / span))), float32",
    "exp-div": "scale * (p * exp(-ln(base) * k / span)), float32",
    "recip-pow": "p * (1 / base ** (k / span)), float32",
    "pow": "p * base ** -(k / span), float32",
    "pow-recip-base": "p * (1 / base) ** (k / span), float32",
    "div": "p / base ** (k / span), float32",
    "float64": "p * (1 / base ** (k / span)), float64",
    "float64-div": "p / base ** (k / span), float64",
    "octaves": "p * 2 ** linspace(0, n - 1, n), float32",
    "octaves-shifted": "the same, and cos(x) as sin(x + pi / 2), float32",
    "linspace-pi": "(p * linspace(first / pi, last / pi, n)) * pi, float32",
    "bands-pi": "p * (linspace(first / pi, last / pi, n) * pi), float32",
    "log-bands-pi": "p * (2 ** linspace(log2(first / pi), log2(last / pi), n) * pi), float32",
    "periods": "(1 / (shortest * (longest / shortest) ** linspace(0, 1, n)) * 2 pi) * p, float32",
    "turns": "((p * W, summed over the axes) * scale), float32",
}


def _steps(ladder: Ladder, dtype: torch.dtype = torch.float32) -> Tensor:
    """k / span, divided in the dtype of the system."""
    return torch.arange(ladder.pairs, dtype=dtype, device="cpu") / float(ladder.span)


def _powers(ladder: Ladder, dtype: torch.dtype) -> Tensor:
    """What the systems divide by: base ** (k / span)."""
    return float(ladder.base) ** _steps(ladder, dtype)


def _last(ladder: Ladder) -> float:
    """The frequency at the end of the ladder."""
    return float(ladder.given[-1] if ladder.given else ladder.first / ladder.base)


def _bands(first: float, last: float, ladder: Ladder) -> Tensor:
    return torch.linspace(first, last, ladder.pairs, dtype=torch.float32, device="cpu")


def _first(ladder: Ladder) -> float:
    return float(ladder.given[0] if ladder.given else ladder.first)


def _exp(ladder: Ladder) -> Tensor:
    k = torch.arange(ladder.pairs, dtype=torch.float32, device="cpu")
    return torch.exp(k * -(math.log(ladder.base) / float(ladder.span)))


def _exp_div(ladder: Ladder) -> Tensor:
    k = torch.arange(ladder.pairs, dtype=torch.float32, device="cpu")
    return torch.exp(-math.log(ladder.base) * k / float(ladder.span))


def _periods(ladder: Ladder) -> Tensor:
    shortest = 2 * math.pi / float(ladder.first)
    return 1.0 / (shortest * float(ladder.base) ** _bands(0.0, 1.0, ladder)) * 2 * math.pi


_LADDERS: dict[str, Callable[[Ladder], Tensor]] = {
    "exp": _exp,
    "exp-div": _exp_div,
    "recip-pow": lambda ladder: 1.0 / float(ladder.base) ** _steps(ladder),
    "pow": lambda ladder: float(ladder.base) ** -_steps(ladder),
    "pow-recip-base": lambda ladder: float(1 / ladder.base) ** _steps(ladder),
    "octaves": lambda ladder: 2.0 ** _bands(0.0, ladder.pairs - 1.0, ladder),
    "octaves-shifted": lambda ladder: 2.0 ** _bands(0.0, ladder.pairs - 1.0, ladder),
    "linspace-pi": lambda ladder: _bands(_first(ladder) / math.pi, _last(ladder) / math.pi, ladder),
    "bands-pi": lambda ladder: _bands(_first(ladder) / math.pi, _last(ladder) / math.pi, ladder) * math.pi,
    "log-bands-pi": lambda ladder: (
        2.0 ** _bands(math.log2(_first(ladder) / math.pi), math.log2(_last(ladder) / math.pi), ladder) * math.pi
    ),
    "periods": _periods,
}


def released_ladder(ladder: Ladder, recipe: Recipe) -> Tensor:
    """The frequencies (pairs,) as a recipe computes them: float32, or float64 where the system takes that.

    >>> from fractions import Fraction
    >>> released_ladder(Ladder(pairs=2, base=Fraction(10000), span=Fraction(2)), "exp")
    tensor([1.0000, 0.0100])
    """
    if ladder.given and recipe not in ("linspace-pi", "bands-pi"):
        dtype = torch.float64 if recipe in ("float64", "float64-div") else torch.float32
        return torch.tensor([float(w) for w in ladder.given], dtype=torch.float64, device="cpu").to(dtype)
    if recipe in ("float64", "float64-div", "div"):
        return 1.0 / _powers(ladder, torch.float32 if recipe == "div" else torch.float64)
    ratio = _LADDERS.get(recipe, _exp)(ladder)
    # Only "exp" takes a first frequency beside its exponential; the others hold it in their bands or have 1.
    return ratio * float(ladder.first) if recipe == "exp" and ladder.first != 1 else ratio


def released_coordinates(cells: str, size: int, trained: int | None, origin: float, epsilon: float) -> Tensor:
    """The coordinates (size,) of a map along one axis as systems compute them, in float32; int64 where it is i.

    "fractions" as DETR does, "ends" as Perceiver, "corners" brought to a trained size as diffusers, "centres" alike,
    "first-to-last" as torch.linspace does.

    >>> released_coordinates("fractions", 3, None, 1, 1e-6)
    tensor([0.3333, 0.6667, 1.0000])
    """
    index = torch.arange(size, device="cpu")
    if cells == "ends":
        return torch.linspace(-1.0, 1.0, size, dtype=torch.float32, device="cpu")
    if cells == "fractions":
        # Both are float32 tensors there: 1e-6 is lost from a size of 32 on.
        return (index.float() + origin) / (torch.tensor(size, dtype=torch.float32, device="cpu") + epsilon)
    if cells != "centres" and trained is None:
        return index
    if cells == "first-to-last" and trained:
        return torch.linspace(0.0, trained - 1.0, size, dtype=torch.float32, device="cpu")
    places = index.float() + 0.5 if cells == "centres" else index.float()
    return places / (size / trained) if trained else places


def _scaled(positions: Tensor, ladder: Ladder, dtype: torch.dtype) -> Tensor:
    places = positions.to(dtype)
    if ladder.offset:
        places = places + float(ladder.offset)
    return places


def _angles(positions: Tensor, ladder: Ladder, recipe: Recipe) -> Tensor:
    """Positions (n,) -> angles (n, pairs) in radians."""
    scale = float(ladder.scale)
    dtype = torch.float64 if recipe in ("float64", "float64-div") else torch.float32
    places = _scaled(positions, ladder, dtype).unsqueeze(-1)
    late = recipe in ("exp-div", "turns")
    if scale != 1 and not late:
        places = places * scale
    if recipe in ("div", "float64-div") and not ladder.given:
        return places / _powers(ladder, dtype)
    angles = places * released_ladder(ladder, recipe)
    if recipe == "linspace-pi":
        angles = angles * math.pi
    return angles * scale if scale != 1 and late else angles


def released(positions: Tensor, ladder: Ladder, recipe: Recipe) -> tuple[Tensor, Tensor]:
    """Positions (n,) -> sines and cosines (n, pairs) as a system computes them, float32 or float64.

    >>> from fractions import Fraction
    >>> released(torch.tensor([1]), Ladder(pairs=1, base=Fraction(10000), span=Fraction(1)), "exp")
    (tensor([[0.8415]]), tensor([[0.5403]]))
    """
    return _waves(_angles(positions, ladder, recipe), recipe)


def released_sum(positions: Tensor, ladders: Sequence[Ladder], recipe: Recipe) -> tuple[Tensor, Tensor]:
    """Positions (n, A), one ladder an axis -> sines and cosines (n, pairs) of the sum of their angles."""
    scale = float(ladders[0].scale)
    total = None
    for axis, ladder in enumerate(ladders):
        places = _scaled(positions[:, axis], ladder, torch.float32).unsqueeze(-1)
        if scale != 1 and recipe != "turns":
            places = places * float(ladder.scale)
        part = places * released_ladder(ladder, recipe)
        total = part if total is None else total + part
    angles = total if total is not None else positions.new_zeros(len(positions), 0)
    return _waves(angles * scale if recipe == "turns" else angles, recipe)


def _waves(angles: Tensor, recipe: Recipe) -> tuple[Tensor, Tensor]:
    if recipe == "octaves-shifted":
        return angles.sin(), (angles + math.pi / 2).sin()
    return angles.sin(), angles.cos()
