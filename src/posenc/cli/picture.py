"""Saves a command's picture, or says in one line why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .. import plots
from .keepsake import Keepsake

NO_MATPLOTLIB = 'No picture without matplotlib: pip install "posenc[plots]" brings it.'


class Picture:
    """One PNG with a place to go, as a `Keepsake`; without matplotlib no place is looked at, and none is drawn."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self._place: Keepsake | None = None
        self.missing = NO_MATPLOTLIB
        if plots.can_draw():
            self._place = Keepsake(folder, name, kind="picture", is_ours=plots.is_ours)
            self.missing = self._place.missing

    def save(self, values: Sequence[Sequence[float]], *, labels: Sequence[str], title: str) -> list[str]:
        """Draw the heat map; the files that were written, for the user to open."""

        def draw(path: Path) -> None:
            try:
                plots.save_heat_map(values, path, labels=labels, title=title)
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever matplotlib's own set-up raises, the numbers stand
                self.missing = f"No picture: matplotlib says {str(error).splitlines()[0]!r}."

        files = self._place.save(draw) if self._place else []
        return [] if self.missing else files
