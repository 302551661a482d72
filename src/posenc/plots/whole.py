"""A file that is written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole(path: Path, *, check: Callable[[], None] = lambda: None) -> Iterator[BinaryIO]:
    """A new file beside the one that is meant, which takes its place when nothing went wrong and `check` is content.

    Its name cannot be guessed, and it is made for this purpose: a file or a link that is there is never written to.
    Where `path` is a link it stays one, and the file that it leads to is replaced.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with whole(path) as file:
    ...     _ = file.write(b"dog")
    >>> path.read_text(), len(list(path.parent.iterdir()))
    ('dog', 1)
    """
    path = Path(os.path.realpath(path))
    part = path.with_name(f".posenc-{secrets.token_hex(8)}.part")
    # "x" is O_CREAT with O_EXCL, which refuses what is there and follows no link.
    file = part.open("x+b")
    try:
        with file:
            yield file
        check()
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
