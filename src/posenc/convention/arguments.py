"""Whole numbers that callers pass, as widths for one."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..errors import DtypeError, refuse


def as_index(value: Any) -> int | None:
    """`value` as an int, where it is one: no bool, no array, no tensor."""
    if type(value) is int:
        # Also a size that a compiler has left open, which knows no `__index__`.
        return value
    if isinstance(value, (bool, Tensor)) or not hasattr(type(value), "__index__"):
        return None
    try:
        return int(value.__index__())
    except TypeError:
        return None


def check_dim(dim: Any, name: str = "dim") -> int:
    """`dim` as an int of at least 1, or an error that names the argument as the caller knows it."""
    value = as_index(dim)
    fix = f"pass the width of your embeddings, as in {name}=512"
    if value is None:
        refuse(f"{name}={dim!r} of type {type(dim).__name__}", "a positive int", fix, error=DtypeError)
    if value < 1:
        refuse(f"{name}={value}", "a positive int", fix)
    return value
