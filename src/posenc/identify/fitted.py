"""Tables that no name explains but that turn all the same: their frequencies measured, and the law behind them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ..convention import Convention
from ..errors import PosencError
from ..layout import Columns, Layout, Order, members
from .candidates import Candidate
from .match import Match
from .place import placed
from .sampled import Sample
from .tolerance import distance

# Rows of a fit must follow each other; two show a turn, three that it is steady.
LEAST_ROWS = 3
_ROUND_DIGITS = 3
# Measured values may be off by a unit in two members, and the fit adds its own.
_SLACK = 6
# A law is preferred to a simpler one where it leaves this much less.
_CLOSER = 1.5


@dataclass(frozen=True)
class _Turning:
    """Frequencies (pairs,) in radians per row, and how far they may be off, for one reading of the columns."""

    columns: Columns
    odd: Literal["truncate", "pad"]
    gain: float
    frequency: Tensor
    doubt: Tensor


def fitted(sample: Sample) -> Match | None:
    """The convention that explains rows which follow each other, or None: the closest, and of like ones the first."""
    run = _run(sample)
    if len(run) < LEAST_ROWS:
        return None
    best: Match | None = None
    for columns, odd in _readings(sample.dim):
        turning = _turning(run, columns, odd, sample.unit)
        for convention in _laws(turning, sample.unit) if turning else ():
            match = _verified(sample, convention)
            if match and (best is None or match.relative_error < best.relative_error / _CLOSER):
                best = match
    return best


def _run(sample: Sample) -> Tensor:
    """The longest beginning of the sample whose rows follow each other."""
    steps = sample.index.diff()
    breaks = (steps != 1).nonzero().flatten()
    return sample.rows[: int(breaks[0]) + 1] if len(breaks) else sample.rows


def _readings(dim: int) -> list[tuple[Columns, Literal["truncate", "pad"]]]:
    layouts: tuple[Layout, ...] = ("interleaved", "halves")
    found: list[tuple[Columns, Literal["truncate", "pad"]]] = []
    if dim % 2 == 0:
        return [(Columns(dim, dim // 2, layout, "sine-first"), "truncate") for layout in layouts]
    for layout in layouts:
        if dim > 1:
            found.append((Columns(dim, dim // 2, layout, "sine-first"), "pad"))
        found.append((Columns(dim, (dim + 1) // 2, layout, "sine-first"), "truncate"))
    return found


def _turning(run: Tensor, columns: Columns, odd: Literal["truncate", "pad"], unit: float) -> _Turning | None:
    sine, cosine = members(run, columns)
    count = min(sine.shape[1], cosine.shape[1])
    if not count:
        return None
    z = torch.complex(cosine[:, :count], sine[:, :count])
    size = z.abs()
    gain = size.mean().item()
    # A unit in both members, for values up to the gain.
    noise = 2 * unit * max(gain, unit)
    if gain == 0 or bool(((size - gain).abs() > _SLACK * noise).any()):
        return None
    z = z / gain
    frequency = (z[1:] * z[:-1].conj()).mean(0).angle()
    lag = 1
    while 2 * lag < len(z):
        lag *= 2
        turned = (z[lag:] * z[:-lag].conj()).mean(0).angle()
        rest = turned - lag * frequency
        frequency = frequency + (rest - (rest / (2 * math.pi)).round() * 2 * math.pi) / lag
    places = torch.arange(len(z), dtype=torch.float64, device="cpu").unsqueeze(-1)
    still = z * torch.polar(torch.ones_like(places), -places * frequency)
    steady = (still - still.mean(0)).abs()
    drift = 2.0**-20 * places * frequency.abs()
    if bool((steady > _SLACK * noise / gain + drift).any()):
        return None
    doubt = noise / gain * 4 / max(1, len(z) - 1) + frequency.abs() * 2.0**-21
    return _Turning(columns, odd, gain, frequency, doubt)


def _laws(turning: _Turning, unit: float) -> list[Convention]:
    """Conventions that have these frequencies, simple laws first, in every order of members."""
    frequency, doubt = turning.frequency, turning.doubt
    negative = bool((frequency < 0).sum() * 2 > len(frequency))
    sizes = frequency.abs()
    found: list[Convention] = []
    readings: tuple[tuple[Order, int], ...] = (
        ("sine-first", -1 if negative else 1),
        ("cosine-first", 1 if negative else -1),
    )
    span = turning.columns.dim / 2 if turning.odd == "truncate" else turning.columns.pairs
    gain = _rounded(turning.gain, unit)
    for order, sign in readings:
        more: dict[str, Any] = {
            "layout": turning.columns.layout, "order": order, "odd": turning.odd,
            "position_scale": sign, "gain": gain,
        }  # fmt: skip
        laws = geometric(sizes, doubt, span) or _linear(sizes, doubt, span)
        found += [Convention(**{**law, **more}) for law in laws]
        missing = turning.columns.pairs - len(sizes)
        if not missing:
            given = tuple((frequency * sign).tolist())
            found.append(Convention(spacing="explicit", frequencies=given, **more))
    return found


def geometric(sizes: Tensor, doubt: Tensor, span: float) -> list[dict[str, Any]]:
    """Bases and first frequencies of a geometric ladder, with and without its end, round numbers first."""
    if len(sizes) < 2 or bool((sizes <= 2 * doubt).all()):
        return []
    seen = sizes > 8 * doubt
    k = torch.arange(len(sizes), dtype=torch.float64, device="cpu")[seen]
    logs, weight = sizes[seen].log(), (sizes[seen] / doubt[seen]).square()
    if len(k) < 2:
        return []
    mean_k, mean = (weight * k).sum() / weight.sum(), (weight * logs).sum() / weight.sum()
    slope = ((weight * (k - mean_k) * (logs - mean)).sum() / (weight * (k - mean_k).square()).sum()).item()
    first = math.exp((mean - slope * mean_k).item())
    every = torch.arange(len(sizes), dtype=torch.float64, device="cpu")
    if bool(((first * (slope * every).exp() - sizes).abs() > 4 * doubt).any()) or slope == 0:
        return []
    sure = float((doubt[seen] / sizes[seen]).min()) * 4 + 2.0**-20
    laws = []
    for shift in (0, 1):
        length = span - shift
        if length > 0:
            base = math.exp(-slope * length)
            close = _rounded(base, max(sure * length, 2.0**-18))
            one = _rounded(first, sure)
            laws.append((close == base, shift, {"base": close, "first": one, "endpoint_shift": shift}))
            laws.append((True, shift + 2, {"base": base, "first": first, "endpoint_shift": shift}))
    return [law for _, _, law in sorted(laws, key=lambda each: each[:2])]


def _linear(sizes: Tensor, doubt: Tensor, span: float) -> list[dict[str, Any]]:
    """First and last frequencies of a linear ladder that takes its end in, round numbers first."""
    if len(sizes) < LEAST_ROWS:
        return []
    k = torch.arange(len(sizes), dtype=torch.float64, device="cpu")
    first, slope = sizes[0].item(), ((sizes[-1] - sizes[0]) / (len(sizes) - 1)).item()
    last = first + slope * (span - 1)
    if slope == 0 or last <= 0 or bool(((first + slope * k - sizes).abs() > 4 * doubt).any()):
        return []
    sure = 4 * float((doubt / sizes).max())
    law = {"spacing": "linear", "first": first, "last": last, "endpoint_shift": 1}
    return [{**law, "first": _rounded(first, sure), "last": _rounded(last, sure)}, law]


def _rounded(value: float, relative: float) -> float:
    """The number of fewest digits within a relative distance, or the value itself beyond a few digits."""
    for digits in range(1, _ROUND_DIGITS + 1):
        near = float(f"{value:.{digits - 1}e}")
        if abs(near - value) <= relative * abs(value):
            return int(near) if near.is_integer() and abs(near) < 1e9 else near
    return value


def _verified(sample: Sample, convention: Convention) -> Match | None:
    try:
        plan = convention.plan(sample.dim)
        candidate = Candidate(plan, ())
        positions, ratio = placed(sample.rows[:1], candidate, 4 * sample.unit)
    except PosencError:
        return None
    if ratio[0] > 1:
        return None
    places = positions[0] + sample.index - sample.index[0]
    near = distance(sample.rows, plan, places, _SLACK * sample.unit)
    if near.ratio > 1:
        return None
    start = int(places[0] - sample.index[0])
    return Match(
        None, convention, start, near.error, near.relative, "float32", sample.dtype, "fitted",
        len(sample.rows), (), sample.padding,
    )  # fmt: skip
