"""A trained table of positions, brought to another length by a named rule."""

from __future__ import annotations

import warnings
from typing import Literal

import torch
from torch import Tensor, nn

from ..tracing import is_plain
from .map_like import map_size
from .narrow import narrowed

Rule = Literal["draw", "repeat", "stretch-ends", "stretch-cells"]


def resized(rows: Tensor, length: int, rule: Rule) -> Tensor:
    """Rows (L, d) -> (length, d), or fewer by "draw", which leaves it to the caller to draw those beyond L.

    Between two rows values are interpolated in float64, and rounded once.
    """
    if rule == "draw":
        return rows[:length]
    if rule == "repeat":
        return rows[torch.arange(length, device=rows.device) % len(rows)]
    ends = rule == "stretch-ends"
    wide = rows.double().t().unsqueeze(0)
    made = nn.functional.interpolate(wide, size=length, mode="linear", align_corners=ends)
    return narrowed(made.squeeze(0).t(), rows.dtype)


def warn_of_map(rows: Tensor) -> None:
    """Warn where rows (L, d) that are about to be resized as a line look like those of an image."""
    plain = rows.detach()
    if type(plain) is not Tensor or plain.is_meta or not is_plain():
        return
    size = map_size(plain)
    if size is not None:
        before = f", after {size.before} of another kind" if size.before else ""
        warnings.warn(
            f"the rows of this table look like a map of {size.height} x {size.width} cells{before}: rows {size.width} "
            f"apart are alike; resize takes them for places on one line; the docstring of resize shows how to "
            f"resample a map",
            stacklevel=3,  # the line that called resize
        )
