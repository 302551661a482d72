"""A few numbers as a tensor on a device: kept between calls, and a constant to compilers."""

from __future__ import annotations

import torch
from torch import Tensor

from ..cache import Cache


def _make(numbers: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return torch.tensor(numbers, dtype=dtype, device=device)


NUMBERS = Cache(1 << 20)


def constant(numbers: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """The numbers as a tensor (n,), shared by all: not to be written to.

    They are no buffer: casts, averages of models and a meta device would not leave them as they are.
    """
    return NUMBERS.get((numbers, dtype, device), lambda: _make(numbers, dtype, device), lambda made: made.nbytes)


# What torch.compiler.assume_constant_result does, without the seconds that importing the compiler takes.
constant._dynamo_marked_constant = True  # type: ignore[attr-defined]  # noqa: SLF001
