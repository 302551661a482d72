"""Frequencies, cosines and sines that checkpoints hold for rotary modules: checked against those of the module."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..convention import Convention
from ..encoding.rotation import Rotation, rotation_of
from ..encoding.turns import turns_of_range
from ..frequency import RULES, UNIT, Stretch
from ..identification.tolerance import TILE, frequencies, narrowest_dtype, phase_error, scaled_unit, unit_of
from ..tracing import is_plain
from ..trig.rounding import FORMATS
from .loading import ladder_ratio
from .rotary_advice import advice_for
from .rotary_readings import Part, Reading, readings, shape_fault

_WORDS = {"frequency": "frequencies", "angle": "angles", "cosine": "cosines", "sine": "sines"}


class _Candidate(NamedTuple):
    """What an entry may hold: a rotation, its frequencies (pairs,), and their relative error in float32."""

    rotation: Rotation
    frequency: Tensor
    error: Tensor


def rotary_fault(
    name: str,
    value: Any,
    convention: Convention,
    head_dim: int,
    sections: tuple[int, ...] | None,
    rule: Stretch | None,
    gain: float,
) -> str | None:
    """What is wrong with a checkpoint's entry for a rotary module, as a sentence; None where it is right.

    Frequencies (pairs,), angles, cosines and sines (L, pairs) of positions 0, 1, ..., complex or as real pairs too,
    with axes of size 1 anywhere. They are right where every value is as far as `stretch_error` and the dtype allow
    from the frequencies of the module, stretched by its rule or not, times its attention factor or not.
    """
    if not isinstance(value, Tensor) or not (value.is_complex() or value.dtype in FORMATS):
        kind = value.dtype if isinstance(value, Tensor) else type(value).__name__
        return f"got {name!r} of {kind}, but wanted floats or complex numbers; remove the key from the checkpoint."
    if value.is_nested or value.layout != torch.strided:
        kind = "nested" if value.is_nested else str(value.layout)
        return f"got {name!r} of layout {kind}, but wanted a dense tensor; store value.to_dense()."
    if value.is_meta or not is_plain():
        # No values to look at: a meta device, or a mode of fake tensors.
        return None
    plain = _exact(rotation_of(replace(convention, stretch=None), head_dim, sections))
    read = list(readings(name, value.detach().cpu(), plain))
    if not read:
        return shape_fault(name, value, plain)
    gains = dict.fromkeys((1.0, gain))
    found = []
    for reading in read:
        for candidate in _candidates(reading, plain, convention, head_dim, sections, rule):
            for each in gains:
                error, ratio = _misfit(reading, candidate, each)
                found.append((ratio, error, reading))
                if ratio <= 1 and reading.layout == "own":
                    return None
    ratio, error, reading = min(found, key=lambda each: each[0])
    own = convention.layout
    if ratio <= 1:
        other = "halves" if own == "interleaved" else "interleaved"
        return f"got {name!r} of pairs that lie as {other!r}, but wanted {own!r}; pass layout={other!r}."
    kinds = " and ".join(dict.fromkeys(_WORDS[part.kind] for part in read[0].parts))
    return (
        f"got {name!r} off by up to {error:.3g} from the {kinds} of this module, but wanted those of "
        f"{convention.label}; {advice_for(_shown_ladder(read[0].parts), convention)}."
    )


def stretch_error(plain: Tensor, stretched: Tensor, rule: Stretch | None, base: float) -> Tensor:
    """Relative error (pairs,) that float32 adds to frequencies while a rule stretches them, beside `phase_error`.

    Four units of 2^-24 for quotients, two products and a sum, and what the mixture or the base of the rule adds.
    """
    four = torch.full_like(plain, 4 * UNIT)
    if rule is None:
        return torch.zeros_like(plain)
    # A pair that does not turn is exactly so.
    ratio = torch.where(stretched == 0, 0.0, plain / stretched)
    made: Tensor = four + RULES[rule.kind].rounding(rule, base, phase_error(plain), ratio)
    return made


def _exact(rotation: Rotation) -> Rotation:
    return rotation._replace(recipe="exact")


def _ladder(rotation: Rotation) -> Tensor:
    """Radians per position of all pairs (pairs,)."""
    return torch.cat([frequencies(part.ladder)[part.begin : part.end] for part in rotation.parts])


def _candidates(
    reading: Reading,
    plain: Rotation,
    convention: Convention,
    head_dim: int,
    sections: tuple[int, ...] | None,
    rule: Stretch | None,
) -> Iterator[_Candidate]:
    """The plain frequencies, and those that the rule gives for every length that may have made the entry."""
    ladder = _ladder(plain)
    yield _Candidate(plain, ladder, phase_error(ladder))
    base = float(plain.parts[0].ladder.base)
    if rule is None and convention.stretch is not None:
        made = _exact(rotation_of(convention, head_dim, sections))
        yield _stretched(made, ladder, convention.stretch, base)
    if rule is not None:
        for length in _lengths(reading, ladder, rule):
            made = _exact(rotation_of(convention, head_dim, sections, rule, length))
            yield _stretched(made, ladder, rule, base)


def _stretched(rotation: Rotation, plain: Tensor, rule: Stretch, base: float) -> _Candidate:
    made = _ladder(rotation)
    return _Candidate(rotation, made, phase_error(made) + stretch_error(plain, made, rule, base))


def _lengths(reading: Reading, plain: Tensor, rule: Stretch) -> list[int | None]:
    """The lengths of a sequence for which a rule may have made an entry."""
    if rule.has_two_ladders:
        return [rule.trained, rule.trained + 1]
    if not rule.needs_length:
        return [None]
    values = reading.parts[0].values
    if reading.parts[0].kind != "frequency":
        return [len(values)]
    given, pairs = values.double(), len(values)
    if pairs != len(plain) or not bool((given > 0).all()):
        return []
    # Pair k of n is divided by the growth factor * length / trained - (factor - 1), to the power of k / (n - 1). The
    # pair that tells it best decides; towards the true length, the next integer is not beyond it.
    precision, smallest = FORMATS[narrowest_dtype(values)]
    inverse_share = (pairs - 1) / torch.arange(1, pairs, dtype=torch.float64, device="cpu")
    best = int(((2.0**-precision + 2.0**smallest / given[1:]) * inverse_share).argmin())
    growth = (plain / given)[1:][best].item() ** inverse_share[best].item()
    length = (growth + rule.factor - 1) * rule.trained / rule.factor
    return [math.floor(length), math.ceil(length)] if rule.trained <= length < 2.0**62 else []


def _misfit(reading: Reading, candidate: _Candidate, gain: float) -> tuple[float, float]:
    """The largest error of an entry, and the largest ratio of an error to what is allowed, up to a tile above 1."""
    first = reading.parts[0]
    if first.kind in ("frequency", "angle") and gain != 1:
        return math.inf, math.inf
    if first.kind == "frequency":
        count = len(first.values)
        return ladder_ratio(first.values, candidate.frequency[:count], candidate.error[:count])
    dtypes = [narrowest_dtype(part.values) for part in reading.parts]
    offset = float(candidate.rotation.parts[0].ladder.offset)
    error = ratio = 0.0
    for begin in range(0, len(first.values), TILE):
        end = min(begin + TILE, len(first.values))
        places = torch.arange(begin, end, dtype=torch.float64, device="cpu").unsqueeze(-1) + offset
        phase = places * candidate.frequency
        reach = phase.abs() * candidate.error
        for part, dtype in zip(reading.parts, dtypes, strict=True):
            if part.kind == "angle":
                true, allowed = phase, reach + 2 * unit_of(dtype) * phase.abs() + 2.0 ** FORMATS[dtype][1]
            else:
                turns = turns_of_range(begin, end - begin, candidate.rotation, torch.float64, gain)
                true = turns.cosine if part.kind == "cosine" else turns.sine
                allowed = gain * reach + scaled_unit(unit_of(dtype), gain)
            away = (part.values[begin:end].double() - true).abs()
            if not bool(away.isfinite().all()):
                return math.inf, math.inf
            error, ratio = max(error, away.max().item()), max(ratio, (away / allowed).max().item())
        if ratio > 1:
            break
    return error, ratio


def _shown_ladder(parts: tuple[Part, ...]) -> Tensor | None:
    """The frequencies that an entry shows, as far as one can tell: itself, or its row of position 1."""
    first = parts[0]
    if first.kind == "frequency":
        return first.values
    if len(first.values) < 2:
        return None
    row = first.values[1].double()
    if first.kind == "angle":
        return first.values[1]
    if first.kind == "sine":
        return row.clamp(-1, 1).asin().to(first.values.dtype)
    if len(parts) > 1 and parts[1].kind == "sine":
        return torch.atan2(parts[1].values[1].double(), row).to(first.values.dtype)
    return None
