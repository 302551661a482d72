"""Numbers that callers pass: whole ones, as widths, and lists of frequencies."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch import Tensor

from ..arguments.numbers import as_index
from ..errors import ConventionError, DtypeError, refuse, shown

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
    if isinstance(frequencies, Tensor):
        odd = _oddity(frequencies)
        if odd:
            _not_frequencies(odd)
        values: list[Any] = frequencies.detach().to("cpu", torch.float64).tolist()
        return values
    if not isinstance(frequencies, (list, tuple)):
        _not_frequencies(f"type {type(frequencies).__name__}")
    return frequencies


def _oddity(tensor: Tensor) -> str:
    """What keeps a tensor from being frequencies (pairs,) or (axes, pairs) with real values; '' where nothing does."""
    if tensor.is_nested:
        return f"nested {tensor.dtype}"
    said = f"{tensor.dtype} and shape {tuple(tensor.shape)}"
    if tensor.is_quantized:
        return f"quantized {said}"
    if tensor.layout != torch.strided:
        return f"{str(tensor.layout).removeprefix('torch.')} {said}"
    if tensor.is_meta:
        return f"{said} on meta, which has no values"
    return said if tensor.is_complex() or tensor.ndim not in (1, 2) else ""


def _not_frequencies(what: str) -> NoReturn:
    refuse(
        f"frequencies of {what}",
        "a dense real tensor or a list, (pairs,) or (axes, pairs)",
        "pass the buffer of your checkpoint as it is",
        error=ConventionError,
    )
