"""Ladders alone, as checkpoints hold them under `inv_freq`: their base, and how they were stretched."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..convention import Convention, conventions
from ..errors import ConventionError
from ..frequency import Ladder
from .fitted import geometric
from .match import Match, nothing
from .tolerance import frequencies, narrowest_dtype, phase_error, unit_of

LEAST = 2
_HIDDEN = "a ladder does not show layout or order: as rotary, halves in Llama, interleaved in GPT-J"


def looks_like_ladder(values: Tensor) -> bool:
    """Whether a vector falls or rises without a change of sign, as frequencies do and rows of an encoding do not."""
    if values.ndim != 1 or len(values) < LEAST or not bool(values.isfinite().all()):
        return False
    steps = values.double().diff()
    one_way = bool((steps <= 0).all()) or bool((steps >= 0).all())
    return one_way and bool((values >= 0).all()) and bool((values > 0).any()) and bool((steps != 0).any())


def ladder_match(values: Tensor) -> list[Match]:
    """Frequencies (pairs,) in radians per position -> matches, best first, never empty."""
    dtype = narrowest_dtype(values)
    given = values.detach().cpu().double()
    unit = 2 * unit_of(dtype)
    found = _named(given, unit, dtype)
    if found:
        return found
    doubt = given.abs() * (phase_error(given) + unit)
    for law in geometric(given, doubt, len(given)):
        convention = Convention(**law)
        return [_match(convention, given, dtype, _of_law(law, 2 * len(given)))]
    scaled = _scaled(given, unit)
    if scaled:
        convention = Convention(spacing="explicit", frequencies=tuple(given.tolist()))
        return [_match(convention, given, dtype, scaled)]
    note = "falls steadily, but follows no law that is known here: LongRoPE factors or learned frequencies"
    return [nothing("unknown", note, rows=len(given), dtype=dtype, is_ladder=True)]


def _match(convention: Convention, given: Tensor, dtype: torch.dtype, note: str) -> Match:
    away = (frequencies(convention.ladder(2 * len(given))) - given).abs()
    relative = (away.norm() / given.norm()).item()
    return Match(
        None, convention, 0, away.max().item(), relative, "float32", dtype, "fitted", len(given),
        note=f"{note}; {_HIDDEN}", is_ladder=True,
    )  # fmt: skip


def _named(given: Tensor, unit: float, dtype: torch.dtype) -> list[Match]:
    found: dict[Ladder, list[str]] = {}
    for name, convention in conventions.items():
        try:
            plan = convention.plan(2 * len(given))
        except ConventionError:
            continue
        if plan.axes == 1 and plan.is_turned and not plan.inputs:
            ladder = plan.blocks[0].ladder
            found.setdefault(replace(ladder, offset=type(ladder.offset)(0)), []).append(name)
    matches = []
    for ladder, names in found.items():
        exact = frequencies(ladder)
        away = (exact - given).abs()
        if bool((away <= exact.abs() * (phase_error(exact) + unit)).all()):
            # Systems that save ladders come first.
            ranked = sorted(names, key=lambda name: "inv_freq" not in conventions[name].state_names)
            relative = (away.norm() / given.norm()).item()
            note = f"base {float(ladder.base):g}; {_HIDDEN}"
            for name in ranked:
                equal = tuple(other for other in ranked if other != name)
                matches.append(
                    Match(
                        name, conventions[name], 0, away.max().item(), relative, "float32", dtype, "named",
                        len(given), equal, note=note, is_ladder=True,
                    )
                )  # fmt: skip
    return matches


def _of_law(law: dict[str, Any], dim: int) -> str:
    base, first = law["base"], law["first"]
    said = f"base {base:g}"
    if first < 1 and abs(1 / first - round(1 / first, 3)) < 1e-4:
        said += f", linear scaling by {1 / first:g}: positions are divided by it"
    elif first != 1:
        said += f", first frequency {first:g}"
    if base not in {10000, 500000, 1000000} and dim > 2:
        rescale = (base / 10000) ** ((dim - 2) / dim)
        said += f" (NTK: 10000 rescaled by {rescale:.4g})"
    return said


def _scaled(given: Tensor, unit: float) -> str | None:
    """What stretched a geometric ladder: its fast end is as it was, its slow end is divided by a factor."""
    pairs = len(given)
    kept = int((given > 0).sum())
    k = torch.arange(pairs, dtype=torch.float64, device="cpu")
    if pairs < 4 or given[0] <= 0:
        return None
    # The first two frequencies are the fastest, which no rule changes.
    slope = (given[1] / given[0]).log().item()
    base = math.exp(-slope * pairs)
    # Rounding in the first ratio grows with the number of pairs: a round base nearby is the base.
    for digits in range(1, 4):
        near = float(f"{base:.{digits - 1}e}")
        if abs(near / base - 1) < 4 * pairs * max(unit, 2.0**-22):
            base = near
            break
    plain = given[0] * torch.exp(-math.log(base) / pairs * k)
    near_enough = 4 * (unit + 2.0**-22) + plain.log().abs() * 2.0**-22
    if kept < pairs and bool(((given[:kept] / plain[:kept] - 1).abs() <= near_enough[:kept]).all()):
        return f"base {base:g}, proportional: the first {kept} of {pairs} pairs turn, over the whole head"
    if kept < pairs:
        return None
    ratio = plain / given
    factor = ratio[-1].item()
    share = (ratio.reciprocal() - 1 / factor) / (1 - 1 / factor)
    inside = (share > 1e-3) & (share < 1 - 1e-3)
    ends = (share - share.round()).abs() < 1e-3
    if factor <= 1.001 or not bool((inside | ends).all()) or bool((share.diff() > 1e-3).any()):
        return None
    head = f"base {base:g}, factor {float(f'{factor:.4g}'):g}"
    if int(inside.sum()) < 2:
        return f"{head}: slow pairs stretched, fast ones kept (YaRN or Llama 3)"
    for law, axis in (("Llama 3", plain), ("YaRN", k)):
        x, y = axis[inside], share[inside]
        fit = torch.linalg.lstsq(torch.stack((x, torch.ones_like(x)), 1), y.unsqueeze(1)).solution.flatten()
        if bool(((fit[0] * x + fit[1] - y).abs() < 2e-3).all()):
            if law == "YaRN":
                return f"{head}: YaRN, ramp from pair {-(fit[1] - 1) / fit[0]:.3g} to {-fit[1] / fit[0]:.3g}"
            # share = (length * frequency / 2 pi - low) / (high - low), and low is 1 in every released model.
            high = 1 - 1 / fit[1].item()
            length = fit[0].item() * 2 * math.pi * (high - 1)
            return f"{head}: Llama 3, low 1, high {high:.3g}, original length {length:.5g}"
    return f"{head}: slow pairs stretched, fast ones kept, between them by no rule that is known here"
