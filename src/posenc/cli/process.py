"""What the process of the command line is prepared for: its streams, its window and the signals that end it."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any, NoReturn, TextIO

# A window of more columns or lines than this is a mistake.
_MOST_DIGITS = 5


def prepare() -> None:
    """Take over streams, window and signals; once, when the process starts."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character shows "?", rather than ending the program.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    sys.stderr = _Notes(sys.stderr)
    for name in ("COLUMNS", "LINES"):
        if not _is_size(os.environ.get(name, "1")):
            # What is no size counts as not said, as in a shell.
            del os.environ[name]
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # Under nohup a hang-up is ignored, and stays so.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _is_size(value: str) -> bool:
    return value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS and int(value) > 0


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    """End as a shell reports it, by way of every `finally`: no half-written file is left behind."""
    # Whoever asks again cannot interrupt that.
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


class _Notes:
    """Standard error that never fails: where nobody can hear a note, the result and the exit code still count."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """As of the stream; lost where it is full or closed."""
        try:
            return self._stream.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        """As of the stream."""
        try:
            self._stream.flush()
        except OSError:
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
