"""Tensors whose values lie in memory one after the other, at fixed steps: all that our arithmetic takes."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import refuse


def check_dense(tensor: Any, name: str, padded: str = "") -> None:
    """Refuse sparse and nested tensors, with a way that torch takes; `padded` says what to pass beside padded rows.

    >>> check_dense(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged), "x")
    Traceback (most recent call last):
    posenc.errors.InputError: got nested x, but wanted a dense tensor; pass torch.nested.to_padded_tensor(x, 0).
    """
    is_nested = tensor.is_nested
    if tensor.layout is torch.strided and not is_nested:
        return
    # Asked first: other questions, of the shape for one, are errors inside torch for nested tensors.
    if is_nested:
        # Rows with gaps between them are padded only after they have been moved together.
        whole = f"{name}.contiguous()" if tensor.layout == torch.jagged and tensor.lengths() is not None else name
        fix = f"pass torch.nested.to_padded_tensor({whole}, 0){padded}"
        refuse(f"nested {name}", "a dense tensor", fix)
    refuse(f"{name} of layout {tensor.layout}", "a dense tensor", f"pass {name}.to_dense()")
