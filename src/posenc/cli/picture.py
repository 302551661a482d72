"""Saves a command's picture: never over a file that is not ours, and never at the cost of the command."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .. import plots
from ..errors import refuse
from .plot_file import NO_MATPLOTLIB

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Picture:
    """One PNG with a place to go, looked at before the work begins.

    Where the user named the folder, a place that cannot be used is refused.
    Where not, the command runs without its picture, and `missing` says why in one line.
    """

    def __init__(self, folder: Path | None, name: str) -> None:
        self.path = (folder or Path()) / name
        self.missing = "" if plots.can_draw() else f"No picture without matplotlib: {NO_MATPLOTLIB}."
        if self.missing:
            return
        trouble = self._trouble(may_make=folder is not None)
        if trouble and folder is not None:
            refuse(f"--out {folder}, which {trouble}", "a folder to write to", "pass another folder")
        elif trouble:
            self.missing = f"No picture: this folder {trouble}. Name another one with --out DIR."

    def save(self, draw: Callable[[], Figure]) -> list[str]:
        """Draw the figure; the files that were written, for the user to open."""
        if self.missing:
            return []
        try:
            plots.save(draw(), self.path)
        except OSError as error:
            refuse(f"{self.path}: {error.strerror}", "a file that can be written", "pass --out DIR")
        except Exception as error:  # noqa: BLE001 - whatever matplotlib's own set-up raises, the numbers stand
            self.missing = f"No picture: matplotlib says {str(error).splitlines()[0]!r}."
            return []
        return [str(self.path)]

    def _trouble(self, *, may_make: bool) -> str:
        """Why the picture cannot be written; makes the folder where that is allowed."""
        folder = self.path.parent
        try:
            if may_make:
                folder.mkdir(parents=True, exist_ok=True)
            if (self.path.exists() or self.path.is_symlink()) and not (
                self.path.is_file() and plots.is_ours(self.path)
            ):
                return f"holds a {self.path.name} that posenc did not make"
        except OSError as error:
            return f"cannot be used ({error.strerror or error})".lower()
        return "" if os.access(folder, os.W_OK) else "may not be written to"
