"""What a convention comes to at one width, as a compiler may take it: a constant."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from ..convention import Convention, resolve
from ..layout import Columns
from ..phase import step_limbs

_OPTIONS = tuple(f.name for f in fields(Convention))


_CPU = torch.device("cpu")


def prepared(convention: str | Convention, dim: int, device: torch.device = _CPU) -> tuple[Columns, Tensor]:
    """The columns, and the steps (9, 3, pairs) that `phase_of` needs, on the device."""
    if torch.compiler.is_compiling() and isinstance(convention, Convention):
        # Option by option: an object that the traced function itself has made would arrive with its defaults.
        return _constant(tuple([getattr(convention, option) for option in _OPTIONS]), dim, device)
    return _constant(convention, dim, device)


def _constant(convention: Any, dim: int, device: torch.device) -> tuple[Columns, Tensor]:
    if isinstance(convention, tuple):
        convention = Convention(**dict(zip(_OPTIONS, convention, strict=True)))
    convention = resolve(convention)
    return convention.columns(dim), step_limbs(convention.ladder(dim), device)


# What torch.compiler.assume_constant_result does, without the seconds that importing the compiler takes.
_constant._dynamo_marked_constant = True  # type: ignore[attr-defined]  # noqa: SLF001
