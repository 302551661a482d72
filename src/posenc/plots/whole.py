"""A file that is written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path, *, check: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """A file beside the one that is meant, which takes its place when nothing went wrong and `check` is content.

    A link stays one: the file that it leads to is replaced.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with whole(path) as part:
    ...     _ = part.write_text("dog")
    >>> path.read_text()
    'dog'
    """
    path = path.resolve()
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        check()
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
