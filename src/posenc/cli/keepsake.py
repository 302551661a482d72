"""A file that a command leaves behind: never over one that is not ours, and never at the cost of the command."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ..errors import refuse
from ..plots.whole import whole


class Keepsake:
    """One file with a place to go, looked at before the work begins.

    Where the user named the folder, a place that cannot be used is refused.
    Where not, the command runs without its file, and `missing` says why in one line.
    """

    def __init__(self, folder: Path | None, name: str, *, kind: str, is_ours: Callable[[Path], bool]) -> None:
        self.path = (folder or Path()) / name
        self.kind = kind
        reason = trouble(self.path, is_ours, may_make=folder is not None)
        if reason and folder is not None:
            refuse(f"--out {folder}, which {reason}", "a folder to write to", "pass another folder")
        self.missing = f"No {kind}: this folder {reason}. Name another one with --out DIR." if reason else ""

    def save(self, write: Callable[[Path], None]) -> list[str]:
        """Let `write` make the file, whole or not at all; those that were made, for the user to open."""
        if self.missing:
            return []
        try:
            with whole(self.path) as part:
                write(part)
        except OSError as error:
            refuse(f"{self.path}: {error.strerror}", "a file that can be written", "pass --out DIR")
        return [str(self.path)]


def trouble(path: Path, is_ours: Callable[[Path], bool], *, may_make: bool) -> str:
    """Why this file cannot be written, as what is said of its folder; makes the folder where that is allowed."""
    folder = path.parent
    try:
        if may_make:
            folder.mkdir(parents=True, exist_ok=True)
        if (path.exists() or path.is_symlink()) and not (path.is_file() and is_ours(path)):
            return f"holds a {path.name} that posenc did not make"
    except OSError as error:
        return f"cannot be used ({error.strerror or error})".lower()
    if not folder.is_dir():
        return "is not there"
    return "" if os.access(folder, os.W_OK) else "may not be written to"
