"""The picture that the user has named a file for: looked at before the work begins, never over what is not ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .. import plots
from ..errors import refuse
from ..plots.files import format_of, write
from .place import Place

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_MATPLOTLIB = 'pip install "posenc[plots]" brings it'


class PlotFile:
    """One PNG, SVG or PDF to come, named by `option`, with a `Place`.

    Raises:
        InputError: where the name is none of a picture, or matplotlib is missing.
        FileError: where it cannot be written, or holds what is not ours.
    """

    def __init__(self, path: Path, option: str) -> None:
        self._suffix = format_of(path, f"{option} {str(path)!r}")
        if not plots.can_draw():
            refuse(f"{option} without matplotlib", "matplotlib", NO_MATPLOTLIB)
        self._place = Place(path, "picture", plots.is_ours, option=option)

    def save(self, figure: Figure) -> str:
        """Write the figure: the path that was written, whole or not at all."""
        self._place.write(lambda file: write(figure, file, self._suffix))
        return str(self._place.path)
