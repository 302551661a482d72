"""Tensors made for callers: where that fails, a missing device is told from missing memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

import torch

from ..errors import refuse
from .devices import NO_DEVICE, refuse_missing

# Allocators, and the arithmetic of sizes, mostly raise errors that are of no kind of their own.
_OF_MEMORY = ("memory", "overflow", "storage size", "buffer size", "too large", "cannot be represented")

T = TypeVar("T")


def made(
    make: Callable[[], T],
    shape: Sequence[int],
    dtype: torch.dtype,
    device: torch.device | None,
    what: str,
    fix: str,
) -> T:
    """What `make` gives: a tensor of this shape, or something that holds one; refused where it cannot be made.

    device: where it is made, or None for torch's default. `what` names it in the message, and `fix` says what to do
    where the memory does not hold it.

    >>> made(lambda: torch.zeros(2), (2,), torch.float32, None, "a table", "pass a smaller length")
    tensor([0., 0.])
    >>> big = (10**12, 512)
    >>> made(lambda: torch.zeros(big), big, torch.float32, None, "a table", "pass a smaller length")
    Traceback (most recent call last):
    posenc.errors.InputError: got a table of shape (1000000000000, 512) and torch.float32, 1,907,348.6 GiB, but wanted \
one that the memory holds; pass a smaller length.
    """
    if torch.compiler.is_compiling():
        return make()
    try:
        return make()
    except (*NO_DEVICE, MemoryError) as error:
        if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
            _refuse(shape, dtype, what, fix)
        refuse_missing(device)
        if isinstance(error, RuntimeError) and any(word in str(error).lower() for word in _OF_MEMORY):
            _refuse(shape, dtype, what, fix)
        raise


def _refuse(shape: Sequence[int], dtype: torch.dtype, what: str, fix: str) -> NoReturn:
    size = f"{math.prod(shape) * dtype.itemsize / 2**30:,.1f} GiB"
    refuse(f"{what} of shape {tuple(shape)} and {dtype}, {size}", "one that the memory holds", fix)
