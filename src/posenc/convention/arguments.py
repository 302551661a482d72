"""Numbers that callers pass: whole ones, as widths, and lists of frequencies."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..errors import ConventionError, DtypeError, refuse, shown


def as_index(value: Any) -> int | None:
    """`value` as an int, where it is one: no bool, no array, no tensor."""
    if type(value) is int:
        # Also a size that a compiler has left open, which knows no `__index__`.
        return value
    if isinstance(value, (bool, Tensor)) or not hasattr(type(value), "__index__"):
        return None
    try:
        return int(value.__index__())
    except TypeError:
        return None


# The widest models have some 2^15 columns. A ladder is made of long integers one by one, so that a width which is a
# number of bytes or a seed by mistake would take all memory before any tensor is asked for.
WIDEST = 1 << 20


def check_dim(dim: Any, name: str = "dim") -> int:
    """`dim` as an int from 1 to 2^20, or an error that names the argument as the caller knows it."""
    value = as_index(dim)
    fix = f"pass the width of your embeddings, as in {name}=512"
    if value is None:
        refuse(f"{name}={shown(dim)} of type {type(dim).__name__}", "a positive int", fix, error=DtypeError)
    if value < 1:
        refuse(f"{name}={shown(value)}", "a positive int", fix)
    if value > WIDEST:
        refuse(f"{name}={shown(value)}", f"a width of at most {WIDEST}", fix)
    return value


def listed(frequencies: Any) -> list[Any] | tuple[Any, ...]:
    """Frequencies (pairs,) or (axes, pairs) of a tensor or a list as a list; what has no real values is refused."""
    if isinstance(frequencies, (list, tuple)):
        return frequencies
    kind = f"type {type(frequencies).__name__}"
    if isinstance(frequencies, Tensor):
        shape = "" if frequencies.is_nested else f" and shape {tuple(frequencies.shape)}"
        what = [
            "nested" if frequencies.is_nested else "",
            "quantized" if frequencies.is_quantized else "",
            "" if frequencies.layout == torch.strided else str(frequencies.layout).removeprefix("torch."),
            "meta, which has no values," if frequencies.is_meta else "",
        ]
        kind = " ".join([part for part in what if part] + [f"{frequencies.dtype}{shape}"])
        plain = not any(what) and not frequencies.is_complex() and frequencies.ndim in (1, 2)
        if plain:
            values: list[Any] = frequencies.detach().to("cpu", torch.float64).tolist()
            return values
    refuse(
        f"frequencies of {kind}",
        "a dense real tensor or a list, (pairs,) or (axes, pairs)",
        "pass the buffer of your checkpoint as it is",
        error=ConventionError,
    )
