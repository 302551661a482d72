"""Ladders alone, as checkpoints hold them under `inv_freq`: their base, and how they were stretched."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from ..convention import WIDEST, Convention, conventions, systems
from ..errors import ConventionError
from ..frequency import RULES, Ladder
from .laws import geometric, shortest
from .match import Match, nothing
from .stretches import stretch_of
from .tolerance import frequencies, narrowest_dtype, phase_error, unit_of

LEAST = 2
# Bits that the numbers must hold beyond those of a law, so that chance would not find it, and how many numbers it has.
_ENOUGH_BITS = 16
_NAMES_BITS = 6
_NUMBERS = 2
_HIDDEN = "a ladder does not show its layout: heads are halves in Llama, interleaved in GPT-J"
# Bases that models were trained with before they were rescaled.
_BASES = (10000, 500000, 1000000)
_ROUND = 4
# A rounder base may leave so much more than the measured one, and what float32 arithmetic leaves.
_CLOSER = 1.5
# What float16 leaves of the slowest frequencies.
_SUBNORMAL = 2.0**-25


def looks_like_ladder(values: Tensor) -> bool:
    """Whether a vector falls or rises without a change of sign, as frequencies do and rows of an encoding do not.

    One number beside zeros, as in a row that chooses one of many, shows no base.
    """
    if values.ndim != 1 or not LEAST <= len(values) <= WIDEST // 2 or not bool(values.isfinite().all()):
        return False
    steps = values.double().diff()
    one_way = bool((steps <= 0).all()) or bool((steps >= 0).all())
    return one_way and bool((values >= 0).all()) and int((values > 0).sum()) >= LEAST and bool((steps != 0).any())


def ladder_matches(values: Tensor) -> list[Match]:
    """Frequencies (pairs,) in radians per position -> matches, best first, never empty."""
    dtype = narrowest_dtype(values)
    given = values.detach().cpu().double()
    heads = _alibi_heads(given)
    if heads:
        note = f"the slopes of ALiBi for {heads} heads: posenc.AlibiBias({heads})"
        return [nothing("unknown", note, rows=len(given), dtype=dtype)]
    unit = 2 * unit_of(dtype)
    each = -math.log2(2 * unit)
    # Zeros follow no law, and say nothing of a base.
    told_bits = (int((given > 0).sum()) - _NUMBERS) * each
    found = _named(given, unit, dtype) if len(given) * each >= _ENOUGH_BITS + _NAMES_BITS else []
    if found:
        return found
    law = _law(given, unit, _rest(dtype)) if told_bits >= _ENOUGH_BITS else None
    if law:
        return [_match(Convention(**law, layout="halves"), given, dtype, _of_law(law, given))]
    stretched = stretch_of(given, unit, _rest(dtype)) if told_bits >= _ENOUGH_BITS else None
    if stretched and stretched.stretch:
        note = f"base {_plain(stretched.base)}, {RULES[stretched.stretch.kind].told(stretched.stretch, len(given))}"
        return [_match(stretched, given, dtype, note)]
    way = "falls" if given[0] > given[-1] else "rises"
    note = f"{way} from {given[0]:.4g} to {given[-1]:.4g} by no rule that is known here"
    if way == "falls":
        note += ": frequencies that were learned, or divided pair by pair (LongRoPE)"
    return [nothing("unknown", note, rows=len(given), dtype=dtype, is_ladder=True, dim=2 * len(given))]


def _alibi_heads(given: Tensor) -> int:
    """The number of heads whose slopes these are, a power of two; 0 where they are none.

    They are 2^(-8 k / heads) for k from 1, and ladders have k from 0.
    """
    heads = len(given)
    k = torch.arange(1, heads + 1, dtype=torch.float64, device="cpu")
    slopes = (-8 * k / heads).exp2()
    found = heads & (heads - 1) == 0 and bool(((given - slopes).abs() <= 2.0**-8 * slopes).all())
    return heads if found else 0


def _match(convention: Convention, given: Tensor, dtype: torch.dtype, note: str) -> Match:
    away = (frequencies(convention.ladder(2 * len(given))) - given).abs()
    relative = (away.norm() / given.norm()).item()
    return Match(
        None, convention, 0, away.max().item(), relative, "float32", dtype, "fitted", len(given),
        note=f"{note}; {_HIDDEN}", is_ladder=True, dim=2 * len(given),
    )  # fmt: skip


@lru_cache(maxsize=128)
def _ladders(pairs: int) -> tuple[tuple[Ladder, tuple[str, ...]], ...]:
    """Every distinct ladder of so many pairs with the names that have it; those that save ladders first."""
    found: dict[Ladder, list[str]] = {}
    for name, convention in conventions.items():
        try:
            plan = convention.plan(2 * pairs)
        except ConventionError:
            continue
        if plan.axes == 1 and plan.is_turned and not plan.inputs:
            ladder = plan.blocks[0].ladder
            found.setdefault(replace(ladder, offset=type(ladder.offset)(0)), []).append(name)
    # What turns queries and keys, and other systems that save ladders, come first.
    return tuple(
        (ladder, tuple(sorted(names, key=lambda name: (systems[name].family != "rotary", not _is_saved(name)))))
        for ladder, names in found.items()
    )


def _named(given: Tensor, unit: float, dtype: torch.dtype) -> list[Match]:
    matches = []
    for ladder, names in _ladders(len(given)):
        exact = frequencies(ladder)
        away = (exact - given).abs()
        if bool((away <= exact.abs() * (phase_error(exact) + unit) + _rest(dtype)).all()):
            relative = (away.norm() / given.norm()).item()
            for name in names:
                rule = conventions[name].stretch
                stretch = f", {RULES[rule.kind].told(rule, len(given))}" if rule else ""
                note = f"base {_plain(conventions[name].base)}{stretch}; {_HIDDEN}"
                equal = tuple(other for other in names if other != name)
                matches.append(
                    Match(
                        name, conventions[name], 0, away.max().item(), relative, "float32", dtype, "named",
                        len(given), equal, note=note, is_ladder=True, dim=2 * len(given),
                    )
                )  # fmt: skip
    return matches


def _rest(dtype: torch.dtype) -> float:
    """What a dtype leaves of the smallest values."""
    return _SUBNORMAL if dtype == torch.float16 else 0.0


def _is_saved(name: str) -> bool:
    return "inv_freq" in conventions[name].state_names


def _law(given: Tensor, unit: float, rest: float) -> dict[str, Any] | None:
    """The roundest geometric ladder that is as close as the measured one."""
    laws = geometric(given, given * (phase_error(given) + unit) + rest, len(given))
    if not laws:
        return None
    # Round numbers that happen to need few bits are known better than their dtype says.
    for finer in (2.0**-22, 2.0**-50):
        laws[-1:] = [*geometric(given, given * finer, len(given)), laws[-1]]

    def left(law: dict[str, Any]) -> float:
        made = frequencies(Convention(**law).ladder(2 * len(given)))
        return ((made - given).abs() / (given + 2.0**12 * rest).clamp(min=1e-300)).max().item()

    most = _CLOSER * left(laws[-1]) + phase_error(given).max().item()
    return next(law for law in laws if left(law) <= most)


def _plain(number: float) -> str:
    """A number without an exponent where that is as short.

    >>> _plain(1e6), _plain(0.25)
    ('1000000', '0.25')
    """
    return f"{number:.0f}" if number == int(number) and number < 1e9 else f"{number:.6g}"


def _of_law(law: dict[str, Any], given: Tensor) -> str:
    base, first = law["base"], law["first"]
    said = f"base {_plain(base)}"
    if base < 1:
        said = f"rises by a factor of {(given[1] / given[0]).item():.6g} from pair to pair"
    if first < 1 and abs(1 / first - round(1 / first, 3)) < 1e-4:
        said += f", linear scaling by {_plain(round(1 / first, 3))}: positions are divided by it"
    elif first != 1:
        said += f", first frequency {_plain(first)}"
    if law.get("endpoint_shift"):
        said += f", endpoint shift {_plain(law['endpoint_shift'])}"
    elif base > 1:
        said += _rescaled(base, len(given))
    return said


def _rescaled(base: float, pairs: int) -> str:
    """From which base an odd one may have come by NTK scaling: one that makes the factor round, or the first."""
    if shortest(base, 0.0)[1] < _ROUND or pairs < LEAST:
        return ""
    found = [(shortest((base / plain) ** ((pairs - 1) / pairs), 2.0**-16), plain) for plain in _BASES]
    (factor, digits), plain = min(
        found, key=lambda each: (each[0][1] >= _ROUND or each[0][0] <= 1, _BASES.index(each[1]))
    )
    said = f"{_plain(plain)} rescaled by {_plain(factor)}"
    return f" (NTK: {said})" if digits < _ROUND and factor > 1 else f" (as NTK: {said})" if factor > 1 else ""
