"""Tables out of checkpoints: checked against the convention of the layer, never trusted."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..convention import Convention
from ..identification import identify
from ..identification.match import Match, written
from ..identification.tolerance import distance, frequencies, misfit, narrowest_dtype, phase_error, unit_of
from ..tracing import is_plain
from ..trig.rounding import FORMATS

# Under these names systems save frequencies, not rows.
_LADDER_NAMES = {"inv_freq"}
# Names with the same values that a message tells.
SHOWN_NAMES = 4


def accepted_names(convention: Convention) -> tuple[str, ...]:
    """The keys that a layer of this convention may find under its prefix."""
    return ("pe", *(name for name in convention.state_names if name != "pe"))


def fault_of(name: str, value: Any, d_model: int, convention: Convention) -> str | None:
    """What is wrong with a checkpoint's entry, as a sentence; None where it is right."""
    if not isinstance(value, Tensor) or value.is_complex() or value.dtype not in FORMATS:
        kind = value.dtype if isinstance(value, Tensor) else type(value).__name__
        return f"got {name!r} of {kind}, but wanted a table of floats; remove the key from the checkpoint."
    if value.is_nested or value.layout != torch.strided:
        kind = "nested" if value.is_nested else str(value.layout)
        return f"got {name!r} of layout {kind}, but wanted a dense table; store value.to_dense()."
    if value.is_meta or not is_plain():
        # No values to look at: a meta device, or a mode of fake tensors.
        return None
    value = value.detach().cpu()
    return (_ladder_fault if name in _LADDER_NAMES else _table_fault)(name, value, d_model, convention)


def _table_fault(name: str, value: Tensor, d_model: int, convention: Convention) -> str | None:
    if value.numel() == 1 and value.ndim <= 1 < d_model:
        # A placeholder that tells a system its device, as fairseq's _float_tensor.
        return None
    shapes = f"(L, {d_model}), (1, L, {d_model}) or (L, 1, {d_model})"
    table = value.squeeze(0) if value.ndim == 3 and value.shape[0] == 1 else value
    table = table.squeeze(1) if table.ndim == 3 and table.shape[1] == 1 else table
    if table.ndim != 2 or table.shape[1] != d_model or not len(table):
        return (
            f"got {name!r} of shape {tuple(value.shape)}, but wanted a table of shape {shapes}; "
            f"build the layer with the d_model of the checkpoint."
        )
    error, ratio = _misfit(table, convention)
    if ratio <= 1:
        return None
    return (
        f"got {name!r} off by up to {error:.3g} from the encoding of this layer, "
        f"but wanted the table of convention {convention.label}; {_advice(table)}."
    )


def _misfit(table: Tensor, convention: Convention) -> tuple[float, float]:
    """The least misfit of a table whose first row is that of position 0, or of the system's own row 0."""
    best = misfit(table, convention)
    offset = convention.position_offset
    if best[1] <= 1 or isinstance(offset, tuple) or offset <= 0 or offset != int(offset):
        return best
    # Systems that add an offset keep it in the index of the row; below it, the row of padding holds zeros.
    blank = (table == 0).all(1)
    kept = ~blank
    kept[int(offset) :] = True
    positions = torch.arange(len(table), dtype=torch.int64, device="cpu")[kept] - int(offset)
    near = distance(table[kept], convention.plan(table.shape[1]), positions, unit_of(narrowest_dtype(table)))
    return min(best, (near.error, near.ratio), key=lambda each: each[1])


def _advice(table: Tensor) -> str:
    """What to pass instead, as far as the table tells."""
    matches = identify(table)
    best = matches[0]
    if best.kind == "named" and best.order == "other":
        return f"it holds {best.note} of {best.name!r}: put its rows in order"
    if best.sizes:
        return f"it holds {best.note} of {best.name!r}: take posenc.grid, and add the map yourself"
    if best.is_ladder:
        return f"it holds {best.sentence()}: remove the key, and the layer keeps its own exact values"
    if best.kind in ("named", "fitted"):
        return _convention_to_pass(matches, table)
    if best.kind == "drifted" and best.arithmetic:
        return f"it was {best.note}: remove the key, and the layer keeps its own exact values"
    if best.kind == "drifted":
        return f"it is {best.sentence()}: train a table of your own with torch.nn.Embedding"
    if best.kind == "learned":
        return "no named convention explains it: it is learned, so keep it in a torch.nn.Embedding"
    return f"no named convention explains it: {best.note}"


def _convention_to_pass(matches: tuple[Match, ...], table: Tensor) -> str:
    """The convention whose layer takes the table as it is, where there is one."""
    best = matches[0]
    convention = best.from_first_row()
    where = f"its rows begin at position {best.start}" + (f" of {best.name!r}" if best.name else "")
    if convention is None:
        return f"{where}, where no layer begins: remove the key, and pass offset={best.start} to the layer's calls"
    if _misfit(table, convention)[1] > 1:
        rows = ", ".join(map(str, best.padding[:SHOWN_NAMES]))
        return f"{where}, but for rows {rows}, ...: remove the key, and the layer keeps its own exact values"
    said = f"pass convention={written(convention, 'additive')}"
    if best.name is None:
        return f"it was fitted: {said}"
    if convention != best.convention:
        return f"{said}: {where}"
    if best.note:
        return f"{said}: it holds {best.note} of {best.name!r}"
    names = list(dict.fromkeys(match.name for match in matches if match.start == best.start and match.name))
    if len(names) == 1:
        return said
    more = len(names) - 1 - SHOWN_NAMES
    others = ", ".join(map(repr, names[1 : 1 + SHOWN_NAMES]))
    return f"{said} (equally {others}{f' and {more} more' if more > 0 else ''})"


def _ladder_fault(name: str, value: Tensor, d_model: int, convention: Convention) -> str | None:
    ladder = convention.ladder(d_model)
    if value.shape != (ladder.pairs,):
        return (
            f"got {name!r} of shape {tuple(value.shape)}, but wanted ({ladder.pairs},), one frequency a pair; "
            f"build the layer with the d_model of the checkpoint."
        )
    frequency = frequencies(ladder)
    error, ratio = ladder_ratio(value, frequency, phase_error(frequency))
    if ratio <= 1:
        return None
    return (
        f"got {name!r} off by up to {error:.3g} from the frequencies of this layer, "
        f"but wanted those of convention {convention.label}; pass a Convention with the base of the checkpoint."
    )


def ladder_ratio(values: Tensor, frequency: Tensor, error: Tensor) -> tuple[float, float]:
    """The largest error of frequencies (pairs,), and the largest ratio of an error to what is allowed.

    Allowed are the relative error of the arithmetic that made them, one unit in the last place of the narrowest dtype
    that holds them, and the smallest number of that dtype, to which float16 rounds the slowest frequencies.
    """
    precision, smallest = FORMATS[narrowest_dtype(values)]
    away = (values.double() - frequency).abs()
    if not bool(away.isfinite().all()):
        return math.inf, math.inf
    allowed = frequency.abs() * (error + 2.0 ** (1 - precision)) + 2.0**smallest * (frequency != 0)
    # A pair that does not turn is exactly so.
    ratio = torch.where(away == 0, 0.0, away / allowed)
    return away.max().item(), ratio.max().item()
