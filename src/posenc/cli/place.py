"""The place of a file that a command writes: what may be replaced there, and the one way in which it is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Literal, NoReturn

from ..errors import FileError, refuse
from ..plots.whole import whole

# Nothing, anything, or what a function knows as ours.
Replaces = Literal["nothing", "anything"] | Callable[[Path], bool]


class Place:
    """One file to come, looked at before the work begins, and written whole or not at all.

    Args:
        path: where the file goes.
        kind: what it is, in a word, as "picture".
        replaces: what may be there already.
        option: how the user named it, for errors; None where the command did.
        otherwise: what the user can do, for errors.

    Raises:
        FileError: where it cannot be written, or holds what may not be replaced.
    """

    def __init__(
        self,
        path: Path,
        kind: str,
        replaces: Replaces,
        *,
        option: str | None = "--out",
        otherwise: str = "name another",
    ) -> None:
        self.path, self.kind, self.replaces, self.otherwise = path, kind, replaces, otherwise
        self._said = f"{option} {str(path)!r}" if option is not None else str(path)
        self.check()

    def check(self) -> None:
        """Refuse where the file could not be written now."""
        try:
            self._check_folder()
            # A link that leads nowhere is there too.
            if os.path.lexists(self.path):
                self._check_what_is_there()
        except FileError:
            raise
        except OSError as error:
            self._refuse_system(error)
        if not os.access(self.path.parent, os.W_OK):
            self.refuse("without permission to write there", "a folder to write to", self.otherwise)

    def write(self, make: Callable[[BinaryIO], object]) -> int:
        """Let `make` write the file: how many bytes it has."""
        try:
            # Somebody may have put another file there meanwhile.
            with whole(self.path, check=self.check) as file:
                make(file)
                return file.seek(0, os.SEEK_END)
        except FileError:
            raise
        except OSError as error:
            self._refuse_system(error)

    def refuse(self, reason: str, wanted: str, fix: str) -> NoReturn:
        """Say why this place cannot be used."""
        refuse(f"{self._said}, {reason}", wanted, fix, error=FileError)

    def _check_folder(self) -> None:
        if not self.path.parent.is_dir():
            self.refuse("whose folder is not there", self._wanted, "make the folder first, or name another")

    def _check_what_is_there(self) -> None:
        if self.path.is_dir():
            self.refuse("which is a folder", self._wanted, "give the file a name")
        if self.replaces == "nothing":
            self.refuse("which is there already", self._wanted, "add --force to replace it")
        if callable(self.replaces) and not (self.path.is_file() and self.replaces(self.path)):
            self.refuse("which posenc did not make", self._wanted, self.otherwise)

    @property
    def _wanted(self) -> str:
        return f"a new file, or a {self.kind} of ours" if callable(self.replaces) else "a new file"

    def _refuse_system(self, error: OSError) -> NoReturn:
        reason = (error.strerror or str(error)).lower()
        self.refuse(f"which the system answers with {reason!r}", self._wanted, self.otherwise)
