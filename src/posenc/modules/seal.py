"""A seal on the memory of a tensor: whether anybody has written to it since, or put another in its place."""

from __future__ import annotations

from typing import Any

from torch import Tensor


class Seal:
    """Of a tensor on the CPU, or of none: then it holds for every other device, and never for the CPU.

    It looks at autograd's count of writes, and at an address that nobody else can be given while it stands: no value
    is read. Writes through `tensor.data` are not counted, and not seen. A copy is a seal of none.

    Args:
        tensor: dense, of floats.
        values: a copy of its values, kept to be put back; None keeps none.
    """

    __slots__ = ("_address", "_storage", "_version", "values")

    def __init__(self, tensor: Tensor | None = None, values: Tensor | None = None) -> None:
        self.values = values
        # The memory is kept, so that its address stays taken.
        self._storage = None if tensor is None else tensor.untyped_storage()
        self._version = -1 if tensor is None else tensor._version  # noqa: SLF001 - torch has no public name
        self._address = -1 if tensor is None else tensor.data_ptr()

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

    def __reduce__(self) -> Any:
        return Seal, ()
