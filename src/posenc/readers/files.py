"""Opens a regular file for reading, and nothing that could block, never end or change meanwhile."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .faults import deny, guarded

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# Room for some 300 000 tensors; what is parsed takes up to 70 times its bytes in memory.
HEADER = 1 << 25
Fill = Callable[[int, memoryview], None]


def status(path: str) -> os.stat_result:
    """What the system says of a path, with its links followed."""
    try:
        return os.stat(path)  # noqa: PTH116  # a pathlib.Path would not show the name as given
    except FileNotFoundError:
        deny(path, "which does not exist", fix="check the name")
    except ValueError:
        deny(path, "which is no name of a file", fix="check the name")
    except OSError as error:
        deny(path, f"which cannot be read ({(error.strerror or 'no reason given').lower()})", fix="check the name")


@dataclass(frozen=True)
class File:
    """A regular file by name, as it was when it was first seen."""

    path: str
    size: int
    stamp: tuple[int, ...]

    @classmethod
    def at(cls, path: str) -> File:
        """Look at a file without opening it: opening a pipe or a device may wait, or do something."""
        found = status(path)
        if not stat.S_ISREG(found.st_mode):
            deny(path, "which is no regular file", fix="copy what it gives into a file first")
        return cls(path, found.st_size, _stamp(found))

    @contextmanager
    def open(self) -> Iterator[io.FileIO]:
        """The file, open and unbuffered; refuses one that is no longer what it was."""
        with guarded(self.path):
            raw = io.FileIO(self.path, "rb", opener=_without_waiting)
        with raw:
            if _stamp(os.fstat(raw.fileno())) != self.stamp:
                deny(self.path, "which changed while it was read", "a file at rest", "read it again")
            yield raw

    @contextmanager
    def headers(self) -> Iterator[Scant]:
        """The file, open for parsers."""
        with self.open() as raw:
            scant = Scant(raw)
            try:
                yield scant
            finally:
                # Left to itself it would close the file, and warn of it.
                scant.detach()

    @contextmanager
    def filling(self) -> Iterator[Fill]:
        """A function that fills a buffer with the bytes that begin at some place of the file."""
        with self.open() as raw:

            def fill(at: int, view: memoryview) -> None:
                raw.seek(at)
                read_fully(raw, view)

            yield fill


def read_fully(stream: io.RawIOBase | io.BufferedIOBase, view: memoryview, step: int = 1 << 30) -> None:
    """Fill a buffer from a stream, `step` bytes at a time, or raise EOFError."""
    done = 0
    while done < len(view):
        count = stream.readinto(view[done : done + step])
        if not count:
            raise EOFError
        done += count


class Scant(io.BufferedReader):
    """A reader of headers: `read` and `readline` give 32 MB in all, so that no claim of a file fills the memory.

    `readinto` is free, since its caller owns the buffer, and counted. There is no `fileno`, or torch would pass by.
    """

    left = HEADER
    filled = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """At most `size` bytes, paid for."""
        wanted = HEADER + 1 if size is None or size < 0 else size
        return self._pay(super().read(min(wanted, self.left + 1)))

    def readline(self, size: int | None = -1, /) -> bytes:
        """One line, paid for."""
        wanted = HEADER + 1 if size is None or size < 0 else size
        return self._pay(super().readline(min(wanted, self.left + 1)))

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill a buffer, or a part of it."""
        count = super().readinto(buffer)
        self.filled += count
        return count

    def fileno(self) -> int:
        """There is none."""
        raise io.UnsupportedOperation

    def _pay(self, data: bytes) -> bytes:
        self.left -= len(data)
        if self.left < 0:
            raise ValueError
        return data


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _without_waiting(path: str, flags: int) -> int:
    # A pipe may have taken the place of the file since it was looked at.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
