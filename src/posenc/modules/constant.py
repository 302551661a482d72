"""A few numbers as a tensor on a device: kept between calls, and part of the graph where one is made."""

from __future__ import annotations

import torch
from torch import Tensor

from ..cache import Cache


def _make(numbers: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return torch.tensor(numbers, dtype=dtype, device=device)


NUMBERS = Cache(1 << 20)


def constant(numbers: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """The numbers as a tensor (n,), shared by all callers: not to be written to.

    They are not a buffer: casts, averages of models and a meta device would change them.
    """
    if torch.compiler.is_compiling():
        return torch.tensor(numbers, dtype=dtype, device=device)
    return NUMBERS.get((numbers, dtype, device), lambda: _make(numbers, dtype, device), lambda made: made.nbytes)
