"""A trained table of positions, brought to another length by a named rule."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

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
