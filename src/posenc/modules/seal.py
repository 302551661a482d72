"""A seal on the memory of a tensor: whether anybody has written to it since, or put another in its place."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def _sum_of_bits(tensor: Tensor) -> int:
    """The memory summed as integers, modulo 2^64: in one pass, eight bytes at a time where they come out even."""
    flat = tensor.detach().view(-1)
    wide = flat.nbytes % 8 == 0
    return int(flat.view(torch.int64 if wide else torch.int16).sum(dtype=torch.int64))


class Seal:
    """Of a tensor on the CPU, or of none: then it holds for every other device, and never for the CPU.

    It looks at autograd's count of writes, and at an address that nobody else can be given while it stands: no value
    is read. Writes through `tensor.data` are not counted, and not seen. A copy is a seal of none.

    Args:
        tensor: dense, of floats.
        by_sum: whether to keep the sum of all bits too, so that writes of the same values can be told from others.
    """

    __slots__ = ("_address", "_storage", "_sum", "_version")

    def __init__(self, tensor: Tensor | None = None, *, by_sum: bool = False) -> None:
        # The memory is kept, so that its address stays taken.
        self._storage = None if tensor is None else tensor.untyped_storage()
        self._version = -1 if tensor is None else tensor._version  # noqa: SLF001 - torch has no public name
        self._address = -1 if tensor is None else tensor.data_ptr()
        self._sum = None if tensor is None or not by_sum else _sum_of_bits(tensor)

    def holds(self, tensor: Tensor) -> bool:
        """Whether this is the tensor as it was."""
        if self._storage is None:
            return not tensor.is_cpu
        try:
            return tensor._version == self._version and tensor.data_ptr() == self._address  # noqa: SLF001
        except RuntimeError:
            # Tensors of inference mode have no version, those of torch.func no address.
            return False

    def is_on(self, tensor: Tensor) -> bool:
        """Whether this is the memory that was sealed, whatever it holds."""
        return tensor.data_ptr() == self._address

    def renew(self, tensor: Tensor) -> bool:
        """Seal it again where the same values were written to it, as far as their sum tells."""
        same = self._sum is not None and self.is_on(tensor) and _sum_of_bits(tensor) == self._sum
        if same:
            self._version = tensor._version  # noqa: SLF001
        return same

    def __reduce__(self) -> Any:
        return Seal, ()
