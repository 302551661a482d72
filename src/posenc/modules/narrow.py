"""Sums of embeddings and encodings, brought into the dtype of the embeddings."""

from __future__ import annotations

import torch
from torch import Tensor

from ..trig.rounding import round_once


def narrowed(total: Tensor, dtype: torch.dtype) -> Tensor:
    """A sum in the dtype of the input, rounded once; embeddings, unlike encodings, may be infinite."""
    if total.dtype != torch.float64 or dtype not in (torch.float16, torch.bfloat16):
        return total.to(dtype)
    return torch.where(total.isfinite(), round_once(total, dtype), total.to(dtype))
