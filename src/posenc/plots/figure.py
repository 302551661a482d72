"""The figure of every picture: like matplotlib's, and a notebook shows it without pyplot."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as _Figure


class Figure(_Figure):
    """A figure that no pyplot knows of. Where matplotlib's inline backend runs, that one shows it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=96)
        return file.getvalue()
