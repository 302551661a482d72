"""Where the elements of one tensor lie in a file, and how to read some of its rows from there."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from .files import Fill

# Below this gap reading on is cheaper than another call.
_GAP = 1 << 16
# A view may repeat what it holds (expanded batches do), within reason.
_REPEATED = 1 << 28

Opening = Callable[[], AbstractContextManager[Fill]]
ByteOrder = Literal["little", "big"]


@dataclass(frozen=True)
class Place:
    """Elements of `dtype` from byte `at` on, of some shape and strides (in elements), in `room` bytes to be opened."""

    opening: Opening
    room: int
    at: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    order: ByteOrder = "little"

    def read(self, start: int, stop: int) -> Tensor:
        """Rows [start, stop) of the first axis, contiguous; a tensor without axes is one row.

        Raises any error that reading or interpreting the bytes may end in.
        """
        shape = (stop - start, *self.shape[1:]) if self.shape else ()
        if math.prod(shape) == 0:
            return torch.empty(shape, dtype=self.dtype, device="cpu")
        at = self.at + (start * self.strides[0] * self.dtype.itemsize if self.shape else 0)
        if at + extent(shape, self.strides) * self.dtype.itemsize > self.room:
            raise EOFError
        with self.opening() as fill:
            return self._block(fill, at, shape, self.strides).contiguous()

    def _block(self, fill: Fill, at: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        size = self.dtype.itemsize
        span = extent(shape, strides)
        held = math.prod(n for n, stride in zip(shape, strides, strict=True) if stride)
        if math.prod(shape) * size > max(span * size, _REPEATED):
            raise EOFError
        widest = max(range(len(shape)), key=lambda axis: (shape[axis] > 1) * strides[axis], default=-1)
        if span <= 2 * held or strides[widest] * size < _GAP:
            return self._read(fill, at, span).as_strided(shape, strides)
        # Rows of a matrix that lies column by column: one call for each column.
        inner = shape[:widest] + shape[widest + 1 :], strides[:widest] + strides[widest + 1 :]
        steps = range(at, at + shape[widest] * strides[widest] * size, strides[widest] * size)
        return torch.stack([self._block(fill, step, *inner) for step in steps], dim=widest)

    def _read(self, fill: Fill, at: int, count: int) -> Tensor:
        buffer = torch.empty(count * self.dtype.itemsize, dtype=torch.uint8, device="cpu")
        fill(at, buffer.numpy().data)
        if self.order != sys.byteorder:
            real = self.dtype.itemsize // (2 if self.dtype.is_complex else 1)
            buffer.numpy().view(np.dtype(f"u{real}")).byteswap(inplace=True)
        # A bool that is neither 0 nor 1 is undefined in torch.
        return buffer.ne(0) if self.dtype == torch.bool else buffer.view(self.dtype)


def extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """How many elements lie from the first to the last one, both counted."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of an array whose last axis is the closest.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
