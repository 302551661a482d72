"""Saves a command's picture: never over a file that is not ours, and never at the cost of the command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from .. import plots
from ..errors import refuse

NO_MATPLOTLIB = 'No picture without matplotlib: pip install "posenc[plots]" brings it.'


class Picture:
    """One PNG with a place to go, looked at before the work begins.

    Where the user named the folder, a place that cannot be used is refused.
    Where not, the command runs without its picture, and `missing` says why in one line.
    """

    def __init__(self, folder: Path | None, name: str) -> None:
        self.path = (folder or Path()) / name
        self.missing = "" if plots.can_draw() else NO_MATPLOTLIB
        if self.missing:
            return
        trouble = self._trouble(may_make=folder is not None)
        if trouble and folder is not None:
            refuse(f"--out {folder}, which {trouble}", "a folder to write to", "pass another folder")
        elif trouble:
            self.missing = f"No picture: this folder {trouble}. Name another one with --out DIR."

    def save(self, values: Sequence[Sequence[float]], *, labels: Sequence[str], title: str) -> list[str]:
        """Draw the heat map; the files that were written, for the user to open."""
        if self.missing:
            return []
        try:
            plots.save_heat_map(values, self.path, labels=labels, title=title)
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
