"""A few numbers as a tensor on a device: kept between calls, and a constant to compilers."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from ..phase import may_keep


def _make(numbers: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return torch.tensor(numbers, dtype=dtype, device=device)


_kept = lru_cache(maxsize=16)(_make)


def constant(numbers: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """The numbers as a tensor (n,), shared by all: not to be written to.

    They are no buffer: casts, averages of models and a meta device would not leave them as they are.
    """
    return _kept(numbers, dtype, device) if may_keep() else _make(numbers, dtype, device)


# What torch.compiler.assume_constant_result does, without the seconds that importing the compiler takes.
constant._dynamo_marked_constant = True  # type: ignore[attr-defined]  # noqa: SLF001
