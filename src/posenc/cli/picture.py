"""Saves a command's picture, or says in one line why there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .. import plots
from ..errors import PosencError
from ..plots.files import write
from .keepsake import Keepsake
from .plot_file import NO_MATPLOTLIB

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Picture:
    """One picture with a place to go, as a `Keepsake`; without matplotlib no place is looked at, and none is drawn."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self._place: Keepsake | None = None
        self.missing = f"No picture without matplotlib: {NO_MATPLOTLIB}."
        if plots.can_draw():
            self._place = Keepsake(folder, name, kind="picture", is_ours=plots.is_ours)
            self.missing = self._place.missing

    def save(self, draw: Callable[[], Figure]) -> list[str]:
        """Draw the figure; the files that were written, for the user to open."""
        if self._place is None or self._place.path is None:
            return []
        suffix = self._place.path.suffix
        try:
            return self._place.save(lambda file: write(draw(), file, suffix))
        except PosencError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever matplotlib's own set-up raises, the numbers stand
            self.missing = f"No picture: matplotlib says {str(error).splitlines()[0]!r}."
            return []
