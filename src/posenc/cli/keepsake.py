"""A file that a command leaves behind where it can: without it the command runs all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ..errors import FileError, refuse
from .place import Place

OTHERWISE = "name another folder with --out DIR"


class Keepsake:
    """One file with a `Place`, replaced where it is ours.

    Where the user named the folder it is made, and a place that cannot be used is refused.
    Where not, the command runs without its file, and `missing` says why in one line.
    """

    def __init__(self, folder: Path | None, name: str, *, kind: str, is_ours: Callable[[Path], bool]) -> None:
        self.missing = ""
        self._place: Place | None = None
        if folder is not None:
            _make(folder)
        try:
            self._place = Place((folder or Path()) / name, kind, is_ours, option=None, otherwise=OTHERWISE)
        except FileError as error:
            if folder is not None:
                raise
            self.missing = f"No {kind}: {error}"

    @property
    def path(self) -> Path | None:
        """Where the file goes, if it can."""
        return None if self._place is None else self._place.path

    def save(self, write: Callable[[BinaryIO], object]) -> list[str]:
        """Let `write` make the file; those that were made, for the user to open."""
        if self._place is None:
            return []
        self._place.write(write)
        return [str(self._place.path)]


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        got = f"--out {str(folder)!r}, which the system answers with {reason!r}"
        refuse(got, "a folder", "name another", error=FileError)
