"""A file that the user has named: never over one that is not ours, and whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from ..errors import FileError, refuse
from ..plots.whole import whole


class OwnFile:
    """One file to come, looked at before the work begins.

    Raises:
        FileError: where it cannot be written, or holds what is not ours.
    """

    def __init__(self, path: Path, *, option: str, kind: str, is_ours: Callable[[Path], bool]) -> None:
        self.path, self.option, self.kind, self._is_ours = path, option, kind, is_ours
        self._check()

    def write(self, make: Callable[[Path], None]) -> str:
        """Let `make` write it: the path."""
        try:
            # Somebody may have put another file there meanwhile.
            with whole(self.path, check=self._check) as part:
                make(part)
        except FileError:
            raise
        except OSError as error:
            self._fail(f"which ended in {(error.strerror or str(error)).lower()!r}")
        return str(self.path)

    def _check(self) -> None:
        trouble = self._trouble()
        if trouble:
            self._fail(trouble)

    def _trouble(self) -> str:
        try:
            if not self.path.parent.is_dir():
                return "whose folder is not there"
            if (self.path.exists() or self.path.is_symlink()) and not (
                self.path.is_file() and self._is_ours(self.path)
            ):
                return "which posenc did not make"
        except OSError as error:
            return f"which the system calls {(error.strerror or str(error)).lower()!r}"
        return "" if os.access(self.path.parent, os.W_OK) else "without permission to write there"

    def _fail(self, trouble: str) -> NoReturn:
        refuse(
            f"{self.option} {str(self.path)!r}, {trouble}",
            f"a new file, or a {self.kind} of ours",
            "name another",
            error=FileError,
        )
