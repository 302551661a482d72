"""Tables out of checkpoints: checked against the convention of the layer, never trusted."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..convention import Convention
from ..identify import frequencies, misfit, names_of, narrowest_dtype, phase_error
from ..phase import is_plain
from ..trig.rounding import FORMATS

# Under these names systems save frequencies, not rows.
_LADDER_NAMES = {"inv_freq"}


def accepted_names(convention: Convention) -> tuple[str, ...]:
    """The keys that a layer of this convention may find under its prefix."""
    return ("pe", *(name for name in convention.state_names if name != "pe"))


def fault_of(name: str, value: Any, d_model: int, convention: Convention) -> str | None:
    """What is wrong with a checkpoint's entry, as a sentence; None where it is right."""
    if not isinstance(value, Tensor) or value.is_complex() or value.dtype not in FORMATS:
        kind = value.dtype if isinstance(value, Tensor) else type(value).__name__
        return f"got {name!r} of {kind}, but wanted a table of floats; remove the key from the checkpoint."
    if value.layout != torch.strided:
        return f"got {name!r} of layout {value.layout}, but wanted a dense table; store value.to_dense()."
    if value.is_meta or not is_plain():
        # No values to look at: a meta device, or a mode of fake tensors.
        return None
    value = value.detach().cpu()
    return (_ladder_fault if name in _LADDER_NAMES else _table_fault)(name, value, d_model, convention)


def _table_fault(name: str, value: Tensor, d_model: int, convention: Convention) -> str | None:
    shapes = f"(L, {d_model}), (1, L, {d_model}) or (L, 1, {d_model})"
    table = value.squeeze(0) if value.ndim == 3 and value.shape[0] == 1 else value
    table = table.squeeze(1) if table.ndim == 3 and table.shape[1] == 1 else table
    if table.ndim != 2 or table.shape[1] != d_model or not len(table):
        return (
            f"got {name!r} of shape {tuple(value.shape)}, but wanted a table of shape {shapes}; "
            f"build the layer with the d_model of the checkpoint."
        )
    error, ratio = misfit(table, convention)
    if ratio <= 1:
        return None
    names = names_of(table)
    if names:
        fix = f"pass convention={names[0]!r}"
        if len(names) > 1:
            fix += " (equally " + ", ".join(repr(other) for other in names[1:]) + ")"
    else:
        fix = "no named convention explains it: it may be learned, start at another position or have another base"
    return (
        f"got {name!r} off by up to {error:.3g} from the encoding of this layer, "
        f"but wanted the table of convention {convention.label}; {fix}."
    )


def _ladder_fault(name: str, value: Tensor, d_model: int, convention: Convention) -> str | None:
    ladder = convention.ladder(d_model)
    if value.shape != (ladder.pairs,):
        return (
            f"got {name!r} of shape {tuple(value.shape)}, but wanted ({ladder.pairs},), one frequency a pair; "
            f"build the layer with the d_model of the checkpoint."
        )
    frequency = frequencies(ladder)
    unit = 2.0 ** (1 - FORMATS[narrowest_dtype(value)][0])
    away = (value.double() - frequency).abs()
    if bool((away <= frequency.abs() * (phase_error(frequency) + unit)).all()):
        return None
    return (
        f"got {name!r} off by up to {away.max().item():.3g} from the frequencies of this layer, "
        f"but wanted those of convention {convention.label}; pass a Convention with the base of the checkpoint."
    )
