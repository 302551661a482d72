"""Figures as files: PNG, SVG or PDF, the same bytes at every run, and known again as ours."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..errors import refuse
from .style import house_style
from .whole import whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARK = "posenc"  # in the file, so that a later run knows its own picture
# No dates: the same picture is the same file.
_METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": MARK},
    ".svg": {"Creator": MARK, "Date": None},
    ".pdf": {"Creator": MARK, "CreationDate": None},
}
_TAIL = 1 << 16


def can_draw() -> bool:
    """Whether matplotlib is installed; looked up, not imported."""
    return importlib.util.find_spec("matplotlib") is not None


def format_of(path: str | Path, said: str = "") -> str:
    """The suffix of a name, one of .png, .svg and .pdf, or `InputError`; `said` is how the caller was given it.

    >>> format_of("rows.SVG")
    '.svg'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _METADATA:
        refuse(
            said or f"path {str(path)!r}",
            "a file whose name ends in .png, .svg or .pdf",
            f"rename it, as in {Path(path).stem or 'picture'}.png",
        )
    return suffix


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG, SVG or PDF, by the end of the name; whole or not at all.

    The bytes depend on the figure and the version of matplotlib alone. A file that is there is replaced.

    Raises:
        InputError: where the name ends in none of the three.
        OSError: where the file cannot be written.

    >>> import tempfile
    >>> from posenc import plots
    >>> path = Path(tempfile.mkdtemp()) / "rows.svg"
    >>> plots.save(plots.heat_map(8, 4), path)
    >>> plots.is_ours(path)
    True
    """
    suffix = format_of(path)
    with whole(Path(path)) as file:
        write(figure, file, suffix)


def write(figure: Figure, file: BinaryIO, suffix: str) -> None:
    """Write a figure into an open file in the format of a suffix."""
    with house_style():
        figure.savefig(file, format=suffix[1:], metadata=_METADATA[suffix])


def is_ours(path: str | Path) -> bool:
    """Whether the file is a picture that this module has written."""
    with Path(path).open("rb") as file:
        head = file.read(4096)
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
        tail = file.read()
    mark = MARK.encode()
    if head.startswith(b"\x89PNG"):
        return b"Software\0" + mark in head
    if head.startswith(b"%PDF"):
        return b"/Creator (" + mark + b")" in tail
    return head.startswith(b"<?xml") and b"<dc:title>" + mark + b"</dc:title>" in head
