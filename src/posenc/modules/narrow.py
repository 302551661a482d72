"""Sums of embeddings and encodings, brought into the dtype of the embeddings."""

from __future__ import annotations

import torch
from torch import Tensor

from ..trig.rounding import round_once

# Veltkamp's constant: what is left are 24 bits, those of float32.
_SPLITTER = 2.0**29 + 1


def narrowed(total: Tensor, dtype: torch.dtype) -> Tensor:
    """A sum in the dtype of the input, rounded once, ties to even; embeddings, unlike encodings, may be infinite.

    torch converts float64 to 16 bits through float32. That is right for what float32 holds, as all ties are.
    """
    if total.dtype != torch.float64 or dtype not in (torch.float16, torch.bfloat16):
        return total.to(dtype)
    product = total * _SPLITTER
    short = (product - (product - total)) == total
    return torch.where(short | ~total.isfinite(), total.to(dtype), round_once(total, dtype))
