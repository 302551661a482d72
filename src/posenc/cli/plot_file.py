"""The file that a picture goes to: looked at before the work begins, never over what is not ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .. import plots
from ..errors import FileError, refuse
from ..plots.files import format_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_MATPLOTLIB = 'pip install "posenc[plots]" brings it'


class PlotFile:
    """One PNG, SVG or PDF to come, named by `option`.

    Raises:
        InputError: where the name is none of a picture, or matplotlib is missing.
        FileError: where it cannot be written, or holds what is not ours.
    """

    def __init__(self, path: Path, option: str) -> None:
        self.path, self.option = path, option
        format_of(path, f"{option} {str(path)!r}")
        if not plots.can_draw():
            refuse(f"{option} without matplotlib", "matplotlib", NO_MATPLOTLIB)
        trouble = self._trouble()
        if trouble:
            self._fail(trouble)

    def _trouble(self) -> str:
        try:
            if not self.path.parent.is_dir():
                return "whose folder is not there"
            if (self.path.exists() or self.path.is_symlink()) and not (
                self.path.is_file() and plots.is_ours(self.path)
            ):
                return "which posenc did not make"
        except OSError as error:
            return f"which the system calls {(error.strerror or str(error)).lower()!r}"
        return "" if os.access(self.path.parent, os.W_OK) else "without permission to write there"

    def _fail(self, trouble: str) -> None:
        refuse(
            f"{self.option} {str(self.path)!r}, {trouble}",
            "a new file, or a picture of ours",
            "name another",
            error=FileError,
        )

    def save(self, figure: Figure) -> str:
        """Write the figure: the path that was written, whole or not at all."""
        try:
            plots.save(figure, self.path)
        except OSError as error:
            self._fail(f"which ended in {(error.strerror or str(error)).lower()!r}")
        return str(self.path)
