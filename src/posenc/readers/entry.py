"""One tensor of a file, known by its header and read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..errors import refuse
from .faults import deny, guarded


@dataclass(frozen=True)
class Entry:
    """A tensor of some file, by name, shape and dtype; nothing of it is in memory.

    Nested names are joined with "."; the one array of an npy file, or one tensor saved alone, is named "".
    `dtype` is the file's own word where torch has no such dtype; then it cannot be loaded.
    `path` is the file that holds it, as it was given.
    """

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype | str
    path: str
    _read: Callable[[int, int], Tensor] | None = field(repr=False, compare=False)

    def load(self) -> Tensor:
        """The whole tensor, contiguous, on the CPU.

        Raises:
            FileError: where the file does not hold what its header claims, or torch has no such dtype.
        """
        return self._load(0, self.shape[0] if self.shape else 1)

    def rows(self, start: int, stop: int) -> Tensor:
        """Rows [start, stop) of the first axis, on the CPU; only those are read where the format allows.

        Raises:
            InputError: where there are no such rows.
            FileError: as `load`.
        """
        if not self.shape:
            refuse(f"rows of {self.name!r}, which has no axes", "a tensor with rows", "call load()")
        if not 0 <= start <= stop <= self.shape[0]:
            wanted = f"0 <= start <= stop <= {self.shape[0]}, the rows of {self.name!r}"
            refuse(f"start={start} and stop={stop}", wanted, "ask for rows that are there")
        return self._load(start, stop)

    def _load(self, start: int, stop: int) -> Tensor:
        if self._read is None or isinstance(self.dtype, str):
            wanted = "plain numbers of a dtype that torch has"
            deny(self.path, f"whose entry {self.name!r} is of type {self.dtype!r}", wanted, "save it as plain numbers")
        with guarded(self.path, f"whose entry {self.name!r}"):
            return self._read(start, stop)
